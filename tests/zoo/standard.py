"""The page "Standard Library Types" of pydantic's documentation."""

import collections
import datetime as dt
import enum
import fractions
import ipaddress
import json
import pathlib
import re
import typing as t
import uuid
from decimal import Decimal

import pydantic as p
import typing_extensions as te
from hypothesis import strategies as st
from pydantic import ConfigDict, Field

from tests.zoo.entry import FLOATS, INTS, KEYS, TEXT, Entry, raw, texts_of

A = t.Annotated
T = t.TypeVar("T")
Bound = t.TypeVar("Bound", bound=int)

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
DATES = st.dates()
AWARE = st.datetimes(timezones=st.one_of(st.just(dt.timezone.utc), ZONES))
DATETIMES = st.one_of(st.datetimes(), AWARE)
TIMES = st.one_of(st.times(), st.times(timezones=ZONES))
DELTAS = st.timedeltas(dt.timedelta(0), dt.timedelta(days=10_000))
AS_NUMBER = "a Decimal is written as a JSON number, pydantic writes a string"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "text"
    NOTHING = None


class Shade(str, enum.Enum):
    DARK = "dark"
    LIGHT = "light"


class Level(enum.IntEnum):
    LOW = -1
    HIGH = 2


class Ratio(float, enum.Enum):
    HALF = 0.5
    WHOLE = 1.0
    TINY = 1e-7


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Point(t.NamedTuple):
    x: int
    y: int = 0


Untyped = collections.namedtuple("Untyped", ["a", "b"])  # noqa: PYI024 - this form is documented, too


class Movie(te.TypedDict):
    title: str
    year: te.NotRequired[int]


class Partial(te.TypedDict, total=False):
    title: te.Required[str]
    tags: list[str]
    rating: A[float, Field(ge=0, le=5)]


class OpenDict(te.TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")
    x: int


class Nested(te.TypedDict):
    movie: Movie
    others: dict[str, Movie]


def decimals(**bounds):
    """Decimals as JSON numbers."""
    return st.decimals(allow_nan=False, allow_infinity=False, **bounds).map(lambda d: format(d, "f"))


def entry_decimal(tp, **bounds):
    """An entry for Decimals."""
    return Entry(tp, decimals(**bounds), raw, AS_NUMBER)


MOVIES = st.fixed_dictionaries({"title": TEXT}, optional={"year": INTS})
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | INTS | FLOATS | TEXT,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(KEYS, x, max_size=3),
)
V4 = st.ip_addresses(v=4)
V6 = st.ip_addresses(v=6)

ENTRIES = {
    "bool": Entry(bool),
    "int": Entry(int, INTS, departure="soft cap of 20 digits"),
    "float": Entry(float, FLOATS, departure="soft caps of 20 digits after the point and of exponents; nan and inf are not JSON"),
    "str": Entry(str),
    "bytes": Entry(bytes, TEXT.map(str.encode)),
    "none": Entry(None, st.none()),
    "none type": Entry(type(None), st.none()),
    "complex": Entry(complex, st.builds(complex, st.integers(-99, 99), st.integers(-99, 99)).map(lambda z: f'"{z.real}{z.imag:+}j"'), raw, "always with a real part"),
    "fraction": Entry(fractions.Fraction, st.fractions(max_denominator=999, min_value=-99, max_value=99)),
    "Decimal": entry_decimal(Decimal, min_value=-(10**10), max_value=10**10, places=4),
    "Decimal max_digits": entry_decimal(A[Decimal, Field(max_digits=6)], min_value=-999, max_value=999, places=3),
    "Decimal places": entry_decimal(A[Decimal, Field(decimal_places=2)], min_value=-(10**9), max_value=10**9, places=2),
    "Decimal money": entry_decimal(A[Decimal, Field(max_digits=8, decimal_places=2, ge=0)], min_value=0, max_value=999_999, places=2),
    "Decimal multiple": Entry(A[Decimal, Field(multiple_of=Decimal("0.25"))], st.integers(-400, 400).map(lambda n: format(n * Decimal("0.25"), "f")), raw, AS_NUMBER),
    "Decimal exclusive": entry_decimal(A[Decimal, Field(gt=Decimal("-1.5"), lt=Decimal("2.5"))], min_value="-1.49", max_value="2.49", places=2),
    "date": Entry(dt.date, DATES),
    "date bounded": Entry(A[dt.date, Field(ge=dt.date(1999, 12, 31), le=dt.date(2001, 3, 1))], st.dates(dt.date(1999, 12, 31), dt.date(2001, 3, 1))),
    "datetime": Entry(dt.datetime, DATETIMES),
    "time": Entry(dt.time, TIMES),
    "timedelta": Entry(dt.timedelta, DELTAS),
    "enum": Entry(Color),
    "enum of mixed values": Entry(Mixed),
    "str enum": Entry(Shade),
    "int enum": Entry(Level),
    "float enum": Entry(Ratio),
    "flag": Entry(Permission, st.sampled_from([Permission.READ, Permission.WRITE, Permission.READ | Permission.WRITE])),
    "int flag": Entry(Bits, st.sampled_from([Bits(0), Bits.A, Bits.B, Bits.A | Bits.B])),
    "list": Entry(list, st.lists(JSON_VALUES, max_size=4)),
    "list of int": Entry(list[int], st.lists(INTS, max_size=5)),
    "typing.List": Entry(t.List[str]),
    "list of lists": Entry(list[list[bool]]),
    "list of optional": Entry(list[t.Optional[bool]]),
    "tuple": Entry(tuple, st.lists(JSON_VALUES, max_size=3).map(tuple)),
    "tuple of three": Entry(tuple[bool, str, None], st.tuples(st.booleans(), TEXT, st.none())),
    "tuple variadic": Entry(tuple[str, ...]),
    "tuple empty": Entry(tuple[()]),
    "named tuple": Entry(Point, st.builds(Point, INTS, INTS)),
    "named tuple untyped": Entry(Untyped, st.builds(Untyped, JSON_VALUES, JSON_VALUES)),
    "set": Entry(set[str]),
    "set of ints, at least two": Entry(A[set[int], Field(min_length=2)], st.sets(INTS, min_size=2, max_size=5)),
    "set of up to three": Entry(A[set[bool], Field(max_length=3)]),
    "frozenset": Entry(frozenset[int], st.frozensets(INTS, max_size=5)),
    "set of enum": Entry(set[Color]),
    "deque": Entry(collections.deque[str]),
    "deque bounded": Entry(A[collections.deque[bool], Field(max_length=3)], st.lists(st.booleans(), max_size=3).map(collections.deque)),
    "sequence": Entry(t.Sequence[bool], st.lists(st.booleans())),
    "iterable": Entry(t.Iterable[bool], st.lists(st.booleans()).map(json.dumps), raw, "the type reads a list and dumps a generator"),
    "dict": Entry(dict, st.dictionaries(KEYS, JSON_VALUES, max_size=4)),
    "dict of float": Entry(dict[str, float], st.dictionaries(KEYS, FLOATS, max_size=4)),
    "dict with int keys": Entry(dict[int, bool], st.dictionaries(st.integers(-(10**17), 10**17), st.booleans(), max_size=4)),
    "dict with bool keys": Entry(dict[bool, str]),
    "dict with enum keys": Entry(dict[Color, bool]),
    "dict with int enum keys": Entry(dict[Level, bool]),
    "dict with literal keys": Entry(dict[t.Literal["a", "b"], bool]),
    "dict with date keys": Entry(dict[dt.date, bool], st.dictionaries(DATES, st.booleans(), max_size=3)),
    "dict with UUID keys": Entry(dict[uuid.UUID, None]),
    "dict with pattern keys": Entry(dict[A[str, Field(pattern="^[a-z]+$")], bool], st.dictionaries(st.from_regex("^[a-z]{1,5}\\Z"), st.booleans(), max_size=3)),
    "dict bounded": Entry(A[dict[str, bool], Field(min_length=1, max_length=3)], st.dictionaries(KEYS, st.booleans(), min_size=1, max_size=3)),
    "dict of lists": Entry(dict[str, list[bool]], st.dictionaries(KEYS, st.lists(st.booleans(), max_size=3), max_size=3)),
    "mapping": Entry(t.Mapping[str, bool], st.dictionaries(KEYS, st.booleans(), max_size=4)),
    "ordered dict": Entry(collections.OrderedDict[str, bool], st.dictionaries(KEYS, st.booleans(), max_size=4).map(collections.OrderedDict)),
    "default dict": Entry(collections.defaultdict[str, list[bool]], st.dictionaries(KEYS, st.lists(st.booleans(), max_size=2), max_size=4)),
    "counter": Entry(collections.Counter[str], st.dictionaries(KEYS, st.integers(0, 9), max_size=4).map(collections.Counter)),
    "typed dict": Entry(Movie, MOVIES),
    "typed dict, not total": Entry(Partial, st.fixed_dictionaries({"title": TEXT}, optional={"tags": st.lists(TEXT, max_size=3), "rating": st.floats(0, 5).filter(lambda x: x == 0 or x > 1e-4)})),
    "typed dict, open": Entry(OpenDict, st.builds(lambda more, x: {**more, "x": x}, st.dictionaries(KEYS, JSON_VALUES, max_size=3), INTS)),
    "typed dict, nested": Entry(Nested, st.fixed_dictionaries({"movie": MOVIES, "others": st.dictionaries(KEYS, MOVIES, max_size=2)})),
    "ipv4 address": Entry(ipaddress.IPv4Address, V4),
    "ipv6 address": Entry(ipaddress.IPv6Address, V6),
    "ipv4 network": Entry(ipaddress.IPv4Network, st.builds(lambda a, n: ipaddress.IPv4Network((int(a) >> (32 - n) << (32 - n), n)), V4, st.integers(0, 32))),
    "ipv6 network": Entry(ipaddress.IPv6Network, texts_of("2001:db8::/32", "::/0", "::1/128", "fe80::/12").map(ipaddress.IPv6Network), departure="prefixes of IPv6 end at a hexadecimal digit"),
    "ipv4 interface": Entry(ipaddress.IPv4Interface, st.builds(lambda a, n: ipaddress.IPv4Interface((int(a), n)), V4, st.integers(0, 32))),
    "ipv6 interface": Entry(ipaddress.IPv6Interface, st.builds(lambda a, n: ipaddress.IPv6Interface((int(a), n)), V6, st.integers(0, 128))),
    "uuid": Entry(uuid.UUID),
    "path": Entry(pathlib.Path, TEXT.map(pathlib.Path)),
    "pure path": Entry(pathlib.PurePosixPath, TEXT.map(pathlib.PurePosixPath)),
    "pattern": Entry(re.Pattern, texts_of("a+", "[a-z]*", "(a|b)?$", r"\d{3}").map(re.compile), departure="a subset of the patterns"),
    "pattern of str": Entry(t.Pattern[str], texts_of("^x", "(a)(b)").map(re.compile), departure="a subset of the patterns"),
    "union": Entry(t.Union[bool, str]),
    "union with pipe": Entry(int | list[int] | None, INTS | st.lists(INTS, max_size=3) | st.none()),
    "union left to right": Entry(A[t.Union[int, str], Field(union_mode="left_to_right")], INTS | TEXT.filter(lambda s: not re.search(r"\d", s))),
    "union nested": Entry(t.Union[list[t.Union[bool, None]], dict[str, t.Union[str, bool]]]),
    "optional": Entry(t.Optional[bool]),
    "optional list": Entry(t.Optional[list[str]]),
    "literal": Entry(t.Optional[t.Literal["a", 1, True]]),
    "literal of enum": Entry(t.Literal[Shade.DARK]),
    "any": Entry(t.Any, JSON_VALUES),
    "object": Entry(object, JSON_VALUES),
    "hashable": Entry(t.Hashable, st.booleans() | TEXT | INTS),
    "type variable": Entry(T, JSON_VALUES),
    "type variable with bound": Entry(Bound, INTS),
    "annotated": Entry(A[bool, "documentation"], st.booleans()),
    "new type": Entry(t.NewType("UserId", int), INTS),
    "type alias": Entry(te.TypeAliasType("Ints", list[int]), st.lists(INTS, max_size=4)),
    "recursive alias": Entry(p.JsonValue, JSON_VALUES),
}  # fmt: skip
