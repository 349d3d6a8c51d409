"""Batches of rows in the forms of engines: dicts of columns, tables of Arrow, data frames of pandas, one row as a dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemagen.arguments import kind_of
from schemagen.errors import OptionError


class Table:
    """A batch in any of these forms.

    Raises:
        OptionError: The batch has none of these forms.
    """

    def __init__(self, batch: Any) -> None:
        # `datasets` wraps a table of Arrow, whose types determine those of the file.
        self._batch = getattr(batch, "pa_table", batch)
        self._kind = _kind_of(self._batch)

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column as Python objects; missing cells of a data frame become None.

        Raises:
            OptionError: The column does not exist.
        """
        names = self._names()
        if name not in names:
            raise OptionError(
                f"the rows have no column {name!r}",
                why=f"their columns are {', '.join(map(repr, names))}"[:300],
                fix="name the column of the prompts: Rows(..., prompt=...)",
            )
        found = self._batch[name]
        if self._kind == "row":
            return [found]
        if self._kind == "arrow":
            cells: list[Any] = found.to_pylist()
            return cells
        return list(found.tolist() if hasattr(found, "tolist") else found)

    def with_columns(self, columns: Mapping[str, tuple[list[Any], Any]]) -> Any:
        """Return the batch with further columns, each given as a list and as an array of Arrow."""
        if self._kind == "arrow":
            return self._arrow_with(columns)
        if self._kind == "pandas":
            return self._batch.assign(**{name: _series(cells, self._batch) for name, (cells, _) in columns.items()})
        added = {name: cells[0] if self._kind == "row" else cells for name, (cells, _) in columns.items()}
        return {**{name: self._batch[name] for name in self._names()}, **added}

    def _arrow_with(self, columns: Mapping[str, tuple[list[Any], Any]]) -> Any:
        import pyarrow as pa

        table = self._batch if isinstance(self._batch, pa.Table) else pa.Table.from_batches([self._batch])
        for name, (_, array) in columns.items():
            at = table.schema.get_field_index(name)
            table = table.append_column(name, array) if at < 0 else table.set_column(at, name, array)
        return table

    def _names(self) -> list[str]:
        return list(self._batch.schema.names if self._kind == "arrow" else self._batch.keys())


def _series(cells: list[Any], frame: Any) -> Any:
    """Return a column of objects for a data frame, whose index need not count from 0."""
    import pandas as pd  # pyright: ignore[reportMissingImports]

    return pd.Series(cells, index=frame.index, dtype=object)


def _kind_of(batch: Any) -> str:
    """Return the form of a batch: "arrow", "pandas", "columns" or "row".

    Raises:
        OptionError: The batch has none of these forms.
    """
    module = type(batch).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(batch, "schema"):
        return "arrow"
    if module == "pandas" and hasattr(batch, "columns"):
        return "pandas"
    if isinstance(batch, Mapping) and len(batch):
        cells = [batch[name] for name in batch]
        columns = all(isinstance(cell, list) or hasattr(cell, "tolist") for cell in cells)
        return "columns" if columns else "row"
    raise OptionError(
        f"the rows are {kind_of(batch)}",
        why="they are neither columns, nor a table of Arrow, nor a data frame of pandas",
        fix="give a dict of lists, or with datasets map(rows, batched=True)",
    )
