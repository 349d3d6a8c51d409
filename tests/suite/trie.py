"""The tokens of a vocabulary as a radix trie, and masks worked out by walking it with `accept_bytes`.

A mask is wrong if some token disagrees with its bytes. Bytes that are refused refuse everything that starts with them, so
that one refused edge judges a whole subtree: where few bytes are allowed a few hundred questions judge every id, and only
inside strings, where nearly all tokens are allowed, the walk has to stop at a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import numpy as np


@dataclass(slots=True)
class Node:
    """Tokens that start with the same bytes: ``edge`` leads here, ``own`` end here, all are in ``order[first:last]``."""

    edge: bytes
    first: int
    last: int
    own: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


def common_length(one, other):
    """Return how many bytes two texts begin with in common."""
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


class Trie:
    """The radix trie of a vocabulary; ``order`` has the ids with bytes, sorted by them, without the end of text."""

    def __init__(self, vocabulary):
        ends = set(vocabulary.eos_token_ids)
        self.size = vocabulary.size
        self.tokens = vocabulary.tokens
        ids = [i for i, token in enumerate(vocabulary.tokens) if token and i not in ends]
        self.order = np.array(sorted(ids, key=vocabulary.tokens.__getitem__))
        self.without_bytes = np.setdiff1d(np.arange(vocabulary.size), np.array([*ids, *ends]))
        self.root = self._node(b"", 0, 0, len(self.order))

    def _node(self, edge, depth, first, last):
        node = Node(edge, first, last)
        at = first
        while at < last and len(self.tokens[self.order[at]]) == depth:
            at += 1
        node.own = self.order[first:at].tolist()
        for _, group in groupby(range(at, last), key=lambda n: self.tokens[self.order[n]][depth]):
            members = list(group)
            low, high = members[0], members[-1]
            shared = common_length(self.tokens[self.order[low]], self.tokens[self.order[high]])
            edge = self.tokens[self.order[low]][depth:shared]
            node.children.append(self._node(edge, shared, low, high + 1))
        return node

    def disagreement(self, matcher, mask, rng, limit):
        """Return a token on which a mask and `accept_bytes` disagree, None if none is found.

        Args:
            matcher: In the state of the mask; it is forked, not moved.
            mask: One bool for each id.
            rng: Chooses what is left out beyond the limit.
            limit: Most edges to be tried.
        """
        if mask[self.without_bytes].any():
            return "an id without bytes"
        frontier = [(matcher, child) for child in self.root.children]
        for _ in range(limit):
            if not frontier:
                return None
            at = rng.randrange(len(frontier))
            frontier[at], frontier[-1] = frontier[-1], frontier[at]
            before, node = frontier.pop()
            after = before.fork()
            if not after.accept_bytes(node.edge):
                below = self.order[node.first : node.last]
                if mask[below].any():
                    return self.tokens[below[mask[below]][0]], "is in the mask, and its bytes are refused"
                continue
            if not all(mask[token] for token in node.own):
                return self.tokens[node.own[0]], "is not in the mask, and its bytes are accepted"
            frontier.extend((after, child) for child in node.children)
        return None
