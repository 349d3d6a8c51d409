"""`Grammar.report`: each keyword once, at the pointer of its schema."""

import typing as t

import pytest

import schemagen

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
ECHO = {"type": "string", "pattern": r"^(.)\1$"}
UNIQUE = {"type": "array", "uniqueItems": True}
LONG = {"type": "array", "minItems": 3}

#: Schema -> what is left to the check of the finished value: pointer and keyword.
LEFT: list[tuple[dict[str, t.Any], list[tuple[str, str]]]] = [
    (ECHO, [("", "pattern")]),
    ({"properties": {"a": ECHO}}, [("/properties/a", "pattern")]),
    ({"patternProperties": {r"^(.)\1$": {}}, "unevaluatedProperties": False}, [("", "patternProperties")]),
    ({"not": ECHO}, [("/not", "pattern")]),
    ({"not": {"properties": {"a": UNIQUE}}}, [("", "not")]),
    ({"properties": {"if": {"oneOf": [UNIQUE, LONG]}}}, [("/properties/if", "oneOf")]),
    ({"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": {"a": UNIQUE, "b": LONG}}, [("", "oneOf")]),
    ({"if": UNIQUE, "then": {"minItems": 2}}, [("", "if")]),
]


@pytest.mark.parametrize(("schema", "left"), LEFT, ids=str)
def test_a_keyword_that_is_only_checked_is_listed_once(schema: t.Any, left: list[tuple[str, str]]) -> None:
    """It takes the place of the entry that would call it enforced."""
    report = schemagen.compile(schema, VOCABULARY, strict=False, cache=None).report
    assert [(entry.pointer, entry.keyword) for entry in report.of_status("checked_after")] == left
    named = [(entry.pointer, entry.keyword) for entry in report]
    assert len(named) == len(set(named))
    for pointer, keyword in left:
        assert (pointer, keyword) in named
