"""How prompts tell a model which JSON to write."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter

from schemagen.errors import GenerationError, OptionError
from schemagen.options.values import check_show_schema
from schemagen.prompts.messages import as_messages
from schemagen.prompts.shapes import SHAPE_INSTRUCTION, example_text, schema_text, shape_text, told, typescript_text


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    title: str
    count: Annotated[int, Field(ge=2)]


class Whole(BaseModel):
    name: Annotated[str, Field(description="full  name")]
    color: Color
    size: float | None
    parts: list[Part]
    pair: tuple[int, bool]
    fixed: Literal["x"]
    note: str = ""


class Tree(BaseModel):
    value: int
    children: list[Tree]


SCHEMA = TypeAdapter(Whole).json_schema()
ANYTHING = [
    True, False, {}, {"$ref": "#/$defs/Nowhere"}, {"$ref": "#"}, {"type": ["string", "null"]}, {"anyOf": []},
    {"type": "array"}, {"type": "object"}, {"allOf": [{"type": "string"}, {"minLength": 3}]}, {"enum": [1, None]},
    {"const": {"a": [1]}}, {"type": "null"}, {"properties": {"a b": True}}, {"type": "unknown"}, {"oneOf": [True]},
]  # fmt: skip

WITHOUT_EXAMPLE = [False, {"$ref": "#/$defs/Nowhere"}, {"$ref": "#"}, {"anyOf": []}, {"type": "unknown"}]


def test_typescript_is_a_declaration():
    """Optional keys carry a question mark, descriptions stand after their field."""
    assert typescript_text(SCHEMA) == (
        "type Answer = {\n"
        "  name: string; // full name\n"
        '  color: "red" | "blue";\n'
        "  size: number | null;\n"
        "  parts: Array<{\n"
        "    title: string;\n"
        "    count: number;\n"
        "  }>;\n"
        "  pair: [number, boolean];\n"
        '  fixed: "x";\n'
        "  note?: string;\n"
        "};"
    )


def test_an_example_has_every_key_in_order():
    """It is an instance: bounds are kept, an option is chosen, and a description stands for its text."""
    assert json.loads(example_text(SCHEMA)) == {
        "name": "full name",
        "color": "red",
        "size": 1.5,
        "parts": [{"title": "...", "count": 2}],
        "pair": [1, True],
        "fixed": "x",
        "note": "...",
    }
    assert list(json.loads(example_text(SCHEMA))) == list(SCHEMA["properties"])


def test_alternatives_are_examples_of_their_own():
    """One line for each."""
    lines = example_text(TypeAdapter(Part | Color).json_schema()).splitlines()
    assert [json.loads(line) for line in lines] == [{"title": "...", "count": 2}, "red"]


def test_json_schema_leaves_out_what_says_nothing():
    """Titles, and that objects are closed; a property may be called title, and a default may be anything."""
    schema = {**SCHEMA, "additionalProperties": False}
    found = json.loads(schema_text(schema))
    assert found["$defs"]["Part"]["properties"] == {
        "title": {"type": "string"},
        "count": {"minimum": 2, "type": "integer"},
    }
    assert "title" not in found
    assert "additionalProperties" not in found
    kept = {"const": {"title": "x"}, "additionalProperties": {"title": "y", "type": "string"}}
    assert json.loads(schema_text(kept)) == {**kept, "additionalProperties": {"type": "string"}}


@pytest.mark.parametrize("render", [schema_text, example_text, typescript_text])
def test_recursion_ends(render):
    """A type that contains itself is told to some depth."""
    assert len(render(TypeAdapter(Tree).json_schema())) < 2000


@pytest.mark.parametrize("render", [schema_text, shape_text, typescript_text])
@pytest.mark.parametrize("schema", ANYTHING, ids=str)
def test_every_schema_is_told_somehow(render, schema):
    """What cannot be said is left out: a rendering never fails."""
    assert render(schema)


@pytest.mark.parametrize("schema", ANYTHING, ids=str)
def test_an_example_is_valid_or_refused(schema):
    """A schema without instances has no example, and the error says what to give instead."""
    if schema in WITHOUT_EXAMPLE:
        with pytest.raises(OptionError) as caught:
            example_text(schema)
        assert "'shape'" in caught.value.fix
    else:
        Draft202012Validator(schema).validate(json.loads(example_text(schema)))


def test_true_is_the_shape():
    """The bundled model was trained on it."""
    assert told(SCHEMA, True) == told(SCHEMA, "shape") == f"{SHAPE_INSTRUCTION}\n{shape_text(SCHEMA)}"


@pytest.mark.parametrize("value", [None, 1, "", "Shape", "json-schema", ["shape"], {}])
def test_what_names_no_rendering_is_refused(value):
    """It would count as True."""
    with pytest.raises(OptionError) as caught:
        check_show_schema(value)
    assert "'typescript'" in caught.value.why


def test_a_wrong_prompt_is_told_all_that_a_prompt_may_be():
    """A text, and a list of messages as well; a content may be a list of parts."""
    with pytest.raises(GenerationError) as caught:
        as_messages(5)
    assert caught.value.fix == "give a str, or a list of messages"
    with pytest.raises(GenerationError) as caught:
        as_messages([{"role": "user", "content": 5}])
    assert caught.value.fix.startswith("give a str, or a list of parts")
