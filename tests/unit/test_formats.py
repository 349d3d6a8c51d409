"""Formats against hand-written examples, pydantic, jsonschema's checkers and the official suite."""
# ruff: noqa: RUF001, S104 - look-alike characters and addresses are the data here

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import random
import re
import uuid
from functools import cache
from typing import Any

import pydantic
import pytest
from jsonschema import Draft202012Validator

from schemagen.regex import ast
from schemagen.regex.language import Language, is_subset, matches
from schemagen.schema.formats.emails_and_hosts import idn_email_regex
from schemagen.schema.formats.table import (
    FORMATS,
    PYTHON_FORMATS,
    SUPERSETS,
    Dialect,
    format_regex,
    format_superset_regex,
)
from schemagen.schema.formats.times import python_date_time_regex, timedelta_regex
from schemagen.schema.formats.uris import python_uri_regex
from tests import corpora

SAMPLES = 150


@cache
def recogniser(name: str, dialect: Dialect = "json-schema") -> Language:
    """A matcher of one format, kept because every test asks it often."""
    regex = format_regex(name, dialect=dialect)
    assert regex is not None
    return Language(regex)


class Sampler:
    """Draws random members of a language: structurally, and by rejection for intersections."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self, regex: ast.Regex) -> str:
        """One member; what is common in practice (ASCII, few repetitions) is drawn more often."""
        if isinstance(regex, ast.Chars):
            return self._character(regex.ranges)
        if isinstance(regex, ast.Concat):
            return "".join(self.draw(part) for part in regex.parts)
        if isinstance(regex, ast.Alternation):
            return self.draw(self._random.choice(regex.parts))
        if isinstance(regex, ast.Repeat):
            high = regex.low + 8 if regex.high is None else regex.high
            few = min(high, regex.low + self._random.randint(0, 3))
            return "".join(self.draw(regex.inner) for _ in range(self._random.choice([few, few, high])))
        assert isinstance(regex, ast.Conjunction), regex
        return self._both(regex)

    def _character(self, ranges: ast.Ranges) -> str:
        near = [(low, high) for low, high in ranges if low < 0x250]
        low, high = self._random.choice(near if near and self._random.random() < 0.8 else ranges)
        code_point = self._random.randint(low, high)
        return chr(0xE000 if 0xD800 <= code_point <= 0xDFFF else code_point)

    def _both(self, regex: ast.Conjunction) -> str:
        shape = next(part for part in regex.parts if not isinstance(part, ast.Complement) and not only_length(part))
        for _ in range(5000):
            text = self.draw(shape)
            if all(matches(part, text) for part in regex.parts if part is not shape):
                return text
        raise AssertionError("the first part of an intersection hardly ever meets the others")


def only_length(regex: ast.Regex) -> bool:
    """Whether an operand of an intersection limits the length and nothing else."""
    return isinstance(regex, ast.Repeat) and regex.inner == ast.ANY_CHAR


def samples(regex: ast.Regex | None) -> list[str]:
    """Random members, the same in every run."""
    assert regex is not None
    sampler = Sampler(20)
    return [sampler.draw(regex) for _ in range(SAMPLES)]


PYDANTIC_TYPES: dict[str, Any] = {
    "date": dt.date,
    "time": dt.time,
    "date-time": dt.datetime,
    "duration": dt.timedelta,
    "uuid": uuid.UUID,
    "uuid1": pydantic.UUID1,
    "uuid4": pydantic.UUID4,
    "uuid7": pydantic.UUID7,
    "email": pydantic.EmailStr,
    "name-email": pydantic.NameEmail,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "ipv4network": ipaddress.IPv4Network,
    "ipv6network": ipaddress.IPv6Network,
    "ipv4interface": ipaddress.IPv4Interface,
    "ipv6interface": ipaddress.IPv6Interface,
    "ipvanyaddress": pydantic.IPvAnyAddress,
    "ipvanynetwork": pydantic.IPvAnyNetwork,
    "ipvanyinterface": pydantic.IPvAnyInterface,
    "uri": pydantic.AnyUrl,
    "base64": pydantic.Base64Bytes,
    "base64url": pydantic.Base64UrlBytes,
    "regex": re.Pattern,
}


def refused_by_pydantic(target: Any, texts: list[str]) -> list[str]:
    """The texts that pydantic does not read into the type."""
    adapter = pydantic.TypeAdapter(target)

    def reads(text: str) -> bool:
        try:
            adapter.validate_json(json.dumps(text))
        except pydantic.ValidationError:
            return False
        return True

    return [text for text in texts if not reads(text)]


@pytest.mark.parametrize("name", PYDANTIC_TYPES)
def test_pydantic_reads_every_member_of_the_python_dialect(name: str) -> None:
    """What is generated for a typed target parses into its type."""
    assert refused_by_pydantic(PYDANTIC_TYPES[name], samples(format_regex(name, dialect="python"))) == []


@pytest.mark.parametrize(
    ("target", "regex"),
    [
        (pydantic.AwareDatetime, python_date_time_regex(offset="required")),
        (pydantic.NaiveDatetime, python_date_time_regex(offset="forbidden")),
        (dt.timedelta, timedelta_regex()),
        (pydantic.HttpUrl, python_uri_regex(("http", "https"))),
    ],
)
def test_pydantic_reads_the_special_forms(target: Any, regex: ast.Regex) -> None:
    """Types that share a format name with another one have their own expression."""
    assert refused_by_pydantic(target, samples(regex)) == []


@pytest.mark.parametrize(
    "value",
    [
        dt.timedelta(days=-3, microseconds=5),
        dt.timedelta(hours=50, milliseconds=250),
        dt.datetime(2024, 2, 29, 1, 2, 3, 400),  # noqa: DTZ001 - a naive one is the point
        dt.datetime(2024, 2, 29, tzinfo=dt.timezone(dt.timedelta(hours=-9, minutes=-30))),
        dt.time(23, 59, 59),
        dt.date(1, 1, 1),
    ],
)
def test_what_pydantic_writes_is_reachable(value: Any) -> None:
    """The JSON form of a value is a member of the expression for its type."""
    text = pydantic.TypeAdapter(type(value)).dump_python(value, mode="json")
    names = {dt.datetime: "date-time", dt.time: "time", dt.date: "date"}
    if isinstance(value, dt.timedelta):
        assert matches(timedelta_regex(), text)
    else:
        assert recogniser(names[type(value)], "python").matches(text)


#: Where a checker of jsonschema is stricter than its RFC: the year 0000, leap seconds, the rarely seen IPvFuture, Python's own `re`.
DEPARTURES = {
    "date": re.compile(r"0000"),
    "time": re.compile(r".*:60"),
    "date-time": re.compile(r".*:60|0000"),
    "uri": re.compile(r".*\[[vV]"),
    "uri-reference": re.compile(r".*\[[vV]"),
    "regex": re.compile(r".*", re.DOTALL),
}
CHECKED = sorted(set(FORMATS) & set(Draft202012Validator.FORMAT_CHECKER.checkers))


@pytest.mark.parametrize("name", CHECKED)
def test_jsonschema_accepts_every_member(name: str) -> None:
    """The independent checker agrees on random members, known departures of the checker aside."""
    checker = Draft202012Validator.FORMAT_CHECKER
    departure = DEPARTURES.get(name)
    texts = [text for text in samples(format_regex(name)) if not (departure and departure.match(text))]
    assert [text for text in texts if not checker.conforms(text, name)] == []


# fmt: off
EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "date": (
        ["2024-02-29", "2000-02-29", "1999-12-31", "0001-01-01", "9999-06-30", "0400-02-29"],
        ["2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "0000-02-30", "2024-1-01", "24-01-01", ""],
    ),
    "time": (
        ["00:00:00Z", "23:59:59.123456789012z", "12:00:00+05:30", "23:59:60Z", "00:29:60+00:30", "18:29:60-05:30"],
        ["24:00:00Z", "12:60:00Z", "12:00:00", "12:00Z", "12:00:00+24:00", "22:59:60Z", "00:29:60+00:29", "12:00:00.Z"],
    ),
    "date-time": (
        ["2024-02-29T12:00:00Z", "1990-12-31t15:59:60-08:00", "0001-01-01T00:00:00.5+23:59"],
        ["2023-02-29T12:00:00Z", "2024-01-01 12:00:00Z", "2024-01-01", "2024-01-01T12:00:00", "2024-01-01T25:00:00Z"],
    ),
    "duration": (
        ["P1Y2M3DT4H5M6S", "P4W", "PT0S", "P1M", "PT1M", "P1YT1H", "P3DT5M"],
        ["P", "PT", "P1YT", "P1Y1D", "PT1H1S", "P1W1D", "1D", "PT1.5S", "-P1D", "P1D1M"],
    ),
    "uuid": (
        ["550e8400-e29b-41d4-a716-446655440000", "FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF"],
        ["550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-44665544000", "g50e8400-e29b-41d4-a716-446655440000"],
    ),
    "uuid4": (["550e8400-e29b-41d4-a716-446655440000"], ["550e8400-e29b-11d4-a716-446655440000"]),
    "email": (
        ["ada@example.com", "a.b+c@x-y.z1", '"a b@c"@d', "a@[127.0.0.1]", "a@[IPv6:1::2]", "x@localhost", '""@a'],
        [".a@b", "a.@b", "a..b@c", "a@", "@b", "a b@c", "a@b_c", "a@-b", "a@[300.0.0.1]", '"a"b"@c', "a" * 65 + "@b"],
    ),
    "idn-email": (["실례@실례.테스트", "é@b", "a@ü.de", '"é"@b'], ["é", "@é", "a＠b", "é" * 33 + "@b"]),
    "hostname": (
        ["localhost", "a.b.c", "a--b", "1.2", "x.xn", "xn-a", "x" * 63, ".".join(["a" * 49] * 5)],
        ["", ".", "a.", ".a", "-a", "a-", "a_b", "a..b", "x" * 64, "xn--a", "XN--b", ".".join(["a" * 50] * 5), "é"],
    ),
    "idn-hostname": (
        ["실례.테스트", "bücher.example", "a。b", "l·l", "α͵β", "א׳ב", "・ぁ", "क्‍ष", "بي‌بي", "日本語", "пример.com", "ab.אב"],
        ["", "-ü", "ü-", "a·l", "α͵", "A׳ב", "・", "क‍ष", "Bücher", "ü.xn--a", "0a.א", "aא", "〮실", "א0٠", "ᄀ"],
    ),
    "ipv4": (["0.0.0.0", "255.255.255.255", "1.20.199.249"], ["256.0.0.0", "01.0.0.0", "1.1.1", "1.1.1.1.1", "1.1.1.1 "]),
    "ipv6": (
        ["::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
        ["", ":", ":::", "1:2:3:4:5:6:7", "1::2::3", "12345::", "::1.2.3", "::1%eth0", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6:7:8::"],
    ),
    "ipv4network": (["10.0.0.0/8", "192.168.4.0/22", "1.2.3.4", "1.2.3.4/32", "0.0.0.0/0"], ["10.0.0.1/8", "1.2.3.0/33"]),
    "ipv6network": (["::/0", "2001:db8::/32", "fe80::/64", "::1/128", "2001:db80::/28"], ["::1/64", "::/129"]),
    "ipv4interface": (["10.0.0.1/8", "1.2.3.4"], ["10.0.0.1/33", "10.0.0.1/"]),
    "ipv6interface": (["::1/64", "1::"], ["::1/129"]),
    "uri": (
        ["http://a.b/c?d#e", "urn:isbn:1", "mailto:a@b", "a:", "file:///x", "http://u:p@h:80/", "ldap://[2001:db8::7]/c?d", "x://%41"],
        ["", "a", "//a", "1a:b", "http://a b", "http://a/%4", "http://[::1", "http://a:b/", "http://ü", "a:\\", "http://a/[]"],
    ),
    "uri-reference": (["", "a/b", "//h", "#f", "?q", "../x", "a:b", "./a:b"], ["1:b", "%zz", "a b", "\\", "#a#b", "ü"]),
    "iri": (["http://ü.de/ß?π#é", "urn:ü"], ["ü", "http://a b", "http://\ue000/"]),
    "iri-reference": (["ü", "//ü/", "", "?\ue000"], ["\\ü", "#\ue000", "ü^"]),
    "uri-template": (["", "a{b}", "{+a,b*,c:30}", "{?q}", "ü{a.b}"], ["{", "{}", "}", "{a:0}", "{a b}", "<", "{a", "{!x}"]),
    "json-pointer": (["", "/", "/a~0b~1c", "//", "/ü\n"], ["a", "/~", "/~2", "#/a"]),
    "relative-json-pointer": (["0", "1#", "10/a", "0/"], ["", "/a", "01", "-1", "0##", "1a"]),
    "regex": (
        [
            *["^a+$", "(a|b)*?", r"[^a-z\d]{2,}", "", "(?=a)b", "(?<n>a)", "[]", r"\cA", "^[a-zA-Z0-9_]{3,16}$", "a{9,10}?", "é/\n"],
            *["a{100,255}", "a{12,12}", r"^\d{1,3}(,\d{3})*$", r"[\u4e00-\u9fa5]", r"[\u0041-\u005A\x00-\x1F]", "[а-яё]", "[+-.]"],
            *[r"\p{Lu}\P{Script=Greek}", r"\u{10FFFF}", r"^((25[0-5]|(2[0-4]|1\d|[1-9]|)\d)\.?\b){4}$", r"[\w.-]+@[\w-]+"],
        ],
        [
            *["(", "[a", "*", "a**", ")", "\\", "a{16,3}", "a{120,110}", "a{,3}", "a{", "[z-a]", r"[\x5A-\x41]", r"[\u005A-\u0041]"],
            *[r"\a", r"\u{110000}", r"\u12", r"\p{Klingon}", "(?a)", "(?=a)*", r"[\w-a]", "]", "}"],
        ],
    ),
}
# fmt: on


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    """Known valid strings match, known invalid ones do not."""
    valid, invalid = EXAMPLES[name]
    assert [text for text in valid if not recogniser(name).matches(text)] == []
    assert [text for text in invalid if recogniser(name).matches(text)] == []


# fmt: off
PYTHON_EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "time": (["12:00:00", "12:00:00.123456+01:00", "12:00:00Z"], ["23:59:60Z", "12:00:00.1234567"]),
    "date-time": (["2024-02-29T12:00:00", "2024-02-29t12:00:00z"], ["2023-02-29T12:00:00", "1998-12-31T23:59:60Z"]),
    "duration": (["P1D", "P99999999D", "P1Y2M3DT4H5M6S"], ["P999999999D", "P1.5D"]),
    "email": (["ada@example.com", "a_b@x--y.info"], ["a@b", "a@b.test", "a@b.LOCAL", '"a"@b.co', "a@ab--c.co", "a@b.c1"]),
    "uri": (
        ["http://localhost:8000/a", "https://u:p@a.b/?q#f", "wss://1.2.3.4", "mailto:a@b.co", "foo:bar", "file:///a/b"],
        ["http:", "http://", "http://a:65536/", "http://1.2.3", "http://a%20b/", "http://xn--a/", "//a", "https:x"],
    ),
    "base64": (["", "AA==", "AAA=", "AAAA", "Zm9vYmFy+/8="], ["A", "AA", "AAA", "AB==", "A===", "AA==AAAA", "-_=="]),
    "base64url": (["AA==", ""], ["AA"]),
}
# fmt: on


@pytest.mark.parametrize("name", PYTHON_EXAMPLES)
def test_python_examples(name: str) -> None:
    """The Python dialect leaves out what the Python type cannot hold."""
    valid, invalid = PYTHON_EXAMPLES[name]
    assert [text for text in valid if not recogniser(name, "python").matches(text)] == []
    assert [text for text in invalid if recogniser(name, "python").matches(text)] == []


def test_every_day_of_two_calendars() -> None:
    """Dates agree with `dt.date` on every day number of a leap and a common year, centuries included."""
    for year in (1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 9996):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                try:
                    expected = bool(dt.date(year, month, day))
                except ValueError:
                    expected = False
                assert recogniser("date").matches(text) == expected, text


def test_every_leap_second() -> None:
    """Second 60 is legal exactly where the offset turns the time into 23:59 UTC."""
    for hour in range(24):
        for minute in range(0, 60, 7):
            for offset in (-1439, -690, -61, -60, -1, 0, 1, 59, 60, 61, 345, 1439):
                sign, (hours, minutes) = "-+"[offset >= 0], divmod(abs(offset), 60)
                text = f"{hour:02}:{minute:02}:60{sign}{hours:02}:{minutes:02}"
                expected = (60 * hour + minute - offset) % 1440 == 1439
                assert recogniser("time").matches(text) == expected, text


LONG = {"idn-hostname", "hostname", "uri", "email", "idn-email", "time", "date-time"}


@pytest.mark.parametrize("name", sorted(set(FORMATS) - LONG))
def test_supersets_contain_the_format(name: str) -> None:
    """Nothing that a format allows is missing from its over-approximation."""
    exact, superset = format_regex(name), format_superset_regex(name)
    assert exact is not None
    assert superset is not None
    assert superset in {exact, ast.ANY_STRING} or is_subset(exact, superset)


def test_supersets_of_the_long_formats_contain_random_members() -> None:
    """The same on samples where the full inclusion would have too many states."""
    for name in sorted(LONG):
        superset = format_superset_regex(name)
        assert superset is not None
        assert [text for text in samples(format_regex(name)) if not matches(superset, text)] == []


def test_python_dialect_is_within_the_format_apart_from_naive_times_and_timedeltas() -> None:
    """Only a missing offset, and signs and fractions of a timedelta, go beyond the RFC in the Python dialect."""
    for name in (set(PYTHON_FORMATS) & set(FORMATS)) - {"time", "date-time", "duration"}:
        texts = samples(format_regex(name, dialect="python"))
        assert [text for text in texts if not recogniser(name).matches(text)] == []


@pytest.mark.parametrize("name", ["", "binary", "path", "file-path", "password", "json-string", "colour", "Date"])
def test_other_names_are_annotations(name: str) -> None:
    """A name without assertion has no language in any table."""
    assert format_regex(name) is None
    assert format_regex(name, dialect="python") is None
    assert format_superset_regex(name) is None


def test_tables_name_known_formats_only() -> None:
    """Overrides of the tables refer to formats that exist; those of Base64 are pydantic's alone."""
    base64 = {"base64", "base64url", "byte"}
    assert set(PYTHON_FORMATS) - base64 <= set(FORMATS)
    assert set(SUPERSETS) <= set(FORMATS) | base64


def test_local_part_of_international_mail_counts_octets() -> None:
    """Sixty-four octets of UTF-8, not characters."""
    regex = idn_email_regex()
    assert matches(regex, "é" * 32 + "@b")
    assert not matches(regex, "é" * 33 + "@b")
    assert matches(regex, "a" * 64 + "@b")


#: Valid strings that the subset of a format that is not regular refuses, over both drafts.
KNOWN_MISSES = {"hostname": 30, "idn-hostname": 10, "regex": 2}


def suite_cases() -> dict[str, list[tuple[str, bool]]]:
    """Strings of the format groups of the official suite, by format."""
    cases: dict[str, list[tuple[str, bool]]] = {}
    for group in corpora.groups("json-schema-test-suite"):
        name = group["schema"].get("format", "") if isinstance(group["schema"], dict) else ""
        if name in FORMATS and "optional---format---" in group["id"]:
            strings = [test for test in group["tests"] if isinstance(test["data"], str)]
            cases.setdefault(name, []).extend((test["data"], test["valid"]) for test in strings)
    return cases


def test_official_suite() -> None:
    """No invalid string is accepted, every valid one is, but for the known misses; supersets miss none."""
    agreement, false_accepts, lost = {}, [], []
    for name, cases in suite_cases().items():
        superset = format_superset_regex(name)
        assert superset is not None
        answers = [(text, valid, recogniser(name).matches(text)) for text, valid in cases]
        false_accepts += [(name, text) for text, valid, matched in answers if matched and not valid]
        lost += [(name, text) for text, valid, _ in answers if valid and not matches(superset, text)]
        agreement[name] = sum(valid and not matched for _, valid, matched in answers)
    assert false_accepts == []
    assert lost == []
    assert {name: misses for name, misses in agreement.items() if misses} == KNOWN_MISSES
