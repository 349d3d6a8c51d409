"""How large a schema is when it is written out: parts that several places share count in each of them.

A schema is kept as what `marshal` makes of it, which writes shared parts again and again: forty objects, each with the one
below as the value of two keys, would be 2 ** 40. References by ``$ref`` are no such parts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bytes; schemas of people have some hundred kilobytes at most.
MOST_BYTES = 50_000_000
_EACH = 8


def check_size(schema: Any) -> None:
    """Refuse a schema that is too large to be written out.

    Args:
        schema: A dict that is not changed in the meantime.

    Raises:
        LimitError: It is.

    Cost: by the compiled core 10 ns for each value, at most 0.1 s; without it 1 us for each dict or list.
    """
    if _counter()(schema, MOST_BYTES):
        raise LimitError(
            f"the schema takes more than {MOST_BYTES // 10**6} MB when it is written out",
            why="parts that stand in several places are written in each of them",
            fix="put what is repeated under $defs, and write {'$ref': '#/$defs/...'} where it stands",
        )


@lru_cache(maxsize=1)
def _counter() -> Callable[[Any, int], bool]:
    """Return that of the compiled core, if there is one."""
    try:
        from schemagen import _core
    except ImportError:
        return _is_larger
    return _core.is_larger


def _is_larger(schema: Any, most: int) -> bool:
    """Do what the core does, each shared part once; what contains itself has no size, and is not too large."""
    sizes: dict[int, int] = {}  # of dicts and lists by identity; 0: not known yet
    waiting = [schema]
    while waiting:
        value = waiting[-1]
        parts = _parts(value)
        unknown = [part for part in parts if _is_container(part) and id(part) not in sizes]
        if id(value) not in sizes and unknown:
            sizes[id(value)] = 0
            waiting.extend(unknown)
            continue
        waiting.pop()
        if not sizes.get(id(value)):
            sizes[id(value)] = _EACH + sum(sizes[id(part)] if _is_container(part) else _size(part) for part in parts)
    return sizes[id(schema)] > most


def _is_container(value: Any) -> bool:
    return value.__class__ is dict or value.__class__ is list


def _parts(value: Any) -> list[Any]:
    return [*value.keys(), *value.values()] if value.__class__ is dict else list(value)


def _size(value: Any) -> int:
    return _EACH + (len(value) if value.__class__ is str else 0)
