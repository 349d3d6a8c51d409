"""Arguments in Python's syntax: ``city="Paris", days=3, detailed=True``.

Values are JSON except for ``True``, ``False`` and ``None``; strings are in double quotes with JSON's escapes, which Python
reads in the same way (except for surrogate pairs, which are joined here). Keywords are in the order of the schema. The
arguments are a regular expression, so they have no recursion and no undeclared keys. A schema that needs either is refused; it
needs a JSON profile.
"""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemagen.calling.parameters import arguments_of
from schemagen.errors import ToolError
from schemagen.regex import ast
from schemagen.schema.ir import NEVER
from schemagen.schema.to_regex import Writer

if TYPE_CHECKING:
    from schemagen.schema.ir import ObjectDisjunct, ValueSet

_JSON_NAMES = {"True": "true", "False": "false", "None": "null"}
_STRING_OR_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:True|False|None)\b', re.DOTALL)
_KEYWORD = re.compile(r"\s*,?\s*(\w+)\s*=\s*")
_COMMA = ast.concat(ast.literal(","), ast.optional(ast.literal(" ")))


def keyword_arguments(spec: Any) -> ast.Regex:
    """Return the keyword arguments of a tool, without the parentheses.

    Args:
        spec: A pydantic model, or a JSON Schema of an object.

    Raises:
        ToolError: A parameter cannot be a keyword.
        UnsupportedSchemaError: The schema is recursive, or has undeclared keys inside of a value.
    """
    writer, disjuncts = arguments_of(spec, _PythonWriter)
    return ast.union(*map(writer.keywords, disjuncts))


def as_json(text: str) -> str:
    """Return keyword arguments as a JSON object.

    Args:
        text: One of the texts of `keyword_arguments`.
    """
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


def as_python(text: str) -> str:
    """Return a JSON object as keyword arguments.

    Args:
        text: JSON.
    """
    return ", ".join(f"{name}={_python(value)}" for name, value in json.loads(text).items())


def _python(value: Any) -> str:
    """Write a JSON value with Python's names; strings keep JSON's escapes."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_python(key)}: {_python(part)}" for key, part in value.items()) + "}"
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
            _refuse(min(missing), "it is required and has no value of its own")
        rest: dict[bool, ast.Regex] = dict.fromkeys((False, True), ast.EPSILON)
        for name, value, needed in reversed(members):
            if not name.isidentifier() or keyword.iskeyword(name):
                _refuse(name, "it is not a valid name of a keyword argument")
            member = ast.concat(ast.literal(f"{name}="), value)
            rest = {
                begun: ast.union(
                    ast.concat(_COMMA if begun else ast.EPSILON, member, rest[True]),
                    *([] if needed else [rest[begun]]),
                )
                for begun in (False, True)
            }
        return rest[False]


def _refuse(name: str, why: str) -> None:
    raise ToolError(
        f"parameter {name!r} cannot be written in Python's syntax",
        at=f"/properties/{name}",
        why=why,
        fix="rename it, or choose a profile with JSON arguments, such as profile='plain'",
    )
