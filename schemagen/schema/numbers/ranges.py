"""Decimal ranges as regular expressions, digit by digit.

Idea: two decimals with equally many integer digits compare as their digit strings do. So a range is split by the number
of integer digits; lengths strictly between those of the two ends are free, and at the ends a walk along the digits of
the end keeps "equal so far" apart from "already inside", which is final. Each digit of an end adds at most three
alternatives, so a range costs O(digits of its ends), and no state is ever spent on the numbers inside.

Fractions continue the same walk past the point; a missing digit reads as 0, which is what makes trailing zeros legal
and lets ``2`` satisfy ``>= 1.75``. Signs are mirrored: ``-`` followed by the magnitudes of the mirrored range.

Invariants: integer digits have no leading zeros (RFC 8259 section 6); an `End` has no trailing zeros in ``fraction``;
a point is followed by at least one digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from schemagen.regex import ast

DIGIT = ast.chars((0x30, 0x39))
NONZERO = ast.chars((0x31, 0x39))
POINT = ast.char_set(".")
MINUS = ast.char_set("-")


@dataclass(frozen=True, slots=True)
class End:
    """One end of a range of magnitudes.

    Attributes:
        integer: Digits before the point, without leading zeros (``"0"`` for values below one).
        fraction: Digits after it, without trailing zeros; empty for an integer.
        strict: Whether the end itself is outside.
    """

    integer: str
    fraction: str
    strict: bool


@dataclass(frozen=True, slots=True)
class FractionDigits:
    """The texts that may follow the integer digits.

    Attributes:
        digits: Most digits after the point; None is no cap, 0 is no point at all.
        zeros_only: Whether those digits are all zero, as in the integer ``1.0``.
    """

    digits: int | None
    zeros_only: bool = False


@lru_cache(maxsize=128)
def digit_range(low: int, high: int) -> ast.Regex:
    """One ASCII digit from ``low`` to ``high``; `EMPTY` when there is none. Cached: an object's hash is worked out once."""
    return ast.chars((0x30 + low, 0x30 + high)) if low <= high else ast.EMPTY


def integer_range_regex(low: int, high: int) -> ast.Regex:
    """Unsigned integers from ``low`` to ``high`` without leading zeros."""
    ends = [End(str(value), "", strict=False) for value in (low, high)]
    return magnitude_regex(ends[0], ends[1], FractionDigits(0), None)


def magnitude_regex(low: End | None, high: End | None, fraction: FractionDigits, max_digits: int | None) -> ast.Regex:
    """Unsigned JSON decimals without exponent whose value lies between the ends.

    Args:
        low: Lower end; None is zero, included.
        high: Upper end; None is unbounded.
        fraction: The texts that may follow the integer digits. With ``zeros_only`` both ends must be integers.
        max_digits: Most integer digits when ``high`` is None; None is no cap.

    Returns:
        Their language, `EMPTY` when no decimal is in the range. Size and time O(digits of the ends and the fraction).
    """
    first = len(low.integer) if low else 1
    if high is None:
        return ast.union(_of_length(first, low, None, fraction), _free_lengths(first + 1, max_digits, fraction))
    last = len(high.integer)
    if first > last:
        return ast.EMPTY
    if first == last:
        return _of_length(first, low, high, fraction)
    return ast.union(
        _of_length(first, low, None, fraction),
        _free_lengths(first + 1, last - 1, fraction),
        _of_length(last, None, high, fraction),
    )


def _free_lengths(shortest: int, longest: int | None, fraction: FractionDigits) -> ast.Regex:
    """Every magnitude with ``shortest`` (>= 2) to ``longest`` integer digits."""
    if longest is not None and shortest > longest:
        return ast.EMPTY
    more = None if longest is None else longest - 1
    return ast.concat(NONZERO, ast.repeat(DIGIT, shortest - 1, more), _free_fraction(fraction))


def _of_length(length: int, low: End | None, high: End | None, fraction: FractionDigits) -> ast.Regex:
    """Magnitudes with exactly ``length`` integer digits between the ends, each of that length or None."""
    return _integer_digits(0, length, low, high, fraction)


def _integer_digits(index: int, length: int, low: End | None, high: End | None, fraction: FractionDigits) -> ast.Regex:
    """The texts that may follow ``index`` digits; an end that is not None equals the digits so far."""
    if index == length:
        return _fraction_part(low, high, fraction)
    smallest = 1 if index == 0 and length > 1 else 0
    if low is None and high is None:
        return _free_digits(smallest, 9, length - index - 1, fraction)
    start = smallest if low is None else int(low.integer[index])
    stop = 9 if high is None else int(high.integer[index])
    if low is not None and high is not None and start == stop:
        return ast.concat(digit_range(start, start), _integer_digits(index + 1, length, low, high, fraction))
    parts: list[ast.Regex] = []
    if low is not None:
        parts.append(ast.concat(digit_range(start, start), _integer_digits(index + 1, length, low, None, fraction)))
        start += 1
    if high is not None:
        parts.append(ast.concat(digit_range(stop, stop), _integer_digits(index + 1, length, None, high, fraction)))
        stop -= 1
    parts.append(_free_digits(start, stop, length - index - 1, fraction))
    return ast.union(*parts)


@lru_cache(maxsize=1024)
def _free_digits(low: int, high: int, more: int, fraction: FractionDigits) -> ast.Regex:
    """A digit from ``low`` to ``high``, ``more`` digits and a fraction, whatever they are."""
    return ast.concat(digit_range(low, high), ast.repeat(DIGIT, more, more), _free_fraction(fraction))


@lru_cache(maxsize=64)
def _free_fraction(fraction: FractionDigits) -> ast.Regex:
    """An optional point with any digits that ``fraction`` permits."""
    if fraction.digits == 0:
        return ast.EPSILON
    digit = ast.char_set("0") if fraction.zeros_only else DIGIT
    return ast.optional(ast.concat(POINT, ast.repeat(digit, 1, fraction.digits)))


def _fraction_part(low: End | None, high: End | None, fraction: FractionDigits) -> ast.Regex:
    """An optional point and digits, where the integer digits equal those of each end that is not None."""
    if fraction.zeros_only:
        return _free_fraction(fraction)
    lower = None if low is None else (low.fraction, low.strict)
    upper = None if high is None else (high.fraction, high.strict)
    here = ast.EPSILON if _may_end(lower, upper) else ast.EMPTY
    return ast.union(here, ast.concat(POINT, _fraction_digits(lower, upper, fraction.digits)))


#: The digits of an end that are still to be compared, and whether the end itself is outside.
_Rest = tuple[str, bool]


def _may_end(low: _Rest | None, high: _Rest | None) -> bool:
    """Whether the value so far is inside, every further digit being 0."""
    above = low is None or low == ("", False)
    below = high is None or high != ("", True)
    return above and below


def _fraction_digits(low: _Rest | None, high: _Rest | None, left: int | None) -> ast.Regex:
    """One to ``left`` further digits that end inside; an end that is not None equals the digits so far."""
    low = None if low == ("", False) else low
    if left == 0 or high == ("", True) or (low == ("", True) and high == ("", False)):
        return ast.EMPTY
    if low is None and high is None:
        return ast.repeat(DIGIT, 1, left)
    zero = ast.char_set("0")
    if low is None and high == ("", False):
        return ast.repeat(zero, 1, left)
    if low == ("", True) and high is None and left is None:
        return ast.concat(ast.star(zero), NONZERO, ast.star(DIGIT))
    return _fraction_step(low, high, None if left is None else left - 1)


def _fraction_step(low: _Rest | None, high: _Rest | None, left: int | None) -> ast.Regex:
    """One digit, compared with the next one of each end, then the texts that may follow it."""

    def then(low: _Rest | None, high: _Rest | None) -> ast.Regex:
        here = ast.EPSILON if _may_end(low, high) else ast.EMPTY
        return ast.union(here, _fraction_digits(low, high, left))

    start = 0 if low is None else _next_digit(low)
    stop = 9 if high is None else _next_digit(high)
    if low is not None and high is not None:
        if start > stop:
            return ast.EMPTY
        if start == stop:
            return ast.concat(digit_range(start, start), then(_advance(low), _advance(high)))
    parts: list[ast.Regex] = []
    if low is not None:
        parts.append(ast.concat(digit_range(start, start), then(_advance(low), None)))
        start += 1
    if high is not None:
        parts.append(ast.concat(digit_range(stop, stop), then(None, _advance(high))))
        stop -= 1
    parts.append(ast.concat(digit_range(start, stop), ast.repeat(DIGIT, 0, left)))
    return ast.union(*parts)


def _next_digit(rest: _Rest) -> int:
    return int(rest[0][0]) if rest[0] else 0


def _advance(rest: _Rest) -> _Rest:
    return rest[0][1:], rest[1]
