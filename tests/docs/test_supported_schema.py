"""The page of supported schemas says what the package does: each row of its table is tried."""

import re
from pathlib import Path
from typing import Any

import pytest

import schemagen
from schemagen.schema.keyword_table import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "supported-schema.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (enforced|enforced, in part) \|", PAGE, flags=re.MULTILINE))
OLD = "http://json-schema.org/draft-07/schema#"
NEW = "https://json-schema.org/draft/2019-09/schema"
AB = {"type": "object", "properties": {"a": True, "b": True}, "additionalProperties": False}

#: keyword -> schema, a text that it allows, a text that only this keyword forbids.
ENFORCED: dict[str, tuple[Any, str, str]] = {
    "type": ({"type": ["integer", "null"]}, "null", "true"),
    "enum": ({"enum": ["é", 2]}, '"é"', "3"),
    "const": ({"const": [1, {}]}, "[1, {}]", "[1, {}, 1]"),
    "$ref": ({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}, "[[[]]]", "[[1]]"),
    "allOf": ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "3", "2"),
    "anyOf": ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", "null"),
    "oneOf": ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]}, "1", "2"),
    "not": ({"type": "integer", "not": {"minimum": 5}}, "4", "5"),
    "if": ({"type": "integer", "if": {"minimum": 5}, "then": {"multipleOf": 2}, "else": {"multipleOf": 3}}, "6", "7"),
    "minimum": ({"type": "number", "minimum": 0.1}, "0.1", "0.09"),
    "maximum": ({"type": "number", "maximum": 0.1}, "0.1", "0.11"),
    "exclusiveMinimum": ({"type": "number", "exclusiveMinimum": 1}, "1.5", "1"),
    "exclusiveMaximum": ({"type": "number", "exclusiveMaximum": 1}, "0.5", "1"),
    "multipleOf": ({"type": "number", "multipleOf": 0.25}, "0.75", "0.8"),
    "minLength": ({"type": "string", "minLength": 2}, '"ü\\u00fc"', '"ü"'),
    "maxLength": ({"type": "string", "maxLength": 1}, '"ü"', '"uu"'),
    "pattern": ({"type": "string", "pattern": "b(?=c)"}, '"abcd"', '"abx"'),
    "format": ({"type": "string", "format": "date"}, '"2024-02-29"', '"2023-02-29"'),
    "prefixItems": ({"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "integer"}}, "[null, 1]", "[1]"),
    "items": ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", "[1, null]"),
    "minItems": ({"type": "array", "items": True, "minItems": 2}, "[1, 2]", "[1]"),
    "maxItems": ({"type": "array", "items": True, "maxItems": 1}, "[1]", "[1, 2]"),
    "uniqueItems": ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1, 2]", "[1, 1]"),
    "contains": ({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 3}, "maxContains": 1}, "[1, 3]", "[3, 4]"),
    "properties": ({"type": "object", "properties": {"a": {"type": "integer"}}}, '{"a": 1}', '{"a": null}'),
    "patternProperties": ({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}, '{"x1": 1}', '{"x1": null}'),
    "additionalProperties": (AB, '{"a": 1}', '{"c": 1}'),
    "propertyNames": ({"type": "object", "propertyNames": {"maxLength": 2}}, '{"ab": 1}', '{"abc": 1}'),
    "required": ({"type": "object", "required": ["z"]}, '{"z": 1}', "{}"),
    "minProperties": ({**AB, "minProperties": 1}, '{"b": 1}', "{}"),
    "maxProperties": ({**AB, "maxProperties": 1}, '{"b": 1}', '{"a": 1, "b": 1}'),
    "dependencies": ({**AB, "$schema": OLD, "dependencies": {"a": ["b"]}}, '{"b": 1}', '{"a": 1}'),
    "dependentRequired": ({**AB, "dependentRequired": {"a": ["b"]}}, '{"b": 1}', '{"a": 1}'),
    "dependentSchemas": ({**AB, "dependentSchemas": {"a": {"required": ["b"]}}}, '{"b": 1}', '{"a": 1}'),
    "unevaluatedProperties": ({"type": "object", "allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, '{"a": 1}', '{"b": 1}'),
    "unevaluatedItems": ({"type": "array", "anyOf": [{"prefixItems": [True]}], "unevaluatedItems": False}, "[1]", "[1, 2]"),
    "$dynamicRef": ({"$dynamicAnchor": "t", "type": "array", "items": {"$dynamicRef": "#t"}}, "[[]]", "[1]"),
    "$recursiveRef": ({"$schema": NEW, "$recursiveAnchor": True, "type": "array", "items": {"$recursiveRef": "#"}}, "[[]]", "[1]"),
}  # fmt: skip
#: Of the keywords that are enforced in part: a schema that raises instead.
RAISES: dict[str, Any] = {
    "oneOf": {"oneOf": [{"uniqueItems": True}, {"items": {"type": "integer"}}]},
    "not": {"type": "array", "not": {"uniqueItems": True}},
    "if": {"if": {"uniqueItems": True}, "then": {"type": "null"}},
    "pattern": {"type": "string", "pattern": r"(a)\1"},
}


def accepts(schema: Any, text: str) -> bool:
    """Whether the grammar of a schema takes the whole text."""
    matcher = schemagen.compile(schema, schemagen.Vocabulary.byte_vocabulary()).matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def test_the_table_has_every_keyword() -> None:
    """One row for each keyword that the front end knows, and no other; each with an example below."""
    assert sorted(ROWS) == sorted(READERS)
    assert ROWS.keys() == ENFORCED.keys()
    assert {keyword for keyword, status in ROWS.items() if status != "enforced"} == RAISES.keys()


@pytest.mark.parametrize("keyword", ENFORCED)
def test_enforced(keyword: str) -> None:
    """The mask takes a text that the keyword allows and stops one that only this keyword forbids."""
    schema, allowed, forbidden = ENFORCED[keyword]
    assert accepts(schema, allowed)
    assert not accepts(schema, forbidden)
    if not keyword.endswith("Ref"):
        assert accepts({name: value for name, value in schema.items() if name != keyword}, forbidden)


@pytest.mark.parametrize("keyword", RAISES)
def test_raises(keyword: str) -> None:
    """What cannot be enforced raises and names its place, and is checked afterwards only if asked for."""
    with pytest.raises(schemagen.UnsupportedSchemaError) as caught:
        schemagen.compile(RAISES[keyword], schemagen.Vocabulary.byte_vocabulary())
    assert f"/{keyword}" in caught.value.at
    relaxed = schemagen.compile(RAISES[keyword], schemagen.Vocabulary.byte_vocabulary(), strict=False)
    assert not relaxed.report.is_exact
