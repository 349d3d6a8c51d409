"""Beginnings of texts that samplers extend token by token, and the law of their next token."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from schemagen.decode.row_sampling import distributions, drawn
from schemagen.masks.bitmask import allocate_token_bitmask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.token_tree import TokenTree
    from schemagen.engine.protocol import Constraint, Matcher
    from schemagen.options.sampling import Sampling
    from schemagen.vocabulary.canonical import CanonicalText

#: Seeds that torch has.
_SEEDS = 2**64
#: The share of the probability of unlikely tokens that are not shown to the tokenizer.
_REST = 1e-9


@dataclass(slots=True)
class Beginning:
    """A text that may go on.

    Attributes:
        node: Its place in the tree of continuations.
        matcher: At its end.
        numbers: Its random numbers.
        token_ids: Its tokens.
        log_weight: The logarithm of its weight.
        is_dead: Whether it cannot go on: the cuts of the law leave no token that is allowed.
        canonical: Its tokens, if they are to be those that the tokenizer writes; None if any will do.
    """

    node: int
    matcher: Matcher
    numbers: torch.Generator
    token_ids: list[int] = field(default_factory=list)
    log_weight: float = 0.0
    is_dead: bool = False
    canonical: CanonicalText | None = None

    def copy(self, numbers: torch.Generator) -> Beginning:
        """Return a copy that goes on with other random numbers."""
        canonical = None if self.canonical is None else self.canonical.copy()
        return replace(
            self, matcher=self.matcher.fork(), token_ids=list(self.token_ids), numbers=numbers, canonical=canonical
        )


class Law:
    """The model's law of the next token, and which tokens the constraint allows.

    A text ends with EOS, whose probability counts; it may come after the last token of the budget.

    Args:
        tree: The continuations of the prompt.
        constraint: The constraint.
        sampling: How tokens are drawn from the model's scores: this shapes the law that is conditioned.
        budget: The maximum number of tokens.
        canonical: An empty text of canonical tokens, if texts are to consist of them; None if any tokens will do.

    Attributes:
        tree: As given.
        constraint: As given.
        budget: As given.
    """

    def __init__(
        self,
        tree: TokenTree,
        constraint: Constraint,
        sampling: Sampling,
        budget: int,
        canonical: CanonicalText | None = None,
    ) -> None:
        self.tree, self.constraint, self.budget = tree, constraint, budget
        self._sampling, self._canonical = sampling, canonical
        self._ends = constraint.vocabulary.eos_token_ids
        self._words = allocate_token_bitmask(1, constraint.vocabulary.size)

    def begin(self, seed: int) -> Beginning:
        """Return an empty text."""
        canonical = None if self._canonical is None else self._canonical.copy()
        return Beginning(
            0, self.constraint.matcher(), torch.Generator().manual_seed(seed % _SEEDS), canonical=canonical
        )

    def chances(self, texts: Sequence[Beginning]) -> torch.Tensor:
        """Return the probabilities of the next token of each text: float64 [N, V]. Cost: a pass over new places."""
        return distributions(self.tree.scores([text.node for text in texts]), self._sampling, "cpu")

    def allowed(self, text: Beginning, chances: torch.Tensor) -> torch.Tensor:
        """Return which tokens may come next so that the text can be completed within the budget: bool [V].

        Args:
            text: The text.
            chances: The probabilities of its next token, float64 [V].

        Cost: a mask; for canonical tokens, a call of the tokenizer for each allowed token, the likeliest first, until the
            others together have less than `_REST` of the probability: they count as not allowed.
        """
        found = self._in_language(text, len(chances))
        if text.canonical is None:
            return found
        ids = found.nonzero()[:, 0]
        ids = ids[chances[ids].argsort(descending=True)]
        rest = chances[ids].flip(0).cumsum(0).flip(0)  # of each token and those after it
        likely = ids[rest > _REST * float(rest[0])] if len(ids) else ids
        canonical = torch.zeros_like(found)
        canonical[[token_id for token_id in likely.tolist() if text.canonical.allows(token_id)]] = True
        return canonical

    def _in_language(self, text: Beginning, width: int) -> torch.Tensor:
        """Return which tokens the constraint allows next, within the budget: bool [width]."""
        left = self.budget - len(text.token_ids)
        if left <= 0:
            found = torch.zeros(width, dtype=torch.bool)
            found[[end for end in self._ends if self._fits(text, end)]] = True
            return found
        text.matcher.fill_next_token_bitmask(self._words, 0, budget=left)
        bits = np.unpackbits(self._words.numpy().view(np.uint8), bitorder="little")[:width]
        return torch.from_numpy(np.pad(bits, (0, width - len(bits)))).bool()

    def allows(self, text: Beginning, token_id: int) -> bool:
        """Whether a single token may come next, as a mask within the budget says, without computing one."""
        return self._fits(text, token_id) and (text.canonical is None or text.canonical.allows(token_id))

    def _fits(self, text: Beginning, token_id: int) -> bool:
        """Whether the constraint allows a token next, within the budget."""
        left = self.budget - len(text.token_ids)
        if left <= 0 and token_id not in self._ends:
            return False
        before = text.matcher.tokens_to_finish()
        if not text.matcher.accept_token(token_id):
            return False
        needed = -1 if text.matcher.is_terminated() else text.matcher.tokens_to_finish()
        text.matcher.rollback(1)
        return before is None or (needed is not None and needed < max(left, before))

    def extend(self, text: Beginning, token_id: int) -> None:
        """Add a token that is allowed."""
        text.matcher.accept_token(token_id)
        text.node = self.tree.child(text.node, token_id)
        text.token_ids.append(token_id)
        if text.canonical is not None:
            text.canonical.append(token_id)

    def is_over(self, text: Beginning) -> bool:
        """Whether nothing may follow."""
        return text.is_dead or text.matcher.is_terminated()


def draw(chances: torch.Tensor, text: Beginning) -> int:
    """Draw a token from probabilities float64 [V], which need not add up to 1."""
    return int(drawn(chances.unsqueeze(0), [text.numbers]))
