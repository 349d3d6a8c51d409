"""Typical schemas with valid and invalid instances, made from a seed, so that the benchmarks need no data.

Shapes are those of function calling, extraction and configuration files: flat and nested records, lists, enumerations,
formats, bounds, unions with a discriminator, maps, trees. Invalid instances are valid ones with one fault. Every label is
checked by `jsonschema`, so a mistake here cannot be held against an engine.
"""

from __future__ import annotations

import copy
import random
from typing import Any

WORDS = (
    *("name", "title", "city", "email", "status", "price", "count", "tags", "owner", "id", "created", "size", "color"),
    *("address", "comment", "country", "active", "rating", "weight", "language", "notes", "parent", "url", "version"),
)
TEXTS = (
    *("Ada Lovelace", "London", "a short note", "It's 5 o'clock", 'she said "no"', "café", "東京", "line\nbreak"),
    *("the quick brown fox jumps over the lazy dog and does not look back", "", "x", "naïve façade", "C:\\temp", "😀"),
)
FORMATS = {
    "date": ("2024-02-29", "1999-12-31"),
    "date-time": ("2024-05-01T12:30:00Z", "2001-01-01T00:00:00.5+02:00"),
    "email": ("ada@example.org", "first.last@mail.example.com"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "00000000-0000-4000-8000-000000000000"),
    "ipv4": ("192.168.0.1", "8.8.8.8"),
}
PATTERNS = {
    "^[A-Z]{2}-[0-9]{4}$": ("AB-1234", "ZZ-0000"),
    "^v[0-9]+(\\.[0-9]+){1,2}$": ("v1.2", "v10.20.30"),
    "^(\\+[0-9]{2} )?[0-9]{3,12}$": ("+44 2079460958", "12345"),
}
_KINDS = ("text", "short", "integer", "bounded", "number", "boolean", "choice", "format", "pattern", "list", "nullable")
_DEPTH = 3


def generate(count: int, seed: int) -> list[dict[str, Any]]:
    """Return schemas with instances, in the format of `masks.py`; the same for the same seed."""
    rng = random.Random(seed)
    shapes = (_record, _record, _union, _map, _tree)
    return [_case(f"generated---{number}", shapes[number % len(shapes)](rng), rng) for number in range(count)]


Shape = tuple[dict[str, Any], list[Any]]


def _case(name: str, shape: Shape, rng: random.Random) -> dict[str, Any]:
    from jsonschema import Draft202012Validator

    schema, instances = shape
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    broken = [_break(instance, rng) for instance in instances]
    tests = [{"valid": validator.is_valid(data), "data": data} for data in (*instances, *broken)]
    return {"id": name, "schema": schema, "tests": tests}


def _value(rng: random.Random, depth: int) -> Shape:
    """Return a schema for a value and two instances of it."""
    kinds = (*_KINDS, "record") if depth < _DEPTH else _KINDS
    kind = rng.choice(kinds)
    if kind == "record":
        return _record(rng, depth + 1)
    if kind == "list":
        items, values = _value(rng, depth + 1)
        repeats = [rng.choices(values, k=rng.randint(1, 5)) for _ in range(2)]
        return {"type": "array", "items": items, "minItems": 1, "maxItems": 10}, repeats
    if kind == "nullable":
        some, values = _value(rng, depth + 1)
        return {"anyOf": [some, {"type": "null"}]}, [values[0], None]
    return _scalar(rng, kind)


def _scalar(rng: random.Random, kind: str) -> Shape:
    if kind == "choice":
        options = rng.sample(WORDS, rng.randint(2, 8))
        return {"enum": options}, rng.choices(options, k=2)
    if kind == "format":
        name = rng.choice(list(FORMATS))
        return {"type": "string", "format": name}, list(FORMATS[name])
    if kind == "pattern":
        pattern = rng.choice(list(PATTERNS))
        return {"type": "string", "pattern": pattern}, list(PATTERNS[pattern])
    if kind == "bounded":
        low = rng.randint(-50, 50)
        high = low + rng.randint(1, 1000)
        return {"type": "integer", "minimum": low, "maximum": high}, [low, rng.randint(low, high)]
    plain: dict[str, Shape] = {
        "text": ({"type": "string"}, rng.choices(TEXTS, k=2)),
        "short": ({"type": "string", "minLength": 1, "maxLength": 40}, ["a", rng.choice(WORDS)]),
        "integer": ({"type": "integer"}, [0, rng.randint(-(10**9), 10**9)]),
        "number": ({"type": "number"}, [round(rng.uniform(-1000, 1000), 3), 1e-07]),
        "boolean": ({"type": "boolean"}, [True, False]),
    }
    return plain[kind]


def _record(rng: random.Random, depth: int = 0) -> Shape:
    """An object with declared properties, some of them required; the instances keep the order of declaration."""
    names = rng.sample(WORDS, rng.randint(2, 8))
    shapes = {name: _value(rng, depth) for name in names}
    required = sorted(rng.sample(names, rng.randint(1, len(names))), key=names.index)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: shape[0] for name, shape in shapes.items()},
        "required": required,
    }
    if rng.random() < 0.7:
        schema["additionalProperties"] = False
    full = {name: shape[1][0] for name, shape in shapes.items()}
    least = {name: shape[1][1] for name, shape in shapes.items() if name in required}
    return schema, [full, least]


def _union(rng: random.Random) -> Shape:
    """One of several records, told apart by a constant."""
    options, instances = [], []
    for name in rng.sample(WORDS, rng.randint(2, 6)):
        schema, (full, _) = _record(rng, _DEPTH - 1)
        kind = {"kind": {"const": name}}
        options.append(
            {**schema, "properties": {**kind, **schema["properties"]}, "required": ["kind", *schema["required"]]}
        )
        instances.append({"kind": name, **full})
    return {"oneOf": options}, instances[:3]


def _map(rng: random.Random) -> Shape:
    """An object with free keys."""
    value, values = _value(rng, _DEPTH - 1)
    keys = rng.sample(WORDS, 3)
    return {"type": "object", "additionalProperties": value}, [{}, dict.fromkeys(keys, values[0])]


def _tree(rng: random.Random) -> Shape:
    """A recursive node."""
    label, values = _scalar(rng, rng.choice(("text", "short", "choice", "bounded")))
    children = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    node = {"type": "object", "properties": {"label": label, "children": children}, "required": ["label"]}
    leaf = {"label": values[0]}
    inner = {"label": values[1], "children": [leaf, {"label": values[0], "children": [leaf]}]}
    return {"$ref": "#/$defs/node", "$defs": {"node": {**node, "additionalProperties": False}}}, [leaf, inner]


def _break(instance: Any, rng: random.Random) -> Any:
    """Return a copy of an instance with one fault: a key dropped, a key added, or a value of another type."""
    broken = copy.deepcopy(instance)
    if not isinstance(broken, dict) or not broken:
        return [broken]
    key = rng.choice(list(broken))
    fault = rng.randrange(3)
    if fault == 0:
        del broken[key]
    elif fault == 1:
        broken["unexpected"] = 1
    else:
        broken[key] = {"wrong": broken[key]}
    return broken
