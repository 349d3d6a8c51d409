"""`CompileLine`: fair turns for compilations, and an end for those that do not check the clock.

Constraints come from untrusted clients, and compiling one takes up to the limit of time. To stop one client from taking
all workers, each client has one compilation at a time, clients take turns, and in a full line the client with the most
requests loses one.

Each compilation has its own thread. `Limits` end it in time, unless some part of it fails to check the clock. After
twice the limit an asynchronous exception is raised in the thread, before its next step in Python. A thread inside one
long C call does not see it: it is abandoned, and the number of abandoned threads is bounded. Rejected: processes, which
can always be killed, but cannot hand over a compiled grammar, so it would be compiled twice.

Invariant: `_running` and `_left` together are at most twice the workers.
"""

from __future__ import annotations

import asyncio
import ctypes
import ipaddress
import logging
import threading
from collections import OrderedDict, deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.errors import LimitError
from schemagen.serve.errors import RequestError
from schemagen.serve.scheduling import closed, queue_full
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Callable

_LOGGER = logging.getLogger("schemagen.serve")
T = TypeVar("T")


class _Ended(BaseException):
    """Raised in a thread whose work is no longer wanted; no ``except Exception`` catches it."""


def client_of(host: str | None) -> str:
    """Return the identity of a client: its address, or for IPv6 the network of 64 bits that one customer has."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host or ""
    return str(ipaddress.ip_network((address, 64), strict=False) if address.version == 6 else address)


class CompileLine:
    """Lets clients compile in turns. Thread-safe; works with any event loop.

    Args:
        workers: Maximum number of concurrent compilations.
        most_waiting: Maximum number of requests in the line; one more is refused.
        seconds: The limit of one compilation; after twice this time its thread is abandoned.
    """

    def __init__(self, workers: int, most_waiting: int, seconds: float) -> None:
        self._workers = workers
        self._most_waiting = most_waiting
        self._seconds = seconds
        self._lock = brief_lock()
        self._lines: OrderedDict[str, deque[Future[None]]] = OrderedDict()
        self._running: set[str] = set()  # clients
        self._left: set[_Work] = set()  # abandoned, and not finished yet
        self._is_closed = False

    async def run(self, client: str, work: Callable[[], T]) -> T:
        """Return the result of `work`, or raise its error, when the turn of the client has come.

        Raises:
            RequestError: Too many requests are waiting (429), too many compilations do not end, or the line is closed
                (503).
            LimitError: The work took more than twice the limit.
        """
        turn = self._line_up(client)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():  # the turn came at this moment
                self._leave(client)
            raise
        thread = _Work(work, self._ended)
        found: asyncio.Future[T] = asyncio.wrap_future(thread.found)
        found.add_done_callback(lambda each: each.cancelled() or each.exception())  # read even if no caller waits
        try:
            thread.start()
            done, _ = await asyncio.wait({found}, timeout=2 * self._seconds)
            if done:
                return found.result()
        finally:
            self._leave(client, thread)
        _LOGGER.error("a compilation did not end within %g s, and its thread was given up", 2 * self._seconds)
        raise LimitError(
            f"compiling took longer than {2 * self._seconds:g} s, twice the limit",
            why="a part of it did not look at the clock",
            fix="make it smaller or simpler",
        )

    def left_behind(self) -> int:
        """Return how many abandoned threads have not finished yet."""
        return sum(thread.is_alive() for thread in list(self._left))

    def close(self) -> None:
        """Refuse all waiting and all later requests."""
        with self._lock:
            self._is_closed = True
            turns = self._emptied()
        _fail(turns, closed())

    def _line_up(self, client: str) -> Future[None]:
        """Return a future that is done when it is the client's turn."""
        turn: Future[None] = Future()
        dropped: list[Future[None]] = []
        with self._lock:
            if self._is_closed:
                raise closed()
            if not self._room():
                raise _stuck()
            self._drop_cancelled()
            if sum(map(len, self._lines.values())) >= self._most_waiting:
                dropped = [each for each in [self._longest(client)] if each.set_running_or_notify_cancel()]
            self._lines.setdefault(client, deque()).append(turn)
            ready = self._ready()
        _fail(dropped, _too_many(self._most_waiting))
        _begin(ready)
        return turn

    def _longest(self, client: str) -> Future[None]:
        """Remove the last turn of the client with the most turns, if it has more than this one would have."""
        longest = max(self._lines, key=lambda each: len(self._lines[each]))
        if len(self._lines[longest]) <= len(self._lines.get(client, ())) + 1:
            raise _too_many(self._most_waiting)
        return self._lines[longest].pop()

    def _drop_cancelled(self) -> None:
        for client, line in list(self._lines.items()):
            self._lines[client] = deque(turn for turn in line if not turn.cancelled())
            if not self._lines[client]:
                del self._lines[client]

    def _room(self) -> int:
        """How many compilations may run at once: fewer if many threads were abandoned."""
        self._left = {thread for thread in self._left if thread.is_alive()}
        return min(self._workers, 2 * self._workers - len(self._left))

    def _ready(self) -> list[Future[None]]:
        """Remove and return the turns that may begin."""
        found: list[Future[None]] = []
        for client in list(self._lines):
            if len(self._running) >= self._room():
                break
            line = self._lines[client]
            while client not in self._running and line:
                turn = line.popleft()
                if turn.set_running_or_notify_cancel():
                    self._running.add(client)
                    found.append(turn)
            if line:
                self._lines.move_to_end(client)
            else:
                del self._lines[client]
        return found

    def _emptied(self) -> list[Future[None]]:
        found = [turn for line in self._lines.values() for turn in line if turn.set_running_or_notify_cancel()]
        self._lines.clear()
        return found

    def _leave(self, client: str, thread: _Work | None = None) -> None:
        """Let the next ones begin; abandon a thread that has not finished."""
        with self._lock:
            self._running.discard(client)
            if thread is not None and not thread.found.done():
                self._left.add(thread)
                thread.end()
            ready = self._ready()
            stuck = [] if self._room() else self._emptied()
        _begin(ready)
        _fail(stuck, _stuck())

    def _ended(self, thread: _Work) -> None:
        """Forget a thread that ended."""
        with self._lock:
            self._left.discard(thread)
            ready = self._ready()
        _begin(ready)


class _Work(threading.Thread):
    """One compilation; `found` is done when it has ended."""

    def __init__(self, work: Callable[[], Any], on_end: Callable[[_Work], None]) -> None:
        super().__init__(name="schemagen-compile", daemon=True)
        self.found: Future[Any] = Future()
        self.found.set_running_or_notify_cancel()
        self._work = work
        self._on_end = on_end

    def run(self) -> None:
        """Do the work."""
        try:
            try:
                found = self._work()
            except Exception as error:  # noqa: BLE001 - raised in the caller that waits
                self.found.set_exception(error)
            else:
                self.found.set_result(found)
            self._on_end(self)
        except _Ended:  # in the work, or just after it
            self._on_end(self)

    def end(self) -> None:
        """Raise an exception in this thread, before its next step in Python."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Ended))


def _begin(turns: list[Future[None]]) -> None:
    for turn in turns:
        turn.set_result(None)


def _fail(turns: list[Future[None]], error: RequestError) -> None:
    for turn in turns:
        turn.set_exception(error)


def _too_many(most: int) -> RequestError:
    return queue_full(
        f"{most} requests are waiting to be compiled, and no more may",
        why="the server is asked to compile more than it can; each client has one compilation at a time",
    )


def _stuck() -> RequestError:
    return RequestError(
        "too many compilations do not end",
        status=503,
        headers={"Retry-After": "10"},
        why="their threads cannot be stopped",
        fix="ask again later, or without a constraint; the server may have to be started again",
        code="compilers-stuck",
    )
