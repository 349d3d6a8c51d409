"""The clock of a call: how long what a thread does in Python may take.

Whatever may take long calls `poll` again and again, at the start of a loop's round, and knows nothing of whose call it is:
the `Deadline` that the thread is within counts. The compiled core has a clock of its own (core/util/work.hpp).

Invariant: `poll` stands where an exception leaves everything that is shared as it was; a cache is filled after the last one.
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

#: Calls of functions of others between two looks.
_CALLS = 64


class Deadline:
    """When a call that starts now has taken too long; one within another ends no later than that.

    ``with Deadline(seconds):`` is what `poll` looks at, in this thread. Without ``with`` only `check` does.

    Args:
        max_seconds: Until then, by the wall clock.

    Attributes:
        started: When the call began whose limit it is.
        max_seconds: That limit.
        ends: When it passes.
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
        """Stop if it has passed.

        Raises:
            LimitError: It has.
        """
        now = time.monotonic()
        if now > self.ends:
            raise LimitError(
                f"compiled for {now - self.started:.1f} s, limit {self.max_seconds} s",
                fix="raise schemagen.Limits(max_seconds=...) or make the schema smaller",
            )

    def __enter__(self) -> None:
        """Let `poll` look at it."""
        self._outer, _here.deadline = _here.deadline, self

    def __exit__(self, *_: object) -> None:
        """Let `poll` look at what it looked at before."""
        _here.deadline = self._outer


class _Here(threading.local):
    deadline: Deadline | None = None


_here = _Here()


def poll() -> None:
    """Stop if the call that this thread makes has taken too long.

    Raises:
        LimitError: It has.

    Cost: 0.2 us.
    """
    deadline = _here.deadline
    if deadline is not None:
        deadline.check()


@contextmanager
def polled() -> Iterator[None]:
    """Let the clock of this thread's call stop code that knows nothing of it, at any call of a function of Python.

    It is looked at by a trace function, so not where somebody else traces, and not where nothing limits the call.

    Cost: 0.2 us a call of a function.
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
    """Return how many seconds the call that this thread makes has taken; 0 where nothing limits it."""
    deadline = _here.deadline
    return 0.0 if deadline is None else time.monotonic() - deadline.started


def seconds_left() -> float:
    """Return how long the call that this thread makes may still take; infinity where nothing limits it."""
    deadline = _here.deadline
    return math.inf if deadline is None else deadline.ends - time.monotonic()
