"""`EventStream`: the base class of streams that turn tokens into events."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from schemagen.decode.guide import TakenBack
from schemagen.decode.stream import TokenStream
from schemagen.errors import ValidationFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from typing_extensions import Self

    from schemagen.decode.generate import Decoded
    from schemagen.request.attempts import Prepared

E = TypeVar("E")


class EventStream(ABC, Generic[E]):
    """The events of one generation, in order; iterate over it once.

    How it starts, stops and is closed stands at `schemagen.lm.stream.Stream`.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._tokens = TokenStream(prepared.writer)
        self._waiting: deque[E] = deque()
        self._over = False
        self._refusal: ValidationFailed | None = None

    def __repr__(self) -> str:
        """Show how much was read, and whether there is more."""
        return f"{type(self).__name__}({len(self.text)} characters, {'over' if self._over else 'open'})"

    @property
    @abstractmethod
    def text(self) -> str:
        """The text so far, exactly as generated; whole characters only."""

    def __iter__(self) -> Self:
        """Return the stream itself."""
        return self

    def __next__(self) -> E:
        """Return the next event.

        Raises:
            GenerationError: As `LanguageModel.run`, when it happens.
            ValidationFailed: Also as soon as a part is complete that its type refuses.
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
        """End the iteration and wait for the step in progress, one of the model at most. Any thread may call it."""
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
            self._queue(self._read(step))
        elif isinstance(step, TakenBack):
            self._queue(self._go_back(step))
        elif step is None:
            self._over = True
        else:
            self._queue(self._end(self._prepared.answer_of(step)))
            if self._refusal is None:
                self._over = True
                self._tokens.close()

    def _queue(self, events: Iterable[E]) -> None:
        """Queue events; a refusal after them is raised once they have been consumed."""
        try:
            self._waiting.extend(events)
        except ValidationFailed as error:
            self._refusal = error

    @abstractmethod
    def _read(self, token_ids: Sequence[int]) -> Iterable[E]:
        """Yield the events of some tokens.

        Raises:
            ValidationFailed: A part is complete, and refused.
        """

    def _go_back(self, taken: TakenBack) -> Iterable[E]:
        """Forget tokens that were taken back, and yield the event about it."""
        raise NotImplementedError(taken)  # of streams without a guide

    @abstractmethod
    def _end(self, decoded: Decoded) -> Iterable[E]:
        """Yield the events of the text that no streamer received, and the last event; errors as for `_read`."""


async def events_of(open_stream: Callable[[], EventStream[E]]) -> AsyncGenerator[E, None]:
    """Yield the events of a stream without blocking the event loop; the stream is closed when this generator is.

    Args:
        open_stream: Makes the stream; called in a thread, as it compiles.
    """
    stream = await asyncio.to_thread(open_stream)
    try:
        while (event := await asyncio.to_thread(next, stream, None)) is not None:
            yield event
    finally:
        # In a thread as well: closing waits for the current step of the model.
        await asyncio.to_thread(stream.close)
