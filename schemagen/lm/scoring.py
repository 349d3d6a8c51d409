"""The likelihood of a text for a model, in the tokens of its tokenizer and in those that it would have written itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_text
from schemagen.errors import BudgetError, GenerationError
from schemagen.prompts.messages import as_messages, render
from schemagen.request.settings import token_ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.lm.language_model import LanguageModel
    from schemagen.lm.spec_types import Prompt


@dataclass(frozen=True, slots=True)
class Score:
    """The likelihood of a text after a prompt.

    Attributes:
        token_ids: The text in the tokens of the tokenizer.
        perplexity: ``exp`` of the mean of ``-log p`` of these tokens: how many equally likely tokens the model chose
            among on average; 1 is certain.
        own_token_ids: The text in the tokens that the model chooses greedily if forced to write this text.
        own_perplexity: The perplexity of these tokens.
    """

    token_ids: tuple[int, ...]
    perplexity: float
    own_token_ids: tuple[int, ...]
    own_perplexity: float


def score(lm: LanguageModel, prompt: Prompt, text: str, *, chat_template: bool = True) -> Score:
    """Return how likely a text is; see `LanguageModel.score`."""
    from schemagen.decode.budget import context_of

    check_text("score", text)
    written, templated = render(lm.tokenizer, as_messages(prompt), chat_template=chat_template)
    prompt_ids = token_ids_of(lm, written, templated=templated)
    token_ids = tuple(lm.tokenizer(text, add_special_tokens=False)["input_ids"])
    if not token_ids or not prompt_ids:
        raise GenerationError(
            "there is nothing to score",
            why=f"the {'text' if prompt_ids else 'prompt'} has no tokens",
            fix="give a text",
            code="empty-prompt",
        )
    context, count = context_of(lm.model), len(prompt_ids) + len(token_ids)
    if context is not None and count > context:
        raise BudgetError(
            f"prompt and text have {count} tokens, the context of the model {context}",
            why="the model cannot read them in one pass",
            fix="score a shorter text, or a part of it after a shorter prompt",
        )
    own = retokenized(lm, prompt_ids, text)
    return Score(token_ids, perplexity(lm.model, prompt_ids, token_ids), own, perplexity(lm.model, prompt_ids, own))


def retokenized(lm: LanguageModel, prompt_ids: Sequence[int], text: str) -> tuple[int, ...]:
    """Return the tokens of a text that the model chooses one by one (DOMINO, Beurer-Kellner et al. 2024, algorithm 3).

    This is greedy search under a constraint that allows only this text.
    """
    from schemagen.decode.generate import decode, inputs_of
    from schemagen.grammar.specs import Choice

    grammar = lm.compile(Choice(text))
    inputs = inputs_of([tuple(prompt_ids)], 0, lm.model.device)
    most = len(text.encode()) + 1
    decoded = decode(lm.model, inputs, grammar, max_new_tokens=most)
    ends = grammar.vocabulary.eos_token_ids
    return tuple(token for token in decoded.token_ids if token not in ends)


def perplexity(model: Any, prompt_ids: Sequence[int], token_ids: Sequence[int]) -> float:
    """Return the perplexity of tokens after a prompt. Cost: one pass over all of them."""
    from schemagen.decode.likelihood import log_likelihoods

    (found,) = log_likelihoods(model, [(*prompt_ids, *token_ids)], [len(token_ids)])
    return math.exp(-found / len(token_ids))
