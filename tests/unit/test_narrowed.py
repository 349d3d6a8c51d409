"""`Grammar.narrowed` allows the values that both schemas allow, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema.validators import validator_for
from pydantic import BaseModel

import schemagen
from schemagen.errors import OptionError

NODE = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}, "c": {"$ref": "#"}},
    "additionalProperties": False,
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

SCHEMAS: list[Any] = [
    True,
    {"type": ["integer", "array", "object"]},
    NODE,
    {**NODE, "$schema": "http://json-schema.org/draft-04/schema#"},
    {**NODE, "$schema": DRAFT_7, "$id": "https://example.com/node"},
    {
        "$schema": DRAFT_7,
        "$ref": "#/definitions/node",
        "maxProperties": 0,  # beside a reference it says nothing in this draft
        "definitions": {"node": {**NODE, "properties": {**NODE["properties"], "c": {"$ref": "#/definitions/node"}}}},
    },
    {
        "anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
        "$defs": {"a": {"required": ["a"]}, "b": {"type": "array"}},
    },
]
FURTHER: list[dict[str, Any]] = [
    {},
    {"properties": {"a": {"enum": [2]}}, "required": ["a"]},
    {"properties": {"c": {"properties": {"b": {"enum": [True]}}, "required": ["b"]}}, "required": ["c"]},
    {"type": "array", "minItems": 1},
    {"enum": [1, {"a": 1}]},
    {"type": "string"},
    {"not": {"properties": {"a": {"enum": [1]}}}},
]
VALUES: list[Any] = [
    1, 2, "x", [], [1], {}, {"a": 1}, {"a": 2}, {"a": 3}, {"a": 2, "b": True}, {"a": 2, "c": {"a": 1}}, {"c": {"b": True}},
    {"c": {"b": False}}, {"c": {"b": True, "c": {"a": 2}}}, {"z": 1}, {"a": 2, "z": 1},
]  # fmt: skip


def is_valid(schema: Any, value: Any) -> bool:
    """Whether jsonschema allows a value."""
    return bool(validator_for(schema)(schema).is_valid(value))


@pytest.mark.parametrize("further", FURTHER, ids=str)
@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:60])
def test_both_schemas_hold(schema, further):
    """A text is allowed if jsonschema allows its value under both; references mean the parts of the first schema."""
    whole = schemagen.compile(
        schema, schemagen.Vocabulary.byte_vocabulary(), whitespace="compact", property_order="any"
    )
    draft = {"$schema": schema["$schema"]} if isinstance(schema, dict) and "$schema" in schema else {}
    expected = [is_valid(schema, value) and is_valid({**draft, **further}, value) for value in VALUES]
    if not whole.has_values(further):
        assert not any(expected)
        assert whole.reason_against(further)
        with pytest.raises(schemagen.UnsatisfiableSchemaError):
            whole.narrowed(further)
        return
    narrowed = whole.narrowed(further)
    for value, allowed in zip(VALUES, expected, strict=True):
        matcher = narrowed.matcher()
        text = json.dumps(value, separators=(",", ":")).encode()
        assert (matcher.accept_bytes(text) and matcher.is_accepting()) == allowed, value


class Tree(BaseModel):
    label: str
    kids: list[Tree] = []


def test_a_type_is_not_changed():
    """pydantic shares the schema of a class: what one grammar demands is not demanded by the next one."""
    whole = schemagen.compile(Tree, schemagen.Vocabulary.byte_vocabulary())
    for label in ("a", "b", "a"):
        narrowed = whole.narrowed({"properties": {"label": {"enum": [label]}}, "required": ["label"]})
        assert narrowed.matcher().shortest_completion() == b'{"label":"%s"}' % label.encode()
        assert narrowed.validate(f'{{"label": "{label}"}}') == Tree(label=label)
    assert whole.matcher().shortest_completion() == b'{"label":""}'
    assert not whole.narrowed({"required": ["kids"]}).report.of_status("unknown")


def test_texts_are_not_narrowed():
    """A pattern has no schema, and the layout of tables is that of their type."""
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    for grammar in (
        schemagen.compile(schemagen.Regex("a"), vocabulary),
        schemagen.compile(Tree, vocabulary, as_="python"),
    ):
        with pytest.raises(OptionError):
            grammar.narrowed({})
    yaml = schemagen.compile(Tree, vocabulary, as_="yaml")
    assert yaml.narrowed({"properties": {"label": {"enum": ["x"]}}}).validate("label: x") == Tree(label="x")


def test_another_vocabulary():
    """The same texts, over other tokens."""
    grammar = schemagen.compile(Tree, schemagen.Vocabulary.byte_vocabulary(), whitespace="compact")
    over = grammar.over(
        schemagen.Vocabulary.from_tokens([*(bytes([i]) for i in range(256)), b'{"', None], eos_token_ids=(257,))
    )
    assert over.matcher().shortest_completion() == grammar.matcher().shortest_completion()
    assert over.vocabulary.size == 258
