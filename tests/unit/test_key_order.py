"""`in_order_of` declares properties in the order of a text, and changes no value."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from jsonschema.validators import validator_for
from pydantic import BaseModel

import schemagen
from schemagen.schema.key_order import in_order_of, keys_of_objects


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"b": 1, "a": {"c": 2}}', [("c",), ("b", "a")]),
        ('{\'b\': 1, a: [{c: 2}, {"d\\"": 3', [("c",), ('d\\"',), ("b", "a")]),
        ("Note: {}", [("Note",)]),
        ("}}{", []),
    ],
)
def test_keys_are_found(text, keys):
    """In objects with any quotes, and in those that are not closed."""
    assert keys_of_objects(text) == keys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a:, b:, c:}", "abc"),
        ("{c:, a:}", "cab"),
        ("{b:, a:}", "bca"),  # c stays after b
        ("{}", "abc"),
    ],
)
def test_order_of_a_closed_object(text, expected):
    """Keys of the text come in its order; others stay after the one that is declared before them."""
    schema = {"type": "object", "properties": dict.fromkeys("abc", True), "additionalProperties": False}
    assert "".join(in_order_of(keys_of_objects(text), schema)["properties"]) == expected


def test_a_misspelt_key_keeps_its_place():
    """So that correcting it does not move it."""
    schema = {"properties": {"name": {}, "colour": {}, "age": {}}, "additionalProperties": False}
    keys = keys_of_objects('{"age": 1, "color": 2, "name": 3}')
    assert list(in_order_of(keys, schema)["properties"]) == ["age", "colour", "name"]


SCHEMAS: list[dict[str, Any]] = [
    {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
    {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"properties": {"a": {"type": "integer"}}, "patternProperties": {"^c": {"type": "string"}}},
    {"allOf": [{"properties": {"a": {"type": "integer"}}}], "unevaluatedProperties": False},
    {"properties": {"properties": {"properties": {"b": False, "a": True}}}, "additionalProperties": False},
    {"enum": [{"properties": {"b": 1, "a": 2}}, {"a": 1}], "required": ["a"]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_values_are_the_same(schema):
    """jsonschema allows the same values before and after, in closed and in open objects."""
    rng = random.Random(0)
    parts = [1, "x", {"a": 1}, {"b": 1}, {"properties": {"b": 1, "a": 2}}]
    names = ("a", "b", "c", "properties")
    values = [
        dict(zip(names, each, strict=False)) for size in range(5) for each in itertools.product(parts, repeat=size)
    ]
    for text in ("{b:, a:}", "{c:, b:, a: {b:}}", "{properties: {b:, a:}, c:}"):
        reordered = in_order_of(keys_of_objects(text), schema)
        before, after = (validator_for(each)(each) for each in (schema, reordered))
        for value in rng.sample(values, 200):
            assert before.is_valid(value) == after.is_valid(value), (text, value)


class Inner(BaseModel):
    x: int
    y: int


class Outer(BaseModel):
    a: int
    inner: Inner


def test_types():
    """Classes that pydantic moves into definitions are reordered, too; the type itself stays as it was."""
    grammar = schemagen.compile(Outer, schemagen.Vocabulary.byte_vocabulary(), whitespace="compact")
    reordered = grammar.reordered(keys_of_objects('{"inner": {"y": 1, "x": 2}, "a": 3}'))
    assert reordered.matcher().shortest_completion() == b'{"inner":{"y":0,"x":0},"a":0}'
    assert reordered.validate('{"inner":{"y":0,"x":0},"a":0}') == Outer(a=0, inner=Inner(x=0, y=0))
    again = schemagen.compile(Outer, schemagen.Vocabulary.byte_vocabulary(), whitespace="compact")
    assert again.matcher().shortest_completion() == b'{"a":0,"inner":{"x":0,"y":0}}'
