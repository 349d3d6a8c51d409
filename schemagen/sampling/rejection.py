"""`rejection`: exact samples, by drawing from the model and throwing away, but never twice, the texts that are not allowed.

Idea: whole texts drawn from the model, of which only those in the language are kept, have exactly the model's law among them.
That takes as many attempts as the language is unlikely. So each attempt teaches something: at every place that it came to,
all forbidden tokens are known, and their probability is taken out of the tree for good. The next attempts draw from the law
of the texts that are left (constrained adaptive rejection sampling, arXiv:2510.01902).

Attempts are made in rounds, side by side, so that the model reads their tokens together.

Invariants: the probability of a token in a node of the tree is that of all texts after it that are not known to be outside of
the language; a round draws from the tree as it was when the round began, so all that its attempts draw has one law, and those
that are valid are exact samples. Tokens with less than 1e-15 of the probability of the likeliest allowed one count as outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from schemagen.errors import LimitError
from schemagen.sampling.texts import Beginning, Law, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Attempts of a round, at most.
_TOGETHER = 32
_LEAST = 1e-15


@dataclass(slots=True)
class _Node:
    """A place that an attempt came to.

    Attributes:
        born: The round.
        ids: The tokens that are allowed, int64 [K], ascending.
        alive: The probability of the texts after each that are not known to be outside of the language: float64 [K].
        chances: Token -> its probability by the model, of those that were drawn.
    """

    born: int
    ids: torch.Tensor
    alive: torch.Tensor
    chances: dict[int, float] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the texts of this place that are not known to be outside of the language."""
        return min(float(self.alive.sum()), 1.0)

    def place_of(self, token_id: int) -> int | None:
        """Return the index of a token; None if it is not allowed."""
        place = int(torch.searchsorted(self.ids, token_id))
        return place if place < len(self.ids) and int(self.ids[place]) == token_id else None


@dataclass(slots=True)
class _Attempt:
    """An attempt at a text.

    Attributes:
        text: Its text.
        path: The nodes that it came to, and the token at each.
        is_over: Whether it has ended, valid or not.
        is_valid: Whether its text is in the language.
    """

    text: Beginning
    path: list[tuple[int, int]] = field(default_factory=list)
    is_over: bool = False
    is_valid: bool = False


class Rejection:
    """Draws exact samples.

    Args:
        law: The law of the model, and the constraint.
        accepts: Whether a complete text is valid, beyond its grammar.
        max_attempts: Attempts for all samples together.

    Attributes:
        attempts: How many were made.
    """

    def __init__(self, law: Law, accepts: Callable[[Beginning], bool], *, max_attempts: int) -> None:
        self._law, self._accepts, self._most = law, accepts, max_attempts
        self._nodes: dict[int, _Node] = {}
        self._round = 0
        self.attempts = 0
        self._valid, self._expected = 0, 0.0

    def samples(self, count: int, seed: int) -> Iterator[Beginning]:
        """Yield texts.

        Args:
            count: How many.
            seed: Of the random numbers; attempt *k* takes ``seed + k``.

        Raises:
            LimitError: The attempts are used up, or no text is left.
        """
        found = 0
        while found < count:
            share = self._nodes[0].share if self._nodes else 1.0
            if self.attempts >= self._most or share <= 0:
                raise self._used_up(found, count, is_empty=share <= 0)
            many = min(count - found, _TOGETHER, self._most - self.attempts)
            attempts = [_Attempt(self._law.begin(seed + self.attempts + place)) for place in range(many)]
            self._run(attempts)
            self.attempts += many
            self._valid += sum(attempt.is_valid for attempt in attempts)
            self._expected += many / share
            for attempt in [each for each in attempts if each.is_valid][: count - found]:
                found += 1
                yield attempt.text

    @property
    def evidence(self) -> float:
        """The probability that the model writes a valid text, as estimated.

        Divided by the share that was left when an attempt began, it is the probability that the attempt is valid.
        """
        return min(self._valid / self._expected, self._nodes[0].share) if self._nodes else 1.0

    def _used_up(self, found: int, count: int, *, is_empty: bool) -> LimitError:
        why = "the model hardly ever writes a text of the type, so that nearly all attempts are rejected"
        return LimitError(
            f"{found} of {count} samples after {self.attempts:,} attempts",
            why="the model gives no text of the type any probability" if is_empty else why,
            fix="raise max_attempts, show the type in the prompt, or take sampler='smc', which weighs its texts",
        )

    def _run(self, attempts: Sequence[_Attempt]) -> None:
        """Make a round of attempts; put their findings into the tree."""
        self._round += 1
        live = list(attempts)
        while live:
            unknown = [each.text for each in live if self._is_new(each.text.node)]
            chances = dict(zip(map(id, unknown), self._law.chances(unknown), strict=True)) if unknown else {}
            for attempt in live:
                self._step(attempt, chances.get(id(attempt.text)))
            live = [each for each in live if not each.is_over]
        for attempt in attempts:
            self._remove(attempt)

    def _is_new(self, node: int) -> bool:
        """Whether nothing was known about a node when the round began."""
        return node not in self._nodes or self._nodes[node].born == self._round

    def _step(self, attempt: _Attempt, chances: torch.Tensor | None) -> None:
        """Add a token to an attempt; end it if the token is forbidden, or the text is complete.

        Args:
            attempt: The attempt.
            chances: The probabilities of its next token by the model, float64 [V]; None to take those of the tree.
        """
        text, law = attempt.text, self._law
        if chances is not None and text.node not in self._nodes:
            allowed = torch.where(law.allowed(text, chances), chances, 0.0)
            ids = (allowed > _LEAST * float(allowed.max())).nonzero()[:, 0]
            self._nodes[text.node] = _Node(self._round, ids, chances[ids])
        node = self._nodes[text.node]
        token_id = int(node.ids[draw(node.alive, text)]) if chances is None else draw(chances, text)
        if chances is not None:
            node.chances[token_id] = float(chances[token_id])
        attempt.path.append((text.node, token_id))
        if node.place_of(token_id) is None:
            attempt.is_over = True
            return
        law.extend(text, token_id)
        if law.is_over(text):
            attempt.is_over, attempt.is_valid = True, self._accepts(text)
            if not attempt.is_valid:
                self._nodes[text.node] = _Node(
                    self._round, text_ids := torch.empty(0, dtype=torch.int64), text_ids.double()
                )

    def _remove(self, attempt: _Attempt) -> None:
        """Take the texts that are known to be outside of the language out of the nodes on the path of an attempt."""
        below = attempt.text.node
        for node_id, token_id in reversed(attempt.path):
            node, after = self._nodes[node_id], self._nodes.get(below)
            place = node.place_of(token_id)
            if place is not None and after is not None and below != node_id:
                chance = node.chances.get(token_id)
                if chance is None:  # drawn from the tree, where its texts had been counted before
                    chance = node.chances[token_id] = float(node.alive[place])
                node.alive[place] = chance * after.share
            below = node_id
