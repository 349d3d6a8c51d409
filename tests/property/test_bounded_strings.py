"""Strings of several branches, each with a length of its own: masks near and far from these, against brute force."""

from __future__ import annotations

import random
from typing import Any

import pytest

import schemagen
from schemagen.vocabulary import Vocabulary
from tests.property.engine_walks import equals_brute_force, random_steps

_INSIDE = [
    *map(chr, range(0x20, 0x7F)),
    "ab",
    "aab",
    "bbbb",
    "abababab",
    "é",
    "é€",
    "€ab",
    '\\"',
    "\\n",
    "\\u00e9",
    "\\u",
    "00",
    "e9",
]
_OUTSIDE = ['":', '"}', '",', '"]', 'ab"', 'b"}', '\\n"}', '{"k": "', '{"k":', '"m"', '"m": "', '", "m": "']
VOCABULARY = Vocabulary.from_tokens(
    [b"", b"\xc3", b"\xa9", b"\xe2\x82", b"\xac", *(text.encode() for text in [*_INSIDE, *_OUTSIDE])], eos_token_ids=[0]
)


def _string(rng: random.Random) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "string"} if rng.random() < 0.8 else {}
    if rng.random() < 0.7:
        out["maxLength"] = rng.choice([1, 3, 7, 9, 12, 40])
    if rng.random() < 0.3:
        out["minLength"] = rng.choice([1, 2, 6])
    if rng.random() < 0.3:
        out["pattern"] = rng.choice(["^a", "b$", "^(ab)*$", "a.b", "^[^a]*é", "^a{2,30}b"])
    return out


def _schema(rng: random.Random) -> dict[str, Any]:
    """Return an object of branches that differ in a string, or an array of such."""

    def branch() -> dict[str, Any]:
        properties = {key: _string(rng) for key in "km" if rng.random() < 0.8}
        return {"properties": properties, "required": [key for key in "km" if rng.random() < 0.5]}

    branches = {"type": "object", rng.choice(["anyOf", "oneOf"]): [branch() for _ in range(rng.choice([2, 2, 3]))]}
    item = branches if rng.random() < 0.7 else {"anyOf": [_string(rng), _string(rng) | {"type": "string"}]}
    if rng.random() < 0.6:
        return item
    return {"type": "array", "items": item, "maxItems": 3, "uniqueItems": rng.random() < 0.5}


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 3000), marks=pytest.mark.slow)], ids=str)
def test_masks_are_those_of_brute_force(seeds: range) -> None:
    """Along random walks, of which most end near a length."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        schema = _schema(rng)
        try:
            grammar = schemagen.compile(schema, VOCABULARY, property_order=rng.choice(["any", "schema"]), cache=None)
        except schemagen.SchemaError:
            continue
        for _ in range(4):
            matcher = grammar.matcher()
            for _ in range(25):
                assert equals_brute_force(matcher, VOCABULARY), (schema, matcher.text)
                compared += 1
                if not random_steps(matcher, VOCABULARY, rng, 1):
                    break
    assert compared > 20 * len(seeds)
