"""The formats of results: JSON Lines and CSV, written row by row, and Parquet, made of JSON Lines at the end."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from schemagen.errors import OptionError
from schemagen.rows.arrow import arrow, column_of, parquet, value_type
from schemagen.rows.cells import CellTable
from schemagen.rows.row import Result, Row, csv_reader, csv_table, json_text, unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

#: Rows of a row group.
_GROUP = 16384
#: Columns of a CSV before and after those of the values.
CSV_FIRST, CSV_LAST = ("index", "id"), ("error", "error_message", "error_text", "finish_reason")
#: Its columns of confidence, after all others.
CSV_CONFIDENCE = ("confidence", "least_confidence")
#: Longer numbers are no index that this program has written.
_INDEX_DIGITS = 19
_ERROR = ("type", "code", "message", "text")


class Format(ABC):
    """A file format of results.

    Attributes:
        appends: Whether rows can be added to a file; otherwise it is made of JSON Lines at the end.
    """

    appends = True

    def checked(self, results: list[Result]) -> list[Result]:
        """Return the results; values that the format cannot hold have become failures."""
        return results

    @abstractmethod
    def encode(self, results: Sequence[Result], *, first: bool) -> bytes:
        """Return the bytes of some rows; `first` is true at the start of a file."""

    @abstractmethod
    def read(self, path: Path, size: int | None) -> Iterator[Result]:
        """Yield the results in a file that this program has written; leave out a truncated end.

        Args:
            path: The file.
            size: The number of bytes to read; None to read the whole file.
        """

    def check(self, path: Path) -> None:  # noqa: B027 - most formats have nothing to check
        """Refuse a file that rows of this format cannot be appended to.

        Raises:
            OptionError: It has other columns.
        """

    def finish(self, lines: Path, path: Path, ids: Sequence[str]) -> None:
        """Make the file from its rows as JSON Lines, if the format cannot append."""
        raise NotImplementedError(f"{type(self).__name__} is appended to")


class JsonLinesFormat(Format):
    """An object on each line: ``index``, perhaps ``id``, ``value`` exactly as generated and ``finish_reason``, or ``error``.

    If the confidence of a value is known, its line has ``confidence`` and ``least_confidence``, too.
    """

    def encode(self, results: Sequence[Result], *, first: bool) -> bytes:  # noqa: ARG002 - there is no header
        """Return the lines."""
        return b"".join(result.encoded or line_of(result).encode() + b"\n" for result in results)

    def read(self, path: Path, size: int | None) -> Iterator[Result]:
        """Yield the results."""
        with path.open("rb") as stream:
            for line in _whole_lines(stream, size):
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(found, dict) and isinstance(found.get("index"), int):
                    reason, sure = found.get("finish_reason") or "", _shares(found.get("confidence"))
                    result = Result(found["index"], found.get("id"), None, found.get("error"), line, reason, None, sure)
                    yield replace(result, value=_value_in(line, result, found["value"])) if "value" in found else result


def _value_in(line: bytes, result: Result, value: Any) -> str:
    """Return the value of a line exactly as generated; in plain JSON if another program wrote the line."""
    before, _, after = line_of(replace(result, value="\0")).partition("\0")
    text = line.rstrip(b"\n").decode("utf-8", "replace")
    as_written = text.startswith(before) and text.endswith(after)
    return text[len(before) : -len(after)] if as_written else json_text(value)


class CsvFormat(Format):
    """A table with a header: a column for each field of the values, and code, message and text of an error.

    Args:
        spec: The spec of the values, which decides their columns (`CellTable`).
        prompts: Whether there is a column of the prompts.
        confidence: Whether there are columns of the confidence, the probabilities of the fields as JSON and the least of them.
    """

    def __init__(self, spec: Any, *, prompts: bool = False, confidence: bool = False) -> None:
        self._prompts, self._has_confidence = prompts, confidence
        first = (*CSV_FIRST, "prompt") if prompts else CSV_FIRST
        last = (*CSV_LAST, *CSV_CONFIDENCE) if confidence else CSV_LAST
        self._cells = CellTable(spec, {*first, *last})
        self._names = [*first, *self._cells.names, *last]

    def encode(self, results: Sequence[Result], *, first: bool) -> bytes:
        """Return the rows, after the header if they are the first."""
        rows: list[Sequence[Any]] = [self._names] if first else []
        for result in results:
            error = result.error or {}
            parts = [error.get(name, "") for name in ("code", "message", "text")]
            prompt = [_text_of(result.prompt)] if self._prompts else []
            empty = [""] * len(self._cells.names)
            value = empty if result.value is None else self._cells.written(result.value)
            sure = [_text_of(result.confidence), result.least_confidence] if self._has_confidence else []
            rows.append([result.index, _text_of(result.id), *prompt, *value, *parts, result.finish_reason, *sure])
        return "".join(map(_csv_line, rows)).encode("utf-8", "backslashreplace")

    def check(self, path: Path) -> None:
        """Refuse a file with other columns."""
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            names: list[str] = next(csv_reader(stream), [])
        if names == self._names:
            return
        raise OptionError(
            f"{str(path)!r} has the columns {', '.join(names)}"[:300],
            why=f"this run writes {', '.join(self._names)}"[:300],
            fix="choose another --output, or remove the file to start again",
        )

    def read(self, path: Path, size: int | None) -> Iterator[Result]:
        """Yield the results.

        Raises:
            OptionError: Another program has changed the file, so that the size is not the end of a line, or it is not in UTF-8.
        """
        with path.open("rb") as stream:
            if size and not _ends_a_line(stream, size):
                raise OptionError(
                    f"{str(path)!r} has changed: its recorded rows ended at byte {size}, which is now inside a line",
                    why="another program has saved it, and it is unknown which rows are complete",
                    fix="put back the file as it was, or choose another --output",
                )
            lines = (line.decode() for line in _whole_lines(stream, size))
            for _, cells in csv_table(lines, path):
                if len(cells) == len(self._names) and cells[0].isdecimal() and len(cells[0]) < _INDEX_DIGITS:
                    yield self._result(cells)

    def _result(self, cells: Sequence[str]) -> Result:
        sure = None
        if self._has_confidence:
            *cells, sure, _ = cells
        index, name, *values, code, message, text, reason = cells
        prompt = values.pop(0) if self._prompts else None
        if code:
            error = {"code": code, "message": message, "text": text}
            return Result(int(index), name, None, error, prompt=prompt)
        value = self._cells.read(iter(values))
        return Result(int(index), name, value, finish_reason=reason, prompt=prompt, confidence=_shares(sure))


def _shares(found: Any) -> dict[str, float] | None:
    """Return the confidence that an output has, perhaps as JSON text; None if it has none."""
    try:
        known = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        return None
    is_known = isinstance(known, dict) and all(isinstance(share, int | float) for share in known.values())
    return known if is_known else None


def _text_of(found: Any) -> str | None:
    return found if isinstance(found, str | None) else json_text(found)


def _csv_line(cells: Sequence[Any]) -> str:
    """Return a row. `csv` quotes a carriage return only where line ends have one, but reads a lone one as a line end."""
    found = io.StringIO()
    csv.writer(found, lineterminator="\r\n").writerow(cells)
    return found.getvalue()[:-2] + "\n"


def _ends_a_line(stream: BinaryIO, size: int) -> bool:
    """Tell whether the first bytes of a file are whole lines, or all of it."""
    stream.seek(size - 1)
    last = stream.read(1)
    stream.seek(0)
    return last in (b"\n", b"")


def _whole_lines(stream: Iterable[bytes], size: int | None) -> Iterator[bytes]:
    """Yield the lines of a file, or of its first bytes; leave out one that is cut off."""
    for line in stream:
        size = None if size is None else size - len(line)
        if (size is not None and size < 0) or not line.endswith(b"\n"):
            return
        yield line


class ParquetFormat(Format):
    """A Parquet file: ``index``, ``id``, ``value`` as a type of its schema or as JSON text, ``error``, ``finish_reason``.

    Args:
        spec: The spec of the values.
        confidence: Whether there are columns of the confidence, a map of the probabilities and the least of them.
    """

    appends = False

    def __init__(self, spec: Any, *, confidence: bool = False) -> None:
        parquet()
        self._has_confidence = confidence
        self._type = value_type(spec)
        self._lines = JsonLinesFormat()

    def checked(self, results: list[Result]) -> list[Result]:
        """Return the results; a value that the column cannot hold is a failure."""
        if self._type is None:
            return results
        at = [index for index, result in enumerate(results) if result.value is not None]
        _, refused = column_of([json.loads(results[index].value or "") for index in at], self._type)
        for place, why in refused.items():
            result = results[at[place]]
            failure = unwritable(result.index, why, result.value or "")
            results[at[place]] = Result.of(Row(result.index, None, result.id), failure)
        return results

    def encode(self, results: Sequence[Result], *, first: bool) -> bytes:
        """Return JSON Lines."""
        return self._lines.encode(results, first=first)

    def read(self, path: Path, size: int | None) -> Iterator[Result]:  # noqa: ARG002 - a Parquet file is whole
        """Yield the results; structs become JSON texts."""
        with parquet().ParquetFile(path) as file:
            for batch in file.iter_batches(1024):
                for found in batch.to_pylist():
                    value = found["value"]
                    if value is not None and self._type is not None:
                        value = json_text(value)
                    kept, reason = None if found["error"] else value, found["finish_reason"] or ""
                    sure = dict(known) if (known := found.get("confidence")) else None
                    yield Result(
                        found["index"], found.get("id"), kept, found["error"], finish_reason=reason, confidence=sure
                    )

    def finish(self, lines: Path, path: Path, ids: Sequence[str]) -> None:
        """Write the file, row group by row group."""
        pa = arrow()
        id_type = pa.int64() if ids == ("int",) else pa.string()
        as_text = id_type == pa.string() and ids != ("str",)
        value = self._type if self._type is not None else pa.string()
        error = pa.struct([(name, pa.string()) for name in _ERROR])
        parts = [("index", pa.int64()), ("id", id_type), ("value", value), ("error", error)]
        sure = [("confidence", pa.map_(pa.string(), pa.float64())), ("least_confidence", pa.float64())]
        schema = pa.schema([*parts, ("finish_reason", pa.string()), *(sure if self._has_confidence else [])])
        with parquet().ParquetWriter(path, schema) as writer, lines.open("rb") as stream:
            while group := list(islice(stream, _GROUP)):
                found = [self._columns(json.loads(line), as_text=as_text) for line in group]
                writer.write_table(pa.Table.from_pylist(found, schema=schema))

    def _columns(self, found: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
        name, value = found.get("id"), found.get("value")
        if name is not None and as_text:
            name = json_text(name)
        if self._type is None and "value" in found:
            value = json_text(value)
        sure = found.get("confidence")
        return {
            "index": found["index"],
            "id": name,
            "value": value,
            "error": found.get("error"),
            "finish_reason": found.get("finish_reason"),
            "confidence": sure and [*sure.items()],
            "least_confidence": found.get("least_confidence"),
        }


def line_of(result: Result) -> str:
    """Return the line of a result."""
    head = json_text({"index": result.index} | ({} if result.id is None else {"id": result.id}))[:-1]
    if result.value is not None:
        reason = f', "finish_reason": {json_text(result.finish_reason)}' if result.finish_reason else ""
        sure = "" if result.confidence is None else f', "confidence": {json_text(result.confidence)}'
        sure += f', "least_confidence": {json_text(result.least_confidence)}' if sure else ""
        return f'{head}, "value": {result.value}{reason}{sure}}}'
    return f'{head}, "error": {json_text(result.error)}}}'


def format_of(path: Path, spec: Any, *, prompts: bool = False, confidence: bool = False) -> Format:
    """Return the format of a file by the ending of its name: .csv, .parquet, and JSON Lines for every other.

    Args:
        path: The file.
        spec: The spec of the values.
        prompts: Whether to write the prompts, too; only a CSV has a column for them.
        confidence: Whether the confidence of the values is known.

    Raises:
        OptionError: The extra that it needs is not installed.
    """
    if path.suffix.lower() in {".parquet", ".pq"}:
        return ParquetFormat(spec, confidence=confidence)
    if path.suffix.lower() == ".csv":
        return CsvFormat(spec, prompts=prompts, confidence=confidence)
    return JsonLinesFormat()
