"""Arguments that are written one by one and not as one JSON object: in Python's syntax, or between tags.

    city="Paris", days=3, detailed=True              keyword arguments: JSON but for ``True``, ``False`` and ``None``
    <parameter=city>Paris</parameter>                tagged: strings as they are, other values as JSON

Arguments are in the order of the schema, each at most once. Every value is a regular expression, so it has no recursion and no
undeclared keys inside. A schema that needs either is refused; it needs a JSON profile.

Strings of keyword arguments are in double quotes with JSON's escapes, which Python reads in the same way (except for surrogate
pairs, which are joined here).

A tagged string has no quotes and no escapes. It ends at the first end tag, so it can be any text without that tag; patterns,
lengths and enums apply to it as to a JSON string. If a schema takes strings and other values, a text that is one of the others
in JSON is that value, and any other text is a string: ``5`` is a number for ``int | str``. Whitespace around JSON is free. If
the format puts a value on lines of its own, a line break at its beginning and one at its end belong to the format, whether
written or not.
"""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.calling.free_text import MAX_WHITESPACE
from schemagen.engine.options import Options
from schemagen.errors import ToolError
from schemagen.grammar.reading import styled
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.schema.ir import NEVER, ValueSet
from schemagen.schema.normalise import Normaliser
from schemagen.schema.scalars import string_pattern
from schemagen.schema.to_regex import Writer, page_of
from schemagen.types.reflection import is_type, reflect

if TYPE_CHECKING:
    from schemagen.calling.wire_profiles import Profile
    from schemagen.schema.ir import ObjectDisjunct

W = TypeVar("W", bound=Writer)

_JSON_NAMES = {"True": "true", "False": "false", "None": "null"}
_STRING_OR_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:True|False|None)\b', re.DOTALL)
_KEYWORD = re.compile(r"\s*,?\s*(\w+)\s*=\s*")
_COMMA = ast.concat(ast.literal(","), ast.optional(ast.literal(" ")))
_KEY = re.compile(r"[^\s<>=]+")
_GAP = ast.repeat(ast.char_set(" \t\n\r"), 0, MAX_WHITESPACE)
_LINE = ast.literal("\n")


def _arguments_of(spec: Any, kind: type[W]) -> tuple[W, tuple[ObjectDisjunct, ...]]:
    """Return the objects that the arguments of a tool may be, and a writer of their values as regular expressions.

    Raises:
        SchemaError: The schema cannot be read.
    """
    target = reflect(spec) if is_type(spec) else None
    options = styled(Options(), target)
    normaliser = Normaliser(
        spec if target is None else target.schema, dialect="json-schema" if target is None else "python"
    )
    writer = kind(
        normaliser, page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style), None
    )
    return writer, tuple(normaliser.value(normaliser.root).objects)


# --- keyword arguments -------------------------------------------------------------------------------------------------


def keyword_arguments(spec: Any) -> ast.Regex:
    """Return the keyword arguments of a tool, without the parentheses.

    Raises:
        ToolError: A parameter cannot be a keyword.
        UnsupportedSchemaError: The schema is recursive, or has undeclared keys inside a value.
    """
    writer, disjuncts = _arguments_of(spec, _PythonWriter)
    return ast.union(*map(writer.keywords, disjuncts))


def keywords_as_json(text: str) -> str:
    """Return keyword arguments as a JSON object."""
    plain = _STRING_OR_NAME.sub(lambda match: _JSON_NAMES.get(match[0], match[0]), text)
    decoder = json.JSONDecoder()
    found: dict[str, Any] = {}
    match = _KEYWORD.match(plain)
    while match is not None:
        found[match[1]], end = decoder.raw_decode(plain, match.end())
        match = _KEYWORD.match(plain, end)
    return json.dumps(found, ensure_ascii=False)


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


class _PythonWriter(Writer):
    """Writes values as JSON, with Python's names for the three constants."""

    def value(self, value: ValueSet) -> ast.Regex:
        names = [n for n, there in (("None", value.null), ("True", value.true), ("False", value.false)) if there]
        rest = super().value(replace(value, null=False, true=False, false=False))
        return ast.union(*map(ast.literal, names), rest)

    def keywords(self, disjunct: ObjectDisjunct) -> ast.Regex:
        """Return the declared members of an object, in order; an undeclared key cannot be a keyword."""
        members = [
            (name, self.text(value), name in disjunct.required) for name, value in disjunct.properties if value != NEVER
        ]
        if missing := disjunct.required - {name for name, _, _ in members}:
            raise _refusal(min(missing), "it is required and has no value of its own", "in Python's syntax")
        rest: dict[bool, ast.Regex] = dict.fromkeys((False, True), ast.EPSILON)
        for name, value, needed in reversed(members):
            if not name.isidentifier() or keyword.iskeyword(name):
                raise _refusal(name, "it is not a valid name of a keyword argument", "in Python's syntax")
            member = ast.concat(ast.literal(f"{name}="), value)
            rest = {
                begun: ast.union(
                    ast.concat(_COMMA if begun else ast.EPSILON, member, rest[True]),
                    *([] if needed else [rest[begun]]),
                )
                for begun in (False, True)
            }
        return rest[False]


# --- tagged arguments --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter and the texts of its values.

    Attributes:
        key: Its name.
        required: Whether it is required.
        strings: The texts that are strings; the empty language if none are.
        others: The texts that are JSON; the empty language if none are.
    """

    key: str
    required: bool
    strings: ast.Regex
    others: ast.Regex

    def language(self, end: str) -> ast.Regex:
        """Return the texts of all values, without texts that hold the end tag."""
        return ast.conjunction(ast.union(self.others, self.strings), text_without([end]))

    def closed(self, end: str) -> ast.Regex:
        """Return the texts of all values, each followed by the end tag."""
        whole = ast.concat(ast.union(self.others, self.strings), ast.literal(end))
        return ast.conjunction(whole, text_up_to(end))


def parameters_of(spec: Any, profile: Profile) -> tuple[tuple[Parameter, ...], ...]:
    """Return the parameters of a tool in order; several tuples if its schema has alternatives.

    Raises:
        ToolError: The format cannot express a parameter, or a bound on the number of parameters.
        UnsupportedSchemaError: A schema is recursive, or has undeclared keys inside a value.
    """
    writer, disjuncts = _arguments_of(spec, Writer)
    if not disjuncts:
        raise ToolError("no arguments satisfy the schema of a tool", fix="correct the schema")
    return tuple(tuple(_parameters(disjunct, writer, is_set_apart(profile))) for disjunct in disjuncts)


def is_set_apart(profile: Profile) -> bool:
    """Whether a format writes a value on lines of its own."""
    return profile.argument_head.endswith("\n") and profile.argument_tail.startswith("\n")


def end_tag(profile: Profile) -> str:
    """Return the tag that ends a value."""
    return profile.argument_tail.strip()


def as_tagged(profile: Profile, text: str) -> str:
    """Return a JSON object as tagged parameters."""
    return "".join(
        profile.argument_head.replace("{key}", key)
        + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        + profile.argument_tail
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


def _parameters(disjunct: ObjectDisjunct, writer: Writer, set_apart: bool) -> list[Parameter]:
    """Return the parameters of an object, its declared members."""
    known = [(key, writer.normaliser.value(value)) for key, value in disjunct.properties if value != NEVER]
    members = [(key, value) for key, value in known if not value.is_nothing()]
    for name in sorted(disjunct.required - {key for key, _ in members}):
        raise _refusal(name, "it is required and has no value of its own", "between tags")
    may_be_too_many = disjunct.max_properties is not None and disjunct.max_properties < len(members)
    if disjunct.counts or disjunct.min_properties > len(disjunct.required) or may_be_too_many:
        raise _refusal(
            "arguments", "the number of arguments is bounded, and this format cannot count them", "between tags"
        )
    found = []
    for key, value in members:
        if not _KEY.fullmatch(key):
            raise _refusal(key, "it holds whitespace, or a character of a tag", "between tags")
        found.append(Parameter(key, key in disjunct.required, _strings(value, set_apart), _others(value, writer)))
    return found


def _strings(value: ValueSet, set_apart: bool) -> ast.Regex:
    """Return the texts that are strings: unchanged, or with line breaks that belong to the format."""
    plain = ast.union(*(string_pattern(disjunct) for disjunct in value.strings))
    if not set_apart or plain == ast.EMPTY:
        return plain
    any_text = ast.ANY_STRING
    no_line_before = ast.conjunction(plain, ast.complement(ast.concat(_LINE, any_text)))
    no_line_after = ast.conjunction(plain, ast.complement(ast.concat(any_text, _LINE)))
    no_line_around = ast.conjunction(no_line_before, no_line_after)
    return ast.union(
        ast.concat(_LINE, plain, _LINE),
        ast.concat(_LINE, no_line_after),
        ast.concat(no_line_before, _LINE),
        no_line_around,
    )


def _others(value: ValueSet, writer: Writer) -> ast.Regex:
    """Return the texts that are JSON; also Python's names of constants, if the value cannot be a string."""
    plain = writer.value(replace(value, strings=()))
    if not value.strings:
        names = (("None", value.null), ("True", value.true), ("False", value.false))
        plain = ast.union(plain, *(ast.literal(name) for name, there in names if there))
    return plain if plain == ast.EMPTY else ast.concat(_GAP, plain, _GAP)


def _refusal(name: str, why: str, how: str) -> ToolError:
    return ToolError(
        f"parameter {name!r} cannot be written {how}",
        at=f"/properties/{name}",
        why=why,
        fix="rename it, or choose a profile with JSON arguments, such as profile='plain'",
    )
