"""Examples with right answers, from CSV and JSON Lines.

A row has a prompt, and either one column ``expected`` with the answer (JSON, or a text for other specs), or a column for each
field of it. A column ``a.b`` is the field ``b`` of the object ``a``. The cells of CSV are null if they are empty or ``null``,
texts if the spec says so, JSON if they are numbers, booleans, objects or arrays, and texts otherwise.

A table of `schemagen batch` is read as it was written.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.evaluation.measure import Example
from schemagen.rows.cells import CellTable
from schemagen.rows.formats import CSV_CONFIDENCE, CSV_FIRST, CSV_LAST
from schemagen.rows.row import csv_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXPECTED = "expected"
#: Columns that are not part of the answer.
_BESIDE = {"id", "index"}
#: Columns of a table of `schemagen batch`.
_OF_BATCH = {*CSV_FIRST, *CSV_LAST}


def read_examples(text: str, spec: Any, *, kind: str, prompt: str = "prompt") -> list[Example]:
    """Return the examples of a file.

    Args:
        text: The content of the file.
        spec: The spec of the answers, which tells texts from numbers.
        kind: "csv", or "jsonl" for JSON Lines.
        prompt: The column, or key, of the prompts.

    Raises:
        OptionError: The file has no rows, a row has no prompt or no expected answer, or a line is not JSON.
    """
    rows = [*(_csv_rows(text) if kind == "csv" else _json_rows(text))]
    beside = {*_OF_BATCH, "prompt"}
    if rows and (*rows[0][1],)[-2:] == CSV_CONFIDENCE:  # of a run with --confidence
        beside |= {*CSV_CONFIDENCE}
    table = CellTable(spec, beside)
    found = [_example(row, prompt, line, table) for line, row in rows]
    if not found:
        raise OptionError("the file has no rows", fix="give one row for each prompt, with the expected answer")
    return found


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv_reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        names: list[str] = next(reader, [])
        for cells in filter(None, reader):
            if len(cells) != len(names):
                raise OptionError(
                    f"the number of cells in line {reader.line_num} is not that of the columns",
                    at=f"line {reader.line_num}",
                    fix="put texts with commas or line breaks into quotes",
                )
            yield reader.line_num, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise OptionError(
            f"line {reader.line_num} is not CSV: {error}", fix="write it with a library for CSV"
        ) from error


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not content.strip():
            continue
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise OptionError(
                f"line {line} is not JSON: {error}", at=f"line {line}", fix="write one object a line"
            ) from error
        if not isinstance(found, dict):
            raise OptionError(
                f"line {line} is not an object", at=f"line {line}", fix='write {"prompt": ..., "expected": ...}'
            )
        yield line, found


def _example(row: Mapping[str, Any], prompt_column: str, line: int, table: CellTable) -> Example:
    prompt = row.get(prompt_column)
    if not prompt or not isinstance(prompt, (str, list)):
        raise OptionError(
            f"line {line} has no prompt",
            at=f"line {line}",
            why=f"the prompt is {prompt_column!r}, and the columns are {', '.join(map(repr, row))}",
            fix="name the column of the prompts with --prompt-column",
        )
    is_csv = all(isinstance(value, str) for value in row.values())
    if is_csv and row.keys() >= _OF_BATCH:
        return Example(prompt, _of_batch(row, line, table))
    if _EXPECTED in row:
        return Example(prompt, _cell(row[_EXPECTED], is_text=table.is_text()) if is_csv else row[_EXPECTED])
    fields = {key: value for key, value in row.items() if key not in _BESIDE and key != prompt_column}
    if not fields:
        raise OptionError(
            f"line {line} has a prompt and no expected answer",
            at=f"line {line}",
            fix="add a column 'expected' with the right answer as JSON, or a column for each field of it",
        )
    if is_csv:
        fields = {key: _cell(value, is_text=table.is_text(*key.split("."))) for key, value in fields.items()}
    return Example(prompt, _nested(fields))


def _of_batch(row: Mapping[str, str], line: int, table: CellTable) -> Any:
    """Return the value of a row of a table of `schemagen batch`; a field that was left out is null."""
    missing = [name for name in table.names if name not in row]
    if missing:
        raise OptionError(
            f"the table has no column {missing[0]!r}",
            why="it is a table of `schemagen batch`, and SPEC has this field",
            fix="give the SPEC of that run",
        )
    if row["error"]:
        raise OptionError(
            f"line {line} has no right answer, but the error {row['error']!r}",
            at=f"line {line}",
            fix="write the right values into the row and empty its cell 'error', or remove the row",
        )
    return json.loads(table.read(iter([row[name] for name in table.names]), "null"))


def _cell(text: str, *, is_text: bool) -> Any:
    stripped = text.strip()
    if stripped in ("", "null"):
        return None
    if is_text:
        return text
    if stripped.lower() in ("true", "false"):  # spreadsheets write TRUE
        return stripped.lower() == "true"
    if stripped[0] in "{[-0123456789":
        try:
            return json.loads(stripped)
        except (ValueError, RecursionError):
            return text
    return text


def _nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Put fields with dots in their names into objects."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        *folders, last = name.split(".")
        place = found
        for folder in folders:
            place = place.setdefault(folder, {})
            if not isinstance(place, dict):
                raise OptionError(
                    f"the columns {folder!r} and {name!r}", why="a field is a value or an object", fix="drop one"
                )
        place[last] = value
    return found
