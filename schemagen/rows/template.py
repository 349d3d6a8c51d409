"""Prompt templates: texts with the columns of a row in braces."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A text such as "{title}: {text}", as for `str.format`; braces of its own are doubled.

    Attributes:
        text: The text.
        names: The columns that it names, in their order.

    Raises:
        OptionError: It names no columns, or cannot be parsed.
    """

    text: str
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Find the columns."""
        object.__setattr__(self, "names", _names_in(self.text))

    def fill(self, cells: Mapping[str, Any]) -> str | None:
        """Return the prompt of a row; None if a column is missing, or its cell has not the form that the text asks for.

        A null cell is an empty text.
        """
        try:
            return self.text.format_map({name: "" if cells[name] is None else cells[name] for name in self.names})
        except (LookupError, ValueError, TypeError, AttributeError):
            return None


def _names_in(text: str) -> tuple[str, ...]:
    fix = 'write "{title}: {text}"; double the braces that are no columns: {{ and }}'
    try:
        found = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise OptionError(f"template={text!r:.80}", why=str(error), fix=fix) from error
    names = tuple(dict.fromkeys(name.partition(".")[0].partition("[")[0] for name in found))
    if not names or "" in names:
        why = "it names no column" if not names else "a pair of braces names no column"
        raise OptionError(f"template={text!r:.80}", why=why, fix=fix)
    return names
