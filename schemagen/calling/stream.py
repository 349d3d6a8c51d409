"""`CallStream`: the events of one answer that may be words or calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.chat import refusal_of
from schemagen.calling.growing import AnswerReader
from schemagen.errors import ValidationFailed
from schemagen.events import CallEvent, Completed
from schemagen.lm.event_stream import EventStream
from schemagen.lm.generation import Generation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.calling.chat import Asking, ToolChoice
    from schemagen.calling.reading import Written
    from schemagen.decode.loop import Decoded

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

    def __init__(self, asking: Asking, messages: Sequence[Any], choice: ToolChoice, *, strict: bool = True) -> None:
        wire, inputs = asking.prepare(messages, choice)
        lm, grammar, options = asking.lm, cast("Any", wire.sequence), asking.generate_kwargs

        def generate(streamer: Any) -> Decoded:
            from schemagen.decode.loop import decode

            return decode(lm.model, inputs, grammar, streamer=streamer, **options)

        super().__init__(generate)
        self._asking = asking
        self._strict = strict
        self._reader = AnswerReader(wire.sequence, self._judge, strict=strict)
        self._count = 0

    @property
    def text(self) -> str:
        """What was read so far, as it was generated, without special tokens; whole characters only."""
        return self._reader.data.decode("utf-8", "ignore")

    def _judge(self, written: Written, content: str) -> ToolCall | ToolResult:
        """Return a call.

        Raises:
            ValidationFailed: Its arguments are refused, and that is an error.
        """
        judged = self._asking.judged(written, content)
        if self._strict and isinstance(judged, ToolResult):
            raise refusal_of(judged, 1)
        return judged

    def _read(self, token_ids: Sequence[int]) -> None:
        """Turn tokens into events; arguments that are refused are raised after those that were there before them."""
        self._count += len(token_ids)
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
            facts = (decoded.text, decoded.token_ids, decoded.prompt_tokens, decoded.seconds, decoded.masked_mass)
            self._waiting.append(Completed(Generation(self._value(), *facts)))

    def _value(self) -> Any:
        """What the answer is, as `LanguageModel.call` returns it."""
        found = [*self._reader.found]
        if not found:
            return self._reader.text
        first = found[0]
        found[0] = (
            replace(first, content=self._reader.text)
            if isinstance(first, ToolCall)
            else replace(first, call=replace(first.call, content=self._reader.text))
        )
        return found if self._asking.parallel or not self._strict else found[0]
