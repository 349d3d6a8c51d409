"""The languages of rules that are regular, written out as one expression each.

Rules that call each other only at their ends are linear equations over languages, ``X = A X | B``, whose solution is
``A* B``: they are eliminated one after the other, as Gauss does with numbers. If all calls come first and not last, the same
holds the other way round. A rule with other recursion is refused, even where its language happens to be regular.

Source: Arden 1961, whose rule this is; the elimination is that of McNaughton & Yamada 1960.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from schemagen.context_free.regular import MAX_HEIGHT, MAX_SIZE, SOME_TEXT, size_of
from schemagen.context_free.simplify import called, components, reachable
from schemagen.context_free.syntax import (
    Alternatives,
    Expression,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    Text,
    Token,
    TokenRun,
)
from schemagen.errors import LimitError, UnsatisfiableSchemaError
from schemagen.regex import ast
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.context_free.scanner import Scanner

#: The language beside each call at the end of an expression, by the name of the rule; the texts without a call by "".
_Row = dict[str, ast.Regex]


def shortest(language: ast.Regex) -> ast.Regex:
    """Return the texts of a language that begin with no other one."""
    return ast.conjunction(language, ast.complement(ast.concat(language, SOME_TEXT)))


def at_most(language: ast.Regex, most: int) -> ast.Regex:
    """Return the texts of a language that have at most so many characters."""
    return ast.conjunction(language, ast.repeat(ast.ANY_CHAR, 0, most))


def difference(left: ast.Regex, right: ast.Regex) -> ast.Regex:
    """Return the texts of a language except those of another."""
    if isinstance(left, ast.Chars) and isinstance(right, ast.Chars):
        return ast.Chars(ast.intersect_ranges(left.ranges, ast.invert_ranges(right.ranges)))
    return ast.conjunction(left, ast.complement(right))


def no_short_text(scanner: Scanner, name: str, most: int, at: int) -> UnsatisfiableSchemaError:
    """Return the error of a rule whose texts are all longer than its bound."""
    return UnsatisfiableSchemaError(
        f"the rule {name!r} has no text of at most {most} characters",
        at=scanner.where(at),
        why="max_chars= is a bound that no text exceeds",
        fix="raise it, or write shorter alternatives",
    )


class NotRegularError(Exception):
    """A rule that calls itself between other symbols, however far around, or has symbols without a regular language.

    Attributes:
        why: The reason, in words.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Derived(NamedTuple):
    """A rule whose texts are not those of a body.

    Attributes:
        parts: Expressions.
        language: Returns its language, given those of the parts.
    """

    parts: tuple[Expression, ...]
    language: Callable[..., ast.Regex]


class RegularRules:
    """The languages of rules.

    Args:
        rules: Their bodies.
        derived: The rules among them whose texts are not those of their bodies.
        terminals: The languages of terminals, by name.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        derived: Mapping[str, Derived],
        terminals: Mapping[str, ast.Regex] | None = None,
    ) -> None:
        self._calls = {name: Sequence(derived[name].parts) if name in derived else rules[name] for name in rules}
        self._derived = derived
        self._terminals = terminals or {}
        self._known: dict[str, ast.Regex] = {}

    def rule(self, name: str) -> ast.Regex:
        """Return the language of a rule.

        Raises:
            NotRegularError: It calls itself elsewhere than at its end or at its beginning.
            LimitError: It is too large to be written out.

        Cost: cubic in the rules that call each other, at worst.
        """
        if name not in self._known:
            for group in components(reachable(self._calls, name)):
                if group[0] not in self._known:
                    self._solve(group)
        return self._known[name]

    def _solve(self, group: list[str]) -> None:
        """Find the languages of rules that call each other; those that they call besides are known."""
        first = group[0]
        if len(group) == 1 and first not in called(self._calls[first]):
            if first in self._derived:
                parts, language = self._derived[first]
                found = {first: language(*map(self._of, parts))}
            else:
                found = {first: self._of(self._calls[first])}
        elif not self._derived.keys().isdisjoint(group):
            raise _recursive(next((name for name in group if name not in self._derived), first))
        else:
            found = self._linear(frozenset(group), at_end=True) or self._linear(frozenset(group), at_end=False)
            if not found:
                raise _recursive(first)
        for name, regex in found.items():
            self._known[name] = _checked(name, regex)

    def _linear(self, group: frozenset[str], *, at_end: bool) -> _Row:
        """Return the languages of rules that call each other only at one end, the last one or the first; none of others."""
        rows: dict[str, _Row] = {}
        for name in sorted(group):
            row = self._row(self._calls[name], group, at_end=at_end)
            if row is None:
                return {}
            rows[name] = row
        return _solved(rows, at_end=at_end)

    def _row(self, expression: Expression, group: frozenset[str], *, at_end: bool) -> _Row | None:
        """Return an expression as an equation; None if it is none, for it calls the rules elsewhere."""
        if group.isdisjoint(called(expression)):
            return {"": self._of(expression)}
        if isinstance(expression, Rule):
            return {expression.name: ast.EPSILON}
        if isinstance(expression, Alternatives):
            rows = [self._row(part, group, at_end=at_end) for part in expression.parts]
            known = [row for row in rows if row is not None]
            return _merged(*known) if len(known) == len(rows) else None
        if isinstance(expression, Sequence):
            *others, last = expression.parts if at_end else expression.parts[::-1]
            if any(not group.isdisjoint(called(part)) for part in others):
                return None
            row = self._row(last, group, at_end=at_end)
            beside = ast.concat(*map(self._of, others if at_end else others[::-1]))
            return None if row is None else _times(beside, row, at_end=at_end)
        if isinstance(expression, Repeat) and expression.high == 1:
            row = self._row(expression.inner, group, at_end=at_end)
            return None if row is None else _merged(row, {"": ast.EPSILON})
        return None

    def _of(self, expression: Expression) -> ast.Regex:
        if isinstance(expression, Text):
            return expression.regex
        if isinstance(expression, Rule):
            return self._known[expression.name]
        if isinstance(expression, Sequence):
            return ast.concat(*map(self._of, expression.parts))
        if isinstance(expression, Alternatives):
            return ast.union(*map(self._of, expression.parts))
        if isinstance(expression, Repeat):
            return ast.repeat(self._of(expression.inner), expression.low, expression.high)
        if isinstance(expression, Terminal) and expression.name in self._terminals:
            return self._terminals[expression.name]
        if isinstance(expression, Token | TokenRun):
            raise NotRegularError("a token of the vocabulary is not text")
        raise NotRegularError(f"{getattr(expression, 'name', '') or 'an embedded spec'} has an automaton of its own")


def _recursive(name: str) -> NotRegularError:
    return NotRegularError(
        f"the rule {name!r} calls itself between other symbols, which takes an automaton with a stack"
    )


def _solved(rows: dict[str, _Row], *, at_end: bool) -> _Row:
    """Return the languages of equations."""
    for name, row in rows.items():
        loop = row.pop(name, None)
        solved = row if loop is None else _times(ast.star(loop), row, at_end=at_end)
        rows[name] = solved
        for other in [each for each in rows if each != name]:
            poll()
            factor = rows[other].pop(name, None)
            if factor is not None:
                merged = _merged(rows[other], _times(factor, solved, at_end=at_end))
                rows[other] = {callee: _checked(other, regex) for callee, regex in merged.items()}
    return {name: row.get("", ast.EMPTY) for name, row in rows.items()}


def _times(regex: ast.Regex, row: _Row, *, at_end: bool) -> _Row:
    """Return an equation with one more language, before all that it has or after it."""
    return {name: ast.concat(regex, each) if at_end else ast.concat(each, regex) for name, each in row.items()}


def _merged(*rows: _Row) -> _Row:
    """Return the equation of alternatives."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: ast.union(*(row[name] for row in rows if name in row)) for name in names}


def _checked(name: str, regex: ast.Regex) -> ast.Regex:
    size, height = size_of(regex)
    if size > MAX_SIZE or height > MAX_HEIGHT:
        raise LimitError(
            f"the texts of the rule {name!r} take {size:,} operators, {height} deep, limit {MAX_SIZE:,} and {MAX_HEIGHT}",
            why="a rule that is lazy, bounded or a side of a difference is written out as one expression",
            fix="use a smaller rule",
        )
    return regex
