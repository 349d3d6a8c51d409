"""Python types: masked walks end in texts that pydantic accepts, and instances that pydantic dumps are accepted."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import importlib.util
import ipaddress
import re
import sys
import uuid
from pathlib import Path
from typing import Annotated, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter
from typing_extensions import TypedDict

import schemagen
from schemagen import Vocabulary

_SPEC = importlib.util.spec_from_file_location("schemagen_engine_walks", Path(__file__).with_name("engine_walks.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
walks = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_engine_walks"] = walks
_SPEC.loader.exec_module(walks)

BYTES = Vocabulary.byte_vocabulary()
FEW = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue é"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Person(BaseModel):
    name: str
    age: int


class Bounded(BaseModel):
    age: Annotated[int, Field(ge=0, le=150)]
    ratio: Annotated[float, Field(gt=0, lt=1)]
    code: Annotated[str, Field(pattern="^[A-Z]{2}[0-9]+$", max_length=6)]
    tags: Annotated[list[str], Field(min_length=1, max_length=3)]


class Optionals(BaseModel):
    a: Optional[int] = None
    b: Optional[str] = None
    c: Optional[list[int]] = None
    d: bool = True


class Nested(BaseModel):
    person: Person
    friends: list[Person] = []


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Even(BaseModel):
    odd: Optional[Odd] = None


class Odd(BaseModel):
    even: Even


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Pet(BaseModel):
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]


class Aliased(BaseModel):
    first: int = Field(alias="firstName")
    second: str = Field(validation_alias="second-name", serialization_alias="second-name")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: Literal[1, "x", None]  # noqa: PYI061 - users write it so
    b: Literal[True] = True


class Times(BaseModel):
    day: dt.date
    moment: dt.datetime
    clock: dt.time
    span: dt.timedelta


class Network(BaseModel):
    v4: ipaddress.IPv4Address
    v6: ipaddress.IPv6Address
    id: uuid.UUID


class Enums(BaseModel):
    colour: Colour
    level: Level
    either: Union[Colour, Level, None]


class Box(BaseModel, Generic[T]):
    content: T


class Tags(RootModel[list[str]]):
    pass


class Decimals(BaseModel):
    price: Annotated[decimal.Decimal, Field(max_digits=6, decimal_places=2)]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Movie(TypedDict, total=False):
    title: str
    year: int


class Pair(NamedTuple):
    left: int
    right: str


class Quoted(BaseModel):
    text: Annotated[str, Field(min_length=1, max_length=4)]
    key: dict[str, int]


class Maps(BaseModel):
    by_level: dict[Level, str] = {}
    counts: Annotated[dict[str, Annotated[int, Field(ge=0)]], Field(max_length=2)]


EXAMPLES = [
    (Person, [Person(name='A"b\\c\n é😀', age=-3)]),
    (
        Bounded,
        [
            Bounded(age=150, ratio=0.5, code="AB1234", tags=["x"]),
            Bounded(age=0, ratio=0.001, code="ZZ0", tags=["", "a", "b"]),
        ],
    ),
    (Optionals, [Optionals(), Optionals(a=1, c=[1, 2], d=False)]),
    (Nested, [Nested(person=Person(name="a", age=1), friends=[Person(name="b", age=2)])]),
    (Node, [Node(value=1, children=[Node(value=2), Node(value=3, children=[Node(value=4)])])]),
    (Even, [Even(), Even(odd=Odd(even=Even(odd=Odd(even=Even()))))]),
    (Pet, [Pet(pet=Cat(kind="cat", lives=9)), Pet(pet=Dog(kind="dog", name="Rex"))]),
    (Aliased, [Aliased.model_validate({"firstName": 1, "second-name": "x"})]),
    (Open, [Open(a=1), Open.model_validate({"a": 1, "zz": [1, {"k": None}]})]),
    (Closed, [Closed(a=1), Closed(a="x"), Closed(a=None)]),
    (
        Times,
        [
            Times(
                day=dt.date(2024, 2, 29),
                moment=dt.datetime(2024, 2, 29, 12, 30, 15, tzinfo=dt.timezone.utc),
                clock=dt.time(1, 2, 3),
                span=dt.timedelta(days=1, hours=2),
            )
        ],
    ),
    (
        Network,
        [Network(v4=ipaddress.IPv4Address("10.0.0.1"), v6=ipaddress.IPv6Address("::1"), id=uuid.UUID(int=7))],
    ),
    (
        Enums,
        [
            Enums(colour=Colour.RED, level=Level.HIGH, either=Colour.BLUE),
            Enums(colour=Colour.BLUE, level=Level.LOW, either=None),
        ],
    ),
    (Box[int], [Box[int](content=3)]),
    (Box[list[Person]], [Box[list[Person]](content=[Person(name="", age=0)])]),
    (Tags, [Tags([]), Tags(["a", "b"])]),
    (Decimals, []),  # pydantic writes "1234.56", a string; the SDK writes decimals as numbers
    (Point, [Point(1.5, -2.0)]),
    (Movie, [{}, {"title": "x"}, {"title": "x", "year": 1999}]),
    (Pair, [Pair(1, "x")]),
    (Quoted, [Quoted(text='"\\\n/', key={'q"': 1, "": 2})]),
    (Maps, [Maps(counts={"a": 1, "b": 0}), Maps(by_level={Level.LOW: "x"}, counts={})]),
    (list[Union[int, str, None]], [[], [1, "1", None]]),
    (tuple[int, str, bool], [(1, "a", False)]),
    (dict[str, list[float]], [{}, {"a": [1.5, -0.25], "b": []}]),
    (Annotated[int, Field(multiple_of=7, ge=0)], [0, 14, 700]),
    (Literal["a", "b", 3], ["a", 3]),
    (Optional[Person], [None, Person(name="x", age=1)]),
    (set[int], [{1}, set()]),
    (bool, [True, False]),
]
TYPES = [target for target, _ in EXAMPLES]
NAMES = [getattr(target, "__name__", str(target)) for target in TYPES]


@pytest.mark.parametrize(("target", "instances"), EXAMPLES, ids=NAMES)
def test_what_pydantic_dumps_is_accepted(target, instances):
    """The JSON that pydantic writes for an instance is accepted, whole and byte by byte, and validates back."""
    adapter, grammar = TypeAdapter(target), schemagen.compile(target, BYTES, property_order="any")
    for instance in instances:
        for indent in (None, 2):
            text = adapter.dump_json(instance, by_alias=True, indent=indent)
            matcher = grammar.matcher()
            assert all(matcher.accept_token(byte) for byte in text), (text, matcher.allowed_tokens()[:20])
            assert matcher.is_accepting(), text
            assert grammar.validate(text.decode()) == instance


def without_zeros(text):
    """Return a representation whose Decimals have the fewest digits: pydantic reads 6.40 as 6.4."""
    return re.sub(r"Decimal\('([^']+)'\)", lambda found: f"{decimal.Decimal(found[1]).normalize():f}", text)


def check_walk(target, seed, steps, order):
    """One walk ends in a text that validates."""
    grammar = schemagen.compile(target, BYTES, property_order=order)
    text = walks.random_text(grammar, seed, steps)
    value = grammar.validate(text)
    assert without_zeros(repr(value)) == without_zeros(repr(TypeAdapter(target).validate_json(text)))
    if dataclasses.is_dataclass(target) or (isinstance(target, type) and issubclass(target, BaseModel)):
        assert isinstance(value, target)


@pytest.mark.parametrize("target", TYPES, ids=NAMES)
def test_a_masked_walk_ends_in_an_instance_of_the_type(target):
    """Any text that the masks let through to the end is accepted by pydantic; `Grammar.validate` returns the instance."""
    for seed in range(6):
        check_walk(target, seed, 12 * seed, "any" if seed % 2 else "schema")


@pytest.mark.slow
@settings(max_examples=3000, **FEW)
@given(st.sampled_from(TYPES), st.integers(0, 2**30), st.integers(0, 120), st.sampled_from(["schema", "any"]))
def test_many_masked_walks_end_in_instances_of_the_type(target, seed, steps, order):
    """Any text that the masks let through to the end is accepted by pydantic: many more."""
    check_walk(target, seed, steps, order)
