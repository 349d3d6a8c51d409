"""Why a text is over: because it is complete, or because its budget of tokens closed it.

Near the end of a budget the mask leaves out tokens behind which the text could no longer be completed in time. That alone says
little: some rare token is too long for most budgets. What counts is whether it changed what the model writes. So a text is
closed by its budget if at one of its tokens the likeliest of those that the grammar allows was left out for the budget, or if
the budget ends it, without EOS, where the grammar would let it go on.

For greedy search this is exact: without the budget there would be another text. What is drawn at random might have been
another text in any case, and the same question is asked of the likeliest token.

Rejected: to call every text closed whose mask was narrowed somewhere (nearly all that come near the end of their budget are),
or whose shortest completion took all that was left (a list that had no room for one more item ends earlier than that).

Cost: a look at the likeliest token; only where the mask forbids it, a second mask, without the budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.masks.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from schemagen.masks.rows import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from schemagen.engine.protocol import Constraint, Matcher
    from schemagen.generation import FinishReason


def allows(words: torch.Tensor, token_id: int) -> bool:
    """Whether a mask int32 [ceil(V/32)] has a token."""
    word, bit = divmod(token_id, BITS)
    return word < words.shape[0] and bool(int(words[word]) >> bit & 1)


def left_out(matcher: Matcher, scores: torch.Tensor, words: torch.Tensor) -> bool:
    """Whether the budget left out the likeliest of the tokens that the grammar allows.

    Args:
        matcher: Where the text stands.
        scores: float [W], of the model.
        words: int32 [ceil(V/32)], the mask within the budget, for which the likeliest token of all is forbidden.
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
        grammar: What it is a text of.
        token_ids: The text, EOS included if it was generated.
        budget: Tokens, at most; None: any number.
        was_left_out: What `left_out` said at its tokens.
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
