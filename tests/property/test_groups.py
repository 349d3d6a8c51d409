"""Groups of independent alternatives: equal to the alternatives multiplied out, and to jsonschema.

Multiplied out (`schemagen.schema.groups.FEW` alternatives and fewer are) is the slow way. Both ways have the same masks and the
same shortest completions where keys come in any order, and mostly where all keys are declared outside of the alternatives;
else those multiplied out take keys in the order of each alternative, so that groups are only compared with jsonschema.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import schemagen
from schemagen.errors import LimitError, UnsatisfiableSchemaError
from schemagen.schema import groups

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES = schemagen.Vocabulary.byte_vocabulary()
POINT = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
VALUES: list[Any] = [
    *({}, {"const": 1}, {"type": "integer"}, {"type": "string", "maxLength": 2}, {"enum": [1, "x"]}, POINT),
    *({"type": ["integer", "null"]}, False, {"minimum": 3}),
]
INSTANCES: list[Any] = [1, 2, 3, "x", None, {"a": 1}, "xyz"]


def _part(rng: random.Random, keys: list[str]) -> dict[str, Any]:
    """Return what an alternative asks of some keys; seldom of all."""
    part: dict[str, Any] = {}
    if rng.random() < 0.7:
        part["required"] = rng.sample(keys, rng.randint(1, 2))
    if rng.random() < 0.6:
        part["properties"] = {key: rng.choice(VALUES) for key in rng.sample(keys, rng.randint(1, 2))}
    if rng.random() < 0.05:
        part["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.03:
        part["additionalProperties"] = rng.choice(VALUES)
    return part


def _clause(rng: random.Random, keys: list[str]) -> dict[str, Any]:
    kind = rng.choices(["anyOf", "oneOf", "if", "not", "dependentSchemas", "dependentRequired"], [8, 2, 3, 2, 2, 2])[0]
    if kind in ("anyOf", "oneOf"):
        return {kind: [_part(rng, keys) for _ in range(rng.randint(2, 3) if kind == "anyOf" else 2)]}
    if kind == "if":
        return {"if": _part(rng, keys), "then": _part(rng, keys), "else": _part(rng, keys)}
    if kind == "not":
        return {"not": _part(rng, keys)}
    return {kind: {rng.choice(keys): _part(rng, keys) if kind == "dependentSchemas" else rng.sample(keys, 1)}}


def _schema(rng: random.Random, *, declared: bool) -> tuple[dict[str, Any], list[str]]:
    """Return clauses over pairs of keys, some with a key of another pair, beside what concerns the whole object."""
    count = rng.randint(2, 4)
    keys = [f"{name}{i}" for i in range(count) for name in "ab"]
    clauses = []
    for i in range(count):
        own = [f"a{i}", f"b{i}", *(rng.sample(keys, 1) if rng.random() < 0.25 else [])]
        clauses.append(_clause(rng, list(dict.fromkeys(own))))
    schema: dict[str, Any] = {"type": "object", "allOf": clauses}
    if declared or rng.random() < 0.4:
        order = rng.sample(keys, len(keys) if declared else rng.randint(1, len(keys)))
        schema["properties"] = {key: rng.choice(VALUES) if rng.random() < 0.3 else {} for key in order}
        if rng.random() < 0.3:
            schema["additionalProperties"] = rng.choice([False, {"type": "integer"}])
    if rng.random() < 0.2:
        schema["required"] = rng.sample(keys, 1)
    for bound in ("minProperties", "maxProperties"):
        if rng.random() < 0.08:
            schema[bound] = rng.randint(1, 4)
    if rng.random() < 0.05:
        schema["propertyNames"] = {"pattern": "^[a-c]"}
    if rng.random() < 0.1:
        schema = {"anyOf": [schema, {"type": "object", "required": ["zz"], "properties": {"a0": {"type": "integer"}}}]}
    if rng.random() < 0.1:
        schema = {"type": "array", "items": schema, "maxItems": 2, "uniqueItems": rng.random() < 0.5}
    return schema, keys


def _compiled(schema: Any, order: str, monkeypatch: pytest.MonkeyPatch, *, few: int) -> schemagen.Grammar | None:
    monkeypatch.setattr(groups, "FEW", few)
    try:
        return schemagen.compile(schema, BYTES, property_order=order, cache=None)  # type: ignore[arg-type]
    except UnsatisfiableSchemaError:
        return None


def _walk(rng: random.Random, fast: Any, slow: Any | None, validator: Any) -> None:
    """Compare along a random text, mostly of keys and brackets."""
    text, likely = b"", set(b'"{},:[]ab0123xz')
    while len(text) < 50:
        allowed = fast.allowed_tokens()
        rest = fast.shortest_completion()
        assert validator.is_valid(json.loads(text + rest)), text + rest
        if slow is not None:
            assert slow.allowed_tokens() == allowed, text
            assert slow.shortest_completion() == rest, text
        chosen = [token for token in allowed if BYTES.tokens[token] and BYTES.tokens[token][0] in likely]
        token = rng.choice(chosen if chosen and rng.random() < 0.9 else allowed)
        if not BYTES.tokens[token]:
            return
        for matcher in (fast, slow):
            assert matcher is None or matcher.accept_token(token)
        text += BYTES.tokens[token]


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("seed", range(60))
def test_groups_are_the_product(seed, order, monkeypatch):
    """Masks, shortest completions and verdicts, along random texts and for random values."""
    rng = random.Random(seed)
    declared = order == "schema" and rng.random() < 0.7
    schema, keys = _schema(rng, declared=declared)
    slow, fast = (_compiled(schema, order, monkeypatch, few=few) for few in (10**9, 1))
    assert (slow is None) == (fast is None)
    if slow is None or fast is None:
        return
    validator = Draft202012Validator(schema)
    is_same = order == "any" or declared
    for _ in range(2):
        _walk(rng, fast.matcher(), slow.matcher() if is_same else None, validator)
    for _ in range(40):
        value: Any = {key: rng.choice(INSTANCES) for key in rng.sample(keys, rng.randint(0, min(5, len(keys))))}
        value = [value] if schema.get("type") == "array" else value
        matcher = fast.matcher()
        taken = matcher.accept_bytes(json.dumps(value).encode()) and matcher.is_accepting()
        assert validator.is_valid(value) if taken else order == "schema" or not validator.is_valid(value), value


def _any_of_required(count: int) -> Any:
    return {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(count)]}


def _one_of_required(count: int) -> Any:
    return {"allOf": [{"oneOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(count)]}


def _never_both(count: int) -> Any:
    return {"not": {"anyOf": [{"required": [f"a{i}", f"b{i}"]} for i in range(count)]}}


def _dependent(count: int) -> Any:
    return {
        "type": "object",
        "dependentSchemas": {
            f"a{i}": {"required": [f"b{i}"], "properties": {f"b{i}": {"type": "integer"}}} for i in range(count)
        },
    }


def _if_present(count: int) -> Any:
    return {"allOf": [{"if": {"required": [f"a{i}"]}, "then": {"required": [f"b{i}"]}} for i in range(count)]}


def _if_equal(count: int) -> Any:
    rules = [
        {
            "if": {"properties": {f"a{i}": {"const": 1}}, "required": [f"a{i}"]},
            "then": {"required": [f"b{i}"]},
            "else": {"properties": {f"b{i}": {"type": "string"}}},
        }
        for i in range(count)
    ]
    return {"allOf": rules, "additionalProperties": {"type": ["integer", "string"]}}


FAMILIES = [_any_of_required, _one_of_required, _never_both, _dependent, _if_present, _if_equal]


def _pairs(family: Callable[[int], Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what a pair of keys may have under the rule for it, and what not."""
    validator = Draft202012Validator(family(1))
    options = [{}, *({key: value} for key in ("a0", "b0") for value in (1, 2, "x"))]
    options += [{"a0": first, "b0": second} for first in (1, 2, "x") for second in (1, 2, "x")]
    return [each for each in options if validator.is_valid(each)], [
        each for each in options if not validator.is_valid(each)
    ]


@pytest.mark.parametrize("count", [5, 40])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__[1:])
def test_verdicts_are_those_of_jsonschema(family, count):
    """For values in which all of the rules hold, and all but one."""
    schema, rng = family(count), random.Random(count)
    grammar = schemagen.compile(schema, BYTES, property_order="any", cache=None)
    validator, (good, bad) = Draft202012Validator(schema), _pairs(family)
    for turn in range(100):
        pairs = [rng.choice(good) for _ in range(count)]
        if turn % 2:
            pairs[rng.randrange(count)] = rng.choice(bad)
        members = [(f"{key[0]}{i}", value) for i, pair in enumerate(pairs) for key, value in pair.items()]
        value = dict(rng.sample(members, len(members)))
        matcher = grammar.matcher()
        taken = matcher.accept_bytes(json.dumps(value).encode()) and matcher.is_accepting()
        assert taken == validator.is_valid(value) == (turn % 2 == 0), value


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__[1:])
def test_there_is_no_dead_end(family, order):
    """Random texts end, and end validly."""
    schema, rng = family(30), random.Random(3)
    grammar, validator = (
        schemagen.compile(schema, BYTES, property_order=order, cache=None),
        Draft202012Validator(schema),
    )
    for _ in range(3):
        _walk(rng, grammar.matcher(), None, validator)


@pytest.mark.parametrize("extra", [0, 3, 20])
@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__[1:])
def test_a_budget_suffices(family, order, extra):
    """Random texts within the least budget, or a little more, end in time."""
    schema, rng = family(9), random.Random(extra)
    matcher = schemagen.compile(schema, BYTES, property_order=order, cache=None).matcher()
    left, text = matcher.tokens_to_finish() + extra, b""
    bitmask = np.zeros((1, -(-len(BYTES.tokens) // 32)), dtype=np.int32)
    while left and not (matcher.is_accepting() and rng.random() < 0.3):
        matcher.fill_next_token_bitmask(bitmask, 0, budget=left)
        allowed = [token for token in range(len(BYTES.tokens)) if bitmask[0, token >> 5] >> (token & 31) & 1]
        token = rng.choice(allowed)
        if not BYTES.tokens[token]:
            break
        assert matcher.accept_token(token)
        text, left = text + BYTES.tokens[token], left - 1
    assert Draft202012Validator(schema).is_valid(json.loads(text)), text


def test_keys_come_in_one_order_for_all_alternatives():
    """That of their first declaration."""
    grammar = schemagen.compile(_any_of_required(8), BYTES, cache=None)
    keys = [key for i in range(8) for key in (f"a{i}", f"b{i}")]
    rng = random.Random(1)
    for _ in range(20):
        chosen = [key for i in range(8) for key in sorted(rng.choice([{f"a{i}"}, {f"b{i}"}, {f"a{i}", f"b{i}"}]))]
        matcher = grammar.matcher()
        assert matcher.accept_bytes(json.dumps(dict.fromkeys(chosen, 0) | {"other": 0}).encode()), chosen
        assert matcher.is_accepting()
        rng.shuffle(chosen)
        if [keys.index(key) for key in chosen] != sorted(keys.index(key) for key in chosen):
            assert not grammar.matcher().accept_bytes(json.dumps(dict.fromkeys(chosen, 0)).encode()), chosen


def test_alternatives_with_keys_in_common_multiply():
    """That there are too many of them is said by an error, and not by a long wait."""
    rules = [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}", "c"]}]} for i in range(30)]
    with pytest.raises(LimitError, match="alternatives of one JSON type"):
        schemagen.compile({"type": "object", "allOf": rules}, BYTES, cache=None)


def test_a_bound_on_all_members_multiplies():
    """`maxProperties` concerns all keys: few alternatives are multiplied out, many are refused."""
    for count, is_possible in ((6, True), (16, False)):
        schema = {**_any_of_required(count), "type": "object", "maxProperties": count}
        if not is_possible:
            with pytest.raises(LimitError, match="alternatives of one JSON type"):
                schemagen.compile(schema, BYTES, cache=None)
            continue
        grammar = schemagen.compile(schema, BYTES, property_order="any", cache=None)
        for extra in (0, 1):
            keys = [f"{'ab'[i % 2]}{i}" for i in range(count)] + ["other"] * extra
            matcher = grammar.matcher()
            taken = matcher.accept_bytes(json.dumps(dict.fromkeys(keys, 0)).encode()) and matcher.is_accepting()
            assert taken == (extra == 0)
