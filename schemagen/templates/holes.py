"""The text of a template and its holes: their texts, the value of each, and how a prompt shows it.

The text is a str with holes in braces, as `str.format` has them, or a t-string.

Types whose values are strings are written without quotes, as they are; a plain ``str`` is one line in which the fixed text that
follows does not occur. Values of other types are JSON. Patterns, choices and other specs are written as they are anywhere.
"""

from __future__ import annotations

import json
import string
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.checks import kind_of
from schemagen.context_free.syntax import Guest, Text
from schemagen.engine.options import Options
from schemagen.errors import OptionError, OptionTypeError, SchemaError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import expression_of, pattern_of, regex_of
from schemagen.grammar.reading import read_source, styled, target_of, understood
from schemagen.grammar.refusals import parsed, validated
from schemagen.grammar.specs import Choice, Regex, frozen_spec, given_spec
from schemagen.grammar.written import AsJson
from schemagen.regex import ast
from schemagen.regex.wildcards import paragraph_text, text_before, text_without
from schemagen.schema.ir import ANY_STRINGS, StringDisjunct, ValueSet
from schemagen.schema.scalars import string_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    def example(self) -> str | None:
        """Return an example of its texts, which the fixed text after the hole may forbid; None if none is made."""
        if isinstance(self.spec, Choice):
            return self.spec.options[0]
        try:
            found = None if self.value_set is None else AsJson(self.spec).example()
        except SchemaError:
            return None
        return json.loads(found) if found is not None and self.is_raw else found

    def shown(self, render: Callable[[Any], str] | None = None) -> str:
        """Return what a prompt says of it.

        Args:
            render: Writes a schema. Without it, the hole is shown by the name of its type.
        """
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
        if render is not None:
            return render(spec if target is None else target.schema)
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


#: What a hole may say of itself after a colon.
WORDS: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "text": gen()}


class Piece(NamedTuple):
    """Fixed text and the hole after it.

    Attributes:
        text: The fixed text.
        hole: The name of the hole; after the last text there is none.
        spec: What the hole says it takes.
    """

    text: str
    hole: str | None = None
    spec: Any = None


def pieces_of(template: Any) -> list[Piece]:
    """Return what a template consists of; the last piece has no hole, all others have one.

    Args:
        template: A str, or a t-string (PEP 750), whose interpolations are specs with the names of holes as formats.

    Raises:
        OptionError: The braces do not match, a hole has no name, the name of another one, or an unknown word for a type, or
            fixed text is not UTF-8.
        OptionTypeError: It is no text.
    """
    if isinstance(template, str):
        pieces = _of_str(template)
    elif hasattr(template, "interpolations") and hasattr(template, "strings"):
        pieces = _of_t_string(template)
    else:
        raise OptionTypeError(
            f"the text of a Template is {kind_of(template)}",
            why="a template is a str, or a t-string",
            fix='write Template("Name: {name}", name=str)',
        )
    seen: set[str] = set()
    for text, name, _ in pieces:
        check_fixed(text)
        if name is None:
            continue
        if not name.isidentifier() or name.startswith("__"):
            raise OptionError(
                f"the hole {{{name}}} of a template",
                why="a hole has a name, which becomes an attribute of the value",
                fix="write {name}, and {{ for a brace that is text",
            )
        if name in seen:
            raise OptionError(
                f"two holes with the name {name!r}",
                why="two texts that are the same are no context-free language",
                fix="give each hole a name of its own",
            )
        seen.add(name)
    return pieces


def check_fixed(text: str) -> None:
    """Refuse fixed text that no model can write.

    Raises:
        OptionError: It has a lone surrogate, which UTF-8 does not have.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the fixed text {text!r:.80} has half a surrogate pair",
            why="UTF-8 has no bytes for it, and texts are UTF-8",
            fix="write the whole character",
        ) from error


def shown_text(pieces: list[Piece], shown: dict[str, str]) -> str:
    """Return a template with what its holes take in their places."""
    return "".join(text + ("" if name is None else f"{{{name}: {shown[name]}}}") for text, name, _ in pieces)


def _of_str(text: str) -> list[Piece]:
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        raise OptionError(
            f"the template {text!r:.80} cannot be read: {error}",
            why="holes are written as {name}",
            fix="write {{ and }} for braces that are text",
        ) from error
    found: list[Piece] = []
    before = ""
    for fixed, name, word, conversion in parsed:
        before += fixed
        if name is None:
            continue
        if conversion is not None:
            raise OptionError(f"{{{name}!{conversion}}}", why="nothing is converted", fix=f"write {{{name}}}")
        found.append(Piece(before, name, _spec_of(word or "", name)))
        before = ""
    return [*found, Piece(before)]


def _spec_of(word: str, name: str) -> Any:
    if word and word not in WORDS:
        raise OptionError(
            f"{{{name}:{word}}}",
            why=f"{word!r:.40} is none of {', '.join(WORDS)}",
            fix=f"write {{{name}}}, and give its type: Template(..., {name}=...)",
        )
    return WORDS.get(word)


def _of_t_string(template: Any) -> list[Piece]:
    given = list(template.interpolations)
    found = [
        Piece(text, each.format_spec or each.expression.strip(), each.value)
        for text, each in zip(template.strings, given, strict=False)
    ]
    return [*found, Piece(template.strings[-1])]
