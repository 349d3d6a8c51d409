"""Budgets where a key is read (one that is declared, one that was used, or any other), or a string with a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import schemagen
from schemagen.testing import mask_of
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from schemagen.engine.protocol import Matcher

_PIECES = [
    b'":0,',
    b'":0,"',
    b'a":0,',
    b'"a"',
    b'"a":',
    b'ab":',
    b'{"',
    b'":{"',
    b'a":[',
    b"0}",
    b'""',
    b'":{"x',
    b'a":{"x',
    b'":0,"a":',
]
#: So many of them that the masks ask for tokens in classes.
_LONGER = [b"x" + bytes([byte]) for byte in b'abcdefghijklmnopqrs"'] + [b'x":0,', b'x":', b'x":"']
_TOKENS = [*(bytes([byte]) for byte in range(256)), *_PIECES, *_LONGER, b""]
VOCABULARY = Vocabulary.from_tokens(_TOKENS, eos_token_ids=[len(_TOKENS) - 1])
_NUMBER = {"type": "integer"}
#: Keys that are declared, required or not, and in an order; others beside them or none; and alternatives of objects.
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "properties": {"a": _NUMBER}},
    {"type": "object", "properties": {"a": _NUMBER, "ab": {"type": "string", "minLength": 3}}, "required": ["ab"]},
    {"type": "object", "properties": {"a": {"const": "x" * 9}, "ab": _NUMBER}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"anyOf": [{"const": "pq"}, {"const": "rs"}]}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "object", "required": ["long key"]}}},
    {"type": "object", "additionalProperties": {"enum": ["long", "texts"]}, "properties": {"a": _NUMBER}},
    {"type": "object", "propertyNames": {"pattern": "^[ax]+$"}, "properties": {"a": _NUMBER}},
    {"type": "object", "patternProperties": {"^[ax]a?$": {"enum": ["long", 1]}}, "additionalProperties": False},
    {"type": "object", "patternProperties": {"^x": {"type": ["string", "null"]}, "^[ab]?$": {"minimum": 10**6}}},
    {
        "type": "object",
        "patternProperties": {"^xa{0,2}$": {}},
        "additionalProperties": {"const": 7**9},
        "required": ["b"],
    },
    {
        "anyOf": [
            {"type": "object", "properties": {"a": _NUMBER}, "required": ["a", "b"]},
            {"type": "object", "properties": {"x": {"type": "null"}}, "required": ["ab"]},
        ]
    },
]


def _after(schema: dict[str, Any], order: str, begun: bytes) -> Matcher | None:
    grammar = schemagen.compile(schema, VOCABULARY, property_order=order, whitespace="compact", cache=None)
    matcher = grammar.matcher()
    return matcher if matcher.accept_bytes(begun) else None


def _needed(matcher: Matcher) -> dict[int, int]:
    """Return for each token the tokens that are needed after it."""
    needed = {}
    for token in mask_of(matcher, VOCABULARY):
        assert matcher.accept_token(token)
        least = matcher.tokens_to_finish()
        assert least is not None
        needed[token] = least
        matcher.rollback(1)
    return needed


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=[str(schema)[:60] for schema in SCHEMAS])
@pytest.mark.parametrize("begun", ['{"', '{"xa":"long","', '{"":"long","', '{"a', '{"xa":"long","a', '{"xa":"long",'])
def test_masks_are_those_of_each_token_by_itself(schema, order, begun):
    """A token is in the mask if the rest after it fits, and what is needed does not depend on the masks made before."""
    alone = _after(schema, order, begun.encode())
    if alone is None:
        pytest.skip("no text of the schema begins so")
    needed = _needed(alone)
    for budget in range(alone.tokens_to_finish(), max(needed.values()) + 2):
        matcher = _after(schema, order, begun.encode())
        fits = {token for token, tokens in needed.items() if tokens < budget}
        assert mask_of(matcher, VOCABULARY, budget=budget) == fits
        assert _needed(matcher) == needed


#: From most places in them, most letters lead to one and the same place.
PATTERNS = ["ab", "ab|ba", "^[^x]*ab$", "a(x|b)*b", "xab.*xx", "^(ab?|[^ab])*$"]


@pytest.mark.parametrize("lengths", [{}, {"minLength": 4}, {"minLength": 2, "maxLength": 6}], ids=str)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("begun", ['"', '"a', '"ex', '"xa', '"x\\'])
def test_masks_in_strings_are_those_of_each_token_by_itself(pattern, lengths, begun):
    """The tokens that go on alike from another place of the pattern are asked as one, with the few that do not."""
    schema = {"type": "string", "pattern": pattern, **lengths}
    for order in range(2):
        alone = _after(schema, "any", begun.encode())
        if alone is None:
            pytest.skip("no text of the schema begins so")
        needed = _needed(alone)
        for budget in range(alone.tokens_to_finish(), max(needed.values()) + 2)[:: 1 - 2 * order]:
            fits = {token for token, tokens in needed.items() if tokens < budget}
            assert mask_of(alone, VOCABULARY, budget=budget) == fits
