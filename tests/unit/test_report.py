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


DEFINED = {"properties": {"a": {"$ref": "#/parts/a~1b"}}, "parts": {"a/b": {"type": "null"}}}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"prefixItems": [True]}}}

#: Schema -> keywords that it does not know: pointer, keyword, note.
UNKNOWN: list[tuple[dict[str, t.Any], list[tuple[str, str, str]]]] = [
    ({"propertees": {}}, [("", "propertees", "not a keyword of JSON Schema: did you mean 'properties'?")]),
    (
        {"properties": {"a": {"type": "string", "maxLenght": 3}}},
        [("/properties/a", "maxLenght", "not a keyword of JSON Schema: did you mean 'maxLength'?")],
    ),
    ({"nullable": True}, [("", "nullable", "not a keyword of JSON Schema")]),
    (DRAFT_7, [("/properties/a", "prefixItems", "a keyword of later drafts")]),
    ({"title": "a", "$comment": "b", "x-unit": "cm", "deprecated": True, "contentMediaType": "text/html"}, []),
    (DEFINED, []),
]


@pytest.mark.filterwarnings("ignore:the schema has no keyword of JSON Schema")
@pytest.mark.parametrize(("schema", "unknown"), UNKNOWN, ids=str)
def test_a_misspelt_keyword_is_unknown(schema: t.Any, unknown: list[tuple[str, str, str]]) -> None:
    """It asserts nothing, like an annotation, but is listed apart; a place that a reference leads to is no keyword."""
    report = schemagen.compile(schema, VOCABULARY, cache=None).report
    assert [(entry.pointer, entry.keyword, entry.note) for entry in report.of_status("unknown")] == unknown
    assert report.is_exact


def test_a_report_is_short_in_a_console() -> None:
    """Its repr has the counts, not the entries."""
    report = schemagen.compile({"type": "string", "title": "a", "maxLen": 3}, VOCABULARY).report
    assert repr(report) == "Report(3 enforced, 1 annotation, 1 unknown)"
    assert report.counts == {"enforced": 3, "annotation": 1, "unknown": 1}
    assert len(str(report).splitlines()) == len(report) == 5
