"""A schema without an instance: the error names the place and the keywords that exclude each other."""

import typing as t

import pytest
from pydantic import BaseModel, Field

import schemagen
from schemagen.errors.pointers import pointer_of
from schemagen.schema import conflicts as explain
from schemagen.schema.conflicts import Clash

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
#: No number at all, to be put somewhere.
NONE = {"type": "integer", "minimum": 10, "maximum": 5}
CROSSED = "minimum 10 and maximum 5 leave no integer"
OLD = "http://json-schema.org/draft-07/schema#"


class Link(BaseModel):
    """It never ends."""

    value: int
    after: "Link"


class Person(BaseModel):
    """Nobody has such a name."""

    name: t.Annotated[str, Field(min_length=5, max_length=3)]


class Group(BaseModel):
    """It has at least one of nobody."""

    people: t.Annotated[list[Person], Field(min_length=1)]


#: Name -> specification, pointer, text.
CASES: dict[str, tuple[t.Any, str, str]] = {
    "bounds that cross": (NONE, "", CROSSED),
    "a required property": ({"type": "object", "properties": {"a": {}, "age": NONE}, "required": ["a", "age"]}, "/properties/age", CROSSED),
    "a property with a slash": ({"type": "object", "properties": {"a/b": NONE}, "required": ["a/b"]}, "/properties/a~1b", CROSSED),
    "a property with a percent sign": ({"type": "object", "properties": {"a%41": NONE}, "required": ["a%41"]}, "/properties/a%41", CROSSED),
    "a key that is forbidden": (
        {"allOf": [{"type": "object", "required": ["x"]}, {"additionalProperties": False}]},
        "", 'the required property "x" at /allOf/0 is forbidden by additionalProperties: false at /allOf/1',
    ),
    "two types": (
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        "", 'type "string" at /allOf/0 and type "integer" at /allOf/1 share no value',
    ),
    "a const outside its enum": ({"const": 3, "enum": [1, 2]}, "", "const 3 and enum [1, 2] share no value"),
    "an enum outside its type": ({"type": "string", "enum": [1, 2]}, "", 'type "string" and enum [1, 2] share no value'),
    "too few different items": (
        {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": True},
        "", 'minItems 3, uniqueItems true and type "boolean" at /items leave no array',
    ),
    "two patterns": (
        {"type": "string", "pattern": "^a", "allOf": [{"pattern": "^b"}, {"minLength": 1}]},
        "", 'pattern "^a" and pattern "^b" at /allOf/0 leave no string',
    ),
    "too few keys": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False, "minProperties": 3},
        "", 'minProperties 3 and additionalProperties false (declared: "a", "b") leave no object',
    ),
    "a recursion without an end": (
        {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}}},
        "/$defs/node", "every instance would contain another one of itself: /$defs/node -> /$defs/node/properties/next",
    ),
    "alternatives that are all empty": (
        {"anyOf": [NONE, {"type": "null", "enum": [1]}]},
        "", f'none of the 2 schemas of anyOf has a value: at /anyOf/0 {CROSSED}; at /anyOf/1 type "null" and enum [1] share no value',
    ),
    "one alternative": ({"anyOf": [NONE]}, "/anyOf/0", CROSSED),
    "alternatives of another type": (
        {"type": "string", "anyOf": [{"type": "integer"}, {"type": "null"}]},
        "", 'type "string", type "integer" at /anyOf/0 and type "null" at /anyOf/1 share no value',
    ),
    "oneOf that is never one": ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, "", "oneOf (exactly one of 2 schemas) leaves no value"),
    "the opposite": ({"type": "string", "not": {"type": "string"}}, "", 'type "string" and not {"type": "string"} share no value'),
    "a property that is false": ({"type": "object", "properties": {"x": False}, "required": ["x"]}, "/properties/x", "the schema is false, which allows nothing"),
    "a property of two parts": (
        {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "null"}}, "required": ["a"]}]},
        "", 'type "string" at /allOf/0/properties/a, required "a" at /allOf/1 and type "null" at /allOf/1/properties/a leave no object',
    ),
    "false": (False, "", "the schema is false, which allows nothing"),
    "half of a surrogate pair": (
        {"const": "a\ud800"}, "", 'const "a\ud800" leaves no value: U+D800 is half of a surrogate pair, which UTF-8 text cannot contain',
    ),
    "half of a surrogate pair in a pattern": (
        {"type": "string", "pattern": "^\ud800$"},
        "", 'pattern "^\ud800$" leaves no string: U+D800 is half of a surrogate pair, which UTF-8 text cannot contain',
    ),
    "an empty enum": ({"enum": []}, "", "enum [] leaves no value"),
    "items that are empty": ({"type": "array", "items": NONE, "minItems": 1}, "/items", CROSSED),
    "items that are false": ({"type": "array", "items": False, "minItems": 1}, "", "minItems 1 and items false leave no array"),
    "the second item": (
        {"type": "array", "prefixItems": [{"type": "null"}, NONE], "minItems": 2}, "/prefixItems/1", CROSSED,
    ),
    "an item that cannot be": (
        {"type": "array", "contains": {"type": "integer"}, "items": {"type": "string"}},
        "", 'type "integer" at /contains and type "string" at /items leave no array',
    ),
    "contains in an empty array": ({"type": "array", "contains": {}, "maxItems": 0}, "", "contains {} and maxItems 0 leave no array"),
    "a key that nothing evaluates": (
        {"type": "object", "allOf": [{"properties": {"x": True}}], "required": ["y"], "unevaluatedProperties": False},
        "", 'allOf [{"properties": {"x": true}}], required "y" and unevaluatedProperties false leave no object',
    ),
    "a name that is not allowed": (
        {"type": "object", "propertyNames": {"pattern": "^a"}, "required": ["b"]},
        "", 'required "b" and pattern "^a" at /propertyNames leave no object',
    ),
    "a multiple between bounds": (
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 2, "multipleOf": 2, "title": "even"},
        "", "minimum 1, exclusiveMaximum 2 and multipleOf 2 leave no integer",
    ),
    "a key that another one calls for": (
        {"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}, "properties": {"b": False}},
        "/properties/b", "the schema is false, which allows nothing",
    ),
    "if without a way out": (
        {"if": {"type": "string"}, "then": False, "else": {"type": "string"}},
        "", 'if {"type": "string"}, then false and else {"type": "string"} share no value',
    ),
    "a format that is longer": ({"type": "string", "format": "date", "maxLength": 3}, "", 'format "date" and maxLength 3 leave no string'),
    "an old draft": ({"$schema": OLD, "$ref": "#/definitions/a", "definitions": {"a": NONE}}, "/definitions/a", CROSSED),
    "one of 100 properties": (
        {"type": "object", "properties": {**{f"p{n}": {"type": "integer"} for n in range(100)}, "z": NONE}, "required": ["p7", "z"]},
        "/properties/z", CROSSED,
    ),
    "a model": (Person, "/properties/name", "maxLength 3 and minLength 5 leave no string"),
    "a model within": (Group, "/$defs/Person/properties/name", "maxLength 3 and minLength 5 leave no string"),
    "a model of itself": (Link, "/$defs/Link", "every instance would contain another one of itself: /$defs/Link -> /$defs/Link/properties/after"),
    "a list of a type": (
        t.Annotated[list[t.Literal["a", "b"]], Field(min_length=1, max_length=0)], "", "maxItems 0 and minItems 1 leave no array",
    ),
}  # fmt: skip


def error_of(spec: t.Any) -> schemagen.UnsatisfiableSchemaError:
    """Compile what has no instance."""
    with pytest.raises(schemagen.UnsatisfiableSchemaError) as caught:
        schemagen.compile(spec, VOCABULARY, cache=None)
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_the_error_names_the_place_and_the_clash(name: str) -> None:
    """The pointer is that of the deepest place that is needed and empty, the text has the keywords with their values."""
    spec, at, why = CASES[name]
    error = error_of(spec)
    assert (error.at, error.why) == (at, why)
    assert error.fix


@pytest.mark.parametrize("most", [0, 1, 2, 5, 9])
def test_too_few_questions_are_no_failure(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search may stop anywhere: then more keywords are named, or none."""
    monkeypatch.setattr(explain, "MAX_TRIALS", most)
    for spec, _, _ in CASES.values():
        assert error_of(spec).why


def test_clauses_are_what_cannot_be_left_out() -> None:
    """Each clause of a clash is needed: without it there is an instance."""
    asked = []

    def is_empty(document: t.Any, pointer: str) -> bool:
        asked.append(pointer)
        return {"const", "enum"} <= document.keys()

    keywords = {"title": "", "const": 1, "minimum": 2, "maximum": 3, "enum": 4, "pattern": 5}
    clash = explain.explain(keywords, is_empty)
    assert isinstance(clash, Clash)
    assert [(clause.keyword, clause.value) for clause in clash.clauses] == [("const", 1), ("enum", 4)]
    assert set(asked) == {""}


def test_pointers_are_escaped() -> None:
    """RFC 6901."""
    assert pointer_of(("a/b", "~", 0)) == "/a~1b/~0/0"
    with pytest.raises(schemagen.InvalidSchemaError) as caught:
        schemagen.compile({"properties": {"a/b": 3}}, VOCABULARY)
    assert caught.value.at == "/properties/a~1b"


@pytest.mark.parametrize("spec", [schemagen.Regex("a\ud800"), schemagen.Choice(["\udfff", "b\udfff"])], ids=ascii)
def test_a_pattern_of_half_a_surrogate_pair_says_so(spec: t.Any) -> None:
    """Its parts do not exclude each other: it asks for what no UTF-8 text contains."""
    with pytest.raises(schemagen.UnsatisfiableSchemaError, match="half of a surrogate pair") as caught:
        schemagen.compile(spec, VOCABULARY, cache=None)
    assert "exclude" not in str(caught.value)
