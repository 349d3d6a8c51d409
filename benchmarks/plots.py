"""Plots as SVG, for pages of results: lines over two axes, rows of values with intervals, and bars of counts.

A page includes them as text, so that they take its colour of text (``currentColor``), light or dark. The colours of the marks
stand out from both grounds, and names are next to the marks or in a legend. A plot is as wide as a phone, so that its
letters are legible there; the style sheet of the site limits its width elsewhere.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 24, 40
#: Of rows: the height of one, where the values begin, and the room on the right for a number.
ROW, NAMES, NUMBERS = 20, 168, 40
#: About the width of a letter.
LETTER = 6.6
COLOURS = ("#3f83c9", "#d0604a", "#3f9a5c", "#9a70c8", "#b08a2a", "#2f9aa0", "#7d8490", "#c2609a")
BLUE, RED, AMBER, GREY = COLOURS[0], COLOURS[1], COLOURS[4], COLOURS[6]
_FAINT, _CLEAR = 'stroke="currentColor" stroke-opacity="0.15"', 'stroke="currentColor" stroke-opacity="0.5"'


def line_plot(
    title: str,
    axes: tuple[str, str],
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    logarithmic: bool = False,
    logarithmic_x: bool = False,
) -> str:
    """Return a plot of lines.

    Args:
        title: The title above it.
        axes: The labels of x and y.
        series: Name -> points, ascending in x.
        logarithmic: Whether y is.
        logarithmic_x: Whether x is.
    """
    points = [point for line in series.values() for point in line]
    ticks = _ticks([y for _, y in points], logarithmic=logarithmic)
    colours = dict(zip(series, COLOURS, strict=False))
    legend, top = _legend(colours, TOP + 4)
    up = _scale(ticks, (HEIGHT - BOTTOM, top + 8), logarithmic=logarithmic)

    across_ticks = sorted({x for x, _ in points})
    across = _scale(across_ticks, (LEFT, WIDTH - RIGHT), logarithmic=logarithmic_x)
    parts = [_text(4, 16, f"{title} ({axes[1]})", weight="bold"), *legend, _text(LEFT, HEIGHT - 6, axes[0])]
    for tick in ticks:
        parts.append(_line((LEFT, up(tick)), (WIDTH - RIGHT, up(tick)), _FAINT))
        parts.append(_text(LEFT - 6, up(tick) + 4, _tick(tick), anchor="end"))
    parts += [_text(across(x), HEIGHT - BOTTOM + 16, f"{x:g}", anchor="middle") for x in across_ticks]
    for name, line in series.items():
        drawn = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in line)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
    return _document(title, HEIGHT, parts)


def unit_plot(
    title: str, axes: tuple[str, str], series: Mapping[str, Sequence[tuple[float, float]]], *, diagonal: bool = False
) -> str:
    """Return a plot of points, joined by lines, between 0 and 1 on both axes.

    Args:
        title: The title above it.
        axes: The labels of x and y.
        series: Name -> points, ascending in x.
        diagonal: Whether to draw the line of equal values.
    """
    colours = dict(zip(series, COLOURS, strict=False))
    legend, top = _legend(colours, TOP + 4)
    ticks = [tick / 5 for tick in range(6)]
    height = top + 8 + 260 + BOTTOM
    across = _scale(ticks, (LEFT, WIDTH - RIGHT), logarithmic=False)
    up = _scale(ticks, (height - BOTTOM, top + 8), logarithmic=False)
    parts = [_text(4, 16, f"{title} ({axes[1]})", weight="bold"), *legend, _text(LEFT, height - 6, axes[0])]
    for tick in ticks:
        parts.append(_line((LEFT, up(tick)), (WIDTH - RIGHT, up(tick)), _FAINT))
        parts.append(_text(LEFT - 6, up(tick) + 4, _tick(tick), anchor="end"))
        parts.append(_text(across(tick), height - BOTTOM + 16, _tick(tick), anchor="middle"))
    if diagonal:
        parts.append(_line((across(0), up(0)), (across(1), up(1)), f'{_CLEAR} stroke-dasharray="4 4"'))
    for name, line in series.items():
        places = [(across(x), up(y)) for x, y in line]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colours[name]}"/>' for x, y in places]
    return _document(title, height, parts)


def interval_plot(
    title: str,
    axis: str,
    groups: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    mark: float | None = None,
    logarithmic: bool = False,
) -> str:
    """Return a plot of values with intervals: a row for each, under the name of its group, a colour for each name.

    Args:
        title: The title above it.
        axis: The label of the values.
        groups: Group -> name -> the value, and the ends of its interval.
        mark: A value to draw a line at, the one that others are compared with.
        logarithmic: Whether the values are; each is also written as a number then.
    """
    names = list(dict.fromkeys(name for rows in groups.values() for name in rows))
    colours = dict(zip(names, COLOURS * len(names), strict=False))
    ticks = _ticks([end for rows in groups.values() for row in rows.values() for end in row], logarithmic=logarithmic)
    right = WIDTH - (NUMBERS if logarithmic else RIGHT)
    across = _scale(ticks, (NAMES, right), logarithmic=logarithmic)
    parts, y = [_text(4, 16, title, weight="bold")], float(TOP)
    for group, rows in groups.items():
        parts.append(_text(4, y + ROW - 5, group, weight="bold"))
        y += ROW
        for value, style in [*((tick, _FAINT) for tick in ticks), *([] if mark is None else [(mark, _CLEAR)])]:
            parts.append(_line((across(value), y), (across(value), y + ROW * len(rows)), style))
        for name, (value, low, high) in rows.items():
            middle, style = y + ROW / 2, f'stroke="{colours[name]}" stroke-width="2"'
            parts += [_text(14, middle + 4, name), _line((across(low), middle), (across(high), middle), style)]
            parts.append(f'<circle cx="{across(value):.1f}" cy="{middle:.1f}" r="4" fill="{colours[name]}"/>')
            if logarithmic:
                parts.append(_text(WIDTH - 2, middle + 4, _short(value), anchor="end"))
            y += ROW
    parts += [_text(across(tick), y + 15, _tick(tick), anchor="middle") for tick in ticks]
    parts.append(_text(NAMES - 4, y + 33, axis))
    return _document(title, y + BOTTOM, parts)


def bar_plot(title: str, rows: Mapping[str, Mapping[str, int]], colours: Mapping[str, str]) -> str:
    """Return a plot of counts that add up to the same in each row: a bar for each row, a part for each kind.

    Args:
        title: The title above it.
        rows: Row -> kind -> count, in the order of the parts.
        colours: Of the kinds.
    """
    legend, top = _legend(colours, TOP + 4)
    names = LETTER * max(map(len, rows)) + 12
    unit = (WIDTH - RIGHT - names) / max(sum(row.values()) for row in rows.values())
    parts, y = [_text(4, 16, title, weight="bold"), *legend], top + 6.0
    for name, row in rows.items():
        parts.append(_text(4, y + 17, name))
        for kind, end in zip(row, accumulate(row.values()), strict=True):
            if row[kind]:
                wide, x = row[kind] * unit, names + (end - row[kind]) * unit
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{ROW + 4}" fill="{colours[kind]}"/>'
                )
                parts.append(_text(x + wide / 2, y + 17, str(row[kind]), anchor="middle", colour="#fff"))
        y += ROW + 10
    return _document(title, y, parts)


def _legend(colours: Mapping[str, str], top: float) -> tuple[list[str], float]:
    """Return the names with their colours, in as many lines as they need, and where they end."""
    parts, x, y = [], 4.0, top
    for name, colour in colours.items():
        wide = 22 + LETTER * len(name)
        if x > 4 and x + wide > WIDTH:
            x, y = 4.0, y + ROW
        parts.append(f'<rect x="{x:.1f}" y="{y + 3:.1f}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 15, y + 12, name))
        x += wide + 8
    return parts, y + ROW


def _scale(ticks: Sequence[float], ends: tuple[float, float], *, logarithmic: bool) -> Callable[[float], float]:
    """Return what maps a value to a coordinate, so that the ticks fill the room between two ends."""

    def place(value: float) -> float:
        return math.log10(value) if logarithmic else value

    low, high = place(ticks[0]), place(ticks[-1])
    return lambda value: ends[0] + (place(value) - low) / ((high - low) or 1) * (ends[1] - ends[0])


def _ticks(values: Iterable[float], *, logarithmic: bool) -> list[float]:
    """Return round numbers around values: powers of ten, else about five from 0 on."""
    found = list(values)
    if logarithmic:
        powers = range(math.floor(math.log10(min(found))), math.ceil(math.log10(max(found))) + 1)
        return [10.0**power for power in powers]
    rough = max(found) / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
    return [round(step * count, 10) for count in range(math.ceil(max(found) / step) + 1)]


def _short(value: float) -> str:
    """Return a number with at least two digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.{1 + (value < 1)}f}"


def _tick(value: float) -> str:
    """Return a round number, in thousands or millions if it is large."""
    size, unit = next(((size, unit) for size, unit in ((1e6, "M"), (1e3, "k")) if value >= size), (1, ""))
    return f"{value / size:,.10g}{unit}"


def _document(title: str, height: float, parts: Sequence[str]) -> str:
    """Return the whole picture."""
    return (
        f'<svg class="plot" role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'font-family="sans-serif" font-size="12">\n<title>{_plain(title)}</title>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _line(start: tuple[float, float], end: tuple[float, float], style: str) -> str:
    return f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" {style}/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal", colour: str = "currentColor"
) -> str:
    plain = _plain(text)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">{plain}</text>'


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
