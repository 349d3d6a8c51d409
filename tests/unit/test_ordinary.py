"""What is read without a `Node` means what the keywords say."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from schemagen.schema.algebra import Algebra
from schemagen.schema.keywords import KEYWORDS, Node, asserted
from schemagen.schema.nodes import ValueSet
from schemagen.schema.normalise import Normaliser
from schemagen.schema.ordinary import is_ordinary, ordinary_value

TEXT = {"type": "string"}
NESTED = {"type": "object", "properties": {"b": {"enum": [[1]]}}}

ORDINARY: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "title": "annotations change nothing", "properties": {"a": TEXT, "b": NESTED}},
    {"type": "object", "properties": {"a": TEXT}, "required": ["b", "a", "b"]},
    {"type": "object", "properties": {"a": TEXT}, "required": ["b"], "additionalProperties": NESTED},
    {"type": "object", "properties": {"a": TEXT}, "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": False, "b": {}, "c": True}, "additionalProperties": False},
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
    {"type": "array", "items": TEXT},
    {"type": "array", "items": NESTED},
    {"type": "array", "items": {}},
    {"type": "array", "items": False},
    {"type": "string", "enum": ["a", "b", "a"]},
    {"enum": ["a", ""], "default": "a"},
]

OTHERS: list[dict[str, Any]] = [
    {"properties": {"a": TEXT}},
    {"type": ["object", "null"]},
    {"type": "object", "minProperties": 1},
    {"type": "object", "properties": {"a": 1}},
    {"type": "object", "properties": []},
    {"type": "object", "required": True},
    {"type": "object", "required": [1]},
    {"type": "object", "additionalProperties": "no"},
    {"type": "array"},
    {"type": "array", "items": [TEXT]},
    {"type": "array", "items": TEXT, "additionalItems": False},
    {"type": "array", "items": TEXT, "uniqueItems": True},
    {"type": "string", "enum": []},
    {"type": "string", "enum": ["a", 1]},
    {"type": "string", "enum": "a"},
    {"type": "string", "enum": ["a"], "maxLength": 3},
    {"type": ["string"], "enum": ["a"]},
    {"type": None, "enum": ["a"]},
    {"type": "array", "items": TEXT, "enum": []},
]


def by_keywords(normaliser: Normaliser, schema: dict[str, Any]) -> ValueSet:
    """Return the set of a schema by each of its keywords."""
    record = normaliser.record(normaliser.root)
    node = Node(normaliser, record, schema)
    for name in asserted(schema, record.draft):
        KEYWORDS[name][0](node, schema[name])
    conjuncts = (normaliser.value(expression) for expression in node.conjuncts)
    return reduce(Algebra().intersection, conjuncts, node.local_value())


@pytest.mark.parametrize("schema", ORDINARY, ids=str)
def test_ordinary_schemas_mean_what_their_keywords_say(schema: dict[str, Any]) -> None:
    """The short way and the general one give equal sets."""
    normaliser = Normaliser(schema)
    short = ordinary_value(normaliser.record(normaliser.root), normaliser.expression)
    assert is_ordinary(schema)
    assert short == by_keywords(normaliser, schema)


@pytest.mark.parametrize("schema", OTHERS, ids=str)
def test_everything_else_is_left_to_the_keywords(schema: dict[str, Any]) -> None:
    """Other keywords and invalid values take the general way."""
    assert not is_ordinary(schema)


def test_the_report_finds_the_leaves_of_an_ordinary_schema() -> None:
    """Leaves that were never noted are reported with the schema that they stand in."""
    normaliser = Normaliser({"type": "object", "properties": {"a": TEXT, "b": {"type": "array", "items": TEXT}}})
    normaliser.value(normaliser.root)
    assert [(entry.pointer, entry.keyword) for entry in normaliser.report().entries] == [
        ("", "type"),
        ("", "properties"),
        ("/properties/a", "type"),
    ]
