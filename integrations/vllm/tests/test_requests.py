"""The constraints of requests: each kind of vLLM's, the dialects of grammars, and errors that name the fault."""

import json

import pytest

import schemagen
from schemagen.errors import OptionError, SchemagenError
from schemagen_vllm.requests import compile_request, is_lark
from schemagen_vllm.settings import Settings, settings_of, slot_of
from tests_of_plugin import GRAMMARS

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
TAG = {
    "type": "tag",
    "begin": "<n>",
    "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
    "end": "</n>",
}

#: Kind, text, a text that it takes, one that it does not.
REQUESTS = [
    (
        "JSON",
        '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}',
        '{"a": 1}',
        '{"a": "1"}',
    ),
    ("JSON", '{"type": "array", "uniqueItems": true, "items": {"enum": [1, 2]}}', "[1, 2]", "[1, 1]"),
    ("JSON_OBJECT", "", '{"b": [null]}', "[1]"),
    ("REGEX", "[A-Z]{2}-[0-9]+", "AB-1", "A-1"),
    ("CHOICE", '["yes", "no"]', "no", '"no"'),
    ("GRAMMAR", 'root ::= "a" ("," root)?', "a,a", "a,"),
    ("GRAMMAR", "root ::= [^\\n]{2}  # GBNF, too", "ab", "a"),
    ("GRAMMAR", 'start: "x" NUMBER\nNUMBER: /[0-9]+/', "x12", "x"),
    ("GRAMMAR", '%import common.INT\nstart: "(" INT ")"', "(7)", "7"),
    ("STRUCTURAL_TAG", json.dumps({"type": "structural_tag", "format": TAG}), "<n>12</n>", "<n></n>"),
    (
        "STRUCTURAL_TAG",
        json.dumps(
            {"structures": [{"begin": "<n>", "schema": {"type": "integer"}, "end": "</n>"}], "triggers": ["<n"]}
        ),
        "so <n>12</n>",
        "<nix>",
    ),
]


def takes(grammar, text):
    """Whether a text is one of a grammar."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize(("kind", "text", "good", "bad"), REQUESTS)
def test_a_request_means_what_it_says(kind, text, good, bad):
    """Its grammar takes the one text and not the other."""
    grammar = compile_request(kind, text, VOCABULARY, Settings())
    assert takes(grammar, good)
    assert not takes(grammar, bad)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("JSON", "{", "the schema is not JSON"),
        ("JSON", '{"type": "word"}', "word"),
        ("JSON", '{"$ref": "https://example.org/x"}', "leads nowhere"),
        ("JSON", '{"type": "string", "minLength": 3, "maxLength": 2}', ""),
        ("REGEX", "(a", "never closed"),
        ("REGEX", r"(a)\1", ""),
        ("CHOICE", "[]", "without options"),
        ("CHOICE", "[1]", "an option of a Choice is 1"),
        ("GRAMMAR", "root ::= other", "'other' is not defined"),
        ("GRAMMAR", "start: other", "other"),
        ("STRUCTURAL_TAG", '{"type": "structural_tag"}', "format"),
    ],
)
def test_a_bad_request_is_an_error_with_its_place(kind, text, words):
    """What cannot be compiled is an error of schemagen, which becomes HTTP 400."""
    with pytest.raises(SchemagenError) as caught:
        compile_request(kind, text, VOCABULARY, Settings())
    assert words in str(caught.value)
    assert caught.value.code


@pytest.mark.parametrize(("text", "expected"), GRAMMARS)
def test_lark_is_told_from_ebnf_by_its_definitions(text, expected):
    """``::=`` outside of a comment means EBNF."""
    assert is_lark(text) is expected


def test_json_is_written_as_the_settings_say():
    """Compact means without whitespace; the default takes both layouts."""
    schema = '{"type": "array", "items": {"type": "integer"}}'
    compact = compile_request("JSON", schema, VOCABULARY, settings_of({"SCHEMAGEN_VLLM_WHITESPACE": "compact"}))
    flexible = compile_request("JSON", schema, VOCABULARY, settings_of({}))
    assert [takes(compact, "[1,2]"), takes(compact, "[1, 2]")] == [True, False]
    assert [takes(flexible, "[1,2]"), takes(flexible, "[1, 2]")] == [True, True]


def test_the_environment_is_read_strictly():
    """Nothing set means nothing taken; what cannot be meant is an error with the name of the variable."""
    assert slot_of({}) is None
    assert slot_of({"SCHEMAGEN_VLLM_SLOT": " "}) is None
    assert slot_of({"SCHEMAGEN_VLLM_SLOT": "outlines"}) == "outlines"
    assert settings_of({"SCHEMAGEN_VLLM_MAX_SECONDS": "0.5"}).limits.max_seconds == 0.5
    assert settings_of({}).keeps_budgets
    assert not settings_of({"SCHEMAGEN_VLLM_BUDGET": "off"}).keeps_budgets
    for read, name, value in (
        (slot_of, "SCHEMAGEN_VLLM_SLOT", "xgrammar"),
        (settings_of, "SCHEMAGEN_VLLM_WHITESPACE", "none"),
        (settings_of, "SCHEMAGEN_VLLM_MAX_SECONDS", "soon"),
        (settings_of, "SCHEMAGEN_VLLM_BUDGET", "maybe"),
    ):
        with pytest.raises(OptionError, match=name):
            read({name: value})
    with pytest.raises(OptionError, match="max_seconds"):
        settings_of({"SCHEMAGEN_VLLM_MAX_SECONDS": "0"})
