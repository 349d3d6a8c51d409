"""UTF-8 as byte ranges: the alphabet of the reference engine.

A class of code points becomes a few sequences of byte ranges, one range for each byte of the encoding; the 256 bytes
are cut into the intervals that the ranges of an expression tell apart: automata have tens of symbols and not 256.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Iterator

_SURROGATES = ((0xD800, 0xDFFF),)
_SAME_LENGTH = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, ast.MAX_CODE_POINT))
#: Inclusive ranges, one for each byte of an encoding.
ByteRanges = tuple[tuple[int, int], ...]


def utf8_ranges(ranges: ast.Ranges) -> Iterator[ByteRanges]:
    """Yield sequences of byte ranges that together are the UTF-8 encodings of the code points; surrogates have none."""
    for low, high in ast.intersect_ranges(ranges, ast.invert_ranges(_SURROGATES)):
        for first, last in _SAME_LENGTH:
            if low <= last and first <= high:
                yield from _split(chr(max(low, first)).encode(), chr(min(high, last)).encode())


def _split(low: bytes, high: bytes) -> Iterator[ByteRanges]:
    """Yield byte ranges for all encodings of one length between `low` and `high`, by their first byte."""
    if len(low) == 1:
        yield ((low[0], high[0]),)
        return
    rest = len(low) - 1
    if low[0] == high[0]:
        yield from (((low[0], low[0]), *tail) for tail in _split(low[1:], high[1:]))
        return
    first, last = low[0], high[0]
    if low[1:] != b"\x80" * rest:
        yield from (((first, first), *tail) for tail in _split(low[1:], b"\xbf" * rest))
        first += 1
    if high[1:] != b"\xbf" * rest:
        yield from (((last, last), *tail) for tail in _split(b"\x80" * rest, high[1:]))
        last -= 1
    if first <= last:
        yield ((first, last), *(((0x80, 0xBF),) * rest))


class ByteAlphabet:
    """The 256 bytes cut into the coarsest intervals that an expression cannot tell apart."""

    def __init__(self, regex: ast.Regex) -> None:
        cuts = {0, 256}
        for chars in _char_classes(regex):
            for sequence in utf8_ranges(chars.ranges):
                for low, high in sequence:
                    cuts.update((low, high + 1))
        self.starts = sorted(cuts)

    def classes(self, low: int, high: int) -> range:
        """Return the classes of a range of bytes that lies on the cuts."""
        return range(bisect_left(self.starts, low), bisect_left(self.starts, high + 1))

    def groups(self) -> list[list[str]]:
        """Return the latin-1 characters of each class."""
        return [[chr(byte) for byte in range(a, b)] for a, b in zip(self.starts, self.starts[1:], strict=False)]


def _char_classes(regex: ast.Regex) -> Iterator[ast.Chars]:
    """Yield the classes of code points in an expression, and the one that complement is taken within."""
    yield ast.ANY_CHAR
    stack, seen = [regex], set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Chars):
            yield node
        elif isinstance(node, ast.Substring):
            yield from map(ast.char_set, set(node.text))
        elif id(node) not in seen:
            seen.add(id(node))
            stack.extend((node.inner,) if isinstance(node, ast.Repeat | ast.Complement) else node.parts)
