"""`reflect`: types to JSON Schema, and back."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import json
import random
import re
import sys
import typing as t
import uuid
import zoneinfo
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import Path

import pydantic as p
import pytest
import typing_extensions as te
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

import schemagen
from schemagen.errors import LimitError, UnsupportedTypeError
from schemagen.types.reflection import is_type, reflect

A = t.Annotated
BYTES = schemagen.Vocabulary.byte_vocabulary()
END = BYTES.eos_token_ids[0]
T = t.TypeVar("T")


class Person(BaseModel):
    name: str
    age: int = 0


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: int


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    first: int = Field(alias="firstName")
    second: int = Field(validation_alias=p.AliasChoices(p.AliasPath("b", 0), "secondName", "two"))


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)
    a: int = Field(alias="z")


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    first_name: str


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class OpenTyped(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)
    x: int


class Box(BaseModel, t.Generic[T]):
    content: T


class Names(RootModel[list[str]]):
    pass


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Cat(BaseModel):
    kind: t.Literal["cat"] = "cat"
    meows: int


class Dog(BaseModel):
    kind: t.Literal["dog"] = "dog"
    barks: bool


class Trimmed(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    name: A[str, Field(min_length=2)]


class Base64Model(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    data: bytes


class HexModel(BaseModel):
    model_config = ConfigDict(val_json_bytes="hex")
    data: bytes


class Computed(BaseModel):
    x: int

    @p.computed_field
    @property
    def double(self) -> int:
        """Not part of the input."""
        return 2 * self.x


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


@p.dataclasses.dataclass
class Circle:
    center: Point
    radius: p.PositiveFloat


class Movie(te.TypedDict):
    title: te.Required[str]
    year: te.NotRequired[int]


class OldMovie(t.TypedDict, total=False):
    title: str
    sequel: t.Optional[str]


class Chain(t.TypedDict, total=False):
    next: Chain


class Pair(t.NamedTuple):
    left: int
    right: str = "r"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Shade(str, enum.Enum):
    DARK = "dark"
    LIGHT = "light"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Price(enum.Enum):
    CHEAP = Decimal("1.5")
    DEAR = Decimal("10.25")


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Access(enum.IntFlag):
    """Its members have bits without a name of their own."""

    OWN = 4
    SHARED = 9


Days = enum.IntFlag("Days", [f"DAY_{number}" for number in range(14)])
Scattered = enum.IntFlag("Scattered", {f"BIT_{number}": 4**number for number in range(14)})

Json = te.TypeAliasType("Json", "t.Union[dict[str, Json], list[Json], str, int, None]")
UserId = t.NewType("UserId", int)

#: A type and JSON values of it.
ACCEPTED = {
    "int": (int, [0, -5, 10**18]),
    "float": (float, [0.5, 3]),
    "bool": (bool, [True]),
    "str": (str, ["", "é\n"]),
    "none": (None, [None]),
    "any": (t.Any, [1, "a", [None]]),
    "object": (object, [{"a": 1}]),
    "hashable": (t.Hashable, ["a", 1]),
    "new_type": (UserId, [7]),
    "bytes": (bytes, ["abc", "ä"]),
    "bytes_bounded": (A[bytes, Field(min_length=1, max_length=3)], ["abc"]),
    "bytes_base64": (Base64Model, [{"data": "aGk="}]),
    "bytes_hex": (HexModel, [{"data": "0aff"}]),
    "base64_bytes": (p.Base64Bytes, ["aGk="]),
    "base64_text": (p.Base64Str, ["aGk=", "aGlq", "ICA="]),
    "base64url_text": (p.Base64UrlStr, ["fn5-"]),
    "decimal_below_one": (A[Decimal, Field(max_digits=2, decimal_places=2)], [0.25, -0.5]),
    "decimal_between": (A[Decimal, Field(max_digits=2, decimal_places=2, ge=0, le=Decimal("0.5"))], [0.25, 0.5]),
    "decimal_long": (A[Decimal, Field(max_digits=30, decimal_places=2)], [1e9, 0.25]),
    "decimal_fine_step": (A[Decimal, Field(decimal_places=1, multiple_of=Decimal("0.25"))], [0.5, 2]),
    "by_name": (ByName, [{"a": 1}]),
    "camel": (Camel, [{"firstName": "Ada"}]),
    "decimal": (Decimal, [1.5, 2]),
    "decimal_money": (A[Decimal, Field(max_digits=5, decimal_places=2, gt=0)], [999.99, 0.01, 5]),
    "decimal_digits": (A[Decimal, Field(max_digits=3)], [123, 1.23, 0.12]),
    "decimal_whole": (A[Decimal, Field(max_digits=3, decimal_places=0)], [123, -9]),
    "decimal_step": (A[Decimal, Field(multiple_of=Decimal("0.25"), le=2)], [0.75, 2]),
    "complex": (complex, ["1+2j", "-0.5-1j"]),
    "datetime": (dt.datetime, ["2024-02-29T12:30:00Z", "2024-02-29T12:30:00"]),
    "date": (dt.date, ["2024-02-29"]),
    "date_range": (
        A[dt.date, Field(ge=dt.date(1999, 5, 17), lt=dt.date(2024, 3, 1))],
        ["1999-05-17", "2024-02-29", "2010-01-01"],
    ),
    "time": (dt.time, ["12:30:00"]),
    "timedelta": (dt.timedelta, ["P1DT2H"]),
    "aware": (p.AwareDatetime, ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+02:00"]),
    "naive": (p.NaiveDatetime, ["2024-01-01T00:00:00", "2024-01-01T00:00:00.25"]),
    "uuid": (uuid.UUID, ["12345678-1234-5678-1234-567812345678"]),
    "uuid4": (p.UUID4, ["12345678-1234-4678-9234-567812345678"]),
    "ipv4": (IPv4Address, ["127.0.0.1"]),
    "ipv6": (IPv6Address, ["::1"]),
    "ip_any": (p.IPvAnyAddress, ["10.0.0.1", "::1"]),
    "network": (IPv4Network, ["10.0.0.0/8"]),
    "url": (p.AnyUrl, ["https://example.com/a?b#c"]),
    "http_url": (p.HttpUrl, ["http://example.com/"]),
    "postgres": (p.PostgresDsn, ["postgresql://user:pw@localhost:5432/db"]),
    "email": (p.EmailStr, ["ada@example.com"]),
    "path": (Path, ["/tmp/x"]),
    "secret": (p.SecretStr, ["hush"]),
    "secret_bytes": (p.SecretBytes, ["hush"]),
    "secret_date": (p.Secret[dt.date], ["2024-01-01"]),
    "json": (p.Json, ["1", "null", '"a"', "[1,2]", '{"a":{"b":[true,"x"]}}', "[[[]]]", r'"\n"', "1e5"]),
    "json_any": (p.Json[list[t.Any]], ["[]", '[1,{"a":[]}]']),
    "json_dict": (p.Json[dict[str, int]], ["{}", '{"a":1,"b":2}']),
    "json_list": (p.Json[list[int]], ["[1,2]", "[]"]),
    "json_model": (p.Json[Person], ['{"name":"Ada"}']),
    "byte_size": (p.ByteSize, [1024, "1.5 MB", "3KiB"]),
    "pattern": (re.Pattern, ["a+"]),
    "pattern_str": (A[str, Field(pattern=r"^[A-Z]{3}$")], ["ABC"]),
    "trimmed": (Trimmed, [{"name": "ab"}, {"name": "a b"}]),
    "literal": (t.Literal["a", 1, True] | None, ["a", 1, None, True]),
    "enum": (Color, ["red"]),
    "int_enum": (Level, [2]),
    "decimal_enum": (Price, [1.5, 10.25]),
    "flag": (Permission, [0, 1, 3]),
    "flag_with_gaps": (Access, [0, 4, 9, 13]),
    "flag_with_many_members": (Days, [0, 5, 2**14 - 1]),
    "enum_literal": (t.Literal[Shade.DARK, Level.HIGH], ["dark", 2]),
    "list": (list[int], [[1, 2], []]),
    "bare_list": (list, [[1, "a"]]),
    "bounded_list": (A[list[int], Field(min_length=1, max_length=2)], [[1], [1, 2]]),
    "tuple": (tuple[int, str], [[1, "a"]]),
    "empty_tuple": (tuple[()], [[]]),
    "variadic_tuple": (tuple[int, ...], [[1, 2, 3]]),
    "set": (set[int], [[1, 2], [1, 1]]),
    "bare_set": (set, [[1, "a"]]),
    "frozenset": (frozenset[str], [["a"]]),
    "set_of_models": (set[Frozen], [[{"x": 1}]]),
    "big_set": (A[set[int], Field(min_length=2)], [[1, 2]]),
    "big_bare_set": (A[set, Field(min_length=2)], [[1, 0], ["a", None]]),
    "set_of_one": (A[set[int | bool], Field(min_length=1)], [[0, False]]),
    "set_of_tuples": (A[set[tuple[int, bool]], Field(min_length=2)], [[[1, True], [1, False]]]),
    "set_of_choices": (A[set[t.Literal["a", 1] | None], Field(min_length=2)], [["a", None], [1, "a"]]),
    "deque": (collections.deque[int], [[1]]),
    "sequence": (t.Sequence[int], [[1]]),
    "iterable": (t.Iterable[int], [[1]]),
    "dict": (dict[str, int], [{"a": 1}, {}]),
    "bare_dict": (dict, [{"a": [1]}]),
    "mapping": (t.Mapping[str, float], [{"a": 1.5}]),
    "ordered": (collections.OrderedDict[str, int], [{"a": 1}]),
    "counter": (collections.Counter[str], [{"a": 1}]),
    "defaultdict": (collections.defaultdict[str, int], [{"a": 1}]),
    "int_keys": (dict[int, str], [{"1": "a", "-20": "b"}]),
    "positive_keys": (dict[p.NonNegativeInt, str], [{"0": "a", "10": "b"}]),
    "small_keys": (dict[A[int, Field(ge=1, le=3)], str], [{"1": "a", "3": "b"}]),
    "float_keys": (dict[float, int], [{"1.5": 1}]),
    "bool_keys": (dict[bool, int], [{"true": 1, "false": 0}]),
    "enum_keys": (dict[Color, int], [{"red": 1}]),
    "int_enum_keys": (dict[Level, int], [{"1": 1}]),
    "literal_keys": (dict[t.Literal["a", "b"], int], [{"a": 1}]),
    "uuid_keys": (dict[uuid.UUID, int], [{"12345678-1234-5678-1234-567812345678": 1}]),
    "date_keys": (dict[dt.date, int], [{"2024-01-01": 1}]),
    "pattern_keys": (dict[A[str, Field(pattern="^x-")], int], [{"x-a": 1}]),
    "optional_keys": (dict[t.Optional[int], int], [{"3": 1}]),
    "model": (Person, [{"name": "Ada"}, {"name": "Ada", "age": 36}]),
    "aliased": (Aliased, [{"firstName": 1, "secondName": 2}]),
    "open": (Open, [{"x": 1, "y": "z"}]),
    "open_typed": (OpenTyped, [{"x": 1, "y": 2}]),
    "generic": (Box[int], [{"content": 1}]),
    "nested_generic": (Box[Box[str]], [{"content": {"content": "a"}}]),
    "root": (Names, [["a"]]),
    "root_dict": (RootModel[dict[str, int]], [{"a": 1}]),
    "recursive": (Tree, [{"value": 1, "children": [{"value": 2}]}]),
    "recursive_alias": (Json, [{"a": [1, None, "x"]}]),
    "computed": (Computed, [{"x": 1}]),
    "dataclass": (Point, [{"x": 1}, {"x": 1, "y": 2.5}]),
    "pydantic_dataclass": (Circle, [{"center": {"x": 1}, "radius": 2.0}]),
    "typed_dict": (Movie, [{"title": "a"}, {"title": "a", "year": 1999}]),
    "old_typed_dict": (OldMovie, [{}, {"title": "a", "sequel": None}]),
    "named_tuple": (Pair, [[1], [1, "a"]]),
    "optional": (t.Optional[int], [None, 1]),
    "union": (t.Union[int, str], [1, "a"]),
    "tagged": (
        A[t.Union[Cat, Dog], Field(discriminator="kind")],
        [{"kind": "cat", "meows": 3}, {"kind": "dog", "barks": True}],
    ),
    "top_level_annotated": (A[int, Field(ge=3, le=5)], [3, 5]),
    "multiple": (A[int, Field(multiple_of=5)], [10]),
    "type_alias": (te.TypeAliasType("Ints", list[int]), [[1]]),
    "strict": (A[int, p.Strict()], [1]),
}

#: A type and JSON values that its schema must refuse, because validation does.
REFUSED = {
    "closed_model": (Person, {"name": "Ada", "nickname": "x"}),
    "closed_dataclass": (Point, {"x": 1, "z": 2}),
    "closed_typed_dict": (Movie, {"title": "a", "director": "b"}),
    "closed_root": (Names, {"a": 1}),
    "missing_tag": (A[t.Union[Cat, Dog], Field(discriminator="kind")], {"meows": 1}),
    "field_name_for_alias": (Aliased, {"first": 1, "second": 2}),
    "digits": (A[Decimal, Field(max_digits=5, decimal_places=2)], 1000),
    "not_positive": (A[Decimal, Field(max_digits=5, decimal_places=2, gt=0)], -1),
    "too_many_decimals_for_the_step": (A[Decimal, Field(decimal_places=1, multiple_of=Decimal("0.25"))], 0.25),
    "zero_without_a_whole_digit": (A[Decimal, Field(max_digits=2, decimal_places=2)], 0),
    "base64_of_no_text": (p.Base64Str, "gICA"),
    "alias_where_names_count": (ByName, {"z": 1}),
    "decimals": (A[Decimal, Field(max_digits=5, decimal_places=2)], 0.125),
    "text_for_decimal": (Decimal, "abc"),
    "int_key": (dict[int, str], {"a": "b"}),
    "bool_key": (dict[bool, str], {"maybe": "b"}),
    "key_pattern": (dict[A[str, Field(pattern="^x-")], int], {"y": 1}),
    "key_out_of_bounds": (dict[A[int, Field(ge=1, le=3)], str], {"4": "a"}),
    "spaces_at_the_ends": (Trimmed, {"name": " a "}),
    "no_zone": (p.AwareDatetime, "2024-01-01T00:00:00"),
    "a_zone": (p.NaiveDatetime, "2024-01-01T00:00:00Z"),
    "early": (A[dt.date, Field(gt=dt.date(1999, 5, 17))], "1999-05-17"),
    "late": (A[dt.date, Field(lt=dt.date(2024, 3, 1))], "2024-03-01"),
    "scheme": (p.HttpUrl, "ftp://example.com"),
    "odd_hex": (HexModel, {"data": "abc"}),
    "bad_base64": (Base64Model, {"data": "a"}),
    "bytes_not_characters": (A[bytes, Field(max_length=3)], "äöü"),
    "small_set": (A[set[int], Field(min_length=2)], [1, 1]),
    "one_element_twice": (A[set, Field(min_length=2)], [1, True]),
    "flag_without_a_bit": (Permission, 4),
    "flag_without_half_a_member": (Access, 8),
    "deep_json": (p.Json, "[[[[]]]]"),
    "unhashable": (set, [[1]]),
    "list_for_hashable": (t.Hashable, [1]),
    "no_json": (p.Json[list[int]], "[a]"),
    "no_complex": (complex, "i"),
    "no_unit": (p.ByteSize, "12 apples"),
    "extra_of_wrong_type": (OpenTyped, {"x": 1, "y": "a"}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_schemas_are_valid_and_closed_under_the_type(name):
    """The schema is one of draft 2020-12, takes the values, and the type reads them."""
    tp, values = ACCEPTED[name]
    target = reflect(tp)
    Draft202012Validator.check_schema(dict(target.schema))
    for value in values:
        Draft202012Validator(dict(target.schema)).validate(value)
        target.validate(json.dumps(value))


def walk(grammar, seed):
    """Return a random text of a grammar over bytes; None if it did not end in time."""
    choose = random.Random(seed)
    matcher, text = grammar.matcher(), b""
    for step in range(400):
        allowed = matcher.allowed_tokens()
        if END in allowed and (len(allowed) == 1 or choose.random() < 0.3 or step > 100):
            return text.decode()
        allowed = [token for token in allowed if token != END and token not in b" \t\r\n"] or allowed
        closing = [token for token in allowed if token in b'"]}0,']
        if step > 60 and closing and choose.random() < 0.7:
            allowed = closing
        token = choose.choice(allowed)
        matcher.accept_token(token)
        text += bytes([token])
    return None


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_text_of_the_grammar_validates(name):
    """Random walks through the masks end in texts that the type reads, and the values above are among them."""
    tp, values = ACCEPTED[name]
    grammar = schemagen.compile(tp, BYTES)
    texts = [text for seed in range(12) if (text := walk(grammar, seed)) is not None]
    assert texts
    for text in texts:
        grammar.validate(text)
    for value in values:
        matcher = grammar.matcher()
        assert matcher.accept_bytes(json.dumps(value, ensure_ascii=False).encode())
        assert matcher.is_accepting()


@pytest.mark.parametrize("name", REFUSED)
def test_schemas_refuse_what_validation_refuses(name):
    """Where pydantic's own schema is wider than its validation, ours is not."""
    tp, value = REFUSED[name]
    target = reflect(tp)
    assert not Draft202012Validator(dict(target.schema)).is_valid(value)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\D$", "\u0663"),
        (r"^\W$", "\u00e9"),
        (r"^[^\w]$", "\u00e9"),
        (r"^\w$", "\u00e9"),
        (r"^[\w-]+$", "\u00e9-1"),
        (r"^\s$", "\ufeff"),
        (r"^\S$", "\u0085"),
        (r"^[^\d\s]$", "\u0663"),
        (r"^[^]\d]$", "\u0663"),
        (r"^\\w$", "\\w"),
        (r"^[a-z]+$", "abc"),
    ],
)
@pytest.mark.parametrize("engine", ["rust-regex", "python-re"])
def test_patterns_mean_what_they_mean_to_pydantic(pattern, text, engine):
    """The class escapes of pydantic's regex engines are those of Unicode, and so are the grammar's."""

    class Holder(BaseModel):
        model_config = ConfigDict(regex_engine=engine)
        x: A[str, Field(pattern=pattern)]

    document = json.dumps({"x": text}, ensure_ascii=False)
    try:
        expected = bool(reflect(Holder).validate(document))
    except p.ValidationError:
        expected = False
    matcher = schemagen.compile(Holder, BYTES).matcher()
    assert (matcher.accept_bytes(document.encode()) and matcher.is_accepting()) == expected


def test_instances_are_those_of_the_type():
    """The way back ends at the very class."""
    assert reflect(Person).validate('{"name": "Ada"}') == Person(name="Ada")
    assert reflect(Point).validate('{"x": 1}') == Point(1)
    assert reflect(Pair).validate('[1, "a"]') == Pair(1, "a")
    assert reflect(Level).validate("2") is Level.HIGH
    assert reflect(set[int]).validate("[1, 1, 2]") == {1, 2}
    assert reflect(OldMovie).validate('{"title": "x"}') == {"title": "x"}


def test_errors_of_pydantic_pass_unchanged():
    """A validator's complaint is not wrapped."""
    with pytest.raises(p.ValidationError, match="greater than or equal to 3"):
        reflect(A[int, Field(ge=3)]).validate("2")


class Deep(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    people: dict[str, list[t.Callable[[int], int]]]


@dataclasses.dataclass
class Holder:
    inner: list[Deep]


@pytest.mark.parametrize(
    ("tp", "at"),
    [
        (t.Callable[[int], int], "Callable"),
        (Deep, "Deep.people[1][0]"),
        (Holder, "Holder.inner[0].people[1][0]"),
        (list[slice], "list[slice][0]"),
        (type[int], "type[int]"),
        (dict[tuple[int, int], str], "dict[tuple[int, int], str]"),
        (set[list[int]], "set[list[int]]"),
        (t.Literal[b"x"], "Literal[b'x']"),
        # pydantic reads no plain Enum member from JSON in a Literal.
        (t.Literal[Color.RED], "Color.RED"),
        (A[dict[A[int, Field(ge=7)], int], "x"], "[0]"),
        (p.ImportString, "ImportString"),
        (A[set[int | bool], Field(min_length=2)], ""),
        (A[set[tuple[float | bool, ...]], Field(min_length=2)], ""),
        (A[set[t.Literal[True, "a"] | Level], Field(min_length=2)], ""),
        (list[Scattered], "Scattered][0]"),
    ],
)
def test_types_without_json_form_name_the_path(tp, at):
    """The error says which part of the type is the trouble."""
    with pytest.raises(UnsupportedTypeError, match="has no JSON form") as caught:
        reflect(tp)
    assert at in caught.value.at


@pytest.mark.parametrize(("tp", "at"), [(t.Literal[()], "Literal[()]"), (dict[str, t.Literal[()]], "[1]")])
def test_a_literal_without_values_has_no_instance(tp, at):
    """pydantic cannot build its validator; the error is that of an empty Enum, with the place."""
    with pytest.raises(schemagen.UnsatisfiableSchemaError, match="names no value") as caught:
        reflect(tp)
    assert at in caught.value.at


class Waiting(BaseModel):
    later: list[Nowhere]  # noqa: F821 - it is what the test is about


@dataclasses.dataclass
class WaitingRecord:
    later: Nowhere  # noqa: F821


@pytest.mark.parametrize("tp", [t.List["Nowhere"], Waiting, dict[str, Waiting], WaitingRecord])  # noqa: F821
def test_an_undefined_forward_reference_is_named(tp):
    """The error names it and says what to do."""
    with pytest.raises(UnsupportedTypeError, match=r"Nowhere.*' cannot be resolved") as caught:
        reflect(tp)
    assert "model_rebuild()" in caught.value.fix


@pytest.mark.parametrize(
    ("items", "texts"),
    [
        (dt.timedelta, '["P1D", "PT24H"]'),
        (float, "[0.1, 0.1000000000000000000001]"),
        (A[str, p.StringConstraints(to_lower=True)], '["a", "A"]'),
        (A[int | str, Field(union_mode="left_to_right")], '[1, "1"]'),
    ],
)
def test_equal_elements_of_a_set_are_left_to_the_check(items, texts):
    """Where different JSON values may be one element, the report says who sees to the number of elements."""
    target = reflect(A[set[items], Field(min_length=2)])
    assert target.checked == (("", "2 elements that are different in Python"),)
    assert Draft202012Validator(dict(target.schema)).is_valid(json.loads(texts, parse_float=Decimal))
    with pytest.raises(p.ValidationError, match="at least 2 items"):
        target.validate(texts)


def test_the_depth_of_json_in_a_string_is_reported():
    """JSON of any form inside a string is bounded, and the report says where and how."""

    class Record(BaseModel):
        packed: p.Json
        numbers: p.Json[list[int]]

    report = schemagen.compile(Record, BYTES).report
    caps = [(entry.pointer, entry.status, entry.note) for entry in report if entry.keyword == "depth"]
    assert [cap[:2] for cap in caps] == [("/properties/packed", "enforced")]
    assert "at most 3 deep" in caps[0][2]
    assert report.is_exact


def test_alias_paths_of_several_steps_are_refused_with_their_field():
    """A field inside another JSON value has no property of its own."""

    class Inner(BaseModel):
        x: int = Field(validation_alias=p.AliasPath("a", 0))

    for tp, at in [(Inner, "Inner.x"), (list[Inner], "[0].x")]:
        with pytest.raises(UnsupportedTypeError, match="found only by the alias path") as caught:
            reflect(tp)
        assert caught.value.at.endswith(at)
        assert "default" in caught.value.fix


def test_a_field_with_a_default_that_is_found_inside_another_value_is_left_out():
    """The others are written, and the default is what the class makes of it."""

    class Inner(BaseModel):
        x: int = Field(3, validation_alias=p.AliasPath("a", 0))
        y: int = Field(4, validation_alias=p.AliasChoices(p.AliasPath("b", 0), p.AliasPath("c", "d")))
        z: int

    @p.dataclasses.dataclass
    class Record:
        z: int
        x: int = Field(3, validation_alias=p.AliasPath("a", 0))

    class Keyed(te.TypedDict):
        z: int
        x: te.NotRequired[A[int, Field(validation_alias=p.AliasPath("a", 0))]]

    for tp in (Inner, Record, Keyed):
        target = reflect(tp)
        assert list(target.schema["properties"]) == target.schema["required"] == ["z"]
    assert reflect(Inner).validate('{"z": 1}') == Inner.model_validate({"z": 1})


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads typing.TypedDict since Python 3.12")
def test_a_recursive_old_typed_dict_names_the_remedy():
    """What cannot be rebuilt for pydantic ends in an error, not in a recursion."""
    with pytest.raises(UnsupportedTypeError, match="import TypedDict from typing_extensions"):
        reflect(Chain)


def test_what_no_keyword_can_say_is_listed():
    """Demands that only validation can check are on the target."""
    assert reflect(zoneinfo.ZoneInfo).checked == (("", "a time zone that the machine knows"),)
    assert reflect(p.PastDate).checked == (("", "date in the past"),)
    assert reflect(Person).checked == ()


def odd(value: int) -> int:
    """Refuse even numbers."""
    if value % 2 == 0:
        raise ValueError("even")
    return value


class Watched(BaseModel):
    """Each field has a demand that no keyword states."""

    born: p.PastDate
    odd: A[int, p.AfterValidator(odd)]
    moments: list[A[dt.datetime, Field(ge=dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc))]]
    log: p.FilePath | None = None
    packed: p.Json[A[int, p.AfterValidator(odd)]]
    keys: dict[A[str, p.AfterValidator(odd)], int]


class Around(BaseModel):
    """It holds another model twice, and has a validator itself."""

    first: Watched
    others: list[Watched]

    @p.model_validator(mode="after")
    def agree(self) -> Around:
        """Accept."""
        return self


def test_what_is_only_checked_has_the_pointer_of_its_field():
    """Validators and bounds stand where the schema has their type, in definitions, too."""
    fields = [
        ("/properties/born", "date in the past"),
        ("/properties/odd", "validator odd"),
        ("/properties/moments/items", "datetime >= 2020-01-01 00:00:00+00:00"),
        ("/properties/log/anyOf/0", "an existing file"),
        ("/properties/packed", "validator odd"),
        ("/properties/keys", "validator odd"),
    ]
    target = reflect(Watched)
    assert list(target.checked) == fields
    assert "checked" not in str(target.schema)
    found = reflect(Around).checked
    assert set(found) == {("", "validator agree"), *(("/$defs/Watched" + at, what) for at, what in fields)}
    grammar = schemagen.compile(Around, BYTES, cache=None)
    assert [(entry.pointer, entry.keyword) for entry in grammar.report.of_status("checked_after")] == list(found)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (int, True),
        (Person, True),
        (list[int], True),
        (t.List, True),
        (t.Optional[int], True),
        (t.Literal["a"], True),
        (A[int, "x"], True),
        (None, True),
        (t.Any, True),
        (t.Hashable, True),
        (Json, True),
        (UserId, True),
        (Movie, True),
        ({"type": "integer"}, False),
        (True, False),
        ("int", False),
        (3, False),
        ([int], False),
    ],
)
def test_types_are_told_from_schemas(spec, expected):
    """Dicts and booleans are schemas, other plain values are nothing."""
    assert is_type(spec) is expected


def test_the_schema_does_not_look_around():
    """No pattern of pydantic's that a finite automaton cannot read is left."""
    for tp, _ in ACCEPTED.values():
        assert "(?!" not in json.dumps(dict(reflect(tp).schema))
        assert "(?=" not in json.dumps(dict(reflect(tp).schema))


def test_a_class_without_a_schema_is_told_without_advice_that_does_not_help() -> None:
    """pydantic tells to allow arbitrary types, which it could not read from JSON all the same."""

    class Handle:
        pass

    class Owner(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        handle: Handle

    for tp in (Handle, list[Handle], Owner):
        with pytest.raises(UnsupportedTypeError) as caught:
            reflect(tp)
        assert "arbitrary_types_allowed" not in str(caught.value)
        assert "Handle" in caught.value.fact
        assert caught.value.why


@pytest.mark.parametrize(
    "use",
    [
        reflect,
        lambda tp: schemagen.compile(tp, BYTES),
        lambda tp: schemagen.compile(tp, BYTES, as_="yaml"),
        schemagen.to_regex,
        lambda tp: schemagen.Template("{hole}", hole=tp),
        lambda tp: schemagen.concat(tp).shown(),
        lambda tp: schemagen.text.list_of(tp).shown(),
    ],
)
def test_classes_within_one_another_up_to_the_recursion_limit(use: t.Callable[[t.Any], t.Any]) -> None:
    """pydantic calls itself for each of them: too many are an error that says so, and the limit can be raised."""
    before = sys.getrecursionlimit()
    tp: t.Any = int
    for number in range(60):
        tp = p.create_model(f"Level{number}", inner=(t.Optional[tp], ...))
    try:
        sys.setrecursionlimit(1000)
        with pytest.raises(LimitError, match=r"Level59 is nested .* recursion limit of 1,000") as caught:
            use(tp)
        assert "setrecursionlimit" in caught.value.fix
        sys.setrecursionlimit(20_000)
        use(tp)
    finally:
        sys.setrecursionlimit(before)
