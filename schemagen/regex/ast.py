"""Regular expressions as values: the one representation between every front end and every engine.

A node denotes a set of strings of Unicode code points. Pattern dialects parse to it (`dialects.py`), formats and
numbers are written in it, `engine/native/lowering.py` hands it to the compiled core, `printing.py` prints it back as Python
`re` text.
Intersection and complement are first class (Brzozowski 1964; Owens, Reppy & Turon 2009), which is what makes
`pattern` + `format` + `maxLength`, look-arounds and `not` expressible without approximation.

Invariants: nodes are frozen, and their hash is computed once; build them with the lower-case constructors below, which
apply the cheap identities (`union()` is `EMPTY`, `concat()` is `EPSILON`, ...), so that equal languages often are equal
values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, Union as _Union

from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Mark a decorator for type checkers only: Python 3.10 does not have it."""
        return lambda decorator: decorator


_T = TypeVar("_T")

MAX_CODE_POINT = 0x10FFFF

#: Sorted, disjoint, non-adjacent inclusive ranges of code points.
Ranges = tuple[tuple[int, int], ...]


class HashedOnce:
    """Base of a slotted dataclass under `hashed_once`: the place where the hash is kept.

    It is not a field: neither compared nor shown, nor pickled, since the hashes of texts differ between processes.
    """

    __slots__ = ("_hash",)
    _hash: int


def hashed_once(cls: type[_T]) -> type[_T]:
    """Let a frozen dataclass remember the hash that its generated `__hash__` gives.

    Expressions are trees that serve as keys of many dictionaries, and the generated hash is computed anew, down to the
    leaves, at each look-up: half the time of a compilation went there.

    Args:
        cls: A frozen, slotted dataclass derived from `HashedOnce`.
    """
    compute = cls.__hash__

    def remembered(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            value = compute(self)
            object.__setattr__(self, "_hash", value)
            return value

    cls.__hash__ = remembered  # type: ignore[method-assign]
    return cls


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(cls: type[_T]) -> type[_T]:
    """Make a slotted dataclass that is frozen for type checkers alone: so it is made in less than half the time."""
    made = hashed_once(dataclass(slots=True, unsafe_hash=True)(cls))
    names = [each.name for each in fields(made)]  # type: ignore[arg-type]

    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, values: list[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)

    made.__getstate__, made.__setstate__ = state, restore  # type: ignore[attr-defined]
    return made


@hashed_once
@dataclass(frozen=True, slots=True)
class Chars(HashedOnce):
    """One code point out of ``ranges``; no ranges at all is the empty language."""

    ranges: Ranges


@hashed_once
@dataclass(frozen=True, slots=True)
class Concat(HashedOnce):
    """The parts one after the other; no parts at all is the empty string."""

    parts: tuple[Regex, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Alternation(HashedOnce):
    """Any of the parts."""

    parts: tuple[Regex, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Conjunction(HashedOnce):
    """All of the parts at once."""

    parts: tuple[Regex, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Complement(HashedOnce):
    """Every string that ``inner`` does not match."""

    inner: Regex


@hashed_once
@dataclass(frozen=True, slots=True)
class Repeat(HashedOnce):
    """``inner`` at least ``low`` and at most ``high`` times; ``high=None`` is unbounded."""

    inner: Regex
    low: int
    high: int | None


@hashed_once
@dataclass(frozen=True, slots=True)
class Substring(HashedOnce):
    """Any run of characters of ``text``, at least one of them: a leaf, however long the text is."""

    text: str


Regex = _Union[Chars, Concat, Alternation, Conjunction, Complement, Repeat, Substring]  # noqa: UP007 - a runtime alias of forward names

EMPTY = Chars(())
EPSILON = Concat(())
ANY_CHAR = Chars(((0, MAX_CODE_POINT),))
ANY_STRING = Repeat(ANY_CHAR, 0, None)


#: Results about sets of at least this many ranges are cached: a pattern needs those of \\w, which has 770, at each \\b.
_MANY_RANGES = 32


def normalise_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort the ranges and merge those that overlap or touch."""
    given = tuple(ranges)
    return _normalised(given) if len(given) < _MANY_RANGES else _remembered_normalised(given)


def _normalised(ranges: Ranges) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


_remembered_normalised = lru_cache(maxsize=128)(_normalised)


def invert_ranges(ranges: Ranges) -> Ranges:
    """Return the code points that are in none of ``ranges``."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE_POINT:
        gaps.append((start, MAX_CODE_POINT))
    return tuple(gaps)


def intersect_ranges(left: Ranges, right: Ranges) -> Ranges:
    """Return the code points that are in both."""
    work_out = _common if len(left) + len(right) < _MANY_RANGES else _remembered_common
    return work_out(left, right)


def _common(left: Ranges, right: Ranges) -> Ranges:
    both: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            both.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(both)


_remembered_common = lru_cache(maxsize=128)(_common)


def chars(*ranges: tuple[int, int]) -> Chars:
    """One code point out of the inclusive ranges."""
    return Chars(normalise_ranges(ranges))


@lru_cache(maxsize=1024)
def char_set(text: str) -> Chars:
    """One of the characters of ``text``. Cached: literals are made of a few dozen letters."""
    return chars(*((ord(c), ord(c)) for c in text))


def literal(text: str) -> Regex:
    """Exactly ``text``."""
    return concat(*(char_set(c) for c in text))


def substring(text: str) -> Regex:
    """Any run of characters of ``text`` but the empty one."""
    if not text:
        return EMPTY
    return char_set(text) if len(text) == 1 else Substring(text)


def concat(*parts: Regex) -> Regex:
    """The parts one after the other."""
    flat: list[Regex] = []
    for part in parts:
        if isinstance(part, Concat):
            flat.extend(part.parts)
        elif part is EMPTY or part == EMPTY:
            return EMPTY
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def union(*parts: Regex) -> Regex:
    """Any of the parts; duplicates and empty languages are dropped, single characters are merged."""
    ranges: list[tuple[int, int]] = []
    flat: dict[Regex, None] = {}
    for number, part in enumerate(parts, 1):
        if not number % 1024:
            poll()
        for piece in part.parts if isinstance(part, Alternation) else (part,):
            if isinstance(piece, Chars):
                ranges.extend(piece.ranges)
            else:
                flat[piece] = None
    pieces = list(flat)
    if ranges:
        pieces.insert(0, chars(*ranges))
    if not pieces:
        return EMPTY
    return pieces[0] if len(pieces) == 1 else Alternation(tuple(pieces))


def conjunction(*parts: Regex) -> Regex:
    """All of the parts at once; `ANY_STRING` is neutral, no parts at all is `ANY_STRING`."""
    flat: dict[Regex, None] = {}
    for part in parts:
        for piece in part.parts if isinstance(part, Conjunction) else (part,):
            if piece == EMPTY:
                return EMPTY
            if piece != ANY_STRING:
                flat[piece] = None
    pieces = list(flat)
    if not pieces:
        return ANY_STRING
    return pieces[0] if len(pieces) == 1 else Conjunction(tuple(pieces))


def complement(inner: Regex) -> Regex:
    """Every other string of code points."""
    if isinstance(inner, Complement):
        return inner.inner
    if inner == EMPTY:
        return ANY_STRING
    return EMPTY if inner == ANY_STRING else Complement(inner)


def repeat(inner: Regex, low: int, high: int | None) -> Regex:
    """``inner`` from ``low`` to ``high`` times (`None`: without end)."""
    if high == 0 or inner == EPSILON:
        return EPSILON
    if inner == EMPTY:
        return EPSILON if low == 0 else EMPTY
    if low == 1 and high == 1:
        return inner
    return Repeat(inner, low, high)


def optional(inner: Regex) -> Regex:
    """``inner`` or nothing."""
    return repeat(inner, 0, 1)


def star(inner: Regex) -> Regex:
    """``inner`` any number of times."""
    return repeat(inner, 0, None)
