"""A progress bar on standard error, for long work."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

#: Seconds before a bar appears; one that vanishes immediately only flickers.
PATIENCE_S = 1.0
#: Seconds between two lines, where no bar can be drawn.
LINE_S = 60.0
#: The speed is that of these last seconds: the first rows of a run are slower.
_RECENT_S = 120.0


class ProgressBar:
    """Shows how many rows are done and how many of them failed, rows per second, and the time that is left.

    Args:
        total: Number of rows; None if unknown.
        wanted: True to show it immediately, wherever standard error goes; False for never; None on a terminal, after a
            second.
        kept: Rows of the total that were done before, which do not count for the speed.
        lines: Whether to write a line a minute if standard error is no terminal.
        clock: Returns seconds.
    """

    def __init__(
        self,
        total: int | None,
        *,
        wanted: bool | None,
        kept: int = 0,
        lines: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._at_once = wanted is True
        self._silent = wanted is False or (wanted is None and not sys.stderr.isatty())
        self._clock = clock
        self._lines = lines and wanted is None
        self._began = self._told = clock()
        self._marks: deque[tuple[float, int]] = deque([(self._began, 0)])
        self._bar: Any = None
        self._task: Any = None
        self._kept = kept
        self._done = 0
        self._failed = 0

    def __enter__(self) -> Self:
        """Show the bar, if it was requested."""
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()

    @property
    def is_silent(self) -> bool:
        """Whether nothing is ever shown."""
        return self._silent and not self._lines

    def restart(self) -> None:
        """Count the time from now on: the model is loaded."""
        self._marks = deque([(self._clock(), self._done)])

    def advance(self, rows: int = 1, *, failed: int = 0) -> None:
        """Count rows that are done."""
        self._done += rows
        self._failed += failed
        now = self._clock()
        if now - self._marks[-1][0] >= 1:
            self._marks.append((now, self._done))
        while len(self._marks) > 1 and self._marks[1][0] <= now - _RECENT_S:
            self._marks.popleft()
        self._show()

    def _show(self) -> None:
        """Bring the bar up to date, or write a line, if either is due."""
        now = self._clock()
        if not self._silent and (self._at_once or now - self._began >= PATIENCE_S):
            self._draw()
        elif self._silent and self._lines and now - self._told >= LINE_S:
            self._told = now
            self._write_line()

    def _draw(self) -> None:
        if self._bar is None:
            self._bar, self._task = self._start()
        speed, left = self._speed()
        self._bar.update(
            self._task, completed=self._kept + self._done, description=self._described, speed_text=speed, left_text=left
        )

    @property
    def _described(self) -> str:
        return f"generating, {self._failed} failed" if self._failed else "generating"

    def _speed(self) -> tuple[str, str]:
        """Return the speed of the last seconds, and the time that the other rows take at it, as texts."""
        since, before = self._marks[0]
        rows, seconds = self._done - before, self._clock() - since
        return speed_of(rows, seconds), left_of(self._total and self._total - self._kept - before, rows, seconds)

    def _write_line(self) -> None:
        done = f"{self._kept + self._done}/{'?' if self._total is None else self._total}"
        print(" ".join(filter(None, [self._described, done, *self._speed()])), file=sys.stderr, flush=True)  # noqa: T201

    def _start(self) -> tuple[Any, Any]:
        """Begin to draw; return the bar of rich and its task."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        texts = (TextColumn("{task.fields[speed_text]}"), TextColumn("{task.fields[left_text]}"))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *texts)
        bar = Progress(*columns, console=Console(stderr=True), transient=not self._at_once)
        task = bar.add_task("generating", total=self._total, speed_text="", left_text="")
        bar.start()
        return bar, task


def speed_of(rows: int, seconds: float) -> str:
    """Return rows per second as text; per minute if below one a second; empty if unknown."""
    if not rows or seconds <= 0:
        return ""
    speed = rows / seconds
    return (
        f"{speed:,.0f} rows/s" if speed >= 10 else f"{speed:.1f} rows/s" if speed >= 1 else f"{speed * 60:.1f} rows/min"
    )


def time_of(seconds: float) -> str:
    """Return a time as text: 0:44, or 2 h 01 min."""
    minutes, hours, days = int(seconds) // 60, int(seconds) // 3600, int(seconds) // 86400
    if days:
        return f"{days} d {hours % 24} h"
    return f"{hours} h {minutes % 60:02} min" if hours else f"{minutes}:{int(seconds) % 60:02}"


def left_of(total: int | None, done: int, seconds: float) -> str:
    """Return the time that the other rows will take at the speed so far, as text; empty if unknown."""
    if total is None or not done:
        return ""
    return f"{time_of(max(0, total - done) * seconds / done)} left"
