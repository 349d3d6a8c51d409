"""The two ends of a regular expression: empty or not, which first and last characters.

All functions are structural, exact, and linear in the size of the expression, except that `restrict_first` and
`restrict_last` may repeat the parts of a concatenation up to the first that cannot be empty (at most `MAX_SPLITS` of them;
if there are more they fall back to a Conjunction, which is exact as well).
"""

from __future__ import annotations

from functools import lru_cache

from schemagen.regex.ast import (
    ANY_STRING,
    EMPTY,
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
    char_set,
    chars,
    complement,
    concat,
    conjunction,
    intersect_ranges,
    optional,
    repeat,
    union,
)
from schemagen.threads.clock import poll

MAX_SPLITS = 4


def nullable(regex: Regex) -> bool:
    """Return whether the empty string matches."""
    if isinstance(regex, (Chars, Substring)):
        return False
    if isinstance(regex, (Concat, Conjunction)):
        return all(nullable(part) for part in regex.parts)
    if isinstance(regex, Alternation):
        return any(nullable(part) for part in regex.parts)
    if isinstance(regex, Complement):
        return not nullable(regex.inner)
    return regex.low == 0 or nullable(regex.inner)


def reverse(regex: Regex) -> Regex:
    """Return the language of the reversed strings."""
    if isinstance(regex, Chars):
        return regex
    if isinstance(regex, Concat):
        return Concat(tuple(reverse(part) for part in reversed(regex.parts)))
    if isinstance(regex, Alternation):
        return Alternation(tuple(reverse(part) for part in regex.parts))
    if isinstance(regex, Conjunction):
        return Conjunction(tuple(reverse(part) for part in regex.parts))
    if isinstance(regex, Complement):
        return Complement(reverse(regex.inner))
    if isinstance(regex, Substring):
        return Substring(regex.text[::-1])
    return Repeat(reverse(regex.inner), regex.low, regex.high)


def first_characters(regex: Regex) -> Ranges:
    """Return a set that holds every character a match can begin with (exact without Conjunction and Complement)."""
    if isinstance(regex, Chars):
        return regex.ranges
    if isinstance(regex, Concat):
        found: list[tuple[int, int]] = []
        for part in regex.parts:
            first = first_characters(part)
            if not nullable(part):
                return chars(*found, *first).ranges if found else first
            found.extend(first)
        return chars(*found).ranges
    if isinstance(regex, Alternation):
        return chars(*(pair for part in regex.parts for pair in first_characters(part))).ranges
    if isinstance(regex, Conjunction):
        common = first_characters(regex.parts[0])
        for part in regex.parts[1:]:
            common = intersect_ranges(common, first_characters(part))
        return common
    if isinstance(regex, Substring):
        return char_set(regex.text).ranges
    if isinstance(regex, Complement):
        return first_characters(ANY_STRING)
    return first_characters(regex.inner)


def restrict_first(regex: Regex, ranges: Ranges, *, edge: bool) -> Regex:
    """Return the matches that begin with one of ``ranges``; with ``edge`` the empty match stays as well."""
    poll()
    empty = EPSILON if edge and nullable(regex) else EMPTY
    first = first_characters(regex)
    allowed = intersect_ranges(first, ranges)
    if not allowed:
        return empty
    if allowed == first and (edge or not nullable(regex)):
        return regex
    kept = _begin_with(regex, Chars(ranges))
    return optional_of(kept) if empty == EPSILON else kept


@lru_cache(maxsize=256)
def _restricted(regex: Regex, ranges: Ranges) -> Regex:
    """Return `restrict_first` of a part of a concatenation. Cached: the same few are at each place of a long pattern."""
    return restrict_first(regex, ranges, edge=False)


def restrict_last(regex: Regex, ranges: Ranges, *, edge: bool) -> Regex:
    """Return the matches that end with one of ``ranges``; with ``edge`` the empty match stays as well."""
    return reverse(restrict_first(reverse(regex), ranges, edge=edge))


def optional_of(regex: Regex) -> Regex:
    """``regex`` or nothing, with ``x+`` turned into ``x*``."""
    if nullable(regex):
        return regex
    if isinstance(regex, Repeat) and regex.low == 1:
        return repeat(regex.inner, 0, regex.high)
    return optional(regex)


def _begin_with(regex: Regex, allowed: Chars) -> Regex:
    """Return the non-empty matches whose first character is in ``allowed``."""
    if isinstance(regex, Chars):
        return Chars(intersect_ranges(regex.ranges, allowed.ranges))
    if isinstance(regex, Alternation):
        return union(*(restrict_first(part, allowed.ranges, edge=False) for part in regex.parts))
    if isinstance(regex, Conjunction):
        return conjunction(restrict_first(regex.parts[0], allowed.ranges, edge=False), *regex.parts[1:])
    if isinstance(regex, Concat):
        return _begin_concat(regex, allowed)
    if isinstance(regex, (Complement, Substring)):
        return conjunction(regex, concat(allowed, ANY_STRING))
    # A nullable inner may leave out its first rounds, so r{m,n} is r{0,n} and some round is the first non-empty one.
    low = 0 if nullable(regex.inner) else max(regex.low - 1, 0)
    if allowed.ranges == first_characters(ANY_STRING) and not nullable(regex.inner):
        return repeat(regex.inner, max(regex.low, 1), regex.high)
    head = restrict_first(regex.inner, allowed.ranges, edge=False)
    return concat(head, repeat(regex.inner, low, None if regex.high is None else regex.high - 1))


def _begin_concat(regex: Concat, allowed: Chars) -> Regex:
    """Split a concatenation by the part that holds its first character."""
    leading = 0
    while leading < len(regex.parts) and nullable(regex.parts[leading]):
        leading += 1
    if leading > MAX_SPLITS:
        return conjunction(regex, concat(allowed, ANY_STRING))
    # The parts up to the first that cannot be empty, and after them, once, the others: repeated for each of the ways, they
    # would double with each word boundary of a pattern.
    begun: Regex = EMPTY
    for part in regex.parts[: leading + 1]:
        begun = union(concat(begun, part), _restricted(part, allowed.ranges))
    return concat(begun, *regex.parts[leading + 1 :])


def absorb_right(regex: Regex) -> Regex:
    """Return ``regex`` followed by anything, leaving out what anything already covers."""
    if nullable(regex):
        return ANY_STRING
    parts: list[Regex] = list(regex.parts) if isinstance(regex, Concat) else [regex]
    while nullable(parts[-1]):
        parts.pop()
    last = parts[-1]
    if isinstance(last, Repeat):
        parts[-1] = repeat(last.inner, last.low, last.low)
    return concat(*parts, ANY_STRING)


def absorb_left(regex: Regex) -> Regex:
    """Return anything followed by ``regex``, leaving out what anything already covers."""
    return reverse(absorb_right(reverse(regex)))


def intersect(left: Regex, right: Regex) -> Regex:
    """Return what both match, decided at once where one of them is the empty string."""
    if EPSILON in (left, right):
        return EPSILON if nullable(left) and nullable(right) else EMPTY
    if complement(left) == right:
        return EMPTY
    return conjunction(left, right)
