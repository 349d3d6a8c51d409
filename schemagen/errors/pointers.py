"""JSON pointers (RFC 6901): written from steps, and read into steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

#: References that lead to references.
_MAX_REFERENCES = 12


def escape(token: str) -> str:
    """Escape one reference token."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Return the token that `escape` was given."""
    return token.replace("~1", "/").replace("~0", "~")


def pointer_of(steps: Iterable[str | int]) -> str:
    """Return the JSON pointer of keys and indices."""
    return "".join(f"/{escape(str(step))}" for step in steps)


def steps_of(pointer: str) -> tuple[str, ...]:
    """Return the keys and indices of a JSON pointer, all as strings; a ``#`` in front is allowed."""
    return tuple(map(unescape, pointer.removeprefix("#").split("/")[1:]))


def referred(reference: Any, document: Any) -> Any:
    """Return the part of a document that a local ``$ref`` names; None if it names none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found = document
    for step in steps_of(unquote(reference)):
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found


def resolved(schema: Any, document: Any) -> Mapping[str, Any]:
    """Return a schema with its references followed, keywords beside them kept; empty if it is none."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            break
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**(referred(schema["$ref"], document) or {}), **beside}
    return schema if isinstance(schema, Mapping) else {}
