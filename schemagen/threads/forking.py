"""Locks that a forked process finds free.

After a fork the new process has one thread, and a lock that another thread held is held for ever. So every lock of the
package is made here. A fork waits for the brief locks, so that the data they guard is consistent in both processes; in
the new process all locks are free. The compiled core does the same for its own locks (core/util/work.hpp).

Invariant: a thread never takes a second brief lock, and never waits, while it holds a brief lock.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from functools import cached_property
from threading import Lock, RLock, get_ident
from typing import TypeVar
from weakref import ref

Class = TypeVar("Class", bound=type)

#: Seconds to wait for brief locks; a thread that forks in a signal handler may hold one itself.
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


class ReentrantLock:
    """A lock that its holder may take again. In a forked process it is free, unless the thread that forked holds it."""

    __slots__ = ("_depth", "_holder", "_lock", "_pid")

    def __init__(self) -> None:
        self._lock, self._pid = RLock(), os.getpid()
        self._holder, self._depth = 0, 0

    def __enter__(self) -> None:
        """Wait for the lock, and take it."""
        if self._pid != (pid := os.getpid()):
            if self._holder != get_ident():
                self._lock, self._depth = RLock(), 0
            self._pid = pid
        self._lock.acquire()
        self._holder, self._depth = get_ident(), self._depth + 1

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._depth -= 1
        if not self._depth:
            self._holder = 0
        self._lock.release()


def without_property_locks(cls: Class) -> Class:
    """Let several threads compute the cached properties of a class in parallel, as they do from Python 3.12 on.

    Before 3.12 each property has one lock for all instances; a slow instance holds it up, and a fork may leave it held.
    """
    for value in vars(cls).values():
        if isinstance(value, cached_property) and "lock" in vars(value):
            vars(value)["lock"] = nullcontext()
    return cls


def _locks(known: list[ref[Lock]]) -> list[Lock]:
    return [lock for lock in (weak() for weak in list(known)) if lock is not None]


_held: list[Lock] = []


class _Process:
    """The state of this process."""

    is_forked_beside_torch = False


def was_forked_beside_torch() -> bool:
    """Whether this process was forked from one that had imported torch; true only once after each fork."""
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


def settle_threads() -> None:
    """Leave torch one thread, once, if this process was forked from one that had imported torch.

    After a fork the threads that torch computes with are gone, and its OpenMP runtime does not know: the first operation that
    is shared among them waits for ever. With one thread nothing is shared. Callers may call ``torch.set_num_threads``
    afterwards. A process that is forked before torch is imported, as those of Spark are, keeps its threads.
    """
    if was_forked_beside_torch():
        import torch

        if torch.get_num_threads() > 1:
            torch.set_num_threads(1)
