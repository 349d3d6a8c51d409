"""Random arrays of different items: as satisfiable as counting the values by hand says, and no text meets a dead end."""

import json
import random

import pytest
from jsonschema import Draft202012Validator

import schemagen

#: Every value that the schemas below can have.
_QUARTERS = [k // 4 if k % 4 == 0 else k / 4 for k in range(-32, 33)]
_VALUES = [*_QUARTERS, True, False, None, "", "a", "b", "c", "ab"]
_LISTED = [-1, 0, 0.5, 1, 1.5, 2, True, False, None, "a", "b"]
_RARE = {b" ", b"\n", b"\t", b"\r", b"\\", b"]", b"0"}


def _numbers(rng):
    low = rng.choice([-3, -2, -1.5, -1, 0, 0.5, 1])
    schema = {"type": rng.choice(["number", "integer"]), "multipleOf": rng.choice([0.25, 0.5, 0.75, 1, 1.5, 2])}
    schema[rng.choice(["minimum", "exclusiveMinimum"])] = low
    schema[rng.choice(["maximum", "exclusiveMaximum"])] = low + rng.choice([0, 0.5, 1, 2, 3])
    excluded = rng.choice(
        [None, {"multipleOf": rng.choice([0.5, 1, 1.5, 2])}, {"enum": rng.sample(_VALUES, 3)}, {"const": 0}]
    )
    return schema if excluded is None else {**schema, "not": excluded}


def _listed(rng):
    return {"enum": rng.sample(_LISTED, rng.randint(1, 4))}


def _items(rng, depth=2):
    kind = rng.randrange(6) if depth else rng.randrange(2)
    if kind == 0:
        return _numbers(rng)
    if kind == 1:
        return _listed(rng)
    if kind == 2:
        return {"type": ["boolean", "null"]}
    if kind == 3:
        return {"type": "string", "pattern": rng.choice(["^[ab]$", "^a?b?$", "^(a|b|c)$"])}
    if kind == 4:
        return {"anyOf": [_items(rng, depth - 1), _items(rng, depth - 1)]}
    return {"allOf": [_items(rng, depth - 1), {"not": rng.choice([_listed, _numbers])(rng)}]}


def _schema(rng):
    schema = {"type": "array", "uniqueItems": True, "items": _items(rng), "minItems": rng.randint(0, 5)}
    if rng.random() < 0.4:
        schema["maxItems"] = schema["minItems"] + rng.randint(0, 3)
    if rng.random() < 0.3:
        schema["contains"] = rng.choice([_listed, _numbers])(rng)
        schema["minContains"] = rng.randint(0, 3)
        schema["maxContains"] = schema["minContains"] + rng.choice([0, 1, 9])
    return schema


def _has_instances(schema):
    """Count by hand: some of the values that contains counts, and some of the others."""
    inside, counted = Draft202012Validator(schema["items"]), Draft202012Validator(schema.get("contains", False))
    values = [value for value in _VALUES if inside.is_valid(value)]
    most = sum(map(counted.is_valid, values))
    low, high, others = schema["minItems"], schema.get("maxItems", len(values)), len(values) - most
    least = schema.get("minContains", 1) if "contains" in schema else 0
    ways = range(least, min(most, schema.get("maxContains", most)) + 1)
    return any(max(low - k, 0) <= others and k <= high for k in ways)


def _walk(schema, grammar, rng):
    """Follow random tokens, mostly such as go on; a text that ends is an instance."""
    matcher, tokens = grammar.matcher(), grammar.vocabulary.tokens
    for _ in range(200):
        allowed = matcher.allowed_tokens()
        assert allowed, (json.dumps(schema), matcher)
        weights = [0.1 if tokens[token] in _RARE else 4 if tokens[token] == b"," else 1 for token in allowed]
        token = rng.choices(allowed, weights)[0]
        yield token
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            return


@pytest.mark.parametrize("seed", range(8))
def test_no_walk_runs_out_of_values(seed, byte_vocabulary):
    """A schema compiles where there are enough values and only there, and no mask of a walk is empty."""
    for number in range(25):
        rng = random.Random(f"{seed}/{number}")
        schema = _schema(rng)
        if not _has_instances(schema):
            with pytest.raises(schemagen.UnsatisfiableSchemaError):
                schemagen.compile(schema, byte_vocabulary, cache=None)
            continue
        grammar = schemagen.compile(schema, byte_vocabulary, cache=None)
        eos = set(byte_vocabulary.eos_token_ids)
        for _ in range(3):
            walked = list(_walk(schema, grammar, rng))
            if walked[-1] in eos:
                assert Draft202012Validator(schema).is_valid(json.loads(byte_vocabulary.decode(walked[:-1])))
