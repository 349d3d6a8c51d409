"""Examples with right answers, from CSV and JSON Lines.

A row has a prompt, and either one column ``expected`` with the answer (JSON, or a text for other specs), or a column for each
field of it. A column ``a.b`` is the field ``b`` of the object ``a``. The cells of CSV are read as JSON if they are
numbers, booleans, null, objects or arrays, as null if they are empty, and as texts otherwise.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.evaluation.measure import Example

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXPECTED = "expected"
#: Columns that are not part of the answer.
_BESIDE = {"id", "index"}
#: Columns of a table of `schemagen batch`, which has fields with a name of its own columns as "value.NAME".
_OF_BATCH = {"index", "id", "error", "error_message", "error_text", "finish_reason"}


def read_examples(text: str, *, kind: str, prompt: str = "prompt") -> list[Example]:
    """Return the examples of a file.

    Raises:
        OptionError: The file has no rows, a row has no prompt or no expected answer, or a line is not JSON.
    """
    rows = _csv_rows(text) if kind == "csv" else _json_rows(text)
    found = [_example(row, prompt, line) for line, row in rows]
    if not found:
        raise OptionError("the file has no rows", fix="give one row for each prompt, with the expected answer")
    return found


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise OptionError(
                    f"the number of cells in line {reader.line_num} is not that of the columns",
                    at=f"line {reader.line_num}",
                    fix="put texts with commas or line breaks into quotes",
                )
            yield reader.line_num, dict(row)
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


def _example(row: Mapping[str, Any], prompt_column: str, line: int) -> Example:
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
        answer = {key.removeprefix("value."): row[key] for key in row if key not in {*_OF_BATCH, prompt_column}}
        value = {key: _cell(value) for key, value in answer.items()}
        return Example(prompt, value["value"] if [*value] == ["value"] else _nested(value))
    if _EXPECTED in row:
        return Example(prompt, _cell(row[_EXPECTED]) if is_csv else row[_EXPECTED])
    fields = {key: value for key, value in row.items() if key not in _BESIDE and key != prompt_column}
    if not fields:
        raise OptionError(
            f"line {line} has a prompt and no expected answer",
            at=f"line {line}",
            fix="add a column 'expected' with the right answer as JSON, or a column for each field of it",
        )
    return Example(prompt, _nested({key: _cell(value) if is_csv else value for key, value in fields.items()}))


def _cell(text: Any) -> Any:
    stripped = str(text).strip()
    if not stripped:
        return None
    if stripped[0] in "{[-0123456789" or stripped in ("true", "false", "null"):
        try:
            return json.loads(stripped)
        except ValueError:
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
