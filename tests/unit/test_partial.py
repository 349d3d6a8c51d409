"""Types of fields, and partial forms of models."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import sys
import warnings
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import pytest
import typing_extensions
from annotated_types import Ge
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    field_validator,
    model_validator,
)

from schemagen import Partial
from schemagen.errors import ValidationFailed
from schemagen.events import Path
from schemagen.streaming.field_types import FieldTypes
from schemagen.streaming.json_reader import JsonReader
from schemagen.streaming.partial import snapshot

X = TypeVar("X")


class Color(Enum):
    red = "red"


class Item(BaseModel):
    name: Annotated[str, Field(min_length=2)]
    when: dt.date
    color: Color = Color.red


@dataclasses.dataclass
class Point:
    x: int
    at: Optional[dt.date] = None


@dataclasses.dataclass
class Renamed:
    x: str = Field(alias="when")


class Movie(typing_extensions.TypedDict):
    released: typing_extensions.NotRequired[dt.date]


class Pair(NamedTuple):
    left: int
    right: dt.date


class Box(BaseModel, Generic[X]):
    content: X


@dataclasses.dataclass
class Crate(Generic[X]):
    content: X
    more: list[Optional[X]] = dataclasses.field(default_factory=list)
    below: Optional[Crate[X]] = None


class Parcel(typing_extensions.TypedDict, Generic[X]):
    content: typing_extensions.Required[X]


class Couple(typing_extensions.NamedTuple, Generic[X]):
    left: X
    right: dict[str, X]


Rows = typing_extensions.TypeAliasType("Rows", list[dict[str, X]], type_params=(X,))


class Node(BaseModel):
    name: str
    children: list[Node] = []
    by_name: dict[str, Node] = {}


class Chain(BaseModel):
    when: dt.date
    following: Optional[typing_extensions.Self] = None


class Rose(BaseModel, Generic[X]):
    content: X
    below: list[Rose[X]] = []


class Dates(RootModel[list[dt.date]]):
    pass


class EarlyRoot(RootModel[list[dt.date]]):
    @model_validator(mode="before")
    @classmethod
    def nothing(cls, value):
        """See everything first."""
        return value


class Order(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)

    id: Annotated[int, Ge(3)] = Field(alias="orderId")
    note: Optional[str] = None
    items: list[Item]
    either: Union[Item, Point, None] = None
    mixed: Union[int, list[dt.date], None] = None
    points: dict[str, Point]
    movie: Movie
    pair: Pair
    tags: list[str] = []
    triple: tuple[int, dt.date, str]
    many: tuple[dt.date, ...]
    box: Box[dt.date]
    node: Node
    dates: Dates
    kind: Literal["a"]
    anything: Any


DAY = dt.date(2024, 2, 29)
TYPED = [
    (Order, ["orderId"], "3", 3),
    (Order, ["note"], '" x "', "x"),
    (Order, ["tags", 1], '" x "', "x"),
    (Order, ["items"], '[{"name": "ab", "when": "2024-02-29"}]', [Item(name="ab", when=DAY)]),
    (Order, ["items", 7], '{"name": "ab", "when": "2024-02-29"}', Item(name="ab", when=DAY)),
    (Order, ["items", 7, "when"], '"2024-02-29"', DAY),
    (Order, ["items", 7, "color"], '"red"', Color.red),
    (Order, ["either", "when"], '"2024-02-29"', DAY),
    (Order, ["either", "x"], "1", 1),
    (Order, ["mixed", 0], '"2024-02-29"', DAY),
    (Order, ["points", "p", "at"], '"2024-02-29"', DAY),
    (Order, ["points", "p"], '{"x": 1}', Point(1)),
    (Order, ["movie", "released"], '"2024-02-29"', DAY),
    (Order, ["pair", 1], '"2024-02-29"', DAY),
    (Order, ["pair"], '[1, "2024-02-29"]', Pair(1, DAY)),
    (Order, ["triple", 1], '"2024-02-29"', DAY),
    (Order, ["many", 5], '"2024-02-29"', DAY),
    (Order, ["box", "content"], '"2024-02-29"', DAY),
    (Order, ["node", "children", 0, "by_name", "k", "children"], "[]", []),
    (Order, ["node", "children", 0, "by_name", "k"], '{"name": "n"}', Node(name="n")),
    (Order, ["dates", 0], '"2024-02-29"', DAY),
    (Order, ["anything"], '{"a": 1}', {"a": 1}),
    (Order, ["anything", "a"], "1", 1),
    (list[dt.date], [3], '"2024-02-29"', DAY),
    (dict[str, list[Point]], ["k", 0], '{"x": 1}', Point(1)),
    (typing_extensions.TypeAliasType("Days", list[dt.date]), [0], '"2024-02-29"', DAY),
    (set[Color], [0], '"red"', Color.red),
    (Annotated[Optional[Item], "note"], ["color"], '"red"', Color.red),
    (Union[str, dict[str, dt.date]], ["k"], '"2024-02-29"', DAY),
    (Crate[dt.date], ["content"], '"2024-02-29"', DAY),
    (Crate[dt.date], ["more", 0], '"2024-02-29"', DAY),
    (Crate[dt.date], ["below", "below", "content"], '"2024-02-29"', DAY),
    (Crate[dt.date], ["below"], '{"content": "2024-02-29"}', Crate(DAY)),
    (list[Crate[Parcel[dt.date]]], [0, "content", "content"], '"2024-02-29"', DAY),
    (Parcel[dt.date], ["content"], '"2024-02-29"', DAY),
    (Couple[dt.date], [0], '"2024-02-29"', DAY),
    (Couple[dt.date], [1, "k"], '"2024-02-29"', DAY),
    (Rows[dt.date], [0, "k"], '"2024-02-29"', DAY),
    (Chain, ["following", "following", "when"], '"2024-02-29"', DAY),
    (Rose[dt.date], ["below", 0, "below", 1, "content"], '"2024-02-29"', DAY),
    (Rose[dt.date], ["below", 0], '{"content": "2024-02-29"}', Rose[dt.date](content=DAY)),
    (Rose[Rose[dt.date]], ["below", 0, "content", "below", 1, "content"], '"2024-02-29"', DAY),
    (Crate, ["content"], '"2024-02-29"', "2024-02-29"),
    # Other input comes first, and is not known before the whole is.
    (Annotated[list[dt.date], BeforeValidator(sorted)], [0], '"2024-02-29"', "2024-02-29"),
    (EarlyRoot, [0], '"2024-02-29"', "2024-02-29"),
    (Annotated[list[dt.date], AfterValidator(sorted)], [0], '"2024-02-29"', DAY),
    # Not known before the whole is: JSON.
    (Union[list[dt.date], list[str]], [0], '"2024-02-29"', "2024-02-29"),
    (Union[Item, Any], ["when"], '"2024-02-29"', "2024-02-29"),
    (Union[Item, Renamed], ["when"], '"2024-02-29"', "2024-02-29"),
    (Renamed, ["when"], '"2024-02-29"', "2024-02-29"),
    (Item, ["unknown"], '"2024-02-29"', "2024-02-29"),
    (None, ["a"], '"2024-02-29"', "2024-02-29"),
]


@pytest.mark.parametrize(("tp", "path", "text", "value"), TYPED, ids=lambda part: str(part)[:40])
def test_fields_are_validated_by_their_own_type(tp, path, text, value):
    """The value of a field has the type that it has in the whole; JSON where that cannot be told."""
    found = FieldTypes(tp).complete(Path(path), text)
    assert found == value
    assert type(found) is type(value)


def is_even(value):
    """Refuse odd numbers."""
    if value % 2:
        raise ValueError("must be even")
    return value


class Even(BaseModel):
    number: Annotated[int, AfterValidator(is_even)]


class Early(BaseModel):
    number: Annotated[int, AfterValidator(is_even)]
    other: Annotated[int, AfterValidator(is_even)]

    @field_validator("number", mode="before")
    @classmethod
    def double(cls, value):
        """See the value first."""
        return value * 2


class EarlyClass(Even):
    @model_validator(mode="before")
    @classmethod
    def double(cls, value):
        """See everything first."""
        return {"number": value["number"] * 2}


def test_a_refused_field_names_its_place():
    """A validator's complaint arrives with the pointer and the text of the field."""
    with pytest.raises(ValidationFailed, match="must be even") as caught:
        FieldTypes(list[Even]).complete(Path([2, "number"]), "7")
    assert (caught.value.at, caught.value.text) == ("/2/number", "7")


def test_fields_that_validators_of_the_class_see_first_are_left_alone():
    """What a before-validator may change is not refused too early."""
    assert FieldTypes(Early).complete(Path(["number"]), "7") == 7
    with pytest.raises(ValidationFailed):
        FieldTypes(Early).complete(Path(["other"]), "7")
    assert FieldTypes(EarlyClass).complete(Path(["number"]), "7") == 7
    assert FieldTypes(EarlyClass).at(Path(["number"])) is None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement `type` is of Python 3.12")
def test_type_statements_are_followed():
    """A name made by `type` stands for its type."""
    names = {"dt": dt}
    exec("type Days = list[dt.date]", names)  # noqa: S102 - a syntax error before 3.12
    assert FieldTypes(names["Days"]).complete(Path([0]), '"2024-02-29"') == DAY


def partial_after(text, tp):
    """Return the snapshot after a text."""
    types = FieldTypes(tp)
    reader = JsonReader(types.complete)
    reader.feed(text)
    return snapshot(reader, types)


def test_a_partial_model_grows():
    """Missing fields are None, open texts are there, dates only when they are complete; whole parts are real instances."""
    assert Partial[Order] is Partial[Order]
    begun = partial_after('{"orderId": 3, "note": "he', Order)
    assert isinstance(begun, Partial[Order])
    assert (begun.id, begun.note, begun.items, begun.node) == (3, "he", None, None)
    more = partial_after('{"orderId": 3, "items": [{"name": "ab", "when": "2024-02-29"}, {"name": "c', Order)
    assert more.items == [Item(name="ab", when=DAY), Partial[Item](name="c")]
    assert isinstance(more.items[1], Partial[Item])
    assert partial_after('{"items": [{"when": "2024-02-2', Order).items[0].when is None
    assert partial_after('{"items": [{"color": "r', Order).items[0].color is None
    assert partial_after('{"node": {"children": [{"name": "x', Order).node.children[0].name == "x"


def test_partial_models_can_be_dumped():
    """A snapshot is a pydantic model in good order: it dumps without a warning, also where it holds whole instances."""
    text = '{"node": {"name": "a", "children": [{"name": "b"}, {"name": "c'
    children = [{"name": "b", "children": [], "by_name": {}}, {"name": "c"}]
    assert dumped(text, Order)["node"] == {"name": "a", "children": children}


def dumped(text, tp):
    """Return the snapshot after a text as parsed JSON; warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return json.loads(partial_after(text, tp).model_dump_json(exclude_none=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"points": {"p": {"x": 1', {"points": {"p": {}}}),
        ('{"points": {"p": {"x": 1}, "q": {', {"points": {"p": {"x": 1}, "q": {}}}),
        ('{"movie": {', {"movie": {}}),
        ('{"pair": [1, ', {"pair": [1]}),
        ('{"triple": [1, "2024-02-29", "a', {"triple": [1, "2024-02-29", "a"]}),
        ('{"many": ["2024-02-29", "20', {"many": ["2024-02-29"]}),
        ('{"dates": ["2024-02-29", "20', {"dates": ["2024-02-29"]}),
        ('{"box": {', {"box": {}}),
        ('{"either": {"x": 1, ', {"either": {"x": 1}}),
        ('{"anything": [{"a": "b', {"anything": [{"a": "b"}]}),
    ],
)
def test_every_container_has_a_partial_form(text, expected):
    """Beginnings of dataclasses, tuples, sets and the rest fit into the partial model."""
    assert dumped(text, Order) == expected


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Owner(BaseModel):
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]
    other: Union[Item, Point, str, None] = None
    whatever: Union[Item, Any] = None
    sure: Union[Item, Literal["a"], int, list[int], None] = None


def test_a_union_is_json_until_one_member_is_left():
    """Keys and fixed values tell which model an open object is going to be."""
    assert partial_after('{"pet": {', Owner).pet == {}
    assert partial_after('{"pet": {"kind": "dog", ', Owner).pet == Partial[Dog](kind="dog")
    assert partial_after('{"pet": {"kind": "cat", "lives"', Owner).pet == Partial[Cat](kind="cat")
    assert partial_after('{"other": {"x": 1, ', Owner).other == {"x": 1}
    assert partial_after('{"whatever": {"name": "ab", ', Owner).whatever == {"name": "ab"}
    assert partial_after('{"sure": {"name": "ab", ', Owner).sure == Partial[Item](name="ab")
    assert dumped('{"other": {"x": 1, ', Owner) == {"other": {"x": 1}}
    assert dumped('{"pet": {"kind": "dog", "name": "R', Owner) == {"pet": {"kind": "dog", "name": "R"}}


def test_names_of_methods_may_be_fields():
    """A field that hides a method of pydantic is no trouble, and neither is a model within itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        class Odd(BaseModel):
            json: str
            copy: Optional[Node] = None

    assert partial_after('{"json": "a", "copy": {"name": "x', Odd).copy.name == "x"


def test_any_alias_of_a_field_belongs_to_it():
    """Several aliases, and paths of one step, are keys of the field; the longer ones are of no use here."""

    class Aliased(BaseModel):
        when: dt.date = Field(validation_alias=AliasChoices("at", AliasPath("day"), AliasPath("list", 0)))
        note: str = Field(validation_alias=AliasPath("text"), default="")

    begun = partial_after('{"at": "2024-02-29", "text": "ab', Aliased)
    assert (begun.when, begun.note) == (DAY, "ab")
    assert dumped('{"at": "2024-02-29", "text": "ab', Aliased)["note"] == "ab"


def test_what_is_not_validated_before_the_whole_can_be_dumped():
    """Fields that validators of the class see first, and types behind names, hold JSON; that is no surprise to pydantic."""
    T = TypeVar("T")
    alias = typing_extensions.TypeAliasType("alias", list[T], type_params=(T,))
    number = NewType("number", Item)

    class Early(BaseModel):
        when: dt.date
        many: alias[dt.date]  # type: ignore[valid-type]
        item: number

        @field_validator("when", mode="before")
        @classmethod
        def strip(cls, value: Any) -> Any:
            return value

    class Outer(BaseModel):
        early: Early

    text = '{"early": {"when": "2024-02-29", "many": ["2024-02-29"], "item": {"name": "ab'
    expected = {"when": "2024-02-29", "many": ["2024-02-29"], "item": {"name": "ab"}}
    assert dumped(text, Outer) == {"early": expected}


def test_other_types_are_partial_json():
    """Lists, dicts, dataclasses and schemas give what there is of them as JSON."""
    assert partial_after('[[1, 2], [3, "', list[Any]) == [[1, 2], [3, ""]]
    assert partial_after('{"k": {"x": 1, "at": "2024', dict[str, Point]) == {"k": {"x": 1}}
    assert partial_after('{"a": {"b": "c', None) == {"a": {"b": "c"}}
    assert partial_after('"ab', str) == "ab"
    assert partial_after("12", int) is None
    assert Partial[list[int]] == list[int]


def test_snapshots_do_not_change_afterwards():
    """What was seen once stays as it was."""
    types = FieldTypes(list[Any])
    reader = JsonReader(types.complete)
    reader.feed("[[1")
    reader.feed(", ")
    before = snapshot(reader, types)
    reader.feed("2], 3, ")
    assert before == [[1]]
    assert snapshot(reader, types) == [[1, 2], 3]
