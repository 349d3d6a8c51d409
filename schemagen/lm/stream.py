"""`Stream`: the events of one generation, from tokens to characters to fields.

Tokens may split characters, and characters may split escapes: bytes go through an incremental UTF-8 decoder, characters
through a reader of JSON, and only what is whole comes out.
"""

from __future__ import annotations

import asyncio
import codecs
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from pydantic import ValidationError

from schemagen.decode.stream import TokenStream
from schemagen.errors import ValidationFailed
from schemagen.events import Completed, Delta, Event, FieldEvent, Path, Snapshot
from schemagen.lm.field_types import FieldTypes
from schemagen.lm.generation import Generation, validation_failed
from schemagen.lm.json_reader import JsonReader
from schemagen.lm.partial import snapshot
from schemagen.types import is_type

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from typing_extensions import Self

    from schemagen.compiler import Grammar
    from schemagen.decode.loop import Decoded

T = TypeVar("T")


class _Reader(Protocol):
    """Turns pieces of text into events."""

    @property
    def text(self) -> str: ...
    def feed(self, piece: str) -> list[FieldEvent]: ...
    def finish(self) -> list[FieldEvent]: ...


class _TextReader:
    """Reads text that is not JSON: it grows, and has no fields."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, piece: str) -> list[FieldEvent]:
        """Return what the text grew by."""
        self.text += piece
        return [Delta(Path(), piece)] if piece else []

    def finish(self) -> list[FieldEvent]:
        """Return nothing: every piece was said."""
        return []


class Stream(Generic[T]):
    """The events of one generation, in order; iterate over it once.

    The model starts to work when the first event is asked for, in a thread, and is a little ahead of the consumer. It stops at
    its next token when the stream is closed: by `close`, by the end of a ``with`` block, by an exception of the stream itself,
    or by nobody holding the stream any more, as after ``break`` in a ``for`` loop. Streams are independent of each other;
    one stream is for one thread, except that any thread may close it.

    Made by `LanguageModel.stream`.
    """

    def __init__(self, grammar: Grammar, generate: Callable[[Any], Decoded], *, partials: bool = False) -> None:
        self._grammar = grammar
        self._tokens = TokenStream(generate)
        self._types = FieldTypes(grammar.spec if is_type(grammar.spec) else None)
        self._reader: _Reader = _TextReader() if grammar.schema is None else JsonReader(self._types.complete)
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._partials = partials
        self._waiting: deque[Event[T]] = deque()
        self._over = False
        self._refusal: ValidationFailed | None = None

    @property
    def text(self) -> str:
        """What was read so far, exactly as it was generated; whole characters only."""
        return self._reader.text

    def __iter__(self) -> Self:
        """Return the stream itself."""
        return self

    def __next__(self) -> Event[T]:
        """Return the next event.

        Raises:
            GenerationError: As `LanguageModel.generate`, when it happens.
            ValidationFailed: Also as soon as a field is complete that its type refuses.
        """
        try:
            while not self._waiting and not self._over:
                self._advance()
        except BaseException:
            self.close()
            raise
        try:
            return self._waiting.popleft()
        except IndexError:  # it is over, or another thread has closed it just now
            raise StopIteration from None

    def close(self) -> None:
        """End the iteration and wait for the thread: one step of the model at most. Any thread may call it."""
        self._over = True
        self._waiting.clear()
        self._tokens.close()

    def __enter__(self) -> Self:
        """Return the stream; it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the stream."""
        self.close()

    def _advance(self) -> None:
        """Wait for the next tokens, or the result, and turn them into events."""
        if self._refusal is not None:
            raise self._refusal
        step = self._tokens.take()
        if isinstance(step, list):
            self._read(self._characters.decode(self._grammar.vocabulary.decode(step)))
        elif step is not None:
            self._end(step)
        else:
            self._over = True

    def _end(self, decoded: Decoded) -> None:
        """Read what no streamer was told, validate the whole, and let the thread end."""
        self._read(decoded.text[len(self._reader.text) :])
        if self._refusal is not None:
            return
        self._say(self._reader.finish())
        try:
            value = self._grammar.validate(decoded.text)
        except ValidationError as error:
            raise validation_failed(decoded.text, error, attempts=1) from error
        facts = (decoded.text, decoded.token_ids, decoded.prompt_tokens, decoded.seconds, decoded.masked_mass)
        self._waiting.append(Completed(Generation(value, *facts)))
        self._over = True
        self._tokens.close()

    def _read(self, piece: str) -> None:
        """Turn text into events; a field that its type refuses is raised after those that were there before it."""
        try:
            events = self._reader.feed(piece)
        except ValidationFailed as error:
            error.text = self.text
            self._refusal = error
            events = self._reader.feed("")
        self._say(events)

    def _say(self, events: list[FieldEvent]) -> None:
        """Queue events, and what there is after them."""
        self._waiting.extend(events)
        reader = self._reader
        if not self._partials or not events or (isinstance(reader, JsonReader) and reader.is_over):
            return
        value = snapshot(reader, self._types) if isinstance(reader, JsonReader) else reader.text
        self._waiting.append(Snapshot(cast("Any", value)))


async def events_of(open_stream: Callable[[], Stream[T]]) -> AsyncGenerator[Event[T], None]:
    """Yield the events of a stream without blocking the event loop; the stream is closed when this generator is.

    Args:
        open_stream: Makes the stream; called in a thread, as it compiles.
    """
    stream = await asyncio.to_thread(open_stream)
    try:
        while (event := await asyncio.to_thread(next, stream, None)) is not None:
            yield event
    finally:
        # In a thread as well: it waits for the step that the model is in.
        await asyncio.to_thread(stream.close)
