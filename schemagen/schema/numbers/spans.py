"""Ranges of exact values, and how their ends move so that float64 cannot misjudge a text.

Every end is a rational. `float_safe` moves ends to the midpoint of two neighbouring float64 numbers, where rounding
turns from one to the other; `on_grid` and `capped_outwards` then make them decimals of affordable length.

Invariant: moving inwards never adds a value, moving outwards never removes one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

#: Ends are exact up to this many digits on each side of the point; beyond it they move inwards (superset: outwards).
MAX_BOUND_DIGITS = 40
#: At least 10 ** this is no restriction: every text of `number_regex` parses to less.
FINITE_EXPONENT = 308
#: The largest float64, as json.dumps writes it.
LARGEST = Fraction(Decimal("1.7976931348623157e308"))
LARGEST_FLOAT = Fraction(float(LARGEST))
#: Integers up to here are all float64.
EXACT_INTEGERS = 2**53
#: Digits of an end between two float64 numbers.
_MIDDLE_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Span:
    """A range of exact values; None is unbounded."""

    low: Fraction | None
    low_strict: bool
    high: Fraction | None
    high_strict: bool

    def is_empty(self) -> bool:
        """Whether no value at all is inside."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_strict or self.high_strict))

    def mirrored(self) -> Span:
        """The range of the magnitudes of its negative values, zero counted among them."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Span(low, self.high_strict, high, self.low_strict)

    def magnitudes(self) -> Span:
        """Its part at and above zero."""
        if self.low is not None and self.low >= 0:
            return self
        return replace(self, low=Fraction(0), low_strict=False)


def clamped(value: Decimal | Fraction | None) -> Fraction | None:
    """The exact value; an absurd exponent is cut to one beyond float64, whose expansion is affordable."""
    if value is None:
        return None
    if isinstance(value, Decimal) and value and abs(value.adjusted()) > 2 * FINITE_EXPONENT:
        exponent = 2 * FINITE_EXPONENT if value.adjusted() > 0 else -2 * FINITE_EXPONENT
        return Fraction(Decimal((value.as_tuple().sign, (1,), exponent)))
    return Fraction(value)


def float_safe(span: Span) -> Span:
    """Move the ends outwards, so that no float64 of a text outside of the result is inside."""
    low, low_strict = _sink_end(span.low, span.low_strict)
    high, high_strict = _sink_end(None if span.high is None else -span.high, span.high_strict)
    return Span(low, low_strict, None if high is None else -high, high_strict)


def _sink_end(low: Fraction | None, strict: bool) -> tuple[Fraction | None, bool]:
    """A lower end below which neither exact value nor float64 satisfies the given one."""
    if low is None or abs(low) >= 10**FINITE_EXPONENT:
        return low, strict
    nearest = float(low)
    if strict and (low.denominator != 1 or Fraction(nearest) == low):
        return low, strict
    return min(low, (Fraction(nearest) + Fraction(math.nextafter(nearest, -math.inf))) / 2), False


def float_ends(span: Span) -> Span:
    """Move the ends to where a decimal in between and the float64 that it is read as satisfy the given ones.

    A validator compares the float64 with the bound as it reads it: an integer exactly, any other decimal as a float64. What
    json.dumps writes for a float64 inside is between the new ends, even where that decimal is outside the given ones, which
    an integer beyond 2**53 can make it.
    """
    low, low_strict = _float_end(span.low, span.low_strict)
    high, high_strict = _float_end(None if span.high is None else -span.high, span.high_strict)
    return Span(low, low_strict, None if high is None else -high, high_strict)


def _float_end(low: Fraction | None, strict: bool) -> tuple[Fraction | None, bool]:
    """A lower end as of `float_ends`."""
    if low is None or low < -LARGEST_FLOAT:
        return None, False
    if low > LARGEST_FLOAT:
        return low, strict
    nearest = float(low)
    if not strict and (low.denominator != 1 or abs(low) <= EXACT_INTEGERS):
        return low, False
    is_float = low.denominator != 1 or Fraction(nearest) == low
    first = (
        nearest if (is_float and not strict) or (not is_float and nearest > low) else math.nextafter(nearest, math.inf)
    )
    if math.isinf(first):
        return low, True
    written = Fraction(Decimal(repr(first)))
    before = math.nextafter(first, -math.inf)
    middle = low if math.isinf(before) else (Fraction(first) + Fraction(before)) / 2
    if math.isinf(before) or middle < min(low, written):
        # Where the end is no float, a text of the same value is read as one beside it.
        return min(low, written), False
    # Between the two the decimal of a float64 has 17 digits or fewer: so many more lose nothing.
    end = _shortened(middle)
    return end, end == middle and float(middle) != first


def _shortened(value: Fraction) -> Fraction:
    """A number with few digits between a value and a little more than that."""
    if not value:
        return value
    guess = len(str(abs(value.numerator))) - len(str(value.denominator))
    scale = Fraction(10) ** (_MIDDLE_DIGITS - guess)
    return Fraction(math.ceil(value * scale)) / scale


def float_readings(value: Fraction) -> Span:
    """Every decimal that a validator could read as the value."""
    if abs(value) > LARGEST_FLOAT:
        return Span(value, low_strict=False, high=value, high_strict=False)
    nearest = float(value)
    above, below = math.nextafter(nearest, math.inf), math.nextafter(nearest, -math.inf)
    high = LARGEST if math.isinf(above) else (Fraction(nearest) + Fraction(above)) / 2
    low = -LARGEST if math.isinf(below) else (Fraction(nearest) + Fraction(below)) / 2
    outwards = -_shortened(-low), _shortened(high)
    return Span(min(outwards[0], value), low_strict=False, high=max(outwards[1], value), high_strict=False)


def on_grid(span: Span, digits: int) -> Span:
    """Move ends that need more than ``digits`` fraction digits inwards to one that does not, which loses no text."""
    scale = 10**digits
    low, low_strict, high, high_strict = span.low, span.low_strict, span.high, span.high_strict
    if low is not None and (low * scale).denominator != 1:
        low, low_strict = Fraction(math.ceil(low * scale), scale), False
    if high is not None and (high * scale).denominator != 1:
        high, high_strict = Fraction(math.floor(high * scale), scale), False
    if digits == 0:
        # Integers: a strict end is the next integer, which keeps the walk along the digits short.
        low, low_strict = (low + 1, False) if low is not None and low_strict else (low, False)
        high, high_strict = (high - 1, False) if high is not None and high_strict else (high, False)
    return Span(low, low_strict, high, high_strict)


def capped_outwards(span: Span) -> Span:
    """Move ends that need too many digits outwards, and drop those that no affordable text reaches."""
    scale, largest = 10**MAX_BOUND_DIGITS, Fraction(10**MAX_BOUND_DIGITS)
    low, low_strict, high, high_strict = span.low, span.low_strict, span.high, span.high_strict
    if low is not None and (low * scale).denominator != 1:
        low, low_strict = Fraction(math.floor(low * scale), scale), False
    if high is not None and (high * scale).denominator != 1:
        high, high_strict = Fraction(math.ceil(high * scale), scale), False
    if low is not None and abs(low) > largest:
        low = None if low < 0 else largest
    if high is not None and abs(high) > largest:
        high = None if high > 0 else -largest
    return Span(low, low_strict, high, high_strict)


def fraction_length(value: Fraction, most: int = MAX_BOUND_DIGITS) -> int:
    """How many fraction digits the decimal needs, factors other than 2 and 5 aside, cut off at ``most``."""
    twos = (value.denominator & -value.denominator).bit_length() - 1
    fives, rest = 0, value.denominator >> twos
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return min(most, max(twos, fives))
