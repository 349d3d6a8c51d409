"""`TokenStream`: a text step by step, then its result.

The loop that reads ahead is a generator: its model works while the consumer waits for a step, and not in between. Any
other text is written by ``generate``, which calls a streamer and cannot be asked for one step. It works in a thread, and
hands its tokens over through a small bounded buffer (`_Thread`): a slow consumer slows it down and never piles up text.
Closing raises inside the streamer at the next token, which ends ``generate`` there. Rejected: a stopping criterion,
which needs a flag that both sides poll and still runs one more step.

Invariants: one step is made at a time; closing waits for it, unless the same thread makes it. A thread
references the buffer, never the stream, so garbage collection closes an abandoned stream and its thread ends at the
next token. Garbage collection does not wait for the thread, which may need a lock of the one that collects.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from contextvars import copy_context
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.threads.forking import ReentrantLock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from schemagen.decode.generate import Decoded, Writer
    from schemagen.decode.guide import TakenBack

    Step: TypeAlias = list[int] | TakenBack | Decoded

#: Steps that ``generate`` may be ahead of the consumer.
CAPACITY = 64


class TokenStream:
    """The tokens of one generation, step by step, then its result.

    Args:
        begin: Prepares the text; called for the first step.
    """

    def __init__(self, begin: Callable[[], Writer]) -> None:
        self._begin = begin
        self._steps: Generator[Step, None, None] | _Thread | None = None
        self._making = ReentrantLock()  # held while a step is made
        self._is_closed = False

    def take(self) -> Step | None:
        """Return the token ids of the next step, or how many are left; at the end the result, and None once it is closed.

        Raises:
            GenerationError: As `schemagen.decode.generate.Writer`.
        """
        with self._making:
            found = None if self._is_closed else self._next()
        if self._is_closed:
            self.close()
            return None
        return found

    def _next(self) -> Step | None:
        if self._steps is None:
            writer = self._begin()
            self._steps = writer.steps() if writer.has_steps else _Thread(writer.generate)
        return next(self._steps, None)

    def close(self) -> None:
        """Stop the generation and wait for its step: one step of the model at most. Any thread may call this."""
        self._is_closed = True
        if not isinstance(self._steps, _Thread):
            with self._making:
                if isinstance(self._steps, GeneratorType) and not self._steps.gi_running:
                    self._steps.close()
        if isinstance(self._steps, _Thread):
            self._steps.close()


class _Thread:
    """The steps of a text that ``generate`` writes in a thread, then its result.

    Args:
        generate: Runs the generation with a streamer; it is called in the thread, in the context of the consumer.
    """

    def __init__(self, generate: Callable[[Any], Decoded]) -> None:
        self._buffer = _Buffer()
        arguments = (copy_context().run, generate, self._buffer)
        self._thread = threading.Thread(target=_work, args=arguments, name="schemagen-stream", daemon=True)
        self._finalizer = weakref.finalize(self, self._buffer.close)
        self._thread.start()

    def __next__(self) -> list[int] | Decoded:
        return self._buffer.take()

    def close(self) -> None:
        """Stop the generation and wait for the thread."""
        self._buffer.close()
        if self._thread is not threading.current_thread():
            self._thread.join()


class _ClosedError(Exception):
    """The consumer has closed the stream."""


class _Buffer:
    """Token ids between two threads, and the outcome of the generation; the streamer that ``generate`` calls."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._steps: deque[list[int] | Decoded] = deque()
        self._has_begun = self._is_closed = False
        self._error: BaseException | None = None

    def put(self, value: Any) -> None:
        """Take the prompt, then the tokens of each step, int64 [1] or [1, n]; wait while the buffer is full.

        Raises:
            _ClosedError: The consumer has gone.
        """
        if not self._has_begun:
            self._has_begun = True
            return
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._steps) < CAPACITY)
            if self._is_closed:
                raise _ClosedError
            self._steps.append([int(token_id) for token_id in value.reshape(-1).tolist()])
            self._changed.notify_all()

    def end(self, result: Decoded | None = None, error: BaseException | None = None) -> None:
        """Record the outcome of the generation; ``generate`` itself calls this without one."""
        with self._changed:
            self._error = error
            self._steps += [] if result is None else [result]
            self._changed.notify_all()

    def take(self) -> list[int] | Decoded:
        """Wait for the next step; the result after the last one.

        Raises:
            StopIteration: It is closed.
            BaseException: The error that ended the generation.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._steps or self._error is not None)
            if self._is_closed:
                raise StopIteration
            if not self._steps and self._error is not None:
                raise self._error
            step = self._steps.popleft()
            self._changed.notify_all()
            return step

    def close(self) -> None:
        """Wake both sides: the consumer gets nothing more, the generation stops at its next token."""
        with self._changed:
            self._is_closed = True
            self._steps.clear()
            self._changed.notify_all()


def _work(run: Callable[..., Decoded], generate: Callable[[Any], Decoded], buffer: _Buffer) -> None:
    """Generate in the context of the consumer, and record the outcome."""
    try:
        result = run(generate, buffer)
    except _ClosedError:
        pass
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        buffer.end(error=error)
    else:
        buffer.end(result)
