"""`DraftTree`: the tokens that the model is asked about in one pass, and how it reads a tree with branches.

Idea: if two continuations are likely, one pass reads both. The tokens of all branches are in one sequence; each attends
to the text and to the tokens on its own path, and has the position that it would have there (tree attention; Miao et
al. 2023, arXiv:2305.09781). Afterwards the keys and values of the chosen path are moved together.

Invariants: the nodes of a tree come after their parents, so that the chosen path is ascending, and moving it to the
front overwrites nothing that is still needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from schemagen.decode.speculation.drafts import Draft

#: Implementations of attention that take a mask for each pair of tokens.
_WITH_MASKS = ("sdpa", "eager")


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


def can_branch(model: Any, cache: Any) -> bool:
    """Whether a model accepts masks for pairs of tokens, and tokens can be removed from its cache."""
    attention = getattr(model.config, "_attn_implementation", None)
    return attention in _WITH_MASKS and hasattr(cache, "layers")


def tree_layout(tree: DraftTree, cached: int, pending: int, model: Any) -> dict[str, torch.Tensor]:
    """Return the attention mask and the positions of a tree.

    Args:
        tree: The nodes.
        cached: Tokens in the cache.
        pending: Tokens of the pass before the nodes.
        model: The model that will read them.

    Returns:
        ``attention_mask``: 0 or the lowest number, [1, 1, pending + nodes, cached + pending + nodes], and
        ``position_ids``: int64 [1, pending + nodes].
    """
    width = pending + len(tree.tokens)
    seen = torch.ones((width, cached + width), dtype=torch.bool).tril(diagonal=cached)
    positions = list(range(cached, cached + pending))
    for node in range(len(tree.tokens)):
        path = tree.path(node)
        row = pending + node
        seen[row, cached + pending :] = False
        seen[row, [cached + pending + each for each in path]] = True
        positions.append(cached + pending + len(path) - 1)
    lowest = torch.finfo(model.dtype).min
    mask = torch.zeros(seen.shape, dtype=model.dtype).masked_fill_(~seen, lowest)
    place = model.device
    return {"attention_mask": mask[None, None].to(place), "position_ids": torch.tensor([positions], device=place)}


def keep_path(cache: Any, nodes: int, path: Sequence[int]) -> None:
    """Move the keys and values of the chosen nodes to the front of those of all nodes; the entries after them are left.

    Args:
        cache: A cache that ends with the nodes of a tree.
        nodes: The number of nodes.
        path: The chosen nodes, in ascending order.
    """
    if list(path) == list(range(len(path))):
        return
    for layer in cache.layers:
        start = layer.keys.shape[-2] - nodes
        chosen = torch.tensor([start + node for node in path], device=layer.keys.device)
        for stored in (layer.keys, layer.values):
            stored[..., start : start + len(path), :] = stored.index_select(-2, chosen)
