"""The HTML that notebooks show for results, grammars and reports.

A cell is text and never markup, unless this package made the markup. There are no scripts, addresses or colours: nothing runs,
nothing is loaded, and text and lines have the colours of the notebook, light or dark. Styles stand in the elements, because
notebooks that are not trusted drop style sheets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Most rows of a table and most characters of a cell; a line says how many more there are.
MOST_ROWS = 200
MOST_CHARACTERS = 2_000
#: Most tables inside one another; deeper records are text.
MOST_DEPTH = 3
#: Notebooks centre or right-align cells, and join the lines of a text.
_STYLE = "text-align: left; vertical-align: top; white-space: pre-wrap"


class Markup(str):
    """A text that is HTML already, and safe."""

    __slots__ = ()


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), *, depth: int = 1) -> Markup:
    """Return a table; a cell that is a record, such as a model or a dict, is a table of its fields.

    Args:
        rows: The cells of each row. Without a header the first cell of a row is its name.
        header: The names of the columns.
        depth: The number of tables around the cells.
    """
    rows = list(rows)
    lines = ["".join(_element("th", name) for name in header)] if header else []
    for first, *others in rows[:MOST_ROWS]:
        cells = (_element("td", _shown(cell, depth)) for cell in others)
        lines.append(_element("td" if header else "th", _shown(first, depth)) + "".join(cells))
    if len(rows) > MOST_ROWS:
        lines.append(_element("td", f"… {len(rows) - MOST_ROWS:,} more"))
    return Markup(f'<table style="margin: 0">{"".join(f"<tr>{line}</tr>" for line in lines)}</table>')


def _element(tag: str, text: str) -> str:
    return f'<{tag} style="{_STYLE}">{text if isinstance(text, Markup) else escape(text)}</{tag}>'


def _shown(value: object, depth: int) -> str:
    """Return a value as a table of its fields, or else as text."""
    if isinstance(value, Markup):
        return value
    try:
        parts = _parts_of(value) if depth <= MOST_DEPTH else None
        text = "" if parts else str(value)
    except Exception as error:  # noqa: BLE001 - the code of a user's class, and a notebook shows the other cells
        return f"{type(value).__name__}, which raises {type(error).__name__} when it is shown"
    if parts:
        return html_table(parts, depth=depth + 1)
    more = len(text) - MOST_CHARACTERS
    return text if more <= 0 else f"{text[:MOST_CHARACTERS]}… {more:,} more characters"


def _parts_of(value: object) -> Sequence[tuple[object, object]]:
    """Return the fields of a record, or the items of a list of records; nothing of other values."""
    if isinstance(value, list | tuple) and any(map(_fields_of, value[:MOST_ROWS])):
        return list(enumerate(value))
    return _fields_of(value)


def _fields_of(value: object) -> Sequence[tuple[object, object]]:
    """Return the fields of a record, without those that its class leaves out of its ``repr`` and those not set."""
    if hasattr(type(value), "model_fields") and hasattr(value, "__repr_args__"):  # of pydantic
        return list(cast("Any", value).__repr_args__())
    if is_dataclass(value) and not isinstance(value, type):
        return [
            (field.name, getattr(value, field.name))
            for field in fields(value)
            if field.repr and hasattr(value, field.name)
        ]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(cast("Any", value)._fields, value, strict=True))
    return list(value.items()) if isinstance(value, Mapping) else []
