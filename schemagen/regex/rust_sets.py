r"""Sets of code points of Rust's `regex` crate, asked of the crate itself in the installed pydantic-core.

Idea: pydantic checks `Field(pattern=...)` with this crate, so its tables decide, whatever their Unicode version. A class such
as `\p{Greek}` is a predicate that can be asked of a whole text at once: ``\A[\p{Greek}]*\z`` holds if all of the text is in
the class, ``\A[^\p{Greek}]*\z`` if nothing is. Halving the text where neither holds finds the ranges, with a few questions for
each end of a range.

`\d`, `\s` and `\w` are in `rust_tables.py` for the Unicode versions known there, which saves the questions; other versions
are asked.

Invariants: every scalar value is asked about, except that in the planes 4 to 13 (unassigned) and 15 to 16 (private use) the
code points of a plane are taken to be alike, apart from its last two, which are noncharacters. Surrogates, which no text of
the crate contains, are in a set together with U+E000: so a complement that holds no text at all has no code points either.

Cost: 5 to 50 ms for a set, at most once in a process; nothing is asked until a pattern needs it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.regex.ast import MAX_CODE_POINT, Ranges, normalise_ranges
from schemagen.regex.unicode import parse_table

if TYPE_CHECKING:
    from collections.abc import Callable

#: The scalar values that are asked about one by one.
_FULL = ((0, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x3FFFF), (0xE0000, 0xEFFFF))
#: Planes of code points that are alike.
_ALIKE = ((0x4, 0xD), (0xF, 0x10))
#: The characters that case-insensitivity adds to ASCII letters, the Kelvin sign and the long s; Unicode's stability policy
#: fixes both.
_BEYOND_ASCII = {"k": 0x212A, "s": 0x17F}

#: The POSIX classes, which are ASCII.
POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


class Refusal(NamedTuple):
    """Why the crate refuses a pattern.

    Attributes:
        fact: In its own words.
        position: Where in the pattern.
        is_size: Whether the pattern is too large for it, and otherwise fine.
    """

    fact: str
    position: int
    is_size: bool


class _Segment(NamedTuple):
    """Characters that stand for code points: each for its range, in order."""

    text: str
    ranges: Ranges | None
    first: int

    def spans(self, start: int, end: int) -> Ranges:
        """Return the code points of the characters from ``start`` up to ``end``."""
        return ((self.first + start, self.first + end - 1),) if self.ranges is None else self.ranges[start:end]


def refusal(pattern: str) -> Refusal | None:
    """Return why the crate refuses a pattern; None if it does not."""
    from pydantic_core import SchemaError

    try:
        _predicate(pattern)
    except UnicodeEncodeError as error:
        return Refusal("the pattern has a lone surrogate", error.start, is_size=False)
    except SchemaError as error:
        return _refusal(str(error))
    return None


def rust_set(item: str) -> Ranges | None:
    r"""Return the code points of a class item such as `\w` or `\p{Greek}`; None if the crate does not know it.

    Args:
        item: An item between brackets, without flags.
    """
    return _shipped().get(item) or _asked(item)


def rust_fold(ranges: Ranges) -> Ranges:
    """Return ``ranges`` as the flag ``i`` widens them: simple case folding."""
    if not ranges or ranges[-1][1] < 0x80:
        return _folded_ascii(ranges)
    return _folded(ranges)


def ascii_fold(ranges: Ranges) -> Ranges:
    """Return ``ranges`` with the ASCII letters of both cases."""
    swapped = [
        (max(low, a) + shift, min(high, b) + shift)
        for low, high in ranges
        for a, b, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32))
        if max(low, a) <= min(high, b)
    ]
    return normalise_ranges((*ranges, *swapped))


@lru_cache(maxsize=1)
def unicode_version() -> str:
    """Return the version of the crate's tables if `rust_tables.py` has it, otherwise the version of pydantic-core."""
    from schemagen.regex.rust_tables import VERSIONS

    for version, following in VERSIONS.items():
        if refusal(rf"\p{{age={version}}}") is None and refusal(rf"\p{{age={following}}}") is not None:
            return version
    import pydantic_core

    return f"pydantic-core {pydantic_core.__version__}"


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Ranges]:
    from schemagen.regex.rust_tables import TABLES

    tables = TABLES.get(unicode_version(), {})
    return {item: tuple(parse_table(table)) for item, table in tables.items()}


def _predicate(pattern: str) -> Callable[[str], bool]:
    """Return whether a text has a match of the pattern, as a function."""
    from pydantic_core import SchemaValidator

    schema: Any = {"type": "str", "pattern": pattern}
    return SchemaValidator(schema).isinstance_python


def _refusal(message: str) -> Refusal:
    """Read the crate's message: the pattern, a line of carets below it, and ``error: ...``."""
    found = re.search(r"regex parse error:\n(.*)error: ([^\n]*)", message, re.DOTALL)
    if found is None:
        return Refusal(message.strip().rsplit("SchemaError: ", 1)[-1].split("\n", 1)[0], 0, "size limit" in message)
    lines = found.group(1).split("\n")
    carets = [line for line in lines if line.strip(" ^") == "" and "^" in line]
    # A pattern of several lines is shown with line numbers, from which no position is read.
    position = carets[0].index("^") - 4 if len(carets) == 1 and len(lines) == 3 else 0
    return Refusal(found.group(2).strip(), max(position, 0), is_size=False)


@lru_cache(maxsize=256)
def _asked(item: str) -> Ranges | None:
    from pydantic_core import SchemaError

    try:
        inside, outside = _predicate(rf"\A[{item}]*\z"), _predicate(rf"\A[^{item}]*\z")
    except (SchemaError, UnicodeEncodeError):
        return None
    spans = (span for segment in _segments() for span in _spans(segment, inside, outside))
    return normalise_ranges(with_surrogates(low, high) for low, high in spans)


def with_surrogates(low: int, high: int) -> tuple[int, int]:
    """Return a range, with the surrogates if it begins right after them."""
    return (0xD800, high) if low == 0xE000 else (low, high)


def _spans(segment: _Segment, inside: Callable[[str], bool], outside: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the code points of a segment that are inside, by halving it where it is neither all in nor all out."""
    found: list[tuple[int, int]] = []
    waiting = [(0, len(segment.text))]
    while waiting:
        start, end = waiting.pop()
        part = segment.text[start:end]
        if outside(part):
            continue
        if inside(part):
            found += segment.spans(start, end)
            continue
        middle = (start + end) // 2
        waiting += [(middle, end), (start, middle)]
    return found


@lru_cache(maxsize=1)
def _segments() -> tuple[_Segment, ...]:
    """Return all scalar values, once in a process: 330,000 characters."""
    from array import array
    from sys import byteorder

    encoding = "utf-32-le" if byteorder == "little" else "utf-32-be"
    full = [_Segment(array("I", range(low, high + 1)).tobytes().decode(encoding), None, low) for low, high in _FULL]
    alike = []
    for first, last in _ALIKE:
        ranges: list[tuple[int, int]] = []
        for plane in range(first << 16, (last + 1) << 16, 1 << 16):
            ranges += [(plane, plane | 0xFFFD), (plane | 0xFFFE, plane | 0xFFFE), (plane | 0xFFFF, plane | 0xFFFF)]
        alike.append(_Segment("".join(chr(low) for low, _ in ranges), tuple(ranges), 0))
    return (*full, *alike)


def _folded_ascii(ranges: Ranges) -> Ranges:
    found = ascii_fold(ranges)
    extra = [
        (point, point)
        for letter, point in _BEYOND_ASCII.items()
        if any(low <= ord(letter) <= high for low, high in found)
    ]
    return normalise_ranges((*found, *extra))


@lru_cache(maxsize=256)
def _folded(ranges: Ranges) -> Ranges:
    """Ask which of the characters that have a case are in the set under the flag."""
    listed = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in _scalars(ranges))
    if not listed:
        return ranges
    inside, outside = _predicate(rf"\A(?i:[{listed}]*)\z"), _predicate(rf"\A(?i:[^{listed}]*)\z")
    return normalise_ranges((*ranges, *_spans(_cased(), inside, outside)))


@lru_cache(maxsize=1)
def _cased() -> _Segment:
    """Return every character that folds to another, or that another folds to."""
    ranges = _asked(r"\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}")
    assert ranges is not None, "Unicode has had both properties since version 5"
    points = [point for low, high in ranges for point in range(low, high + 1)]
    return _Segment("".join(map(chr, points)), tuple((point, point) for point in points), 0)


def _scalars(ranges: Ranges) -> list[tuple[int, int]]:
    """Return the ranges without surrogates."""
    parts = ((low, min(high, 0xD7FF)) for low, high in ranges)
    rest = ((max(low, 0xE000), min(high, MAX_CODE_POINT)) for low, high in ranges)
    return [(low, high) for low, high in (*parts, *rest) if low <= high]
