"""Disjuncts of numbers as regular expressions over their JSON text, and those of strings over their code points."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.schema.formats.table import known_format
from schemagen.schema.numbers.expressions import (
    NumberBounds,
    NumberStyle,
    decimal_text,
    number_range_regex,
    number_regex,
    number_superset_regex,
    number_value_regex,
    number_whole_regex,
)
from schemagen.schema.numbers.rules import common_multiple, fitting

if TYPE_CHECKING:
    from schemagen.schema.ir import NumberDisjunct, StringDisjunct


#: Integers below it are written without exponent, as a float as well.
_PLAIN = 10**15


def number_bounds(disjunct: NumberDisjunct) -> NumberBounds:
    """Return the ends of a disjunct, without its multiples and listed values."""
    return NumberBounds(
        minimum=disjunct.low,
        maximum=disjunct.high,
        exclusive_minimum=disjunct.low_open,
        exclusive_maximum=disjunct.high_open,
        integer=disjunct.integer is True,
    )


def listed_numbers(disjunct: NumberDisjunct, style: NumberStyle) -> ast.Regex:
    """Return the texts of the values that a disjunct lists."""
    values = sorted(disjunct.values or ())
    return ast.union(*(ast.literal(text) for value in values for text in _spellings(value, disjunct, style)))


def plain_texts(disjunct: NumberDisjunct, style: NumberStyle) -> tuple[list[str], frozenset[Fraction]]:
    """Return the texts of those values of a disjunct that are integers of ordinary size, and the other values.

    The texts are those of `listed_numbers`, without an expression for each of them: there may be thousands.
    """
    values = disjunct.values or frozenset()
    if disjunct.plain:
        return [], frozenset(values)
    plain = {value for value in values if value and value.denominator == 1 and -_PLAIN < value.numerator < _PLAIN}
    texts = [str(number) for number in sorted(value.numerator for value in plain)]
    if style.integer_fraction:
        texts += [f"{text}.0" for text in texts]
    return texts, frozenset(values) - plain


@lru_cache(maxsize=1024)
def range_pattern(disjunct: NumberDisjunct, style: NumberStyle) -> ast.Regex:
    """Return the texts of the numbers between the ends of a disjunct, less the values and kinds it excludes. Cached.

    Where multiples matter no exponents are written, so that a condition on the digits can be added.
    """
    if disjunct.multiples or disjunct.not_multiples:
        style = replace(style, exponents=False)
    bounds = replace(number_bounds(disjunct), multiple_of=common_multiple(disjunct.multiples))
    parts = [number_range_regex(bounds, style)]
    if disjunct.integer is False:
        integers = number_whole_regex() if disjunct.plain else number_superset_regex(NumberBounds(integer=True))
        parts.append(ast.complement(integers))
    parts.extend(ast.complement(number_value_regex(v)) for v in sorted(disjunct.not_values))
    return ast.conjunction(*parts)


def number_pattern(disjunct: NumberDisjunct, style: NumberStyle) -> ast.Regex:
    """Return the JSON texts of the numbers in a disjunct as one expression; multiples are spelled out.

    Raises:
        LimitError: The multiples need too large an expression (the compiled engine has an automaton for them).
    """
    if disjunct.values is not None:
        return listed_numbers(disjunct, style)
    if disjunct.plain and disjunct.integer is True:
        style = replace(style, integer_fraction=False)
    style = fitting(disjunct, style)
    multiple = common_multiple(disjunct.multiples)
    if multiple is None and not disjunct.not_multiples:
        return range_pattern(disjunct, style)
    bounds = replace(number_bounds(disjunct), multiple_of=multiple)
    if not (disjunct.not_multiples or disjunct.not_values or disjunct.integer is False):
        return number_regex(bounds, style)
    outside = [number_superset_regex(NumberBounds(multiple_of=m)) for m in sorted(disjunct.not_multiples)]
    return ast.conjunction(range_pattern(disjunct, style), number_regex(bounds, style), *map(ast.complement, outside))


def _spellings(value: Fraction, disjunct: NumberDisjunct, style: NumberStyle) -> list[str]:
    """Return the texts that json.dumps writes for a value as an int and as a float, and what pydantic writes for a small float.

    A text with a point or an exponent is read as a float64, so an integer has such texts only if a float64 equals it.
    """
    is_integer = value.denominator == 1
    wholes = [decimal_text(value)] if is_integer else []
    others = [] if is_integer else [decimal_text(value)]
    if is_integer and not style.integer_fraction:
        return wholes
    others += _float_texts(value)
    if not disjunct.plain or disjunct.integer is None:
        return [*wholes, *others]
    return wholes if disjunct.integer else others


def _float_texts(value: Fraction) -> list[str]:
    """Return the texts of the float64 that equals an integer, or that is read from the decimal of a fraction."""
    try:
        nearest = float(value)
    except OverflowError:
        return []
    is_integer = value.denominator == 1
    text = json.dumps(nearest)
    mantissa, has_exponent, exponent = text.partition("e")
    if not value:
        return [text, f"-{text}"]
    if is_integer and not has_exponent:
        return [text] if nearest == value else []
    if not has_exponent or (nearest if is_integer else Fraction(Decimal(text))) != value:
        return []
    texts = [text, f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"]
    return [*texts, f"{value.numerator}.0"] if is_integer else texts


def string_pattern(disjunct: StringDisjunct) -> ast.Regex:
    """Return the strings of a disjunct as one pattern over code points."""
    if disjunct.values is not None:  # not worth keeping: an enum may be large, and is seldom seen twice
        return ast.union(*(ast.literal(v) for v in sorted(disjunct.values)))
    return _constrained(disjunct)


@lru_cache(maxsize=1024)
def _constrained(disjunct: StringDisjunct) -> ast.Regex:
    parts = [disjunct.pattern, *(known_format(name) for name in sorted(disjunct.formats))]
    if disjunct.min_length > 0 or disjunct.max_length is not None:
        parts.append(ast.repeat(ast.ANY_CHAR, disjunct.min_length, disjunct.max_length))
    return ast.conjunction(*parts)
