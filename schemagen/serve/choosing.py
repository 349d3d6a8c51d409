"""One step for independent rows: each is masked by its own grammar, and sampled in its own way.

The token of every row is chosen here, and all other scores become ``-inf``, so that any loop that runs the model (the
``generate`` of transformers, or its continuous batching) takes this token. A row that fails for any reason ends with
its error, and the others continue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from schemagen.decode.broken_logits import logits_error
from schemagen.decode.logits_processor import BatchProcessor
from schemagen.decode.row_sampling import RowSampler, warpers_of
from schemagen.errors import MatcherError
from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.serve.jobs import together

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from schemagen.decode.sequences import Cursor
    from schemagen.serve.jobs import Job, Sampling

_LOW = float("-inf")


class Chooser:
    """Chooses the next token of each row, and gives it to the row's job.

    Args:
        device: The device of the model, as text: some warpers keep tensors there.
        pad: The token for rows that are over.
    """

    def __init__(self, device: str, pad: int) -> None:
        self._device = device
        self._pad = pad

    def scores_of_choice(self, jobs: Sequence[Job], scores: torch.Tensor) -> torch.Tensor:
        """Return scores that are 0 at the chosen token of each row, and ``-inf`` elsewhere; arguments as for `choose`."""
        chosen = torch.tensor(self.choose(jobs, scores), device=scores.device).unsqueeze(-1)
        return torch.full_like(scores, _LOW).scatter_(1, chosen, 0.0)

    def choose(self, jobs: Sequence[Job], scores: torch.Tensor) -> list[int]:
        """Return the chosen token of each row.

        Args:
            jobs: One per row; those that are over or cancelled get padding.
            scores: float [B, V].

        Cost: as `LogitsProcessor.__call__`; one more softmax and sort over the rows that are sampled, for each way of
            sampling.
        """
        live = [row for row, job in enumerate(jobs) if job.is_wanted]
        masked = self._masked(jobs, scores, live)
        self._refuse_broken(jobs, masked, live)
        tokens = self._tokens(jobs, masked, live)
        with together(jobs):
            for row in live:
                job = jobs[row]
                if not job.is_over:
                    try:
                        job.take(tokens[row])
                    except Exception as error:  # noqa: BLE001 - a limit of its grammar, or a fault of ours: it is one row's
                        job.fail(error)
        return tokens

    def _masked(self, jobs: Sequence[Job], scores: torch.Tensor, live: Sequence[int]) -> torch.Tensor:
        """Return the scores, with forbidden tokens at ``-inf``."""
        cursors: list[Cursor | None] = [None] * len(jobs)
        for row in live:
            cursors[row] = self._cursor(jobs[row])
        grammars: Any = [cursor and cursor.grammar for cursor in cursors]
        processor = BatchProcessor(grammars, pad_token_id=self._pad)
        try:
            masked = processor.mask(scores, cursors)
        except Exception as error:  # noqa: BLE001 - of one row; which one is found by asking each
            if not _fail_guilty(jobs, cursors):
                for row in live:
                    jobs[row].fail(error)
            return self._masked(jobs, scores, [row for row in live if not jobs[row].is_over])
        for row, broken in processor.errors.items():
            jobs[row].fail(broken)
        for row in live:
            cursor = cursors[row]
            jobs[row].was_left_out |= cursor is not None and processor.has_left_out(cursor.generated, row)
        return masked

    @staticmethod
    def _cursor(job: Job) -> Cursor | None:
        """Return the cursor of a job; on failure end the job and return None."""
        try:
            return job.stand()
        except Exception as error:  # noqa: BLE001 - a limit of its grammar
            job.fail(error)
            return None

    @staticmethod
    def _refuse_broken(jobs: Sequence[Job], masked: torch.Tensor, live: Sequence[int]) -> None:
        """End the rows without a grammar whose logits are broken; the mask has checked the others."""
        free = [row for row in live if jobs[row].constraint is None]
        if not free:
            return
        fine = torch.isfinite(masked[free].amax(dim=-1)).tolist()
        for row, is_fine in zip(free, fine, strict=True):
            if not is_fine:
                job = jobs[row]
                error = logits_error(masked[row], row=row, generated=job.generated, vocabulary=job.vocabulary)
                job.fail(error)

    def _tokens(self, jobs: Sequence[Job], masked: torch.Tensor, live: Sequence[int]) -> list[int]:
        """Return a token for each row; padding for those that are over."""
        tokens = [self._pad] * len(jobs)
        going = [row for row in live if not jobs[row].is_over]
        ways: dict[Sampling | None, list[int]] = {}
        for row in going:
            ways.setdefault(jobs[row].sampling, []).append(row)
        for sampling, rows in ways.items():
            chosen = masked[rows] if len(rows) < len(jobs) else masked
            if sampling is not None:
                chosen = self._sampler(sampling, [jobs[row] for row in rows])(_NO_IDS, chosen)
            for row, token in zip(rows, chosen.argmax(dim=-1).tolist(), strict=True):
                tokens[row] = token
        return tokens

    def _sampler(self, sampling: Sampling, jobs: Sequence[Job]) -> RowSampler:
        """Return the sampler for rows that share their options."""
        options = {
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
        }
        generators = [job.generator for job in jobs if job.generator is not None]
        return RowSampler(generators, warpers_of(options, self._device))


#: The warpers in use ignore the ids.
_NO_IDS = torch.empty((0, 0), dtype=torch.int64)


def _fail_guilty(jobs: Sequence[Job], cursors: Sequence[Cursor | None]) -> bool:
    """End the rows whose masks cannot be computed; return whether there was one."""
    found = False
    for job, cursor in zip(jobs, cursors, strict=True):
        if cursor is None or cursor.is_over or job.is_over:
            continue
        words = allocate_token_bitmask(1, cursor.grammar.vocabulary.size)
        try:
            cursor.matcher.fill_next_token_bitmask(words, 0)
            if not words.any():
                raise MatcherError("no token is allowed", code="dead-end")  # noqa: TRY301 - the row's, as any other
        except Exception as error:  # noqa: BLE001 - any error is this row's
            job.fail(error)
            found = True
    return found
