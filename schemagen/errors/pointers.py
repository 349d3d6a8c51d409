"""JSON pointers (RFC 6901): written from steps, and read into steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


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
