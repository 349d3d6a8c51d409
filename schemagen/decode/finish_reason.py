"""Why a text ended: it is complete, or its token budget closed it.

Near the end of a budget the mask leaves out tokens after which the text could no longer be completed in time. That
alone says
little: some rare token is too long for most budgets. The question is whether it changed the text. So a text is closed
by its budget if, at one of its tokens, the budget left out the likeliest token that the grammar allows, or if the
budget ends it, without EOS, where the grammar would let it continue.

For greedy search this is exact: without the budget the text would be different. A sampled text might have been
different in any case; the same question is asked of the likeliest token.

Rejected: counting every text whose mask was narrowed somewhere (nearly all texts near the end of their budget), or
whose shortest completion took all remaining tokens (a list without room for one more item ends earlier than that).

Cost: one check of the likeliest token; a second mask, without the budget, only if the first mask forbids that token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.masks.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from schemagen.masks.logits import allows
from schemagen.masks.rows import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from schemagen.engine.protocol import Constraint, Matcher
    from schemagen.generation import FinishReason


def left_out(matcher: Matcher, scores: torch.Tensor, words: torch.Tensor) -> bool:
    """Whether the budget left out the likeliest of the tokens that the grammar allows.

    Args:
        matcher: The matcher of the text so far.
        scores: float [W], of the model.
        words: int32 [ceil(V/32)], the mask within the budget, which forbids the likeliest token of all.
    """
    free = allocate_token_bitmask(1, words.shape[0] * BITS)
    matcher.fill_next_token_bitmask(free, 0)
    if free[0].equal(words):
        return False
    masked = scores.clone()
    apply_token_bitmask_inplace(masked, free)
    return not allows(words, int(masked.argmax()))


def finish_reason(
    grammar: Constraint, token_ids: Sequence[int], budget: int | None, *, was_left_out: bool
) -> FinishReason:
    """Return why a complete text is over.

    Args:
        grammar: The grammar of the text.
        token_ids: The text, EOS included if it was generated.
        budget: The maximum number of tokens; None if unlimited.
        was_left_out: Whether `left_out` was true at one of its tokens.
    """
    if was_left_out:
        return "budget"
    if budget is None or len(token_ids) < budget:
        return "complete"
    matcher = grammar.matcher()
    for token_id in token_ids:
        matcher.accept_token(token_id)
    return "budget" if may_go_on(matcher) else "complete"


def may_go_on(matcher: Matcher) -> bool:
    """Whether anything but EOS may follow."""
    return not matcher.is_terminated() and not set(matcher.allowed_tokens()).issubset(matcher.eos_token_ids)
