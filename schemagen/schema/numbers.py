"""JSON numbers as regular expressions over their text: bounds, multiples, exponents, literals.

Idea: the constraints of JSON Schema speak about values, a mask speaks about text. `number_regex` gives texts whose
value certainly satisfies the constraint (for use where a text must match), `number_superset_regex` gives every text
whose value could satisfy it (for use under negation). Ranges come from `number_ranges`, multiples from
`number_multiples`.

Two readings of one text have to agree, the exact decimal and the float64 that `json.loads` and pydantic make of it.
Rounding is monotone, so an inclusive end that is a float (or is read as one) cannot be crossed. An exclusive end can be
hit: ``0.99999999999999999999`` reads as ``1.0``. Such an end moves inwards to the midpoint of the two neighbouring
floats, and outwards for the superset, so every float64 keeps a text and none is misjudged. The same is done for an
inclusive end that is an integer beyond 2**53 and no float.

Exponents are offered where they cannot break the constraint: anywhere if there are no bounds or only the sign is
bounded, otherwise for tiny values beside zero (``1e-07``, as json.dumps writes them) and for large values without an
upper bound.

Known departure: validators that divide floats (jsonschema does for `multipleOf`) may call ``0.07`` no multiple of
``0.01``; here the decimal is what counts.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.hashing import HashedOnce, hashed_once
from schemagen.schema import number_multiples, number_ranges
from schemagen.schema.number_ranges import DIGIT, MINUS, NONZERO, POINT, End
from schemagen.schema.number_spans import (
    FINITE_EXPONENT,
    MAX_BOUND_DIGITS,
    Span,
    capped_outwards,
    clamped,
    float_safe,
    fraction_length,
    on_grid,
)

#: Exponents stop here, so that twenty more digits on either side neither overflow nor underflow float64.
_MAX_EXPONENT = 299
_EXPONENT_MANTISSA_DIGITS = 8
_MANTISSA_FRACTION_DIGITS = 20
_MAX_LITERAL_DIGITS = 800
#: Decimals of up to this many significant digits survive float64 unchanged (DBL_DIG).
_EXACT_DIGITS = 15


@dataclass(frozen=True, slots=True)
class NumberBounds:
    """What a value must satisfy; all values are exact.

    Attributes:
        minimum: Lower end or None.
        maximum: Upper end or None.
        exclusive_minimum: Whether ``minimum`` itself is outside.
        exclusive_maximum: Whether ``maximum`` itself is outside.
        multiple_of: Positive divisor or None.
        integer: Whether the value must be an integer.
    """

    minimum: Decimal | Fraction | None = None
    maximum: Decimal | Fraction | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: Decimal | Fraction | None = None
    integer: bool = False


@hashed_once
@dataclass(frozen=True, slots=True)
class NumberStyle(HashedOnce):
    """How a number may be written; the caps are soft limits against runaway digits.

    Attributes:
        max_integer_digits: Most digits before the point; raised to the digits of an end, plus one.
        max_fraction_digits: Most digits after it; raised to the digits of an end or of ``multiple_of``, plus one. A float
            has up to 17 digits after the zeros, of which writers put 3 (json.dumps), 4 (pydantic) or 5 (JavaScript) before
            they turn to an exponent.
        exponents: Whether exponents may be written where they are harmless; never for integers.
        integer_fraction: Whether an integer may be written ``1.0`` (JSON Schema: yes; Python's int: no).
    """

    max_integer_digits: int = 60
    max_fraction_digits: int = 22
    exponents: bool = True
    integer_fraction: bool = True


def number_regex(bounds: NumberBounds, style: NumberStyle) -> ast.Regex:
    """JSON texts of the numbers that satisfy ``bounds``, written in ``style``.

    Every match satisfies the bounds, read as a decimal or as float64. Every such number without exponent and within the
    digit caps matches, except those that float64 would round across an end.

    Args:
        bounds: The constraint on the value.
        style: The constraint on the text.

    Returns:
        The language over code points; `EMPTY` if no number satisfies the bounds. O(digits of the ends + digit caps),
        besides the size of the condition for ``multiple_of``.

    Raises:
        LimitError: ``multiple_of`` needs too large an expression; `number_range_regex` and `divisor_of` are the way to
            an engine that tracks the residue itself. Or every number in the range has too many digits.
    """
    plain = number_range_regex(bounds, style)
    divisor = divisor_of(bounds)
    if divisor is None or plain == ast.EMPTY:
        return plain
    span = exact_span(bounds)
    return ast.conjunction(plain, number_multiples.multiples_between(divisor, span.low, span.high))


def number_range_regex(bounds: NumberBounds, style: NumberStyle) -> ast.Regex:
    """As `number_regex` without the condition that the value is a multiple; no exponents if there is one.

    Args:
        bounds: The constraint on the value.
        style: The constraint on the text.

    Returns:
        The language over code points; `EMPTY` if the range holds no number at all.

    Raises:
        LimitError: Every number in the range has too many digits.
    """
    digits = _fraction_digits(bounds, style)
    exact = exact_span(bounds)
    span = on_grid(exact, 0) if bounds.integer else on_grid(float_safe(exact, inwards=True), digits)
    if span.is_empty():
        return ast.EMPTY
    texts = _decimals(span, bounds, style, digits)
    if style.exponents and not bounds.integer and bounds.multiple_of is None:
        texts = ast.union(texts, _exponent_forms(span, digits))
    if texts == ast.EMPTY:
        raise LimitError(
            f"no number of at most {MAX_BOUND_DIGITS} digits lies between {bounds.minimum} and {bounds.maximum}",
            why="numbers are compared digit by digit, and so many digits are not written out",
            fix="use a range that is closer to zero",
        )
    return texts


def number_superset_regex(bounds: NumberBounds, style: NumberStyle | None = None) -> ast.Regex:
    """JSON texts of every number that could satisfy ``bounds``, in any form and of any length.

    Its complement is the sound way to say that a number must not satisfy them: it has every text whose exact value
    satisfies the bounds, every text whose float64 does, and every text with an exponent.

    Args:
        bounds: The constraint on the value.
        style: Unused; a text in any style counts.

    Returns:
        The language over code points; `EMPTY` if no number satisfies the bounds.
    """
    del style
    exact = exact_span(bounds)
    if exact.is_empty():
        return ast.EMPTY
    span = capped_outwards(float_safe(exact, inwards=False))
    plain = _signed(span, number_ranges.Fraction(None), None)
    if bounds.integer:
        plain = ast.conjunction(plain, ast.union(_integer_texts(), _inexact_texts()))
    if (divisor := divisor_of(bounds)) is not None:
        plain = ast.conjunction(plain, ast.union(_multiple_superset(divisor, span), _inexact_texts()))
    return ast.union(plain, _any_exponent(number_mantissa()))


def number_literal_regex(value: float | Decimal | Fraction) -> ast.Regex:
    """The one canonical text of an enum or const number: what json.dumps writes.

    Args:
        value: A finite number; a Decimal or Fraction is written without exponent, as an integer where it is one.

    Returns:
        The literal.

    Raises:
        LimitError: The value is not finite in decimal notation.
    """
    return ast.literal(_literal_text(value))


def number_value_regex(value: float | Decimal | Fraction, style: NumberStyle | None = None) -> ast.Regex:
    """Every text that could denote ``value``, for use under negation: ``1 1.0 1.00 10e-1``; ``-0`` for 0.

    With an exponent only the significant digits are compared, so ``1e5`` counts among the texts of 1.

    Args:
        value: A finite number.
        style: Unused; a text in any style counts.

    Returns:
        The language over code points.
    """
    del style
    exact = _exact_value(value)
    span = capped_outwards(float_safe(Span(exact, low_strict=False, high=exact, high_strict=False), inwards=False))
    plain = _signed(span, number_ranges.Fraction(None), None)
    significant = _literal_digits(exact)
    filler = ast.star(ast.char_set("0."))
    spelled = [part for digit in significant for part in (ast.char_set(digit), ast.optional(POINT))]
    same_digits = ast.concat(ast.optional(MINUS), filler, *spelled, filler)
    near = ast.conjunction(number_mantissa(), ast.union(same_digits, _inexact_texts()))
    return ast.union(plain, _any_exponent(near))


def number_mantissa() -> ast.Regex:
    """Any JSON number text without exponent: sign, integer digits, fraction."""
    everything = number_ranges.magnitude_regex(None, None, number_ranges.Fraction(None), None)
    return ast.concat(ast.optional(MINUS), everything)


def _integer_texts() -> ast.Regex:
    zeros = ast.concat(POINT, ast.repeat(ast.char_set("0"), 1, None))
    return ast.concat(ast.optional(MINUS), ast.repeat(DIGIT, 1, None), ast.optional(zeros))


def _multiple_superset(divisor: number_multiples.Multiple, span: Span) -> ast.Regex:
    """Every text of a multiple in the range; any text where an exact expression would be too large."""
    try:
        return number_multiples.multiples_between(divisor, span.low, span.high)
    except LimitError:
        return ast.ANY_STRING


def _inexact_texts() -> ast.Regex:
    """Texts with a point and more digits than float64 surely keeps, whose value as read may differ from the decimal."""
    digits = ast.char_set("0123456789.")
    with_point = ast.concat(ast.ANY_STRING, POINT, ast.ANY_STRING)
    return ast.conjunction(with_point, ast.concat(ast.optional(MINUS), ast.repeat(digits, _EXACT_DIGITS + 2, None)))


# 1) The range: exact, safe under float64, on the grid of the digits that may be written.


def exact_span(bounds: NumberBounds) -> Span:
    """The range that the bounds describe, before anything is moved."""
    low, high = clamped(bounds.minimum), clamped(bounds.maximum)
    return Span(low, bounds.exclusive_minimum, high, bounds.exclusive_maximum)


def divisor_of(bounds: NumberBounds) -> number_multiples.Multiple | None:
    """``multiple_of`` for an engine: over the integers if those are asked for; None if it says nothing.

    Raises:
        LimitError: It is not positive, or has absurdly many digits.
    """
    if bounds.multiple_of is None:
        return None
    divisor = number_multiples.Multiple.of(bounds.multiple_of)
    if not bounds.integer:
        return divisor
    whole = divisor.of_integers()
    return None if whole.divisor == 1 else whole


def _fraction_digits(bounds: NumberBounds, style: NumberStyle) -> int:
    """Most digits after the point: the cap of the style, raised to what ends and divisor need."""
    if bounds.integer:
        return style.max_fraction_digits if style.integer_fraction else 0
    needed = [fraction_length(end) + 1 for end in (clamped(bounds.minimum), clamped(bounds.maximum)) if end]
    if (divisor := divisor_of(bounds)) is not None:
        needed.append(divisor.scale + 1)
    return max(style.max_fraction_digits, min(MAX_BOUND_DIGITS, max(needed, default=0)))


# 2) The text: sign, magnitude, exponent.


def _decimals(span: Span, bounds: NumberBounds, style: NumberStyle, digits: int) -> ast.Regex:
    """Texts without exponent; ``span`` is on the grid of ``digits`` (of integers, if they are asked for)."""
    ends = [abs(end) for end in (span.low, span.high) if end is not None and abs(end) < 10**MAX_BOUND_DIGITS]
    longest = max((len(str(int(end))) + 1 for end in ends), default=0)
    cap = max(style.max_integer_digits, longest)
    span = _reachable(span, cap)
    if not bounds.integer or digits == 0:
        return _signed(span, number_ranges.Fraction(digits), cap)
    # Past 15 digits a float no longer holds every integer, and json.loads makes a float of "1.0".
    whole = _signed(span, number_ranges.Fraction(0), cap)
    if cap <= _EXACT_DIGITS or _within_exact(span):
        return _signed(span, number_ranges.Fraction(digits, zeros_only=True), cap)
    edge = Fraction(10**_EXACT_DIGITS - 1)
    low = -edge if span.low is None else max(span.low, -edge)
    high = edge if span.high is None else min(span.high, edge)
    narrow = Span(low, low_strict=False, high=high, high_strict=False)
    small = _signed(narrow, number_ranges.Fraction(digits, zeros_only=True), _EXACT_DIGITS)
    return ast.union(whole, small)


def _within_exact(span: Span) -> bool:
    edge = 10**_EXACT_DIGITS
    return span.low is not None and span.high is not None and max(abs(span.low), abs(span.high)) < edge


def _reachable(span: Span, cap: int) -> Span:
    """Drop the ends that no text with ``cap`` integer digits reaches; a range wholly beyond them becomes empty."""
    edge = Fraction(10**cap)
    if (span.low is not None and span.low >= edge) or (span.high is not None and span.high <= -edge):
        return Span(Fraction(1), low_strict=True, high=Fraction(0), high_strict=True)
    low = None if span.low is not None and span.low <= -edge else span.low
    high = None if span.high is not None and span.high >= edge else span.high
    return Span(low, span.low_strict and low is not None, high, span.high_strict and high is not None)


def _signed(span: Span, fraction: number_ranges.Fraction, cap: int | None) -> ast.Regex:
    """Texts of the values in ``span``: magnitudes, and behind a minus sign the mirrored ones."""
    halves = [_magnitudes(half.magnitudes(), fraction, cap) for half in (span, span.mirrored())]
    if halves[0] == halves[1]:
        return ast.concat(ast.optional(MINUS), halves[0])
    return ast.union(halves[0], ast.concat(MINUS, halves[1]))


def _magnitudes(span: Span, fraction: number_ranges.Fraction, cap: int | None) -> ast.Regex:
    if span.is_empty() or (span.high is not None and span.high < 0):
        return ast.EMPTY
    unbounded = not span.low and not span.low_strict
    low = None if unbounded or span.low is None else _end(span.low, strict=span.low_strict)
    high = None if span.high is None else _end(span.high, strict=span.high_strict)
    return number_ranges.magnitude_regex(low, high, fraction, cap)


def _end(value: Fraction, *, strict: bool) -> End:
    """The decimal digits of a magnitude.

    Raises:
        LimitError: It has none, or absurdly many.
    """
    length = next((k for k in range(_MAX_LITERAL_DIGITS) if 10**k % value.denominator == 0), None)
    if length is None or value >= 10**_MAX_LITERAL_DIGITS:
        raise LimitError(
            f"a number needs more than {_MAX_LITERAL_DIGITS} decimal digits",
            why="numbers are compared digit by digit",
            fix="write the number with fewer digits",
        )
    digits = str(int(value * 10**length)).rjust(length + 1, "0")
    split = len(digits) - length
    return End(digits[:split], digits[split:], strict)


# 3) Exponents.


def _any_exponent(mantissa: ast.Regex) -> ast.Regex:
    return ast.concat(mantissa, ast.char_set("eE"), ast.optional(ast.char_set("+-")), ast.repeat(DIGIT, 1, None))


def _exponent_forms(span: Span, digits: int) -> ast.Regex:
    """Texts with an exponent whose value is certainly in ``span``."""
    digits = min(digits, _MANTISSA_FRACTION_DIGITS)
    reaches = 10**FINITE_EXPONENT
    low = None if span.low is None or span.low <= -reaches else span.low
    high = None if span.high is None or span.high >= reaches else span.high
    bounded = Span(low, span.low_strict, high, span.high_strict)
    if not low and not high:
        fraction = number_ranges.Fraction(digits)
        either = ast.optional(ast.char_set("+-"))
        return ast.concat(_signed(bounded, fraction, _EXPONENT_MANTISSA_DIGITS), _exponent(either, 0))
    return ast.union(_one_sided(bounded, digits), ast.concat(MINUS, _one_sided(bounded.mirrored(), digits)))


def _one_sided(span: Span, digits: int) -> ast.Regex:
    """Positive texts with one nonzero digit before the point, beside zero and towards infinity."""
    mantissa = ast.concat(NONZERO, ast.optional(ast.concat(POINT, ast.repeat(DIGIT, 1, digits))))
    forms: list[ast.Regex] = []
    if (span.low is None or span.low <= 0) and (span.high is None or span.high > 0):
        # The mantissa is below 10 as a decimal and at most 10 as float64; one more power keeps even that inside.
        smallest = 1 if span.high is None else 2 - _floor_log10(span.high)
        forms.append(ast.concat(mantissa, _exponent(MINUS, max(smallest, 1))))
    if span.high is None:
        smallest = 0 if span.low is None or span.low <= 0 else _floor_log10(span.low) + 2
        forms.append(ast.concat(mantissa, _exponent(ast.optional(ast.char_set("+")), smallest)))
    return ast.union(*forms)


def _floor_log10(value: Fraction) -> int:
    """The largest k with 10 ** k <= value, for a positive value."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if Fraction(10) ** guess <= value else guess - 1


def _exponent(sign: ast.Regex, smallest: int) -> ast.Regex:
    """``[eE]``, the sign, and one to three digits from ``smallest`` to `_MAX_EXPONENT`, leading zeros allowed."""
    sizes: list[ast.Regex] = []
    for size in (1, 2, 3):
        low = max(smallest, 10 ** (size - 1) if size > 1 else 0)
        high = min(_MAX_EXPONENT, 10**size - 1)
        if low <= high:
            padding = ast.repeat(ast.char_set("0"), 0, 3 - size)
            sizes.append(ast.concat(padding, number_ranges.integer_range_regex(low, high)))
    return ast.concat(ast.char_set("eE"), sign, ast.union(*sizes))


# 4) Literals.


def _exact_value(value: float | Decimal | Fraction) -> Fraction:
    """The decimal that the canonical text denotes: 0.1 is one tenth."""
    return Fraction(Decimal(json.dumps(value))) if isinstance(value, (int, float)) else Fraction(value)


def _literal_text(value: float | Decimal | Fraction) -> str:
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise LimitError(f"{value!r} has no JSON text", why="JSON has no infinities", fix="use a finite number")
        return json.dumps(value)
    exact = Fraction(value)
    end = _end(abs(exact), strict=False)
    sign = "-" if exact < 0 else ""
    return sign + end.integer + ("." + end.fraction if end.fraction else "")


def _literal_digits(value: Fraction) -> str:
    """The significant digits of a decimal: no sign, no point, no zeros around."""
    end = _end(abs(value), strict=False)
    return (end.integer + end.fraction).strip("0")
