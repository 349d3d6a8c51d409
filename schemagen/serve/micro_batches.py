"""Micro-batches: texts that wait are written together, by ``generate``, each under its own grammar.

Idea: the thread of the model takes what waits, up to `max_rows`, and runs one call of ``generate`` over it: a *segment*. Rows end
and fail by themselves, and new ones wait for the next segment. A segment is ended early where going on would be waste: when all
of its rows are over, when half of them are, or when enough others wait to join. What is not over then goes on in the next
segment, from its prompt and what it has written; reading that again is one pass of the model. So a short request is not kept by a
long one, and any model works that ``generate`` takes.

A text that is alone, greedy and constrained is written by the loop that reads ahead (`schemagen.decode.speculation`), about
twice as fast; when others come, it is stopped, and goes on in a segment with them.

Rejected: a loop of our own over a cache whose rows come and go. It would save the reading again, for models whose cache it
knows; transformers has one for accelerators (`schemagen.serve.continuous`).
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.batch_size import rows_that_fit
from schemagen.decode.loop import complete_options, inputs_of
from schemagen.decode.speculation import can_read_ahead, decode_greedily, memory_of
from schemagen.serve.choosing import Chooser
from schemagen.serve.scheduling import closed, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.lm.language_model import LanguageModel
    from schemagen.serve.jobs import Job

#: Steps that a segment makes before it may be ended for others; each end costs one pass over all texts.
_LEAST_STEPS = 8
#: Steps after which a single text that waits is enough to end it.
_MOST_STEPS = 32


class _SegmentOver(Exception):  # noqa: N818 - no error: it ends a call of ``generate``
    """Nothing is left to write, or others wait."""


class MicroBatches:
    """Runs jobs in segments, in a thread of its own that lives as long as this object is open.

    Args:
        lm: The model.
        max_rows: Most texts at once.
        max_waiting: Most texts that wait.
        on_segment: Told the number of rows of each segment that begins.
    """

    def __init__(
        self,
        lm: LanguageModel,
        *,
        max_rows: int,
        max_waiting: int,
        on_segment: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._lm = lm
        self._max_rows = max_rows
        self._max_waiting = max_waiting
        self._on_segment = on_segment
        pad = lm.tokenizer.pad_token_id
        self._pad: int = lm.vocabulary.eos_token_ids[0] if pad is None else pad
        self._chooser = Chooser(str(lm.model.device), self._pad)
        self._waiting: deque[Job] = deque()
        self._live: list[Job] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="schemagen-serve", daemon=True)
        self._thread.start()

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs, all of them or none.

        Raises:
            RequestError: Too many are waiting (429), or this is closed (503).
        """
        with self._changed:
            if self._closed:
                raise closed()
            if len(self._waiting) + len(jobs) > self._max_waiting:
                # Those that nobody waits for any more take no place.
                self._waiting = deque(job for job in self._waiting if not job.is_cancelled)
                if len(self._waiting) + len(jobs) > self._max_waiting:
                    raise too_many(len(self._waiting), self._max_waiting)
            self._waiting.extend(jobs)
            self._changed.notify()

    def counts(self) -> tuple[int, int]:
        """Return how many jobs wait, and how many are being written."""
        return len(self._waiting), len(self._live)

    def close(self) -> None:
        """End all jobs with an error, and wait for the thread: one step of the model at most."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # --- the thread --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Write texts until this is closed."""
        torch.set_grad_enabled(False)
        while self._take():
            jobs = self._live
            if not jobs:
                continue
            self._on_segment(len(jobs))
            try:
                if not self._write_alone(jobs):
                    self._write_segment(jobs)
            except _SegmentOver:
                pass
            except Exception as error:  # noqa: BLE001 - out of memory, or whatever the model does
                self._part(jobs, error)
            self._live = [job for job in self._live if not (job.is_over or job.is_cancelled)]
        for job in [*self._live, *self._waiting]:
            job.fail(closed())
        self._live, self._waiting = [], deque()

    def _take(self) -> bool:
        """Let what waits join what goes on; wait where there is neither. Return False once this is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._live or self._waiting)
            if self._closed:
                return False
            joining: list[Job] = []
            while self._waiting and len(self._live) + len(joining) < self._max_rows:
                job = self._waiting.popleft()
                if not job.is_cancelled:
                    joining.append(job)
            surplus = len(self._live) + len(joining) - self._room([*self._live, *joining])
            while surplus > 0 and joining and self._live + joining[1:]:
                self._waiting.appendleft(joining.pop())
                surplus -= 1
            self._live += joining
            return True

    def _room(self, jobs: Sequence[Job]) -> int:
        """How many texts the model may write at once, if these are among them."""
        longest = max((len(job.token_ids) + job.max_new_tokens for job in jobs), default=1)
        return rows_that_fit(self._lm.model, longest)

    def _part(self, jobs: list[Job], error: Exception) -> None:
        """Try the halves of a segment that raised by themselves; end the row that is alone with the error."""
        going = [job for job in jobs if not (job.is_over or job.is_cancelled)]
        if len(going) <= 1:
            for job in going:
                job.fail(error)
            return
        for half in (going[: len(going) // 2], going[len(going) // 2 :]):
            try:
                self._write_segment(half, whole=True)
            except _SegmentOver:
                pass
            except Exception as again:  # noqa: BLE001 - as above
                self._part(half, again)

    def _write_alone(self, jobs: list[Job]) -> bool:
        """Write a text by the loop that reads ahead, if it is alone and may be; return whether it was."""
        job = jobs[0]
        if len(jobs) > 1 or job.constraint is None or job.sampling is not None or job.generated or job.is_cancelled:
            return False
        model = self._lm.model
        inputs = inputs_of([job.token_ids], self._pad, model.device)
        options = complete_options(model, len(job.token_ids), {"max_new_tokens": job.max_new_tokens})
        if not can_read_ahead(model, inputs, options, job.constraint):
            return False
        memory = memory_of(job.constraint)
        reader = _Listener(job, self._wants_alone)
        with suppress(_SegmentOver):
            decode_greedily(model, inputs["input_ids"], job.constraint, job.max_new_tokens, memory, streamer=reader)
        job.stand()
        job.check_end()
        return True

    def _write_segment(self, jobs: list[Job], *, whole: bool = False) -> None:
        """Write some texts together, until the segment is over.

        Args:
            jobs: The texts; none of them is over.
            whole: Whether others that wait do not end it.

        Raises:
            _SegmentOver: As soon as it is.
        """
        model = self._lm.model
        prompts = [(*job.token_ids, *job.generated) for job in jobs]
        inputs = inputs_of(prompts, self._pad, model.device)
        most = max(job.max_new_tokens - len(job.generated) for job in jobs)
        options = complete_options(model, inputs["input_ids"].shape[1], {"max_new_tokens": most})
        step = _Step(self, jobs, whole=whole)
        ends = list(self._lm.vocabulary.eos_token_ids)
        model.generate(
            **inputs, **options, eos_token_id=ends, pad_token_id=self._pad, logits_processor=[step]
        )

    def _wants_alone(self, steps: int) -> bool:
        """Whether a text that is written alone should go on with others, after so many tokens."""
        waiting = len(self._waiting)
        return self._closed or waiting > 1 or (waiting > 0 and steps >= _MOST_STEPS)

    def wants_end(self, live: int, rows: int, steps: int, *, whole: bool) -> bool:
        """Whether a segment should end.

        Args:
            live: Rows that are not over.
            rows: All of its rows.
            steps: How many it has made.
            whole: Whether others that wait do not end it.
        """
        if self._closed or not live:
            return True
        if whole or steps < _LEAST_STEPS:
            return False
        joining = min(len(self._waiting), self._max_rows - live)
        if joining > 0 and (2 * joining >= live or steps >= _MOST_STEPS):
            return True
        return 2 * live <= rows

    def choose(self, jobs: Sequence[Job], scores: torch.Tensor) -> torch.Tensor:
        """Return the scores of a step; see `Chooser.choose`."""
        return self._chooser.choose(jobs, scores)


class _Step:
    """The logits processor of a segment: it chooses the tokens, and ends ``generate`` when the segment is over."""

    def __init__(self, owner: MicroBatches, jobs: Sequence[Job], *, whole: bool) -> None:
        self._owner = owner
        self._jobs = jobs
        self._whole = whole
        self._steps = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores float [B, V] that leave one token to each row.

        Raises:
            _SegmentOver: It is.
        """
        del input_ids  # each job knows its own
        chosen = self._owner.choose(self._jobs, scores)
        self._steps += 1
        live = sum(not (job.is_over or job.is_cancelled) for job in self._jobs)
        if self._owner.wants_end(live, len(self._jobs), self._steps, whole=self._whole):
            raise _SegmentOver
        return chosen


class _Listener:
    """What the loop that reads ahead tells its tokens; it ends the loop for others, or for nobody who waits."""

    def __init__(self, job: Job, wants_end: Callable[[int], bool]) -> None:
        self._job = job
        self._wants_end = wants_end
        self._has_begun = False

    def put(self, value: Any) -> None:
        """Take the tokens of a step, the prompt first.

        Raises:
            _SegmentOver: The text goes on with others, or not at all.
        """
        if not self._has_begun:
            self._has_begun = True
            return
        self._job.take_read([int(token_id) for token_id in value.reshape(-1).tolist()])
        if self._job.is_cancelled or self._wants_end(len(self._job.generated)):
            raise _SegmentOver

    def end(self) -> None:
        """Do nothing: the loop returns."""
