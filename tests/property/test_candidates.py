"""The indices that spare comparisons of alternatives (`overlaps.py`, `holders.py`) against the comparisons themselves.

Random branches are compared pair by pair, the slow way: what an index takes apart has to be empty when it is intersected, and
no text may be in both; what an index says cannot hold an object disjunct must not hold it.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemagen.schema import algebra, holders
from schemagen.schema.ir import ANY, NEVER, ObjectDisjunct, Resolved
from schemagen.schema.normalise import Normaliser

KEYS = ["a", "b", "c", "d"]
VALUES: list[Any] = [
    *(True, False, {}, {"const": 1}, {"const": 1.0}, {"const": "x"}, {"enum": [1, "x", None]}, {"enum": [2, True]}),
    *({"type": "integer"}, {"type": "number", "minimum": 2}, {"type": ["string", "null"]}, {"type": "boolean"}),
    *({"const": {"a": 1}}, {"type": "object", "required": ["a"]}, {"const": [1]}, {"type": "array"}),
    *({"anyOf": [{"const": 1}, {"const": "y"}]}, {"not": {"const": 1}}, {"$ref": "#/$defs/x"}, {"enum": ["x", "y"]}),
    *({"$ref": "#/$defs/x", "enum": ["y", "x"]}, {"allOf": [{"enum": [1, 2]}], "type": "integer"}, {"const": 1e23}),
]
INSTANCES: list[Any] = [1, 2, 1.0, 1.5, "x", "y", None, True, False, {"a": 1}, {}, [1], [], 1e23, 10**23]


def _object(rng: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"properties": {key: rng.choice(VALUES) for key in rng.sample(KEYS, rng.randint(0, 3))}}
    if rng.random() < 0.8:
        made["type"] = "object"
    if rng.random() < 0.7:
        made["required"] = rng.sample(KEYS, rng.randint(1, 2))
    if rng.random() < 0.5:
        made["additionalProperties"] = rng.choice([False, False, {"type": "integer"}, {"const": "x"}])
    if rng.random() < 0.1:
        made["patternProperties"] = {"^[ab]$": rng.choice(VALUES)}
    if rng.random() < 0.1:
        made["propertyNames"] = {"enum": KEYS[:2]}
    if rng.random() < 0.1:
        made["minProperties"] = 1
    return made


def _branch(rng: random.Random) -> Any:
    if rng.random() < 0.2:
        return rng.choice(VALUES)
    made = _object(rng)
    if rng.random() < 0.15:
        made["anyOf"] = [_object(rng), rng.choice([_object(rng), {"type": "string"}])]
    return made


def _instances(rng: random.Random) -> list[Any]:
    made = [{key: rng.choice(INSTANCES) for key in rng.sample(KEYS, rng.randint(0, 4))} for _ in range(150)]
    return [*INSTANCES, *made]


def _schema(rng: random.Random) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "$defs": {"x": {"const": "x"}},
        "oneOf": [_branch(rng) for _ in range(rng.randint(2, 12))],
    }
    if rng.random() < 0.4:
        schema |= {"type": rng.choice(["object", ["object", "string"]]), "required": rng.sample(KEYS, 1)}
    return schema


@pytest.mark.parametrize("seed", range(250))
def test_what_the_index_takes_apart_has_no_value_in_common(seed):
    """By the intersection of both branches, and by jsonschema."""
    rng = random.Random(seed)
    schema = _schema(rng)
    reader = Normaliser(schema)
    reader.value(reader.root)
    node = reader.node(reader.root)
    parts = node.exclusive[0]
    context = [Resolved(node.local_value())]
    meets = reader.may_meet(parts, context)
    beside = {key: schema[key] for key in ("type", "required") if key in schema}
    texts = [value for value in _instances(rng) if Draft202012Validator(beside).is_valid(value)]
    judges = [
        Draft202012Validator({**branch, "$defs": schema["$defs"]} if branch not in (True, False) else branch)
        for branch in schema["oneOf"]
    ]
    allowed = [{k for k, value in enumerate(texts) if judge.is_valid(value)} for judge in judges]
    for i, j in combinations(range(len(parts)), 2):
        assert (j in meets[i]) == (i in meets[j])
        if j not in meets[i]:
            assert not allowed[i] & allowed[j], (schema["oneOf"][i], schema["oneOf"][j])
            assert reader.disjoint([*context, parts[i], parts[j]]), (schema["oneOf"][i], schema["oneOf"][j])


@pytest.mark.parametrize("seed", range(100))
def test_what_the_index_leaves_out_holds_nothing(seed):
    """For disjuncts of values, of their products, and of their complements."""
    rng = random.Random(seed)
    reader = Normaliser(
        {"$defs": {"x": {"const": "x"}}, "anyOf": [{"type": "object", **_object(rng)} for _ in range(12)]}
    )
    found = [each for part in reader.node(reader.root).conjuncts[0].parts for each in reader.value(part).objects]
    found += [met for a, b in combinations(found, 2) if (met := algebra.both_objects(a, b)) is not None]
    found += [each for one in found[:12] for each in algebra.not_object(one)]
    found += [ObjectDisjunct((("a", value),), frozenset(required)) for value in (ANY, NEVER) for required in ("", "a")]
    rng.shuffle(found)
    kept = found[:60]
    for inner in kept:
        may = set(holders.Holders(kept).of(inner))
        assert all(k in may or not algebra.object_inside(inner, outer) for k, outer in enumerate(kept))


@pytest.mark.parametrize("seed", range(60))
def test_disjuncts_are_absorbed_as_without_an_index(seed, monkeypatch):
    """The same ones, in the same order."""
    rng = random.Random(seed)
    parts = [_object(rng) for _ in range(20)]
    reader = Normaliser({"$defs": {"x": {"const": "x"}}, "anyOf": parts})
    values = [reader.value(part) for part in reader.node(reader.root).conjuncts[0].parts]
    fast = algebra.union(values)
    monkeypatch.setattr(holders, "FEW", 10**9)
    assert algebra.union(values) == fast
