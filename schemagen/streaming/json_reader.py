"""Read a JSON text while it is written: a pushdown machine over characters that reports events.

The text comes in pieces of any size, cut anywhere between characters, even within an escape. It is the beginning of
valid JSON, because a grammar made it; nothing is checked again here.

Invariants: `JsonReader.frames` are the open containers from the outside to the inside, each with its complete parts; a
string grows only by whole characters, so a high surrogate waits for its other half.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from schemagen.events import Delta, FieldCompleted, FieldStarted, Path

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.events import FieldEvent

_WHITESPACE = " \t\n\r"
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HIGH, _LOW, _ASTRAL = 0xD800, 0xDC00, 0x10000


class _State(Enum):
    VALUE = auto()  # a value must come
    ITEM = auto()  # after "[": an item, or "]"
    KEY = auto()  # in an object: a key, or "}"
    IN_KEY = auto()
    COLON = auto()
    STRING = auto()
    SCALAR = auto()  # in a number, true, false or null
    AFTER = auto()  # after a value: a comma, or the end of the container


@dataclass(slots=True)
class Frame:
    """An open container.

    Attributes:
        start: Offset of its bracket in the text.
        parts: Its complete parts, validated: a dict or a list.
        step: Key or index of the open part; None between two parts of an object.
    """

    start: int
    parts: dict[str, Any] | list[Any]
    step: str | int | None = None


@dataclass(slots=True)
class _Letters:
    """Characters of a JSON string, decoded.

    Attributes:
        escape: The escape read so far, without its backslash; None outside of one.
        high: The first half of a surrogate pair.
    """

    escape: str | None = None
    high: int = 0

    def read(self, character: str) -> str:
        """Return the text that a character completes: a character of the value, or nothing yet."""
        if self.escape is None:
            if character == "\\":
                self.escape = ""
                return ""
            return self._flushed() + character
        self.escape += character
        if self.escape[0] != "u":
            self.escape = None
            return self._flushed() + _ESCAPES.get(character, character)
        if len(self.escape) < len("uXXXX"):
            return ""
        unit, self.escape = int(self.escape[1:], 16), None
        return self._joined(unit)

    def _joined(self, unit: int) -> str:
        """Join the halves of a pair; an unpaired half is kept as it is."""
        if self.high and _LOW <= unit < 0xE000:
            high, self.high = self.high, 0
            return chr(_ASTRAL + ((high - _HIGH) << 10) + (unit - _LOW))
        before = self._flushed()
        if _HIGH <= unit < _LOW:
            self.high = unit
            return before
        return before + chr(unit)

    def _flushed(self) -> str:
        high, self.high = self.high, 0
        return chr(high) if high else ""


@dataclass(slots=True)
class JsonReader:
    """Turns the pieces of a JSON text into events.

    Args:
        complete: Called for every complete field with its path, its JSON text, and, if it is a container, its complete
            parts; returns its value.

    Attributes:
        text: The text read so far.
        frames: The open containers.
        open_text: The open string so far; None if none is open.
        span: Where the value that was completed last, the whole one included, begins and ends in the text; set before
            `complete` is called.
    """

    complete: Callable[[Path, str, Any], Any]
    text: str = ""
    frames: list[Frame] = field(default_factory=list)
    open_text: str | None = None
    span: tuple[int, int] = (0, 0)
    _state: _State = _State.VALUE
    _start: int = 0  # offset of the open string or scalar
    _letters: _Letters = field(default_factory=_Letters)
    _key: list[str] = field(default_factory=list)
    _grown: list[str] = field(default_factory=list)
    _events: list[FieldEvent] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether the whole value is complete, as far as its text shows."""
        return self._state is _State.AFTER and not self.frames

    @property
    def path(self) -> Path:
        """The place of the open field, or of the open container between two fields."""
        return self._path()

    @property
    def scalar(self) -> str | None:
        """The text of the open value that is no container: of a string its characters; None if there is none."""
        return self.text[self._start :] if self._state is _State.SCALAR else self.open_text

    def copy(self) -> JsonReader:
        """Return a reader that goes on from here by itself. Cost: a copy of the parts of the open containers."""
        frames = [replace(frame, parts=frame.parts.copy()) for frame in self.frames]
        letters, key = replace(self._letters), list(self._key)
        return replace(
            self, frames=frames, _letters=letters, _key=key, _grown=list(self._grown), _events=list(self._events)
        )

    def feed(self, piece: str) -> list[FieldEvent]:
        """Read a piece; return its events.

        Raises:
            ValidationFailed: ``complete`` raised it.
        """
        offset = len(self.text)
        self.text += piece
        for index, character in enumerate(piece, offset):
            self._read(character, index)
        self._flush()
        events, self._events = self._events, []
        return events

    def finish(self) -> list[FieldEvent]:
        """Mark the end of the text; return the last events: a top-level number has no other end."""
        if self._state is _State.SCALAR:
            self._end_scalar(len(self.text))
        events, self._events = self._events, []
        return events

    def _read(self, character: str, index: int) -> None:
        state = self._state
        if state is _State.STRING:
            self._in_string(character, index)
        elif state is _State.IN_KEY:
            self._in_key(character)
        elif state is _State.SCALAR and character not in ",]} \t\n\r":
            return
        else:
            if state is _State.SCALAR:
                self._end_scalar(index)
            if character not in _WHITESPACE:
                self._between(character, index)

    def _between(self, character: str, index: int) -> None:
        """Read a character outside of strings, numbers and names; those after the whole value count for nothing."""
        if self.is_over:
            return
        if character in "]}":
            frame = self.frames.pop()
            self._complete(frame.start, index + 1, frame.parts)
        elif character == ",":
            self._state = _State.KEY if isinstance(self.frames[-1].parts, dict) else _State.VALUE
        elif character == ":":
            self._state = _State.VALUE
        elif self._state is _State.KEY:
            self._state, self._key = _State.IN_KEY, []
        else:
            self._begin_value(character, index)

    def _begin_value(self, character: str, index: int) -> None:
        if self.frames and isinstance(self.frames[-1].step, int):
            self._events.append(FieldStarted(self._path()))
        self._start = index
        if character == '"':
            self._state, self.open_text = _State.STRING, ""
        elif character == "{":
            self.frames.append(Frame(index, {}))
            self._state = _State.KEY
        elif character == "[":
            self.frames.append(Frame(index, [], 0))
            self._state = _State.ITEM
        else:
            self._state = _State.SCALAR

    def _in_key(self, character: str) -> None:
        if character == '"' and self._letters.escape is None:
            self.frames[-1].step = "".join(self._key)
            self._state = _State.COLON
            self._events.append(FieldStarted(self._path()))
        else:
            self._key.append(self._letters.read(character))

    def _in_string(self, character: str, index: int) -> None:
        if character == '"' and self._letters.escape is None:
            self._flush()
            self.open_text = None
            self._complete(self._start, index + 1)
        else:
            self._grown.append(self._letters.read(character))

    def _flush(self) -> None:
        """Report the growth of the open string."""
        text = "".join(self._grown)
        self._grown.clear()
        if text:
            self.open_text = (self.open_text or "") + text
            self._events.append(Delta(self._path(), text))

    def _end_scalar(self, end: int) -> None:
        self._events.append(Delta(self._path(), self.text[self._start : end]))
        self._complete(self._start, end)

    def _complete(self, start: int, end: int, parts: Any = None) -> None:
        """Keep a complete value in its container, and report it; the value as a whole is not a field."""
        self._state, self.span = _State.AFTER, (start, end)
        if not self.frames:
            return
        path, frame = self._path(), self.frames[-1]
        value = self.complete(path, self.text[start:end], parts)
        if isinstance(frame.parts, dict):
            frame.parts[str(frame.step)] = value
            frame.step = None
        else:
            frame.parts.append(value)
            frame.step = len(frame.parts)
        self._events.append(FieldCompleted(path, value))

    def _path(self) -> Path:
        return Path(frame.step for frame in self.frames if frame.step is not None)
