"""Writes the table of what each format says into docs/guides/formats.md; tests hold the page against it.

    python tools/formats.py            # rewrites the table
    python tools/formats.py --check    # exits with 1 if it is not that of the code

Each row is a type of a member: it is compiled in a row of a list, in each format.
"""

from __future__ import annotations

import enum
import sys
import typing as t
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, create_model

import schemagen
from schemagen.errors import UnsupportedTypeError
from schemagen.writers import TEXT_FORMATS

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "formats.md"
BEGIN, END = "<!-- made by tools/formats.py -->\n", "<!-- made by tools/formats.py: end -->\n"
BYTES = schemagen.Vocabulary.byte_vocabulary()


class Point(BaseModel):
    """A class in a class."""

    x: float
    y: float


class Size(BaseModel):
    """Another one."""

    width: int


class Tree(BaseModel):
    """A class in itself."""

    children: list[Tree] = []


class Open(BaseModel):
    """A class with undeclared members."""

    model_config = ConfigDict(extra="allow")
    x: int


class Pair(t.NamedTuple):
    """A named tuple."""

    a: int
    b: int


class Color(enum.Enum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


#: What a reader of the page calls it -> the type of a member, and its default if it has one.
ROWS: dict[str, t.Any] = {
    "`int`, `float`, `bool`, `str`, dates, ...": (int, ...),
    "`Literal`, an `Enum`": (Color, ...),
    "`int \\| None`, needed": (int | None, ...),
    "`int \\| None = None`": (int | None, None),
    "`int \\| None = 5`": (int | None, 5),
    "`str \\| None = None`": (str | None, None),
    "`int \\| str`": (int | str, ...),
    "a class inside": (Point, ...),
    "a class inside, or `None`": (Point | None, None),
    "a class that contains itself": (Tree, ...),
    "one of two classes": (Point | Size, ...),
    "a `NamedTuple`": (Pair, ...),
    "`list[int]`": (list[int], ...),
    "`list[int] = []`": (list[int], []),
    "`list[int] = [1]`": (list[int], [1]),
    "`list[int] \\| None`": (list[int] | None, ...),
    "`list[list[int]]`, `list` of a class": (list[list[int]], ...),
    "`tuple[int, str]`": (tuple[int, str], ...),
    "`set[int]`": (set[int], ...),
    "`set[int]` of two items or more": (t.Annotated[set[int], Field(min_length=2)], ...),
    "`dict[Color, int]`: keys that can be listed": (dict[Color, int], ...),
    "`dict[str, int]`": (dict[str, int], ...),
    "`Any`": (t.Any, ...),
    'a class with `extra="allow"`': (Open, ...),
}


def says(member: t.Any, as_: t.Any) -> bool:
    """Whether a format says a list of rows with such a member."""
    row = create_model("Row", name=(str, ...), member=member)
    try:
        schemagen.compile(list[row], BYTES, as_=as_, cache=None)
    except UnsupportedTypeError:
        return False
    return True


def table() -> str:
    """Return the table."""
    head = f"| a member | {' | '.join(f'`{as_}`' for as_ in TEXT_FORMATS)} |\n|---|{'---|' * len(TEXT_FORMATS)}\n"
    lines = (
        f"| {words} | {' | '.join('yes' if says(member, as_) else '-' for as_ in TEXT_FORMATS)} |\n"
        for words, member in ROWS.items()
    )
    return head + "".join(lines)


def page() -> str:
    """Return the page with the table of the code."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> int:
    """Write the page, or compare it."""
    made = page()
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text(encoding="utf-8") != made)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
