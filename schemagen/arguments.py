"""Checks of what users pass: what cannot be meant is refused where it is given, not where it would first hurt."""

from __future__ import annotations

import os
from operator import index
from pathlib import Path
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
        OptionError: It is no whole number, or one that torch's generators do not take.
    """
    if seed is None:
        return None
    try:
        number = index(seed)
    except TypeError:
        raise OptionError(
            f"seed={seed!r:.80}", why=f"it is a {type(seed).__name__}", fix="give a whole number, or None"
        ) from None
    if not -(2**63) <= number < 2**64:
        raise OptionError(
            f"seed={shown(number)}", why="a seed has 64 bits", fix="give a whole number from -2**63 to 2**64 - 1"
        )
    return number


def check_bytes(data: Any) -> None:
    """Refuse a str where a matcher reads bytes.

    Raises:
        OptionError: It is one.
    """
    if isinstance(data, str):
        raise OptionError("accept_bytes() got a str", why="a matcher reads bytes of UTF-8", fix="give text.encode()")


def check_folder(cache: Any) -> None:
    """Refuse a cache that is no path: a mistyped "memory" would become a folder.

    Args:
        cache: None, "memory", or a folder: a path, or a str that holds a separator or names a folder that is there.

    Raises:
        OptionError: It is something else.
    """
    if cache is None or cache == "memory":
        return
    is_path = isinstance(cache, os.PathLike) and isinstance(os.fspath(cache), str)
    if not is_path and not (isinstance(cache, str) and cache and _looks_like_a_folder(cache)):
        raise OptionError(
            f"cache={cache!r:.80}",
            why="it is neither 'memory' nor a folder that is there, and holds no separator"
            if isinstance(cache, str)
            else f"it is a {type(cache).__name__}",
            fix="choose 'memory', None, a pathlib.Path, or a str like './cache'",
        )


def _looks_like_a_folder(text: str) -> bool:
    return os.sep in text or (os.altsep or os.sep) in text or text[0] == "~" or Path(text).is_dir()


def shown(number: int) -> str:
    """Return a whole number as text, a very long one by its length: Python writes no more than some thousand digits."""
    return str(number) if -(10**40) < number < 10**40 else f"a number of {number.bit_length()} bits"


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
