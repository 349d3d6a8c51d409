"""Sources of rows: JSON Lines, CSV and Parquet of any length, read piece by piece."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from schemagen.errors import OptionError
from schemagen.rows.arrow import arrow, parquet
from schemagen.rows.row import Row, Shard, as_prompt, csv_reader, json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: Rows of a Parquet file that are in memory at a time.
_PARQUET_ROWS = 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, or keys of an object, to read.

    Attributes:
        prompt: The column of the prompts; None for "prompt", else "messages".
        id: The column of the ids, if it exists.
    """

    prompt: str | None = None
    id: str = "id"

    def of_names(self, names: Sequence[str], source: str) -> str:
        """Return the column of the prompts in a table.

        Raises:
            OptionError: It does not exist.
        """
        wanted = ("prompt", "messages") if self.prompt is None else (self.prompt,)
        for name in wanted:
            if name in names:
                return name
        raise OptionError(
            f"{source} has no column {' or '.join(map(repr, wanted))}",
            why=f"its columns are {', '.join(map(repr, names))}"[:300] if names else "it has no columns at all",
            fix="name the column of the prompts: --prompt-column NAME" if names else "name another file",
        )

    def of_object(self, found: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the prompt and the id of an object."""
        prompt = found.get("prompt", found.get("messages")) if self.prompt is None else found.get(self.prompt)
        return prompt, found.get(self.id)


class Source(ABC):
    """An input that can be read from its beginning repeatedly."""

    @abstractmethod
    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard in their order.

        Raises:
            OptionError: It cannot be read.
        """

    @abstractmethod
    def count(self) -> int | None:
        """Return the number of rows of all shards together; None if it is unknown without reading them."""


class JsonLines(Source):
    """A file of JSON Lines: texts, chats, or objects; any other line is a row without a prompt."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._path = path
        self._columns = columns

    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard."""
        with _opened(self._path) as stream:
            yield from rows_of_lines(stream, shard, self._columns)

    def count(self) -> int:
        """Return the number of non-empty lines."""
        with _opened(self._path) as stream:
            return sum(1 for line in stream if line.strip())


class Pipe(Source):
    """JSON Lines of a stream that can be read only once, and may be endless."""

    def __init__(self, stream: BinaryIO, columns: Columns) -> None:
        self._stream = stream
        self._columns = columns

    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard."""
        return rows_of_lines(self._stream, shard, self._columns)

    def count(self) -> None:
        """Return None."""
        return


class Csv(Source):
    """A CSV file with a header; chats are JSON in the column "messages"."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._path = path
        self._columns = columns
        with _opened(path) as stream:
            names = next(self._table(stream), (0, []))[1]
        self._prompt = columns.of_names(names, repr(str(path)))
        for name in (self._prompt, columns.id):
            if names.count(name) > 1:
                raise OptionError(
                    f"{str(path)!r} has the column {name!r} {names.count(name)} times, line 1",
                    why="the name is ambiguous",
                    fix="rename the others",
                )

    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard."""
        with _opened(self._path) as stream:
            table = self._table(stream)
            names = next(table)[1]
            at, at_id = names.index(self._prompt), names.index(self._columns.id) if self._columns.id in names else -1
            for index, (line, cells) in enumerate(table):
                if shard.has(index):
                    said = cells[at] if at < len(cells) else None
                    name = cells[at_id] if 0 <= at_id < len(cells) else None
                    place = f"row {index + 1} of the table, line {line}"
                    if len(cells) > len(names):
                        refusal = f"has {len(cells)} cells, and the header {len(names)}"
                        fix = "put cells that have commas in them into quotation marks"
                        yield Row(index, None, name, place, refusal, fix)
                    else:
                        yield Row(index, self._read(said), name, place)

    def count(self) -> int:
        """Return the number of rows of the table."""
        with _opened(self._path) as stream:
            return sum(1 for _ in self._table(stream)) - 1

    def _read(self, said: str | None) -> Any:
        if said is None or self._prompt != "messages":
            return said
        try:
            return as_prompt(json.loads(said))
        except (ValueError, RecursionError):
            return None

    def _table(self, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Yield the non-empty rows, the header first, each with the number of its last line."""
        try:
            with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
                table = csv_reader(text)
                yield from ((table.line_num, cells) for cells in table if cells)
        except (UnicodeDecodeError, csv.Error) as error:
            raise OptionError(
                f"cannot read {str(self._path)!r}: {error}", why="it is not CSV in UTF-8", fix="convert it"
            ) from error


class Parquet(Source):
    """A Parquet file, or a folder of them in the order of their names."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._columns = columns
        self._files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not self._files:
            raise OptionError(f"no Parquet files in {str(path)!r}", why="none ends in .parquet", fix="name the file")
        found: dict[str, list[str]] = {}
        for each in self._files:
            with self._open(each) as file:
                names = list(file.schema_arrow.names)
            found.setdefault(columns.of_names(names, repr(str(each))), names)
        self._prompt, self._names = next(iter(found.items()))
        if len(found) > 1:
            raise OptionError(
                f"the files in {str(path)!r} have their prompts in the columns {' and '.join(map(repr, found))}",
                why="all have to have the same one",
                fix="name the column of the prompts: --prompt-column NAME",
            )

    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard."""
        index = 0
        for path in self._files:
            with self._open(path) as file:
                has_ids = self._columns.id in file.schema_arrow.names
                wanted = [self._prompt, *([self._columns.id] if has_ids else [])]
                for batch in self._batches(file, wanted, path):
                    yield from self._rows_of(batch, index, shard)
                    index += batch.num_rows

    @staticmethod
    def _batches(file: Any, columns: Sequence[str], path: Path) -> Iterator[Any]:
        """Yield the pieces of a file.

        Raises:
            OptionError: The file is damaged.
        """
        try:
            yield from file.iter_batches(_PARQUET_ROWS, columns=columns)
        except (OSError, ValueError) as error:
            raise OptionError(
                f"cannot read {str(path)!r}: {error}", why="the file is damaged", fix="write it again"
            ) from error

    def _rows_of(self, batch: Any, first: int, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a piece; only those of the shard become Python objects."""
        mine = range((shard.number - 1 - first) % shard.of, batch.num_rows, shard.of)
        if len(mine) < batch.num_rows:
            batch = batch.take(arrow().array(mine, arrow().int64()))
        for at, found in zip(mine, batch.to_pylist(), strict=True):
            prompt, index = found[self._prompt], first + at
            if isinstance(prompt, list):  # a struct has all fields of the table, most of them empty
                prompt = [
                    {key: value for key, value in each.items() if value is not None} if isinstance(each, dict) else each
                    for each in prompt
                    if each
                ]
            yield self._row(index, as_prompt(prompt), found.get(self._columns.id))

    def _row(self, index: int, prompt: Any, name: Any) -> Row:
        """Return a row; without a prompt if its id cannot be written as JSON."""
        place = f"row {index + 1} of the table"
        try:
            json_text(name)
        except (TypeError, ValueError):
            refusal = f"has an id of the type {type(name).__name__}, which JSON cannot hold"
            return Row(index, None, None, place, refusal, f"make the column {self._columns.id!r} text or numbers")
        return Row(index, prompt, name, place)

    def count(self) -> int:
        """Return the number of rows that the files state."""
        found = 0
        for path in self._files:
            with self._open(path) as file:
                found += file.metadata.num_rows
        return found

    @staticmethod
    def _open(path: Path) -> Any:
        reader = parquet()
        try:
            return reader.ParquetFile(path)
        except (OSError, ValueError) as error:
            raise OptionError(
                f"cannot read {str(path)!r}: {error}", why="it is not there, or not Parquet", fix="name another file"
            ) from error


def rows_of_lines(stream: BinaryIO, shard: Shard, columns: Columns) -> Iterator[Row]:
    """Yield the rows of a shard of JSON Lines; lines of other shards are not parsed."""
    index = 0
    for number, line in enumerate(stream, start=1):
        found = line.removeprefix(_BOM) if number == 1 else line
        if not found.strip():
            continue
        if shard.has(index):
            yield row_of_line(found, index, number, columns)
        index += 1


def row_of_line(line: bytes, index: int, number: int, columns: Columns) -> Row:
    """Return the row of a line; without a prompt if the line holds none."""
    place = f"line {number}"
    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError) as error:  # also for numbers of thousands of digits, and deep nesting
        fault = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        return Row(index, None, place=place, refusal=f"is not JSON: {fault}")
    if isinstance(found, dict):
        prompt, name = columns.of_object(found)
        return Row(index, as_prompt(prompt), name, place)
    return Row(index, as_prompt(found), place=place)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise OptionError(f"cannot read {str(path)!r}: {error}", fix="name a file that is there") from error


#: Suffixes of files -> the classes that read them; all other files are JSON Lines.
_READERS: dict[str, type[Csv | Parquet]] = {".csv": Csv, ".parquet": Parquet, ".pq": Parquet}


def open_source(name: str, columns: Columns | None = None, *, again: bool = False) -> Source:
    """Return the source that a name denotes.

    Args:
        name: A file: .csv, .parquet, and JSON Lines for every other ending; a folder of Parquet files; or - for JSON
            Lines on standard input.
        columns: The columns to read; None for the usual ones.
        again: Whether it is read more than once. Standard input is copied to a temporary file for that.

    Raises:
        OptionError: It cannot be read, or has no prompts.
    """
    columns = columns or Columns()
    if name == "-" and again:
        with tempfile.NamedTemporaryFile(suffix=".jsonl", delete=False) as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
        found = JsonLines(Path(kept.name), columns)
        weakref.finalize(found, Path(kept.name).unlink, missing_ok=True)
        return found
    if name == "-":
        return Pipe(sys.stdin.buffer, columns)
    path = Path(name)
    if path.is_dir():
        return Parquet(path, columns)
    reader = _READERS.get(path.suffix.lower())
    if reader is not None:
        return reader(path, columns)
    _opened(path).close()
    return JsonLines(path, columns)
