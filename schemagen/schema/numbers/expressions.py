"""JSON numbers as regular expressions over their text: bounds, multiples, exponents, literals.

Idea: the constraints of JSON Schema speak about values, a mask speaks about text. `number_regex` gives texts whose
value certainly satisfies the constraint (for use where a text must match), `number_superset_regex` gives every text
whose value could satisfy it (for use under negation). Ranges come from `ranges`, multiples from `multiples`.

Two readings of one text have to agree, the exact decimal and the float64 that `json.loads` and pydantic make of it.
Rounding is monotone, so an inclusive end that is a float (or is read as one) cannot be crossed. An exclusive end can be
hit: ``0.99999999999999999999`` reads as ``1.0``. Such an end moves inwards to the midpoint of the two neighbouring
floats (`spans.float_ends`), and outwards for the superset, so every float64 keeps a text and none is misjudged. An
integer beyond 2**53 as an end moves to where what json.dumps writes for the next float is inside; whole numbers are
compared with it exactly.

Exponents are written as `exponents` does, which is a part of what the compiled core writes (`rules`).

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
from schemagen.regex.ast import HashedOnce, hashed_once
from schemagen.schema.numbers.exponents import exponent_forms, large_exponents
from schemagen.schema.numbers.multiples import Multiple, multiples_between
from schemagen.schema.numbers.ranges import DIGIT, MINUS, NONZERO, POINT, End, FractionDigits, magnitude_regex
from schemagen.schema.numbers.rules import (
    EXACT_DIGITS,
    MAX_DIVISOR,
    Caps,
    caps_of,
    common_multiple,
    decimal_step,
    finite,
    nothing_between,
    rounds_away,
)
from schemagen.schema.numbers.spans import (
    EXACT_INTEGERS,
    LARGEST,
    Span,
    capped_outwards,
    clamped,
    float_ends,
    float_safe,
    on_grid,
)

_MAX_LITERAL_DIGITS = 800


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

    Every match satisfies the bounds, as validators read it. Every such number without exponent and within the digit caps
    matches, and what json.dumps writes for a float64.

    Args:
        bounds: The constraint on the value.
        style: The constraint on the text.

    Returns:
        The language over code points; `EMPTY` if no number satisfies the bounds. O(digits of the ends + digit caps),
        besides the size of the condition for ``multiple_of``.

    Raises:
        LimitError: ``multiple_of`` needs too large an expression (the compiled engine counts the remainder). Or the
            range has numbers, none of which can be written.
    """
    plain = number_range_regex(bounds, style)
    divisor = divisor_of(bounds)
    if bounds.multiple_of is None or plain == ast.EMPTY:
        return plain
    if divisor is None:
        return ast.union(plain, _exponents_of_multiples(bounds, style))
    span = exact_span(bounds)
    texts = ast.conjunction(plain, multiples_between(divisor, span.low, span.high))
    return ast.union(texts, _exponents_of_multiples(bounds, style))


def number_range_regex(bounds: NumberBounds, style: NumberStyle) -> ast.Regex:
    """As `number_regex` without the condition that the value is a multiple; no exponents if there is one.

    Args:
        bounds: The constraint on the value.
        style: The constraint on the text.

    Returns:
        The language over code points; `EMPTY` if the range holds no number at all.

    Raises:
        LimitError: The range has numbers, none of which can be written.
    """
    exact, step = exact_span(bounds), _step(bounds)
    if exact.is_empty():
        return ast.EMPTY
    caps = caps_of(exact, step, style)
    texts = _decimals(exact, bounds, style, caps)
    if style.exponents and bounds.multiple_of is None and not _is_whole(bounds, style):
        texts = ast.union(texts, exponent_forms(finite(float_ends(exact)), integer=bounds.integer))
    if texts == ast.EMPTY and (error := nothing_between(exact, step)) is not None:
        raise error
    return texts


def _step(bounds: NumberBounds) -> Fraction | None:
    multiple = None if bounds.multiple_of is None else Fraction(bounds.multiple_of)
    return common_multiple(frozenset(filter(None, (multiple, Fraction(1) if bounds.integer else None))))


def _is_whole(bounds: NumberBounds, style: NumberStyle) -> bool:
    """Whether neither a point nor an exponent is written."""
    return bounds.integer and not style.integer_fraction


def _exponents_of_multiples(bounds: NumberBounds, style: NumberStyle) -> ast.Regex:
    """Texts of multiples with an exponent large enough for any mantissa; none if 2 and 5 are not the only prime factors."""
    step = _step(bounds)
    if step is None or not style.exponents or _is_whole(bounds, style) or rounds_away(step):
        return ast.EMPTY
    divisor, power = decimal_step(step)
    if 10 ** MAX_DIVISOR.bit_length() % divisor:
        return ast.EMPTY
    least = power + next(shift for shift in range(MAX_DIVISOR.bit_length() + 1) if 10**shift % divisor == 0)
    span = finite(float_ends(exact_span(bounds)))
    return ast.conjunction(exponent_forms(span, integer=False), large_exponents(least))


def number_superset_regex(bounds: NumberBounds) -> ast.Regex:
    """JSON texts of every number that could satisfy ``bounds``, in any form and of any length.

    Its complement is the sound way to say that a number must not satisfy them: it has every text whose exact value
    satisfies the bounds, every text whose float64 does, and every text with an exponent.

    Args:
        bounds: The constraint on the value.

    Returns:
        The language over code points; `EMPTY` if no number satisfies the bounds.
    """
    exact = exact_span(bounds)
    if exact.is_empty():
        return ast.EMPTY
    span = capped_outwards(float_safe(exact))
    plain = _signed(span, FractionDigits(None), None)
    if bounds.integer:
        zeros = ast.concat(POINT, ast.repeat(ast.char_set("0"), 1, None))
        integers = ast.concat(ast.optional(MINUS), ast.repeat(DIGIT, 1, None), ast.optional(zeros))
        plain = ast.conjunction(plain, ast.union(integers, _inexact_texts()))
    if (divisor := divisor_of(bounds)) is not None:
        plain = ast.conjunction(plain, ast.union(_multiple_superset(divisor, span), _inexact_texts()))
    return ast.union(plain, _any_exponent(number_mantissa()))


def number_value_regex(value: float | Decimal | Fraction) -> ast.Regex:
    """Every text that could denote ``value``, for use under negation: ``1 1.0 1.00 10e-1``; ``-0`` for 0.

    With an exponent only the significant digits are compared, so ``1e5`` counts among the texts of 1.

    Args:
        value: A finite number.

    Returns:
        The language over code points.
    """
    # The decimal that the canonical text denotes: 0.1 is one tenth.
    exact = Fraction(Decimal(json.dumps(value))) if isinstance(value, (int, float)) else Fraction(value)
    span = capped_outwards(float_safe(Span(exact, low_strict=False, high=exact, high_strict=False)))
    plain = _signed(span, FractionDigits(None), None)
    end = _end(abs(exact), strict=False)
    significant = (end.integer + end.fraction).strip("0")
    filler = ast.star(ast.char_set("0."))
    spelled = [part for digit in significant for part in (ast.char_set(digit), ast.optional(POINT))]
    same_digits = ast.concat(ast.optional(MINUS), filler, *spelled, filler)
    near = ast.conjunction(number_mantissa(), ast.union(same_digits, _inexact_texts()))
    return ast.union(plain, _any_exponent(near))


def number_whole_regex() -> ast.Regex:
    """Any JSON number text without a point and without an exponent."""
    digits = ast.union(ast.char_set("0"), ast.concat(NONZERO, ast.star(DIGIT)))
    return ast.concat(ast.optional(MINUS), digits)


def fraction_regex() -> ast.Regex:
    """Decimals that no float64 rounds to an integer: after the point neither zeros only nor nines, as far as float64 tells.

    Of i digits before the point and k after it, float64 keeps those that are 10**-k from an integer if i + k <= `EXACT_DIGITS`.
    """
    zero, nine = ast.char_set("0"), ast.char_set("9")
    rests = ast.repeat(DIGIT, 1, None)
    parts: list[ast.Regex] = []
    for before in range(1, EXACT_DIGITS):
        kept = EXACT_DIGITS - before
        near = [ast.concat(ast.repeat(digit, kept, kept), ast.star(DIGIT)) for digit in (zero, nine)]
        after = ast.conjunction(rests, *map(ast.complement, [*near, ast.star(zero)]))
        whole = ast.concat(NONZERO, ast.repeat(DIGIT, before - 1, before - 1))
        parts.append(ast.concat(ast.union(whole, zero) if before == 1 else whole, POINT, after))
    return ast.concat(ast.optional(MINUS), ast.union(*parts))


def number_mantissa() -> ast.Regex:
    """Any JSON number text without exponent: sign, integer digits, fraction."""
    everything = magnitude_regex(None, None, FractionDigits(None), None)
    return ast.concat(ast.optional(MINUS), everything)


def _multiple_superset(divisor: Multiple, span: Span) -> ast.Regex:
    """Every text of a multiple in the range; any text where an exact expression would be too large."""
    try:
        return multiples_between(divisor, span.low, span.high)
    except LimitError:
        return ast.ANY_STRING


def _inexact_texts() -> ast.Regex:
    """Texts with a point and more digits than float64 surely keeps, whose value as read may differ from the decimal."""
    digits = ast.char_set("0123456789.")
    with_point = ast.concat(ast.ANY_STRING, POINT, ast.ANY_STRING)
    return ast.conjunction(with_point, ast.concat(ast.optional(MINUS), ast.repeat(digits, EXACT_DIGITS + 2, None)))


# 1) The range: exact, safe under float64, on the grid of the digits that may be written.


def exact_span(bounds: NumberBounds) -> Span:
    """The range that the bounds describe, before anything is moved."""
    low, high = clamped(bounds.minimum), clamped(bounds.maximum)
    return Span(low, bounds.exclusive_minimum, high, bounds.exclusive_maximum)


def divisor_of(bounds: NumberBounds) -> Multiple | None:
    """``multiple_of`` for an engine: over the integers if those are asked for; None if it says nothing.

    Raises:
        LimitError: It is not positive, or has absurdly many digits.
    """
    if bounds.multiple_of is None:
        return None
    divisor = Multiple.of(bounds.multiple_of)
    if not bounds.integer:
        return divisor
    whole = divisor.of_integers()
    return None if whole.divisor == 1 else whole


# 2) The text: sign, magnitude.


def _decimals(exact: Span, bounds: NumberBounds, style: NumberStyle, caps: Caps) -> ast.Regex:
    """Texts without exponent."""
    cap = caps.integer
    whole = _range(on_grid(exact, 0), FractionDigits(0), cap)
    if _is_whole(bounds, style):
        return whole
    floats = finite(float_ends(exact))
    if not bounds.integer:
        with_point = _range(on_grid(floats, caps.fraction), FractionDigits(caps.fraction), cap)
    else:
        zeros = FractionDigits(caps.fraction, zeros_only=True)
        span = on_grid(floats, 0)
        if bounds.multiple_of is None:
            with_point = _range(span, zeros, cap)
        else:  # past 15 digits json.loads may make another integer of it
            edge = Fraction(10**EXACT_DIGITS - 1)
            low = -edge if span.low is None else max(span.low, -edge)
            high = edge if span.high is None else min(span.high, edge)
            with_point = _range(Span(low, span.low_strict, high, span.high_strict), zeros, EXACT_DIGITS)
    if bounds.multiple_of is None and _is_shared(exact):
        return with_point  # which are the whole ones, too
    if bounds.multiple_of is not None and not bounds.integer and with_point != ast.EMPTY:
        return with_point
    return ast.union(whole, ast.conjunction(with_point, ast.concat(ast.ANY_STRING, POINT, ast.ANY_STRING)))


def _is_shared(exact: Span) -> bool:
    """Whether whole numbers and numbers with a point have the same ends."""
    low_shared = exact.low is None or abs(exact.low) <= EXACT_INTEGERS or exact.low <= -LARGEST
    high_shared = exact.high is None or abs(exact.high) <= EXACT_INTEGERS or exact.high >= LARGEST
    return low_shared and high_shared


def _range(span: Span, fraction: FractionDigits, cap: int) -> ast.Regex:
    reachable = _reachable(span, cap)
    return ast.EMPTY if reachable.is_empty() else _signed(reachable, fraction, cap)


def _reachable(span: Span, cap: int) -> Span:
    """Drop the ends that no text with ``cap`` integer digits reaches; a range wholly beyond them becomes empty."""
    edge = Fraction(10**cap)
    if (span.low is not None and span.low >= edge) or (span.high is not None and span.high <= -edge):
        return Span(Fraction(1), low_strict=True, high=Fraction(0), high_strict=True)
    low = None if span.low is not None and span.low <= -edge else span.low
    high = None if span.high is not None and span.high >= edge else span.high
    return Span(low, span.low_strict and low is not None, high, span.high_strict and high is not None)


def _signed(span: Span, fraction: FractionDigits, cap: int | None) -> ast.Regex:
    """Texts of the values in ``span``: magnitudes, and after a minus sign the mirrored ones."""
    halves = [_magnitudes(half.magnitudes(), fraction, cap) for half in (span, span.mirrored())]
    if halves[0] == halves[1]:
        return ast.concat(ast.optional(MINUS), halves[0])
    return ast.union(halves[0], ast.concat(MINUS, halves[1]))


def _magnitudes(span: Span, fraction: FractionDigits, cap: int | None) -> ast.Regex:
    if span.is_empty() or (span.high is not None and span.high < 0):
        return ast.EMPTY
    unbounded = not span.low and not span.low_strict
    low = None if unbounded or span.low is None else _end(span.low, strict=span.low_strict)
    high = None if span.high is None else _end(span.high, strict=span.high_strict)
    return magnitude_regex(low, high, fraction, cap)


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


# 4) Literals.


def decimal_text(value: float | Decimal | Fraction) -> str:
    """Return what json.dumps writes for a number; a Decimal or Fraction without exponent.

    Raises:
        LimitError: It is not finite, or has absurdly many digits.
    """
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise LimitError(f"{value!r} has no JSON text", why="JSON has no infinities", fix="use a finite number")
        return json.dumps(value)
    exact = Fraction(value)
    end = _end(abs(exact), strict=False)
    sign = "-" if exact < 0 else ""
    return sign + end.integer + ("." + end.fraction if end.fraction else "")
