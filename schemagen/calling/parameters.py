"""Arguments that are written one by one and not as one JSON object: in Python's syntax, or between tags.

    city="Paris", days=3, detailed=True              keyword arguments: JSON but for ``True``, ``False`` and ``None``
    <parameter=city>Paris</parameter>                tagged: strings as they are, other values as JSON

Arguments are in the order of the schema, each at most once. Keyword arguments are those of a constructor call, with dicts for
objects (`schemagen.writers.python`); values between tags are those of structural tags (`schemagen.structural_tags.parameters`).

Strings of keyword arguments are in double quotes with escapes that JSON and Python read alike.

A tagged string has no quotes and no escapes. It ends at the first end tag, so it can be any text without that tag; patterns,
lengths and enums apply to it as to a JSON string. If a schema takes strings and other values, a text that is one of the others
in JSON is that value, and any other text is a string: ``5`` is a number for ``int | str``. Whitespace around JSON is free, and
no string in it has the end tag. If the format puts a value on lines of its own, a line break at its beginning and one at its
end belong to the format, whether written or not.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.calling.free_text import MAX_WHITESPACE
from schemagen.context_free.syntax import NOTHING, Text, alternatives, literal, sequence
from schemagen.engine.options import Options
from schemagen.errors import ToolError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.reading import dialect_of, styled
from schemagen.grammar.specs import JsonSchema
from schemagen.regex import ast
from schemagen.regex.wildcards import text_before
from schemagen.schema.normalise import Normaliser
from schemagen.schema.to_regex import page_of
from schemagen.structural_tags.parameters import Parameters, kinds_of
from schemagen.types.reflection import is_type, reflect
from schemagen.writers.python import PythonWriter, is_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.schema.ir import ObjectDisjunct
    from schemagen.structural_tags.parameters import Style
    from schemagen.writers.walk import Member, RuleWriter

_JSON_NAMES = {"True": "true", "False": "false", "None": "null"}
_KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_KEY = re.compile(r"[^\s<>=]+")


@dataclass(frozen=True, eq=False)
class WrittenArguments(ContextFree[str]):
    """The texts of arguments that are no regular language.

    Attributes:
        grammar: Their rules.
        about: The name of the parameter or call that they belong to.
    """

    grammar: ContextFreeGrammar
    about: str

    instruction = "Answer only with the arguments of a call:"

    def rules(self) -> ContextFreeGrammar:
        """Return the rules."""
        return self.grammar

    def value_of(self, text: str) -> str:
        """Return the text."""
        return text

    def shown(self) -> str:
        """Return the name of the parameter or call that they belong to."""
        return self.about


#: Texts as a regular expression where they are one.
Language = ast.Regex | WrittenArguments


def _language(writer: RuleWriter, body: Expression, about: str) -> Language:
    found = writer.grammar_of(body)
    return body.regex if isinstance(body, Text) else WrittenArguments(found, about)


# --- keyword arguments -------------------------------------------------------------------------------------------------


def keyword_arguments(spec: Any, end: str) -> Language:
    """Return the keyword arguments of a tool with the parenthesis after them.

    Raises:
        ToolError: A parameter cannot be a keyword.
        UnsupportedSchemaError: Python's syntax cannot say a part of the schema.
    """
    target = reflect(spec) if is_type(spec) else None
    options = styled(Options(), target)
    normaliser = Normaliser(spec if target is None else target.schema, dialect=dialect_of(target))
    page = page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style)
    writer = PythonWriter({}, normaliser, options.number_style, page=page)
    objects = normaliser.value(normaliser.root).objects
    for name in (name for disjunct in objects for name, _ in disjunct.properties if not is_name(name)):
        raise _refusal(name, "it is not a valid name of a keyword argument", "in Python's syntax")
    found = alternatives(*map(writer.keywords, objects))
    return _language(writer, sequence(found, literal(end)), "keyword arguments")


def keywords_as_json(text: str) -> str:
    """Return keyword arguments as a JSON object."""
    return ArgumentsReader().feed(f"{text})")


class ArgumentsReader:
    """Turns the pieces of keyword arguments, and of the closing parenthesis, into pieces of a JSON object."""

    def __init__(self) -> None:
        self._depth = 0
        self._name: list[str] | None = []  # of the keyword that is being read; None in a value
        self._in_string = self._escaped = False
        self._left_out = 0
        self._opening = "{"

    def feed(self, piece: str) -> str:
        """Return a piece as JSON, as far as it is certain."""
        opening, self._opening = self._opening if piece else "", "" if piece else self._opening
        return opening + "".join(map(self._read, piece))

    def _read(self, character: str) -> str:
        if self._in_string:
            self._in_string = self._escaped or character != '"'
            self._escaped = character == "\\" and not self._escaped
            return character
        if self._left_out:
            self._left_out -= 1
            return ""
        if self._depth == 0 and character in ",)":
            self._name = []
            return ", " if character == "," else "}"
        return self._in_value(character) if self._name is None else self._in_name(self._name, character)

    def _in_name(self, name: list[str], character: str) -> str:
        if character == "=":
            self._name = None
            return f"{json.dumps(''.join(name), ensure_ascii=False)}: "
        if not character.isspace():
            name.append(character)
        return ""

    def _in_value(self, character: str) -> str:
        self._in_string = character == '"'
        self._depth += (character in "[{") - (character in "]}")
        if character == "N":  # JSON's word for None is another one; True and False differ only in their first letter
            self._left_out = len("one")
            return "null"
        return character.lower() if character in "TF" else character


def as_keywords(text: str) -> str:
    """Return a JSON object as keyword arguments."""
    return ", ".join(f"{name}={_as_python(value)}" for name, value in json.loads(text).items())


def _as_python(value: Any) -> str:
    """Write a JSON value with Python's names; strings keep JSON's escapes."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_as_python, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_as_python(key)}: {_as_python(part)}" for key, part in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


# --- tagged arguments --------------------------------------------------------------------------------------------------


class Way(NamedTuple):
    """One way to write an argument: the values of some JSON types.

    Attributes:
        before: The text before the value.
        has_strings: Whether some values are strings.
        others: The texts of values that are JSON; None if all are strings.
        language: The texts of all values, with the end tag if that is text.
    """

    before: str
    has_strings: bool
    others: Language | None
    language: Language


class Parameter(NamedTuple):
    """A parameter and the ways to write it.

    Attributes:
        key: Its name.
        required: Whether it is required.
        ways: The ways, told apart by the texts before the values.
    """

    key: str
    required: bool
    ways: tuple[Way, ...]


def parameters_of(spec: Any, style: Style, *, stop: str, end: str) -> tuple[tuple[Parameter, ...], ...]:
    """Return the parameters of a tool in order; several tuples if its schema has alternatives.

    Args:
        spec: The type or schema of the arguments.
        style: How an argument is written.
        stop: The text that no value holds: what the end tag begins with.
        end: The end tag if the texts of values include it; else empty.

    Raises:
        ToolError: The format cannot express a parameter, or a bound on the number of parameters.
        UnsatisfiableSchemaError: A parameter has no value that can be written.
    """
    target = reflect(spec) if is_type(spec) else None
    numbers = styled(Options(), target).number_style
    written = JsonSchema(json.dumps(spec if target is None else target.schema))
    reading: dict[str, Any] = {"dialect": dialect_of(target), "numbers": numbers, "max_gap": MAX_WHITESPACE}
    writer = Parameters(written, replace(style, end=stop), excludes=[stop], **reading)
    disjuncts = writer.normaliser.value(writer.normaliser.root).objects
    if not disjuncts:
        raise ToolError("no arguments satisfy the schema of a tool", fix="correct the schema")
    return tuple(tuple(_parameters(disjunct, writer, end)) for disjunct in disjuncts)


def as_tagged(style: Style, tail: str, text: str) -> str:
    """Return a JSON object as tagged parameters."""
    line = "\n" if style.is_set_apart else ""
    return "".join(
        style.before(key, _KINDS[type(value)])
        + line
        + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        + tail
        for key, value in json.loads(text).items()
    )


def value_as_json(text: str, *, is_string: bool, set_apart: bool) -> str:
    """Return the value of a text, as JSON.

    Args:
        text: The text of a parameter, without its tags.
        is_string: Whether it is a string, and not JSON.
        set_apart: Whether line breaks around it belong to the format.
    """
    if is_string:
        return json.dumps(text.removeprefix("\n").removesuffix("\n") if set_apart else text, ensure_ascii=False)
    bare = text.strip(" \t\n\r")
    return _JSON_NAMES.get(bare, bare)


def _parameters(disjunct: ObjectDisjunct, writer: Parameters, end: str) -> Iterator[Parameter]:
    """Yield the parameters of an object, its declared members."""
    closed = replace(disjunct, names=ast.EMPTY, counts=(), min_properties=0, max_properties=None)
    members = writer.declared(closed) or []
    may_be_too_many = disjunct.max_properties is not None and disjunct.max_properties < len(members)
    if disjunct.counts or disjunct.min_properties > len(disjunct.required) or may_be_too_many:
        raise _refusal(
            "arguments", "the number of arguments is bounded, and this format cannot count them", "between tags"
        )
    for member in members:
        if writer.style.written_name(member.key) is None or not (writer.style.is_escaped or _KEY.fullmatch(member.key)):
            raise _refusal(member.key, "it holds whitespace, or a character of a tag", "between tags")
        groups: dict[str, list[str]] = {}
        for kind in kinds_of(writer.normaliser.value(member.values)):
            groups.setdefault(writer.style.before(member.key, kind), []).append(kind)
        ways = (_way(before, kinds, member, writer, end) for before, kinds in groups.items())
        yield Parameter(member.key, member.needed, tuple(ways))


def _way(before: str, kinds: list[str], member: Member, writer: Parameters, end: str) -> Way:
    body, others = writer.texts(member.values, kinds), writer.json(member.values, kinds)
    if isinstance(body, Text):
        body = writer.text(ast.conjunction(body.regex, text_before(writer.style.end)))
    return Way(
        before,
        "string" in kinds,
        None if others == NOTHING else _language(writer, others, member.key),
        _language(writer, sequence(body, literal(end)) if end else body, member.key),
    )


def _refusal(name: str, why: str, how: str) -> ToolError:
    return ToolError(
        f"parameter {name!r} cannot be written {how}",
        at=f"/properties/{name}",
        why=why,
        fix="rename it, or choose a profile with JSON arguments, such as profile='plain'",
    )
