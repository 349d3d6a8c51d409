r"""A parsed pattern while it still has assertions: regular expressions plus assertions about a position.

Parts of a pattern without any assertion are already `schemagen.regex.ast` values. An assertion consumes nothing and
says something about the text left or right of a position; every one of the dialects' anchors, word boundaries and
look-arounds is written with five of them:

    Before(ranges, edge)      the previous character is in `ranges`, or there is none and `edge` is true
    After(ranges, edge)       the same about the next character
    Ahead(language)           the rest of the text belongs to a regular language
    LookAhead(inner, ...)     a match of `inner`, itself with assertions, starts (or does not start) here
    LookBehind(inner, ...)    a match of `inner` ends (or does not end) here

`^` is ``Before((), edge=True)``, `$` is ``After((), edge=True)``, ``(?<!x)`` is ``Before(all but x, edge=True)``,
and ``\b`` is the union of "word before and no word after" and "no word before and word after".

Invariant: `sequence` and `choice` return a plain regular expression whenever no part carries an assertion, so a
pattern without assertions needs no translation at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Union as _Union

from schemagen.regex.ast import (
    ANY_STRING,
    EPSILON,
    Alternation,
    Chars,
    Complement,
    Concat,
    Conjunction,
    Ranges,
    Regex,
    Repeat,
    Substring,
    chars,
    complement,
    concat,
    invert_ranges,
    optional,
    repeat,
    union,
)
from schemagen.regex.edges import absorb_right, nullable, restrict_first, restrict_last
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Before:
    """The previous character is in ``ranges``; with ``edge`` the start of the text will do as well."""

    ranges: Ranges
    edge: bool


@dataclass(frozen=True, slots=True)
class After:
    """The next character is in ``ranges``; with ``edge`` the end of the text will do as well."""

    ranges: Ranges
    edge: bool

    @property
    def language(self) -> Regex:
        """The same claim as a language of the rest of the text."""
        some = concat(Chars(self.ranges), ANY_STRING)
        return optional(some) if self.edge else some


@dataclass(frozen=True, slots=True)
class Ahead:
    """The rest of the text belongs to ``language``."""

    language: Regex


@dataclass(frozen=True, slots=True)
class LookAhead:
    """A match of ``inner`` starts here, or with ``negative`` does not; ``position`` is its place in the pattern."""

    inner: Syntax
    negative: bool
    position: int


@dataclass(frozen=True, slots=True)
class LookBehind:
    """A match of ``inner`` ends here, or with ``negative`` does not; ``position`` is its place in the pattern."""

    inner: Syntax
    negative: bool
    position: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """The parts one after the other."""

    parts: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of the parts."""

    parts: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """``inner``, which carries an assertion, from ``low`` to ``high`` times (`None`: without end)."""

    inner: Syntax
    low: int
    high: int | None
    position: int


@dataclass(frozen=True, slots=True)
class Named:
    """A named group, only where it is asked where groups are."""

    name: str
    inner: Syntax


Assertion = _Union[Before, After, Ahead, LookAhead, LookBehind]  # noqa: UP007 - a runtime alias of forward names
Syntax = _Union[Regex, Assertion, Sequence, Choice, Loop, Named]  # noqa: UP007

#: For isinstance: everything that has no assertion inside.
PLAIN = (Chars, Concat, Alternation, Conjunction, Complement, Repeat, Substring)
#: For isinstance: everything that consumes nothing.
ZERO_WIDTH = (Before, After, Ahead, LookAhead, LookBehind)


def sequence(parts: Iterable[Syntax]) -> Syntax:
    """The parts one after the other; neighbours that decide each other are merged."""
    flat: list[Syntax] = []
    run: list[Regex] = []
    for part in parts:
        poll()
        for piece in part.parts if isinstance(part, Sequence) else (part,):
            if isinstance(piece, PLAIN):
                run.append(piece)
                continue
            if run:
                flat.append(concat(*run))
                run = []
            flat.append(piece)
    if run or not flat:
        flat.append(concat(*run))
    return _merge_neighbours(flat)


def _merge_neighbours(parts: list[Syntax]) -> Syntax:
    """Turn ``(?!x)y`` and ``y(?<!x)`` into restrictions of y where y cannot be empty."""
    done: list[Syntax] = []
    for part in parts:
        merged = part
        while done and isinstance(merged, PLAIN) and isinstance(done[-1], After) and not nullable(merged):
            merged = restrict_first(merged, done[-1].ranges, edge=False)
            done.pop()
        if done and isinstance(merged, Before) and isinstance(done[-1], PLAIN) and not nullable(done[-1]):
            consumed = done.pop()
            assert isinstance(consumed, PLAIN), "checked one line above"
            merged = restrict_last(consumed, merged.ranges, edge=False)
        if done and isinstance(merged, PLAIN) and isinstance(done[-1], PLAIN):
            consumed = done.pop()
            assert isinstance(consumed, PLAIN), "checked one line above"
            merged = concat(consumed, merged)
        if merged != EPSILON:
            done.append(merged)
    if not done:
        return EPSILON
    return done[0] if len(done) == 1 else Sequence(tuple(done))


def choice(parts: Iterable[Syntax]) -> Syntax:
    """Any of the parts; those without assertions become one regular expression."""
    plain: list[Regex] = []
    rest: dict[Syntax, None] = {}
    for part in parts:
        poll()
        for piece in part.parts if isinstance(part, Choice) else (part,):
            if isinstance(piece, PLAIN):
                plain.append(piece)
            else:
                rest[piece] = None
    if not rest:
        return union(*plain)
    pieces: list[Syntax] = [*([union(*plain)] if plain else []), *rest]
    return pieces[0] if len(pieces) == 1 else Choice(tuple(pieces))


def loop(inner: Syntax, low: int, high: int | None, position: int) -> Syntax:
    """``inner`` from ``low`` to ``high`` times; an assertion repeated is itself, or nothing at all."""
    if isinstance(inner, PLAIN):
        return repeat(inner, low, high)
    if high == 0 or (low == 0 and isinstance(inner, ZERO_WIDTH)):
        return EPSILON
    if isinstance(inner, ZERO_WIDTH) or (low == 1 and high == 1):
        return inner
    return Loop(inner, low, high, position)


def look_ahead(inner: Syntax, *, negative: bool, position: int) -> Syntax:
    """``(?=inner)`` or ``(?!inner)``, in the simplest form that says the same."""
    if not isinstance(inner, PLAIN):
        return LookAhead(inner, negative, position)
    if isinstance(inner, Chars):
        return After(invert_ranges(inner.ranges) if negative else inner.ranges, edge=negative)
    found = absorb_right(inner)
    return Ahead(complement(found) if negative else found)


def look_behind(inner: Syntax, *, negative: bool, position: int) -> Syntax:
    """``(?<=inner)`` or ``(?<!inner)``, in the simplest form that says the same."""
    if _is_zero_width(inner):
        return LookAhead(inner, negative, position) if negative else inner
    single = _single_character(inner)
    if single is None:
        return LookBehind(inner, negative, position)
    return Before(invert_ranges(single.ranges), not single.edge) if negative else single


def _is_zero_width(node: Syntax) -> bool:
    """Return whether no match consumes a character, so that it does not matter on which side it is looked for."""
    if isinstance(node, (Sequence, Choice)):
        return all(map(_is_zero_width, node.parts))
    return isinstance(node, ZERO_WIDTH)


def _single_character(inner: Syntax) -> Before | None:
    """Return what ``inner`` says about the previous character if it says nothing else."""
    if isinstance(inner, Chars):
        return Before(inner.ranges, edge=False)
    if isinstance(inner, Before):
        return inner
    if isinstance(inner, Choice):
        parts = [_single_character(part) for part in inner.parts]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return Before(chars(*(pair for part in known for pair in part.ranges)).ranges, any(p.edge for p in known))
    return None


@lru_cache(maxsize=16)
def word_boundary(word: Ranges, *, negative: bool, in_empty: bool = True) -> Syntax:
    r"""``\b``, or with ``negative`` ``\B``, for the given word characters; ``in_empty``: ``\B`` matches in the empty text."""
    other = invert_ranges(word)
    word_before, word_after = Before(word, edge=False), After(word, edge=False)
    other_before, other_after = Before(other, edge=True), After(other, edge=True)
    if negative:
        none = [Sequence((other_before, other_after))]
        if not in_empty:
            some_after, some_before = After(other, edge=False), Before(other, edge=False)
            none = [Sequence((other_before, some_after)), Sequence((some_before, other_after))]
        return choice([Sequence((word_before, word_after)), *none])
    return choice([Sequence((word_before, other_after)), Sequence((other_before, word_after))])
