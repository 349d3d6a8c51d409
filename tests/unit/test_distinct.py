"""`uniqueItems` where few values differ: counted by value, whatever excludes or repeats them, so that no text meets a dead end."""

import pytest

import schemagen

_HALVES = {"type": "number", "minimum": -2, "maximum": 1, "multipleOf": 1.5}
_BIT = {"type": "integer", "minimum": 0, "maximum": 1}

#: Items, how many different values there are.
COUNTED = {
    "not enum": ({"allOf": [_HALVES, {"not": {"enum": [0]}}]}, 1),
    "not const": ({**_HALVES, "not": {"const": 0.0}}, 1),
    "an open end": ({"type": "integer", "minimum": 0, "exclusiveMaximum": 2}, 2),
    "two open ends": ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 3, "multipleOf": 1.5}, 1),
    "not multipleOf": ({"type": "integer", "minimum": 0, "maximum": 4, "not": {"multipleOf": 2}}, 2),
    "no integers": ({"type": "number", "minimum": 0, "maximum": 2, "multipleOf": 0.5, "not": {"type": "integer"}}, 2),
    "alternatives that overlap": ({"anyOf": [_BIT, {"enum": [0, 1, 2]}]}, 3),
    "ranges that overlap": ({"anyOf": [_BIT, {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.5}]}, 3),
    "strings that overlap": ({"anyOf": [{"type": "string", "pattern": "^[ab]$"}, {"enum": ["b", "c"]}]}, 3),
    "strings less some": ({"type": "string", "pattern": "^[abc]$", "not": {"enum": ["a"]}}, 2),
    "scalars of all kinds": ({"anyOf": [{"type": ["boolean", "null"]}, _BIT, {"enum": ["a", True]}]}, 6),
    "numbers with exponents": ({"enum": [1e22, 1e-7, 5]}, 3),
    "a bound between floats": ({"type": "integer", "minimum": 2**53 + 1, "maximum": 2**53 + 3}, 3),
}


def unique(items, least, **more):
    """Return the schema of an array of at least so many different items."""
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True, **more}


@pytest.mark.parametrize("name", COUNTED)
def test_as_many_items_as_there_are_values(name, byte_vocabulary):
    """All values fit into one array, and one more is asked for in vain."""
    items, count = COUNTED[name]
    assert schemagen.compile(unique(items, count), byte_vocabulary, cache=None)
    with pytest.raises(schemagen.UnsatisfiableSchemaError):
        schemagen.compile(unique(items, count + 1), byte_vocabulary, cache=None)


@pytest.mark.parametrize("more", [
    {"contains": {"const": 1}, "minContains": 2},
    {"items": {"enum": [1, 2, 3]}, "contains": {"enum": [1, 3]}, "maxContains": 1, "minItems": 3},
    {"items": {"enum": [1, 2, 3]}, "contains": {"const": 4}},
])  # fmt: skip
def test_contains_counts_different_items(more, byte_vocabulary):
    """What contains asks for is there only once, and what it excludes is not there."""
    with pytest.raises(schemagen.UnsatisfiableSchemaError):
        schemagen.compile({"type": "array", "uniqueItems": True, **more}, byte_vocabulary, cache=None)


def test_an_item_that_is_asked_for_counts_in_any_spelling(byte_vocabulary):
    """No spelling uses up the one value that contains asks for without being counted."""
    schema = unique({"type": "integer", "minimum": 0, "maximum": 2}, 3, contains={"const": 0})
    matcher = schemagen.compile(schema, byte_vocabulary, cache=None).matcher()
    assert not matcher.fork().accept_bytes(b"[0e1")
    assert matcher.accept_bytes(b"[0.0,2,1]")


@pytest.mark.parametrize("items", [
    {"type": "number", "multipleOf": 1e100},
    {"type": "number", "minimum": 0, "maximum": 1e200, "multipleOf": 1e199},
    {"enum": [[], [1]]},
    {"type": "object", "patternProperties": {"": {"type": "integer", "minimum": 2, "maximum": 1}}},
    {"type": "object", "additionalProperties": {"type": "string", "minLength": 3, "maxLength": 1}},
    {"type": "object", "patternProperties": {"^[ab]$": {"const": 1}}, "additionalProperties": False},
    {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "null"}},
    {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"], "maxProperties": 1},
])  # fmt: skip
def test_what_is_not_counted_is_refused(items, byte_vocabulary):
    """Numbers that only an exponent writes, arrays, and objects with few keys of few values are not counted."""
    with pytest.raises(schemagen.UnsupportedSchemaError, match="uniqueItems"):
        schemagen.compile(unique(items, 2), byte_vocabulary, cache=None)


@pytest.mark.parametrize(
    ("more", "count"),
    [({}, 201), ({"not": {"enum": [0, 1.5, 7, "a"]}}, 199), ({"exclusiveMinimum": -100, "exclusiveMaximum": 100}, 199)],
)
def test_many_values_are_counted_without_a_look_at_each(more, count, byte_vocabulary):
    """Multiples between two ends, less those that are excluded."""
    items = {"type": "integer", "minimum": -100, "maximum": 100, **more}
    assert schemagen.compile(unique(items, count), byte_vocabulary, cache=None)
    with pytest.raises(schemagen.UnsatisfiableSchemaError):
        schemagen.compile(unique(items, count + 1), byte_vocabulary, cache=None)


@pytest.mark.parametrize("items", [
    {"type": "object", "patternProperties": {"^[ab]$": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "patternProperties": {"^[0-9]{6}$": {"const": 1}}, "additionalProperties": False},
    {"type": "object", "propertyNames": {"enum": ["a", "b"]}},
    {"type": "object", "properties": {key: {"type": "null"} for key in "abcdefghijklmn"}, "additionalProperties": False},
    {"type": "object", "propertyNames": {"enum": [*"abcdefghij"]}, "additionalProperties": {"type": "boolean"}},
])  # fmt: skip
def test_objects_with_many_keys_or_values_have_no_end(items, byte_vocabulary):
    """Few keys whose values do not end, many keys of one value, and thousands of objects of few keys and values."""
    assert schemagen.compile(unique(items, 100), byte_vocabulary, cache=None)


def test_no_more_objects_than_are_needed(byte_vocabulary):
    """Eight objects suffice for eight items, and not for nine."""
    bits = {"type": "object", "properties": {key: {"type": "boolean"} for key in "abc"}, "additionalProperties": False}
    bits["required"] = ["a", "b", "c"]
    assert schemagen.compile(unique(bits, 8, maxItems=8), byte_vocabulary, cache=None)
    with pytest.raises(schemagen.UnsupportedSchemaError, match="uniqueItems"):
        schemagen.compile(unique(bits, 8, maxItems=9), byte_vocabulary, cache=None)


def test_objects_that_share_parts_are_looked_at_once(byte_vocabulary):
    """Thirty keys, six levels deep, have 30 to the power of 6 values along them."""
    levels = {"level 0": {"type": "boolean"}}
    for level in range(1, 7):
        keys = {f"^k{key}$": {"$ref": f"#/$defs/level {level - 1}"} for key in range(30)}
        levels[f"level {level}"] = {"type": "object", "patternProperties": keys, "additionalProperties": False}
    schema = unique({"$ref": "#/$defs/level 6"}, 2) | {"$defs": levels}
    assert schemagen.compile(schema, byte_vocabulary, cache=None)
