"""`CallStream`: the events of one answer that may be words or calls; and those of a chat, answer by answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.chat import refusal_of
from schemagen.calling.incremental import AnswerReader
from schemagen.decode.event_stream import EventStream, events_of
from schemagen.errors import ValidationFailed
from schemagen.events import CallEvent, Completed, ReasoningDelta, StepStarted, ToolReturned
from schemagen.generation import Generation
from schemagen.prompts.reasoning import split_reasoning
from schemagen.prompts.reasoning_grammar import ReasoningGrammar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Sequence

    from schemagen.calling.chat import CallRequest, Chat, Conversation, ToolChoice
    from schemagen.calling.reading import RawCall
    from schemagen.decode.loop import Decoded
    from schemagen.events import ChatEvent

T = TypeVar("T")


class CallStream(EventStream[CallEvent[T]], Generic[T]):
    """The events of one answer, words and calls, in order; iterate over it once.

    It starts, stops and is closed as `schemagen.lm.stream.Stream` is. Made by `LanguageModel.stream_call`.

    Args:
        asking: Whom to ask, and how.
        messages: The chat.
        choice: What may be called, as for `LanguageModel.call`.
        strict: Whether arguments that a validator refuses are an error. If not, the last event has a `ToolResult` in place of
            the call.
    """

    def __init__(
        self, request: CallRequest, messages: Sequence[Any], choice: ToolChoice, *, strict: bool = True
    ) -> None:
        from schemagen.decode.loop import check_streamed_options

        check_streamed_options(request.generate_kwargs)
        wire, inputs = request.prepare(messages, choice)
        lm, grammar, options = request.lm, cast("Any", wire.sequence), request.generate_kwargs

        def generate(streamer: Any) -> Decoded:
            from schemagen.decode.loop import decode

            return decode(lm.model, inputs, grammar, streamer=streamer, **options)

        super().__init__(generate)
        self._asking = request
        self._strict = strict
        self._reader = AnswerReader(wire.sequence, self._judge, strict=strict)
        self._thinking = wire.sequence if isinstance(wire.sequence, ReasoningGrammar) else None
        self._thoughts = None if self._thinking is None else self._thinking.reader()
        self._held: list[int] = []  # tokens of thoughts, which say nothing of the answer
        self._count = 0

    @property
    def text(self) -> str:
        """What was read so far, as it was generated, without special tokens; whole characters only."""
        start = None if self._thoughts is None else self._thoughts.answer_start
        return self._reader.data[start:].decode("utf-8", "ignore")

    @property
    def words(self) -> str:
        """The words of the answer so far."""
        return self._reader.text

    @property
    def found(self) -> list[ToolCall | ToolResult]:
        """The calls that are complete; with what refuses its arguments in place of one, if that is no error."""
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
            ValidationFailed: Its arguments are refused, and that is an error.
        """
        validate_call = self._asking.validate_call(written, content)
        if self._strict and isinstance(validate_call, ToolResult):
            raise refusal_of(validate_call, 1)
        return validate_call

    def _read(self, token_ids: Sequence[int]) -> None:
        """Turn tokens into events; arguments that are refused are raised after those that were there before them."""
        self._count += len(token_ids)
        if self._thoughts is not None:
            thought, _ = self._thoughts.feed(token_ids)
            if thought:
                self._waiting.append(ReasoningDelta(thought))
            self._held += token_ids
            if not self._thoughts.is_over:
                return
            token_ids, self._held = self._held, []
        try:
            self._reader.read(token_ids)
        except ValidationFailed as error:
            self._refusal = error
        self._waiting.extend(self._reader.events())

    def _end(self, decoded: Decoded) -> None:
        """Read what no streamer was told, and say what it all comes to."""
        self._read(decoded.token_ids[self._count :])
        if self._refusal is not None:
            return
        try:
            self._reader.finish()
        except ValidationFailed as error:
            self._refusal = error
        self._waiting.extend(self._reader.events())
        if self._refusal is None:
            text, thoughts, thought_tokens = split_reasoning(decoded, self._thinking)
            facts = (text, decoded.token_ids, decoded.prompt_tokens, decoded.seconds, decoded.masked_mass, 1)
            self._waiting.append(Completed(Generation(self._value(), *facts, thoughts, thought_tokens)))

    def _value(self) -> Any:
        """What the answer is, as `LanguageModel.call` returns it."""
        found = self.found
        if not found:
            return self.words
        return found if self._asking.parallel else found[0]


def chat_events(
    request: CallRequest, conversation: Conversation, *, timeout_s: float | None
) -> Generator[ChatEvent[Chat], None, None]:
    """Yield what happens in a chat, its calls run one after another."""
    for step in count():
        yield StepStarted(step)
        with CallStream[Any](request, conversation.messages, conversation.choice, strict=False) as answer:
            for event in answer:
                if not isinstance(event, Completed):
                    yield event
                    continue
                chat = conversation.take(answer.words, answer.found)
                if chat is not None:
                    yield Completed(replace(event.generation, value=chat))
                    return
        yield from _returned(conversation.give([call.run(timeout_s=timeout_s) for call in conversation.calls]))


async def achat_events(
    request: CallRequest, conversation: Conversation, *, timeout_s: float | None
) -> AsyncGenerator[ChatEvent[Chat], None]:
    """Yield what happens in a chat, the calls of an answer run at the same time, and the model in a thread."""
    for step in count():
        yield StepStarted(step)
        answers: list[CallStream[Any]] = []

        def ask() -> CallStream[Any]:
            answers.append(CallStream[Any](request, conversation.messages, conversation.choice, strict=False))  # noqa: B023
            return answers[-1]  # noqa: B023 - it is called before the next turn

        async with aclosing(events_of(ask)) as events:
            async for event in events:
                if not isinstance(event, Completed):
                    yield event
                    continue
                chat = conversation.take(answers[-1].words, answers[-1].found)
                if chat is not None:
                    yield Completed(replace(event.generation, value=chat))
                    return
        results = await asyncio.gather(*(call.arun(timeout_s=timeout_s) for call in conversation.calls))
        for returned in _returned(conversation.give(results)):
            yield returned


def _returned(results: Iterable[ToolResult]) -> list[ToolReturned]:
    return [ToolReturned(index, result) for index, result in enumerate(results)]
