"""`Bans`: the tokens that may not follow some beginnings of a text, as a tree of the beginnings, and how likely they were.

A banned token takes its probability out of the law of the text. So that a new text has the law of the texts that are left,
each beginning knows which share of its texts is banned: the sum over its next tokens of their probability times the share
that is banned after them (the trie of removed mass of CARS, arXiv:2510.01902). The probabilities are those at temperature 1; at
other temperatures the shares, and so the law, are close to the right ones.

Probabilities are known to some 1e-7, so a share is never rounded to everything: a beginning is banned when forced text leads
from it to a ban, or when the loop found no token after it (`Guide.exhausted`).

Invariant: no beginning is banned while a text that begins with it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The largest share of a beginning that is not itself banned; well above the error of the probabilities.
_MOST = 1 - 1e-5


@dataclass(slots=True)
class _Node:
    """A beginning.

    Attributes:
        shares: Next token -> the share of the texts after it that is banned.
        chances: Next token -> its probability; of those in `shares`.
        children: Next token -> the beginning with it.
    """

    shares: dict[int, float] = field(default_factory=dict)
    chances: dict[int, float] = field(default_factory=dict)
    children: dict[int, _Node] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the texts of this beginning that is banned; 1 if forced text leads to a ban."""
        if any(share == 1 and self.chances[token_id] == 1 for token_id, share in self.shares.items()):
            return 1.0
        return min(sum(share * self.chances[token_id] for token_id, share in self.shares.items()), _MOST)


class Bans:
    """The bans of one text, and the beginning that it has now.

    Attributes:
        tokens: The beginning.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._chances: list[float] = []
        self._nodes: list[_Node | None] = [
            _Node()
        ]  # of each beginning of the beginning; None where nothing is banned below

    def discounts(self, temperature: float | None) -> Mapping[int, float]:
        """Return what to add to the scores of the next tokens: ``-inf`` for banned ones, less for those that lead to bans.

        Args:
            temperature: At which the token is drawn; None if the likeliest one is taken, which only a ban changes.
        """
        node = self._nodes[-1]
        shares = {} if node is None else node.shares
        if temperature is None:
            return {token_id: float("-inf") for token_id, share in shares.items() if share == 1}
        return {
            token_id: float("-inf") if share == 1 else temperature * log1p(-share) for token_id, share in shares.items()
        }

    def is_banned(self, tokens: Sequence[int]) -> bool:
        """Whether the last token of a beginning may not come after the others."""
        node: _Node | None = self._nodes[0]
        for token_id in tokens[:-1]:
            node = None if node is None else node.children.get(token_id)
        return node is not None and node.shares.get(tokens[-1]) == 1

    def append(self, token_id: int, chance: float = 1.0) -> None:
        """Add a token to the beginning, with its probability: 1 only if no other token could follow."""
        node = self._nodes[-1]
        self.tokens.append(token_id)
        self._chances.append(chance)
        self._nodes.append(None if node is None else node.children.get(token_id))

    def cut(self, length: int) -> None:
        """Keep the first tokens of the beginning."""
        del self.tokens[length:], self._chances[length:], self._nodes[length + 1 :]

    def ban(self, place: int) -> None:
        """Ban the token at an index after the tokens before it, and go back to these."""
        for length in range(1, place + 1):
            if self._nodes[length] is None:
                above = self._nodes[length - 1]
                assert above is not None, "the nodes are made from the start"
                self._nodes[length] = above.children[self.tokens[length - 1]] = _Node()
        share = 1.0
        for length in range(place, -1, -1):
            node = self._nodes[length]
            assert node is not None, "it was made"
            node.shares[self.tokens[length]], node.chances[self.tokens[length]] = share, self._chances[length]
            share = node.share
        self.cut(place)
