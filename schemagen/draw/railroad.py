"""Railroad diagrams as SVG, in pure Python.

A track runs from the left to the right, through a box for each symbol to read. A choice forks the track, and a repetition is a
loop that runs back below it. Every part knows its width and its height above and below its track, so a diagram is laid out from
its parts, bottom up, and drawn top down.

Source: the syntax charts of the Pascal User Manual and Report (1974).

Invariant: a part begins and ends at the height of its track.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Lengths in pixels: the radius of curves, half the height of a box, gaps between parts, the width of a character.
RADIUS = 8
HALF = 11
GAP = 10
CHARACTER = 7.25
PADDING = 9
#: A wider sequence is broken into lines.
MAX_WIDTH = 760

BoxKind = Literal["terminal", "rule"]


class Part(ABC):
    """A part of a diagram.

    Attributes:
        width: The length of its track.
        up: Its height above the track.
        down: Its height below the track.
    """

    width: float
    up: float
    down: float

    @abstractmethod
    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the elements of the part; its track begins at the point ``(x, y)``."""


class Box(Part):
    """A symbol to read: a rule has corners, a terminal is round."""

    def __init__(self, label: str, kind: BoxKind) -> None:
        self._label = label
        self._radius = HALF if kind == "terminal" else 0
        self.width = width_of(label) + 2 * PADDING
        self.up = self.down = HALF

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the outline and the label."""
        yield (
            f'<rect fill="none" stroke="currentColor" x="{x:g}" y="{y - HALF:g}" width="{self.width:g}" '
            f'height="{2 * HALF}" rx="{self._radius}"/>'
        )
        yield text(self._label, x + self.width / 2, y + 4, anchor="middle")


class Skip(Part):
    """The empty text."""

    width = up = down = 0.0

    def draw(self, x: float, y: float) -> Iterator[str]:  # noqa: ARG002 - nowhere
        """Yield nothing: the track goes on."""
        yield from ()


class Row(Part):
    """Parts one after the other."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.width = sum(part.width for part in parts) + GAP * max(len(parts) - 1, 0)
        self.up = max((part.up for part in parts), default=0)
        self.down = max((part.down for part in parts), default=0)

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the parts, and the track between them."""
        for number, part in enumerate(self._parts):
            if number:
                yield track(f"M{x:g},{y:g}h{GAP}")
                x += GAP
            yield from part.draw(x, y)
            if not part.width:
                continue
            x += part.width


class Lines(Part):
    """Rows one below the other, read like the lines of a page."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._inner = max(row.width for row in rows)
        self._heights = [above.down + GAP + RADIUS * 2 + below.up for above, below in pairwise(rows)]
        self.width = self._inner + 6 * RADIUS
        self.up, self.down = rows[0].up, sum(self._heights) + rows[-1].down

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield each row, and the track from its end back to the start of the next one; leave at the height of the first."""
        start, end, top = x + 2 * RADIUS, x + self.width, y
        yield track(f"M{x:g},{y:g}H{start:g}")
        for row, height in zip(self._rows, [*self._heights, None], strict=True):
            yield from row.draw(start, y)
            at = start + row.width
            if height is None:
                turn = f"H{end - 2 * RADIUS:g}" + _curve("right", "up") + f"V{top + RADIUS:g}" + _curve("up", "right")
                yield track(f"M{at:g},{y:g}{turn}")
                return
            middle = y + row.down + GAP / 2 + RADIUS
            back = f"V{middle - RADIUS:g}" + _curve("down", "left") + f"H{x + 2 * RADIUS:g}" + _curve("left", "down")
            rest = f"V{y + height - RADIUS:g}" + _curve("down", "right")
            yield track(f"M{at:g},{y:g}" + _curve("right", "down") + back + rest)
            y += height


class Fork(Part):
    """One of several parts: the first on the track, the others below it."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._inner = max(part.width for part in parts)
        self._heights: list[float] = [0]
        for above, below in pairwise(parts):
            step = max(above.down + GAP + below.up, 2 * RADIUS)
            self._heights.append(self._heights[-1] + step)
        self.width = self._inner + 4 * RADIUS
        self.up = parts[0].up
        self.down = self._heights[-1] + parts[-1].down

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the parts, with the track to and from each."""
        end = x + self.width
        for part, height in zip(self._parts, self._heights, strict=True):
            start = x + 2 * RADIUS + (self._inner - part.width) / 2
            if height:
                into = _curve("right", "down") + f"V{y + height - RADIUS:g}" + _curve("down", "right")
                out = _curve("right", "up") + f"V{y + RADIUS:g}" + _curve("up", "right")
            else:
                into = out = ""
            yield track(f"M{x:g},{y:g}{into}H{start:g}")
            yield from part.draw(start, y + height)
            yield track(f"M{start + part.width:g},{y + height:g}H{end - (2 * RADIUS if height else 0):g}{out}")


class Loop(Part):
    """A part that is read once or more, with its label at the way back."""

    def __init__(self, inner: Part, label: str = "") -> None:
        self._inner = inner
        self._label = label
        self._room = max(inner.width, width_of(label) + GAP)
        self.width = self._room + 2 * RADIUS
        self.up = inner.up
        self._back = max(inner.down + GAP, 2 * RADIUS)
        self.down = self._back + (18 if label else 4)  # the arrow is 4 high on either side

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the part and the way back below it."""
        start = x + RADIUS + (self._room - self._inner.width) / 2
        left, right = x + RADIUS, x + self.width - RADIUS
        yield track(f"M{x:g},{y:g}H{start:g}")
        yield from self._inner.draw(start, y)
        yield track(f"M{start + self._inner.width:g},{y:g}H{x + self.width:g}")
        down = _curve("right", "down") + f"V{y + self._back - RADIUS:g}" + _curve("down", "left")
        up = f"H{left:g}" + _curve("left", "up") + f"V{y + RADIUS:g}" + _curve("up", "right")
        yield track(f"M{right:g},{y:g}{down}{up}")
        middle = (left + right) / 2
        yield track(f"M{middle + 4:g},{y + self._back - 4:g}l-5,4l5,4")
        if self._label:
            yield text(self._label, middle, y + self._back + 14, anchor="middle", size=11)


@dataclass(frozen=True, slots=True)
class Chart:
    """One diagram with its name."""

    name: str
    part: Part


def row(parts: Sequence[Part]) -> Part:
    """Return parts one after the other, in several lines if one would be too wide."""
    rows: list[list[Part]] = [[]]
    width = 0.0
    for part in parts:
        if rows[-1] and width + GAP + part.width > MAX_WIDTH:
            rows.append([])
            width = 0.0
        rows[-1].append(part)
        width += GAP + part.width
    return Row(rows[0]) if len(rows) == 1 else Lines([Row(each) for each in rows])


def svg_of(charts: Sequence[Chart], title: str, style: str = "", *, rails: bool = True) -> str:
    """Return diagrams one below the other as an SVG element, in the colour of the text around it.

    Args:
        charts: The diagrams from top to bottom.
        title: The title, which screen readers read out.
        style: An element that sets the colour where none is inherited.
        rails: Whether the track of each diagram has a start and an end mark.
    """
    margin, y, width, drawn = 10, 6.0, 0.0, []
    for chart in charts:
        y += 14
        if chart.name:
            drawn.append(text(chart.name, margin, y, anchor="start", bold=True))
        y += 8 + max(chart.part.up, RADIUS)
        end = margin + 2 * GAP + chart.part.width
        drawn += chart.part.draw(margin + GAP, y)
        if rails:
            drawn.append(track(f"M{margin},{y - 6:g}v12M{margin},{y:g}h{GAP}"))
            drawn.append(track(f"M{end - GAP:g},{y:g}h{GAP}m0,-6v12"))
        width = max(width, end + margin)
        y += max(chart.part.down, RADIUS) + 14
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    head = f'<svg class="schemagen" {size} xmlns="http://www.w3.org/2000/svg">'
    return "\n".join(filter(None, [head, style, f"<title>{escape(title)}</title>", *drawn, "</svg>"])) + "\n"


def track(path: str) -> str:
    """Return a piece of track."""
    return f'<path fill="none" stroke="currentColor" d="{path}"/>'


def text(label: str, x: float, y: float, *, anchor: str, size: int = 12, bold: bool = False) -> str:
    """Return a label with its baseline at the height ``y``."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text fill="currentColor" text-anchor="{anchor}" x="{x:g}" y="{y:g}" font-family="monospace" '
        f'font-size="{size}"{weight}>{escape(label)}</text>'
    )


def width_of(label: str) -> float:
    """Return the width of a label in pixels; East Asian wide characters count twice."""
    return CHARACTER * sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in label)


_STEPS = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "down": (0, 1)}


def _curve(before: str, after: str) -> str:
    """Return a quarter of a circle, from one direction into another."""
    (x, y), (to_x, to_y) = _STEPS[before], _STEPS[after]
    turn = 1 if x * to_y - y * to_x > 0 else 0
    return f"a{RADIUS},{RADIUS} 0 0 {turn} {(x + to_x) * RADIUS},{(y + to_y) * RADIUS}"
