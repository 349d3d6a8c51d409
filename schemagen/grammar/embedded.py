"""Specs inside of grammars: what a terminal of a grammar is bound to, as an expression of the grammar.

Patterns and choices become a part of the grammar. JSON and other grammars have an automaton of their own (`Guest`): what is
compiled apart is read in the same way inside of a grammar.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import Guest, Text, guests_in, substituted
from schemagen.errors import InvalidSchemaError, LimitError, UnsupportedGrammarError, UnsupportedSchemaError
from schemagen.grammar.specs import Choice, Regex
from schemagen.regex import ast

#: Texts without whitespace at their two ends.
_SPACE = ast.char_set(" \t\n\r")
_NOT_SPACED = ast.conjunction(
    ast.complement(ast.concat(_SPACE, ast.ANY_STRING)), ast.complement(ast.concat(ast.ANY_STRING, _SPACE))
)

if TYPE_CHECKING:
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.engine.options import Options, PropertyOrder, WhitespacePolicy


@dataclass(frozen=True)
class JsonSchema:
    """An immutable JSON Schema, and how its texts are written, unless the compilation decides that.

    Attributes:
        text: The schema, written as JSON.
        whitespace: As for `schemagen.compile`; None if the compilation decides.
        property_order: The same.
        max_gap: Of whitespace "any": most characters in one place; None: what it is elsewhere.
        around: Of whitespace "any": whether it may also be before and after the whole text.
        place: A JSON pointer to the schema in its document, for errors.
    """

    text: str
    whitespace: WhitespacePolicy | None = None
    property_order: PropertyOrder | None = None
    max_gap: int | None = None
    around: bool = True
    place: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """Return the schema."""
        return self.text

    def written(self, options: Options) -> Options:
        """Return the options of a compilation, overridden by this schema's own."""
        return options._replace(
            whitespace=options.whitespace if self.whitespace is None else self.whitespace,
            property_order=options.property_order if self.property_order is None else self.property_order,
            max_gap=options.max_gap if self.max_gap is None else self.max_gap,
            around=self.around,
        )


def frozen_spec(spec: Any) -> Any:
    """Return a spec that can be compared and hashed: a JSON Schema as its text, a list of texts as a tuple.

    Raises:
        InvalidSchemaError: A dict is no JSON.
    """
    if isinstance(spec, list):
        return tuple(spec)
    if not isinstance(spec, dict | bool):
        return spec
    try:
        return JsonSchema(json.dumps(spec))
    except (TypeError, ValueError) as error:
        raise InvalidSchemaError(
            f"{spec!r:.80} is no JSON: {error}", fix="give a JSON Schema as a dict of plain values"
        ) from error


def expression_of(spec: Any) -> Expression:
    """Return the texts of a spec as an expression of a grammar.

    Args:
        spec: As for `schemagen.compile`.
    """
    from schemagen.grammar.compiler import understood

    spec = understood(given_spec(spec))
    return Text(regex_of(spec)) if isinstance(spec, Regex | Choice) else Guest(frozen_spec(spec))


def given_spec(spec: Any) -> Any:
    """Return a frozen spec as `schemagen.compile` takes it."""
    return json.loads(spec.text) if isinstance(spec, JsonSchema) else spec


def described_json(spec: Any) -> str:
    """Return what the JSON texts of a type or a JSON Schema are, as a prompt says it."""
    from schemagen.grammar.pipeline import target_of

    target = target_of(spec)
    return f"JSON of the schema {json.dumps(spec if target is None else target.schema, ensure_ascii=False)}"


def without_guests(grammar: ContextFreeGrammar) -> ContextFreeGrammar:
    """Return a grammar with regular expressions for what is embedded; JSON in its own layout, or in "flexible".

    Raises:
        UnsupportedGrammarError: Something embedded is no regular language.
    """
    known: dict[Expression, Expression] = {guest: Text(regex_of(guest.spec)) for guest in guests_in(grammar)}
    if not known:
        return grammar
    return replace(grammar, rules={name: substituted(body, known) for name, body in grammar.rules.items()})


def regex_of(spec: Any) -> ast.Regex:
    """Return the texts of a frozen spec as a regular expression.

    Raises:
        UnsupportedGrammarError: It is recursive, or does not have a regular language for another reason.
        SchemagenError: As `schemagen.compile` does.
    """
    from schemagen.grammar.compiler import language_of

    try:
        if isinstance(spec, JsonSchema) and spec.whitespace is not None:
            found = language_of(given_spec(spec), whitespace=spec.whitespace)
            return found if spec.around else ast.conjunction(found, _NOT_SPACED)
        return language_of(given_spec(spec))
    except (UnsupportedSchemaError, UnsupportedGrammarError) as error:
        raise UnsupportedGrammarError(
            f"{spec!r:.80} cannot stand for a terminal: {error.fact}",
            why="there is no regular expression for it",
            fix="compile the grammar as it is; Lark.parse needs a pattern, choices, or a type without recursion",
        ) from error
    except RecursionError:
        raise LimitError(
            f"{spec!r:.80} is too large to stand for a terminal", fix="lower the bounds of numbers, lengths and counts"
        ) from None
