"""Drafts with branches in one pass: which tokens each token attends to, and which entries of the cache are kept.

Idea: if two continuations are likely, one pass reads both. The tokens of all branches are in one sequence; each attends
to the text and to the tokens on its own path, and has the position that it would have there (tree attention; Miao et
al. 2023, arXiv:2305.09781). Afterwards the keys and values of the chosen path are moved together.

Invariants: the nodes of a tree come after their parents, so that the chosen path is ascending, and moving it to the
front overwrites nothing that is still needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.speculation.draft_tree import DraftTree

#: Implementations of attention that take a mask for each pair of tokens.
_WITH_MASKS = ("sdpa", "eager")


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
