"""`read_spans`: where each value of a JSON text begins and ends."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\n\r]*")
#: A string, or the text of a number or constant.
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^ \t\n\r,\]}]+')


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
    return _container(text, start) if text[start] in "{[" else Span(start, _end_of_scalar(text, start))


def _end_of_scalar(text: str, start: int) -> int:
    match = _SCALAR.match(text, start)
    assert match is not None, "the text is valid"
    return match.end()


def _container(text: str, start: int) -> Span:
    parts: dict[str | int, Span] = {}
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        step: str | int = len(parts)
        if text[start] == "{":
            end = _end_of_scalar(text, at)
            step, at = json.loads(text[at:end]), _skip(text, _skip(text, end) + 1)
        parts[step] = _value(text, at)
        at = _skip(text, parts[step].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Span(start, at + 1, parts)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
