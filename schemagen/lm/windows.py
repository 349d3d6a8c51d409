"""Prompts without end: windows of them are read, answered and given away before the next window is read.

What is kept at any time is one window. Within it rows are sorted by length and share batches, so a window is several batches;
and it is what an interrupted job loses, so it is no longer than about half a minute. The first one is small, so that the first
answers come soon.
"""

from __future__ import annotations

import time
from collections.abc import Sized
from itertools import islice
from typing import TYPE_CHECKING, Any

from schemagen.arguments import check_count, check_seed
from schemagen.generation import Failure
from schemagen.lm.batch import check_prompts, generate_batch, raise_misuse
from schemagen.lm.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from schemagen.generation import Generation
    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.batch import Batch

#: Batches in a window: enough rows to sort by length.
_BATCHES = 8
#: Rows of the first window, and of the largest, where no size of batches is stated.
_FIRST, _MOST = 64, 4096
#: A window that took longer is not followed by a larger one.
_LONG_S = 15.0


class WindowSize:
    """How many rows the next window has.

    Args:
        batch_size: Rows that the model works on at a time; None: not stated.
        rows: Of every window; None: few at first, twice as many after each window that was short.

    Attributes:
        rows: Of the next window.

    Raises:
        OptionError: A number is no whole number above 0.
    """

    def __init__(self, batch_size: int | None = None, rows: int | None = None) -> None:
        self._fixed = rows is not None
        self.rows = check_count("window", rows) if rows is not None else _BATCHES * (batch_size or _FIRST // _BATCHES)
        self._most = max(_MOST, self.rows)

    def took(self, seconds: float) -> None:
        """Choose the size of the next window by how long this one took."""
        if not self._fixed and seconds < _LONG_S:
            self.rows = min(2 * self.rows, self._most)


def map_prompts(
    batch: Batch,
    prompts: Iterable[Any],
    grammar: Grammar,
    *,
    seed: int | None,
    window: int | None,
    progress: bool | None,
) -> Iterator[Generation[Any] | Failure]:
    """Return an iterator over what comes of the prompts, in their order; arguments are checked now.

    Args:
        batch: Whom to ask, and how.
        prompts: Texts or chats; read one window at a time.
        grammar: Of all values.
        seed: Of the first row, counted up; None: none.
        window: Rows of a window; None: as `WindowSize`.
        progress: As for `LanguageModel.batch`.

    Raises:
        OptionError: An argument cannot be meant; in the first window, as `raise_misuse`.
    """
    total = len(prompts) if isinstance(prompts, Sized) else None
    given = iter(check_prompts(prompts))
    size = WindowSize(batch.batch_size, window)
    check_seed(seed)
    return _mapped(batch, given, grammar, seed, size, ProgressBar(total, wanted=progress))


def _mapped(
    batch: Batch, prompts: Iterator[Any], grammar: Grammar, seed: int | None, size: WindowSize, bar: ProgressBar
) -> Iterator[Generation[Any] | Failure]:
    first = 0
    with bar:
        while window := list(islice(prompts, size.rows)):
            began = time.monotonic()
            seeds = None if seed is None else seed + first
            found = generate_batch(batch, window, grammar, seed=seeds, progress=False, first=first)
            if first == 0:
                raise_misuse(found)
            size.took(time.monotonic() - began)
            bar.advance(len(found), failed=sum(isinstance(outcome, Failure) for outcome in found))
            first += len(found)
            yield from found
