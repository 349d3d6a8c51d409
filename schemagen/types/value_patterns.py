r"""The texts of single values, for types whose constraints JSON Schema has no keyword for.

Every pattern is written in the common part of ECMA-262 and Python: no look-around, explicit classes, anchored on both
ends. Each one is a *subset* of the texts that pydantic reads (soundness first); the docstrings say which are left out.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

from schemagen.errors import LimitError, PatternError
from schemagen.regex import parse_pattern
from schemagen.schema.keywords import PATTERN_DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from schemagen.checks import PatternDialect

Json = dict[str, Any]

#: White_Space of Unicode, as Rust's `str::trim` (and so pydantic's strip_whitespace) reads it.
_SPACE = r"\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
#: A string without spaces at its ends.
TRIMMED_PATTERN = rf"^(?:[^{_SPACE}](?:[\s\S]*[^{_SPACE}])?)?$"
_UNSIGNED = r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?"
#: ``1.5+2j``: no exponents, nan or inf.
COMPLEX_PATTERN = rf"^-?{_UNSIGNED}[+-]{_UNSIGNED}j$"
#: ``-3`` or ``1/3``.
FRACTION_PATTERN = r"^-?(?:0|[1-9][0-9]{0,14})(?:/[1-9][0-9]{0,14})?$"
#: ``1.5 MB``: a size with a unit that pydantic's ByteSize knows.
BYTE_SIZE_PATTERN = r"^(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,3})? ?(?:[KMGTPE]i?)?B$"
_INTEGER_KEY = r"^(?:0|-?[1-9][0-9]{0,17})$"
_MAX_LISTED_KEYS = 1000
#: Decimals of up to 15 significant digits survive float64, through which pydantic reads JSON numbers.
_EXACT_DIGITS = 15
_ENDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
_MAX_JSON_DEPTH = 12
#: How deep arrays and objects nest in JSON of any form inside a string: more would be a pattern of megabytes.
MAX_ANY_DEPTH = 3
#: A character of a string of JSON inside a string: itself or one of the short escapes.
_JSON_CHARACTER = r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])'
_BARE = r"[^\\^$.|?*+()\[\]{}\ud800-\uffff]"
_ESCAPED = r"\\[.*+?()\[\]{}^$|\\/-]"
_IN_CLASS = rf"(?:(?:[^\\\[\]^&~\ud800-\uffff-]|{_ESCAPED})(?:-(?![-\]]))?)"
_ONCE = r"(?:(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??)?"
#: Patterns that Rust's crate and ECMA-262 read alike, seen without reading them; most patterns are of this kind.
_PLAINLY_PORTABLE = re.compile(
    rf"(?:(?:(?:{_BARE}|{_ESCAPED}|\[\^?{_IN_CLASS}+-?\]|\)){_ONCE}|[\^$|]|\((?:\?:)?(?!\?))(?![*+?{{]))*"
)
_FLAGS = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


def pattern_keywords(pattern: str | re.Pattern[str], engine: str) -> Json:
    """Return the keywords that say a pattern of pydantic's, in the dialect of the engine that checks it.

    Args:
        pattern: As it was given; what `re.compile` made is checked by `re`, whatever the engine.
        engine: "rust-regex" or "python-re".

    Returns:
        `pattern`, with `PATTERN_DIALECT` unless it means the same in ECMA-262, as most do.
    """
    dialect: PatternDialect = "rust"
    if not isinstance(pattern, str) or engine == "python-re":
        dialect = "python"
        pattern = _python_text(pattern)
    said = {"pattern": pattern}
    return said if _is_portable(pattern, dialect) else {**said, PATTERN_DIALECT: dialect}


def _python_text(pattern: str | re.Pattern[str]) -> str:
    """Return a pattern of Python's with the flags it was compiled with in its text."""
    if isinstance(pattern, str):
        return pattern
    flags = "".join(letter for letter, flag in _FLAGS.items() if pattern.flags & flag)
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


def _is_portable(pattern: str, dialect: PatternDialect) -> bool:
    """Whether a pattern is read alike in a dialect and in ECMA-262; not, where either cannot read it."""
    if dialect == "rust" and _PLAINLY_PORTABLE.fullmatch(pattern):
        return True
    try:
        return parse_pattern(pattern, dialect, search=True) == parse_pattern(pattern, "ecma-262", search=True)
    except (PatternError, LimitError):
        return False


def integer_key_schema(value: Mapping[str, Any]) -> Json | None:
    """The keys that are read as the integers of a schema; None if the bounds are too wide to list and not simple."""
    low, high = value.get("minimum"), value.get("maximum")
    low = value["exclusiveMinimum"] + 1 if "exclusiveMinimum" in value else low
    high = value["exclusiveMaximum"] - 1 if "exclusiveMaximum" in value else high
    step = value.get("multipleOf", 1)
    if low is None and high is None and step == 1:
        return {"pattern": _INTEGER_KEY}
    if low is not None and high is not None and 0 <= high - low <= _MAX_LISTED_KEYS:
        return {"enum": [str(number) for number in range(low, high + 1) if number % step == 0]}
    if high is None and step == 1 and low in {0, 1}:
        return {"pattern": r"^(?:0|[1-9][0-9]{0,17})$" if low == 0 else r"^[1-9][0-9]{0,17}$"}
    return None


def number_key_schema(value: Mapping[str, Any]) -> Json | None:
    """The keys that are read as floats or Decimals; None if they are bounded."""
    return {"pattern": rf"^-?{_UNSIGNED}$"} if value.keys() <= {"type"} else None


def scheme_pattern(schemes: list[str]) -> str:
    """URLs of these schemes, with an authority (``scheme://host``)."""
    return f"^(?:{'|'.join(_escape(scheme) for scheme in schemes)})://"


def bytes_schema(mode: str, low: int | None, high: int | None) -> Json:
    """Bytes as JSON reads them: ``utf8``, ``base64`` or ``hex``; lengths are in bytes.

    With an upper bound UTF-8 text is kept to ASCII, where a character is a byte.
    """
    bounds: Json = {} if low is None else {"minLength": low}
    bounds |= {} if high is None else {"maxLength": high}
    if mode == "base64":
        return {"type": "string", "pattern": f"^(?:{_base64(low or 0, high)})$"}
    if mode == "hex":
        return {"type": "string", "pattern": f"^(?:[0-9a-f]{{2}}){_times(low or 0, high)}$"}
    ascii_only = {} if high is None else {"pattern": r"^[\x00-\x7f]*$"}
    return {"type": "string", **bounds, **ascii_only}


def _times(low: int, high: int | None) -> str:
    return f"{{{low},{'' if high is None else high}}}"


def _base64(low: int, high: int | None) -> str:
    """Base64 of ``low`` to ``high`` bytes (RFC 4648 section 4): quads, then a tail of none, one or two bytes."""
    tails = ("", "[A-Za-z0-9+/][AQgw]==", "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=")
    forms = []
    for extra, tail in enumerate(tails):
        fewest = max(0, -(-(low - extra) // 3))
        most = None if high is None else (high - extra) // 3
        if most is None or fewest <= most:
            forms.append(f"(?:[A-Za-z0-9+/]{{4}}){_times(fewest, most)}{tail}")
    return "|".join(forms)


def ascii_base64_pattern(*, url_safe: bool) -> str:
    """Base64 of ASCII text, for strings that are decoded to UTF-8: the top bit of every byte is clear.

    Those three bits of a quad are in its first three digits, so each digit is a class of its own.
    """
    digits = f"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789{'-_' if url_safe else '+/'}"
    first, second, third = (
        "[" + _escape("".join(digit for value, digit in enumerate(digits) if not value & bit)).replace("-", r"\-") + "]"
        for bit in (32, 8, 2)
    )
    fourth = r"[A-Za-z0-9\-_]" if url_safe else "[A-Za-z0-9+/]"
    return f"^(?:{first}{second}{third}{fourth})*(?:{first}[AQgw]==|{first}{second}[AEIMQUYcgkosw048]=)?$"


def decimal_schemas(schema: Mapping[str, Any]) -> list[Json]:
    """The JSON numbers that a Decimal with these constraints is read from; all of the schemas together.

    With ``max_digits`` alone the point may be anywhere, so there is a schema per number of decimals. JSON numbers
    are read through float64, hence at most 15 digits are offered where ``max_digits`` asks for more.
    """
    digits, places = schema.get("max_digits"), schema.get("decimal_places")
    if digits is None:
        return [_decimal(schema, places, None)]
    digits = min(digits, _EXACT_DIGITS)
    if places is not None:
        whole = max(0, schema["max_digits"] - places)
        found = _decimal(schema, min(places, digits), whole)
        # Zero has a digit before the point, which is one too many here.
        return [found] if whole else [part for side in ("gt", "lt") if (part := _one_side(found, side)) is not None]
    return [_decimal(schema, after, digits - after) for after in range(digits + 1)]


def _one_side(found: Json, side: str) -> Json | None:
    """The positive ("gt") or negative numbers of a schema; None if its bounds leave none."""
    ends: list[Any] = [found.get(key, found.get(other)) for key, other in _ENDS]
    low, high = ends
    if side == "gt":
        return None if high <= 0 else found if low > 0 else _bounded(found, "exclusiveMinimum", "minimum")
    return None if low >= 0 else found if high < 0 else _bounded(found, "exclusiveMaximum", "maximum")


def _bounded(found: Json, keyword: str, other: str) -> Json:
    return {**{key: part for key, part in found.items() if key != other}, keyword: 0}


def _decimal(schema: Mapping[str, Any], places: int | None, whole: int | None) -> Json:
    """A number with at most ``places`` digits after the point and ``whole`` digits before it."""
    result: Json = {"type": "number"}
    steps = [Fraction(schema["multiple_of"])] if schema.get("multiple_of") is not None else []
    steps += [Fraction(1, 10**places)] if places is not None else []
    if steps == [1]:
        result["type"] = "integer"
    elif steps:
        result["multipleOf"] = _plain(_common_multiple(steps))
    names = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
    result |= {name: _plain(schema[key]) for key, name in names.items() if schema.get(key) is not None}
    if whole is None:
        return result
    limit = 10 ** min(whole, _EXACT_DIGITS)
    highest = min(result.get("maximum", limit), result.get("exclusiveMaximum", limit))
    lowest = max(result.get("minimum", -limit), result.get("exclusiveMinimum", -limit))
    result |= {"exclusiveMaximum": limit} if highest >= limit else {}
    result |= {"exclusiveMinimum": -limit} if lowest <= -limit else {}
    return result


def _common_multiple(steps: list[Fraction]) -> Fraction:
    common = lcm(*(step.denominator for step in steps))
    return Fraction(lcm(*(int(step * common) for step in steps)), common)


def _plain(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def date_bounds_pattern(schema: Mapping[str, Any]) -> str | None:
    """The ISO dates between the bounds of a date, exactly; None without bounds (``gt`` and ``lt`` exclude the end)."""
    from datetime import timedelta

    day = timedelta(days=1)
    low: date | None = schema["gt"] + day if schema.get("gt") is not None else schema.get("ge")
    high: date | None = schema["lt"] - day if schema.get("lt") is not None else schema.get("le")
    if low is None and high is None:
        return None
    first = low.isoformat() if low else "0000-00-00"
    last = high.isoformat() if high else "9999-99-99"
    return f"^(?:{_between(first, last) or '[^0-9]'})$"


def _between(low: str, high: str) -> str:
    """Texts of the same layout, digit by digit between two of them in lexicographic order."""
    if low > high:
        return ""
    if not low or low == high:
        return _escape(low)
    if low[0] == high[0]:
        return f"{_escape(low[0])}(?:{_between(low[1:], high[1:])})"
    smallest, largest = (re.sub("[0-9]", digit, low[1:]) for digit in "09")
    forms = [f"{low[0]}(?:{_between(low[1:], largest)})", f"{high[0]}(?:{_between(smallest, high[1:])})"]
    if int(high[0]) - int(low[0]) > 1:
        rest = re.sub("[0-9]", "[0-9]", low[1:])
        forms.append(f"[{int(low[0]) + 1}-{int(high[0]) - 1}]{rest}")
    return "|".join(forms)


def zone_schema(constraint: str | int | None, *, with_date: bool) -> Json:
    """What a time must have besides its format: a zone, none, or a certain offset from UTC (in seconds)."""
    if constraint == "aware":
        return {"pattern": r"(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})$"}
    if constraint == "naive":
        # Hyphens belong to the date as well, so the zone cannot directly follow the date.
        return {"pattern": r"^[0-9-]{10}[Tt _][0-9:.,]*$" if with_date else r"^[0-9:.,]*$"}
    if isinstance(constraint, int):
        sign, minutes = "-" if constraint < 0 else "+", abs(constraint) // 60
        return {"pattern": f"[{sign}]{minutes // 60:02}:{minutes % 60:02}$"}
    return {}


def json_text_pattern(schema: Mapping[str, Any], resolve: Callable[[Json], Json], depth: int = 0) -> str | None:
    r"""Compact JSON texts of a schema as a pattern, for JSON inside a string; None if there is no such pattern.

    A subset: objects carry their required properties in order, strings have no ``\u`` escapes, JSON of any form nests
    `MAX_ANY_DEPTH` deep, recursion is refused.
    """
    if depth > _MAX_JSON_DEPTH:
        return None
    if "$ref" in schema:
        return json_text_pattern(resolve(dict(schema)), resolve, depth + 1)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return "|".join(_escape(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) for value in values)
    if "anyOf" in schema:
        parts = [json_text_pattern(part, resolve, depth + 1) for part in schema["anyOf"]]
        known = [part for part in parts if part is not None]
        return "|".join(known) or None
    write = _JSON_TEXTS.get(str(schema.get("type", "")))
    return write(schema, lambda part: json_text_pattern(part, resolve, depth + 1)) if write else None


def _only(schema: Mapping[str, Any], *keys: str) -> bool:
    """Whether nothing but these keywords constrains a schema."""
    return schema.keys() <= {"type", "title", "description", "default", "examples", *keys}


def _any_json(depth: int) -> str:
    text = f'"{_JSON_CHARACTER}*"'
    scalar = rf"null|true|false|-?{_UNSIGNED}(?:[eE][+-]?[0-9]{{1,2}})?|{text}"
    if depth == 0:
        return scalar
    inner = _any_json(depth - 1)
    member = f"{text}:(?:{inner})"
    return rf"{scalar}|\[(?:(?:{inner})(?:,(?:{inner}))*)?\]|\{{(?:{member}(?:,{member})*)?\}}"


#: JSON of any form inside a string.
ANY_JSON = _any_json(MAX_ANY_DEPTH)


def _json_string(schema: Mapping[str, Any], _inner: Callable[[Any], str | None]) -> str | None:
    times = _times(schema.get("minLength", 0), schema.get("maxLength"))
    return f'"{_JSON_CHARACTER}{times}"' if _only(schema, "minLength", "maxLength") else None


def _json_integer(schema: Mapping[str, Any], _inner: Callable[[Any], str | None]) -> str | None:
    plain = {key: part for key, part in schema.items() if not _only({}, key) and key not in {"title", "description"}}
    keys = integer_key_schema({key: part for key, part in plain.items() if key != "type"})
    if keys is None:
        return None
    return "|".join(keys["enum"]) if "enum" in keys else keys["pattern"][1:-1]


def _json_array(schema: Mapping[str, Any], inner: Callable[[Any], str | None]) -> str | None:
    if not _only(schema, "items", "minItems", "maxItems"):
        return None
    item = inner(schema.get("items", {}))
    if item is None:
        return None
    low, high = schema.get("minItems", 0), schema.get("maxItems")
    if high == 0:
        return r"\[\]"
    rest = f"(?:,(?:{item})){_times(max(low - 1, 0), None if high is None else high - 1)}"
    return rf"\[(?:{item}){rest}\]" if low else rf"\[(?:(?:{item}){rest})?\]"


def _json_object(schema: Mapping[str, Any], inner: Callable[[Any], str | None]) -> str | None:
    if not _only(schema, "properties", "required", "additionalProperties"):
        return None
    if not schema.get("properties") and not schema.get("required") and schema.get("additionalProperties"):
        others = schema["additionalProperties"]
        value = inner({} if others is True else others)
        member = f'"{_JSON_CHARACTER}*":(?:{value})'
        return None if value is None else rf"\{{(?:{member}(?:,{member})*)?\}}"
    members = []
    for name in schema.get("required", []):
        value = inner(schema["properties"][name])
        if value is None:
            return None
        members.append(f"{_escape(json.dumps(name, ensure_ascii=False))}:(?:{value})")
    return r"\{" + ",".join(members) + r"\}"


_JSON_TEXTS: Mapping[str, Callable[[Mapping[str, Any], Callable[[Any], str | None]], str | None]] = {
    "": lambda schema, _: ANY_JSON if _only(schema) else None,
    "string": _json_string,
    "integer": _json_integer,
    "number": lambda schema, _: f"-?{_UNSIGNED}" if _only(schema) else None,
    "boolean": lambda schema, _: "true|false" if _only(schema) else None,
    "null": lambda schema, _: "null" if _only(schema) else None,
    "array": _json_array,
    "object": _json_object,
}


def _escape(text: str) -> str:
    """Escape what both ECMA-262 and Python read as syntax, and nothing else."""
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", text)
