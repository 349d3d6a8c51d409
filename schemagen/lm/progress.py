"""A progress bar on standard error, for work that takes long enough to wonder."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

#: A bar that would be gone at once only flickers.
PATIENCE_S = 1.0


class ProgressBar:
    """Shows how many rows are done, and how many of them failed.

    Args:
        total: Rows.
        wanted: True shows it at once, wherever standard error goes; False never; None on a terminal, after a second.
    """

    def __init__(self, total: int, *, wanted: bool | None) -> None:
        self._total = total
        self._at_once = wanted is True
        self._silent = wanted is False or (wanted is None and not sys.stderr.isatty())
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._done = 0
        self._failed = 0

    def __enter__(self) -> Self:
        """Show the bar, if it is wanted at once."""
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, *, failed: bool = False) -> None:
        """Count a row that is done."""
        self._done += 1
        self._failed += failed
        self._show()

    def _show(self) -> None:
        """Bring the bar up to date, if there is one to show."""
        if self._silent or (not self._at_once and time.monotonic() - self._began < PATIENCE_S):
            return
        if self._bar is None:
            self._bar, self._task = self._start()
        described = f"generating, {self._failed} failed" if self._failed else "generating"
        self._bar.update(self._task, completed=self._done, description=described)

    def _start(self) -> tuple[Any, Any]:
        """Begin to draw; return the bar of rich and its task."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=not self._at_once)
        task = bar.add_task("generating", total=self._total)
        bar.start()
        return bar, task
