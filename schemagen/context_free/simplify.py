"""What rules call and derive, and grammars made smaller.

Rules that derive nothing are dropped, regular ones become one terminal.

A rule that does not call itself, however far around, has a regular language if all that it calls has: its body is written out
where it is called. That makes grammars that are read character by character (GBNF, EBNF) fast: the parser sees whole
numbers and strings, not digits. A grammar without recursion becomes a single regular expression, unless that would be large
(``a ::= b b``, ``b ::= c c``, ...) or deep: a rule may always stay one.

Only texts that no lexer delimits are joined (`Text`): where a lexer takes the longest match, two terminals cannot become one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.context_free.regular import MAX_HEIGHT, MAX_SIZE, is_nullable, size_of
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    NOTHING,
    Alternatives,
    ContextFreeGrammar,
    Expression,
    Guest,
    Mark,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    Text,
    Token,
    TokenBound,
    alternatives,
    bounded,
    repeat,
    sequence,
    substituted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Set as AbstractSet

#: Operators that all rules together get from the texts that are written out in them. Beyond it rules stay rules.
MAX_WRITTEN_OUT = 500_000


@lru_cache(maxsize=4096)
def called(expression: Expression) -> frozenset[str]:
    """Return the names of the rules in an expression."""
    if isinstance(expression, Rule):
        return frozenset((expression.name,))
    if isinstance(expression, Repeat | TokenBound):
        return called(expression.inner)
    if isinstance(expression, Sequence | Alternatives):
        return frozenset().union(*map(called, expression.parts))
    return frozenset()


def productive(rules: Mapping[str, Expression]) -> set[str]:
    """Return the rules that derive some text."""
    return _least(rules, lambda _: True)


def live_rules(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """Return the rules that derive some text, without calls of the others."""
    alive = productive(rules)
    dead: dict[Expression, Expression] = dict.fromkeys(map(Rule, rules.keys() - alive), NOTHING)
    live = {name: body for name, body in rules.items() if name in alive}
    return {name: substituted(body, dead) for name, body in live.items()} if dead else live


def nullable_rules(rules: Mapping[str, Expression]) -> set[str]:
    """Return the rules that derive the empty text."""
    return _least(rules, _is_empty_text)


def _is_empty_text(symbol: Expression) -> bool:
    return isinstance(symbol, Mark) or (isinstance(symbol, Text) and is_nullable(symbol.regex))


def _holds(expression: Expression, rules: AbstractSet[str], of_symbol: Callable[[Expression], bool]) -> bool:
    """Whether some text of an expression is made only of symbols with a property, and of the given rules."""
    if isinstance(expression, Rule):
        return expression.name in rules
    if isinstance(expression, Sequence):
        return all(_holds(part, rules, of_symbol) for part in expression.parts)
    if isinstance(expression, Alternatives):
        return any(_holds(part, rules, of_symbol) for part in expression.parts)
    if isinstance(expression, Repeat):
        return expression.low == 0 or _holds(expression.inner, rules, of_symbol)
    if isinstance(expression, TokenBound):
        return _holds(expression.inner, rules, of_symbol)
    return of_symbol(expression)


def _least(rules: Mapping[str, Expression], of_symbol: Callable[[Expression], bool]) -> set[str]:
    """Return the rules that derive a text made only of symbols with a property."""
    found: set[str] = set()
    callers: dict[str, list[str]] = {}
    for name, body in rules.items():
        for callee in called(body):
            callers.setdefault(callee, []).append(name)
    todo = list(rules)
    while todo:
        name = todo.pop()
        if name not in found and _holds(rules[name], found, of_symbol):
            found.add(name)
            todo.extend(callers.get(name, ()))
    return found


def components(rules: dict[str, Expression]) -> Iterator[list[str]]:
    """Yield the rules that call one another as groups, those they call before them (Tarjan 1972), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    for root, body in rules.items():
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(sorted(called(body))))]
        while work:
            name, callees = work[-1]
            callee = next(callees, None)
            if callee is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    at = stack.index(name)
                    yield stack[at:]
                    del stack[at:]
            elif callee not in index:
                index[callee] = low[callee] = len(index)
                stack.append(callee)
                work.append((callee, iter(sorted(called(rules[callee])))))
            elif callee in stack:
                low[name] = min(low[name], index[callee])


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


def reachable(rules: Mapping[str, Expression], start: str) -> dict[str, Expression]:
    """Return the rules that the start calls, however far around, and itself."""
    kept: dict[str, Expression] = {}
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in kept and name in rules:
            kept[name] = rules[name]
            todo.extend(sorted(called(rules[name])))
    return kept


def left_recursive_groups(rules: dict[str, Expression], empty: AbstractSet[str]) -> list[list[str]]:
    """Return the groups of rules that call one another as the first of their symbols.

    Args:
        rules: All rules.
        empty: Those that may be empty.
    """
    return _cycles({name: _first(body, empty) for name, body in rules.items()})


def with_beginning(
    expression: Expression, known: Mapping[Expression, Expression], empty: AbstractSet[str]
) -> Expression:
    """Return an expression with some rules replaced where its texts may begin with them.

    Args:
        expression: Of a rule.
        known: The replacement of each of these rules.
        empty: The rules that may be empty.
    """
    if isinstance(expression, Alternatives):
        return alternatives(*(with_beginning(part, known, empty) for part in expression.parts))
    if isinstance(expression, TokenBound):
        return bounded(with_beginning(expression.inner, known, empty), expression.most, expression.name)
    if isinstance(expression, Repeat):
        first = with_beginning(expression.inner, known, empty)
        if _holds(expression.inner, empty, _is_empty_text):
            return repeat(first, expression.low, expression.high)
        high = None if expression.high is None else expression.high - 1
        some = sequence(first, repeat(expression.inner, max(expression.low - 1, 0), high))
        return some if expression.low else alternatives(EMPTY_TEXT, some)
    if not isinstance(expression, Sequence):
        return known.get(expression, expression)
    parts = list(expression.parts)
    for at, part in enumerate(parts):
        parts[at] = with_beginning(part, known, empty)
        if not _holds(part, empty, _is_empty_text):
            break
    return sequence(*parts)


def _in_cycles(calls: dict[str, frozenset[str]]) -> set[str]:
    """Return the names that lead to themselves."""
    return {name for group in _cycles(calls) for name in group}


def _cycles(calls: dict[str, frozenset[str]]) -> list[list[str]]:
    """Return the groups of names that lead to one another, and to themselves."""
    graph: dict[str, Expression] = {
        name: Sequence(tuple(Rule(callee) for callee in sorted(callees) if callee in calls))
        for name, callees in calls.items()
    }
    return [group for group in components(graph) if len(group) > 1 or group[0] in calls[group[0]]]


def _first(expression: Expression, empty: AbstractSet[str] | None) -> frozenset[str]:
    """Return the rules that an expression may begin with, passing over rules that may be empty.

    Args:
        expression: Of a rule.
        empty: The rules that may be empty, or None to pass over none.
    """
    if isinstance(expression, Rule):
        return frozenset((expression.name,))
    if isinstance(expression, Repeat | TokenBound):
        return _first(expression.inner, empty)
    if isinstance(expression, Alternatives):
        return frozenset().union(*(_first(part, empty) for part in expression.parts))
    found: frozenset[str] = frozenset()
    for part in expression.parts if isinstance(expression, Sequence) else ():
        found |= _first(part, empty)
        if empty is None or not _holds(part, empty, _is_empty_text):
            break
    return found


def simplified(grammar: ContextFreeGrammar) -> ContextFreeGrammar:
    """Return a grammar of the same texts whose rules all derive some text, are called, and are not fixed texts.

    The start rule stays, with the body NOTHING if it derives no text at all.
    """
    rules = live_rules(grammar.rules)
    if grammar.start not in rules:
        return ContextFreeGrammar(grammar.start, {grammar.start: NOTHING})
    known: dict[Expression, Expression] = {}
    written: set[str] = set()
    room = MAX_WRITTEN_OUT
    for group in components(rules):
        for name in group:
            if written.isdisjoint(called(rules[name])):
                continue
            size = _size_with(rules[name], known)
            if size <= room:
                rules[name] = substituted(rules[name], known)
                room -= size
        if len(group) == 1 and group[0] not in called(rules[group[0]]) and _is_small(rules[group[0]]):
            known[Rule(group[0])] = rules[group[0]]
            written.add(group[0])
    return replace(grammar, rules=reachable(rules, grammar.start))


def _size_with(body: Expression, known: dict[Expression, Expression]) -> int:
    """Return how many operators the texts take that are written out in a body."""
    if isinstance(body, Rule):
        text = known.get(body)
        return size_of(text.regex)[0] if isinstance(text, Text) else 0
    if isinstance(body, Repeat | TokenBound):
        return _size_with(body.inner, known)
    return sum(_size_with(part, known) for part in body.parts) if isinstance(body, Sequence | Alternatives) else 0


def _is_small(body: Expression) -> bool:
    """Whether a body is written out where its rule is called: texts, single symbols and nothing at all."""
    if isinstance(body, Text):
        size, height = size_of(body.regex)
        return size <= MAX_SIZE and height <= MAX_HEIGHT
    return isinstance(body, Rule | Terminal | Guest | Token) or body in (EMPTY_TEXT, NOTHING)
