"""`schemagen batch`: JSON Lines in, JSON Lines out, and an interrupted run goes on where it was.

Rows are generated in windows; the lines of a window are written together, in the order of the input. A run that is
interrupted therefore loses one window, and the half line that it may leave is dropped when it is resumed. What the values were
made with is kept beside the output (`schemagen.cli.batch_record`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.text import Text

from schemagen.cli.console import notes
from schemagen.cli.generation import load_model
from schemagen.cli.specs import read_text
from schemagen.errors import GenerationError
from schemagen.generation import Failure, Generation
from schemagen.lm.batch import Batch, generate_batch
from schemagen.lm.progress import ProgressBar
from schemagen.options import BatchOptions, names_of
from schemagen.request.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from schemagen import LanguageModel
    from schemagen.cli.batch_record import BatchRecord

#: Batches per window: enough rows to sort by length, few enough to lose.
_WINDOW = 8
#: Rows at a time where none are stated, as far as writing the output is concerned.
_ROWS = 8


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the input.

    Attributes:
        index: Which one, from 0; empty lines do not count.
        prompt: A text or a chat; None if the line holds neither.
        id: What the line calls itself; None if it does not.
        line: Of the input, from 1, empty ones counted.
        refusal: Why the line is no JSON; None if it is.
    """

    index: int
    prompt: Any
    id: Any = None
    line: int = 0
    refusal: str | None = None


def run_batch(
    target: Any,
    source: str,
    *,
    output: Path | None,
    record: BatchRecord,
    resume: bool,
    model: str | None,
    options: BatchOptions,
) -> bool:
    """Generate a value for every line of the input; return whether there is one for each.

    Raises:
        typer.BadParameter: The input cannot be read, or the output is there and is not to be resumed, or is of another input,
            type, model or options.
        SchemaError: The type cannot be compiled.
    """
    rows = list(read_rows(sys.stdin.read() if source == "-" else read_text(Path(source))))
    kept = _kept(output, rows, resume=resume)
    if output is not None:
        prompts = [row.prompt for row in rows]
        if kept:
            record.check(output, prompts)
        _rewrite(output, kept.values(), record.about(prompts))
    todo = [row for row in rows if row.index not in kept]
    batch = _batch(load_model(model), options)
    failed = 0
    with ProgressBar(len(todo), wanted=None) as bar:
        size = (batch.batch_size or _ROWS) * _WINDOW
        for start in range(0, len(todo), size):
            window = todo[start : start + size]
            found = _outcomes(batch, target, window, seed=record.seed)
            _append(output, [line_of(row, outcome) for row, outcome in zip(window, found, strict=True)])
            for outcome in found:
                failed += isinstance(outcome, Failure)
                bar.advance(failed=isinstance(outcome, Failure))
    kept_note = f", {len(kept)} kept from before" if kept else ""
    notes().print(Text(f"{len(todo) - failed} values, {failed} failed{kept_note}", style="dim"))
    return not failed


def _batch(lm: LanguageModel, options: BatchOptions) -> Batch:
    """Return what the rows have in common."""
    given = {name: value for name, value in options.items() if name != "batch_size"}
    return Batch(Settings.of(lm, given, names_of(BatchOptions)), batch_size=options.get("batch_size"))


def _outcomes(batch: Batch, target: Any, rows: Sequence[Row], *, seed: int | None) -> list[Generation[Any] | Failure]:
    """Generate the rows of a window; a line without a prompt has failed before."""
    asked = [row for row in rows if row.prompt is not None]
    prompts = [row.prompt for row in asked]
    seeds = None if seed is None else [seed + row.index for row in asked]
    generated = generate_batch(batch, prompts, target, seed=seeds, progress=False)
    found = {row.index: outcome for row, outcome in zip(asked, generated, strict=True)}
    return [found[row.index] if row.index in found else _without_prompt(row) for row in rows]


def _without_prompt(row: Row) -> Failure:
    where, fix = f"line {row.line} (row {row.index})", 'a text, a chat, or an object with "prompt"'
    if row.refusal is None:
        error = GenerationError(f"line {row.line} has no prompt", at=where, fix=f"give {fix}", code="empty-prompt")
    else:
        error = GenerationError(
            f"line {row.line} is not JSON: {row.refusal}",
            at=where,
            why="each line of the input is a JSON value of its own",
            fix=f"write {fix}, as json.dumps does",
            code="invalid-line",
        )
    return Failure(row.index, None, error)


def read_rows(text: str) -> Iterator[Row]:
    """Yield the rows of a JSON Lines text: texts, chats, or objects with ``prompt`` and perhaps ``id``.

    A line that is none of these is a row without a prompt, which fails by itself.
    """
    numbered = enumerate(text.removeprefix("\ufeff").split("\n"), start=1)
    lines = [(number, line) for number, line in numbered if line.strip()]
    for index, (number, line) in enumerate(lines):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or nested very deep
            told = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
            yield Row(index, None, line=number, refusal=told)
            continue
        if isinstance(found, dict):
            prompt = found.get("prompt", found.get("messages"))
            yield Row(index, _prompt(prompt), found.get("id"), line=number)
        else:
            yield Row(index, _prompt(found), line=number)


def _prompt(found: Any) -> Any:
    is_chat = isinstance(found, list) and all(isinstance(message, dict) for message in found)
    return found if isinstance(found, str) or is_chat else None


def line_of(row: Row, outcome: Generation[Any] | Failure) -> str:
    """Return the output line of a row: its value exactly as it was generated, or its error."""
    head = _json({"index": row.index} | ({} if row.id is None else {"id": row.id}))[:-1]
    if isinstance(outcome, Generation):
        # Line breaks stand between the parts of a JSON text, never within one.
        return f'{head}, "value": {outcome.text.translate({10: " ", 13: " "})}}}'
    error = outcome.error
    parts = {"type": type(error).__name__, "code": error.code, "message": error.fact, "text": outcome.text}
    return f'{head}, "error": {_json(parts)}}}'


def _json(value: Any) -> str:
    """Return JSON that UTF-8 can hold: half of a surrogate pair stays the escape that it came as."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _kept(output: Path | None, rows: Sequence[Row], *, resume: bool) -> dict[int, str]:
    """Return the lines of the output that are done, by their row; a line that was cut off and failures are not."""
    if output is None or not output.exists():
        return {}
    if not resume:
        raise typer.BadParameter(f"{str(output)!r} is there already: --resume goes on with it", param_hint="--output")
    ids = {row.index: row.id for row in rows}
    kept = {}
    for line in read_text(output).split("\n"):
        done = _parsed(line)
        if not isinstance(done, dict) or "value" not in done:
            continue
        index = done.get("index")
        if not isinstance(index, int) or index not in ids or done.get("id") != ids[index]:
            raise typer.BadParameter(
                f"{str(output)!r} has row {index!r}, which is not of this input", param_hint="--output"
            )
        kept[index] = line
    return kept


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _rewrite(output: Path, lines: Iterable[str], record: BatchRecord) -> None:
    """Replace the output at once by the lines that stay, after the record of what they were made with."""
    beside = output.with_name(output.name + ".part")
    try:
        record.write(output)
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        beside.replace(output)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {str(output)!r}: {error}", param_hint="--output") from error


def _append(output: Path | None, lines: Sequence[str]) -> None:
    """Write the lines of a window."""
    if output is None:
        _write(sys.stdout, lines)
        return
    with output.open("a", encoding="utf-8") as stream:
        _write(stream, lines)


def _write(stream: TextIO, lines: Sequence[str]) -> None:
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()
