"""The clock of a call: the time limit of a thread's work in Python.

Any long work calls `poll` repeatedly, at the start of each iteration of a loop, without knowing whose call it is: the
innermost `Deadline` of the thread counts. The compiled core has its own clock (core/util/work.hpp).

Invariant: `poll` is called only where an exception leaves all shared state valid; a cache is filled after the last
call.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from schemagen.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Function calls of foreign code between two checks.
_CALLS = 64


class Deadline:
    """A limit of time that starts now; a nested one ends no later than the one around it.

    ``with Deadline(seconds):`` makes `poll` check it, in this thread. Without ``with`` only `check` does.

    Args:
        max_seconds: The limit, in wall-clock time.

    Attributes:
        started: When the call with this limit began.
        max_seconds: The limit of that call.
        ends: When the limit passes.
    """

    __slots__ = ("_outer", "ends", "max_seconds", "started")

    def __init__(self, max_seconds: float) -> None:
        self.started = time.monotonic()
        self.max_seconds = max_seconds
        self.ends = self.started + max_seconds
        self._outer = outer = _here.deadline
        if outer is not None and outer.ends < self.ends:
            self.started, self.max_seconds, self.ends = outer.started, outer.max_seconds, outer.ends

    def check(self) -> None:
        """Raise if the limit has passed.

        Raises:
            LimitError: The limit has passed.
        """
        now = time.monotonic()
        if now > self.ends:
            raise LimitError(
                f"compiled for {now - self.started:.1f} s, limit {self.max_seconds} s",
                fix="raise schemagen.Limits(max_seconds=...) or make the schema smaller",
            )

    def __enter__(self) -> None:
        """Make `poll` check this limit."""
        self._outer, _here.deadline = _here.deadline, self

    def __exit__(self, *_: object) -> None:
        """Make `poll` check the previous limit again."""
        _here.deadline = self._outer


class _Here(threading.local):
    deadline: Deadline | None = None


_here = _Here()


def poll() -> None:
    """Raise if the current call of this thread has passed its limit.

    Raises:
        LimitError: The limit has passed.

    Cost: 0.2 us.
    """
    deadline = _here.deadline
    if deadline is not None:
        deadline.check()


@contextmanager
def polled() -> Iterator[None]:
    """Let the clock of this thread's call stop foreign code at any call of a Python function.

    A trace function checks the clock, so this has no effect if another tracer is active, or if the call has no limit.

    Cost: 0.2 us per function call.
    """
    if _here.deadline is None or sys.gettrace() is not None:
        yield
        return
    calls = itertools.count(1)

    def traced(_frame: object, _event: str, _argument: object) -> None:
        if not next(calls) % _CALLS:
            poll()

    sys.settrace(traced)
    try:
        yield
    finally:
        sys.settrace(None)


def spent() -> float:
    """Return how many seconds the current call of this thread has taken; 0 without a limit."""
    deadline = _here.deadline
    return 0.0 if deadline is None else time.monotonic() - deadline.started


def seconds_left() -> float:
    """Return how long the current call of this thread may still take; infinity without a limit."""
    deadline = _here.deadline
    return math.inf if deadline is None else deadline.ends - time.monotonic()
