"""Tables that notebooks show for objects of this library."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def html_table(rows: Iterable[Sequence[object]]) -> str:
    """Return rows of cells as a table of HTML; each cell is text and never markup."""
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
