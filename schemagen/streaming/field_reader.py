"""The reader of a value's fields: `JsonReader` for JSON, and `WholeText` for other texts, which only grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from schemagen.events import Delta, Path
from schemagen.streaming.field_types import FieldTypes
from schemagen.streaming.json_reader import JsonReader
from schemagen.types.reflection import is_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.events import FieldEvent
    from schemagen.grammar.grammar import Grammar


class FieldReader(Protocol):
    """Turns pieces of text into events."""

    @property
    def text(self) -> str:
        """The text read so far."""
        ...

    def feed(self, piece: str) -> list[FieldEvent]:
        """Return the events of a piece."""
        ...

    def finish(self) -> list[FieldEvent]:
        """Return the events that only the end of the text decides."""
        ...


class WholeText:
    """Reads text that is not JSON: it grows, and has no fields."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, piece: str) -> list[FieldEvent]:
        """Return the growth of the text."""
        self.text += piece
        return [Delta(Path(), piece)] if piece else []

    def finish(self) -> list[FieldEvent]:
        """Return nothing: every piece was reported."""
        return []


def types_of(grammar: Grammar) -> FieldTypes:
    """Return the types of the fields of a grammar's values."""
    return FieldTypes(grammar.spec if is_type(grammar.spec) else None)


def reader_of(grammar: Grammar, complete: Callable[[Path, str, Any], Any]) -> FieldReader:
    """Return a reader at the start of a text of a grammar; `complete` as for `JsonReader`."""
    return WholeText() if grammar.schema is None else JsonReader(complete)
