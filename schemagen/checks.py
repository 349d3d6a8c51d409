"""Checks of user arguments: an invalid value is refused where it is given, not where it would first fail."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from numbers import Real
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from schemagen.errors import MatcherError, OptionError, OptionTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

#: The syntax of patterns: Python's `re`, ECMA-262 with the `u` flag, or Rust's `regex` crate.
PatternDialect = Literal["python", "ecma-262", "rust"]
PATTERN_DIALECTS: tuple[str, ...] = get_args(PatternDialect)


def kind_of(value: Any) -> str:
    """Return the type of a value in words: "a str", "an int", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def check_dialect(dialect: Any) -> None:
    """Refuse an unknown dialect of patterns.

    Raises:
        OptionError: It is not one of `PATTERN_DIALECTS`.
    """
    if dialect not in PATTERN_DIALECTS:
        raise OptionError(f"dialect={dialect!r}", why="there is no such dialect", fix=f"use one of {PATTERN_DIALECTS}")


def check_count(name: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """Return a whole number as an int, even one of numpy's.

    Args:
        name: The name of the argument.
        value: The value of the argument.
        least: The smallest valid number.
        most: The largest valid number; None if unlimited.

    Raises:
        OptionError: It is not a whole number, too small, or too large.
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        why = f"it is {kind_of(value)}" if number is None else f"the least that makes sense is {least}"
        raise OptionError(f"{name}={as_text(value)}", why=why, fix=f"give a whole number, {least} or more")
    if most is not None and number > most:
        raise OptionError(f"{name}={as_text(number)}", why="it is too large", fix=f"give a number up to {most}")
    return number


def check_bounds(low: Any, high: Any, *, least_high: int = 0) -> None:
    """Refuse bounds of a count, the arguments ``min`` and ``max``, that no number is within.

    Args:
        low: The value of ``min``.
        high: The value of ``max``; None for no bound.
        least_high: The smallest valid ``max``.

    Raises:
        OptionError: One is not a whole number or too small, or they are in the wrong order.
    """
    check_count("min", low, least=0)
    if high is not None:
        check_count("max", high, least=least_high)
        if high < low:
            raise OptionError(f"min={as_text(low)}, max={as_text(high)}", why="no number is both", fix="swap them")


def check_number(  # noqa: PLR0913 - the bounds, and the texts
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    finite: bool = True,
    why: str = "",
    fix: str = "",
) -> float:
    """Return a number as a float, even a Decimal, a Fraction, or one of numpy.

    Args:
        name: The name of the argument.
        value: The value of the argument.
        least: The smallest valid number.
        above: An exclusive lower bound.
        most: The largest valid number.
        below: An exclusive upper bound.
        finite: Whether it must not be infinite.
        why: The reason for refusing numbers beyond the bounds; empty to state the bounds.
        fix: The correction; empty to state the bounds.

    Raises:
        OptionError: It is not a number, is NaN, or lies beyond the bounds.
    """
    bounds = {"at least": least, "above": above, "at most": most, "below": below}
    told = " and ".join(f"{word} {bound}" for word, bound in bounds.items() if bound is not None)
    fix = fix or f"give a number {told}".rstrip()
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        raise OptionError(f"{name}={as_text(value)}", why=f"it is {kind_of(value)}", fix=fix)
    try:
        number = float(value)
    except (OverflowError, ValueError):  # too large; a signalling NaN
        number = math.nan
    if math.isnan(number) or (finite and math.isinf(number)):
        raise OptionError(f"{name}={as_text(value)}", why="it is not a finite number", fix=fix)
    inside = (least is None or number >= least) and (most is None or number <= most)
    if not inside or (above is not None and number <= above) or (below is not None and number >= below):
        raise OptionError(f"{name}={as_text(value)}", why=why or f"only numbers {told} make sense", fix=fix)
    return number


def check_flag(name: str, value: Any, *, fix: str = "give True or False") -> bool:
    """Return a bool, even one of numpy; text and None are refused, because Python would silently treat them as booleans.

    Raises:
        OptionError: It is not a bool.
    """
    if value is True or value is False:
        return value
    if str(getattr(value, "dtype", "")) != "bool" or getattr(value, "ndim", None) != 0:
        raise OptionError(f"{name}={as_text(value)}", why=f"it is {kind_of(value)}", fix=fix)
    return bool(value)


def as_options(name: str, kind: type[T], given: Any) -> T | None:
    """Return the options that an argument stands for, which may be a flag or a number of tokens; None if it is off.

    Args:
        name: The name of the argument.
        kind: The class of the options, whose first field is the number of tokens.
        given: The value of the argument.

    Raises:
        OptionError: It has another type, or is a number below 1.
    """
    make = cast("Callable[..., T]", kind)
    if given is None or isinstance(given, bool):
        return make() if given else None
    return given if isinstance(given, kind) else make(check_count(name, given))


def check_seed(seed: Any) -> int | None:
    """Return the seed of a generation as an int; None stays None.

    Raises:
        OptionError: It is not a whole number, or one that torch's generators do not accept.
    """
    if seed is None:
        return None
    try:
        number = index(seed)
    except TypeError:
        raise OptionError(
            f"seed={seed!r:.80}", why=f"it is {kind_of(seed)}", fix="give a whole number, or None"
        ) from None
    if not -(2**63) <= number < 2**64:
        raise OptionError(
            f"seed={shown(number)}", why="a seed has 64 bits", fix="give a whole number from -2**63 to 2**64 - 1"
        )
    return number


def check_text(method: str, text: Any) -> None:
    """Refuse anything but a text.

    Raises:
        OptionTypeError: It is not a str.
    """
    if not isinstance(text, str):
        raise OptionTypeError(
            f"{method}() got {kind_of(text)}", why="it reads a complete text", fix="give a str; decode bytes first"
        )


def check_bytes(data: Any) -> None:
    """Refuse anything but bytes for a matcher to read.

    Raises:
        OptionTypeError: It is not bytes.
    """
    if not isinstance(data, bytes):
        raise OptionTypeError(
            f"accept_bytes() got {kind_of(data)}",
            why="a matcher reads bytes of UTF-8",
            fix="give text.encode()" if isinstance(data, str) else "give bytes, as bytes(data)",
        )


def check_token_id(method: str, token_id: Any) -> int:
    """Return the id of a token as an int.

    Raises:
        OptionTypeError: It is not a whole number.
    """
    why, fix = "a token is given by its id, a whole number", "give the id; a text goes to accept_bytes(text.encode())"
    return _whole(method, token_id, why, fix)


def check_fill(row: Any, budget: Any) -> tuple[int, int | None]:
    """Return the row and the budget of ``fill_next_token_bitmask`` as ints.

    Raises:
        OptionTypeError: One is not a whole number.
        OptionError: The budget is negative.
    """
    method = "fill_next_token_bitmask"
    fix = "give the row of this matcher, as row=0"
    number = _whole(method, row, "a row of the bitmask is a whole number", fix)
    if budget is None:
        return number, None
    fix = "give how many tokens may still come, or None"
    most = _whole(method, budget, "a budget is a whole number", fix)
    if most < 0:
        raise OptionError(
            f"budget={shown(most)}", why="it cannot be negative", fix="give how many tokens may still come"
        )
    return number, most


def _whole(method: str, given: Any, why: str, fix: str) -> int:
    """Return an argument of a matcher that is a whole number as an int.

    Raises:
        OptionTypeError: It is not a whole number.
    """
    try:
        return index(given)
    except TypeError:
        raise OptionTypeError(f"{method}() got {kind_of(given)}", why=why, fix=fix) from None


def check_steps(count: Any, taken: int) -> int:
    """Return the number of steps to undo as an int.

    Args:
        count: The argument of the user.
        taken: The number of accepted steps.

    Raises:
        OptionTypeError: It is not a whole number.
        MatcherError: It is negative, or above ``taken``.
    """
    number = _whole("rollback", count, "it undoes a number of steps", "give a whole number")
    if not 0 <= number <= taken:
        raise MatcherError(
            f"cannot undo {shown(number)} of {taken} steps",
            why="only accepted steps can be undone",
            fix="count the steps, or call reset()",
        )
    return number


def check_grammars(owner: str, grammars: Sequence[Any]) -> None:
    """Refuse anything but compiled grammars, such as a type; None means no constraint.

    Raises:
        OptionTypeError: One is not a grammar.
    """
    for given in grammars:
        if given is None or (callable(getattr(given, "matcher", None)) and not isinstance(given, type)):
            continue
        name = given.__name__ if isinstance(given, type) else "spec"
        raise OptionTypeError(
            f"the grammar of a {owner} is {as_text(given)}",
            why=f"it is {kind_of(given)}, and a processor takes a compiled grammar",
            fix=f"give lm.compile({name}), or schemagen.compile({name}, vocabulary)",
        )


def check_folder(cache: Any) -> None:
    """Refuse a cache that is not a path: a mistyped "memory" would become a folder.

    Args:
        cache: None, "memory", or a folder: a path, or a str that contains a separator or names an existing folder.

    Raises:
        OptionError: It is none of them.
    """
    if cache is None or cache == "memory":
        return
    is_path = isinstance(cache, os.PathLike) and isinstance(os.fspath(cache), str)
    if not is_path and not (isinstance(cache, str) and cache and _looks_like_a_folder(cache)):
        raise OptionError(
            f"cache={cache!r:.80}",
            why="it is neither 'memory' nor a folder that is there, and holds no separator"
            if isinstance(cache, str)
            else f"it is {kind_of(cache)}",
            fix="choose 'memory', None, a pathlib.Path, or a str like './cache'",
        )


def _looks_like_a_folder(text: str) -> bool:
    return os.sep in text or (os.altsep or os.sep) in text or text[0] == "~" or Path(text).is_dir()


def shown(number: int) -> str:
    """Return a whole number as text, a very long one by its length: Python writes no more than some thousand digits."""
    return str(number) if -(10**40) < number < 10**40 else f"a number of {number.bit_length()} bits"


def as_text(value: Any) -> str:
    """Return a value as an error names it: shortened."""
    return shown(value) if type(value) is int else f"{' '.join(repr(value).split()):.80}"


def check_seconds(name: str, value: Any) -> None:
    """Refuse a time limit that is not above zero; None means no limit.

    Raises:
        OptionError: It is not above zero, or not a number.
    """
    if value is not None:
        check_number(
            name, value, above=0, finite=False, why="no time is left", fix="give seconds above 0, or None for any time"
        )
