"""The pages "Pydantic Types", "Network Types" and "Secrets" of pydantic's documentation."""

import base64
import datetime as dt
import typing as t
import uuid
from decimal import Decimal

import pydantic as p
from hypothesis import strategies as st
from pydantic import Field, StringConstraints

from tests.zoo.entry import FLOATS, INTS, TEXT, Entry, raw, texts_of
from tests.zoo.standard import AS_NUMBER, AWARE, JSON_VALUES, decimals

A = t.Annotated
NOW = dt.datetime(2100, 1, 1, tzinfo=dt.timezone.utc)


def quoted(values):
    """Values whose JSON is their text as a string."""
    return values.map(lambda value: f'"{value}"')


def version(number):
    """UUIDs of one version."""
    return (
        st.uuids(version=number)
        if number in {1, 2, 3, 4, 5}
        else texts_of(
            f"01890a5d-ac96-{number}74b-bcce-b302099a8057", f"ffffffff-ffff-{number}fff-bfff-ffffffffffff"
        ).map(uuid.UUID)
    )


def urls(*texts):
    """URLs by hand, normal already."""
    return quoted(texts_of(*texts))


SHAPES = "URLs are a subset: RFC 3986 with an authority"
NUMBERS = st.floats(1e-100, 1e-6) | st.floats(1e-4, 1e100)
ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)

ENTRIES = {
    "StrictBool": Entry(p.StrictBool, st.booleans()),
    "StrictInt": Entry(p.StrictInt, INTS),
    "StrictFloat": Entry(p.StrictFloat, FLOATS),
    "StrictStr": Entry(p.StrictStr, TEXT),
    "StrictBytes": Entry(p.StrictBytes, TEXT.map(str.encode)),
    "Strict date": Entry(A[dt.date, p.Strict()], st.dates()),
    "PositiveInt": Entry(p.PositiveInt, st.integers(1, 10**20 - 1)),
    "NegativeInt": Entry(p.NegativeInt, st.integers(-(10**20) + 1, -1)),
    "NonNegativeInt": Entry(p.NonNegativeInt, st.integers(0, 10**20 - 1)),
    "NonPositiveInt": Entry(p.NonPositiveInt, st.integers(-(10**20) + 1, 0)),
    "PositiveFloat": Entry(p.PositiveFloat, NUMBERS),
    "NegativeFloat": Entry(p.NegativeFloat, NUMBERS.map(lambda x: -x)),
    "NonNegativeFloat": Entry(p.NonNegativeFloat, NUMBERS | st.just(0.0)),
    "NonPositiveFloat": Entry(p.NonPositiveFloat, NUMBERS.map(lambda x: -x) | st.just(0.0)),
    "FiniteFloat": Entry(p.FiniteFloat, FLOATS),
    "conint": Entry(p.conint(gt=-5, lt=100, multiple_of=3), st.integers(-1, 33).map(lambda n: 3 * n)),
    "confloat": Entry(p.confloat(ge=-1.5, lt=2.5), st.floats(-1.5, 2.5, exclude_max=True).map(lambda x: round(x, 6)).filter(lambda x: x < 2.5 and (x == 0 or abs(x) > 1e-5))),
    "confloat multiple": Entry(p.confloat(multiple_of=0.5), st.integers(-99, 99).map(lambda n: n / 2)),
    "condecimal": Entry(p.condecimal(max_digits=5, decimal_places=3, gt=Decimal(0)), decimals(min_value="0.001", max_value="99.999", places=3), raw, AS_NUMBER),
    "constr": Entry(p.constr(min_length=2, max_length=5), st.text(min_size=2, max_size=5)),
    "constr pattern": Entry(p.constr(pattern=r"^[A-Z]{2}\d+$"), st.from_regex(r"[A-Z]{2}[0-9]{1,5}", fullmatch=True)),
    "constr strip": Entry(p.constr(strip_whitespace=True, min_length=1), st.from_regex("[a-z]( ?[a-z]){0,4}", fullmatch=True)),
    "constr lower": Entry(p.constr(to_lower=True), TEXT.map(str.lower)),
    "StringConstraints": Entry(A[str, StringConstraints(pattern="^a*b$", max_length=6)], st.integers(0, 5).map(lambda n: "a" * n + "b")),
    "conbytes": Entry(p.conbytes(min_length=1, max_length=4), st.text(st.characters(max_codepoint=127), min_size=1, max_size=4).map(str.encode), departure="with a bound, bytes are ASCII"),
    "conlist": Entry(p.conlist(bool, min_length=1, max_length=3), st.lists(st.booleans(), min_size=1, max_size=3)),
    "conset": Entry(p.conset(int, min_length=1, max_length=3), st.sets(INTS, min_size=1, max_size=3)),
    "confrozenset": Entry(p.confrozenset(int, max_length=3), st.frozensets(INTS, max_size=3)),
    "condate": Entry(p.condate(gt=dt.date(2020, 2, 28), lt=dt.date(2021, 1, 1)), st.dates(dt.date(2020, 2, 29), dt.date(2020, 12, 31))),
    "AwareDatetime": Entry(p.AwareDatetime, AWARE),
    "NaiveDatetime": Entry(p.NaiveDatetime, st.datetimes()),
    **{f"UUID{number}": Entry(getattr(p, f"UUID{number}"), version(number)) for number in (1, 3, 4, 5, 6, 7, 8)},
    "Base64Bytes": Entry(p.Base64Bytes, quoted(st.binary(max_size=9).map(lambda b: base64.b64encode(b).decode())), raw, "the encoded form"),
    "Base64Str": Entry(p.Base64Str, quoted(ASCII.map(lambda s: base64.b64encode(s.encode()).decode())), raw, "the encoded form of ASCII"),
    "Base64UrlBytes": Entry(p.Base64UrlBytes, quoted(st.binary(max_size=9).map(lambda b: base64.urlsafe_b64encode(b).decode())), raw, "the encoded form"),
    "Base64UrlStr": Entry(p.Base64UrlStr, quoted(ASCII.map(lambda s: base64.urlsafe_b64encode(s.encode()).decode())), raw, "the encoded form of ASCII"),
    "Json": Entry(p.Json, texts_of('"1"', '"null"', '"\\"a\\""', '"-1.5"', '"[{},[]]"'), raw, "JSON inside a string, compact"),
    "Json of list": Entry(p.Json[list[int]], texts_of('"[]"', '"[1,2]"', '"[-3]"'), raw, "JSON inside a string, compact"),
    "Json of dict": Entry(p.Json[t.Literal["a", 1]], texts_of('"1"', '"\\"a\\""'), raw, "JSON inside a string, compact"),
    "JsonValue": Entry(p.JsonValue, JSON_VALUES),
    "SecretStr": Entry(p.SecretStr, quoted(st.from_regex("[a-z é]{0,8}", fullmatch=True)), raw, "secrets are dumped as stars"),
    "SecretBytes": Entry(p.SecretBytes, quoted(st.from_regex("[a-z é]{0,8}", fullmatch=True)), raw, "secrets are dumped as stars"),
    "Secret of int": Entry(p.Secret[int], INTS, raw, "secrets are dumped as stars"),
    "Secret of date": Entry(p.Secret[dt.date], quoted(st.dates()), raw, "secrets are dumped as stars"),
    "SecretStr bounded": Entry(A[p.SecretStr, Field(min_length=3, max_length=8)], quoted(st.from_regex("[a-z]{3,8}", fullmatch=True)), raw, "secrets are dumped as stars"),
    "ByteSize": Entry(p.ByteSize, st.integers(0, 10**15)),
    "EmailStr": Entry(p.EmailStr, quoted(st.from_regex("[a-z]{1,8}(\\.[a-z0-9]{1,5})?@[a-z]{1,9}\\.(com|org|net)", fullmatch=True)), raw, "a subset of the addresses"),
    "NameEmail": Entry(p.NameEmail, texts_of('"Ada Lovelace <ada@example.com>"', '"ada@example.com"'), raw, "a subset of the addresses"),
    "AnyUrl": Entry(p.AnyUrl, urls("https://example.com/", "ftp://a.b/c?d=e#f", "http://127.0.0.1:8000/x%20y"), raw, SHAPES),
    "AnyHttpUrl": Entry(p.AnyHttpUrl, urls("http://localhost/", "https://example.com:8443/a/b"), raw, SHAPES),
    "HttpUrl": Entry(p.HttpUrl, urls("http://example.com/", "https://user:pw@example.com/?q=1"), raw, SHAPES),
    "FileUrl": Entry(p.FileUrl, urls("file:///etc/hosts", "file:///tmp/a-b.txt"), raw, SHAPES),
    "FtpUrl": Entry(p.FtpUrl, urls("ftp://example.com/x"), raw, SHAPES),
    "WebsocketUrl": Entry(p.WebsocketUrl, urls("ws://example.com/", "wss://example.com/chat"), raw, SHAPES),
    "AnyWebsocketUrl": Entry(p.AnyWebsocketUrl, urls("ws://localhost/"), raw, SHAPES),
    "PostgresDsn": Entry(p.PostgresDsn, urls("postgres://u:p@localhost:5432/db", "postgresql+asyncpg://u@h/db"), raw, SHAPES),
    "MySQLDsn": Entry(p.MySQLDsn, urls("mysql://u:p@localhost:3306/db"), raw, SHAPES),
    "MariaDBDsn": Entry(p.MariaDBDsn, urls("mariadb://u:p@localhost:3306/db"), raw, SHAPES),
    "CockroachDsn": Entry(p.CockroachDsn, urls("cockroachdb://u:p@localhost:26257/db"), raw, SHAPES),
    "ClickHouseDsn": Entry(p.ClickHouseDsn, urls("clickhouse+native://u:p@localhost:9000/db"), raw, SHAPES),
    "SnowflakeDsn": Entry(p.SnowflakeDsn, urls("snowflake://u:p@account/db"), raw, SHAPES),
    "RedisDsn": Entry(p.RedisDsn, urls("redis://u:p@localhost:6379/1"), raw, SHAPES),
    "MongoDsn": Entry(p.MongoDsn, urls("mongodb://u:p@localhost:27017/db"), raw, SHAPES),
    "AmqpDsn": Entry(p.AmqpDsn, urls("amqp://u:p@localhost:5672/"), raw, SHAPES),
    "KafkaDsn": Entry(p.KafkaDsn, urls("kafka://localhost:9092"), raw, SHAPES),
    "NatsDsn": Entry(p.NatsDsn, urls("nats://u:p@localhost:4222"), raw, SHAPES),
    "IPvAnyAddress": Entry(p.IPvAnyAddress, st.ip_addresses()),
    "IPvAnyInterface": Entry(p.IPvAnyInterface, texts_of('"10.0.0.1/8"', '"::1/64"'), raw),
    "IPvAnyNetwork": Entry(p.IPvAnyNetwork, texts_of('"10.0.0.0/8"', '"2001:db8::/32"'), raw),
    "OnErrorOmit": Entry(list[p.OnErrorOmit[int]], st.lists(INTS, max_size=4)),
    "FailFast": Entry(A[list[bool], p.FailFast()], st.lists(st.booleans(), max_size=4)),
    "AllowInfNan": Entry(A[float, p.AllowInfNan(False)], FLOATS),
}  # fmt: skip
