"""The pages "Fields", "Models", "Unions", "Alias", "Dataclasses" and "Validators" of pydantic's documentation."""

import dataclasses
import datetime as dt
import typing as t
from decimal import Decimal

import pydantic as p
import typing_extensions as te
from annotated_types import Ge, Interval, Len, MultipleOf
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Discriminator, Field, RootModel, Tag
from pydantic.alias_generators import to_camel

from tests.zoo.entry import FLOATS, INTS, TEXT, Entry
from tests.zoo.standard import Color, Level, Movie, Point

A = t.Annotated
T = t.TypeVar("T")
K = t.TypeVar("K")


class User(BaseModel):
    name: str
    age: A[int, Field(ge=0, le=150)]
    email: t.Optional[str] = None


class Constrained(BaseModel):
    count: int = Field(gt=0, lt=1000)
    even: int = Field(multiple_of=2, ge=-10, le=10)
    share: float = Field(ge=0, le=1)
    code: str = Field(pattern=r"^[a-z]{3}-[0-9]+$")
    words: list[A[str, Field(min_length=1, max_length=4)]] = Field(min_length=1, max_length=3)


class Defaults(BaseModel):
    a: int = 1
    b: list[int] = Field(default_factory=list)
    c: t.Literal["x", "y"] = "x"
    d: t.Optional[bool] = None


class Aliased(BaseModel):
    user_name: str = Field(alias="userName")
    total: int = Field(validation_alias="sum", serialization_alias="sum")
    odd: bool = Field(alias='key "quoted" \\ ü')


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    first_name: str
    is_active: bool


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: bool


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: bool


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)
    x: int
    y: float


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_min_length=1, str_max_length=5, str_to_upper=True)
    name: str


class EnumValues(BaseModel):
    model_config = ConfigDict(use_enum_values=True)
    color: Color
    level: Level


class Empty(BaseModel):
    pass


class Documented(BaseModel):
    """A model with everything that a reader sees and a mask does not."""

    x: int = Field(title="X", description="the x", examples=[1, 2], deprecated=False, json_schema_extra={"unit": "cm"})


class Private(BaseModel):
    x: bool
    _secret: int = 3
    kind: t.ClassVar[str] = "k"


class Excluded(BaseModel):
    x: bool
    y: bool = Field(default=True, exclude=True)


class Computed(BaseModel):
    x: bool

    @p.computed_field
    @property
    def opposite(self) -> bool:
        """Not part of the input."""
        return not self.x


class Validated(BaseModel):
    x: int

    @p.field_validator("x", mode="before")
    @classmethod
    def same(cls, value: t.Any) -> t.Any:
        """Change nothing."""
        return value


class Parent(User):
    children: list[User] = []


class Address(BaseModel):
    street: str
    zip: A[str, Field(pattern=r"^\d{5}$")]


class Company(BaseModel):
    name: str
    address: Address
    branches: dict[str, Address] = {}
    founded: t.Optional[dt.date] = None


class Tree(BaseModel):
    value: bool
    left: t.Optional["Tree"] = None
    right: t.Optional["Tree"] = None


class Even(BaseModel):
    odd: t.Optional["Odd"] = None


class Odd(BaseModel):
    evens: list[Even] = []


class Box(BaseModel, t.Generic[T]):
    content: T


class Page(BaseModel, t.Generic[K, T]):
    key: K
    items: list[T]


class Tags(RootModel[list[str]]):
    pass


class Scores(RootModel[dict[str, int]]):
    pass


class Cat(BaseModel):
    kind: t.Literal["cat"]
    lives: A[int, Field(ge=0, le=9)] = 9


class Dog(BaseModel):
    kind: t.Literal["dog", "puppy"] = "dog"
    barks: bool


class Fish(BaseModel):
    kind: t.Literal[Level.HIGH]
    depth: A[float, Field(le=0)] = 0.0


def shape(value: t.Any) -> str:
    """Tell a list from anything else."""
    return "many" if isinstance(value, list) else "one"


@dataclasses.dataclass
class Plain:
    x: int
    y: t.Optional[str] = None


@dataclasses.dataclass
class Defaulted:
    items: list[int] = dataclasses.field(default_factory=list)
    note: str = Field(default="", max_length=3)


@p.dataclasses.dataclass(config=ConfigDict(extra="forbid"))
class Checked:
    plain: Plain
    ratio: A[float, Field(gt=0, lt=1)]


class Base64Data(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    data: bytes


class Deferred(BaseModel):
    model_config = ConfigDict(defer_build=True)
    x: bool


class Everything(BaseModel):
    user: User
    pet: A[t.Union[Cat, Dog], Field(discriminator="kind")]
    movie: Movie
    point: Point
    when: dt.datetime
    tags: set[str]
    by_level: dict[Level, bool]


class Many(BaseModel):
    model_config = ConfigDict(title="Many")
    a: bool = False
    b: bool = False
    c: bool = False
    d: bool = False
    e: bool = False
    f: bool = False
    g: bool = False
    h: bool = False


Created = p.create_model("Created", x=(bool, ...), y=(t.Optional[str], None))

USERS = st.builds(User, name=TEXT, age=st.integers(0, 150), email=st.none() | TEXT)
SMALL = st.integers(-99, 99)
UNIT = st.integers(1, 999).map(lambda n: n / 1000)
CODES = st.from_regex("[a-z]{3}-[0-9]{1,4}", fullmatch=True)
ADDRESSES = st.builds(Address, street=TEXT, zip=st.from_regex("[0-9]{5}", fullmatch=True))
TREES = st.recursive(
    st.builds(Tree, value=st.booleans(), left=st.none(), right=st.none()),
    lambda inner: st.builds(Tree, value=st.booleans(), left=st.none() | inner, right=st.none() | inner),
    max_leaves=6,
)
CATS = st.builds(Cat, kind=st.just("cat"), lives=st.integers(0, 9))
DOGS = st.builds(Dog, kind=st.sampled_from(["dog", "puppy"]), barks=st.booleans())
FISH = st.builds(Fish, kind=st.just(Level.HIGH), depth=UNIT.map(lambda x: -x))
PLAIN = st.builds(Plain, INTS, st.none() | TEXT)
WORDS = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3)

ENTRIES = {
    "model": Entry(User, USERS),
    "model of constraints": Entry(Constrained, st.builds(Constrained, count=st.integers(1, 999), even=st.integers(-5, 5).map(lambda n: 2 * n), share=UNIT, code=CODES, words=WORDS)),
    "model of defaults": Entry(Defaults, st.builds(Defaults, a=INTS, b=st.lists(SMALL, max_size=3), c=st.sampled_from("xy"), d=st.none() | st.booleans())),
    "aliases": Entry(Aliased, st.builds(lambda a, b, c: Aliased(userName=a, sum=b, **{'key "quoted" \\ ü': c}), TEXT, INTS, st.booleans())),
    "alias generator": Entry(Camel, st.builds(Camel, first_name=TEXT, is_active=st.booleans())),
    "extra forbidden": Entry(Closed),
    "extra allowed": Entry(Open, st.builds(lambda x, more: Open(**{**more, "x": x}), st.booleans(), st.dictionaries(st.from_regex("[a-wyz]{1,4}", fullmatch=True), TEXT | INTS, max_size=3))),
    "frozen and strict": Entry(Frozen, st.builds(Frozen, x=INTS, y=FLOATS)),
    "strings stripped": Entry(Stripped, st.from_regex("[A-Z]{1,5}", fullmatch=True).map(lambda s: Stripped(name=s))),
    "enum values": Entry(EnumValues, st.builds(EnumValues, color=st.sampled_from(Color), level=st.sampled_from(Level))),
    "empty model": Entry(Empty),
    "documented": Entry(Documented, st.builds(Documented, x=INTS)),
    "private attributes": Entry(Private),
    "excluded field": Entry(Excluded, st.builds(Excluded, x=st.booleans())),
    "computed field": Entry(Computed, st.booleans().map(lambda x: Computed(x=x)), lambda _, v: v.model_dump_json(include={"x"}).encode(), "computed fields are output only"),
    "field validator": Entry(Validated, st.builds(Validated, x=INTS)),
    "inheritance": Entry(Parent, st.builds(Parent, name=TEXT, age=st.integers(0, 150), children=st.lists(USERS, max_size=2))),
    "nested models": Entry(Company, st.builds(Company, name=TEXT, address=ADDRESSES, branches=st.dictionaries(TEXT, ADDRESSES, max_size=2), founded=st.none() | st.dates())),
    "recursive": Entry(Tree, TREES),
    "mutually recursive": Entry(Even, st.recursive(st.builds(Even, odd=st.none()), lambda e: st.builds(Even, odd=st.builds(Odd, evens=st.lists(e, max_size=2))), max_leaves=5)),
    "generic": Entry(Box[bool], st.booleans().map(lambda x: Box[bool](content=x))),
    "generic, unbound": Entry(Box, st.booleans().map(lambda x: Box(content=x))),
    "generic of generic": Entry(Box[Box[t.Optional[str]]], (st.none() | TEXT).map(lambda x: Box[Box[t.Optional[str]]](content=Box[t.Optional[str]](content=x)))),
    "generic of two": Entry(Page[Level, User], st.builds(lambda k, v: Page[Level, User](key=k, items=v), st.sampled_from(Level), st.lists(USERS, max_size=2))),
    "root model": Entry(Tags, st.lists(TEXT, max_size=3).map(Tags)),
    "root model of dict": Entry(Scores, st.dictionaries(TEXT, INTS, max_size=3).map(Scores)),
    "list of models": Entry(list[User], st.lists(USERS, max_size=3)),
    "dict of models": Entry(dict[str, Closed], st.dictionaries(TEXT, st.builds(Closed), max_size=3)),
    "tuple of models": Entry(tuple[Closed, User], st.tuples(st.builds(Closed), USERS)),
    "optional model": Entry(t.Optional[Closed]),
    "union of models": Entry(t.Union[User, Address], USERS | ADDRESSES),
    "discriminated union": Entry(A[t.Union[Cat, Dog, Fish], Field(discriminator="kind")], CATS | DOGS | FISH),
    "list of discriminated union": Entry(list[A[t.Union[Cat, Dog], Field(discriminator="kind")]], st.lists(CATS | DOGS, max_size=3)),
    "callable discriminator": Entry(
        A[t.Union[A[bool, Tag("one")], A[list[bool], Tag("many")]], Discriminator(shape)], st.booleans() | st.lists(st.booleans(), max_size=3)
    ),
    "dataclass": Entry(Plain, PLAIN),
    "dataclass of defaults": Entry(Defaulted, st.builds(Defaulted, st.lists(SMALL, max_size=3), st.text(max_size=3))),
    "pydantic dataclass": Entry(Checked, st.builds(lambda a, b: Checked(plain=a, ratio=b), PLAIN, UNIT)),
    "bytes in base64": Entry(Base64Data, st.binary(max_size=9).map(lambda b: Base64Data(data=b)), lambda _, v: v.model_dump_json().replace("-", "+").replace("_", "/").encode(), "dumped url-safe, read in either alphabet"),
    "deferred": Entry(Deferred, st.builds(Deferred, x=st.booleans())),
    "create_model": Entry(Created, st.builds(Created, x=st.booleans(), y=st.none() | TEXT)),
    "many optional fields": Entry(Many, st.builds(lambda d: Many(**d), st.dictionaries(st.sampled_from("abcdefgh"), st.booleans())), lambda _, v: v.model_dump_json(exclude_unset=True).encode()),
    "a bit of everything": Entry(
        Everything,
        st.builds(Everything, user=USERS, pet=CATS | DOGS, movie=st.fixed_dictionaries({"title": TEXT}), point=st.builds(Point, INTS, INTS), when=st.datetimes(), tags=st.sets(TEXT, max_size=3), by_level=st.dictionaries(st.sampled_from(Level), st.booleans())),
    ),
    "Field ge le": Entry(A[int, Field(ge=-3, le=12)], st.integers(-3, 12)),
    "Field gt lt": Entry(A[float, Field(gt=0, lt=1)], UNIT),
    "Field multiple_of": Entry(A[int, Field(multiple_of=7)], SMALL.map(lambda n: 7 * n)),
    "Field multiple_of float": Entry(A[float, Field(multiple_of=0.25, ge=0)], st.integers(0, 99).map(lambda n: n / 4)),
    "Field lengths": Entry(A[str, Field(min_length=2, max_length=4)], st.text(min_size=2, max_size=4)),
    "Field exact length": Entry(A[str, Field(min_length=3, max_length=3)], st.text(min_size=3, max_size=3)),
    "Field pattern": Entry(A[str, Field(pattern=r"^\w+@\w+$")], st.from_regex("[a-zé_0-9]{1,4}@[a-z]{1,4}", fullmatch=True)),
    "Field pattern unanchored": Entry(A[str, Field(pattern="b.?c")], st.builds(lambda a, z: f"{a}bc{z}", TEXT, TEXT)),
    "Field pattern and lengths": Entry(A[str, Field(pattern="^[ab]*$", min_length=3, max_length=5)], st.from_regex("[ab]{3,5}", fullmatch=True)),
    "Field max_digits": Entry(A[Decimal, Field(max_digits=4, decimal_places=2)], st.integers(-9999, 9999).map(lambda n: n / 100), lambda _, v: repr(v).encode(), "a Decimal is written as a JSON number"),
    "Field strict": Entry(A[int, Field(strict=True)], INTS),
    "annotated-types Interval": Entry(A[int, Interval(ge=1, lt=10)], st.integers(1, 9)),
    "annotated-types Ge of a union": Entry(A[t.Union[int, float], Ge(2)], st.integers(2, 99)),
    "bounds of an optional union": Entry(A[t.Union[int, float, None], Field(gt=-3, le=4.5)], st.none() | st.integers(-11, 18).map(lambda n: n / 4)),
    "lengths of a union": Entry(A[t.Union[str, list[bool]], Len(1, 3)], st.text(min_size=1, max_size=3) | st.lists(st.booleans(), min_size=1, max_size=3)),
    "annotated-types Len": Entry(A[list[bool], Len(1, 2)], st.lists(st.booleans(), min_size=1, max_size=2)),
    "annotated-types MultipleOf": Entry(A[int, MultipleOf(4)], SMALL.map(lambda n: 4 * n)),
    "annotated inside": Entry(list[A[int, Field(ge=0, le=9)]], st.lists(st.integers(0, 9), max_size=5)),
    "annotated optional": Entry(t.Optional[A[str, Field(max_length=2)]], st.none() | st.text(max_size=2)),
    "annotated around optional": Entry(A[t.Optional[int], Field(ge=0)], st.none() | st.integers(0, 99)),
    "AfterValidator": Entry(A[int, p.AfterValidator(lambda x: x)], INTS),
    "BeforeValidator": Entry(A[int, p.BeforeValidator(lambda x: x)], INTS),
    "WrapValidator": Entry(A[int, p.WrapValidator(lambda x, handler: handler(x))], INTS),
    "InstanceOf list": Entry(te.TypeAliasType("Matrix", list[list[A[int, Field(ge=0, le=1)]]]), st.lists(st.lists(st.integers(0, 1), max_size=3), max_size=3)),
    "SerializeAsAny": Entry(p.SerializeAsAny[User], USERS),
    "WithJsonSchema": Entry(A[int, p.WithJsonSchema({"type": "integer", "minimum": 3})], st.integers(3, 99)),
    "SkipValidation": Entry(list[p.SkipValidation[int]], st.lists(INTS, max_size=3)),
}  # fmt: skip
