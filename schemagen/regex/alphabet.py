"""Characters that the sets of an expression do not tell apart (Owens, Reppy & Turon 2009, section 4.2)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from schemagen.regex.ast import (
    MAX_CODE_POINT,
    Alternation,
    Chars,
    Concat,
    Conjunction,
    Ranges,
    Regex,
    Substring,
    char_set,
    normalise_ranges,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Alphabet:
    """Classes of code points that none of the given sets tells apart."""

    def __init__(self, sets: Iterable[Ranges]) -> None:
        distinct = list(dict.fromkeys(sets))
        events: dict[int, int] = {0: 0}
        for index, ranges in enumerate(distinct):
            for low, high in ranges:
                events[low] = events.get(low, 0) ^ (1 << index)
                events[high + 1] = events.get(high + 1, 0) ^ (1 << index)
        self.starts = sorted(point for point in events if point <= MAX_CODE_POINT)
        self.class_at: list[int] = []
        known: dict[int, int] = {}
        signature = 0
        for point in self.starts:
            signature ^= events[point]
            self.class_at.append(known.setdefault(signature, len(known)))
        self.size = len(known)
        self._bits = dict.fromkeys(distinct, 0)
        for number, signature in enumerate(known):
            for index in bits_of(signature):
                self._bits[distinct[index]] |= 1 << number

    def bits(self, ranges: Ranges) -> int:
        """Return the classes that make up one of the sets given at construction."""
        return self._bits[ranges]

    def class_of(self, code_point: int) -> int:
        """Return the class of a code point."""
        return self.class_at[bisect_right(self.starts, code_point) - 1]

    def first_of_each(self) -> list[int]:
        """Return the first code point of each class."""
        return [self.starts[self.class_at.index(number)] for number in range(self.size)]

    def ranges(self, bits: int) -> Ranges:
        """Return the code points of a set of classes."""
        ends = [*(start - 1 for start in self.starts[1:]), MAX_CODE_POINT]
        spans = zip(self.starts, ends, self.class_at, strict=True)
        return normalise_ranges((low, high) for low, high, number in spans if bits >> number & 1)


def bits_of(bits: int) -> Iterator[int]:
    """Yield the members of a set of small numbers that is kept as bits, the lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def character_sets(regex: Regex) -> Iterator[Ranges]:
    """Yield the set of every `Chars` inside, and each character of every `Substring`."""
    stack: list[Regex] = [regex]
    while stack:
        node = stack.pop()
        if isinstance(node, Chars):
            yield node.ranges
        elif isinstance(node, Substring):
            yield from (char_set(character).ranges for character in set(node.text))
        elif isinstance(node, (Concat, Alternation, Conjunction)):
            stack.extend(node.parts)
        else:
            stack.append(node.inner)
