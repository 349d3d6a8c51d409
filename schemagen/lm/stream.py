"""`Stream`: the events of one generation, from tokens to characters to fields.

Tokens may split characters, and characters may split escapes: bytes go through an incremental UTF-8 decoder, characters
through a reader of JSON, and only complete units come out.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from schemagen.decode.event_stream import EventStream
from schemagen.errors import ValidationFailed
from schemagen.events import Completed, Event, FieldEvent, ReasoningDelta, Snapshot
from schemagen.generation import Generation
from schemagen.streaming.field_reader import reader_of, types_of
from schemagen.streaming.json_reader import JsonReader
from schemagen.streaming.partial import snapshot
from schemagen.types.checks import while_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.decode.generate import Decoded
    from schemagen.decode.guide import TakenBack
    from schemagen.request.answer_request import AnswerRequest

T = TypeVar("T")


class Stream(EventStream[Event[T]], Generic[T]):
    """The events of one generation, fields of a value, in order; iterate over it once.

    The model starts when the first event is requested. It works while the consumer waits for an event; with options that
    only ``generate`` of transformers knows it works in a thread, and runs a little ahead of the consumer. It stops at its
    next token when the stream is closed: by `close`, by the end of a ``with`` block, by an exception of the stream itself,
    or by garbage collection, as after ``break`` in a ``for`` loop. Streams are independent of each other; one stream is
    for one thread, except that any thread may close it.

    Made by `LanguageModel.stream`.
    """

    def __init__(
        self,
        request: AnswerRequest,
        *,
        partials: bool = False,
    ) -> None:
        super().__init__(request.prepare())
        self._request = request
        self._thoughts = None if request.thinking is None else request.thinking.thought_reader()
        grammar = request.grammar
        self._types = types_of(grammar)
        self._reader = reader_of(grammar, self._types.complete)
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._ends: list[int] = []  # the length of the text after each token
        self._partials = partials

    @property
    def text(self) -> str:
        """The text so far, exactly as generated; whole characters only."""
        return self._reader.text

    def _read(self, token_ids: Sequence[int]) -> Iterator[Event[T]]:
        """Turn tokens into events."""
        if self._thoughts is None:
            data = self._request.grammar.vocabulary.decode(token_ids)
        else:
            thought, data = self._thoughts.feed(token_ids)
            if thought:
                yield ReasoningDelta(thought)
        yield from self._read_text(self._characters.decode(data))
        self._ends += [len(self._reader.text)] * len(token_ids)

    def _go_back(self, taken: TakenBack) -> Iterator[Event[T]]:
        """Forget tokens, and yield the events of the part of their field that is left again."""
        del self._ends[taken.length :]
        text = self._reader.text[: self._ends[-1] if self._ends else 0]
        self._characters.reset()
        self._reader = reader_of(self._request.grammar, self._types.complete)
        self._reader.feed(text[: taken.start])
        if taken.event is not None:
            yield taken.event
        yield from self._read_text(text[taken.start :])

    def _end(self, decoded: Decoded) -> Iterator[Event[T]]:
        """Read the text that no streamer received, and validate the whole."""
        output = self._request.split(decoded)
        yield from self._read_text(output.text[len(self._reader.text) :])
        events = list(self._with_snapshot(self._reader.finish()))
        generation = self._request.judge(output)
        assert isinstance(generation, Generation), "a stream has no retries"
        yield from events
        yield Completed(generation)

    def _read_text(self, piece: str) -> Iterator[Event[T]]:
        """Turn text into events; if a type refuses a field, raise after the events before it."""
        refusal = None
        try:
            with while_written():
                events = self._reader.feed(piece)
        except ValidationFailed as error:
            error.text = self.text
            refusal, events = error, self._reader.feed("")
        yield from self._with_snapshot(events)
        if refusal is not None:
            raise refusal

    def _with_snapshot(self, events: list[FieldEvent]) -> Iterator[Event[T]]:
        """Yield events, then a snapshot of the value after them."""
        yield from events
        reader = self._reader
        if not self._partials or not events or (isinstance(reader, JsonReader) and reader.is_over):
            return
        value = snapshot(reader, self._types) if isinstance(reader, JsonReader) else reader.text
        yield Snapshot(cast("Any", value))
