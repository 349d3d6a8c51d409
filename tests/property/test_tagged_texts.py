"""Parameters between tags against JSON Schema: every small list of members, and texts written by walking the grammar."""

import json
import re
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import jsonschema
import pytest

import schemagen
from schemagen import StructuralTag
from schemagen.calling.parameters import WrittenArguments
from schemagen.engine.protocol import Matcher
from schemagen.grammar.specs import JsonSchema
from schemagen.structural_tags.parameters import Parameters, Style
from schemagen.testing import check_masks, random_text
from tests.grammars import BYTES
from tests.property.tagged_texts import ESCAPED, NESTED, STYLES, read, written

pytestmark = pytest.mark.sampled(3)

INT, TEXT = {"type": "integer"}, {"enum": ["s"]}
ONE, TWO = {"const": 1}, {"const": 2}
POINT = {"type": "object", "properties": {"a": ONE, "b": TWO}, "required": ["a"], "additionalProperties": False}
NAMED = {"type": "object", "properties": {"b": TEXT}, "required": ["b"], "additionalProperties": False}
#: Schemas of objects; each says whether it has other members.
SCHEMAS: dict[str, dict[str, Any]] = {
    "patternProperties": {"patternProperties": {"^x": INT}, "additionalProperties": False},
    "patterns that overlap": {
        "properties": {"x1": {"type": ["integer", "string"]}},
        "patternProperties": {"^x": INT, "1$": {"enum": [1, "s"]}},
        "additionalProperties": False,
    },
    "patterns and others": {
        "properties": {"a": INT},
        "patternProperties": {"^x": INT},
        "additionalProperties": TEXT,
    },
    "propertyNames": {"properties": {"a": INT}, "propertyNames": {"pattern": "^[ax]"}, "additionalProperties": INT},
    "propertyNames that can be listed": {"propertyNames": {"enum": ["x1", "x2", "y"]}, "additionalProperties": INT},
    "listed and declared": {
        "properties": {"a": INT, "b": TEXT},
        "required": ["b"],
        "propertyNames": {"enum": ["a", "b", "y"]},
        "additionalProperties": INT,
    },
    "minProperties": {"properties": {"a": ONE, "b": TWO, "x1": ONE}, "minProperties": 2, "additionalProperties": False},
    "maxProperties": {"properties": {"a": ONE, "b": TWO, "x1": ONE}, "maxProperties": 1, "additionalProperties": False},
    "both bounds": {
        "properties": {"a": ONE, "b": TWO, "x1": ONE},
        "required": ["b"],
        "minProperties": 2,
        "maxProperties": 2,
        "additionalProperties": False,
    },
    "bounds and others": {
        "properties": {"a": ONE, "b": TWO},
        "minProperties": 1,
        "maxProperties": 2,
        "additionalProperties": INT,
    },
    "bounds and patterns": {"patternProperties": {"^x[12]$": INT}, "minProperties": 2, "additionalProperties": False},
    "at least three": {"properties": {"a": ONE}, "minProperties": 3, "additionalProperties": INT},
    "no members": {"properties": {"a": ONE}, "maxProperties": 0},
    "anyOf": {"anyOf": [POINT, NAMED]},
    "oneOf": {"oneOf": [{**POINT, "required": []}, {**POINT, "required": ["b"]}]},
    "anyOf beside properties": {
        "properties": {"a": ONE, "b": TWO},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "additionalProperties": False,
    },
    "allOf": {
        "allOf": [{"properties": {"a": ONE}, "minProperties": 1}, {"patternProperties": {"^x": INT}}],
        "additionalProperties": INT,
        "maxProperties": 2,
    },
    "dependentRequired": {
        "properties": {"a": ONE, "b": TWO},
        "dependentRequired": {"a": ["b"]},
        "additionalProperties": False,
    },
    "not": {"not": {"required": ["a"]}, "additionalProperties": INT},
}
KEYS = ("a", "b", "x1", "x2", "y")
VALUES: tuple[Any, ...] = (1, 2, "s")
#: Of these a member may stand twice: no rule remembers their keys.
FREE = {"patternProperties", "patterns that overlap", "patterns and others", "propertyNames", "bounds and others",
        "at least three", "allOf", "not"}  # fmt: skip


def grammar_of(style: str, schema: dict[str, Any], **options: Any) -> schemagen.Grammar:
    """The grammar of the parameters of an object."""
    body = {"type": "json_schema", "json_schema": {"type": "object", **schema}, "style": style, **options}
    return schemagen.compile(StructuralTag({"type": "structural_tag", "format": body}, closed=False), BYTES, cache=None)


def accepts(grammar: schemagen.Grammar, text: str) -> bool:
    """Whether a text is in the language."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def is_valid(schema: dict[str, Any], members: list[tuple[str, Any]]) -> bool:
    """Whether the object of some members is an instance."""
    validator = jsonschema.Draft202012Validator({"type": "object", **schema})
    return validator.is_valid(dict(members))


def named(schema: dict[str, Any]) -> set[str]:
    """The keys that a schema spells out."""
    return {key for key in KEYS if f'"{key}"' in json.dumps(schema)}


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("style", STYLES)
def test_members_are_those_of_the_schema(style: str, name: str, any_order: bool) -> None:
    """Every accepted object is an instance, and every instance with a few members is accepted, in some order at least."""
    schema = SCHEMAS[name]
    if style == "minimax_m3_xml" and name in FREE:
        with pytest.raises(schemagen.UnsupportedSchemaError, match="not declared"):
            grammar_of(style, schema, any_order=any_order)
        return
    grammar = grammar_of(style, schema, any_order=any_order)
    count = 0
    for size in range(4):
        for keys in product(KEYS, repeat=size):
            if list(keys) != sorted(keys):
                continue
            for values in product(VALUES, repeat=size):
                members = list(zip(keys, values, strict=True))
                orders = [each for each in permutations(members) if accepts(grammar, written(style, list(each)))]
                if len({*keys}) < size:
                    twice = {key for key in keys if keys.count(key) > 1}
                    assert not orders or (name in FREE and not twice & named(schema)), members
                    continue
                assert bool(orders) is is_valid(schema, members), members
                count += bool(orders)
                assert not any_order or len(orders) in (0, len([*permutations(members)])), members
    assert count or name == "at least three"


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("style", [style for style in STYLES if style not in NESTED])
def test_written_members_are_those_of_the_schema(style: str, name: str) -> None:
    """What a walk through the grammar writes is read as members of an instance, keys of any length among them."""
    schema, found = SCHEMAS[name], 0
    grammar = grammar_of(style, schema)
    for seed in range(6):
        text = random_text(grammar, seed=seed, max_tokens=200)
        members = [
            (key, value.strip() if isinstance(value, str) else value)
            for key, value in read(style, text, lambda _, value: value.strip() == "s")
        ]
        keys = [key for key, _ in members]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice & named(schema)
        assert twice or is_valid(schema, members), text
        found += not twice
    assert found


@pytest.mark.parametrize(("style", "name"), [("qwen_xml", "both bounds"), ("cohere_xml", "patterns and others")])
def test_masks_equal_brute_force(style: str, name: str) -> None:
    """In front of each byte the mask holds the tokens that can follow, and no others."""
    assert check_masks(grammar_of(style, SCHEMAS[name]), walks=3) > 10


@pytest.mark.parametrize("style", STYLES)
def test_no_key_holds_what_ends_it(style: str) -> None:
    """A key that the schema spells out is refused; of others those are left out."""
    key = 'a">b</arg_key>'
    declared = {"properties": {key: ONE}}
    if style in ESCAPED:
        assert accepts(grammar_of(style, declared), written(style, [(key, 1)]))
        return
    with pytest.raises(schemagen.UnsupportedSchemaError) as caught:
        grammar_of(style, declared)
    assert caught.value.at == '/format/json_schema/properties/a">b<~1arg_key>'
    if style == "minimax_m3_xml":
        return
    free = grammar_of(style, {"patternProperties": {"^a": ONE}, "additionalProperties": False})
    assert accepts(free, written(style, [("a-b é", 1)]))
    assert not accepts(free, written(style, [(key, 1)]))
    assert not accepts(free, written(style, [("b", 1)]))


#: A style of single characters, whose texts can all be looked at; and objects whose keys are written in a few of them.
TINY = Style("<", (">",), (">",), "/")
LETTERS = "<>/ax1"
SMALL: dict[str, dict[str, Any]] = {
    "a pattern": {"patternProperties": {"x": {"enum": [1, 11]}}, "additionalProperties": False},
    "names": {"properties": {"a": {"type": "integer"}}, "propertyNames": {"maxLength": 1}, "additionalProperties": ONE},
    "strings and numbers": {"properties": {"a": {"pattern": "^x*$", "type": ["string", "integer"]}}, "required": ["a"]},
    "a count": {"properties": {"a": ONE}, "patternProperties": {"^.$": ONE}, "minProperties": 2, "maxProperties": 2},
}


def texts_of(matcher: Matcher, text: str, length: int) -> Iterator[str]:
    """The texts of a grammar over the letters that are no longer than so many of them."""
    if matcher.is_accepting():
        yield text
    for letter in LETTERS if len(text) < length else "":
        if matcher.accept_bytes(letter.encode()):
            yield from texts_of(matcher, text + letter, length)
            matcher.rollback()


def instances(schema: dict[str, Any], text: str) -> bool:
    """Whether the members that a text spells are those of an instance, under one reading of their values."""
    if not re.fullmatch(r"(<[^>]+>[^/]*/)*", text):
        return False
    found = re.findall(r"<([^>]+)>([^/]*)/", text)
    keys = [key for key, _ in found]
    declared = [*schema.get("properties", {})]
    others = [key for key in keys if key not in declared]
    if len({*keys}) < len(keys) or keys != [*sorted({*keys} - {*others}), *others]:
        return False
    readings = [[value, int(value)] if re.fullmatch("1+", value) else [value] for _, value in found]
    return any(is_valid(schema, [*zip(keys, values, strict=True)]) for values in product(*readings))


@pytest.mark.parametrize("name", SMALL)
def test_all_short_texts(name: str) -> None:
    """The grammar derives exactly the texts that spell instances, but for those that repeat a key."""
    schema = {"additionalProperties": False, **SMALL[name]}
    writer = Parameters(JsonSchema(json.dumps({"type": "object", **schema})), TINY, max_gap=0)
    grammar = schemagen.compile(WrittenArguments(writer.grammar(), "members"), BYTES, cache=None)
    found = {*texts_of(grammar.matcher(), "", 10)}
    repeated = {text for text in found if len({*(keys := re.findall("<([^>]*)>", text))}) < len(keys)}
    parts = ["", *(f"<{key}>{value}/" for key in names_of(2) for value in names_of(2, empty=True))]
    wanted = {text for text in map("".join, product(parts, repeat=2)) if len(text) <= 10 and instances(schema, text)}
    assert {text for text in found - repeated if is_short(text)} == wanted
    assert found - repeated <= {text for text in found if instances(schema, text)}
    assert wanted


def names_of(length: int, *, empty: bool = False) -> list[str]:
    """The short texts that may be a key, or a value."""
    letters = LETTERS.replace("/" if empty else ">", "")
    return ["".join(each) for size in range(0 if empty else 1, length + 1) for each in product(letters, repeat=size)]


def is_short(text: str) -> bool:
    """Whether a text has two members at most, with short keys and values."""
    return re.fullmatch("(<[^>]{1,2}>[^/]{0,2}/){0,2}", text) is not None
