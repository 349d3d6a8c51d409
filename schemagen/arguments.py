"""Checks of what users pass: what cannot be meant is refused where it is given, not where it would first hurt."""

from __future__ import annotations

from operator import index
from typing import Any, Literal, get_args

from schemagen.errors import OptionError

#: Whose syntax a pattern is in: Python's `re`, ECMA-262 with the `u` flag, or Rust's `regex` crate.
PatternDialect = Literal["python", "ecma-262", "rust"]
PATTERN_DIALECTS: tuple[str, ...] = get_args(PatternDialect)


def check_dialect(dialect: Any) -> None:
    """Refuse a dialect of patterns that there is not.

    Raises:
        OptionError: It is none of `PATTERN_DIALECTS`.
    """
    if dialect not in PATTERN_DIALECTS:
        raise OptionError(f"dialect={dialect!r}", why="there is no such dialect", fix=f"use one of {PATTERN_DIALECTS}")


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number, also one of numpy's.

    Args:
        name: Of the argument.
        value: What was given.
        least: The smallest number that makes sense.

    Raises:
        OptionError: It is no whole number, or smaller.
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        why = f"it is a {type(value).__name__}" if number is None else f"the least that makes sense is {least}"
        raise OptionError(f"{name}={value!r}", why=why, fix=f"give a whole number, {least} or more")
    return number


def check_seed(seed: Any) -> int | None:
    """Return the seed of a generation as an int; None stays None.

    Raises:
        OptionError: It is no whole number.
    """
    try:
        return None if seed is None else index(seed)
    except TypeError:
        raise OptionError(
            f"seed={seed!r}", why=f"it is a {type(seed).__name__}", fix="give a whole number, or None"
        ) from None


def check_seconds(name: str, value: Any) -> None:
    """Refuse a time that has run out before it begins; None means any time.

    Raises:
        OptionError: It is not above zero, or no number.
    """
    if value is None:
        return
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not value > 0:
        why = "no time is left" if is_number else f"it is a {type(value).__name__}"
        raise OptionError(f"{name}={value!r}", why=why, fix="give seconds above 0, or None for any time")
