"""Prompt templates: texts with the columns of a row in braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Widths and precisions of more digits fill the memory.
_WIDE = re.compile("[0-9]{5}")
#: A column, and the elements of its cells: "tags[0]". All other names are whole names of columns.
_WITH_ELEMENTS = re.compile(r"([^\[\]]+)((?:\[[^\[\]]+\])+)")
_CONVERSIONS: dict[str | None, Callable[[Any], Any]] = {None: lambda cell: cell, "r": repr, "s": str, "a": ascii}


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text, and the column that follows it; None for the end of a template."""

    before: str
    column: str | None
    elements: tuple[str, ...]
    form: str
    conversion: str | None

    @classmethod
    def of(cls, before: str, name: str | None, form: str | None, conversion: str | None) -> _Piece:
        found = _WITH_ELEMENTS.fullmatch(name or "")
        elements = () if found is None else tuple(found[2][1:-1].split("]["))
        return cls(before, name if found is None else found[1], elements, form or "", conversion)

    def filled(self, cells: Mapping[str, Any]) -> str:
        """Return the text with the cell; raises an error that `PromptTemplate.fill` catches if the cell does not fit."""
        if self.column is None:
            return self.before
        cell = cells[self.column]
        for element in self.elements:
            if isinstance(cell, str | bytes):
                raise TypeError("a text has no elements")
            cell = cell[element if isinstance(cell, Mapping) else int(element)]
        return self.before + format(_CONVERSIONS[self.conversion]("" if cell is None else cell), self.form)

    def fault(self) -> str | None:
        """Return why it cannot be filled, whatever the cells are; None if it can."""
        if self.column is None:
            return None
        if not self.column:
            return "a pair of braces names no column"
        if "{" in self.column + self.form:
            return f"there are braces inside the braces of {self.column!r}"
        if self.conversion not in _CONVERSIONS:
            return f"the conversion !{self.conversion} of {self.column!r} is none of !r, !s and !a"
        if _WIDE.search(self.form):
            return f"the format {self.form!r} of {self.column!r} has a number of more than four digits"
        return None


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A text such as "{title}: {text}", "{tags[0]}" or "{price:>8}"; braces of its own are doubled.

    Conversions and formats are those of `str.format`. A name is the whole name of a column, also with dots; brackets after
    it take an element of a list or dictionary. No attribute is read.

    Attributes:
        text: The text.
        names: The columns that it names, in their order.

    Raises:
        OptionError: It names no columns, or cannot be parsed.
    """

    text: str
    names: tuple[str, ...] = field(init=False)
    _pieces: tuple[_Piece, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the columns."""
        pieces = _pieces_of(self.text)
        object.__setattr__(self, "_pieces", pieces)
        names = (piece.column for piece in pieces if piece.column is not None)
        object.__setattr__(self, "names", tuple(dict.fromkeys(names)))

    def fill(self, cells: Mapping[str, Any]) -> str | None:
        """Return the prompt of a row; None if a column is missing, or its cell does not fit the format.

        A null cell is an empty text.
        """
        try:
            return "".join(piece.filled(cells) for piece in self._pieces)
        except (LookupError, ValueError, TypeError, OverflowError):
            return None


def _pieces_of(text: str) -> tuple[_Piece, ...]:
    try:
        pieces = tuple(_Piece.of(*parts) for parts in Formatter().parse(text))
        none = None if any(piece.column is not None for piece in pieces) else "it names no column"
        why = next(filter(None, (piece.fault() for piece in pieces)), none)
    except ValueError as error:
        why = str(error)
    if why is not None:
        fix = 'write "{title}: {text}"; double the braces that are no columns: {{ and }}'
        raise OptionError(f"template={text!r:.80}", why=why, fix=fix)
    return pieces
