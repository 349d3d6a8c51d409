"""Grammars made smaller before they are compiled: rules that derive nothing are dropped, regular ones become one terminal.

A rule that does not call itself, however far around, has a regular language if all that it calls has: its body is written out
where it is called. That makes grammars that are read character by character (GBNF, EBNF) fast: the parser sees whole
numbers and strings, not digits. A grammar without recursion becomes a single regular expression, unless that would be large
(``a ::= b b``, ``b ::= c c``, ...) or deep: a rule may always stay one.

Only texts that no lexer delimits are joined (`Text`): where a lexer takes the longest match, two terminals cannot become one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    NOTHING,
    Alternatives,
    ContextFreeGrammar,
    Expression,
    Guest,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    Text,
    Token,
    substituted,
)
from schemagen.context_free.texts import MAX_HEIGHT, MAX_SIZE, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Operators that all rules together get from the texts that are written out in them. Beyond it rules stay rules.
MAX_WRITTEN_OUT = 500_000


@lru_cache(maxsize=4096)
def called(expression: Expression) -> frozenset[str]:
    """Return the names of the rules in an expression."""
    if isinstance(expression, Rule):
        return frozenset((expression.name,))
    if isinstance(expression, Repeat):
        return called(expression.inner)
    if isinstance(expression, Sequence | Alternatives):
        return frozenset().union(*map(called, expression.parts))
    return frozenset()


def productive(rules: dict[str, Expression]) -> set[str]:
    """Return the rules that derive some text."""
    found: set[str] = set()

    def derives(expression: Expression) -> bool:
        if isinstance(expression, Rule):
            return expression.name in found
        if isinstance(expression, Sequence):
            return all(map(derives, expression.parts))
        if isinstance(expression, Alternatives):
            return any(map(derives, expression.parts))
        return not isinstance(expression, Repeat) or expression.low == 0 or derives(expression.inner)

    callers: dict[str, list[str]] = {}
    for name, body in rules.items():
        for callee in called(body):
            callers.setdefault(callee, []).append(name)
    todo = list(rules)
    while todo:
        name = todo.pop()
        if name not in found and derives(rules[name]):
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


def simplified(grammar: ContextFreeGrammar) -> ContextFreeGrammar:
    """Return a grammar of the same texts whose rules all derive some text, are called, and are not fixed texts.

    The start rule stays, with the body NOTHING if it derives no text at all.
    """
    alive = productive(grammar.rules)
    dead: dict[Expression, Expression] = dict.fromkeys(map(Rule, set(grammar.rules) - alive), NOTHING)
    rules = {name: body for name, body in grammar.rules.items() if name in alive}
    if dead:
        rules = {name: substituted(body, dead) for name, body in rules.items()}
    if grammar.start not in alive:
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
    kept: dict[str, Expression] = {}
    todo = [grammar.start]
    while todo:
        name = todo.pop()
        if name not in kept:
            kept[name] = rules[name]
            todo.extend(sorted(called(rules[name])))
    return replace(grammar, rules=kept)


def _size_with(body: Expression, known: dict[Expression, Expression]) -> int:
    """Return how many operators the texts take that are written out in a body."""
    if isinstance(body, Rule):
        text = known.get(body)
        return size_of(text.regex)[0] if isinstance(text, Text) else 0
    if isinstance(body, Repeat):
        return _size_with(body.inner, known)
    return sum(_size_with(part, known) for part in body.parts) if isinstance(body, Sequence | Alternatives) else 0


def _is_small(body: Expression) -> bool:
    """Whether a body is written out where its rule is called: texts, single symbols and nothing at all."""
    if isinstance(body, Text):
        size, height = size_of(body.regex)
        return size <= MAX_SIZE and height <= MAX_HEIGHT
    return isinstance(body, Rule | Terminal | Guest | Token) or body in (EMPTY_TEXT, NOTHING)
