"""Sources of rows: JSON Lines, CSV and Parquet of any length, read piece by piece."""

from __future__ import annotations

import io
import json
import random
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
from schemagen.rows.row import Row, Shard, as_prompt, csv_table, json_text
from schemagen.rows.template import PromptTemplate  # noqa: TC001 - a field of Columns

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
        template: The text that makes prompts of other columns instead; None for none.
    """

    prompt: str | None = None
    id: str = "id"
    template: PromptTemplate | None = None

    def of_names(self, names: Sequence[str], source: str) -> tuple[str, ...]:
        """Return the columns of a table that the prompts are made of.

        Raises:
            OptionError: One does not exist.
        """
        if self.template is not None:
            for name in self.template.names:
                if name not in names:
                    raise OptionError(
                        f"{source} has no column {name!r}, which the template names",
                        why=f"its columns are {', '.join(map(repr, names))}"[:300],
                        fix="name one of them in braces: --template",
                    )
            return self.template.names
        wanted = ("prompt", "messages") if self.prompt is None else (self.prompt,)
        for name in wanted:
            if name in names:
                return (name,)
        raise OptionError(
            f"{source} has no column {' or '.join(map(repr, wanted))}",
            why=f"its columns are {', '.join(map(repr, names))}"[:300] if names else "it has no columns at all",
            fix="name the column of the prompts: --prompt-column NAME" if names else "name another file",
        )

    def of_object(self, found: Mapping[str, Any]) -> Any:
        """Return the prompt of an object; None if it has none."""
        if self.template is not None:
            return self.template.fill(found)
        return found.get("prompt", found.get("messages")) if self.prompt is None else found.get(self.prompt)

    def row(self, index: int, prompt: Any, name: Any, place: str) -> Row:
        """Return a row; without a prompt it says which columns a template needs."""
        if prompt is not None or self.template is None:
            return Row(index, prompt, name, place)
        refusal = f"does not fill the template, which needs {', '.join(map(repr, self.template.names))}"
        return Row(index, None, name, place, refusal, "give the row these columns")


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


class Sample(Source):
    """Rows of another source, drawn at random: the same ones each time.

    Args:
        source: The other source.
        rows: How many rows to draw; all if there are fewer.

    Raises:
        OptionError: The source can be read only once.
    """

    def __init__(self, source: Source, rows: int) -> None:
        total = source.count()
        if total is None:
            raise OptionError(
                "a sample of standard input", why="its rows are counted first, and then read again", fix="name a file"
            )
        self._source = source
        self._drawn = frozenset(random.Random(0).sample(range(total), min(rows, total)))  # noqa: S311 - no secret

    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard that were drawn."""
        return (row for row in self._source.rows(shard) if row.index in self._drawn)

    def count(self) -> int:
        """Return the number of rows that were drawn."""
        return len(self._drawn)


class Csv(Source):
    """A CSV file with a header; chats are JSON in the column "messages"."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._path = path
        self._columns = columns
        with _opened(path) as stream:
            names = next(self._table(stream), (0, []))[1]
        self._wanted = columns.of_names(names, repr(str(path)))
        for name in (*self._wanted, columns.id):
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
            at_id = names.index(self._columns.id) if self._columns.id in names else -1
            for index, (line, cells) in enumerate(table):
                if shard.has(index):
                    name = cells[at_id] if 0 <= at_id < len(cells) else None
                    place = f"row {index + 1} of the table, line {line}"
                    if len(cells) > len(names):
                        refusal = f"has {len(cells)} cells, and the header {len(names)}"
                        fix = "put cells that have commas in them into quotation marks"
                        yield Row(index, None, name, place, refusal, fix)
                    else:
                        found = dict(zip(names, cells, strict=False))  # a short row lacks the last columns
                        yield self._columns.row(index, self._prompt(found), name, place)

    def count(self) -> int:
        """Return the number of rows of the table."""
        with _opened(self._path) as stream:
            return sum(1 for _ in self._table(stream)) - 1

    def _prompt(self, found: Mapping[str, str]) -> Any:
        if self._columns.template is not None:
            return self._columns.template.fill(found)
        said = found.get(self._wanted[0])
        if said is None or self._wanted[0] != "messages":
            return said
        try:
            return as_prompt(json.loads(said))
        except (ValueError, RecursionError):
            return None

    def _table(self, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Yield the non-empty rows, the header first, each with the number of its last line."""
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            yield from csv_table(text, self._path)


class Parquet(Source):
    """A Parquet file, or a folder of them in the order of their names."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._columns = columns
        self._files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not self._files:
            raise OptionError(f"no Parquet files in {str(path)!r}", why="none ends in .parquet", fix="name the file")
        found: list[tuple[str, ...]] = []
        for each in self._files:
            with self._open(each) as file:
                names = list(file.schema_arrow.names)
            found.append(columns.of_names(names, repr(str(each))))
        self._wanted = found[0]
        if len(set(found)) > 1:
            names = list(dict.fromkeys(repr(each[0]) for each in found))
            raise OptionError(
                f"the files in {str(path)!r} have their prompts in the columns {' and '.join(names)}",
                why="all have to have the same one",
                fix="name the column of the prompts: --prompt-column NAME",
            )

    def rows(self, shard: Shard) -> Iterator[Row]:
        """Yield the rows of a shard."""
        index = 0
        for path in self._files:
            with self._open(path) as file:
                has_ids = self._columns.id in file.schema_arrow.names
                wanted: list[str] = list(dict.fromkeys([*self._wanted, *([self._columns.id] if has_ids else [])]))
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
            prompt, index = self._prompt(found), first + at
            if isinstance(prompt, list):  # a struct has all fields of the table, most of them empty
                prompt = [
                    {key: value for key, value in each.items() if value is not None} if isinstance(each, dict) else each
                    for each in prompt
                    if each
                ]
            yield self._row(index, as_prompt(prompt), found.get(self._columns.id))

    def _prompt(self, found: Mapping[str, Any]) -> Any:
        template = self._columns.template
        return found[self._wanted[0]] if template is None else template.fill(found)

    def _row(self, index: int, prompt: Any, name: Any) -> Row:
        """Return a row; without a prompt if its id cannot be written as JSON."""
        place = f"row {index + 1} of the table"
        try:
            json_text(name)
        except (TypeError, ValueError):
            refusal = f"has an id of the type {type(name).__name__}, which JSON cannot hold"
            return Row(index, None, None, place, refusal, f"make the column {self._columns.id!r} text or numbers")
        return self._columns.row(index, prompt, name, place)

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
        return columns.row(index, as_prompt(columns.of_object(found)), found.get(columns.id), place)
    prompt = as_prompt(found if columns.template is None else columns.template.fill({"prompt": found}))
    return columns.row(index, prompt, None, place)


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
