"""Arms of numbers as regular expressions over their JSON text."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import lcm
from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.schema.numbers import (
    NumberBounds,
    NumberStyle,
    number_literal_regex,
    number_regex,
    number_superset_regex,
    number_value_regex,
)

if TYPE_CHECKING:
    from schemagen.schema.nodes import NumberArm


def common_multiple(divisors: frozenset[Fraction]) -> Fraction | None:
    """Return the least number that all of the divisors divide; None without divisors."""
    if not divisors:
        return None
    return reduce(lambda a, b: Fraction(lcm(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator), sorted(divisors))


def number_pattern(arm: NumberArm, style: NumberStyle) -> ast.Regex:
    """Return the JSON texts of the numbers in an arm; listed values in their one canonical form."""
    if arm.values is not None:
        return ast.union(*(number_literal_regex(v) for v in sorted(arm.values)))
    bounds = NumberBounds(
        minimum=arm.low,
        maximum=arm.high,
        exclusive_minimum=arm.low_open,
        exclusive_maximum=arm.high_open,
        multiple_of=common_multiple(arm.multiples),
        integer=arm.integer is True,
    )
    parts = [number_regex(bounds, style)]
    if arm.integer is False:
        parts.append(ast.complement(number_superset_regex(NumberBounds(integer=True), style)))
    parts.extend(ast.complement(number_superset_regex(NumberBounds(multiple_of=m), style)) for m in sorted(arm.not_multiples))
    parts.extend(ast.complement(number_value_regex(v, style)) for v in sorted(arm.not_values))
    return ast.conjunction(*parts)
