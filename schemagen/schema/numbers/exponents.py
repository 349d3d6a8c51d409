"""Numbers with an exponent as regular expressions: scientific notation between two ends.

Idea: with one digit other than 0 before the point, ``d.ddd`` times a power of ten, numbers compare by the power first.
Powers strictly between those of the ends are free; at the power of an end the mantissa lies between the mantissas of the
ends, which is a range of decimals with one integer digit (`ranges`). So a range costs three alternatives for each
sign.

Other mantissas (``12e1``, ``0.5e3``) are written only where no end but 0 matters and the power is far from the ends of
float64. The compiled core has no such limit (`core/regex/numbers.hpp`); what is written here is a part of what it writes.
"""

from __future__ import annotations

import math
from fractions import Fraction

from schemagen.regex import ast
from schemagen.schema.numbers.ranges import (
    DIGIT,
    MINUS,
    NONZERO,
    POINT,
    End,
    FractionDigits,
    digit_range,
    integer_range_regex,
    magnitude_regex,
)
from schemagen.schema.numbers.spans import LARGEST, Span, fraction_length

#: Powers that put no mantissa of the lengths below beyond float64.
_SAFE_EXPONENT = 299
_MANTISSA_DIGITS = 8
_FRACTION_DIGITS = 20
#: Lowest power of ten; every number below reads as 0.
_LOWEST, _HIGHEST = -400, 308
#: Below what those mantissas and powers make.
_TINY = Fraction(1, 10**320)
#: An integer with fewer zeros is written without an exponent by json.dumps, and one with more has no more digits.
_JSON_DIGITS = 16
_LEADING_ZEROS = 8
_ZEROS = ast.optional(ast.concat(POINT, ast.repeat(ast.char_set("0"), 1, _FRACTION_DIGITS)))


def exponent_forms(span: Span, *, integer: bool) -> ast.Regex:
    """Texts with an exponent whose value is in a span.

    Args:
        span: Finite ends, between which a text and the float64 it is read as are both inside.
        integer: Whether the value must be an integer.

    Returns:
        The language over code points. Size O(digits of the ends).
    """
    if span.is_empty():
        return ast.EMPTY
    halves = [_one_sign(half, integer=integer) for half in (span, span.mirrored())]
    sign = ast.optional(MINUS)
    forms = (
        ast.concat(sign, halves[0]) if halves[0] == halves[1] else ast.union(halves[0], ast.concat(MINUS, halves[1]))
    )
    below = span.low is None or span.low < 0 or (span.low == 0 and not span.low_strict)
    above = span.high is None or span.high > 0 or (span.high == 0 and not span.high_strict)
    if not (below and above):
        return forms
    return ast.union(forms, ast.concat(sign, ast.char_set("0"), _ZEROS, _exponents(-_SAFE_EXPONENT, _SAFE_EXPONENT)))


def large_exponents(least: int) -> ast.Regex:
    """Texts whose exponent exceeds the number of their fraction digits by ``least`` or more; few spellings of them."""
    fraction = ast.optional(ast.concat(POINT, ast.repeat(DIGIT, 1, _JSON_DIGITS - 2)))
    short = ast.concat(NONZERO, _exponents(least, _HIGHEST))
    return ast.concat(
        ast.optional(MINUS),
        ast.union(short, ast.concat(NONZERO, fraction, _exponents(least + _JSON_DIGITS - 2, _HIGHEST))),
    )


def _one_sign(span: Span, *, integer: bool) -> ast.Regex:
    """Texts of the magnitudes above 0 in a span."""
    high = LARGEST if span.high is None else min(span.high, LARGEST)
    if high <= 0:
        return ast.EMPTY
    low = None if span.low is None or span.low <= 0 else span.low
    last = _floor_log10(high)
    first = _LOWEST - 1 if low is None else _floor_log10(low)
    top = (high, span.high_strict and high == span.high)
    bottom = None if low is None else (low, span.low_strict)
    forms = [_free(first + 1, last - 1, integer=integer)]
    if first == last:
        forms.append(_at(first, bottom, top, integer=integer))
    else:
        forms += [_at(last, None, top, integer=integer)]
        if bottom is not None:
            forms.append(_at(first, bottom, None, integer=integer))
    if not integer and high == LARGEST and (low is None or low <= _TINY):
        forms.append(_other_mantissas(zero=low is None and not (span.low == 0 and span.low_strict)))
    return ast.union(*forms)


def _other_mantissas(*, zero: bool) -> ast.Regex:
    """Any mantissa, with powers that take none of them near the ends of float64."""
    whole = ast.union(ast.char_set("0"), ast.concat(NONZERO, ast.repeat(DIGIT, 0, _MANTISSA_DIGITS - 1)))
    fraction = ast.optional(ast.concat(POINT, ast.repeat(DIGIT, 1, _FRACTION_DIGITS)))
    mantissa = ast.concat(whole, fraction)
    if not zero:
        mantissa = ast.conjunction(mantissa, ast.complement(ast.concat(ast.char_set("0"), _ZEROS)))
    return ast.concat(mantissa, _exponents(-_SAFE_EXPONENT, _SAFE_EXPONENT))


def _free(first: int, last: int, *, integer: bool) -> ast.Regex:
    """Any mantissa with a power from ``first`` to ``last``."""
    fraction = ast.optional(ast.concat(POINT, ast.repeat(DIGIT, 1, _FRACTION_DIGITS)))
    if not integer:
        return ast.concat(NONZERO, fraction, _exponents(first, last))
    short = ast.optional(ast.concat(POINT, ast.repeat(DIGIT, 1, _JSON_DIGITS)))
    return ast.union(
        ast.concat(NONZERO, _ZEROS, _exponents(max(first, 0), last)),
        ast.concat(NONZERO, short, _exponents(max(first, _JSON_DIGITS), last)),
    )


def _at(
    power: int, low: tuple[Fraction, bool] | None, high: tuple[Fraction, bool] | None, *, integer: bool
) -> ast.Regex:
    """The mantissas between two ends with this power."""
    if integer and power < 0:
        return ast.EMPTY
    scale = Fraction(10) ** power
    ends = [None if end is None else (end[0] / scale, end[1]) for end in (low, high)]
    digits = max([_FRACTION_DIGITS, *(fraction_length(end[0], 800) + 1 for end in ends if end is not None)])
    if integer and power < _JSON_DIGITS:
        first = 1 if ends[0] is None else math.floor(ends[0][0]) + 1 if ends[0][1] else math.ceil(ends[0][0])
        last = 9 if ends[1] is None else math.ceil(ends[1][0]) - 1 if ends[1][1] else math.floor(ends[1][0])
        return ast.concat(digit_range(first, min(last, 9)), _ZEROS, _exponents(power, power))
    if integer:
        digits = _JSON_DIGITS
    lower = End("1", "", strict=False) if ends[0] is None else _end(ends[0])
    upper = None if ends[1] is None else _end(ends[1])
    mantissas = magnitude_regex(lower, upper, FractionDigits(digits), 1)
    return ast.concat(mantissas, _exponents(power, power))


def _end(end: tuple[Fraction, bool]) -> End:
    value, strict = end
    length = fraction_length(value, 800)
    digits = str(int(value * 10**length)).rjust(length + 1, "0")
    return End(digits[: len(digits) - length], digits[len(digits) - length :], strict)


def _floor_log10(value: Fraction) -> int:
    """The largest k with 10 ** k <= value, for a positive value."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if Fraction(10) ** guess <= value else guess - 1


def _exponents(low: int, high: int) -> ast.Regex:
    """``[eE]`` and an exponent from ``low`` to ``high``, with a few zeros at the front or without."""
    if low > high:
        return ast.EMPTY
    zeros = ast.repeat(ast.char_set("0"), 0, _LEADING_ZEROS)
    parts: list[ast.Regex] = []
    if low == -high:
        parts.append(ast.concat(ast.optional(ast.char_set("+-")), zeros, integer_range_regex(0, high)))
    else:
        if high >= 0:
            numbers = integer_range_regex(max(low, 0), high)
            parts.append(ast.concat(ast.optional(ast.char_set("+")), zeros, numbers))
        if low <= 0:
            parts.append(ast.concat(MINUS, zeros, integer_range_regex(max(-high, 0), -low)))
    return ast.concat(ast.char_set("eE"), ast.union(*parts))
