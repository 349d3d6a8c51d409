"""Specs inside of grammars: what a terminal of a grammar is bound to, as an expression of the grammar.

`expression_of` is the only place that knows how. Every spec is a regular language here: a pattern, choices, a grammar or JSON
without recursion. One that needs a stack of its own is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import Expression, Text
from schemagen.errors import InvalidSchemaError, LimitError, UnsupportedGrammarError, UnsupportedSchemaError

if TYPE_CHECKING:
    from schemagen.regex import ast


@dataclass(frozen=True)
class JsonSchema:
    """A JSON Schema that nobody can change.

    Attributes:
        text: The schema, written as JSON.
    """

    text: str

    def __repr__(self) -> str:
        """Return the schema."""
        return self.text


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
    """Return the texts of a spec as an expression of a grammar; JSON in the layout "flexible".

    Args:
        spec: As for `schemagen.compile`, or a `JsonSchema`.

    Raises:
        UnsupportedGrammarError: It is recursive, or does not have a regular language for another reason.
        SchemagenError: As `schemagen.compile` does.
    """
    return Text(regex_of(spec))


def regex_of(spec: Any) -> ast.Regex:
    """Return the texts of a spec as a regular expression; raises as `expression_of` does."""
    from schemagen.grammar.compiler import language_of

    given = json.loads(spec.text) if isinstance(spec, JsonSchema) else spec
    try:
        return language_of(given)
    except (UnsupportedSchemaError, UnsupportedGrammarError) as error:
        raise UnsupportedGrammarError(
            f"{spec!r:.80} cannot stand for a terminal: {error.fact}",
            why="what is bound to a terminal is read without a stack of its own",
            fix="bind a pattern, choices, or a type without recursion whose keys are all declared",
        ) from error
    except RecursionError:
        raise LimitError(
            f"{spec!r:.80} is too large to stand for a terminal", fix="lower the bounds of numbers, lengths and counts"
        ) from None
