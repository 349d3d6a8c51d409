"""`CallStream`: the events of one answer that may be words or calls; and the events of a chat, answer by answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemagen.calling.answer_stream import AnswerReader
from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.request import refusal_of
from schemagen.decode.event_stream import EventStream, events_of
from schemagen.events import CallEvent, Completed, ReasoningDelta, StepStarted, ToolReturned
from schemagen.request.attempts import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Sequence

    from schemagen.calling.chat import Chat, Conversation
    from schemagen.calling.labels import RawCall
    from schemagen.calling.request import CallRequest
    from schemagen.decode.generate import Decoded
    from schemagen.events import ChatEvent

T = TypeVar("T")


class CallStream(EventStream[CallEvent[T]], Generic[T]):
    """The events of one answer, words and calls, in order; iterate over it once.

    It starts, stops and is closed as `schemagen.lm.stream.Stream` is. Made by `LanguageModel.stream_call`.

    Args:
        request: The request. If it is not strict, the last event has a `ModelTurn`, with a `ToolResult` in place of a call
            with refused arguments.
    """

    def __init__(self, request: CallRequest) -> None:
        # Words and calls that were sent are not taken back: arguments are validated when they are complete.
        super().__init__(replace(request.prepare(), guide=lambda: None))
        self._request = request
        self._reader = AnswerReader(request.wire.graph, self._judge, strict=request.form.strict)
        self._thoughts = None if request.thinking is None else request.thinking.thought_reader()
        self._held: list[int] = []  # tokens of thoughts, held back from the reader of the answer
        self._count = 0

    @property
    def text(self) -> str:
        """The generated text so far, without special tokens, in whole characters."""
        start = None if self._thoughts is None else self._thoughts.answer_start
        return self._reader.data[start:].decode("utf-8", "ignore")

    @property
    def words(self) -> str:
        """The words of the answer so far, or the text of its value."""
        return self._reader.text

    @property
    def found(self) -> list[ToolCall | ToolResult]:
        """The complete calls; a `ToolResult` in place of a call with refused arguments, if the request is not strict."""
        found = [*self._reader.found]
        if found:
            first = found[0]
            found[0] = (
                replace(first, content=self.words)
                if isinstance(first, ToolCall)
                else replace(first, call=replace(first.call, content=self.words))
            )
        return found

    def _judge(self, written: RawCall, content: str) -> ToolCall | ToolResult:
        """Return a call.

        Raises:
            ValidationFailed: Its arguments are refused, and the request is strict.
        """
        call = self._request.validate_call(written, content)
        if self._request.form.strict and isinstance(call, ToolResult):
            raise refusal_of(call, 1)
        return call

    def _read(self, token_ids: Sequence[int]) -> Iterator[CallEvent[T]]:
        """Turn tokens into events; an error for refused arguments comes after the events before them."""
        self._count += len(token_ids)
        if self._thoughts is not None:
            thought, _ = self._thoughts.feed(token_ids)
            if thought:
                yield ReasoningDelta(thought)
            self._held += token_ids
            if not self._thoughts.is_over:
                return
            token_ids, self._held = self._held, []
        try:
            self._reader.read(token_ids)
        finally:
            yield from self._reader.events()

    def _end(self, decoded: Decoded) -> Iterator[CallEvent[T]]:
        """Read the tokens that no streamer has seen, then yield the result."""
        yield from self._read(decoded.token_ids[self._count :])
        try:
            self._reader.finish()
        finally:
            yield from self._reader.events()
        value = self._request.value_of(self._request.turn_of(self.words, self.found))
        if isinstance(value, Refusal):
            raise value.error from value.error.error
        yield Completed(self._request.generation(value, self._request.split(decoded)))


def chat_events(conversation: Conversation) -> Generator[ChatEvent[Chat[Any]], None, None]:
    """Yield the events of a chat, its calls run one after another."""
    for step in count():
        yield StepStarted(step)
        with CallStream[Any](conversation.request()) as answer:
            for event in answer:
                if not isinstance(event, Completed):
                    yield event
                    continue
                chat = conversation.take(event.generation.value)
                if chat is not None:
                    yield Completed(replace(event.generation, value=chat))
                    return
        yield from _returned(
            conversation.give([call.run(timeout_s=conversation.timeout_s) for call in conversation.calls])
        )


async def achat_events(conversation: Conversation) -> AsyncGenerator[ChatEvent[Chat[Any]], None]:
    """Yield the events of a chat, the calls of an answer run at the same time, and the model in a thread."""
    for step in count():
        yield StepStarted(step)
        async with aclosing(events_of(lambda: CallStream[Any](conversation.request()))) as events:
            async for event in events:
                if not isinstance(event, Completed):
                    yield event
                    continue
                chat = conversation.take(event.generation.value)
                if chat is not None:
                    yield Completed(replace(event.generation, value=chat))
                    return
        results = await asyncio.gather(*(call.arun(timeout_s=conversation.timeout_s) for call in conversation.calls))
        for returned in _returned(conversation.give(results)):
            yield returned


def _returned(results: Iterable[ToolResult]) -> list[ToolReturned]:
    return [ToolReturned(index, result) for index, result in enumerate(results)]
