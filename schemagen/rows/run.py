"""A run: the rows of a source, one window at a time, to an output that can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.errors import OptionError
from schemagen.lm.batch import Batch, WindowSize, generate_batch
from schemagen.lm.progress import ProgressBar
from schemagen.options import BatchOptions, names_of
from schemagen.prompts.messages import with_system
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

#: From rows to their generations or failures.
Answer: TypeAlias = Callable[[Sequence[Row]], "list[Generation[Any] | Failure]"]

#: Rows that need no generation and are written together.
_KEPT_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a run.

    Attributes:
        values: Rows that got a value in this run.
        failed: Rows without a value.
        kept: Values of earlier runs.
        seconds: The time that generating took, without loading the model.
    """

    values: int
    failed: int
    kept: int
    seconds: float = field(default=0.0, repr=False, compare=False)


def answers_of(
    lm: LanguageModel,
    spec: Any,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    *,
    system: str | None = None,
    told: Callable[[int], object] | None = None,
) -> Answer:
    """Return the function that generates the rows of a window.

    Args:
        lm: The model.
        spec: The spec of the values; compiled here.
        options: As for `LanguageModel.run_batch`.
        seed: The seed of row 0; None for greedy search.
        system: A system message before every prompt that has none.
        told: As for `Batch`.

    Raises:
        SchemaError: The spec cannot be compiled.
        OptionError: An option is invalid.
    """
    given = dict(options or {})
    size = given.pop("batch_size", None)
    batch = Batch(Settings.of(lm, given, names_of(BatchOptions)), batch_size=size, told=told)
    grammar = batch.form.grammar(lm, spec)

    def answer(rows: Sequence[Row]) -> list[Generation[Any] | Failure]:
        asked = [row for row in rows if row.prompt is not None]
        prompts = [row.prompt if system is None else with_system(row.prompt, system) for row in asked]
        seeds = None if seed is None else [seed + row.index for row in asked]
        generated = generate_batch(batch, prompts, grammar, seed=seeds, progress=False) if asked else []
        found = {row.index: outcome for row, outcome in zip(asked, generated, strict=True)}
        return [found[row.index] if row.index in found else row.failure() for row in rows]

    return answer


@dataclass(frozen=True, slots=True)
class RowsRun:
    """Values for all rows of a shard.

    Attributes:
        source: The source of the rows.
        sink: The destination of the results.
        start: Returns the function that generates; called once, if there is anything to do.
        shard: The rows to work on.
        batch_size: Rows that the model works on at a time; None for the default.
        window: Rows that are written together; None for as many as take about twenty seconds (`WindowSize`).
        text: Whether the generated texts are not JSON.
        with_failures: Whether to make lines for a file of failures.
        progress: As for `LanguageModel.batch`.
        clock: Returns seconds.
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
    clock: Callable[[], float] = time.monotonic

    def run(self, output: Path | None = None) -> Summary:
        """Generate the missing rows; return the counts.

        Args:
            output: The output, for messages.

        Raises:
            OptionError: The input cannot be read, the output cannot be written, or it belongs to other prompts.
            SchemaError: The spec cannot be compiled.

        Cost: memory for one window, regardless of the number of rows.
        """
        rows, digest = self.source.rows(self.shard), PromptDigest()
        for wanted, sha256 in self.sink.checkpoints:
            _read(rows, wanted, digest)
            if (digest.rows, digest.text()) != (wanted, sha256):
                assert output is not None, "only files are resumed"
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
        begun = self.sink.progress
        kept = _Kept(self.sink.kept())
        size = WindowSize(self.batch_size, self.window)
        answer: Answer | None = None
        new, began = 0, self.clock()
        with self._bar() as bar:
            while window := kept.beside(rows, size.rows):
                todo = [row for row, old in window if old is None]
                outcomes: dict[int, Result] = {}
                if todo:
                    if answer is None:
                        answer = self.start()
                        began = self.clock()
                        bar.restart()
                    asked = self.clock()
                    outcomes = {result.index: result for result in self._results(answer, todo)}
                    size.took(self.clock() - asked)
                for row, _ in window:
                    digest.add(row)
                results = [old or outcomes[row.index] for row, old in window]
                self.sink.write(Window(results, digest.text(), self._failure_lines(todo, outcomes)))
                failed = sum(result.value is None for result in outcomes.values())
                new += len(todo) - failed
                bar.advance(len(todo), failed=failed)
        ended = self.sink.progress
        kept_rows = max(ended.rows, begun.rows) - ended.failed - new
        return Summary(new, ended.failed, kept_rows, self.clock() - began)

    def _results(self, answer: Answer, rows: Sequence[Row]) -> list[Result]:
        outcomes = answer(rows)
        found = [Result.of(row, outcome, text=self.text) for row, outcome in zip(rows, outcomes, strict=True)]
        return self.sink.checked(found)

    def _failure_lines(self, rows: Sequence[Row], results: Mapping[int, Result]) -> bytes:
        """Return the lines of rows without a value: prompt and error, in a form that can be an input again."""
        if not self.with_failures:
            return b""
        failed = [(row, results[row.index].error) for row in rows if results[row.index].value is None]
        lines = [{"index": row.index, "id": row.id, "prompt": row.prompt, "error": error} for row, error in failed]
        return "".join(f"{json_text(each)}\n" for each in lines).encode()

    def _bar(self) -> ProgressBar:
        """Return a progress bar; the rows are counted only if it may be visible."""
        bar = ProgressBar(None, wanted=self.progress, lines=True, clock=self.clock)
        if bar.is_silent:
            return bar
        total, progress = self.source.count(), self.sink.progress
        before = progress.before
        kept = progress.rows if before is None else max(progress.rows, before.rows - before.failed)
        total = None if total is None else self.shard.rows_of(total)
        return ProgressBar(total, wanted=self.progress, kept=kept, lines=True, clock=self.clock)


class _Kept:
    """Kept values, found by their row: both are in the order of the input."""

    def __init__(self, results: Iterator[Result]) -> None:
        self._results = results
        self._next = next(results, None)

    def beside(self, rows: Iterator[Row], most: int) -> list[tuple[Row, Result | None]]:
        """Return the next rows, each with its value if it has one, and at most `most` without."""
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
            OptionError: The output has the row under another id.
        """
        while self._next is not None and self._next.index < row.index:
            self._next = next(self._results, None)
        found = self._next
        if found is None or found.index != row.index or found.value is None:
            return None
        as_text = "" if row.id is None else str(row.id).encode("utf-8", "backslashreplace").decode()
        if found.id not in (row.id, as_text, json_text(row.id)):
            raise OptionError(
                f"the output has row {row.index} with the id {found.id!r}, which is not of this input",
                why=f"the id of that row is {row.id!r}",
                fix="go on with the same input, or choose another --output",
            )
        return found


def _read(rows: Iterator[Row], wanted: int, digest: PromptDigest) -> None:
    """Read rows until a number of them is in a digest, or none are left."""
    for row in islice(rows, wanted - digest.rows):
        digest.add(row)
