"""`schemagen batch`: from the arguments to a run of `schemagen.rows`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from schemagen.cli.console import notes
from schemagen.cli.generation import load_model
from schemagen.errors import OptionError
from schemagen.lm.load import device_of_rank
from schemagen.lm.progress import speed_of, time_of
from schemagen.rows import (
    Columns,
    Output,
    RowsRun,
    RunKey,
    Sample,
    Shard,
    Source,
    StandardOutput,
    Summary,
    answers_of,
    format_of,
    is_text,
    open_source,
    value_check,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schemagen.options import BatchOptions


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """The arguments of `schemagen batch`.

    Attributes:
        spec: SPEC as it was written.
        target: The type or schema that it names.
        source: INPUT.
        output: A file; None for standard output.
        failures: A file for the rows without a value.
        resume: Whether the output may exist.
        shard: SHARD as it was written.
        columns: The columns of the input to read, or the template that is filled with them.
        system: A system message before each prompt; None for none.
        sample: Work on so many rows only, drawn at random, and write their prompts, too; None for all rows.
        model: Name or folder; None for the bundled model.
        seed: The seed of row 0.
        options: Options of the model.
    """

    spec: str
    target: Any
    source: str
    output: Path | None
    failures: Path | None
    resume: bool
    shard: str | None
    columns: Columns
    system: str | None
    sample: int | None
    model: str | None
    seed: int | None
    options: BatchOptions

    def run(self) -> bool:
        """Generate a value for every row of the input; return whether there is one for each.

        Raises:
            typer.BadParameter: The input cannot be read; the output exists and is not to be resumed, or belongs to another
                input, type, model or options.
            SchemaError: The type cannot be compiled.
        """
        sizes: set[int] = set()
        with _wrong_usage():
            shard = Shard.parse(self.shard)
            source = self._source(shard)
            output = self.output and self.output.with_stem(self.output.stem + shard.suffix)
            failures = self.failures and self.failures.with_stem(self.failures.stem + shard.suffix)
            if failures is not None and output is None:
                raise OptionError("--failures without --output", why="values go to standard output", fix="name a file")
            sink = StandardOutput() if output is None else self._sink(output, failures, shard)
            device = device_of_rank() if self.shard == "auto" else None
            run = RowsRun(
                source,
                sink,
                lambda: answers_of(
                    load_model(self.model, device),
                    self.target,
                    self.options,
                    self.seed,
                    system=self.system,
                    told=sizes.add,
                ),
                shard,
                batch_size=self.options.get("batch_size"),
                text=is_text(self.target),
                with_failures=failures is not None,
            )
            summary = run.run(output)
        notes().print(Text(_said(summary, max(sizes, default=0)), style="dim"), soft_wrap=True)
        return not summary.failed

    def _source(self, shard: Shard) -> Source:
        """Return the rows of the input, or a sample of them.

        Raises:
            OptionError: The input cannot be read, or a sample cannot be drawn or written.
        """
        if self.columns.template is not None and self.columns.prompt is not None:
            raise OptionError("--template and --prompt-column", why="each gives the prompts", fix="leave one out")
        if self.sample is None:
            return open_source(self.source, self.columns, again=self.resume)
        if shard.of > 1 or self.output is None or self.output.suffix.lower() != ".csv":
            raise OptionError(
                "--sample writes a table for one person to check", fix="give --output FILE.csv, and no --shard"
            )
        return Sample(open_source(self.source, self.columns, again=self.resume), self.sample)

    def _sink(self, output: Path, failures: Path | None, shard: Shard) -> Output:
        key = RunKey.of(
            self.spec,
            self.target,
            model=self.model,
            max_new_tokens=self.options.get("max_new_tokens"),
            draft=self.options.get("draft"),
            seed=self.seed,
            shard=f"{shard.number}/{shard.of}" if shard.of > 1 else None,
            prompt_column=self.columns.prompt,
            template=self.columns.template and self.columns.template.text,
            system=self.system,
            sample=self.sample,
            id_column=self.columns.id,
            failures=failures and str(failures),
            confidence=self.options.get("confidence"),
        )
        accepts = value_check(self.target) if self.resume and output.exists() else None
        sure = self.options.get("confidence", False)
        shape = format_of(output, self.target, prompts=self.sample is not None, confidence=sure)
        return Output(output, shape, key, failures=failures, resume=self.resume, accepts=accepts)


def _said(summary: Summary, most: int) -> str:
    """Return the counts of a run, its speed, and the most rows that were in the model at a time."""
    kept = f", {summary.kept} kept from before" if summary.kept else ""
    counts = f"{summary.values} values, {summary.failed} failed{kept}"
    if not most:
        return counts
    speed = speed_of(summary.values + summary.failed, summary.seconds)
    return f"{counts}; {time_of(summary.seconds)} at {speed}, up to {most} row{'s' * (most > 1)} at a time"


@contextmanager
def _wrong_usage() -> Iterator[None]:
    """Turn invalid arguments into wrong usage, which ends with status 2."""
    try:
        yield
    except OptionError as error:
        parts = [error.fact, *(part for part in (error.why, error.fix) if part)]
        raise typer.BadParameter(". ".join(parts)) from error
