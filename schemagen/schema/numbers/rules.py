"""Numbers as the compiled core takes them: ends by their digits, a divisor, caps on lengths, and forms.

Idea: a JSON number is written in one of three forms, whole (``12``), with a point (``12.0``), or with an exponent
(``1.2e1``). Readers take the first as the integer that it is and the others as the nearest float64. So the ends of a range
are exact for whole numbers, and `float_ends` moves them for the other forms to where both the decimal and the float64 that it
is read as are inside. The two ranges differ only beyond 2**53; there a range is two rules, of which a text obeys one.

Multiples differ there, too: 3e40 is a multiple of 3, and the float64 that it is read as is not. So a multiple with a point or
an exponent has to be a number that float64 holds exactly. Multiples of powers of two stay multiples, and need no such rule.

Invariants: moving an end never adds a text that a validator refuses, and never drops what json.dumps writes for a float
inside. The rules of multiples never add such a text either, but drop some multiples that need many digits. The language of a
rule is a superset of what `expressions.number_regex` writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import lcm
from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.schema.numbers.spans import (
    EXACT_INTEGERS,
    LARGEST,
    LARGEST_FLOAT,
    MAX_BOUND_DIGITS,
    Span,
    float_ends,
    float_readings,
    fraction_length,
)

if TYPE_CHECKING:
    from schemagen.schema.ir import NumberDisjunct
    from schemagen.schema.numbers.expressions import NumberStyle

WHOLE, POINT, EXPONENT = 1, 2, 4
#: Largest exponent that the core writes.
MAX_EXPONENT = 1999
#: What the core can count remainders of, powers of ten aside.
MAX_DIVISOR = 2**58
#: Longest digits before the point that an upper end asks for; a lower end gets as many as it needs.
MAX_UPPER_DIGITS = 100
MAX_DIGITS = 800
#: Digits before the point in `fitting`.
MAX_SHORT_DIGITS = 20
#: Decimals of up to this many significant digits survive float64 unchanged (DBL_DIG).
EXACT_DIGITS = 15
#: (most, digits): float64 holds exactly each whole number up to `most` that has no more than so many significant digits. A
#: number of d digits below 10**p is m * 10**(p-d), which float64 holds if m * 5**(p-d) < 2**53.
EXACT_FLOATS = tuple((Fraction(10**power), digits) for power, digits in ((17, 13), (19, 8), (20, 6), (21, 4), (22, 1)))
#: (digits, power of ten of the first one, whether the end itself is outside); no digits: no end.
End = tuple[str, int, bool]
NO_END: End = ("", 0, False)


@dataclass(frozen=True, slots=True)
class NumberRule:
    """The arguments of ``Builder.number``.

    Attributes:
        ends: Lower and upper one of the positive numbers, then of the magnitudes of the negative ones.
        inside: 1 for positive numbers, 2 for negative ones, 4 for zero.
        divisor: No multiple of 10; 0: none.
        power: The value is a multiple of divisor * 10**power.
        integer_digits: Most digits before the point.
        fraction_digits: Most digits after it.
        exact_digits: Most significant digits of a text with a point or an exponent; 0: no such limit.
        forms: `WHOLE`, `POINT`, `EXPONENT`.
    """

    ends: tuple[End, End, End, End]
    inside: int
    divisor: int
    power: int
    integer_digits: int
    fraction_digits: int
    exact_digits: int
    forms: int


@dataclass(frozen=True, slots=True)
class Caps:
    """Most digits before and after the point."""

    integer: int
    fraction: int


def common_multiple(divisors: frozenset[Fraction]) -> Fraction | None:
    """Return the least number that all of the divisors divide; None without divisors."""
    if not divisors:
        return None
    return reduce(
        lambda a, b: Fraction(
            lcm(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        ),
        sorted(divisors),
    )


def fitting(disjunct: NumberDisjunct, style: NumberStyle) -> NumberStyle:
    """Return the style in which the numbers of a disjunct are written.

    Python's Decimal refuses a remainder whose quotient has more than 28 digits. Where multiples are excluded, whether any
    number is left takes a search, which is quick only among short texts.
    """
    of_decimals = not style.integer_fraction and disjunct.multiples and disjunct.integer is not True
    if not (disjunct.not_multiples or of_decimals):
        return style
    return replace(style, exponents=False, max_integer_digits=min(style.max_integer_digits, MAX_SHORT_DIGITS))


def span_of(disjunct: NumberDisjunct) -> Span:
    """Return the range of a disjunct."""
    return Span(disjunct.low, disjunct.low_open, disjunct.high, disjunct.high_open)


def step_of(disjunct: NumberDisjunct) -> Fraction | None:
    """Return what every number of a disjunct is a multiple of; None if nothing is."""
    return common_multiple(disjunct.multiples | ({Fraction(1)} if disjunct.integer else frozenset()))


def has_fractions_only(disjunct: NumberDisjunct) -> bool:
    """Whether no integer is in a disjunct, however it is written."""
    return disjunct.integer is False and not disjunct.plain


def caps_of(span: Span, step: Fraction | None, style: NumberStyle) -> Caps:
    """Return the caps of a style, raised to what the ends of a range and a step need.

    Raises:
        LimitError: Every number of the range has more than `MAX_DIGITS` digits before the point.
    """
    whole = style.max_integer_digits
    for side in (span, span.mirrored()):
        if side.high is None or side.high > 0:
            whole = max(whole, _length(side.low) + 1 if side.low is not None and side.low > 0 else 0)
            whole = max(
                whole, 0 if side.high is None or side.high >= LARGEST else min(_length(side.high), MAX_UPPER_DIGITS)
            )
    if whole > MAX_DIGITS:
        raise LimitError(
            f"a range that begins at a number of {whole - 1} digits, limit {MAX_DIGITS}",
            why="numbers are compared digit by digit",
            fix="use a range that is closer to zero",
        )
    if (
        step is not None and not style.integer_fraction
    ):  # Python's Decimal counts the zeros after its last place as well
        return Caps(whole, fraction_length(step))
    needed = [fraction_length(end) + 1 for end in (span.low, span.high, step) if end]
    return Caps(whole, max(style.max_fraction_digits, min(MAX_BOUND_DIGITS, max(needed, default=0))))


def _length(value: Fraction) -> int:
    return len(str(int(value))) if value < 10**MAX_DIGITS else MAX_DIGITS + 1


def range_rules(disjunct: NumberDisjunct, style: NumberStyle, caps: Caps) -> list[NumberRule]:
    """Return rules whose texts together are those of the numbers between the ends of a disjunct, of its kind and multiples.

    What the disjunct excludes (`not_values`, `not_multiples`, no integers) is left aside.

    Raises:
        LimitError: A divisor or an end is too large.
    """
    exact, step = span_of(disjunct), step_of(disjunct)
    divisor, power = (0, 0) if step is None else decimal_step(step)
    limited = step is not None and not _is_dyadic(divisor, power)
    plain = NumberRule(
        (NO_END, NO_END, NO_END, NO_END), 0, divisor, power, caps.integer, caps.fraction, 0, _forms(disjunct, style)
    )
    plain = replace(plain, exact_digits=EXACT_DIGITS if limited else 0)
    read_as_floats = not style.integer_fraction and disjunct.integer is not True
    if step is not None and rounds_away(step) and not read_as_floats and plain.forms != WHOLE:
        return _exact_rules(plain, exact, step)
    if has_fractions_only(disjunct):  # float64 keeps no fraction of a larger number for certain
        exact = finite(exact, Fraction(10**EXACT_DIGITS))
    rules = _rules(plain, exact, float_ends(exact), read_as_floats=read_as_floats)
    return _without_zero(rules) if has_fractions_only(disjunct) or disjunct.not_multiples else rules


def _without_zero(rules: list[NumberRule]) -> list[NumberRule]:
    """Return rules without the texts that are read as 0, which is an integer and a multiple of every step."""
    digits, power, _ = _end(float_readings(Fraction(0)).high or Fraction(0), strict=True)
    least: End = (digits, power, True)
    nonzero = []
    for rule in rules:
        low, high, below, above = rule.ends
        ends = (least if low == NO_END else low, high, least if below == NO_END else below, above)
        nonzero.append(replace(rule, ends=ends, inside=rule.inside & 3))
    return [rule for rule in nonzero if rule.inside]


def certain_rules(disjunct: NumberDisjunct, style: NumberStyle, caps: Caps) -> list[NumberRule]:
    """Return rules of texts of which the decimal tells whether they are read as multiples that the disjunct excludes.

    These are whole numbers and those of few digits, and fractions that are small; for other fractions see
    `expressions.fraction_regex`.
    """
    short = fitting(disjunct, style)
    plain = NumberRule((NO_END, NO_END, NO_END, NO_END), 0, 0, 0, caps.integer, caps.fraction, 0, WHOLE)
    free = Span(None, low_strict=False, high=None, high_strict=False)
    few = replace(plain, forms=POINT | (EXPONENT if short.exponents else 0), exact_digits=EXACT_DIGITS)
    rules = [] if has_fractions_only(disjunct) else _bounded(plain, free)
    rules += _bounded(few, finite(free, Fraction(10**EXACT_DIGITS)))
    if takes_fractions(disjunct):
        near = finite(float_ends(span_of(disjunct)), Fraction(1, 10))
        rules += _bounded(replace(plain, forms=POINT | (EXPONENT if style.exponents else 0)), near)
    return rules


def takes_fractions(disjunct: NumberDisjunct) -> bool:
    """Whether a disjunct that excludes multiples has the fractions, because all that it excludes are integers."""
    step = step_of(disjunct)
    has_fractions = step is None or step.denominator != 1
    return has_fractions and all(other.denominator == 1 for other in disjunct.not_multiples)


def step_rules(step: Fraction, style: NumberStyle, caps: Caps) -> list[NumberRule]:
    """Return the rule of every multiple of a step; for use under negation."""
    divisor, power = decimal_step(step)
    span = Span(None, low_strict=False, high=None, high_strict=False)
    forms = WHOLE | POINT | (EXPONENT if style.exponents else 0)
    plain = NumberRule((NO_END, NO_END, NO_END, NO_END), 0, divisor, power, caps.integer, caps.fraction, 0, forms)
    return _rules(plain, span, span, read_as_floats=False)


def value_rules(value: Fraction, style: NumberStyle, caps: Caps) -> list[NumberRule]:
    """Return rules of every text that could denote a value, as a decimal or as a float64; for use under negation."""
    exact = Span(value, low_strict=False, high=value, high_strict=False)
    forms = WHOLE | POINT | (EXPONENT if style.exponents else 0)
    if style.integer_fraction and value.denominator == 1 and not is_float(value):
        forms = WHOLE
    plain = NumberRule((NO_END, NO_END, NO_END, NO_END), 0, 0, 0, caps.integer, caps.fraction, 0, forms)
    return _rules(plain, exact, float_readings(value), read_as_floats=not style.integer_fraction)


def _forms(disjunct: NumberDisjunct, style: NumberStyle) -> int:
    if disjunct.integer is True and (disjunct.plain or not style.integer_fraction):
        return WHOLE
    others = POINT | (EXPONENT if style.exponents else 0)
    return others if disjunct.integer is False and disjunct.plain else WHOLE | others


def _rules(plain: NumberRule, exact: Span, floats: Span, *, read_as_floats: bool) -> list[NumberRule]:
    """Return one rule, or one for whole numbers and one for the other forms where their ends differ."""
    others = plain.forms & ~WHOLE
    if not others:
        return _bounded(plain, exact)
    if read_as_floats or all(end is None or abs(end) < EXACT_INTEGERS for end in (exact.low, exact.high)):
        return _bounded(plain, finite(floats))
    return [*_bounded(_whole(plain), exact), *_bounded(replace(plain, forms=others), finite(floats))]


def _whole(plain: NumberRule) -> NumberRule:
    return replace(plain, forms=plain.forms & WHOLE, fraction_digits=0)


def _exact_rules(plain: NumberRule, exact: Span, step: Fraction) -> list[NumberRule]:
    """Return rules of whole numbers, and of those with a point or an exponent that float64 holds exactly.

    Up to 2**53 these are all integers, up to 2**54 the even ones, and beyond that those of few digits.
    """
    dense = Fraction(EXACT_INTEGERS)
    if finite(exact, dense) == exact:
        return _bounded(replace(plain, exact_digits=0), exact)
    others = replace(plain, forms=plain.forms & ~WHOLE, exact_digits=0)
    rules = _bounded(_whole(plain), exact)
    rules += _bounded(others, finite(exact, dense))
    if lcm(step.numerator, 2) <= MAX_DIVISOR:
        divisor, power = decimal_step(Fraction(lcm(step.numerator, 2)))
        rules += _bounded(replace(others, divisor=divisor, power=power), finite(exact, 2 * dense))
    for most, digits in EXACT_FLOATS:
        rules += _bounded(replace(others, exact_digits=digits), finite(exact, most))
    return rules


def is_float(value: Fraction) -> bool:
    """Whether a float64 equals the value."""
    return abs(value) <= LARGEST_FLOAT and Fraction(float(value)) == value


def finite(span: Span, most: Fraction = LARGEST) -> Span:
    """Cut off the values that no float64 holds, or that are beyond ``most``."""
    low, high = span.low, span.high
    if low is None or low < -most:
        low = -most
    if high is None or high > most:
        high = most
    return Span(low, span.low_strict and low == span.low, high, span.high_strict and high == span.high)


def _bounded(plain: NumberRule, span: Span) -> list[NumberRule]:
    """Return the rule with the ends of a span, none if the span is empty or no form is left."""
    if span.is_empty() or not plain.forms:
        return []
    ends: list[End] = []
    inside = 0
    for bit, side in ((1, span), (2, span.mirrored())):
        if side.high is not None and side.high <= 0:
            ends += (NO_END, NO_END)
            continue
        inside |= bit
        ends.append(_end(side.low, strict=side.low_strict) if side.low is not None and side.low > 0 else NO_END)
        ends.append(NO_END if side.high is None else _end(side.high, strict=side.high_strict))
    below = span.low is None or span.low < 0 or (span.low == 0 and not span.low_strict)
    above = span.high is None or span.high > 0 or (span.high == 0 and not span.high_strict)
    inside |= 4 if below and above else 0
    return [replace(plain, ends=(ends[0], ends[1], ends[2], ends[3]), inside=inside)] if inside else []


def _end(value: Fraction, *, strict: bool) -> End:
    """Return the digits of a positive end.

    Raises:
        LimitError: It has none, or absurdly many.
    """
    places = fraction_length(value, MAX_DIGITS)
    scaled: Fraction = value * 10**places
    if scaled.denominator != 1 or scaled >= 10**MAX_DIGITS:
        raise LimitError(
            f"a number needs more than {MAX_DIGITS} decimal digits",
            why="numbers are compared digit by digit",
            fix="write the number with fewer digits",
        )
    text = str(scaled.numerator)
    return text.rstrip("0"), len(text) - 1 - places, strict


def decimal_step(step: Fraction) -> tuple[int, int]:
    """Return a divisor without the factor 10, and a power of ten: a decimal is a multiple of their product iff of ``step``.

    Raises:
        LimitError: The divisor is too large to count remainders of.
    """
    places = fraction_length(step, MAX_DIGITS)
    # A factor of the denominator other than 2 and 5 makes no difference: a decimal is a multiple of 2/3 iff it is one of 2.
    divisor, power = Fraction(step * 10**places).numerator, -places
    while divisor % 10 == 0:
        divisor, power = divisor // 10, power + 1
    if divisor > MAX_DIVISOR:
        raise LimitError(
            f"multipleOf {_shown(step)} has a divisor of {len(str(divisor))} digits, limit {MAX_DIVISOR}",
            why="the automaton counts the remainder of the digits; powers of ten need no count",
            fix="use a smaller one, or list the values in an enum",
        )
    if power > MAX_DIGITS:
        raise LimitError(f"multipleOf {_shown(step)} has more than {MAX_DIGITS} digits", fix="use a smaller one")
    return divisor, power


def rounds_away(step: Fraction) -> bool:
    """Whether the float64 nearest to a multiple of the step may be no multiple of it.

    Only of whole steps: validators divide by a fraction or a float, and a large quotient is always a whole number.
    """
    return step.denominator == 1 and step < EXACT_INTEGERS and not _is_dyadic(*decimal_step(step))


def _is_dyadic(divisor: int, power: int) -> bool:
    """Whether divisor * 10**power is a power of two, whose multiples stay multiples when they become a float64."""
    value = Fraction(divisor) * Fraction(10) ** power
    return (value.numerator & (value.numerator - 1)) == 0 and (value.denominator & (value.denominator - 1)) == 0


def _shown(value: Fraction) -> str:
    text = str(value.numerator) if value.denominator == 1 else str(float(value))
    return text if len(text) <= 40 else f"{text[:20]}...({len(text)} digits)"


def nothing_between(span: Span, step: Fraction | None) -> LimitError | None:
    """Return the error for a range that has numbers, none of which can be written; None if it has none at all."""
    if span.is_empty() or (step is not None and not _has_multiple(span, step)):
        return None
    low, high = ("no end" if end is None else _shown(end) for end in (span.low, span.high))
    return LimitError(
        f"no number that can be written lies between {low} and {high}",
        why="validators read a number with a point or an exponent as a float64, and there is none between the bounds; "
        "or all of them have more digits than are written",
        fix="move the bounds apart",
    )


def _has_multiple(span: Span, step: Fraction) -> bool:
    """Whether a multiple of ``step`` lies in a span."""
    if span.low is None or span.high is None:
        return True
    first = -((-span.low) // step) * step
    if span.low_strict and first == span.low:
        first += step
    return first < span.high or (first == span.high and not span.high_strict)
