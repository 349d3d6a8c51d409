"""Tokens as they are generated: ``generate`` works in a thread and hands them over through a small bounded buffer.

The thread waits when the buffer is full, so a slow consumer slows the generation down and never piles up text. Closing
the stream raises inside the streamer at the next token, which ends ``generate`` there. Rejected: a stopping criterion,
which needs a flag that both sides poll and still runs one more step; and a Python generator over the buffer, which
another thread cannot close while it waits (asyncio cancels from outside).

Invariants: the thread references the buffer, never the stream, so garbage collection closes an abandoned stream and its
thread ends at the next token; the thread starts when the first token is requested.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.decode.loop import Decoded

#: Steps that the model may be ahead of the consumer.
CAPACITY = 64


class _ClosedError(Exception):
    """The consumer has closed the stream."""


class _Buffer:
    """Token ids between two threads, and the outcome of the generation."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._steps: deque[list[int]] = deque()
        self._closed = False
        self._ended = False
        self._result: Decoded | None = None
        self._error: BaseException | None = None

    def put(self, token_ids: list[int]) -> None:
        """Add the tokens of a step; wait while the buffer is full.

        Raises:
            _ClosedError: The consumer has gone.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._steps) < CAPACITY)
            if self._closed:
                raise _ClosedError
            self._steps.append(token_ids)
            self._changed.notify_all()

    def end(self, result: Decoded | None = None, error: BaseException | None = None) -> None:
        """Record the outcome of the generation."""
        with self._changed:
            self._ended, self._result, self._error = True, result, error
            self._changed.notify_all()

    def take(self) -> list[int] | Decoded | None:
        """Wait for the next step; the result after the last one, None once closed.

        Raises:
            BaseException: The error that ended the generation.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._steps or self._ended)
            if self._closed:
                return None
            if not self._steps:
                if self._error is not None:
                    raise self._error
                return self._result
            step = self._steps.popleft()
            self._changed.notify_all()
            return step

    def close(self) -> None:
        """Wake both sides: the consumer gets nothing more, the generation stops at its next token."""
        with self._changed:
            self._closed = True
            self._steps.clear()
            self._changed.notify_all()


class _Streamer:
    """The streamer that ``generate`` calls with the prompt, then with the tokens of every step."""

    def __init__(self, buffer: _Buffer) -> None:
        self._buffer = buffer
        self._seen_prompt = False

    def put(self, value: Any) -> None:
        """Hand over the tokens of a step, int64 [1] or [1, n]."""
        if self._seen_prompt:
            self._buffer.put([int(token_id) for token_id in value.reshape(-1).tolist()])
        self._seen_prompt = True

    def end(self) -> None:
        """Do nothing: the result marks the end."""


class TokenStream:
    """The tokens of one generation, step by step, then its result.

    Args:
        generate: Runs the generation with ``streamer=`` the given object; it is called in a thread.
    """

    def __init__(self, generate: Callable[[Any], Decoded]) -> None:
        self._buffer = _Buffer()
        self._generate = generate
        self._thread: threading.Thread | None = None
        self._finalizer = weakref.finalize(self, self._buffer.close)

    def take(self) -> list[int] | Decoded | None:
        """Return the token ids of the next step, at the end the result, and None once it is closed.

        Raises:
            GenerationError: As `schemagen.decode.loop.decode`.
        """
        if self._thread is None:
            run = copy_context().run
            arguments = (run, self._generate, self._buffer)
            self._thread = threading.Thread(target=_work, args=arguments, name="schemagen-stream", daemon=True)
            self._thread.start()
        return self._buffer.take()

    def close(self) -> None:
        """Stop the generation and wait for its thread: one step of the model at most. Any thread may call this."""
        self._buffer.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def _work(run: Callable[..., Decoded], generate: Callable[[Any], Decoded], buffer: _Buffer) -> None:
    """Generate in the context of the consumer, and record the outcome."""
    try:
        result = run(generate, _Streamer(buffer))
    except _ClosedError:
        buffer.end()
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        buffer.end(error=error)
    else:
        buffer.end(result)
