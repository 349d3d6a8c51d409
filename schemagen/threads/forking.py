"""Locks that a forked process finds free.

After a fork the new process has one thread, and whatever lock another thread held is held for ever. So every lock of the
package is made here. A fork waits for the brief ones, so that what they guard is whole in both processes; in the new process
all of them are free. The compiled core does the same for its own locks (core/util/work.hpp).

Invariant: nobody takes a brief lock while holding another one, and whoever holds one never waits.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from functools import cached_property
from threading import Lock
from typing import TypeVar
from weakref import ref

Class = TypeVar("Class", bound=type)

#: A thread that forks while it holds a brief lock itself, in a signal handler, gives up waiting after so many seconds.
_PATIENCE = 1.0
_brief: list[ref[Lock]] = []
_long: list[ref[Lock]] = []


def _new(known: list[ref[Lock]]) -> Lock:
    lock = Lock()
    known.append(ref(lock, known.remove))
    return lock


def brief_lock() -> Lock:
    """Return a lock for a few steps that wait for nothing: a fork waits for it."""
    return _new(_brief)


def long_lock() -> Lock:
    """Return a lock for work of any length: a fork does not wait, and the new process may find that work half done."""
    return _new(_long)


def without_property_locks(cls: Class) -> Class:
    """Let the cached properties of a class be worked out by several threads at once, as they are from Python 3.12 on.

    Before, each of them has one lock for all instances, which the slowest holds up, and which a fork may leave held.
    """
    for value in vars(cls).values():
        if isinstance(value, cached_property) and "lock" in vars(value):
            vars(value)["lock"] = nullcontext()
    return cls


def _locks(known: list[ref[Lock]]) -> list[Lock]:
    return [lock for lock in (weak() for weak in list(known)) if lock is not None]


_held: list[Lock] = []


class _Process:
    """What is known of this process."""

    is_forked_beside_torch = False


def was_forked_beside_torch() -> bool:
    """Whether this process was forked from one that had imported torch; said once after each fork."""
    found, _Process.is_forked_beside_torch = _Process.is_forked_beside_torch, False
    return found


def _before() -> None:
    _held[:] = [lock for lock in _locks(_brief) if lock.acquire(timeout=_PATIENCE)]


def _in_parent() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _Process.is_forked_beside_torch |= "torch" in sys.modules
    _held.clear()
    for lock in (*_locks(_brief), *_locks(_long)):
        if lock.locked():
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
