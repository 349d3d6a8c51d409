"""Continuous batching of transformers 5 as a scheduler: for models on an accelerator, where its paged attention pays.

The manager of transformers runs the model and its cache; our processor sees the requests of each step, chooses the
token of each by the grammar and the sampling of its job, and forbids all others (`schemagen.serve.choosing`). The job
sends its tokens itself; only errors are read from the manager's own results.

Unsupported options are refused when the manager is made: asynchronous batching and CUDA graphs
(`schemagen.decode.continuous`). On the CPU it wrote two thirds of the tokens of `MicroBatches` in the same time, so
there it is not the default.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from schemagen.decode.choosing import Chooser
from schemagen.decode.continuous import ContinuousBatchingLogitsProcessor, insert, step_processor
from schemagen.decode.speculation.eligibility import is_plain_decoder
from schemagen.errors import GenerationError
from schemagen.serve.jobs import together
from schemagen.serve.scheduling import closed, put_in_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

    from schemagen.lm.language_model import LanguageModel
    from schemagen.serve.jobs import Job

#: Seconds between two checks of the manager's results.
_LOOK_S = 0.1


def can_be_continuous(lm: LanguageModel) -> bool:
    """Whether transformers can batch the requests of a model continuously, as this module needs it."""
    model = lm.model
    makes = callable(getattr(model, "init_continuous_batching", None))
    return ContinuousBatchingLogitsProcessor is not None and makes and is_plain_decoder(model)


class ContinuousBatches:
    """Writes texts with the manager of transformers, and passes waiting texts on to it as there is room.

    Args:
        lm: The model; its attention is switched to a paged one while this is open.
        max_rows: Maximum number of texts being written.
        max_waiting: Maximum number of texts that wait.
        sizes: Sizes of the cache, by their names in ``ContinuousBatchingConfig`` of transformers; by default it takes
            all free memory.

    Attributes:
        on_rows: Called with the number of rows of each step.

    Raises:
        GenerationError: Continuous batching is not available, or not in a way that a grammar can constrain.
    """

    def __init__(
        self, lm: LanguageModel, *, max_rows: int, max_waiting: int, sizes: Mapping[str, Any] | None = None
    ) -> None:
        if not can_be_continuous(lm):
            raise GenerationError(
                f"{type(lm.model).__name__} cannot be batched continuously",
                why="transformers 5 is needed, and a decoder whose cache keeps every position",
                fix="leave continuous out",
                code="continuous-batching",
            )
        self.on_rows: Callable[[int], None] = lambda _: None
        self._max_rows = max_rows
        self._max_waiting = max_waiting
        self._waiting: deque[Job] = deque()
        self._running: dict[str, Job] = {}
        self._number = 0
        self._changed = threading.Condition()
        self._closed = False
        ends = lm.vocabulary.eos_token_ids
        pad = lm.tokenizer.pad_token_id
        self._ends = list(ends)
        chooser = Chooser(str(lm.model.device), ends[0] if pad is None else pad, together)
        self._manager = _manager(lm.model, self._ends, {"max_requests_per_batch": max_rows, **(sizes or {})})
        insert(_processor(chooser, self._stepped), self._manager)
        self._manager.start()
        self._thread = threading.Thread(target=self._work, name="schemagen-serve", daemon=True)
        self._thread.start()

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs, all of them or none; errors as for `MicroBatches.submit`."""
        with self._changed:
            if self._closed:
                raise closed()
            put_in_line(self._waiting, jobs, self._max_waiting)
            self._pass_on()

    def counts(self) -> tuple[int, int]:
        """Return how many jobs wait, and how many are being written."""
        return len(self._waiting), len(self._running)

    def close(self) -> None:
        """End all jobs with an error, and the manager."""
        with self._changed:
            self._closed = True
        self._thread.join()
        self._manager.stop(block=True, hard_stop=True)
        with self._changed:
            self._abandon()

    def _abandon(self) -> None:
        """End all jobs with an error; the lock is held."""
        for job in [*self._running.values(), *self._waiting]:
            job.fail(closed())
        self._running, self._waiting = {}, deque()

    # --- the threads of the manager, and of its results --------------------------------------------------------------

    def _pass_on(self) -> None:
        """Pass as many waiting texts to the manager as there is room for; the lock is held."""
        while self._waiting and len(self._running) < self._max_rows:
            job = self._waiting.popleft()
            if not job.is_wanted:
                continue
            name = f"job_{self._number}"
            self._number += 1
            self._running[name] = job
            self._manager.add_request(
                list(job.token_ids),
                request_id=name,
                max_new_tokens=job.max_new_tokens,
                eos_token_id=[] if job.constraint is not None and job.constraint.has_inner_ends else self._ends,
                job=_Ticket(name, job),
            )

    def _stepped(self, tickets: Sequence[_Ticket]) -> None:
        """Remove the jobs that are over, and let others take their places."""
        self.on_rows(len(tickets))
        over = [ticket for ticket in tickets if not ticket.job.is_wanted]
        if not over:
            return
        for ticket in over:
            self._manager.cancel_request(ticket.name)
        with self._changed:
            for ticket in over:
                self._running.pop(ticket.name, None)
            self._pass_on()

    def _work(self) -> None:
        """Read the results of the manager until this is closed, for requests that it could not run."""
        while not self._closed:
            result = self._manager.get_result(timeout=_LOOK_S)
            fault = self._manager.background_thread_status.fatal_error
            with self._changed:
                failed = {} if result is None else {result.request_id: result.error}
                if fault is not None:
                    failed = dict.fromkeys([*self._running], str(fault))
                for name, told in failed.items():
                    self._end(name, told)
                for name in [name for name, job in self._running.items() if not job.is_wanted]:
                    self._manager.cancel_request(name)
                    del self._running[name]
                if fault is None:
                    self._pass_on()
                else:
                    self._closed = True
                    self._abandon()
            if fault is not None:
                return

    def _end(self, name: str, told: Any) -> None:
        """End a job that the manager has finished."""
        job = self._running.pop(name, None)
        if job is None or job.is_over:
            return
        job.fail(
            RuntimeError(f"continuous batching: {told}")
            if told
            else RuntimeError("continuous batching ended a text early")
        )


class _Ticket:
    """A job under the name that the manager knows it by."""

    def __init__(self, name: str, job: Job) -> None:
        self.name = name
        self.job = job


def _manager(model: Any, ends: list[int], sizes: Mapping[str, Any]) -> Any:
    """Return a manager that calls a processor at each step."""
    from transformers import GenerationConfig
    from transformers.generation.configuration_utils import ContinuousBatchingConfig

    generation = GenerationConfig(do_sample=False, eos_token_id=ends, pad_token_id=ends[0], max_new_tokens=1)
    config = ContinuousBatchingConfig(
        use_async_batching=False, use_cuda_graph=False, allow_block_sharing=False, **sizes
    )
    return model.init_continuous_batching(generation_config=generation, continuous_batching_config=config)


def _processor(chooser: Chooser, stepped: Callable[[Sequence[_Ticket]], None]) -> Any:
    """Return the processor that leaves one token for each request."""
    tickets: list[_Ticket] = []

    def note(requests: Sequence[Any]) -> None:
        tickets[:] = [request.state.logit_processor_kwargs.get("job", _UNKNOWN) for request in requests]

    def choose(scores: torch.Tensor) -> torch.Tensor:
        if not tickets or _UNKNOWN in tickets:
            return scores
        found = scores.clone()
        found[: len(tickets)] = chooser.scores_of_choice([each.job for each in tickets], scores[: len(tickets)])
        stepped(tickets)
        return found

    return step_processor({"job": _Ticket}, note, choose)


#: For requests of the manager itself, with which it warms up.
_UNKNOWN = _Ticket("", None)  # type: ignore[arg-type]
