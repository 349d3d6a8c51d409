"""The contents of the holes of a template: their texts, the value of each, and how a prompt shows it.

Types whose values are strings are written without quotes, as they are; a plain ``str`` is one line in which the fixed text that
follows does not occur. Values of other types are JSON. Patterns, choices and other specs are written as they are anywhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from schemagen.arguments import kind_of
from schemagen.context_free.syntax import Guest, Text
from schemagen.engine.options import Options
from schemagen.errors import OptionError, OptionTypeError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.embedded import frozen_spec, given_spec
from schemagen.grammar.languages import expression_of, pattern_of, regex_of
from schemagen.grammar.reading import read_source, styled, target_of, understood
from schemagen.grammar.refusals import parsed, validated
from schemagen.grammar.specs import Choice, Regex
from schemagen.regex import ast
from schemagen.regex.wildcards import paragraph_text, text_before, text_without
from schemagen.schema.ir import ANY_STRINGS, StringDisjunct, ValueSet
from schemagen.schema.scalars import string_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.context_free.syntax import Expression


class Filled(SimpleNamespace):
    """The values of the holes of a template, as attributes; ``vars(filled)`` has them as a dict."""


@dataclass(frozen=True, slots=True)
class gen:  # noqa: N801 - the name that Guidance made common
    r"""Free text in the hole of a template, line breaks included: up to the fixed text after the hole.

    ``Template("Notes: {notes}\n---\n{rest}", notes=gen(), rest=gen(stop="END"))``.

    Args:
        stop: What does not occur in it: a text, or several.
        regex: A pattern for the whole of it; None for any text. It may then hold the fixed text that follows.

    Raises:
        OptionTypeError: An argument is no text.
        OptionError: ``stop`` is empty, or stands beside ``regex``.
    """

    stop: str | Sequence[str] = ()
    regex: str | None = None

    def __post_init__(self) -> None:
        """Refuse a value that is not text at once."""
        given: Any = self.stop
        stops = tuple(given) if isinstance(given, list | tuple) else (given,)
        if wrong := [each for each in stops if not isinstance(each, str)]:
            raise OptionTypeError(
                f"stop={wrong[0]!r:.80}", why=f"it is {kind_of(wrong[0])}", fix="give a text, or several"
            )
        object.__setattr__(self, "stop", stops)
        if "" in self.stop:
            raise OptionError("stop='' is everywhere", why="so no text could come before it", fix="leave it out")
        if self.regex is not None and not isinstance(self.regex, str):
            raise OptionTypeError(f"regex={self.regex!r:.80}", why=f"it is {kind_of(self.regex)}", fix="give a str")
        if self.regex is not None and self.stop:
            raise OptionError(
                "gen(stop=..., regex=...)", why="the pattern says where the text ends", fix="give one of them"
            )


@dataclass(frozen=True, slots=True)
class Scalar:
    """A hole that is not taken apart.

    Attributes:
        spec: The spec of its texts, frozen.
        value_set: The values of a schema; None for other specs.
    """

    spec: Any
    value_set: ValueSet | None = field(default=None, compare=False)

    @property
    def is_raw(self) -> bool:
        """Whether its values are strings, which are written as they are."""
        value = self.value_set
        return value is not None and bool(value.strings) and value == ValueSet(strings=value.strings)

    @property
    def is_grammar(self) -> bool:
        """Whether it is a grammar or a kind of text."""
        return isinstance(self.spec, ContextFree)

    def expression(self, after: frozenset[str]) -> Expression:
        """Return its texts.

        Args:
            after: The fixed texts that may come after the hole.
        """
        if isinstance(self.spec, gen):
            return Text(_free(self.spec, after))
        if self.value_set is None:
            return expression_of(self.spec)
        if self.is_raw:
            return Text(ast.union(*(_raw(each, after) for each in self.value_set.strings)))
        if self.value_set.arrays or self.value_set.objects:
            return Guest(self.spec)
        return Text(regex_of(self.spec))

    def read(self, text: str) -> Any:
        """Return the value of one of its texts.

        Raises:
            ValidationFailed: A validator refuses it.
        """
        spec = given_spec(self.spec)
        if isinstance(spec, gen | Regex):
            return text
        if isinstance(spec, Choice | ContextFree):
            return spec.value_of(text)
        target = target_of(spec)
        return parsed(self.written(text)) if target is None else validated(target, self.written(text))

    def written(self, text: str) -> str:
        """Return one of its texts as JSON, of a schema."""
        return json.dumps(text) if self.is_raw else text

    def shown(self) -> str:
        """Return what a prompt says of it."""
        spec = given_spec(self.spec)
        if isinstance(spec, gen):
            return "text" if spec.regex is None else f"/{spec.regex}/"
        if isinstance(spec, Regex):
            return f"/{spec.pattern}/"
        if isinstance(spec, Choice):
            return " | ".join(spec.options)
        if isinstance(spec, ContextFree):
            return spec.shown()
        target = target_of(spec)
        return "JSON" if target is None else target.name


def hole_of(spec: Any) -> Scalar:
    """Return the contents of a hole.

    Args:
        spec: As for `schemagen.compile`, or a `gen`.

    Raises:
        SchemagenError: As `schemagen.compile`.
    """
    if isinstance(spec, gen):
        if spec.regex is not None:
            pattern_of(Regex(spec.regex))  # what cannot be read is refused here
        return Scalar(spec)
    if spec is gen:
        raise OptionTypeError("a hole that takes gen", why="it is a class", fix="write gen()")
    spec = understood(spec)
    if isinstance(spec, Regex | Choice | ContextFree):
        return Scalar(spec)
    target = target_of(spec)
    arguments = {"strict": True, "resources": None}
    normaliser = read_source(spec if target is None else target.schema, arguments, target).normaliser(
        styled(Options(), target)
    )
    return Scalar(frozen_spec(spec), normaliser.value(normaliser.root))


def _free(spec: gen, after: frozenset[str]) -> ast.Regex:
    if spec.regex is not None:
        return pattern_of(Regex(spec.regex))
    return ast.conjunction(ast.ANY_STRING, text_without(spec.stop), *map(text_before, sorted(after)))


def _raw(disjunct: StringDisjunct, after: frozenset[str]) -> ast.Regex:
    """Return strings as they are: those of which nothing is known but their length end where fixed text follows."""
    language = string_pattern(disjunct)
    is_any = disjunct.values is None and disjunct.pattern == ANY_STRINGS.pattern and not disjunct.formats
    if not is_any:
        return language
    return ast.conjunction(language, ast.optional(paragraph_text()), *map(text_before, sorted(after)))
