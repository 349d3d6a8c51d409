# ruff: noqa: ARG001, ARG002, ARG003, D105 - functions with the signatures that pydantic asks for
"""Functions of the user that pydantic runs: the report names them, and the mask says what can be said."""

from __future__ import annotations

import dataclasses
import json
import random
import typing as t

import pydantic as p
import pytest
from pydantic import BaseModel, Discriminator, Tag
from pydantic_core import core_schema

import schemagen
from schemagen.types.discriminators import tag_property
from schemagen.types.reflection import reflect

A = t.Annotated
BYTES = schemagen.Vocabulary.byte_vocabulary()


def refuse(value: t.Any) -> t.Any:
    """Refuse every value."""
    raise ValueError("no")


class BeforeField(BaseModel):
    n: int

    @p.field_validator("n", mode="before")
    @classmethod
    def checked(cls, value: t.Any) -> t.Any:
        """Refuse every value."""
        raise ValueError("no")


class BeforeModel(BaseModel):
    n: int

    @p.model_validator(mode="before")
    @classmethod
    def checked(cls, value: t.Any) -> t.Any:
        """Refuse every value."""
        raise ValueError("no")


class Colour(str):
    """A type as pydantic-extra-types writes them: it states its JSON Schema itself."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: t.Any, handler: t.Any) -> t.Any:
        return core_schema.with_info_plain_validator_function(cls._validate)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: t.Any, handler: t.Any) -> t.Any:
        return {"type": "string", "format": "color"}

    @classmethod
    def _validate(cls, value: t.Any, info: t.Any) -> t.Any:
        raise ValueError("no")


class Address(str):
    """As MacAddress is: a function before a string."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: t.Any, handler: t.Any) -> t.Any:
        return core_schema.with_info_before_validator_function(cls._validate, core_schema.str_schema())

    @classmethod
    def _validate(cls, value: t.Any, info: t.Any) -> t.Any:
        raise ValueError("no")


class Hidden(str):
    """Its function is deep inside a core schema, whose JSON Schema it states itself."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: t.Any, handler: t.Any) -> t.Any:
        inner = core_schema.no_info_after_validator_function(refuse, core_schema.str_schema())
        return core_schema.json_or_python_schema(inner, core_schema.is_instance_schema(cls))

    @classmethod
    def __get_pydantic_json_schema__(cls, core: t.Any, handler: t.Any) -> t.Any:
        return {"type": "string"}


Colour.__module__ = "pydantic_extra_types.color"


class Palette(BaseModel):
    colours: list[Colour]


class After(BaseModel):
    n: int

    def model_post_init(self, context: t.Any, /) -> None:
        """Refuse every value."""
        raise ValueError("no")


class Private(After):
    _cache: int = 0

    def model_post_init(self, context: t.Any, /) -> None:
        """Refuse every value."""
        raise ValueError("no")


class OnlyPrivate(BaseModel):
    n: int
    _cache: int = 0


class Made(BaseModel):
    n: int

    def __init__(self, **values: t.Any) -> None:
        raise ValueError("no")


@dataclasses.dataclass
class Record:
    n: int

    def __post_init__(self) -> None:
        raise ValueError("no")


class Encoder(p.EncoderProtocol):
    @classmethod
    def decode(cls, data: bytes) -> bytes:
        """Refuse every value."""
        raise ValueError("no")

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        """Pass."""
        return value

    @classmethod
    def get_json_format(cls) -> str:
        """Return a name."""
        return "own"


@pytest.mark.parametrize(
    ("tp", "text", "found"),
    [
        (A[int, p.BeforeValidator(refuse)], "3", ("", "validator refuse")),
        (A[str, p.BeforeValidator(refuse, json_schema_input_type=int)], "3", ("", "validator refuse")),
        (BeforeField, '{"n": 3}', ("/properties/n", "validator checked")),
        (BeforeModel, '{"n": 3}', ("", "validator checked")),
        (Palette, '{"colours": ["red"]}', ("/properties/colours/items", "validator Colour.validate")),
        (list[Address], '["x"]', ("/items", "validator Address.validate")),
        (Hidden, '"x"', ("", "validator refuse")),
        (After, '{"n": 3}', ("", "method model_post_init")),
        (Private, '{"n": 3}', ("", "method model_post_init")),
        (Made, '{"n": 3}', ("", "method __init__")),
        (list[Record], '[{"n": 3}]', ("/$defs/Record", "method __post_init__")),
        (A[str, p.EncodedStr(encoder=Encoder)], '"x"', ("", "validator decode_str")),
    ],
)
def test_functions_that_may_refuse_every_value_are_in_the_report(tp: t.Any, text: str, found: tuple[str, str]) -> None:
    """Whoever runs code of the user is `checked_after`, with its place and the name of the function."""
    grammar = schemagen.compile(tp, BYTES, cache=None)
    assert not grammar.report.is_exact
    assert [(e.pointer, e.keyword) for e in grammar.report.of_status("checked_after")] == [found]
    matcher = grammar.matcher()
    assert matcher.accept_bytes(text.encode())
    assert matcher.is_accepting()
    with pytest.raises((schemagen.ValidationFailed, ValueError)):
        grammar.validate(text)


@pytest.mark.parametrize("tp", [OnlyPrivate, p.JsonValue, p.IPvAnyAddress, p.Base64Str])
def test_functions_of_pydantic_are_not(tp: t.Any) -> None:
    """What pydantic runs for its own types is said by the schema."""
    assert schemagen.compile(tp, BYTES, cache=None).report.is_exact


def read_k(value: t.Any) -> t.Any:
    """Return the property."""
    return value.get("k") if isinstance(value, dict) else value.k


def read_k_or_a(value: t.Any) -> t.Any:
    """Return the property, or the first tag."""
    return value.get("k", "a")


def null_is_a(value: t.Any) -> t.Any:
    """Read null as a tag."""
    return "a" if value.get("k") is None else value["k"]


def numbers_are_a(value: t.Any) -> t.Any:
    """Read a number as a tag."""
    return "a" if type(value["k"]) is int else value["k"]


def lowered(value: t.Any) -> t.Any:
    """Read capitals as small letters."""
    return value["k"].lower()


def guarded_by_length(value: t.Any) -> t.Any:
    """Look at the value, and hide what comes of that."""
    try:
        return "a" if len(value["k"]) > 3 else value["k"]
    except TypeError:
        return value["k"]


def by_shape(value: t.Any) -> t.Any:
    """Look at another property."""
    return "a" if "x" in value else value.get("k")


def copied(value: t.Any) -> t.Any:
    """Look at all of it."""
    return dict(value).get("k")


class First(BaseModel):
    k: t.Any = "a"
    x: int = 0


class Second(BaseModel):
    k: t.Any = "b"
    y: str = ""


def union_by(function: t.Callable[[t.Any], t.Any]) -> t.Any:
    """A union of two models that a function tells apart."""
    return A[t.Union[A[First, Tag("a")], A[Second, Tag("b")]], Discriminator(function)]


RETURNING = [read_k, read_k_or_a]
COMPUTING = [null_is_a, numbers_are_a, lowered, guarded_by_length, by_shape, copied]


@pytest.mark.parametrize("function", RETURNING + COMPUTING)
def test_a_discriminator_is_known_to_return_a_property_or_not(function: t.Callable[[t.Any], t.Any]) -> None:
    """Only those that pass the value on."""
    found = tag_property(function, ["a", "b"])
    assert (found is not None) == (function in RETURNING)
    assert tag_property(function, [1, 2]) is None


def test_a_discriminator_that_returns_a_property_narrows_the_mask() -> None:
    """A property that is a string anywhere else is one of the tags here."""

    class Named(BaseModel):
        k: str
        x: int

    class Numbered(BaseModel):
        k: str
        y: str

    class Holder(BaseModel):
        v: t.Annotated[t.Union[t.Annotated[Named, Tag("a")], t.Annotated[Numbered, Tag("b")]], Discriminator(read_k)]

    grammar = schemagen.compile(Holder, BYTES, cache=None)
    assert [(e.pointer, e.keyword) for e in grammar.report.of_status("checked_after")] == [
        ("/properties/v", "discriminator read_k")
    ]
    for text, expected in [
        ('{"v": {"k": "a", "x": 1}}', True),
        ('{"v": {"k": "b", "y": ""}}', True),
        ('{"v": {"k": "Ada", "x": 1}}', False),
        ('{"v": {"k": "b", "x": 1}}', False),
    ]:
        matcher = grammar.matcher()
        assert (matcher.accept_bytes(text.encode()) and matcher.is_accepting()) == expected, text


@pytest.mark.parametrize("function", RETURNING + COMPUTING)
def test_no_instance_is_lost_by_a_discriminator(function: t.Callable[[t.Any], t.Any]) -> None:
    """pydantic is the oracle: whatever it reads of objects with known keys is accepted; where a property is returned, no more."""
    tp = union_by(function)
    adapter: p.TypeAdapter[t.Any] = p.TypeAdapter(tp)
    grammar = schemagen.compile(tp, BYTES, property_order="any", cache=None)
    choose = random.Random(function.__name__)
    seen = set()
    for _ in range(300):
        value: dict[str, t.Any] = {}
        if choose.random() < 0.8:
            value["k"] = choose.choice(["a", "b", "A", "c", "", None, 1, "long one", [], True])
        if choose.random() < 0.7:
            key = choose.choice("xy")
            value[key] = choose.choice([3, "s"] if choose.random() < 0.2 else [3] if key == "x" else ["s"])
        text = json.dumps(value)
        try:
            instance = adapter.validate_json(text)
        except (p.ValidationError, KeyError, AttributeError, TypeError):
            expected = False
        else:
            expected = set(value) <= set(type(instance).model_fields)
        matcher = grammar.matcher()
        accepted = bool(matcher.accept_bytes(text.encode()) and matcher.is_accepting())
        assert accepted or not expected, text
        if function in RETURNING:
            assert accepted == expected, text
        seen.add(expected)
    assert seen == {True, False}


def test_a_member_without_the_property_is_left_to_validation() -> None:
    """It would have no instance otherwise."""

    class Other(BaseModel):
        y: str

    tp: t.Any = A[t.Union[A[First, Tag("a")], A[Other, Tag("b")]], Discriminator(read_k)]
    assert reflect(tp).schema["anyOf"][1] == {"$ref": "#/$defs/Other"}
