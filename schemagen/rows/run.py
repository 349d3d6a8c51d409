"""A run: rows of a source, a window at a time, to an output that can be gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.errors import OptionError
from schemagen.lm.batch import Batch, generate_batch
from schemagen.lm.progress import ProgressBar
from schemagen.lm.windows import WindowSize
from schemagen.options import BatchOptions, names_of
from schemagen.request.settings import Settings
from schemagen.rows.output import Window
from schemagen.rows.record import made_with_something_else
from schemagen.rows.row import PromptDigest, Result, Row, Shard, json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from schemagen.generation import Failure, Generation
    from schemagen.lm.language_model import LanguageModel
    from schemagen.rows.output import Sink
    from schemagen.rows.sources import Source

#: From rows to what came of them.
Answer: TypeAlias = Callable[[Sequence[Row]], "list[Generation[Any] | Failure]"]

#: Rows that need no generation and are written together.
_KEPT_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of a run.

    Attributes:
        values: Rows that have a value now and had none before.
        failed: Rows without a value.
        kept: Values from before.
    """

    values: int
    failed: int
    kept: int


def answers_of(
    lm: LanguageModel, spec: Any, options: Mapping[str, Any] | None = None, seed: int | None = None
) -> Answer:
    """Return what generates the rows of a window.

    Args:
        lm: The model.
        spec: Of the values; compiled here.
        options: As for `LanguageModel.run_batch`.
        seed: Of row 0; None: greedy.

    Raises:
        SchemaError: The spec cannot be compiled.
        OptionError: An option cannot be meant.
    """
    given = dict(options or {})
    size = given.pop("batch_size", None)
    batch = Batch(Settings.of(lm, given, names_of(BatchOptions)), batch_size=size)
    grammar = batch.form.grammar(lm, spec)

    def answer(rows: Sequence[Row]) -> list[Generation[Any] | Failure]:
        asked = [row for row in rows if row.prompt is not None]
        prompts = [row.prompt for row in asked]
        seeds = None if seed is None else [seed + row.index for row in asked]
        generated = generate_batch(batch, prompts, grammar, seed=seeds, progress=False) if asked else []
        found = {row.index: outcome for row, outcome in zip(asked, generated, strict=True)}
        return [found[row.index] if row.index in found else row.failure() for row in rows]

    return answer


@dataclass(frozen=True, slots=True)
class RowsRun:
    """Values for all rows of a shard.

    Attributes:
        source: Where the rows come from.
        sink: Where the results go.
        start: Returns what generates; called once, if there is anything to do.
        shard: Which rows.
        batch_size: Rows that the model works on at a time; None: not stated.
        window: Rows that are written together; None: as `WindowSize`.
        text: Whether what is generated is no JSON.
        with_failures: Whether lines for a file of failures are made.
        progress: As for `LanguageModel.batch`.
    """

    source: Source
    sink: Sink
    start: Callable[[], Answer]
    shard: Shard = field(default_factory=Shard)
    batch_size: int | None = None
    window: int | None = None
    text: bool = False
    with_failures: bool = False
    progress: bool | None = None

    def run(self, output: Path | None = None) -> Summary:
        """Do what is missing; return what came of it.

        Args:
            output: What the output is called, for messages.

        Raises:
            OptionError: The input cannot be read, the output not be written, or the output is of other prompts.
            SchemaError: The spec cannot be compiled.

        Cost: memory for one window, whatever the number of rows is.
        """
        rows, digest = self.source.rows(self.shard), PromptDigest()
        for wanted, sha256 in self.sink.checkpoints:
            _read(rows, wanted, digest)
            if (digest.rows, digest.text()) != (wanted, sha256):
                assert output is not None, "only files are gone on with"
                raise made_with_something_else(output, f"the first {wanted} prompts of the input have changed")
        following = next(rows, None)
        complete = False
        try:
            if not self.sink.open(more=following is not None):
                return Summary(0, self.sink.progress.failed, self.sink.progress.rows)
            done = self.sink.progress.rows
            if done == digest.rows:
                rows = chain([] if following is None else [following], rows)
            else:
                rows, digest = self.source.rows(self.shard), PromptDigest()
                _read(rows, done, digest)
            summary = self._generate(rows, digest)
            complete = True
        finally:
            self.sink.close(complete=complete)
        return summary

    def _generate(self, rows: Iterator[Row], digest: PromptDigest) -> Summary:
        """Write all rows, a window at a time."""
        begun = self.sink.progress
        kept = _Kept(self.sink.kept())
        size = WindowSize(self.batch_size, self.window)
        answer: Answer | None = None
        new = 0
        with self._bar() as bar:
            while window := kept.beside(rows, size.rows):
                todo = [row for row, old in window if old is None]
                outcomes: dict[int, Result] = {}
                if todo:
                    answer = answer or self.start()
                    began = time.monotonic()
                    outcomes = {result.index: result for result in self._results(answer, todo)}
                    size.took(time.monotonic() - began)
                for row, _ in window:
                    digest.add(row)
                results = [old or outcomes[row.index] for row, old in window]
                self.sink.write(Window(results, digest.text(), self._failure_lines(todo, outcomes)))
                failed = sum(result.value is None for result in outcomes.values())
                new += len(todo) - failed
                bar.advance(len(todo), failed=failed)
        ended = self.sink.progress
        return Summary(new, ended.failed, max(ended.rows, begun.rows) - ended.failed - new)

    def _results(self, answer: Answer, rows: Sequence[Row]) -> list[Result]:
        """Return the results of rows that were generated, as the output can hold them."""
        outcomes = answer(rows)
        found = [Result.of(row, outcome, text=self.text) for row, outcome in zip(rows, outcomes, strict=True)]
        return self.sink.checked(found)

    def _failure_lines(self, rows: Sequence[Row], results: Mapping[int, Result]) -> bytes:
        """Return the lines of rows without a value: what failed and with what, as an input that can be given again."""
        if not self.with_failures:
            return b""
        failed = [(row, results[row.index].error) for row in rows if results[row.index].value is None]
        told = [{"index": row.index, "id": row.id, "prompt": row.prompt, "error": error} for row, error in failed]
        return "".join(f"{json_text(each)}\n" for each in told).encode()

    def _bar(self) -> ProgressBar:
        """Return a progress bar; rows are counted only where it may be seen."""
        bar = ProgressBar(None, wanted=self.progress)
        if bar.is_silent:
            return bar
        total, progress = self.source.count(), self.sink.progress
        before = progress.before
        kept = progress.rows if before is None else max(progress.rows, before.rows - before.failed)
        return ProgressBar(None if total is None else self.shard.rows_of(total), wanted=self.progress, kept=kept)


class _Kept:
    """Values that are taken over, found by their row: both come in the order of the input."""

    def __init__(self, results: Iterator[Result]) -> None:
        self._results = results
        self._next = next(results, None)

    def beside(self, rows: Iterator[Row], most: int) -> list[tuple[Row, Result | None]]:
        """Return the next rows, each with its value if it has one, and at most so many without."""
        found: list[tuple[Row, Result | None]] = []
        missing = 0
        for row in islice(rows, _KEPT_ROWS):
            old = self._of(row)
            found.append((row, old))
            missing += old is None
            if missing == most:
                break
        return found

    def _of(self, row: Row) -> Result | None:
        """Return the value of a row.

        Raises:
            OptionError: The output has it under another id.
        """
        while self._next is not None and self._next.index < row.index:
            self._next = next(self._results, None)
        found = self._next
        if found is None or found.index != row.index or found.value is None:
            return None
        if found.id not in (row.id, "" if row.id is None else str(row.id), json_text(row.id)):
            raise OptionError(
                f"the output has row {row.index} with the id {found.id!r}, which is not of this input",
                why=f"the id of that row is {row.id!r}",
                fix="go on with the same input, or choose another --output",
            )
        return found


def _read(rows: Iterator[Row], wanted: int, digest: PromptDigest) -> None:
    """Read rows until so many are in a digest, or there are no more."""
    for row in islice(rows, wanted - digest.rows):
        digest.add(row)
