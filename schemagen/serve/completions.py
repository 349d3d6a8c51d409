"""From a plan to the bytes of its response: submit the jobs, read their tokens, send them at once or as a stream."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from schemagen.serve.errors import log_fault
from schemagen.serve.scheduling import timed_out
from schemagen.serve.shapes import DONE, Usage
from schemagen.serve.tracing import Trace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from schemagen.lm.language_model import LanguageModel
    from schemagen.serve.jobs import Job, Outbox
    from schemagen.serve.metrics import Metrics
    from schemagen.serve.planning import Plan
    from schemagen.serve.readers import Delta, Reader
    from schemagen.serve.scheduling import Scheduler
    from schemagen.serve.shapes import Shape


class Completion:
    """The answers to one request.

    Args:
        plan: The plan of the request.
        shape: The shape of the response.
        scheduler: The scheduler that writes the texts.
        lm: The model.
        outbox: The outbox of the event loop.
        metrics: The counters of the server.
        timeout: Seconds from now until unfinished texts end with an error, and the total that the error names; None if
            unlimited.

    Raises:
        RequestError: Too many texts are waiting.
    """

    def __init__(
        self,
        plan: Plan,
        shape: Shape,
        *,
        scheduler: Scheduler,
        lm: LanguageModel,
        outbox: Outbox,
        metrics: Metrics,
        timeout: tuple[float, float] | None = None,
    ) -> None:
        self._plan = plan
        self._shape = shape
        self._metrics = metrics
        self._jobs: list[Job] = plan.jobs(lm.vocabulary, outbox)
        self._readers: list[Reader] = [plan.reader_of(job) for job in self._jobs]
        self._started = time.perf_counter()
        self._is_counted = False
        self._timer = None
        if timeout is not None and timeout[0] <= 0:
            raise timed_out(timeout[1])
        scheduler.submit(self._jobs)
        if timeout is not None:
            left, allowed = timeout
            self._timer = asyncio.get_running_loop().call_later(left, self._expire, allowed)

    def _expire(self, allowed: float) -> None:
        """End the unfinished texts: the time of the request is up."""
        for job in self._jobs:
            job.fail(timed_out(allowed))

    def close(self) -> None:
        """Cancel all unfinished texts, and count the usage of the request."""
        if self._timer is not None:
            self._timer.cancel()
        for job in self._jobs:
            job.cancel()
        if not self._is_counted:
            self._is_counted = True
            self._metrics.cancelled.inc(sum(not job.is_over for job in self._jobs))
            usage = self._usage()
            self._metrics.prompt_tokens.inc(usage.prompt)
            self._metrics.completion_tokens.inc(usage.completion)
            self._metrics.request_seconds.observe(time.perf_counter() - self._started)

    async def body(self) -> dict[str, Any]:
        """Return the body of the response when all answers are complete.

        Raises:
            SchemagenError: An answer could not be written.
        """
        answers = [asyncio.ensure_future(self._whole(*each)) for each in zip(self._jobs, self._readers, strict=True)]
        try:
            found = await asyncio.gather(*answers)
        finally:
            for answer in answers:  # if one failed, do not wait for the others
                answer.cancel()
            self.close()
        return self._shape.body(found, self._usage())

    @staticmethod
    async def _whole(job: Job, reader: Reader) -> tuple[list[Delta], str]:
        """Return the deltas of an answer, and its finish reason."""
        deltas: list[Delta] = []
        while isinstance(message := await job.mailbox.get(), list):
            deltas += reader.feed(message)
        if isinstance(message, Exception):
            raise message
        rest, reason = reader.end(message)
        return deltas + rest, reason

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the events of the stream; an error is one, too, since the status was sent before."""
        try:
            for data in self._shape.opening(len(self._jobs)):
                yield data
            async for step in self._merged():
                for data in self._shape.step(*step):
                    yield data
            for data in self._shape.closing(self._usage()):
                yield data
        except Exception as error:  # noqa: BLE001 - the client always gets the error
            log_fault(error)
            yield self._shape.failure(error)
        finally:
            self.close()
        yield DONE

    async def _merged(self) -> AsyncIterator[tuple[int, Delta, str | None, dict[str, Any] | None]]:
        """Yield the new parts of all answers, as they come."""
        if len(self._jobs) == 1:
            async for step in self._steps(0):
                yield step
            return
        queue: asyncio.Queue[Any] = asyncio.Queue()

        async def forward(index: int) -> None:
            try:
                async for step in self._steps(index):
                    queue.put_nowait(step)
                queue.put_nowait(None)
            except Exception as error:  # noqa: BLE001 - raised by the reader of the queue
                queue.put_nowait(error)

        tasks = [asyncio.create_task(forward(index)) for index in range(len(self._jobs))]
        try:
            left = len(tasks)
            while left:
                step = await queue.get()
                if isinstance(step, Exception):
                    raise step
                if step is None:
                    left -= 1
                else:
                    yield step
        finally:
            for task in tasks:
                task.cancel()

    async def _steps(self, index: int) -> AsyncIterator[tuple[int, Delta, str | None, dict[str, Any] | None]]:
        """Yield the new parts of an answer, and at the end its finish reason."""
        job, reader = self._jobs[index], self._readers[index]
        trace = None if self._plan.traced is None else Trace(self._plan.traced, job.max_new_tokens)
        while isinstance(message := await job.mailbox.get(), list):
            steps = None if trace is None else trace.feed(message)
            for delta in self._with_trace(reader, message, told=steps is not None):
                yield index, delta, None, steps
                steps = None
        if isinstance(message, Exception):
            raise message
        rest, reason = reader.end(message)
        for delta in rest:
            yield index, delta, None, None
        yield index, {}, reason, None if trace is None else trace.end()

    @staticmethod
    def _with_trace(reader: Reader, token_ids: list[int], *, told: bool) -> list[Delta]:
        """Return the deltas of some tokens; at least an empty one if there is a trace to send."""
        return reader.feed(token_ids) or ([{}] if told else [])

    def _usage(self) -> Usage:
        """Return the token usage of the request."""
        counts = [reader.reasoning_tokens for reader in self._readers]
        thoughts = [count for count in counts if count is not None]
        return Usage(
            sum(map(len, self._plan.prompts)),
            sum(len(job.generated) for job in self._jobs),
            sum(thoughts) if thoughts else None,
        )
