"""The interface `Scheduler`: it takes jobs from the event loop, and its thread makes sure that each of them ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from schemagen.serve.errors import RequestError

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from schemagen.serve.jobs import Job


class Scheduler(Protocol):
    """Runs jobs, many at a time."""

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs, all of them or none.

        Raises:
            RequestError: Too many are waiting (429), or the scheduler is closed (503).
        """
        ...

    def counts(self) -> tuple[int, int]:
        """Return how many jobs wait, and how many are being written."""
        ...

    def close(self) -> None:
        """End all jobs with an error, and the thread."""
        ...


def put_in_line(waiting: deque[Job], jobs: Sequence[Job], most: int) -> None:
    """Add jobs to the line, all of them or none; if it is full, cancelled jobs make room.

    waiting: The line.
    jobs: The new jobs.
    most: The capacity of the line.

    Raises:
        RequestError: The line is full (429).
    """
    if len(waiting) + len(jobs) > most:
        wanted = [job for job in waiting if job.is_wanted]
        waiting.clear()
        waiting.extend(wanted)
        if len(waiting) + len(jobs) > most:
            raise too_many(len(waiting), most)
    waiting.extend(jobs)


def too_many(waiting: int, most: int) -> RequestError:
    """Return the error of a request that finds the queue full."""
    return queue_full(
        f"{waiting} texts are waiting for the model, and at most {most} may",
        why="the server is asked for more than it can write",
    )


def queue_full(fact: str, *, why: str) -> RequestError:
    """Return the error of a request that has to be retried in a moment (429)."""
    return RequestError(
        fact,
        status=429,
        headers={"Retry-After": "1"},
        why=why,
        fix="ask again in a moment; most clients do by themselves",
        code="queue-full",
    )


def closed() -> RequestError:
    """Return the error of a request that the server will not answer any more."""
    return RequestError("the server is shutting down", status=503, fix="ask again later", code="shutting-down")


def timed_out(seconds: float) -> RequestError:
    """Return the error of a request that takes longer than allowed."""
    return RequestError(
        f"the request took longer than {seconds:g} s, which is the most here",
        status=504,
        why="time in the line counts, too",
        fix="ask for fewer tokens, or when fewer others ask, or start the server with a higher --timeout",
        code="request-timeout",
    )
