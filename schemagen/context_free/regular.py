"""The languages of rules without recursion, or with recursion at their end alone: the operands of a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.syntax import Alternatives, Expression, Repeat, Rule, Sequence, Text
from schemagen.context_free.texts import MAX_HEIGHT, MAX_SIZE, size_of
from schemagen.errors import LimitError
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence as Several


class RecursiveRuleError(Exception):
    """A rule that calls itself, however far around, and not just at its end.

    Attributes:
        name: The rule.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class RegularRules:
    """The languages of rules.

    Args:
        rules: Their bodies.
        differences: Rules whose texts are those of the one expression that are none of the other.
    """

    def __init__(self, rules: Mapping[str, Expression], differences: Mapping[str, Several[Expression]]) -> None:
        self._rules = rules
        self._differences = differences
        self._known: dict[str, ast.Regex | None] = {}

    def rule(self, name: str) -> ast.Regex:
        """Return the language of a rule.

        Raises:
            RecursiveRuleError: It calls itself.
            LimitError: It is too large to be written out.
        """
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._checked(name, self._language(name))
        known = self._known[name]
        if known is None:
            raise RecursiveRuleError(name)
        return known

    def _language(self, name: str) -> ast.Regex:
        if name not in self._differences:
            return self._of_rule(name)
        left, right = map(self._of, self._differences[name])
        if isinstance(left, ast.Chars) and isinstance(right, ast.Chars):
            return ast.Chars(ast.intersect_ranges(left.ranges, ast.invert_ranges(right.ranges)))
        return ast.conjunction(left, ast.complement(right))

    def _of_rule(self, name: str) -> ast.Regex:
        """Return the language of a body that may end with a call of its own rule: the part before the call is a loop."""
        body, call = self._rules[name], Rule(name)
        ways = body.parts if isinstance(body, Alternatives) else (body,)
        again = [way.parts[:-1] for way in ways if isinstance(way, Sequence) and way.parts[-1] == call]
        if not again:
            return self._of(body)
        ends = [self._of(way) for way in ways if not (isinstance(way, Sequence) and way.parts[-1] == call)]
        return ast.concat(
            ast.star(ast.union(*(ast.concat(*map(self._of, parts)) for parts in again))), ast.union(*ends)
        )

    def _checked(self, name: str, regex: ast.Regex) -> ast.Regex:
        size, height = size_of(regex)
        if size > MAX_SIZE or height > MAX_HEIGHT:
            raise LimitError(
                f"the texts of the rule {name!r} take {size:,} operators, {height} deep, limit {MAX_SIZE:,} and {MAX_HEIGHT}",
                why="both sides of a difference are written out",
                fix="take texts away from a smaller rule",
            )
        return regex

    def _of(self, expression: Expression) -> ast.Regex:
        if isinstance(expression, Text):
            return expression.regex
        if isinstance(expression, Rule):
            return self.rule(expression.name)
        if isinstance(expression, Sequence):
            return ast.concat(*map(self._of, expression.parts))
        if isinstance(expression, Alternatives):
            return ast.union(*map(self._of, expression.parts))
        if isinstance(expression, Repeat):
            return ast.repeat(self._of(expression.inner), expression.low, expression.high)
        raise RecursiveRuleError(getattr(expression, "name", "an embedded grammar"))
