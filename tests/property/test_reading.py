"""What the core reads of a schema itself is what the front end in Python makes of it."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import schemagen

pytestmark = pytest.mark.sampled(3)

native = pytest.importorskip("schemagen.engine.native.lowering", reason="the core reads")

SCALARS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "description": "a text"},
    {"type": "string", "maxLength": 3},
    {"type": "string", "pattern": "^[a-c]+$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "no-such-format"},
    {"type": "integer"},
    {"type": "integer", "minimum": 1, "maximum": 12},
    {"type": "integer", "minimum": 1.0, "maximum": 12},
    {"type": "number", "exclusiveMinimum": 0},
    {"type": "boolean"},
    {"type": "null"},
    {"type": ["string", "null"]},
    {"type": ["object", "null"]},
    {"type": ["integer", "array"]},
    {"enum": ["a", "b\n", 'quo"te', "é"]},
    {"type": "string", "enum": ["x", "x", "y" * 700]},
    {"type": "integer", "enum": [1, 2.0, "3"]},
    {"enum": [1, "a", None, True, {"a": 1}]},
    {"const": "only"},
    {"const": 1.0},
    {"type": "object"},
    {"type": "array"},
    {"type": "array", "minItems": 2},
    {"type": "object", "minProperties": 1},
    {"title": "anything"},
    {},
]
#: What no schema may say, and what says that nothing is allowed.
ODD: list[Any] = [
    {"type": "text"},
    {"type": 3},
    {"enum": "ab"},
    {"type": "array", "minItems": -1},
    {"type": "array", "items": 3},
    {"type": "object", "properties": []},
    {"type": "object", "required": "a"},
    {"type": "object", "required": ["a", "a"]},
    {"type": "array", "minItems": 3, "maxItems": 1},
    {"$ref": "#/definitions/none"},
    {"type": "string", "minimum": "1"},
    3,
    False,
]


class Writer:
    """Random schemas, most of them ordinary."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.odd = self.random.random() < 0.15

    def document(self) -> Any:
        """Return a schema with definitions that it may refer to."""
        schema = self.schema(3)
        if isinstance(schema, dict):
            schema["definitions"] = {name: self.schema(2) for name in "AB"} | {"a/b~%": {"type": "integer"}}
            if self.random.random() < 0.3:
                schema["$schema"] = self.random.choice(
                    [
                        "http://json-schema.org/draft-04/schema#",
                        "http://json-schema.org/draft-07/schema#",
                        "https://json-schema.org/draft/2020-12/schema",
                    ]
                )
        return schema

    def schema(self, depth: int) -> Any:
        """Return a schema of at most some depth."""
        draw = self.random.random()
        if self.odd and draw < 0.1:
            return self.random.choice(ODD)
        if depth == 0 or draw < 0.25:
            return dict(self.random.choice(SCALARS))
        if draw < 0.37:
            return self.reference()
        if draw < 0.6:
            return self.array(depth)
        if draw < 0.75:
            return self.union(depth)
        return self.object(depth)

    def reference(self) -> Any:
        """Return a reference, perhaps with something beside it."""
        target = self.random.choice(["A", "B", "A", "B", "a~1b~0%25"])
        beside = {"description": "see there", "type": "object"} if self.random.random() < 0.1 else {}
        return {"$ref": f"#/definitions/{target}", **beside}

    def array(self, depth: int) -> Any:
        """Return an array, its items alike or not."""
        schema: dict[str, Any] = {"type": "array"}
        kind = self.random.random()
        if kind < 0.7:
            schema["items"] = self.schema(depth - 1)
        elif kind < 0.8:
            schema["items"] = [self.schema(depth - 1) for _ in range(self.random.randint(0, 2))]
            if self.random.random() < 0.5:
                schema["additionalItems"] = self.random.choice([True, False, self.schema(depth - 1)])
        if self.random.random() < 0.4:
            schema["minItems"] = self.random.choice([0, 1, 2])
        if self.random.random() < 0.4:
            schema["maxItems"] = self.random.choice([0, 1, 3, 2.0])
        return schema

    def object(self, depth: int) -> Any:
        """Return an object with a few members."""
        keys = self.random.sample(["a", "b", 'c"', "dé", "e\\"], self.random.randint(0, 3))
        schema: dict[str, Any] = {
            "type": self.random.choice(["object"] * 6 + [["object", "null"], ["string", "object"]])
        }
        if self.random.random() < 0.1:
            del schema["type"]
        schema["properties"] = {key: self.schema(depth - 1) for key in keys}
        if self.random.random() < 0.6:
            schema["required"] = self.random.sample([*keys, "z"], self.random.randint(0, len(keys)))
        if self.random.random() < 0.5:
            schema["additionalProperties"] = self.random.choice([False, False, True, self.schema(depth - 1)])
        return schema

    def union(self, depth: int) -> Any:
        """Return alternatives."""
        schema = {self.random.choice(["anyOf", "anyOf", "oneOf"]): [self.schema(depth - 1) for _ in range(2)]}
        return schema | self.random.choice([{}, {}, {"title": "either"}, {"type": "string"}])


def compiled(schema: Any, vocabulary: schemagen.Vocabulary, **options: Any) -> Any:
    """Return the grammar, or what the error says."""
    try:
        return schemagen.compile(schema, vocabulary, cache=None, **options)
    except schemagen.SchemagenError as error:
        return str(error)


def masks(grammar: schemagen.Grammar, seed: int) -> Iterator[bytes]:
    """Yield the masks of a random walk, and where the text may end."""
    walk, matcher = random.Random(seed), grammar.matcher()
    row = np.zeros((1, -(-grammar.vocabulary.size // 32)), dtype=np.int32)
    for _ in range(40):
        matcher.fill_next_token_bitmask(row, 0)
        yield row.tobytes()
        bits = np.unpackbits(row.view(np.uint8), bitorder="little").nonzero()[0]
        short = [int(token) for token in bits if len(grammar.vocabulary.tokens[token]) < 3] or [int(bits[0])]
        if not matcher.accept_token(walk.choice(short)) or matcher.is_terminated():
            return


@pytest.mark.parametrize("seed", range(150))
def test_both_ways_read_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch, bundled_vocabulary: schemagen.Vocabulary
) -> None:
    """Grammars have the same masks and report, whoever reads the schema; with two errors in it, either may be told."""
    schema = Writer(seed).document()
    options: dict[str, Any] = {"property_order": "any" if seed % 3 == 0 else "schema", "strict": seed % 2 == 0}
    core = compiled(schema, bundled_vocabulary, **options)
    monkeypatch.setattr(native, "plain_draft", lambda *_: None)
    python = compiled(schema, bundled_vocabulary, **options)
    if isinstance(python, str):
        assert isinstance(core, str), python
        return
    assert isinstance(core, schemagen.Grammar), core
    assert core.report == python.report
    for walk in range(4):
        assert list(masks(core, walk)) == list(masks(python, walk))


def test_the_ways_differ(monkeypatch: pytest.MonkeyPatch, bundled_vocabulary: schemagen.Vocabulary) -> None:
    """The comparison compares two things: the core reads all of an ordinary schema, unless it is told not to."""
    made = []
    define = native.JsonLowering.compile
    monkeypatch.setattr(native.JsonLowering, "compile", lambda *given: made.append(given) or define(*given))
    schemagen.compile({"type": "object"}, bundled_vocabulary, cache=None)
    assert not made
    monkeypatch.setattr(native, "plain_draft", lambda *_: None)
    schemagen.compile({"type": "object"}, bundled_vocabulary, cache=None)
    assert len(made) == 1


BACK_REFERENCE = {"type": "string", "pattern": r"^(a|b)\1$"}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "object", "properties": {"a": BACK_REFERENCE}, "additionalProperties": False}, '{"a": "ab"}'),
        ({"anyOf": [{"type": "integer"}, BACK_REFERENCE]}, '"ab"'),
        ({"type": "array", "items": {"not": {"type": "array", "uniqueItems": True}}}, "[[1, 2]]"),
    ],
)
def test_what_is_left_to_a_check_is_known(
    schema: Any, text: str, monkeypatch: pytest.MonkeyPatch, bundled_vocabulary: schemagen.Vocabulary
) -> None:
    """With strict=False either way leaves the same to the check, and a strict compilation afterwards refuses it."""
    core = schemagen.compile(schema, bundled_vocabulary, cache=None, strict=False)
    with pytest.raises(schemagen.SchemagenError):
        schemagen.compile(schema, bundled_vocabulary, cache=None)
    monkeypatch.setattr(native, "plain_draft", lambda *_: None)
    python = schemagen.compile(schema, bundled_vocabulary, cache=None, strict=False)
    assert core.report == python.report
    for grammar in (core, python):
        assert grammar.matcher().accept_bytes(text.encode())
        with pytest.raises(schemagen.ValidationFailed):
            grammar.validate(text)
    assert list(masks(core, 1)) == list(masks(python, 1))


class Key(str):
    """A key that cannot be compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        """Fail where it is compared with another text."""
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/definitions/A", "definitions": {Key("A"): {"type": "string"}}},
        {"type": "object", "required": ["A"], "properties": {Key("A"): {"type": "string"}}},
    ],
)
def test_keys_with_code_are_left_to_python(schema: Any, bundled_vocabulary: schemagen.Vocabulary) -> None:
    """What a key does when it is compared is the caller's: the error arrives as it was raised."""
    with pytest.raises(ZeroDivisionError):
        schemagen.compile(schema, bundled_vocabulary, cache=None)
