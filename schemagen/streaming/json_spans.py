"""`read_spans`: where each value of a JSON text begins and ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from json.decoder import scanstring

_SPACE = re.compile(r"[ \t\n\r]*")
_BARE = re.compile(r"[^ \t\n\r,\]}]+")


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a value in a text.

    Attributes:
        start: The index of its first character.
        end: The index after its last character.
        parts: The places of its members or items, by key or index; None if it has no parts.
    """

    start: int
    end: int
    parts: dict[str | int, Span] | None = None


def read_spans(text: str) -> Span:
    """Return the places of all values of a JSON text; it is valid, and that is not checked again."""
    return _value(text, _skip(text, 0))


def _value(text: str, start: int) -> Span:
    if text[start] in "{[":
        return _container(text, start)
    if text[start] == '"':
        return Span(start, scanstring(text, start + 1)[1])
    match = _BARE.match(text, start)
    assert match is not None, "the text is valid"
    return Span(start, match.end())


def _container(text: str, start: int) -> Span:
    parts: dict[str | int, Span] = {}
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        step: str | int = len(parts)
        if text[start] == "{":
            step, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        parts[step] = _value(text, at)
        at = _skip(text, parts[step].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Span(start, at + 1, parts)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
