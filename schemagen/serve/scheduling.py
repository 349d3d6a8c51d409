"""What runs jobs: a `Scheduler` is given jobs from the event loop, and its thread sees that each of them is ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from schemagen.serve.errors import RequestError

if TYPE_CHECKING:
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


def too_many(waiting: int, most: int) -> RequestError:
    """Return the error of a request that finds the queue full."""
    return RequestError(
        f"{waiting} texts are waiting for the model, and at most {most} may",
        status=429,
        headers={"Retry-After": "1"},
        why="the server is asked for more than it can write",
        fix="ask again in a moment; most clients do by themselves",
        code="queue-full",
    )


def closed() -> RequestError:
    """Return the error of a request that the server will not come to."""
    return RequestError("the server is shutting down", status=503, fix="ask again later", code="shutting-down")
