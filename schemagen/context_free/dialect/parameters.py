"""Parameters of rules in Lark grammars: 64 bits that a rule hands on, and conditions on them.

``perm::_ : "" %if is_ones([0:2]) | "a" perm::set_bit(0) %if bit_clear(0)`` is one rule for each value that is reached.

Source: llguidance's page "Parametric grammars", whose functions these are.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from schemagen.context_free.dialect import nodes
from schemagen.context_free.scanner import MAX_NESTING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.context_free.scanner import Scanner

BITS = 64

_BLANKS = re.compile(r"[ \t]*")
_INTEGER = re.compile(r"0x[0-9a-fA-F]{1,17}|[0-9]{1,21}")
_RANGE = re.compile(r"\[[ \t]*([0-9]{1,2})[ \t]*:[ \t]*([0-9]{1,2})[ \t]*\]")
_NAME = re.compile(r"[a-z]+(?:_[a-z]+)*")
_ALL = (1 << BITS) - 1
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    each.__name__: each for each in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
}

#: Of each function the kinds of its arguments: a number of a bit, a value, a range of bits, a condition.
_VALUES = {
    "set_bit": ("bit",),
    "clear_bit": ("bit",),
    "bit_and": ("value",),
    "bit_or": ("value",),
    "incr": ("range",),
    "decr": ("range",),
}
_CONDITIONS = {
    "true": (),
    "bit_clear": ("bit",),
    "bit_set": ("bit",),
    "is_ones": ("range",),
    "is_zeros": ("range",),
    "and": ("condition", "condition"),
    "or": ("condition", "condition"),
    "not": ("condition",),
    **dict.fromkeys(_COMPARISONS, ("range", "value")),
    **{f"bit_count_{name}": ("range", "value") for name in _COMPARISONS},
}


def read_value(scanner: Scanner) -> nodes.Function:
    """Read a number, ``_``, or a function that makes one parameter of another."""
    scanner.match(_BLANKS)
    at = scanner.at
    if scanner.match(_INTEGER):
        scanner.at = at
        return nodes.Function("", (_integer(scanner),), at)
    if scanner.take("_"):
        return nodes.Function("_", (), at)
    return _function(scanner, _VALUES, "a number, '_' or a function of the parameter", 0)


def read_condition(scanner: Scanner, depth: int = 0) -> nodes.Function:
    """Read a condition on the parameter."""
    return _function(scanner, _CONDITIONS, "a condition on the parameter", depth)


def _function(scanner: Scanner, known: Mapping[str, tuple[str, ...]], wanted: str, depth: int) -> nodes.Function:
    scanner.match(_BLANKS)
    at = scanner.at
    name = scanner.match(_NAME)
    if name is None:
        raise scanner.unexpected(wanted)
    if name[0] not in known:
        raise scanner.error(f"{name[0]!r} is not a function", at, fix=f"use one of {', '.join(known)}")
    if depth == MAX_NESTING:
        raise scanner.limit(f"conditions are nested {depth + 1} deep, limit {MAX_NESTING}", at, fix="nest them less")
    kinds = known[name[0]]
    arguments: list[int | tuple[int, int] | nodes.Function] = []
    if kinds or scanner.sees("("):
        _take(scanner, "(")
        for number, kind in enumerate(kinds):
            if number:
                _take(scanner, ",")
            arguments.append(_argument(scanner, kind, depth))
        _take(scanner, ")")
    return nodes.Function(name[0], tuple(arguments), at)


def _take(scanner: Scanner, sign: str) -> None:
    scanner.match(_BLANKS)
    if not scanner.take(sign):
        raise scanner.unexpected(repr(sign))


def _argument(scanner: Scanner, kind: str, depth: int) -> int | tuple[int, int] | nodes.Function:
    scanner.match(_BLANKS)
    at = scanner.at
    if kind == "condition":
        return read_condition(scanner, depth + 1)
    if kind in ("bit", "value"):
        value = _integer(scanner)
        if kind == "bit" and value >= BITS:
            raise scanner.error(f"bit {value}", at, why=f"parameters have {BITS} bits", fix="count them from 0")
        return value
    if scanner.take("_"):
        return 0, BITS
    found = scanner.match(_RANGE)
    if found is None:
        raise scanner.unexpected("'_' or a range of bits", fix="write [x:y]")
    low, high = int(found[1]), int(found[2])
    if not low < high <= BITS:
        raise scanner.error(f"the bits {found[0]}", at, fix=f"write [x:y] with x < y <= {BITS}")
    return low, high


def _integer(scanner: Scanner) -> int:
    at = scanner.at
    found = scanner.match(_INTEGER)
    if found is None:
        raise scanner.unexpected("a number")
    value = int(found[0], 16 if found[0].startswith("0x") else 10)
    if value > _ALL:
        raise scanner.error(f"{found[0]} is too large", at, why=f"parameters have {BITS} bits", fix="use a smaller one")
    return value


def value_of(function: nodes.Function, parameter: int) -> int:
    """Return the parameter that a function makes of another."""
    argument = function.arguments[0] if function.arguments else 0
    if isinstance(argument, tuple):
        ones = (1 << (argument[1] - argument[0])) - 1
        bits = parameter >> argument[0] & ones
        step = 1 << argument[0]
        if function.name == "incr":
            return parameter if bits == ones else parameter + step
        return parameter - step if bits else parameter
    assert isinstance(argument, int)
    results = {
        "": argument,
        "_": parameter,
        "set_bit": parameter | 1 << argument % BITS,
        "clear_bit": parameter & ~(1 << argument % BITS),
        "bit_and": parameter & argument,
        "bit_or": parameter | argument,
    }
    return results[function.name]


def needs_parameter(condition: nodes.Function) -> bool:
    """Whether a condition is about the parameter, and not made of ``true`` alone."""
    if condition.name in ("true", "and", "or", "not"):
        return any(needs_parameter(each) for each in condition.arguments if isinstance(each, nodes.Function))
    return True


def holds(condition: nodes.Function, parameter: int) -> bool:
    """Whether a condition on the parameter holds."""
    first, *rest = (*condition.arguments, 0)
    if condition.name == "true":
        return True
    if isinstance(first, nodes.Function):
        others = [holds(each, parameter) for each in condition.arguments if isinstance(each, nodes.Function)]
        return not others[0] if condition.name == "not" else (all if condition.name == "and" else any)(others)
    if isinstance(first, int):
        return (parameter >> first & 1) == (condition.name == "bit_set")
    ones = (1 << (first[1] - first[0])) - 1
    bits = parameter >> first[0] & ones
    if condition.name in ("is_ones", "is_zeros"):
        return bits == (ones if condition.name == "is_ones" else 0)
    name = condition.name.removeprefix("bit_count_")
    value = rest[0]
    assert isinstance(value, int)
    return _COMPARISONS[name](bits if name == condition.name else bits.bit_count(), value)
