"""Micro-batches: waiting texts are written together, each under its own grammar.

Idea: the thread of the model takes up to `max_rows` waiting texts, and writes them in one batch. Rows end and fail by
themselves. If the cache of the model is known, rows join and leave between two steps (`CachedRows`). With any other
model a batch is a *segment*, one call of ``generate``, which ends early if continuing would be waste: when all of its
rows are over, when half of them are, or when enough others wait to join. Unfinished rows continue in the next segment,
which reads their prompts and tokens again. Either way a short answer does not wait for a long one.

A text that is alone, greedy and constrained is written by the loop that reads ahead (`schemagen.decode.speculation`),
about twice as fast; when others come, that loop stops, and the text continues in a batch with them.

A batch that raises, as when memory runs out, is retried in halves, until the failing row is alone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.batch_size import rows_that_fit
from schemagen.decode.cached_rows import CachedRows, can_cache_rows
from schemagen.decode.choosing import Chooser
from schemagen.decode.generate import inputs_of
from schemagen.decode.options import complete_options
from schemagen.decode.speculation import Loop, can_read_ahead
from schemagen.serve.jobs import together
from schemagen.serve.scheduling import closed, put_in_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.lm.language_model import LanguageModel
    from schemagen.serve.jobs import Job

#: Steps of a batch before a few texts may join, or of a segment before it may end.
_LEAST_STEPS = 8
#: They may join at any step if there is one of them for this many texts being written.
_JOINING = 8
#: Steps after which a single waiting text may end a segment, or a text that is written alone.
_MOST_STEPS = 32

#: Seconds after which the free memory is looked up again.
_ROOM_S = 0.5


class _SegmentOver(Exception):  # noqa: N818 - not an error: it ends a call of ``generate``
    """All texts are over, or others wait."""


class MicroBatches:
    """Writes texts in its own thread, which lives until this object is closed.

    Args:
        lm: The model.
        max_rows: Maximum number of texts being written.
        max_waiting: Maximum number of texts that wait.

    Attributes:
        on_rows: Called with the number of rows of each batch, or of each step.
    """

    def __init__(self, lm: LanguageModel, *, max_rows: int, max_waiting: int) -> None:
        self.on_rows: Callable[[int], None] = lambda _: None
        self._lm = lm
        self._max_rows = max_rows
        self._most = max_rows  # fewer after a batch that raised
        self._max_waiting = max_waiting
        pad = lm.tokenizer.pad_token_id
        self._pad: int = lm.vocabulary.eos_token_ids[0] if pad is None else pad
        self._chooser = Chooser(str(lm.model.device), self._pad, together)
        self._rows = CachedRows(lm.model, self._pad, self._chooser) if can_cache_rows(lm.model) else None
        self._waiting: deque[Job] = deque()
        self._live: list[Job] = []
        self._steps = 0  # since others could join
        self._rows_that_fit, self._room_for = 1, 0  # rows that fit, of that many tokens each
        self._room_until = 0.0  # when the free memory is looked up again
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
            put_in_line(self._waiting, jobs, self._max_waiting)
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

    @torch.inference_mode()
    def _work(self) -> None:
        """Write texts until this is closed."""
        while self._take():
            if self._live:
                self.on_rows(len(self._live))
                self._write()
            self._live = [job for job in self._live if job.is_wanted]
            if self._rows is not None and not self._live:
                self._rows.clear()
        for job in [*self._live, *self._waiting]:
            job.fail(closed())
        self._live, self._waiting = [], deque()

    def _take(self) -> bool:
        """Let waiting texts join the ones being written; wait if there are neither. Return False once this is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._live or self._waiting)
            if self._closed:
                return False
            joining: list[Job] = []
            self._steps += 1
            if (
                self._live
                and min(len(self._waiting), self._most - len(self._live)) * _JOINING < len(self._live)
                and (self._steps < _LEAST_STEPS)
            ):
                return True
            self._steps = 0
            while self._waiting and len(self._live) + len(joining) < self._most:
                job = self._waiting.popleft()
                if job.is_wanted:
                    joining.append(job)
            if joining:
                surplus = len(self._live) + len(joining) - self._room([*self._live, *joining])
                while surplus > 0 and joining and self._live + joining[1:]:
                    self._waiting.appendleft(joining.pop())
                    surplus -= 1
            self._live = self._live + joining
            return True

    def _room(self, jobs: Sequence[Job]) -> int:
        """How many texts the model may write at once, given the longest of these."""
        longest = max(len(job.token_ids) + job.max_new_tokens for job in jobs)
        now = time.monotonic()
        if longest > self._room_for or now > self._room_until:
            self._rows_that_fit = rows_that_fit(self._lm.model, longest)
            self._room_for, self._room_until = longest, now + _ROOM_S
        return self._rows_that_fit

    def _write(self) -> None:
        """Continue the texts being written; end a text that fails alone."""
        try:
            if self._write_alone(self._live):
                return
            if self._rows is None:
                self._write_segment(self._live)
            else:
                self._rows.advance(self._live)
            self._most = min(self._max_rows, self._most + 1)
        except _SegmentOver:
            pass
        except Exception as error:  # noqa: BLE001 - out of memory, or any failure of the model
            self._halve(error)

    def _halve(self, error: Exception) -> None:
        """Continue with half of the texts after a batch that raised; end the text if it was alone."""
        if self._rows is not None:
            self._rows.clear()
        going = [job for job in self._live if job.is_wanted]
        if len(going) <= 1:
            for job in going:
                job.fail(error)
            return
        self._most = half = len(going) // 2
        with self._changed:
            self._waiting.extendleft(reversed(going[half:]))
        self._live = going[:half]

    def _write_alone(self, jobs: list[Job]) -> bool:
        """Write a text with the loop that reads ahead, if it is alone and eligible; return whether it was."""
        job = jobs[0]
        if len(jobs) > 1 or job.constraint is None or job.generator is not None or job.generated or job.is_cancelled:
            return False
        model = self._lm.model
        inputs = inputs_of([job.token_ids], self._pad, model.device)
        options = complete_options(model, len(job.token_ids), {"max_new_tokens": job.max_new_tokens})
        if not can_read_ahead(model, inputs, options):
            return False
        ids, speculation = inputs["input_ids"], self._lm.speculation
        own: dict[str, Any] = {"speculation": speculation, "brevity": job.brevity, "records": job.records}
        loop = Loop(model, ids, job.constraint, job.max_new_tokens, **own)
        for token_ids in loop.steps():
            assert isinstance(token_ids, list), "there is no guide"
            job.take_read(token_ids)
            if not job.is_wanted or self._wants_alone(len(job.generated)):
                break
        job.was_left_out |= bool(loop.run.tally.cut_short)
        if not job.is_over:
            job.stand()
            job.check_end()
        return True

    def _write_segment(self, jobs: list[Job]) -> None:
        """Write some texts by one call of ``generate``, until the segment is over.

        Raises:
            _SegmentOver: As soon as the segment is over.
        """
        model = self._lm.model
        inputs = inputs_of([(*job.token_ids, *job.generated) for job in jobs], self._pad, model.device)
        most = max(job.max_new_tokens - len(job.generated) for job in jobs)
        options = complete_options(model, inputs["input_ids"].shape[1], {"max_new_tokens": most})
        ends = [self._lm.vocabulary.size]  # no token: the segment ends by itself, and EOS may stand inside a text
        step = _Step(self._chooser, jobs, self._wants_end)
        model.generate(**inputs, **options, eos_token_id=ends, pad_token_id=self._pad, logits_processor=[step])

    def _wants_alone(self, steps: int) -> bool:
        """Whether a text that is written alone should join others, after this many tokens."""
        waiting = len(self._waiting)
        return self._closed or waiting > 1 or (waiting > 0 and steps >= _MOST_STEPS)

    def _wants_end(self, live: int, rows: int, steps: int) -> bool:
        """Whether a segment should end.

        Args:
            live: Rows that are not over.
            rows: All rows of the segment.
            steps: The number of its steps.
        """
        if self._closed or not live:
            return True
        if steps < _LEAST_STEPS:
            return False
        joining = min(len(self._waiting), self._most - live)
        if joining > 0 and (2 * joining >= live or steps >= _MOST_STEPS):
            return True
        return 2 * live <= rows


class _Step:
    """The logits processor of a segment: it chooses the tokens, and ends ``generate`` when the segment is over."""

    def __init__(self, chooser: Chooser, jobs: Sequence[Job], wants_end: Callable[[int, int, int], bool]) -> None:
        self._chooser = chooser
        self._jobs = jobs
        self._wants_end = wants_end
        self._steps = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores float [B, V] that leave one token for each row.

        Raises:
            _SegmentOver: The segment is over.
        """
        del input_ids  # each job knows its own
        chosen = self._chooser.scores_of_choice(self._jobs, scores)
        self._steps += 1
        live = sum(job.is_wanted for job in self._jobs)
        if self._wants_end(live, len(self._jobs), self._steps):
            raise _SegmentOver
        return chosen
