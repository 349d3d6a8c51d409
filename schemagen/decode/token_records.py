"""What the model expected at each token of a text, and what the mask left of it: a `TokenRecord` for each token.

The loops note it while they write (`Records`): the scores are there in any case, so it costs a pass over them. For a text that
``generate`` has written, `records_of` asks the model once more, for the whole text: the slow path, with which tests compare.

Probabilities are those of the model itself, at temperature 1, before penalties and whatever shapes a distribution for sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import expm1
from typing import TYPE_CHECKING, Any

import torch

from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.masks.logits import summary_of
from schemagen.masks.rows import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.engine.protocol import Constraint

#: The likeliest tokens that a record keeps by default, of all tokens and of those that are allowed. Two of the allowed ones
#: at least: one beside the chosen token tells that it was not forced.
ALTERNATIVES = 4
#: Positions whose scores are looked at together, so that those of a long text are not in memory twice.
_TOGETHER = 32


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that could have come.

    Attributes:
        token_id: The token.
        log_probability: By the model, before the mask.
        allowed: Whether the mask allowed it.
    """

    token_id: int
    log_probability: float
    allowed: bool


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token of a text, and how likely it was.

    Attributes:
        token_id: The token.
        raw_log_probability: The logarithm of its probability by the model, before the mask; None if the model was not asked,
            because the text was forced.
        log_allowed: The logarithm of the probability of all allowed tokens together; None as above.
        alternatives: The likeliest other tokens, and the likeliest other allowed ones; the likeliest first.
    """

    token_id: int
    raw_log_probability: float | None = None
    log_allowed: float | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def log_probability(self) -> float:
        """The logarithm of its probability among the allowed tokens; 0 for forced text."""
        if self.raw_log_probability is None or self.log_allowed is None:
            return 0.0
        return min(self.raw_log_probability - self.log_allowed, 0.0)

    @property
    def removed_mass(self) -> float:
        """The probability of the tokens that the constraint forbade; 0 for forced text."""
        return 0.0 if self.log_allowed is None else -expm1(self.log_allowed)

    @property
    def is_forced(self) -> bool:
        """Whether the model was not asked, or could choose nothing else."""
        return self.raw_log_probability is None or not any(other.allowed for other in self.alternatives)


@dataclass(slots=True)
class Records:
    """The records of one text while it is written.

    Attributes:
        alternatives: How many of the likeliest tokens each record keeps, of all and of the allowed ones.
        tokens: Those of the tokens so far.
        expected: The distribution of the next token; None if the model was not asked.
    """

    alternatives: int = ALTERNATIVES
    tokens: list[TokenRecord] = field(default_factory=list)
    expected: Expectation | None = None

    def take(self, token_id: int) -> TokenRecord:
        """Note the chosen token; without scores it is forced text, which the model was not asked about."""
        expected, self.expected = self.expected, None
        self.tokens.append(TokenRecord(token_id) if expected is None else expected.of(token_id))
        return self.tokens[-1]

    def cut(self, length: int) -> None:
        """Forget the tokens from an index on."""
        del self.tokens[length:]
        self.expected = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """The distribution of one token.

    Attributes:
        scores: float [V], before the mask.
        log_sum: The logarithm of the sum of their exponentials.
        log_allowed: The logarithm of the probability of all allowed tokens.
        likeliest: The likeliest tokens of all and of the allowed ones, with whether they are allowed.
    """

    scores: torch.Tensor
    log_sum: float
    log_allowed: float
    likeliest: dict[int, bool]

    def of(self, token_id: int) -> TokenRecord:
        """Return the record of the chosen token."""
        ids = [other for other in self.likeliest if other != token_id]
        chosen, *others = self.scores[[token_id, *ids]].tolist()
        alternatives = [
            Alternative(other, score - self.log_sum, self.likeliest[other])
            for other, score in zip(ids, others, strict=True)
        ]
        alternatives.sort(key=lambda other: -other.log_probability)
        return TokenRecord(token_id, chosen - self.log_sum, self.log_allowed, tuple(alternatives))


def expectation(
    scores: torch.Tensor, words: torch.Tensor | None, covered: int, alternatives: int = ALTERNATIVES
) -> Expectation:
    """Return the distribution of one position; arguments and cost as for `schemagen.masks.logits.summary_of`."""
    return Expectation(scores, *summary_of(scores, words, covered, alternatives))


def records_of(
    model: Any,
    prompt: Sequence[int],
    token_ids: Sequence[int],
    grammar: Constraint,
    budget: int | None = None,
    alternatives: int = ALTERNATIVES,
) -> list[TokenRecord]:
    """Return the records of a text that is written already.

    Args:
        model: A causal model of transformers.
        prompt: The tokens of the prompt.
        token_ids: Those of the text, EOS included if it was generated.
        grammar: The grammar of the text.
        budget: The number of tokens that the text could have had, as its masks knew it; None for masks without one.
        alternatives: As for `Records`.

    Cost: one pass of the model over prompt and text, and a mask for each token.
    """
    ids = torch.tensor([[*prompt, *token_ids]], device=model.device)
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
    matcher = grammar.matcher()
    found: list[TokenRecord] = []
    for first in range(0, len(token_ids), _TOGETHER):
        some = token_ids[first : first + _TOGETHER]
        scores = logits[first : first + len(some)].float().cpu()
        words = allocate_token_bitmask(len(some), grammar.vocabulary.size)
        covered = min(words.shape[1] * BITS, scores.shape[1])
        for row, token_id in enumerate(some):
            left = None if budget is None else budget - first - row
            matcher.fill_next_token_bitmask(words, row, budget=left)
            matcher.accept_token(token_id)
            found.append(expectation(scores[row], words[row], covered, alternatives).of(token_id))
    return found
