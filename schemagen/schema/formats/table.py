"""The `format` keyword: names to languages over the string value (code points, not JSON text), full match.

Two dialects. ``json-schema`` is what the RFC of a format says. ``python`` is the part of it that pydantic reads
into the Python type of that format without loss (no leap seconds, microseconds, EmailStr, AnyUrl, ...), for typed
targets; there a naive time is legal too. A name that is in neither is an annotation: ``binary``, ``path``,
``password``, and anything unknown.

A few formats are not regular (`hostname` with ``xn--`` labels, `regex`, ...); there `format_regex` gives a subset, so
that a match is certainly valid, and `format_superset_regex` a superset, whose complement is certainly invalid.
"""

from __future__ import annotations

from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from schemagen.regex import ast
from schemagen.schema.formats import emails_and_hosts, idn, patterns, times, uris
from schemagen.schema.formats.parts import ALNUM, DIGIT, HEX, some

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Dialect = Literal["json-schema", "python"]
#: Of the name of a format in a disjunct whose dialect is not the RFC's own.
PYTHON_PREFIX = "python:"


def format_regex(name: str, *, dialect: Dialect = "json-schema") -> ast.Regex | None:
    """The language of a format; every match is valid.

    Args:
        name: Value of the keyword ``format``.
        dialect: Whose reading counts.

    Returns:
        The language over code points, or None if the name is an annotation only. Cached.
    """
    return _build(dialect, name)


def format_superset_regex(name: str) -> ast.Regex | None:
    """As `format_regex`, but every valid string matches: for use under negation."""
    return _build("superset", name)


def is_asserted(format_name: str, dialect: str) -> bool:
    """Whether a value of the keyword `format` says anything; the others are annotations."""
    return _build(dialect, format_name) is not None


def known_format(name: str) -> ast.Regex:
    """Return a language inside that of a format of a disjunct: every match is valid."""
    plain = name.removeprefix(PYTHON_PREFIX)
    regex = _build("python" if plain != name else "json-schema", plain)
    assert regex is not None, f"format {name!r} was checked when the keyword was read"
    return regex


def known_superset(name: str) -> ast.Regex:
    """Return a language around that of a format of a disjunct: every valid string matches."""
    regex = format_superset_regex(name.removeprefix(PYTHON_PREFIX))
    assert regex is not None, f"format {name!r} was checked when the keyword was read"
    return regex


@lru_cache(maxsize=256)
def _build(table: str, name: str) -> ast.Regex | None:
    overrides = {"python": PYTHON_FORMATS, "superset": SUPERSETS}.get(table, FORMATS)
    build = overrides.get(name) or FORMATS.get(name)
    return None if build is None else build()


def uuid_regex(version: int | None = None) -> ast.Regex:
    """RFC 9562: 8-4-4-4-12 hexadecimal digits of either case; with a version also that digit and the variant."""
    dash = ast.char_set("-")
    third, fourth = some(HEX, 4, 4), some(HEX, 4, 4)
    if version is not None:
        third = ast.concat(ast.char_set(str(version)), some(HEX, 3, 3))
        fourth = ast.concat(ast.char_set("89abAB"), some(HEX, 3, 3))
    return ast.concat(some(HEX, 8, 8), dash, some(HEX, 4, 4), dash, third, dash, fourth, dash, some(HEX, 12, 12))


def base64_regex(*, url_safe: bool = False, padding: bool = True) -> ast.Regex:
    """RFC 4648: groups of four, the last one padded, its unused bits zero.

    Args:
        url_safe: ``-_`` in the place of ``+/`` (section 5).
        padding: Whether the padding is required; otherwise it may also be missing.

    Returns:
        The language; the empty string is the encoding of nothing.
    """
    digit = ast.union(ALNUM, ast.char_set("-_" if url_safe else "+/"))
    pads = [ast.literal("=="), ast.literal("=")]
    if not padding:
        pads = [ast.optional(pad) for pad in pads]
    one = ast.concat(digit, ast.char_set("AQgw"), pads[0])
    two = ast.concat(digit, digit, ast.char_set("AEIMQUYcgkosw048"), pads[1])
    return ast.concat(ast.star(some(digit, 4, 4)), ast.optional(ast.union(one, two)))


def _ipv4_interface() -> ast.Regex:
    return emails_and_hosts.interface_regex(emails_and_hosts.ipv4_regex(), 32)


def _ipv6_interface() -> ast.Regex:
    return emails_and_hosts.interface_regex(emails_and_hosts.ipv6_regex(), 128)


#: Formats of JSON Schema, OpenAPI and pydantic that assert something, as their RFCs define them.
FORMATS: Mapping[str, Callable[[], ast.Regex]] = MappingProxyType(
    {
        "date": times.date_regex,
        "time": times.time_regex,
        "date-time": times.date_time_regex,
        "duration": times.duration_regex,
        "uuid": uuid_regex,
        **{f"uuid{number}": partial(uuid_regex, number) for number in range(1, 9)},
        "email": emails_and_hosts.email_regex,
        "idn-email": emails_and_hosts.idn_email_regex,
        "name-email": emails_and_hosts.python_name_email_regex,
        "hostname": emails_and_hosts.hostname_regex,
        "idn-hostname": idn.idn_hostname_regex,
        "ipv4": emails_and_hosts.ipv4_regex,
        "ipv6": emails_and_hosts.ipv6_regex,
        "ipv4network": emails_and_hosts.ipv4_network_regex,
        "ipv6network": emails_and_hosts.ipv6_network_regex,
        "ipv4interface": _ipv4_interface,
        "ipv6interface": _ipv6_interface,
        "ipvanyaddress": lambda: ast.union(emails_and_hosts.ipv4_regex(), emails_and_hosts.ipv6_regex()),
        "ipvanynetwork": lambda: ast.union(
            emails_and_hosts.ipv4_network_regex(), emails_and_hosts.ipv6_network_regex()
        ),
        "ipvanyinterface": lambda: ast.union(_ipv4_interface(), _ipv6_interface()),
        "uri": uris.uri_regex,
        "uri-reference": uris.uri_reference_regex,
        "iri": uris.iri_regex,
        "iri-reference": uris.iri_reference_regex,
        "uri-template": uris.uri_template_regex,
        "json-pointer": uris.json_pointer_regex,
        "relative-json-pointer": uris.relative_json_pointer_regex,
        "regex": patterns.ecma_pattern_regex,
    }
)

#: Where pydantic reads less than the RFC allows, or a naive time besides.
PYTHON_FORMATS: Mapping[str, Callable[[], ast.Regex]] = MappingProxyType(
    {
        "date": times.python_date_regex,
        "time": times.python_time_regex,
        "date-time": times.python_date_time_regex,
        "duration": times.timedelta_regex,
        "email": emails_and_hosts.python_email_regex,
        "uri": uris.python_uri_regex,
        "regex": patterns.pattern_regex,
        "base64": base64_regex,
        "byte": base64_regex,
        "base64url": lambda: base64_regex(url_safe=True),
    }
)


def _like_a_date() -> ast.Regex:
    """Anything that starts with a digit: validators differ on the year 0000 and on forms of ISO 8601."""
    return ast.concat(DIGIT, ast.ANY_STRING)


#: Any string may be a valid one of these.
_NOT_JUDGED = (
    *("regex", "email", "idn-email", "idn-hostname", "name-email", "ipv6network", "ipvanynetwork"),
    *("base64", "byte", "base64url", "uri-template"),
)
#: Every string that could be valid, where `FORMATS` has a subset.
SUPERSETS: Mapping[str, Callable[[], ast.Regex]] = MappingProxyType(
    {
        "hostname": emails_and_hosts.hostname_superset_regex,
        "date": _like_a_date,
        "date-time": _like_a_date,
        **dict.fromkeys(_NOT_JUDGED, lambda: ast.ANY_STRING),
    }
)
