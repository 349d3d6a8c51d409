"""The metrics of ``GET /metrics``, in the format of Prometheus, with a registry for each server of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counters of one server.

    Args:
        counts: Returns how many texts wait, and how many are being written.
        left_behind: Returns how many abandoned threads of compilations have not finished.
    """

    def __init__(self, counts: Callable[[], tuple[int, int]], left_behind: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self.requests = Counter("schemagen_requests", "Requests by path and status", ["path", "status"], registry=own)
        self.cancelled = Counter("schemagen_cancelled", "Texts that were given up before their end", registry=own)
        self.prompt_tokens = Counter("schemagen_prompt_tokens", "Tokens that were read", registry=own)
        self.completion_tokens = Counter("schemagen_completion_tokens", "Tokens that were written", registry=own)
        self.compile_seconds = Histogram(
            "schemagen_compile_seconds", "Reading and compiling a constraint", buckets=_SECONDS, registry=own
        )
        self.request_seconds = Histogram(
            "schemagen_request_seconds", "From the body of a request to its last token", buckets=_SECONDS, registry=own
        )
        self.rows = Histogram(
            "schemagen_batch_rows", "Texts that the model writes at once", buckets=_ROWS, registry=own
        )
        waiting = Gauge("schemagen_waiting", "Texts that wait for the model", registry=own)
        waiting.set_function(lambda: counts()[0])
        running = Gauge("schemagen_running", "Texts that are being written", registry=own)
        running.set_function(lambda: counts()[1])
        left = Gauge("schemagen_compilations_left_behind", "Threads of compilations that do not end", registry=own)
        left.set_function(left_behind)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self.registry)
