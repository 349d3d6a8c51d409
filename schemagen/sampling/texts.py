"""Beginnings of texts that samplers extend token by token, and the law of their next token."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from schemagen.decode.row_sampling import distributions, drawn
from schemagen.masks.bitmask import allocate_token_bitmask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.token_tree import TokenTree
    from schemagen.engine.protocol import Constraint, Matcher
    from schemagen.options.sampling import Sampling


@dataclass(slots=True)
class Beginning:
    """A text that may go on.

    Attributes:
        node: Its place in the tree of continuations.
        matcher: At its end.
        numbers: Its random numbers.
        token_ids: Its tokens.
        log_weight: The logarithm of its weight.
    """

    node: int
    matcher: Matcher
    numbers: torch.Generator
    token_ids: list[int] = field(default_factory=list)
    log_weight: float = 0.0

    def copy(self, numbers: torch.Generator) -> Beginning:
        """Return a copy that goes on with other random numbers."""
        return replace(self, matcher=self.matcher.fork(), token_ids=list(self.token_ids), numbers=numbers)


class Law:
    """The model's law of the next token, and which tokens the constraint allows.

    Args:
        tree: The continuations of the prompt.
        constraint: The constraint.
        sampling: How tokens are drawn from the model's scores: this shapes the law that is conditioned.
        budget: The maximum number of tokens.

    Attributes:
        tree: As given.
        constraint: As given.
        budget: As given.
    """

    def __init__(self, tree: TokenTree, constraint: Constraint, sampling: Sampling, budget: int) -> None:
        self.tree, self.constraint, self.budget = tree, constraint, budget
        self._sampling = sampling
        self._words = allocate_token_bitmask(1, constraint.vocabulary.size)

    def begin(self, seed: int) -> Beginning:
        """Return an empty text."""
        return Beginning(0, self.constraint.matcher(), torch.Generator().manual_seed(seed))

    def chances(self, texts: Sequence[Beginning]) -> torch.Tensor:
        """Return the probabilities of the next token of each text: float64 [N, V]. Cost: a pass over new places."""
        return distributions(self.tree.scores([text.node for text in texts]), self._sampling, "cpu")

    def allowed(self, text: Beginning, width: int) -> torch.Tensor:
        """Return which tokens may come next so that the text can be completed within the budget: bool [width]."""
        text.matcher.fill_next_token_bitmask(self._words, 0, budget=self.budget - len(text.token_ids))
        bits = np.unpackbits(self._words.numpy().view(np.uint8), bitorder="little")[:width]
        return torch.from_numpy(np.pad(bits, (0, width - len(bits)))).bool()

    def allows(self, text: Beginning, token_id: int) -> bool:
        """Whether a single token may come next, without a mask."""
        if not text.matcher.accept_token(token_id):
            return False
        is_over = text.matcher.is_terminated()
        needed = 0 if is_over else text.matcher.tokens_to_finish()
        text.matcher.rollback(1)
        return needed is not None and needed < self.budget - len(text.token_ids) + is_over

    def extend(self, text: Beginning, token_id: int) -> None:
        """Add a token that is allowed."""
        text.matcher.accept_token(token_id)
        text.node = self.tree.child(text.node, token_id)
        text.token_ids.append(token_id)

    def is_over(self, text: Beginning) -> bool:
        """Whether nothing may follow."""
        return text.matcher.is_terminated() or len(text.token_ids) >= self.budget


def draw(chances: torch.Tensor, text: Beginning) -> int:
    """Draw a token from probabilities float64 [V], which need not add up to 1."""
    return int(drawn(chances.unsqueeze(0), [text.numbers]))


def number_of(text: Any) -> float:
    """Draw a number between 0 and 1."""
    return float(torch.rand(1, dtype=torch.float64, generator=text.numbers))
