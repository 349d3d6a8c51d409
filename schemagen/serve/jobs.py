"""`Job`: one text that the model writes, from its request to its last token.

A job belongs to two threads: the thread of the model adds tokens; the event loop reads them, and may cancel the job or
end it when its time is up. They share two flags that only ever become true (`is_cancelled` and `is_over`), and a
`Mailbox` that hands messages over to the event loop.

Invariant: the first call of `finish` or `fail` counts; later ones have no effect.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from schemagen.decode.finish_reason import may_go_on
from schemagen.decode.text import Text
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


#: Why a text is over, in the words of OpenAI's API.
FinishReason = Literal["stop", "length"]
#: A message to the event loop about a text: tokens, then its end.
Message: TypeAlias = "list[int] | FinishReason | Exception"


class Outbox:
    """Hands the messages of all texts over to one event loop.

    Messages of one step go together (`together`): each wake-up costs a system call, and the loop, once awake, takes the
    interpreter lock from the thread of the model. Made in the event loop; the other methods are thread-safe.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = brief_lock()
        self._messages: list[tuple[asyncio.Queue[Message], Message]] = []
        self._holding = 0  # steps in progress

    def mailbox(self) -> Mailbox:
        """Return a place for the messages of one text."""
        return Mailbox(self)

    def put(self, queue: asyncio.Queue[Message], message: Message) -> None:
        """Hand a message over; drop it if the loop is closed."""
        with self._lock:
            wakes = not self._messages and not self._holding
            self._messages.append((queue, message))
        if wakes:
            self._wake()

    def hold(self) -> None:
        """Keep messages until `release`, which has to follow."""
        with self._lock:
            self._holding += 1

    def release(self) -> None:
        """Hand over the kept messages."""
        with self._lock:
            self._holding -= 1
            wakes = bool(self._messages) and not self._holding
        if wakes:
            self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            messages, self._messages = self._messages, []
        for queue, message in messages:
            queue.put_nowait(message)


@contextmanager
def together(jobs: Iterable[Job]) -> Iterator[None]:
    """Hand all messages to some texts over in one go, at the end of the block."""
    outboxes = {job.mailbox.outbox for job in jobs}
    for outbox in outboxes:
        outbox.hold()
    try:
        yield
    finally:
        for outbox in outboxes:
            outbox.release()


class Mailbox:
    """Messages about one text: tokens, then its end.

    Attributes:
        outbox: The outbox that hands them over.
    """

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self._queue: asyncio.Queue[Message] = asyncio.Queue()

    def put(self, message: Message) -> None:
        """Hand a message over; thread-safe."""
        self.outbox.put(self._queue, message)

    async def get(self) -> Message:
        """Return the next message, with the tokens of all steps that have arrived."""
        message = await self._queue.get()
        while isinstance(message, list) and not self._queue.empty():
            following = self._queue.get_nowait()
            if not isinstance(following, list):
                self._queue.put_nowait(following)  # it is the last one, so it overtakes none
                break
            message = [*message, *following]
        return message


@dataclass(eq=False, slots=True, kw_only=True)
class Job(Text):
    """A text of a request: its tokens are sent to the event loop, which may cancel it.

    Attributes:
        mailbox: The mailbox that gets the tokens.
        stops: Texts at which it stops.
        streams: Whether tokens are sent as they come, or all at the end.
        is_cancelled: Whether the client has gone.
        created: The time of its creation, by `time.perf_counter`.
    """

    mailbox: Mailbox
    stops: tuple[str, ...] = ()
    streams: bool = False
    is_cancelled: bool = False
    created: float = field(default_factory=time.perf_counter)
    _told: int = 0
    _tail: bytes = b""

    def cancel(self) -> None:
        """Cancel the text: it ends after the current step of the model. Any thread may call it."""
        self.is_cancelled = True

    @property
    def is_wanted(self) -> bool:
        """Whether it is still to be written: it is neither over nor cancelled."""
        return not (self.is_over or self.is_cancelled)

    def take_read(self, token_ids: list[int]) -> None:
        """Add tokens from a loop that keeps its own cursor, and ends the text itself."""
        self.generated += token_ids
        self._tell()

    def check_end(self) -> None:
        """End the text if it is over; otherwise send the tokens."""
        reason = self._reason()
        if reason is None:
            self._tell()
        else:
            self.finish(reason)

    def _reason(self) -> FinishReason | None:
        """Why the text is over; None if it is not."""
        if not self.generated:
            return None
        last = self.generated[-1]
        if self.cursor is None:
            if last in self.vocabulary.eos_token_ids or self._stops_at(last):
                return "stop"
        elif self.cursor.is_over:
            return "length" if self.was_left_out else "stop"
        if len(self.generated) < self.max_new_tokens:
            return None
        return "length" if self.cursor is None or self.was_left_out or may_go_on(self.cursor.matcher) else "stop"

    def _stops_at(self, token_id: int) -> bool:
        """Whether one of the texts at which to stop is complete."""
        if not self.stops:
            return False
        longest = max(len(stop.encode()) for stop in self.stops)
        self._tail += self.vocabulary.decode([token_id])
        found = any(stop.encode() in self._tail for stop in self.stops)
        self._tail = self._tail[-(longest - 1) :] if longest > 1 else b""
        return found

    def finish(self, reason: FinishReason) -> None:
        """End the text."""
        if not self.is_over:
            self.is_over = True
            self._tell(at_end=True)
            self.mailbox.put(reason)

    def fail(self, error: Exception) -> None:
        """End the text without a result, after the current step of the model. Any thread may call it."""
        if not self.is_over:
            self.is_over = True
            self.mailbox.put(error)

    def _tell(self, *, at_end: bool = False) -> None:
        if (self.streams or at_end) and len(self.generated) > self._told:
            self.mailbox.put(self.generated[self._told :])
            self._told = len(self.generated)
