"""Many branches: families of schemas whose alternatives would multiply, against jsonschema, on texts near their branches."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import schemagen

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = {"type": "string"}
HASTY = schemagen.Limits(max_seconds=5)


def _object(properties: dict[str, Any], required: list[str], *, closed: bool = False) -> dict[str, Any]:
    rest = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": properties, "required": required, **rest}


def _closed(count: int) -> Any:
    return {"oneOf": [_object({f"k{i}": TEXT, "all": TEXT}, [f"k{i}"], closed=True) for i in range(count)]}


def _closed_without_required(count: int) -> Any:
    return {"oneOf": [_object({f"k{i}": TEXT, "all": TEXT}, [], closed=True) for i in range(count)]}


def _open(count: int) -> Any:
    return {"oneOf": [_object({f"k{i}": TEXT, f"k{i + 1}": {"type": "integer"}}, [f"k{i}"]) for i in range(count)]}


def _open_with_same_options(count: int) -> Any:
    options = {"all": {"type": "array", "items": TEXT}, "any": {"type": "integer"}}
    return {"oneOf": [_object({f"k{i}": TEXT} | json.loads(json.dumps(options)), [f"k{i}"]) for i in range(count)]}


def _kinds(count: int) -> Any:
    return {"oneOf": [_object({"kind": {"const": f"t{i}"}, f"k{i}": TEXT}, ["kind"]) for i in range(count)]}


def _optional_kinds(count: int) -> Any:
    branches = [_object({"kind": {"enum": [f"t{i}"]}, f"k{i}": TEXT}, [], closed=i % 2 == 0) for i in range(count)]
    return {"allOf": [{"required": ["kind"]}, {"oneOf": branches}]}


def _conditions(count: int) -> Any:
    rules = [
        {
            "if": {"properties": {"kind": {"const": f"t{i}"}}},
            "then": {"required": [f"k{i}"]},
            "else": {"not": {"required": [f"k{i}"]}},
        }
        for i in range(count)
    ]
    return {
        "type": "object",
        "properties": {"kind": {"enum": [f"t{i}" for i in range(count)]}},
        "required": ["kind"],
        "allOf": rules,
    }


def _negations(count: int) -> Any:
    """Neither of two kinds of the same shape, beside which something is asked."""
    refused = [
        _object({"kind": {"const": f"t{i}"}, f"k{i}": TEXT, "all": TEXT}, ["kind", f"k{i}"]) for i in range(count)
    ]
    return {"type": "object", "required": ["kind"], "properties": {"kind": TEXT}, "not": {"anyOf": refused}}


def _lists(count: int) -> Any:
    return {
        "oneOf": [
            {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": i, "maxItems": i + 1}
            for i in range(0, count, 2)
        ]
    }


def _nested(count: int) -> Any:
    schema: Any = _object({"k0": TEXT}, ["k0"])
    for i in range(1, count):
        schema = {"oneOf": [schema, _object({f"k{i}": TEXT}, [f"k{i}"])]}
    return schema


def _counted(count: int) -> Any:
    """Some member breaks each of three rules, among many keys: counted, as choices by name would multiply."""
    known = {f"k{i}": {"type": ["integer", "string"]} for i in range(count + 1)}
    rules = [{"not": {"additionalProperties": {"enum": [value, "x"]}}} for value in range(3)]
    return {**_object(known, [], closed=True), "allOf": rules}


#: A family -> how many branches its schemas have.
FAMILIES: dict[Callable[[int], Any], tuple[int, ...]] = {
    _closed: (3, 40),
    _closed_without_required: (3, 20),
    _open: (3, 5),
    _open_with_same_options: (3, 12),
    _kinds: (3, 60),
    _optional_kinds: (3, 12),
    _conditions: (3, 24),
    _negations: (3, 12),
    _lists: (3, 12),
    _counted: (3, 32),
    _nested: (3, 7),
}


def _values(rng: random.Random, count: int) -> list[Any]:
    """Return values that are in no branch, in one, and in several."""
    scalars = ["", "x", 1, None, True, ["x"], [1]]
    made: list[Any] = [{}, [], "x", *([rng.choice(["x", 1, None]) for _ in range(n)] for n in range(count + 2))]
    for _ in range(300):
        keys = [f"k{rng.randrange(count + 1)}" for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        keys += [key for key in ("all", "any", "other") if rng.random() < 0.25]
        value = {key: rng.choice(scalars) if rng.random() < 0.3 else "x" for key in keys}
        if rng.random() < 0.7:
            value["kind"] = (
                f"t{rng.choice([int(keys[0][1:]) if keys and keys[0][1:].isdigit() else 0, rng.randrange(count)])}"
            )
        made.append(value)
    return made


@pytest.mark.parametrize(
    ("family", "count"),
    [pytest.param(f, n, id=f"{f.__name__[1:]}-{n}") for f, sizes in FAMILIES.items() for n in sizes],
)
def test_verdicts_are_those_of_jsonschema(family, count):
    """Values in one branch, in several, and in none."""
    schema, rng = family(count), random.Random(count)
    grammar = schemagen.compile(schema, schemagen.Vocabulary.byte_vocabulary(), property_order="any", cache=None)
    validator = Draft202012Validator(schema)
    verdicts = []
    for value in _values(rng, count):
        matcher = grammar.matcher()
        taken = matcher.accept_bytes(json.dumps(value).encode()) and matcher.is_accepting()
        assert taken == validator.is_valid(value), value
        verdicts.append(taken)
    assert len(set(verdicts)) == 2


@pytest.mark.parametrize("family", [_closed, _kinds], ids=lambda family: family.__name__[1:])
def test_a_thousand_branches_are_told_apart(family):
    """By a key, or by its value, each time in a moment."""
    grammar = schemagen.compile(
        family(1000), schemagen.Vocabulary.byte_vocabulary(), property_order="any", cache=None, limits=HASTY
    )
    rng, is_closed = random.Random(5), family is _closed
    for _ in range(40):
        i, j = rng.sample(range(1000), 2)
        for value, is_right in (
            ({f"k{i}": "x", "kind": f"t{i}"} if not is_closed else {"all": "x", f"k{i}": "x"}, True),
            ({f"k{i}": 1, "kind": f"t{i}"} if not is_closed else {f"k{i}": "x", f"k{j}": "x"}, False),
            ({f"k{i}": 1, "kind": f"t{j}"} if not is_closed else {f"k{i}": 1}, not is_closed),
        ):
            matcher = grammar.matcher()
            assert (matcher.accept_bytes(json.dumps(value).encode()) and matcher.is_accepting()) == is_right, value


@pytest.mark.parametrize("family", [_closed, _kinds, _conditions], ids=lambda family: family.__name__[1:])
def test_there_is_no_dead_end(family):
    """Random texts end, whatever was chosen."""
    schema, rng, vocabulary = family(8), random.Random(7), schemagen.Vocabulary.byte_vocabulary()
    grammar = schemagen.compile(schema, vocabulary, cache=None)
    for _ in range(20):
        matcher, text = grammar.matcher(), b""
        while not matcher.is_accepting() and len(text) < 60:
            token = rng.choice(matcher.allowed_tokens())
            assert matcher.accept_token(token)
            text += vocabulary.tokens[token]
        rest = matcher.shortest_completion()
        assert Draft202012Validator(schema).is_valid(json.loads(text + rest)), text + rest
