"""Plots as SVG, for pages of results: lines over two axes, named at their ends, and rows of values with intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 80, 190, 28, 44
#: Of interval plots: the height of a row, and where the values begin.
ROW, NAMES = 20, 190
COLOURS = ("#2563a8", "#b8442e", "#3a7d44", "#7a4fa3", "#8a6d1a")


def line_plot(
    title: str,
    axes: tuple[str, str],
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    logarithmic: bool = False,
) -> str:
    """Return a plot.

    Args:
        title: The title above it.
        axes: The labels of x and y.
        series: Name -> points, ascending in x.
        logarithmic: Whether y is.
    """
    points = [point for line in series.values() for point in line]
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    ticks = _powers(points) if logarithmic else _steps(max(y for _, y in points))
    low, high = (math.log10(ticks[0]), math.log10(ticks[-1])) if logarithmic else (ticks[0], ticks[-1])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / ((high_x - low_x) or 1)
        up = ((math.log10(y) if logarithmic else y) - low) / ((high - low) or 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [_text(LEFT, TOP - 12, f"{title} ({axes[1]})", weight="bold"), _text(LEFT, HEIGHT - 8, axes[0])]
    for tick in ticks:
        _, y = place(low_x, tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{tick:,.10g}", anchor="end"))
    across = sorted({x for x, _ in points})
    parts += [_text(place(x, ticks[0])[0], HEIGHT - BOTTOM + 16, f"{x:g}", anchor="middle") for x in across]
    for colour, (name, line) in zip(COLOURS, series.items(), strict=False):
        drawn = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in line)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = place(*line[-1])
        parts.append(_text(x + 8, y + 4, name, colour=colour))
    return _document(HEIGHT, parts)


def interval_plot(
    title: str, axis: str, groups: Mapping[str, Mapping[str, tuple[float, float, float]]], *, mark: float | None = None
) -> str:
    """Return a plot of values with intervals: a row for each, under the name of its group, a colour for each name.

    Args:
        title: The title above it.
        axis: The label of the values.
        groups: Group -> name -> the value, and the ends of its interval.
        mark: A value to draw a line at, the one that others are compared with.
    """
    names = list(dict.fromkeys(name for rows in groups.values() for name in rows))
    colours = dict(zip(names, COLOURS * len(names), strict=False))
    most = max(end for rows in groups.values() for _, _, end in rows.values())
    ticks = _steps(most)
    height = TOP + ROW * sum(1 + len(rows) for rows in groups.values()) + BOTTOM

    def across(value: float) -> float:
        return NAMES + value / ticks[-1] * (WIDTH - NAMES - 30)

    parts = [_text(8, TOP - 12, title, weight="bold"), _text(NAMES, height - 8, axis)]
    for tick in ticks:
        x = across(tick)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}" stroke="#ddd"/>')
        parts.append(_text(x, height - BOTTOM + 16, f"{tick:,.10g}", anchor="middle"))
    if mark is not None:
        x = across(mark)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}" stroke="#888"/>')
    y = TOP
    for group, rows in groups.items():
        y += ROW
        parts.append(_text(8, y - 4, group, weight="bold"))
        for name, (value, low, high) in rows.items():
            y += ROW
            colour = colours[name]
            parts.append(_text(20, y - 4, name, colour=colour))
            ends, middle = f'x1="{across(low):.1f}" x2="{across(high):.1f}"', y - 8
            parts.append(f'<line {ends} y1="{middle}" y2="{middle}" stroke="{colour}" stroke-width="2"/>')
            parts.append(f'<circle cx="{across(value):.1f}" cy="{middle}" r="4" fill="{colour}"/>')
    return _document(height, parts)


def _document(height: float, parts: Sequence[str]) -> str:
    """Return the whole picture."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n{body}\n</svg>\n'
    )


def _steps(most: float) -> list[float]:
    """Return about five round numbers from 0 to beyond a number."""
    rough = most / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
    return [round(step * count, 10) for count in range(math.ceil(most / step) + 1)]


def _powers(points: Sequence[tuple[float, float]]) -> list[float]:
    """Return the powers of ten around the values."""
    lowest = math.floor(math.log10(min(y for _, y in points)))
    highest = math.ceil(math.log10(max(y for _, y in points)))
    return [10.0**power for power in range(lowest, highest + 1)]


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal", colour: str = "#222") -> str:
    plain = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">{plain}</text>'
