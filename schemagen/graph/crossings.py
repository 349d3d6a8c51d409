"""The tokens that complete a part and go on behind it: the *crossing table* of a part.

All splits t = u v of all tokens with a u that ends like the texts of the part (JSON objects in ``}``, a marker in its last
byte) and a v that can follow, as a trie over u. It is made once per part and walked along the matcher; in free text that is
one step, because no u but those that complete the marker is there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.masks.bitmask import set_bit

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from schemagen.engine.protocol import Matcher
    from schemagen.masks.bitmask import Words
    from schemagen.vocabulary import Vocabulary


class Crossing:
    """The tokens that complete a part and go on behind it, as a trie over the bytes that complete it.

    Behind such a token nothing is left of the part, so what is needed to finish does not depend on where it stood: the tokens
    of a node are sorted by that.
    """

    __slots__ = ("children", "words")

    def __init__(self) -> None:
        self.children: dict[int, Crossing] = {}
        self.words: dict[int, Words] = {}

    def add(self, head: bytes, token_id: int, needed: int, width: int) -> None:
        """Add a token by its first half, and by how many tokens are needed behind it."""
        node = self
        for byte in head:
            node = node.children.setdefault(byte, Crossing())
        if needed not in node.words:
            node.words[needed] = np.zeros(width, dtype=np.int32)
        set_bit(node.words[needed], token_id)

    def collect(self, matcher: Matcher, into: Words, budget: float) -> None:
        """Add the tokens whose first half completes the part from where the matcher stands, as far as a budget goes."""
        for byte, child in self.children.items():
            if matcher.accept_bytes(bytes((byte,))):
                if child.words and matcher.is_accepting():
                    for needed, words in child.words.items():
                        if needed < budget:
                            np.bitwise_or(into, words, out=into)
                child.collect(matcher, into, budget)
                matcher.rollback(1)


def cuts(vocabulary: Vocabulary, ends: Iterable[int] | None, begins: Iterable[int]) -> list[tuple[int, int]]:
    """Return where tokens can be cut in two between some bytes: id, and length of the first half."""
    data, owners, starts = _flat(vocabulary)
    may_end, may_begin = np.zeros(256, dtype=bool), np.zeros(256, dtype=bool)
    may_end[list(range(256) if ends is None else ends)] = True
    may_begin[list(begins)] = True
    places = np.flatnonzero(may_end[data[:-1]] & may_begin[data[1:]] & (owners[:-1] == owners[1:]))
    ids = owners[places]
    return list(zip(ids.tolist(), (places + 1 - starts[ids]).tolist(), strict=True))


@lru_cache(maxsize=4)
def _flat(vocabulary: Vocabulary) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the bytes of all tokens, the token that each belongs to, and where each token starts."""
    lengths = np.fromiter(map(len, vocabulary.tokens), dtype=np.int64, count=vocabulary.size)
    data = np.frombuffer(b"".join(vocabulary.tokens), dtype=np.uint8)
    return data, np.repeat(np.arange(vocabulary.size), lengths), np.cumsum(lengths) - lengths
