"""`schemagen eval`: a table of how many answers are right, with the constraint and without it."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from schemagen.cli.console import is_plain, notes, output, show_text
from schemagen.cli.generation import load_model
from schemagen.cli.specs import read_text
from schemagen.evaluation import evaluate, read_examples
from schemagen.lm.progress import ProgressBar
from schemagen.prompts.messages import with_system

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from schemagen.evaluation import Evaluation

#: The columns of the table: heading, key of a summary, and how its value is written.
_COLUMNS = (
    ("valid", "valid", "share"),
    ("fields right", "fields", "share"),
    ("all right", "exact", "share"),
    ("masked mass", "masked_mass", "number"),
    ("distortion", "distortion", "number"),
    ("tokens/s", "tokens_per_second", "rate"),
    ("s per answer", "seconds_per_answer", "seconds"),
    ("first, s", "first_seconds", "seconds"),
)

#: With fewer rows, the table and the sentence below it show no intervals: they would say more than the rows do.
_LEAST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """The settings of an evaluation.

    Attributes:
        prompt_column: The column of the prompts.
        count: Use only this many rows, from the first; None for all.
        ignored: Fields that do not count.
        system: A system message before each prompt; None for none.
        unconstrained: Whether to generate without the constraint, too.
        options: Options of the model.
    """

    prompt_column: str = "prompt"
    count: int | None = None
    ignored: Sequence[str] = ()
    system: str | None = None
    unconstrained: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


def run_evaluation(target: Any, source: str, asked: Asked, *, model: str | None, record: Path | None) -> None:
    """Answer the rows of a file and print the table; write all answers if there is a record.

    Raises:
        typer.BadParameter: The file cannot be read, or the record cannot be written.
        OptionError: A row of the file is invalid.
    """
    content = sys.stdin.read() if source == "-" else read_text(Path(source))
    examples = read_examples(content, target, kind=_kind(source), prompt=asked.prompt_column)[: asked.count]
    if asked.system is not None:
        examples = [replace(each, prompt=with_system(each.prompt, asked.system)) for each in examples]
    lm = load_model(model)
    with ProgressBar(len(examples), wanted=None) as bar:
        found = evaluate(
            lm,
            target,
            examples,
            unconstrained=asked.unconstrained,
            ignored=asked.ignored,
            told=lambda: bar.advance(failed=False),
            **asked.options,
        )
    if record is not None:
        _write(found, record)
    if is_plain(sys.stdout):
        show_text(json.dumps({name: way.summary() for name, way in found.ways.items()}, indent=1))
    else:
        output().print(_table(found))
    notes().print(_said(found), style="dim", highlight=False, soft_wrap=True)


def _kind(source: str) -> str:
    kinds = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", "": "jsonl"}
    found = kinds.get(Path(source).suffix.lower())
    if found is None:
        raise typer.BadParameter(f"{source!r} is neither .csv nor .jsonl", param_hint="INPUT")
    return found


def _table(found: Evaluation) -> Table:
    from rich.table import Table

    table = Table("", *(name for name, _, _ in _COLUMNS))
    for name, way in found.ways.items():
        summary = way.summary()
        intervals = way.count >= _LEAST_ROWS
        table.add_row(name, *(_cell(summary[key], kind, intervals=intervals) for _, key, kind in _COLUMNS))
    return table


def _cell(value: Any, kind: str, *, intervals: bool) -> str:
    if value is None:
        return ""
    if kind == "share":
        share, low, high = value
        return f"{share:.1%} ({low:.0%} to {high:.0%})" if intervals else f"{share:.1%}"
    return f"{value:.2f}" if kind in ("seconds", "number") else f"{value:.1f}"


def _said(found: Evaluation) -> str:
    rows = len(found.examples)
    enough = rows >= _LEAST_ROWS
    intervals = "intervals are those of 95 %" if enough else f"no intervals for fewer than {_LEAST_ROWS} rows"
    difference = found.difference()
    if difference is None:
        return f"{rows} rows; {intervals}"
    mean, low, high = difference
    share = f"with the constraint {mean:+.1%} of the fields are right"
    if not enough:
        return f"{rows} rows, each asked both ways: {share}: too few rows to compare; {intervals}"
    # Equal differences have an interval without width, which says nothing about other rows.
    spread = ", the same in each row" if math.isclose(low, high, abs_tol=1e-9) else f" ({low:+.1%} to {high:+.1%})"
    helps = "it helps" if mean > 0 else "it hurts"
    meant = "no difference that this many rows show" if low <= 0 <= high else helps
    return f"{rows} rows, each asked both ways: {share}{spread}: {meant}; {intervals}"


def _write(found: Evaluation, record: Path) -> None:
    lines = []
    for number, example in enumerate(found.examples):
        answers = {
            name: {
                "text": way.answers[number].text,
                "valid": way.answers[number].valid,
                "wrong": [path for path, right in way.right[number].items() if not right],
            }
            for name, way in found.ways.items()
        }
        row = {"prompt": example.prompt, "expected": example.expected, **answers}
        lines.append(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace").decode())
    try:
        record.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot write {str(record)!r}: {error}", param_hint="--output") from error
