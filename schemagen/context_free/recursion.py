"""Which rules call themselves, and where: at their left end, after symbols that may be empty, or elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.context_free.simplify import called, components
from schemagen.context_free.syntax import Alternatives, Expression, Repeat, Rule, Sequence, Text
from schemagen.context_free.texts import is_nullable

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Recursion:
    """The rules of a grammar that call themselves, however far around, in the order of the grammar.

    Attributes:
        left: Those that do so as the first of their symbols.
        hidden: Those of them that do so only after symbols that may be empty.
        other: The others.
    """

    left: tuple[str, ...]
    hidden: tuple[str, ...]
    other: tuple[str, ...]


def recursion_of(rules: dict[str, Expression]) -> Recursion:
    """Return which rules call themselves.

    Cost: linear in the rules, times the depth of those that may be empty.
    """
    empty = nullable_rules(rules)
    plain = _in_cycles({name: _first(body, None) for name, body in rules.items()})
    left = _in_cycles({name: _first(body, empty) for name, body in rules.items()})
    anywhere = _in_cycles({name: called(body) for name, body in rules.items()})
    return Recursion(
        tuple(name for name in rules if name in left),
        tuple(name for name in rules if name in left - plain),
        tuple(name for name in rules if name in anywhere - left),
    )


def reachable(rules: Mapping[str, Expression], start: str) -> set[str]:
    """Return the rules that the start calls, however far around, and itself."""
    found: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in found and name in rules:
            found.add(name)
            todo.extend(called(rules[name]))
    return found


def _in_cycles(calls: dict[str, frozenset[str]]) -> set[str]:
    """Return the names that lead to themselves."""
    graph: dict[str, Expression] = {
        name: Sequence(tuple(Rule(callee) for callee in sorted(callees) if callee in calls))
        for name, callees in calls.items()
    }
    groups = [group for group in components(graph) if len(group) > 1 or group[0] in calls[group[0]]]
    return {name for group in groups for name in group}


def nullable_rules(rules: dict[str, Expression]) -> frozenset[str]:
    """Return the rules that derive the empty text."""
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(name for name, body in rules.items() if _may_be_empty(body, found))
        if more == found:
            return found
        found = more


def _may_be_empty(expression: Expression, empty: frozenset[str]) -> bool:
    if isinstance(expression, Rule):
        return expression.name in empty
    if isinstance(expression, Sequence):
        return all(_may_be_empty(part, empty) for part in expression.parts)
    if isinstance(expression, Alternatives):
        return any(_may_be_empty(part, empty) for part in expression.parts)
    if isinstance(expression, Repeat):
        return expression.low == 0 or _may_be_empty(expression.inner, empty)
    return isinstance(expression, Text) and is_nullable(expression.regex)


def _first(expression: Expression, empty: frozenset[str] | None) -> frozenset[str]:
    """Return the rules that an expression may begin with, passing over rules that may be empty.

    Args:
        expression: Of a rule.
        empty: The rules that may be empty, or None to pass over none.
    """
    if isinstance(expression, Rule):
        return frozenset((expression.name,))
    if isinstance(expression, Repeat):
        return _first(expression.inner, empty)
    if isinstance(expression, Alternatives):
        return frozenset().union(*(_first(part, empty) for part in expression.parts))
    found: frozenset[str] = frozenset()
    for part in expression.parts if isinstance(expression, Sequence) else ():
        found |= _first(part, empty)
        if empty is None or not _may_be_empty(part, empty):
            break
    return found
