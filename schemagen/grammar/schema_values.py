"""Refuse dicts that were hardly meant as JSON Schemas: with Python types as values, with unknown names, or too large.

JSON Schema ignores keywords that it does not know, so that ``{"name": str, "age": int}`` would allow anything.

A schema is kept as `marshal` writes it, shared parts once for each place: forty objects, each with the one below as the value
of two keys, would be 2 ** 40. References by ``$ref`` are no such parts.
"""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.engine.native.builder import require_core
from schemagen.errors import InvalidSchemaError, LimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: Python's types by their names in JSON Schema.
_NAMES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}
#: Most schemas have one of these, and need not be looked at any longer.
_COMMON = frozenset({"type", "$ref", "anyOf", "allOf", "oneOf", "properties", "enum", "const"})
_MOST_FIELDS = 4

#: The enclosing place, and the step from there; None for the root.
_Place: TypeAlias = "tuple[_Place, Any] | None"


def check_values(schema: Mapping[Any, Any]) -> None:
    """Refuse a schema with Python types or functions in it, also below keywords that nothing reads.

    Args:
        schema: A dict that `marshal` could not write: plain JSON has no such values.

    Raises:
        InvalidSchemaError: It has one.
    """
    from schemagen.errors.pointers import pointer_of

    for place, value in _values(schema):
        if not _is_python(value):
            continue
        path = _path(place)
        raise InvalidSchemaError(
            f"the value of {path[-1]!r} is {_shown(value)}",
            at=pointer_of(path),
            why="a JSON Schema is JSON; a dict with Python types for values is none",
            fix=_fix(schema, value),
        )


def warn_of_names(schema: Mapping[Any, Any]) -> None:
    """Warn of a schema without any keyword that JSON Schema knows: it is valid, and allows any value."""
    if not schema or not _COMMON.isdisjoint(schema) or not all(isinstance(name, str) for name in schema):
        return
    from schemagen.schema.keyword_table import TABLE
    from schemagen.schema.report_log import unknown_keyword

    if any(name in TABLE or name.startswith("x-") for name in schema):
        return
    inner = [name for name, value in schema.items() if isinstance(value, dict) and not _COMMON.isdisjoint(value)]
    alike = unknown_keyword(str(next(iter(schema)))).partition(": ")[2]
    if alike:
        fix = f"D{alike[1:]}"
    elif len(inner) == 1:
        fix = f"Give the part below {inner[0]!r}, if that is the schema."
    else:
        fix = 'A schema of an object with members is {"type": "object", "properties": {...}}.'
    warnings.warn(
        f"the schema has no keyword of JSON Schema and allows any value; its names are {_listed(schema)}. {fix}",
        UserWarning,
        stacklevel=frames_inside(),
    )


def _values(schema: Any) -> Iterator[tuple[_Place, Any]]:
    """Yield the values in a schema, in order, each with its place; a value that contains itself is read once."""
    waiting: list[tuple[_Place, Any]] = [(None, schema)]
    seen: set[int] = set()
    while waiting:
        place, value = waiting.pop()
        if not isinstance(value, dict | list | tuple):
            yield place, value
        elif id(value) not in seen:
            seen.add(id(value))
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            waiting.extend(reversed([((place, step), part) for step, part in parts]))


def _path(place: _Place) -> tuple[str, ...]:
    """Return the steps to a place; they are linked from the last one back, because schemas may be deep."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(str(step))
    return tuple(reversed(steps))


def _is_python(value: Any) -> bool:
    """Whether something is a type, a form of `typing`, a function, or a field of pydantic."""
    is_type = isinstance(value, type | UnionType | GenericAlias) or hasattr(value, "__origin__")
    return is_type or callable(value) or type(value).__module__ == "pydantic.fields"


def _shown(value: Any) -> str:
    return f"the type {value.__name__}" if isinstance(value, type) else f"{value!r:.80}"


def _fix(schema: Mapping[Any, Any], value: Any) -> str:
    """Say what to give instead: a type with these fields, or the name of the one type."""
    are_fields = _COMMON.isdisjoint(schema) and all(isinstance(name, str) and name.isidentifier() for name in schema)
    if are_fields and all(map(_is_python, schema.values())):
        shown = {name: kind.__name__ if isinstance(kind, type) else "..." for name, kind in schema.items()}
        fields = "".join(f", {name}=({kind}, ...)" for name, kind in list(shown.items())[:_MOST_FIELDS])
        more = ", ..." if len(shown) > _MOST_FIELDS else ""
        made = f"pydantic.create_model('Answer'{fields}{more})"
        return f"give a type: a pydantic class or a TypedDict with these fields, or {made}"
    name = _NAMES.get(value) if isinstance(value, type) else None
    if name is not None:
        return f"write {{'type': {name!r}}}, or 'type': {name!r}; or give a type: a pydantic class, or a TypedDict"
    return "write its JSON Schema, as TypeAdapter(...).json_schema() returns it; or give a type in place of the whole schema"


def _listed(names: Mapping[Any, Any]) -> str:
    listed = [repr(name)[:40] for name in names]
    return ", ".join(listed[:_MOST_FIELDS]) + (", ..." if len(listed) > _MOST_FIELDS else "")


def frames_inside() -> int:
    """Return the stack level of the code that called the package, seen from the function that asks."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001 - `warnings` has no such option before Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "schemagen":
        level, frame = level + 1, frame.f_back
    return level


#: Bytes; schemas of people have some hundred kilobytes at most.
MOST_BYTES = 50_000_000


@lru_cache(maxsize=1)
def _is_larger() -> Callable[[Any, int], bool]:
    require_core()
    from schemagen import _core

    return _core.is_larger


def check_size(schema: Any) -> None:
    """Refuse a schema that is too large to be written out.

    Args:
        schema: A dict that is not changed in the meantime.

    Raises:
        LimitError: It is.

    Cost: 10 ns for each value, at most 0.1 s.
    """
    if _is_larger()(schema, MOST_BYTES):
        raise LimitError(
            f"the schema takes more than {MOST_BYTES // 10**6} MB when it is written out",
            why="parts that stand in several places are written in each of them",
            fix="put the repeated part under $defs, and refer to it with {'$ref': '#/$defs/...'}",
        )
