"""The members of an object as parameters between tags, in the styles of families of models.

``<parameter=city>Paris</parameter>``: a string stands there as it is, without quotes and escapes, and ends at the first
end of a parameter; any other value is JSON. Patterns, lengths and enums hold for strings as they do in JSON. Some styles say
in the beginning of a parameter what its value is. Whitespace around parameters and values is free. Some styles write objects
and lists as tags, too, at any depth: then each of their schemas is a rule, and a schema that refers to itself a recursive one.

Parameters stand in the order of the schema, each at most once. Those that the schema does not declare may follow where it
has the keyword ``additionalProperties``, or no ``properties``: a list of parameters is what a tool takes, and schemas of
tools do not say by themselves that there is nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape as escape_xml

from schemagen.context_free.scanner import MAX_NESTING
from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, Guest, Rule, Text, alternatives, repeat, sequence
from schemagen.errors import LimitError, UnsupportedSchemaError
from schemagen.errors.pointers import escape
from schemagen.regex import ast
from schemagen.regex.wildcards import text_without
from schemagen.schema.ir import ANY_STRINGS, ValueSet
from schemagen.schema.normalise import Normaliser
from schemagen.schema.scalars import string_pattern
from schemagen.structural_tags.schemas import without_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.context_free.syntax import Expression
    from schemagen.grammar.languages import Assembly
    from schemagen.grammar.specs import JsonSchema

#: With the keys in any order there is a rule for each set of parameters that are still to come.
MAX_ANY_ORDER = 8

#: The keywords of an object and of a list that tags can keep, and those that say nothing about it.
_OBJECT = {"type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema"}
_LIST = {"type", "items", "minItems", "maxItems", "$defs", "definitions", "$schema"}
_NOTES = {"title", "description", "$comment", "examples", "default", "deprecated", "strict"}
_UNDERSTOOD = {"object": _OBJECT | _NOTES, "array": _LIST | _NOTES}
_SPACE = ast.char_set(" \n\r\t")
_KINDS = ("null", "boolean", "number", "string", "array", "object")
_FIRST = [(ord("A"), ord("Z")), (ord("a"), ord("z")), (ord("_"), ord("_"))]
_NAME = ast.concat(
    ast.Chars(ast.normalise_ranges(_FIRST)), ast.star(ast.Chars(ast.normalise_ranges([*_FIRST, (ord("0"), ord("9"))])))
)

_QUOTE = {'"': "&quot;"}
_ESCAPED_NAME = ast.repeat(
    ast.union(
        ast.Chars(ast.invert_ranges(ast.char_set('&<>"\0').ranges)),
        *(ast.literal(escape_xml(sign, _QUOTE)) for sign in '&<>"'),
    ),
    1,
    None,
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of models writes a parameter.

    Attributes:
        head: The text before the name.
        tail: The text after the name, but for items of a list.
        string: The text between that and a string: texts with whitespace between them.
        other: The same before other values; ``{kind}`` is the JSON type.
        end: What ends the parameter; ``{name}`` is its name.
        inner: The same as ``other`` before lists and objects that are written as tags; None if they are JSON.
        item: The text in place of head, name and tail where the value is the item of a list.
        forbidden: What a string must not hold; the end, if that is empty.
        is_spaced: Whether there may be whitespace around values.
        is_escaped: Whether names are written as XML writes them, so that any text may be one; else undeclared ones are
            letters, digits and underscores.
    """

    head: str
    string: tuple[str, ...]
    other: tuple[str, ...]
    end: str
    inner: dict[str, tuple[str, ...]] | None = None
    item: str = ""
    forbidden: str = ""
    tail: str = ""
    is_spaced: bool = True
    is_escaped: bool = False

    @property
    def says_kind(self) -> bool:
        """Whether the JSON type of a value stands before it."""
        return any("{kind}" in text for text in self.other)

    def after_name(self, kind: str, gap: ast.Regex) -> ast.Regex:
        """Return the text between the name and a value of a JSON type."""
        texts = self.string if kind == "string" else (self.inner or {}).get(kind, self.other)
        first, *more = (each.replace("{kind}", kind) for each in texts)
        return ast.concat(ast.literal(first), *(ast.concat(gap, ast.literal(each)) for each in more))

    def undeclared_names(self) -> ast.Regex:
        """Return the names that parameters may have which are not declared, as they are written."""
        return _ESCAPED_NAME if self.is_escaped else _NAME

    def written_name(self, name: str) -> str:
        """Return a name as it is written."""
        return escape_xml(name, _QUOTE) if self.is_escaped else name


#: A token of DeepSeek's, with full-width bars; and what tags of MiniMax begin with.
_DSML = "\uff5cDSML\uff5c"
_MARK = "]<]minimax[>["
STYLES = {
    "qwen_xml": Style("<parameter=", (">",), (">",), "</parameter>"),
    "minimax_xml": Style('<parameter name="', ('">',), ('">',), "</parameter>"),
    "minimax_m3_xml": Style(
        f"{_MARK}<",
        (">",),
        (">",),
        f"{_MARK}</{{name}}>",
        inner={},
        item=f"{_MARK}<item",
        forbidden=_MARK,
        is_spaced=False,
    ),
    "deepseek_xml": Style(
        f'<{_DSML}parameter name="', ('" string="true">',), ('" string="false">',), f"</{_DSML}parameter>"
    ),
    "deepseek_v4_1_xml": Style(
        f'<{_DSML} parameter name="', ('" string="true">',), ('" string="false">',), f"</{_DSML} parameter>"
    ),
    "glm_xml": Style("<arg_key>", ("</arg_key>", "<arg_value>"), ("</arg_key>", "<arg_value>"), "</arg_value>"),
    "cohere_xml": Style(
        '<cofl:value name="',
        (' type="raw">',),
        (' type="json">',),
        "</cofl:value>",
        inner={"object": (' type="dict">',), "array": (' type="list">',)},
        item="<cofl:value",
        tail='"',
        is_escaped=True,
    ),
    "kimi_k3_xml": Style(
        '<|open|>argument key="',
        ('" type="string"<|sep|>',),
        ('" type="{kind}"<|sep|>',),
        "<|close|>argument<|sep|>",
        is_escaped=True,
    ),
}


class Parameters:
    """Writes an object as parameters.

    Args:
        written: Its schema, and how JSON in it is written.
        style: How a parameter is written.
        assembly: Takes the rules that are needed.
        excludes: Texts that no string holds.
    """

    def __init__(self, written: JsonSchema, style: Style, assembly: Assembly, excludes: Sequence[str] = ()) -> None:
        self.written = written
        self.style = style
        self.assembly = assembly
        self.excludes = excludes
        self.document = json.loads(written.text)
        self.definitions = (
            {key: self.document[key] for key in ("$schema", "$defs", "definitions") if key in self.document}
            if isinstance(self.document, dict)
            else {}
        )
        self.gap = ast.repeat(_SPACE, 0, written.max_gap)
        self._inner: dict[tuple[str, str], Rule] = {}
        self._depth = 0

    def expression(self) -> Expression:
        """Return all parameters.

        Raises:
            UnsupportedSchemaError: The schema asks for more than a list of parameters can keep.
            LimitError: Objects and lists are nested too deep.
        """
        return self._object(*self._resolved(self.document, "object", self.written.place))

    # --- objects -----------------------------------------------------------------------------------------------------

    def _object(self, schema: dict[str, Any], at: str) -> Expression:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        members = {
            key: self._parameter(ast.literal(self.style.written_name(key)), each, f"{at}/properties/{escape(key)}", key)
            for key, each in properties.items()
        }
        for key in required:
            if key not in members:
                fact = f"{key!r} is required and not declared"
                raise _unsupported(at, "required", fact, "declare it as a property")
        more = self._additional(schema, at)
        if self.written.property_order == "any":
            return sequence(self._in_any_order(members, frozenset(required), more, at), Text(self.gap))
        ordered = [each if key in required else alternatives(each, EMPTY_TEXT) for key, each in members.items()]
        return sequence(*ordered, repeat(more, 0, None), Text(self.gap))

    def _in_any_order(
        self, members: dict[str, Expression], required: frozenset[str], more: Expression, at: str
    ) -> Expression:
        """Return parameters in any order, each at most once: a rule for each set of those to come."""
        if len(members) > MAX_ANY_ORDER:
            fact = f"{len(members)} parameters in any order, limit {MAX_ANY_ORDER}"
            raise _unsupported(at, "properties", fact, "leave any_order out, or declare fewer parameters")
        members = {key: self.assembly.shared(body, "parameter") for key, body in members.items()}
        names: dict[frozenset[str], Rule] = {}

        def rule(left: frozenset[str]) -> Rule:
            if left not in names:
                names[left] = self.assembly.new_rule("parameters")
                ways = [sequence(members[key], rule(left - {key})) for key in members if key in left]
                again = sequence(more, names[left])
                end = [] if left & required else [EMPTY_TEXT]
                self.assembly.rules[names[left].name] = alternatives(*ways, again, *end)
            return names[left]

        return rule(frozenset(members))

    def _additional(self, schema: dict[str, Any], at: str) -> Expression:
        """Return a parameter that is not declared."""
        more = schema.get("additionalProperties", "properties" not in schema)
        if more is False or "{name}" in self.style.end:
            if "additionalProperties" in schema and more is not False:
                fact = "parameters that are not declared, whose names stand in their ends"
                raise _unsupported(at, "additionalProperties", fact, "declare them as properties")
            return NOTHING
        declared = map(self.style.written_name, schema.get("properties", {}))
        others = ast.complement(ast.union(*map(ast.literal, declared)))
        name = ast.conjunction(self.style.undeclared_names(), others)
        return self._parameter(name, more, f"{at}/additionalProperties")

    def _parameter(self, name: ast.Regex, schema: Any, at: str, key: str = "") -> Expression:
        """Return a parameter with whitespace before it; nothing where the schema has no value."""
        head = Text(ast.concat(self.gap, ast.literal(self.style.head), name, ast.literal(self.style.tail)))
        return self._with_value(head, schema, at, key)

    # --- values ------------------------------------------------------------------------------------------------------

    def _with_value(self, head: Expression, schema: Any, at: str, key: str) -> Expression:
        """Return a beginning with a value and its end after it."""
        value = self._value_set(schema)
        groups: dict[ast.Regex, list[str]] = {}
        for kind in _KINDS:
            if _has(value, kind):
                groups.setdefault(self.style.after_name(kind, self.gap), []).append(kind)
        end = Text(ast.literal(self.style.end.replace("{name}", key)))
        ways = [
            sequence(Text(after), alternatives(*self._texts(schema, value, kinds, at)), end)
            for after, kinds in groups.items()
        ]
        if schema in (True, {}) and self.style.says_kind:  # an undeclared value may be 1 and called an integer
            after = self.style.after_name("integer", self.gap)
            whole = self._texts({"type": "integer"}, self._value_set({"type": "integer"}), ["number"], at)
            ways.append(sequence(Text(after), *whole, end))
        return sequence(head, alternatives(*ways))

    def _texts(self, schema: Any, value: ValueSet, kinds: list[str], at: str) -> Iterator[Expression]:
        gap = self.gap if self.style.is_spaced else ast.EPSILON
        is_free = "string" in kinds and ANY_STRINGS in value.strings
        if "string" in kinds:
            plain = ast.union(*map(string_pattern, value.strings))
            spaced = ast.ANY_STRING if is_free else ast.concat(gap, plain, gap)
            yield Text(ast.conjunction(spaced, text_without([self.style.forbidden or self.style.end, *self.excludes])))
        inner = [kind for kind in kinds if kind in ("array", "object") and self.style.inner is not None]
        for kind in inner:
            yield sequence(Text(gap), self._as_tags(schema, kind, at), Text(gap))
        others = [kind for kind in kinds if kind != "string" and kind not in inner]
        if others and not is_free:
            clean = without_texts(self._only(schema, others, value), self.excludes, at)
            guest = replace(self.written, text=json.dumps(clean), place=at)
            yield sequence(Text(gap), Guest(guest), Text(gap))

    def _as_tags(self, schema: Any, kind: str, at: str) -> Expression:
        """Return the objects or the lists of a value: any of those of a union."""
        return alternatives(*(self._rule(each, kind, place) for each, place in self._branches(schema, kind, at)))

    def _branches(self, schema: Any, kind: str, at: str) -> list[tuple[Any, str]]:
        """Return the schemas of a JSON type that make up a union, with their places; the schema alone if it is none."""
        schema, at = self._after_references(schema, at)
        said = schema.keys() - self.definitions - _NOTES if isinstance(schema, dict) else set()
        if said not in ({"anyOf"}, {"oneOf"}):
            return [(schema, at)]
        keyword = next(iter(said))
        found = [
            (each, f"{at}/{keyword}/{index}")
            for index, each in enumerate(schema[keyword])
            if _has(self._value_set(each), kind)
        ]
        if keyword == "oneOf" and len(found) > 1:
            return [(schema, at)]  # which of them a value is not of, tags do not tell
        return [branch for each, place in found for branch in self._branches(each, kind, place)]

    def _rule(self, schema: Any, kind: str, at: str) -> Expression:
        """Return the call of the rule of an object or a list inside a value."""
        found, at = self._resolved(schema, kind, at)
        key = (kind, json.dumps(found))
        if key not in self._inner:
            self._depth += 1
            if self._depth > MAX_NESTING:
                raise LimitError(
                    f"values nested more than {MAX_NESTING} deep", at=at, fix="nest fewer objects and lists"
                )
            self._inner[key] = self.assembly.new_rule(kind)
            body = self._object(found, at) if kind == "object" else self._list(found, at)
            self.assembly.rules[self._inner[key].name] = body
            self._depth -= 1
        return self._inner[key]

    def _list(self, schema: dict[str, Any], at: str) -> Expression:
        head = Text(ast.concat(self.gap, ast.literal(self.style.item)))
        item = self._with_value(head, schema.get("items", True), f"{at}/items", "item")
        return sequence(repeat(item, schema.get("minItems", 0), schema.get("maxItems")), Text(self.gap))

    def _only(self, schema: Any, kinds: list[str], value: ValueSet) -> dict[str, Any]:
        if any(_has(value, kind) for kind in _KINDS if kind not in kinds):
            return {**self.definitions, "allOf": [schema], "type": kinds}
        return {**schema, **self.definitions} if isinstance(schema, dict) else {**self.definitions, "allOf": [schema]}

    def _value_set(self, schema: Any) -> ValueSet:
        normaliser = Normaliser({**self.definitions, "allOf": [schema]})
        try:
            return normaliser.value(normaliser.root)
        finally:
            normaliser.forget()

    def _after_references(self, schema: Any, at: str) -> tuple[Any, str]:
        """Return the schema that a reference is to, and where it stands."""
        seen = set()
        while isinstance(schema, dict) and "$ref" in schema and len(schema.keys() - self.definitions - _NOTES) == 1:
            reference = schema["$ref"]
            place, _, name = str(reference).removeprefix("#/").partition("/")
            target = self.definitions.get(place, {}).get(name) if place in ("$defs", "definitions") else None
            if target is None or reference in seen:
                break
            seen.add(reference)
            schema, at = target, f"{self.written.place}/{place}/{name}"
        return schema, at

    def _resolved(self, schema: Any, kind: str, at: str) -> tuple[dict[str, Any], str]:
        """Return the schema of an object or a list, after its references, and where it stands."""
        schema, at = self._after_references({} if schema is True else schema, at)
        types = schema.get("type", kind) if isinstance(schema, dict) else None
        if not isinstance(schema, dict) or kind not in ([types] if isinstance(types, str) else types or ()):
            raise _unsupported(
                at, "type", f"the schema of parameters is not that of an {kind}", f"write 'type': {kind!r}"
            )
        for keyword in schema:
            if keyword not in _UNDERSTOOD[kind]:
                fact = f"the keyword {keyword!r} of an {kind} that is written as tags"
                raise _unsupported(at, keyword, fact, "leave it out, or use the style json")
        return schema, at


def _unsupported(at: str, keyword: str, fact: str, fix: str) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(fact, at=f"{at}/{escape(keyword)}", why="each value is written by itself", fix=fix)


def _has(value: ValueSet, kind: str) -> bool:
    if kind == "boolean":
        return value.true or value.false
    return bool(value.null if kind == "null" else getattr(value, f"{kind}s"))
