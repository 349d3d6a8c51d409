"""Arguments as tagged parameters: ``<parameter=city>Paris</parameter>``, strings as they are, other values as JSON.

A string has no quotes and no escapes here. It ends at the first end tag, so it can be any text without that tag; patterns,
lengths and enums apply to it as to a JSON string. If a schema takes strings and other values, a text that is one of the others
in JSON is that value, and any other text is a string: ``5`` is a number for ``int | str``. Whitespace around JSON is free. If
the format puts a value on lines of its own, a line break at its beginning and one at its end belong to the format, whether
written or not.

Parameters are in the order of the schema, each at most once. Every value is a regular expression, so it has no recursion and
no undeclared keys inside, as in Python's syntax; a schema that needs either is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schemagen.calling.free_text import MAX_WHITESPACE
from schemagen.calling.parameters import arguments_of
from schemagen.errors import ToolError
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.schema.ir import NEVER, ValueSet
from schemagen.schema.strings import string_pattern
from schemagen.schema.to_regex import Writer

if TYPE_CHECKING:
    from schemagen.calling.wire_profiles import Profile
    from schemagen.schema.ir import ObjectDisjunct

_KEY = re.compile(r"[^\s<>=]+")
_GAP = ast.repeat(ast.char_set(" \t\n\r"), 0, MAX_WHITESPACE)
_LINE = ast.literal("\n")
_PYTHON_NAMES = {"True": "true", "False": "false", "None": "null"}


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

    Args:
        spec: A pydantic model, or a JSON Schema of an object.
        profile: The format.

    Raises:
        ToolError: The format cannot express a parameter, or a bound on the number of parameters.
        UnsupportedSchemaError: A schema is recursive, or has undeclared keys inside of a value.
    """
    writer, disjuncts = arguments_of(spec, Writer)
    if not disjuncts:
        raise ToolError("no arguments satisfy the schema of a tool", fix="correct the schema")
    return tuple(tuple(_parameters(disjunct, writer, is_set_apart(profile))) for disjunct in disjuncts)


def is_set_apart(profile: Profile) -> bool:
    """Whether a format writes a value on lines of its own."""
    return profile.argument_head.endswith("\n") and profile.argument_tail.startswith("\n")


def end_tag(profile: Profile) -> str:
    """Return the tag that ends a value."""
    return profile.argument_tail.strip()


def write(profile: Profile, text: str) -> str:
    """Return a JSON object as tagged parameters.

    Args:
        profile: The format.
        text: JSON.
    """
    return "".join(
        profile.argument_head.replace("{key}", key)
        + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        + profile.argument_tail
        for key, value in json.loads(text).items()
    )


def as_json(text: str, *, is_string: bool, set_apart: bool) -> str:
    """Return the value of a text, as JSON.

    Args:
        text: The text of a parameter, without its tags.
        is_string: Whether it is a string, and not JSON.
        set_apart: Whether line breaks around it belong to the format.
    """
    if is_string:
        return json.dumps(text.removeprefix("\n").removesuffix("\n") if set_apart else text, ensure_ascii=False)
    bare = text.strip(" \t\n\r")
    return _PYTHON_NAMES.get(bare, bare)


def _parameters(disjunct: ObjectDisjunct, writer: Writer, set_apart: bool) -> list[Parameter]:
    """Return the parameters of an object, its declared members."""
    known = [(key, writer.normaliser.value(value)) for key, value in disjunct.properties if value != NEVER]
    members = [(key, value) for key, value in known if not value.is_nothing()]
    for name in sorted(disjunct.required - {key for key, _ in members}):
        raise _refusal(name, "it is required and has no value of its own")
    if disjunct.counts or disjunct.min_properties > len(disjunct.required) or _may_be_too_many(disjunct, len(members)):
        raise _refusal("arguments", "the number of arguments is bounded, and this format cannot count them")
    found = []
    for key, value in members:
        if not _KEY.fullmatch(key):
            raise _refusal(key, "it holds whitespace, or a character of a tag")
        found.append(Parameter(key, key in disjunct.required, _strings(value, set_apart), _others(value, writer)))
    return found


def _may_be_too_many(disjunct: ObjectDisjunct, count: int) -> bool:
    return disjunct.max_properties is not None and disjunct.max_properties < count


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


def _refusal(name: str, why: str) -> ToolError:
    return ToolError(
        f"parameter {name!r} cannot be written between tags",
        at=f"/properties/{name}",
        why=why,
        fix="rename it, or choose a profile with JSON arguments, such as profile='plain'",
    )
