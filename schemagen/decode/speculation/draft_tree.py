"""`DraftTree`: the tokens that the model is asked about in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from schemagen.decode.speculation.drafts import Draft


@dataclass(frozen=True, slots=True)
class Guess:
    """A draft, and the chance that its tokens are chosen."""

    chance: float
    draft: Draft
    evidence: Hashable


@dataclass(slots=True)
class DraftTree:
    """Tokens that the model is asked about in one pass: a tree, most often without branches.

    A node comes after its parent; the children of one parent are guesses at the same token.

    Attributes:
        tokens: The expected token of each node.
        parents: The parent of each node; -1 for the text itself.
        drafts: The draft of each node.
        evidence: The evidence for each guess.
        reach: The chance that each node and all before it are chosen.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    evidence: list[Hashable] = field(default_factory=list)
    reach: list[float] = field(default_factory=list)

    def add(self, token: int, parent: int, guess: Guess, reach: float) -> int:
        """Add a node; return it."""
        self.tokens.append(token)
        self.parents.append(parent)
        self.drafts.append(guess.draft)
        self.evidence.append(guess.evidence)
        self.reach.append(reach)
        return len(self.tokens) - 1

    def children(self, node: int) -> list[int]:
        """Return the guesses at the token after a node, the likeliest first."""
        return [child for child, parent in enumerate(self.parents) if parent == node]

    def path(self, node: int) -> list[int]:
        """Return a node and its ancestors, the root first."""
        nodes: list[int] = []
        while node >= 0:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    @property
    def is_chain(self) -> bool:
        """Whether the tree has no branches."""
        return self.parents == list(range(-1, len(self.parents) - 1))

    def kept(self, nodes: Sequence[int]) -> DraftTree:
        """Return the tree of some nodes, in ascending order; each node comes with its parent."""
        places = {-1: -1, **{node: place for place, node in enumerate(nodes)}}
        found = DraftTree()
        for node in nodes:
            guess = Guess(0.0, self.drafts[node], self.evidence[node])
            found.add(self.tokens[node], places[self.parents[node]], guess, self.reach[node])
        return found
