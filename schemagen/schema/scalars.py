"""Arms of numbers as regular expressions over their JSON text."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from math import lcm
from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.schema.numbers import (
    NumberBounds,
    NumberStyle,
    number_literal_regex,
    number_range_regex,
    number_regex,
    number_superset_regex,
    number_value_regex,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.schema.nodes import NumberArm


MAX_SCALE = 20
#: Listed numbers below it are float64.
_MAX_LISTED_FLOAT = 10**308
#: Integers below it are written without exponent, as a float as well.
_PLAIN = 10**15
#: What the remainder automaton can count to.
MAX_DIVISOR = 2**30


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


def number_bounds(arm: NumberArm) -> NumberBounds:
    """Return the ends of an arm, without what it says about multiples and listed values."""
    return NumberBounds(
        minimum=arm.low,
        maximum=arm.high,
        exclusive_minimum=arm.low_open,
        exclusive_maximum=arm.high_open,
        integer=arm.integer is True,
    )


def listed_numbers(arm: NumberArm, style: NumberStyle) -> ast.Regex:
    """Return the texts of the values that an arm lists."""
    return ast.union(*(_listed(v, style) for v in sorted(arm.values or ())))


def plain_texts(values: Iterable[Fraction], style: NumberStyle) -> tuple[list[str], frozenset[Fraction]]:
    """Return the texts of those listed values that are integers of ordinary size, and the other values.

    The texts are those of `listed_numbers`, without an expression for each of them: there may be thousands.
    """
    plain = {value for value in values if value.denominator == 1 and -_PLAIN < value.numerator < _PLAIN}
    texts = [str(number) for number in sorted(value.numerator for value in plain)]
    if style.integer_fraction:
        texts += [f"{text}.0" for text in texts]
    return texts, frozenset(values) - plain


@lru_cache(maxsize=1024)
def range_pattern(arm: NumberArm, style: NumberStyle) -> ast.Regex:
    """Return the texts of the numbers between the ends of an arm, less the values and kinds it excludes. Cached.

    Where multiples matter no exponents are written, so that a remainder automaton over the digits can be added.
    """
    if arm.multiples or arm.not_multiples:
        style = replace(style, exponents=False)
    bounds = replace(number_bounds(arm), multiple_of=common_multiple(arm.multiples))
    parts = [number_range_regex(bounds, style)]
    if arm.integer is False:
        parts.append(ast.complement(number_superset_regex(NumberBounds(integer=True), style)))
    parts.extend(ast.complement(number_value_regex(v, style)) for v in sorted(arm.not_values))
    return ast.conjunction(*parts)


def number_pattern(arm: NumberArm, style: NumberStyle) -> ast.Regex:
    """Return the JSON texts of the numbers in an arm as one expression; multiples are spelled out.

    Raises:
        LimitError: The multiples need too large an expression (the compiled engine has an automaton for them).
    """
    if arm.values is not None:
        return listed_numbers(arm, style)
    multiple = common_multiple(arm.multiples)
    if multiple is None and not arm.not_multiples:
        return range_pattern(arm, style)
    bounds = replace(number_bounds(arm), multiple_of=multiple)
    outside = [number_superset_regex(NumberBounds(multiple_of=m), style) for m in sorted(arm.not_multiples)]
    return ast.conjunction(range_pattern(arm, style), number_regex(bounds, style), *map(ast.complement, outside))


def remainder(multiple: Fraction, style: NumberStyle, *, integer: bool) -> tuple[int, int, int, int]:
    """Return divisor, scale and the caps on digits of the remainder automaton of a multiple.

    A value is divisible by ``multiple`` if and only if value * 10**scale is divisible by the divisor.
    """
    if integer:
        multiple = Fraction(multiple.numerator)  # an integer is a multiple of p/q (reduced) iff p divides it
    scale, value = 0, multiple
    while value.denominator != 1:
        scale, value = scale + 1, value * 10
        if scale > MAX_SCALE:
            return _no_decimal(multiple)
    if value.numerator >= MAX_DIVISOR:
        raise LimitError(
            f"multipleOf {float(multiple):g} has a divisor of {len(str(value.numerator))} digits, limit {MAX_DIVISOR}",
            fix="use a smaller one, or list the values in an enum",
        )
    fraction_digits = style.max_fraction_digits if style.integer_fraction else 0
    return (
        value.numerator,
        scale,
        style.max_integer_digits,
        fraction_digits if integer else max(style.max_fraction_digits, scale),
    )


def _no_decimal(multiple: Fraction) -> tuple[int, int, int, int]:
    raise LimitError(f"multipleOf {multiple} has more than {MAX_SCALE} decimal places", fix="round it")


def _listed(value: Fraction, style: NumberStyle) -> ast.Regex:
    canonical = number_literal_regex(value)
    if value.denominator != 1:
        return ast.union(canonical, *_with_exponent(value))
    if not style.integer_fraction:
        return canonical
    # 1.0 is 1 in JSON Schema.
    return ast.union(ast.concat(canonical, ast.optional(ast.literal(".0"))), *_with_exponent(value))


def _with_exponent(value: Fraction) -> list[ast.Regex]:
    """The texts with an exponent that json.dumps (1e-07) and pydantic (1e-7) write for a value, if they do."""
    if not -_MAX_LISTED_FLOAT < value < _MAX_LISTED_FLOAT:
        return []
    text = json.dumps(float(value))
    mantissa, found, exponent = text.partition("e")
    if not found or Fraction(Decimal(text)) != value:
        return []
    return [ast.literal(text), ast.literal(f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}")]
