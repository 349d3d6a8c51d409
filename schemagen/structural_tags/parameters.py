"""The members of an object as parameters between tags, in the styles of families of models.

``<parameter=city>Paris</parameter>``: a string stands there as it is, without quotes and escapes, and ends at the first
end of a parameter; any other value is JSON. Patterns, lengths and enums hold for strings as they do in JSON. Some styles say
in the beginning of a parameter what its value is. Whitespace around parameters and values is free.

Parameters stand in the order of the schema, each at most once. Those that the schema does not declare may follow where it
has the keyword ``additionalProperties``, or no ``properties``: a list of parameters is what a tool takes, and schemas of
tools do not say by themselves that there is nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.context_free.dispatch import text_without
from schemagen.context_free.syntax import EMPTY_TEXT, Guest, Rule, Text, alternatives, repeat, sequence
from schemagen.errors import UnsupportedSchemaError
from schemagen.grammar.embedded import JsonSchema
from schemagen.regex import ast
from schemagen.schema.document import escape
from schemagen.schema.nodes import ANY_STRINGS, ValueSet
from schemagen.schema.normalise import Normaliser
from schemagen.schema.strings import string_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.context_free.syntax import Expression
    from schemagen.grammar.assembly import Assembly

#: With the keys in any order there is a rule for each set of parameters that are still to come.
MAX_ANY_ORDER = 8

#: The keywords of an object that a list of parameters can keep, and those that say nothing about it.
_UNDERSTOOD = {"type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema"}
_NOTES = {"title", "description", "$comment", "examples", "default", "deprecated", "strict"}
_SPACE = ast.char_set(" \n\r\t")
_KINDS = ("null", "boolean", "number", "string", "array", "object")
_FIRST = [(ord("A"), ord("Z")), (ord("a"), ord("z")), (ord("_"), ord("_"))]
_NAME = ast.concat(
    ast.Chars(ast.normalise_ranges(_FIRST)),
    ast.star(ast.Chars(ast.normalise_ranges([*_FIRST, (ord("0"), ord("9"))]))),
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of models writes a parameter.

    Attributes:
        head: What stands before the name.
        string: What stands between the name and a string: texts with whitespace between them.
        other: The same before other values; ``{kind}`` is the JSON type.
        end: What ends the parameter.
    """

    head: str
    string: tuple[str, ...]
    other: tuple[str, ...]
    end: str

    def behind_name(self, kind: str, gap: ast.Regex) -> ast.Regex:
        """Return what stands between the name and a value of a JSON type."""
        first, *more = (each.replace("{kind}", kind) for each in (self.string if kind == "string" else self.other))
        return ast.concat(ast.literal(first), *(ast.concat(gap, ast.literal(each)) for each in more))


#: A token of DeepSeek's, with full-width bars.
_DSML = "\uff5cDSML\uff5c"
STYLES = {
    "qwen_xml": Style("<parameter=", (">",), (">",), "</parameter>"),
    "minimax_xml": Style('<parameter name="', ('">',), ('">',), "</parameter>"),
    "deepseek_xml": Style(
        f'<{_DSML}parameter name="', ('" string="true">',), ('" string="false">',), f"</{_DSML}parameter>"
    ),
    "deepseek_v4_1_xml": Style(
        f'<{_DSML} parameter name="', ('" string="true">',), ('" string="false">',), f"</{_DSML} parameter>"
    ),
    "glm_xml": Style("<arg_key>", ("</arg_key>", "<arg_value>"), ("</arg_key>", "<arg_value>"), "</arg_value>"),
    "kimi_k3_xml": Style(
        '<|open|>argument key="',
        ('" type="string"<|sep|>',),
        ('" type="{kind}"<|sep|>',),
        "<|close|>argument<|sep|>",
    ),
}


class Parameters:
    """Writes an object as parameters.

    Args:
        written: Its schema, and how JSON in it is written.
        style: How a parameter is written.
        assembly: Takes the rules that are needed.
    """

    def __init__(self, written: JsonSchema, style: Style, assembly: Assembly) -> None:
        self.written = written
        self.style = style
        self.assembly = assembly
        document = json.loads(written.text)
        self.definitions = (
            {key: document[key] for key in ("$schema", "$defs", "definitions") if key in document}
            if isinstance(document, dict)
            else {}
        )
        self.schema, self.at = self._resolved({} if document is True else document)
        self.gap = ast.repeat(_SPACE, 0, written.max_gap)

    def expression(self) -> Expression:
        """Return all parameters.

        Raises:
            UnsupportedSchemaError: The schema asks for more than a list of parameters can keep.
        """
        properties, required = self.schema.get("properties", {}), self.schema.get("required", [])
        members = {key: self._member(key, schema) for key, schema in properties.items()}
        for key in required:
            if key not in members:
                raise self._unsupported("required", f"{key!r} is required and not declared", "declare it as a property")
        more = self._additional(list(members))
        if self.written.property_order == "any":
            return sequence(self._in_any_order(members, frozenset(required), more), Text(self.gap))
        ordered = [each if key in required else alternatives(each, EMPTY_TEXT) for key, each in members.items()]
        return sequence(*ordered, repeat(more, 0, None), Text(self.gap))

    def _in_any_order(self, members: dict[str, Expression], required: frozenset[str], more: Expression) -> Expression:
        """Return parameters in any order, each at most once: a rule for each set of those to come."""
        if len(members) > MAX_ANY_ORDER:
            raise self._unsupported(
                "properties",
                f"{len(members)} parameters in any order, limit {MAX_ANY_ORDER}",
                "leave any_order out, or declare fewer parameters",
            )
        names: dict[frozenset[str], Rule] = {}

        def rule(left: frozenset[str]) -> Rule:
            if left not in names:
                names[left] = Rule(self.assembly.free_name("parameters"))
                self.assembly.rules[names[left].name] = EMPTY_TEXT
                ways = [sequence(members[key], rule(left - {key})) for key in members if key in left]
                again = sequence(more, names[left])
                end = [] if left & required else [EMPTY_TEXT]
                self.assembly.rules[names[left].name] = alternatives(*ways, again, *end)
            return names[left]

        return rule(frozenset(members))

    def _additional(self, declared: list[str]) -> Expression:
        """Return a parameter that is not declared."""
        default = "properties" not in self.schema
        schema = self.schema.get("additionalProperties", default)
        name = ast.conjunction(_NAME, ast.complement(ast.union(*map(ast.literal, declared))))
        return self._parameter(name, schema, f"{self.at}/additionalProperties")

    def _member(self, key: str, schema: Any) -> Expression:
        """Return a declared parameter."""
        return self._parameter(ast.literal(key), schema, f"{self.at}/properties/{escape(key)}")

    def _parameter(self, name: ast.Regex, schema: Any, at: str) -> Expression:
        """Return a parameter with whitespace before it; nothing where the schema has no value."""
        value = self._value_set(schema)
        groups: dict[ast.Regex, list[str]] = {}
        for kind in _KINDS:
            if _has(value, kind):
                groups.setdefault(self.style.behind_name(kind, self.gap), []).append(kind)
        end = Text(ast.literal(self.style.end))
        ways = [
            sequence(Text(behind), alternatives(*self._texts(schema, value, kinds, at)), end)
            for behind, kinds in groups.items()
        ]
        head = Text(ast.concat(self.gap, ast.literal(self.style.head), name))
        return sequence(head, alternatives(*ways))

    def _texts(self, schema: Any, value: ValueSet, kinds: list[str], at: str) -> Iterator[Expression]:
        """Yield the texts of the values of some JSON types: strings as they are, the others as JSON."""
        is_free = "string" in kinds and ANY_STRINGS in value.strings
        if "string" in kinds:
            plain = ast.union(*map(string_pattern, value.strings))
            spaced = ast.ANY_STRING if is_free else ast.concat(self.gap, plain, self.gap)
            yield Text(ast.conjunction(spaced, text_without([self.style.end])))
        others = [kind for kind in kinds if kind != "string"]
        if others and not is_free:
            text = json.dumps(self._only(schema, others, value))
            gap = EMPTY_TEXT if self.written.whitespace == "any" else Text(self.gap)
            guest = JsonSchema(
                text,
                whitespace=self.written.whitespace,
                property_order=self.written.property_order,
                max_gap=self.written.max_gap,
                place=at,
            )
            yield sequence(gap, Guest(guest), gap)

    def _only(self, schema: Any, kinds: list[str], value: ValueSet) -> dict[str, Any]:
        """Return the schema of those values of a subschema that have some JSON types, with what it refers to."""
        if any(_has(value, kind) for kind in _KINDS if kind not in kinds):
            return {**self.definitions, "allOf": [schema], "type": kinds}
        return {**schema, **self.definitions} if isinstance(schema, dict) else {**self.definitions, "allOf": [schema]}

    def _value_set(self, schema: Any) -> ValueSet:
        """Return what a subschema allows."""
        normaliser = Normaliser({**self.definitions, "allOf": [schema]})
        try:
            return normaliser.value(normaliser.root)
        finally:
            normaliser.forget()

    def _resolved(self, schema: Any) -> tuple[dict[str, Any], str]:
        """Return the schema of the object, behind its references, and where it stands."""
        at, seen = self.written.place, set()
        while isinstance(schema, dict) and "$ref" in schema and len(schema.keys() - self.definitions - _NOTES) == 1:
            reference = schema["$ref"]
            kind, _, name = str(reference).removeprefix("#/").partition("/")
            target = self.definitions.get(kind, {}).get(name) if kind in ("$defs", "definitions") else None
            if target is None or reference in seen:
                break
            seen.add(reference)
            schema, at = target, f"{self.written.place}/{kind}/{name}"
        self.at = at
        if not isinstance(schema, dict) or schema.get("type", "object") != "object":
            raise self._unsupported(
                "type", "the schema of parameters is not that of an object", 'write "type": "object"'
            )
        for keyword in schema:
            if keyword not in _UNDERSTOOD | _NOTES:
                raise self._unsupported(
                    keyword, f"the keyword {keyword!r} beside parameters", "say it of the values of the properties"
                )
        return schema, at

    def _unsupported(self, keyword: str, fact: str, fix: str) -> UnsupportedSchemaError:
        return UnsupportedSchemaError(
            fact, at=f"{self.at}/{escape(keyword)}", why="each parameter is written by itself", fix=fix
        )


def _has(value: ValueSet, kind: str) -> bool:
    """Whether a set has values of a JSON type."""
    if kind == "boolean":
        return value.true or value.false
    return bool(value.null if kind == "null" else getattr(value, f"{kind}s"))
