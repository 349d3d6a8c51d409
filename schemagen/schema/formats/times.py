"""Dates, times and durations of RFC 3339 (section 5.6 and appendix A), and the subset that Python's datetime holds.

The calendar is exact: 29 February needs a leap year. Years run from 0000 to 9999, and 0000 is a leap year (appendix C);
datetime starts at 0001. The only thing that an automaton has to remember about a year is whether it is a leap year.

A leap second, ``:60``, is legal only at 23:59 UTC (section 5.7), so hour and minute must agree with the offset. Hours
and minutes are tied by two separate conditions that are intersected, 24 + 60 alternatives instead of 1440.
"""

from __future__ import annotations

from typing import Literal

from schemagen.regex import ast
from schemagen.schema.formats.parts import DIGIT, some, two_digits, words

#: Whether a UTC offset follows the time.
Offset = Literal["required", "optional", "forbidden"]

_DASH = ast.char_set("-")
_COLON = ast.char_set(":")
_HOUR = two_digits(0, 23)
_MINUTE = two_digits(0, 59)
_ZULU = ast.char_set("Zz")
#: What datetime keeps; pydantic reads more digits and drops them.
_PYTHON_FRACTION_DIGITS = 6


def date_regex() -> ast.Regex:
    """``full-date``: 0000-01-01 to 9999-12-31, every day that exists."""
    zero = ast.literal("0000")
    return ast.union(_date(_year(), _leap_year()), _date(zero, zero))


def python_date_regex() -> ast.Regex:
    """Dates of `datetime.date`: 0001-01-01 to 9999-12-31, every day that exists."""
    return _date(_year(), _leap_year())


def _date(year: ast.Regex, leap_year: ast.Regex) -> ast.Regex:
    ends = {"02": 28, **dict.fromkeys(("04", "06", "09", "11"), 30)}
    by_end: dict[int, list[str]] = {}
    for month in (f"{number:02}" for number in range(1, 13)):
        by_end.setdefault(ends.get(month, 31), []).append(month)
    months = ast.union(*(ast.concat(words(names), _DASH, two_digits(1, end)) for end, names in by_end.items()))
    return ast.union(ast.concat(year, _DASH, months), ast.concat(leap_year, ast.literal("-02-29")))


def _year() -> ast.Regex:
    nonzero, zero = ast.chars((0x31, 0x39)), ast.char_set("0")
    return ast.union(
        *(ast.concat(some(zero, lead, lead), nonzero, some(DIGIT, 3 - lead, 3 - lead)) for lead in range(4))
    )


def _leap_year() -> ast.Regex:
    """Divisible by 4 but not by 100, or by 400; not 0000."""
    even, odd = ast.char_set("2468"), ast.char_set("13579")
    fours = ast.union(
        ast.concat(ast.char_set("0"), ast.char_set("48")),
        ast.concat(even, ast.char_set("048")),
        ast.concat(odd, ast.char_set("26")),
    )
    return ast.union(ast.concat(DIGIT, DIGIT, fours), ast.concat(fours, ast.literal("00")))


def time_regex(
    *, offset: Offset = "required", leap_second: bool = True, fraction_digits: int | None = None
) -> ast.Regex:
    """``full-time``, or ``partial-time`` where the offset may be missing.

    Args:
        offset: Whether the UTC offset is there.
        leap_second: Whether ``:60`` is allowed at 23:59 UTC; needs a required offset.
        fraction_digits: Most digits of the fraction of a second; None is no cap.

    Returns:
        The language.
    """
    fraction = ast.optional(ast.concat(ast.char_set("."), some(DIGIT, 1, fraction_digits)))
    clock = ast.concat(_HOUR, _COLON, _MINUTE, _COLON, two_digits(0, 59), fraction)
    zone = ast.union(_ZULU, ast.concat(ast.char_set("+-"), _HOUR, _COLON, _MINUTE))
    if offset == "forbidden":
        return clock
    if offset == "optional":
        return ast.concat(clock, ast.optional(zone))
    regular = ast.concat(clock, zone)
    return ast.union(regular, _leap_seconds(fraction)) if leap_second else regular


def _leap_seconds(fraction: ast.Regex) -> ast.Regex:
    """Times with second 60 whose UTC is 23:59."""
    sixty = ast.concat(ast.literal(":60"), fraction)
    zulu = ast.concat(ast.literal("23:59"), sixty, _ZULU)
    return ast.union(zulu, ast.conjunction(_tied_hours(sixty), _tied_minutes(sixty)))


def _tied_hours(sixty: ast.Regex) -> ast.Regex:
    """``hh:mm:60+hh:mm`` with hours that can mean 23 UTC: 59 minutes past leave no carry, all others leave one."""
    forms = []
    for hour in range(24):
        carry = ast.concat(two_digits(0, 58), sixty, ast.literal(f"+{hour:02}:"), two_digits(1, 59))
        even = ast.concat(ast.literal("59"), sixty, ast.literal(f"+{(hour + 1) % 24:02}:00"))
        west = ast.concat(_MINUTE, sixty, ast.literal(f"-{23 - hour:02}:"), _MINUTE)
        forms.append(ast.concat(ast.literal(f"{hour:02}:"), ast.union(carry, even, west)))
    return ast.union(*forms)


def _tied_minutes(sixty: ast.Regex) -> ast.Regex:
    """``hh:mm:60+hh:mm`` with minutes that mean 59 UTC."""
    forms = []
    for minute in range(60):
        east = ast.concat(ast.char_set("+"), _HOUR, ast.literal(f":{(minute + 1) % 60:02}"))
        west = ast.concat(_DASH, _HOUR, ast.literal(f":{59 - minute:02}"))
        forms.append(ast.concat(ast.literal(f"{minute:02}"), sixty, ast.union(east, west)))
    return ast.concat(_HOUR, _COLON, ast.union(*forms))


def date_time_regex(
    *, offset: Offset = "required", leap_second: bool = True, fraction_digits: int | None = None
) -> ast.Regex:
    """``date-time``: a date, ``T`` or ``t``, a time; arguments as in `time_regex`."""
    time = time_regex(offset=offset, leap_second=leap_second, fraction_digits=fraction_digits)
    return ast.concat(date_regex(), ast.char_set("Tt"), time)


def python_time_regex(*, offset: Offset = "optional") -> ast.Regex:
    """Times that pydantic reads into `datetime.time` without loss."""
    return time_regex(offset=offset, leap_second=False, fraction_digits=_PYTHON_FRACTION_DIGITS)


def python_date_time_regex(*, offset: Offset = "optional") -> ast.Regex:
    """Date-times that pydantic reads into `datetime.datetime` without loss.

    Args:
        offset: ``required`` for AwareDatetime, ``forbidden`` for NaiveDatetime.

    Returns:
        The language.
    """
    return ast.concat(python_date_regex(), ast.char_set("Tt"), python_time_regex(offset=offset))


def duration_regex(digits: dict[str, int] | None = None) -> ast.Regex:
    """``duration`` of RFC 3339 appendix A: units in order without gaps, weeks alone.

    Args:
        digits: Most digits per unit letter (``"m"`` is the minute); None is no cap.

    Returns:
        The language.
    """
    year, month, day, week, hour, minute, second = (_unit(letter, digits) for letter in "YMDWHmS")
    hours = ast.concat(hour, ast.optional(ast.concat(minute, ast.optional(second))))
    minutes = ast.concat(minute, ast.optional(second))
    time = ast.concat(ast.char_set("T"), ast.union(hours, minutes, second))
    months = ast.concat(month, ast.optional(day))
    date = ast.union(day, months, ast.concat(year, ast.optional(months)))
    return ast.concat(ast.char_set("P"), ast.union(ast.concat(date, ast.optional(time)), time, week))


def _unit(letter: str, digits: dict[str, int] | None) -> ast.Regex:
    return ast.concat(some(DIGIT, 1, digits[letter] if digits else None), ast.char_set(letter.upper()))


#: Any sum of units with so many digits stays below the 999,999,999 days of a timedelta and below 2**32 per unit.
_TIMEDELTA_DIGITS = {"Y": 5, "M": 6, "D": 8, "W": 7, "H": 6, "m": 7, "S": 9}


def timedelta_regex() -> ast.Regex:
    """What pydantic reads and writes for `datetime.timedelta`: a sign, gaps between units, fractions of a second.

    That is ISO 8601 beyond the RFC: ``P2DT2H0.25S``, ``-P1D``.
    """
    year, month, day, hour, minute = (ast.optional(_unit(letter, _TIMEDELTA_DIGITS)) for letter in "YMDHm")
    fraction = ast.concat(ast.char_set("."), some(DIGIT, 1, _PYTHON_FRACTION_DIGITS))
    seconds = some(DIGIT, 1, _TIMEDELTA_DIGITS["S"])
    second = ast.optional(ast.concat(seconds, ast.optional(fraction), ast.char_set("S")))
    date = ast.concat(year, month, day)
    time = ast.concat(ast.char_set("T"), _nonempty(ast.concat(hour, minute, second)))
    week = _unit("W", _TIMEDELTA_DIGITS)
    body = ast.union(_nonempty(ast.concat(date, ast.optional(time))), week)
    return ast.concat(ast.optional(_DASH), ast.char_set("P"), body)


def _nonempty(inner: ast.Regex) -> ast.Regex:
    return ast.conjunction(inner, ast.repeat(ast.ANY_CHAR, 1, None))
