"""Grammars made of several specs: the rules of one are taken over under names that are still free.

A grammar without lexer is read character by character wherever it stands, so its rules can stand among others. One with a
lexer, and JSON, keeps an automaton of its own (`Guest`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    Alternatives,
    ContextFreeGrammar,
    Repeat,
    Rule,
    Sequence,
    substituted,
)
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.embedded import given_spec
from schemagen.grammar.languages import expression_of
from schemagen.grammar.reading import understood

if TYPE_CHECKING:
    from schemagen.context_free.syntax import Expression, Token


class Assembly:
    """Rules that are put together.

    Attributes:
        rules: The bodies so far.
        left_out: Tokens that no text has.
    """

    def __init__(self) -> None:
        self.rules: dict[str, Expression] = {}
        self.left_out: list[Token] = []
        self._taken_over: dict[ContextFree[Any], Expression] = {}

    def expression(self, spec: Any) -> Expression:
        """Return the texts of a spec as an expression over these rules.

        Args:
            spec: As for `schemagen.compile`.

        Raises:
            SchemagenError: As `schemagen.compile` raises for a value that is not a spec, and for a grammar that cannot be read.
        """
        spec = understood(given_spec(spec))
        if not isinstance(spec, ContextFree):
            return expression_of(spec)
        if spec not in self._taken_over:
            grammar = spec.rules()
            self._taken_over[spec] = self.taken_over(grammar) if has_no_lexer(grammar) else expression_of(spec)
        return self._taken_over[spec]

    def taken_over(self, grammar: ContextFreeGrammar) -> Expression:
        """Take over the rules of a grammar without lexer, and return the call of its start."""
        self.left_out += grammar.left_out
        names = {name: self.new_rule(name) for name in grammar.rules}
        calls: dict[Expression, Expression] = {Rule(name): new for name, new in names.items()}
        for name, body in grammar.rules.items():
            self.rules[names[name].name] = substituted(body, calls)
        return names[grammar.start]

    def new_rule(self, name: str) -> Rule:
        """Return the call of a new rule, whose body is still to be given."""
        rule = Rule(self.free_name(name))
        self.rules[rule.name] = EMPTY_TEXT  # taken, so that no other rule has this name
        return rule

    def shared(self, body: Expression, name: str) -> Expression:
        """Return an expression for use in several places: a text itself, or the call of a new rule."""
        if not isinstance(body, Sequence | Alternatives | Repeat) or body == EMPTY_TEXT:
            return body
        rule = self.new_rule(name)
        self.rules[rule.name] = body
        return rule

    def free_name(self, name: str) -> str:
        """Return a name for a rule that none has yet."""
        if name not in self.rules:
            return name
        number = 2
        while f"{name} {number}" in self.rules:
            number += 1
        return f"{name} {number}"

    def grammar(self, body: Expression, start: str = "root") -> ContextFreeGrammar:
        """Return the grammar of an expression over these rules."""
        start = self.free_name(start)
        return ContextFreeGrammar(start, {start: body, **self.rules}, left_out=tuple(self.left_out))


def has_no_lexer(grammar: ContextFreeGrammar) -> bool:
    """Whether a grammar is read character by character."""
    return not grammar.terminals and not grammar.ignored and grammar.tables is None and grammar.indentation is None
