"""Makes a case smaller while something fails for it: parts of its JSON are left out, or stand in for the whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def shrunk(case: dict[str, Any], fails: Callable[[dict[str, Any]], bool], seconds: float) -> dict[str, Any]:
    """Return a smaller case that fails, too.

    Args:
        case: A case that fails.
        fails: Whether a case fails in the same way.
        seconds: When to stop.
    """
    end, found = time.monotonic() + seconds, True
    while found:
        found = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                return case
            if fails(smaller):
                case, found = smaller, True
                break
    return case


def _smaller(value: Any) -> Iterator[Any]:
    """Yield values that are a step smaller, those that lose most first."""
    if isinstance(value, dict):
        yield from ({name: each for name, each in value.items() if name != key} for key in value)
        yield from (each for each in value.values() if isinstance(each, dict))
        yield from ({**value, key: part} for key in value for part in _smaller(value[key]))
    elif isinstance(value, list):
        yield from (value[:at] + value[at + size :] for size, at in _pieces(len(value)))
        yield from ([*value[:at], part, *value[at + 1 :]] for at in range(len(value)) for part in _smaller(value[at]))
    elif isinstance(value, str):
        yield from (value[:at] + value[at + size :] for size, at in _pieces(len(value)))
    elif isinstance(value, int | float) and not isinstance(value, bool) and value not in {0, 1}:
        yield from (small for small in (0, 1, int(value / 10)) if abs(small) < abs(value))


def _pieces(length: int) -> Iterator[tuple[int, int]]:
    size = length
    while size:
        yield from ((size, at) for at in range(0, length, size))
        size //= 2
