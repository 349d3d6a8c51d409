"""What json.dumps writes for a float, against jsonschema: the mask accepts it if and only if the float is valid."""

from __future__ import annotations

import json
import math
import random
import struct

import pytest
from jsonschema import Draft202012Validator

import schemagen
from schemagen.errors import LimitError, UnsatisfiableSchemaError

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()


def any_float(rng: random.Random) -> float:
    """A float of any magnitude."""
    while True:
        value = struct.unpack("<d", rng.randbytes(8))[0]
        if math.isfinite(value):
            return value


def number(rng: random.Random) -> float:
    """A number of a kind that schemas have, or an odd one."""
    kinds = (
        lambda: any_float(rng),
        lambda: rng.randint(-(10**60), 10**60),
        lambda: rng.choice([-1, 1]) * 10 ** rng.randint(0, 60),
        lambda: rng.choice([-1, 1]) * 2 ** rng.randint(50, 200) + rng.randint(-1, 1),
        lambda: rng.choice([-1, 1]) * rng.random() * 10.0 ** rng.randint(-320, 300),
        lambda: rng.randint(-1000, 1000),
        lambda: round(rng.uniform(-100, 100), rng.randint(0, 6)),
        lambda: rng.choice([0, 0.0, 1, -1, 1e23, 1e22, 5e-324, 1.7976931348623157e308, 2.0**53, 2**53 + 1]),
    )
    return rng.choice(kinds)()


def schema_of(rng: random.Random) -> dict:
    """A schema with random bounds."""
    schema = {"type": rng.choice(["number", "number", "integer"])}
    if rng.random() < 0.7:
        schema[rng.choice(["minimum", "exclusiveMinimum"])] = number(rng)
    if rng.random() < 0.7:
        schema[rng.choice(["maximum", "exclusiveMaximum"])] = number(rng)
    return schema


def floats_beside(schema: dict, rng: random.Random) -> list[float]:
    """Floats at the bounds, beside them, and anywhere."""
    out = [any_float(rng), float(rng.randint(-(10**6), 10**6)), rng.uniform(-1e3, 1e3)]
    for bound in schema.values():
        if isinstance(bound, (int, float)):
            at = float(bound)
            out += [at, math.nextafter(at, math.inf), math.nextafter(at, -math.inf), at * 2, at / 3]
            out.append(float(int(at)))
    return [value for value in out if math.isfinite(value)]


def compare(pairs: int, seed: int) -> None:
    """Compare so many pairs of schema and float."""
    rng = random.Random(seed)
    wrong = []
    while pairs > 0:
        schema = schema_of(rng)
        validator = Draft202012Validator(schema)
        try:
            grammar = schemagen.compile(schema, VOCABULARY, cache=None)
        except (UnsatisfiableSchemaError, LimitError):
            grammar = None
        for value in floats_beside(schema, rng):
            pairs -= 1
            text = json.dumps(value)
            matcher = None if grammar is None else grammar.matcher()
            accepted = matcher is not None and matcher.accept_bytes(text.encode()) and matcher.is_accepting()
            if accepted != validator.is_valid(value):
                wrong.append((schema, text, accepted))
    assert wrong == []


def satisfiable(pairs: int, seed: int) -> None:
    """Compile so many pairs of bounds; an error must be right."""
    rng = random.Random(seed)
    wrong = []
    for _ in range(pairs):
        low, high = sorted([number(rng), number(rng)])
        kind = rng.choice(["number", "number", "integer"])
        schema = {"type": kind, "minimum": low, "maximum": high}
        whole = math.ceil(low) <= math.floor(high)
        try:
            grammar = schemagen.compile(schema, VOCABULARY, cache=None)
        except UnsatisfiableSchemaError:
            if kind == "number" or whole:
                wrong.append(schema)
            continue
        text = grammar.matcher().shortest_completion()
        if not Draft202012Validator(schema).is_valid(json.loads(text)):
            wrong.append((schema, text))
    assert wrong == []


def test_dumped_floats_are_accepted_as_jsonschema_says() -> None:
    """Bounds of every kind and floats at, beside and between them."""
    compare(1000, seed=1)


def test_no_bounds_are_called_unsatisfiable_that_are_not() -> None:
    """Two bounds in order have a number between them, and the shortest text is a valid one."""
    satisfiable(150, seed=2)


@pytest.mark.slow
def test_many_dumped_floats_are_accepted_as_jsonschema_says() -> None:
    """As above, for many pairs."""
    compare(200_000, seed=3)


@pytest.mark.slow
def test_many_bounds_are_not_called_unsatisfiable() -> None:
    """As above, for many pairs."""
    satisfiable(20_000, seed=4)
