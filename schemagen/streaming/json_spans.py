"""Where the values of a complete JSON text begin and end, and the form that equal values share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from schemagen.streaming.json_reader import JsonReader

if TYPE_CHECKING:
    from schemagen.events import Path

_WHITESPACE = " \t\n\r"


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


def field_spans(text: str) -> list[tuple[Path, int, int]]:
    """Return the path, first index and end of each value inside a JSON text, in the order in which they end.

    The text is valid, and that is not checked again.
    """
    found: list[tuple[Path, int, int]] = []
    reader = JsonReader(lambda path, *_: found.append((path, *reader.span)))
    reader.feed(text)
    return found


def read_spans(text: str) -> Span:
    """Return the places of all values of a JSON text as a tree; it is valid, and that is not checked again."""
    # The parts of the containers that have not ended yet, by the depth of these parts.
    parts: dict[int, dict[str | int, Span]] = {}
    for path, start, end in field_spans(text):
        inner = parts.pop(len(path) + 1, {}) if text[start] in "{[" else None
        parts.setdefault(len(path), {})[path[-1]] = Span(start, end, inner)
    start, end = len(text) - len(text.lstrip(_WHITESPACE)), len(text.rstrip(_WHITESPACE))
    return Span(start, end, parts.pop(1, {}) if text[start] in "{[" else None)


def canonical(text: str, *, exact: bool = False) -> str:
    """Return a JSON text as it is for all texts of equal values: 1.0 is 1, and 1e-400 is 0, as `json.loads` reads them.

    Args:
        text: The text.
        exact: Whether numbers that only `Decimal` tells apart are different values.
    """
    read = _exact_number if exact else _number
    return json.dumps(json.loads(text, parse_float=read), ensure_ascii=False, sort_keys=True)


def _exact_number(text: str) -> int | float | list[str]:
    """Return a number as `_number` does; where float64 rounds it, its digits in a form that no other value has."""
    rounded, value = _number(text), Decimal(text)
    return rounded if value == Decimal(repr(rounded)) else ["number", str(value.normalize())]


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value
