"""`TextGroup`: what the specs of this package have in common, and other specs as parts of them."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.checks import kind_of
from schemagen.context_free.syntax import ContextFreeGrammar, Text, counts_tokens
from schemagen.errors import OptionTypeError, UnsupportedGrammarError, ValidationFailed
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import expression_of
from schemagen.grammar.reading import described_json, understood
from schemagen.grammar.specs import Choice, Regex, frozen_spec, given_spec
from schemagen.regex import matches

if TYPE_CHECKING:
    from schemagen.context_free.syntax import Expression
    from schemagen.regex import ast

T_co = TypeVar("T_co", covariant=True)


class TextGroup(ContextFree[T_co]):
    """A kind of text: a spec by itself, and a part of others."""

    instruction = "Answer only with this:"

    @abstractmethod
    def expression(self) -> Expression:
        """Return the texts as an expression of a grammar."""

    def rules(self) -> ContextFreeGrammar:
        """Return the rules that the spec is read as; see `ContextFree.rules`."""
        return ContextFreeGrammar("text", {"text": self.expression()})


class Wildcard(TextGroup[str]):
    """A kind of text that an expression describes; the value is a text."""

    @abstractmethod
    def language(self) -> ast.Regex:
        """Return the texts."""

    def expression(self) -> Expression:
        """Return the texts as an expression of a grammar."""
        return Text(self.language())

    def value_of(self, text: str) -> str:
        """Return the text.

        Raises:
            ValidationFailed: It is none of this kind.
        """
        if not matches(self.language(), text):
            raise no_text_of(self, text)
        return text


def no_text_of(spec: TextGroup[Any], text: str) -> ValidationFailed:
    """Return the error of a text that is not of some kind."""
    return ValidationFailed(
        f"{text!r:.80} is no text of {spec!r:.80}", text=text, fix="validate a text of this grammar"
    )


def as_part(spec: Any) -> Any:
    """Return a spec as it is kept within another: frozen.

    Raises:
        OptionTypeError: It is a text, which could mean a pattern or itself.
        UnsupportedGrammarError: It counts tokens.
        SchemagenError: It is no spec.
    """
    if isinstance(spec, str):
        raise OptionTypeError(
            f"the item {spec!r:.80} is {kind_of(spec)}",
            why="an item is a spec",
            fix="give Regex(text) for a pattern, Choice(text) for a fixed text, or a type",
        )
    spec = understood(spec)
    if isinstance(spec, ContextFree) and counts_tokens(spec.rules()):
        raise UnsupportedGrammarError(
            f"{spec!r:.80} as an item",
            why="items are cut out of the text, which does not say where tokens end",
            fix="repeat a Template that has it: Template(...).many()",
        )
    return frozen_spec(spec)


def part_expression(spec: Any) -> Expression:
    """Return a frozen spec as an expression: text groups are written out, so that they need no automaton of their own."""
    return spec.expression() if isinstance(spec, TextGroup) else expression_of(spec)


def described(spec: Any) -> str:
    """Return in words what the texts of a frozen spec are."""
    if isinstance(spec, TextGroup):
        return spec.shown()
    if isinstance(spec, Choice):
        return " | ".join(json.dumps(option, ensure_ascii=False) for option in spec.options)
    if isinstance(spec, Regex):
        return f"a text that matches as a whole the pattern {spec.pattern}"
    if isinstance(spec, ContextFree):
        return f"a text that this grammar derives: {spec.shown()}"
    return described_json(given_spec(spec))
