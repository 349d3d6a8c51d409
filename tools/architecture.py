"""The picture of the architecture: which packages and folders there are, and what each imports, read from the sources.

A row imports from rows below it only, and every box from at least one in the row right below: so the rows need not be
told, they are the depth of the graph of imports. Lines are drawn to that row alone. What a package is for is the first
line of its docstring; what a folder of the core is for stands in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
PACKAGE, CORE = ROOT / "schemagen", ROOT / "core"
TITLE = "The packages of schemagen and the folders of its core, each above those that it imports"

#: Not drawn: the facade and the launcher, which are there for others to import; the tests of the core.
_LEFT_OUT = {"__init__", "__main__", "tests"}

WIDTH, WIDEST, GAP, ROW_GAP, PADDING = 940, 380, 10, 22, 8
LINE, LETTER = 13.5, 6.2  # of the purposes, in pixels; letters are no wider in the fonts of any system


@dataclass(frozen=True)
class Unit:
    """A package, a module or a folder.

    Attributes:
        name: The name to import.
        purpose: Its purpose, in a line.
        imports: The other units that it imports when it runs.
        tag: The text in the corner of its box.
    """

    name: str
    purpose: str
    imports: frozenset[str]
    tag: str = ""

    def lines(self, width: float) -> list[str]:
        """Return the purpose, as it is broken in a box of a width."""
        return wrap(self.purpose.partition(";")[0].replace("`", "").rstrip("."), int((width - 2 * PADDING) / LETTER))


# --- reading the sources -----------------------------------------------------------------------------------------------


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the names below `schemagen` that are imported, but for those that only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module == "schemagen":
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").startswith("schemagen."):
            yield str(child.module).split(".")[1]
        yield from imported(child)


def packages() -> list[Unit]:
    """Return the packages and modules of `schemagen`."""
    paths = {path.stem: path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    names = sorted(paths.keys() - _LEFT_OUT)
    return [read_package(name, paths[name], names) for name in names]


def read_package(name: str, path: Path, names: list[str]) -> Unit:
    """Return one of them."""
    first = path / "__init__.py" if path.is_dir() else path
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in ([path] if path == first else path.rglob("*.py"))]
    found = {other for tree in trees for other in imported(tree)}
    purpose = (ast.get_docstring(ast.parse(first.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    return Unit(name, purpose, frozenset(found & set(names) - {name}), "core" if "_core" in found else "")


def folders() -> list[Unit]:
    """Return the folders of the core."""
    told = dict(
        re.findall(r"^\| `core/(\w+)/` \| (.+) \|$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    )
    names = sorted(path.name for path in CORE.iterdir() if path.is_dir() and path.name not in _LEFT_OUT)
    untold = set(names) - told.keys()
    if untold:
        raise SystemExit(f"CONTRIBUTING.md has no row for core/{', core/'.join(sorted(untold))}")
    return [Unit(name, told[name][0].upper() + told[name][1:], included(name) & set(names) - {name}) for name in names]


def included(folder: str) -> frozenset[str]:
    """Return the folders that the sources of a folder include from."""
    sources = (
        path.read_text(encoding="utf-8") for path in (CORE / folder).iterdir() if path.suffix in {".cpp", ".hpp"}
    )
    return frozenset(name for text in sources for name in re.findall(r'^#include "(\w+)/', text, re.MULTILINE))


# --- rows --------------------------------------------------------------------------------------------------------------


def rows_of(units: Iterable[Unit]) -> list[list[Unit]]:
    """Return units by the longest chain of imports below them, the lowest row first, each near the units that it imports."""
    rows: list[list[Unit]] = []
    left = {unit.name: unit for unit in units}
    while left:
        row = [unit for unit in left.values() if not unit.imports & left.keys()]
        assert row, f"imports go in a circle: {', '.join(left)}"
        for unit in row:
            del left[unit.name]
        below = {unit.name: at / len(rows[-1]) for at, unit in enumerate(rows[-1])} if rows else {}
        rows.append(
            sorted(row, key=lambda unit: (mean(below[name] for name in unit.imports if name in below), unit.name))
        )
    return rows


def mean(numbers: Iterable[float]) -> float:
    """Return the mean; 0 of none."""
    found = list(numbers)
    return math.fsum(found) / len(found) if found else 0.0  # of the same numbers in any order the same


# --- drawing -----------------------------------------------------------------------------------------------------------


def width_of(row: list[Unit]) -> float:
    """Return how wide the boxes of a row are."""
    return min(WIDEST, (WIDTH - 4 * PADDING - (len(row) - 1) * GAP) / len(row))


def height_of(row: list[Unit]) -> float:
    """Return how high they are."""
    return 2 * PADDING + 14 + LINE * max(len(unit.lines(width_of(row))) for unit in row)


def text(x: float, y: float, content: str, more: str) -> str:
    """Return a line of text."""
    return f'<text fill="currentColor" x="{x:g}" y="{y:g}" {more}>{escape(content)}</text>'


def box(unit: Unit, x: float, y: float, width: float, height: float) -> str:
    """Return a box with a name and a purpose."""
    name = text(x + PADDING, y + PADDING + 11, unit.name, 'font-family="monospace" font-size="13" font-weight="bold"')
    tag = text(x + width - PADDING, y + PADDING + 11, unit.tag, 'text-anchor="end" font-size="10" font-style="italic"')
    purpose = [
        text(x + PADDING, y + PADDING + 26 + at * LINE, line, 'font-size="11" opacity="0.8"')
        for at, line in enumerate(unit.lines(width))
    ]
    frame = (
        f'<rect fill="none" stroke="currentColor" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'
    )
    return "\n".join([frame, name, *([tag] if unit.tag else []), *purpose])


def line(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return a line from the lower edge of a box to the upper edge of another."""
    middle = (y + to_y) / 2
    path = f"M{x:g},{y:g} C{x:g},{middle:g} {to_x:g},{middle:g} {to_x:g},{to_y:g}"
    return f'<path fill="none" stroke="currentColor" opacity="0.45" d="{path}"/>'


def band(rows: list[list[Unit]], top: float) -> tuple[list[str], float]:
    """Return rows of boxes, the lowest row last, and where they end."""
    parts: list[str] = []
    above: dict[str, float] = {}  # the middles of the boxes of the row above
    wanted: list[Unit] = []
    y = top
    for row in reversed(rows):
        width, height = width_of(row), height_of(row)
        left = (WIDTH - len(row) * width - (len(row) - 1) * GAP) / 2
        middles = {unit.name: left + at * (width + GAP) + width / 2 for at, unit in enumerate(row)}
        for unit in wanted:
            names = sorted(unit.imports & middles.keys())
            parts += [line(above[unit.name], y - ROW_GAP, middles[name], y) for name in names]
        parts += [box(unit, middles[unit.name] - width / 2, y, width, height) for unit in row]
        above, wanted = middles, row
        y += height + ROW_GAP
    return parts, y - ROW_GAP


def drawing() -> str:
    """Return the picture as SVG, in the colour of the text around it."""
    note = 'font-size="11" font-style="italic"'
    parts, y = band(rows_of(packages()), 24)
    head = text(
        PADDING, 14, "schemagen/ · Python: a box imports from the rows below it (core: from the core, too)", note
    )
    top = y + ROW_GAP
    inside, bottom = band(rows_of(folders()), top + 30)
    name = text(PADDING * 2, top + 19, "core/ · C++20, the module schemagen._core", note)
    frame = (
        f'<rect fill="none" stroke="currentColor" stroke-dasharray="4 3" x="1" y="{top:g}" '
        f'width="{WIDTH - 2}" height="{bottom + PADDING + 4 - top:g}" rx="8"/>'
    )
    size = f'width="{WIDTH}" height="{bottom + PADDING + 6:g}" viewBox="0 0 {WIDTH} {bottom + PADDING + 6:g}"'
    opening = f'<svg class="schemagen" role="img" {size} font-family="sans-serif" xmlns="http://www.w3.org/2000/svg">'
    return "\n".join([opening, f"<title>{escape(TITLE)}</title>", head, *parts, frame, name, *inside, "</svg>"])
