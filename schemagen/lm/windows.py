"""Answer an iterable of prompts of any length, one window at a time, in constant memory.

Within a window rows are sorted by length and share batches, so a window is several batches; and an interrupted
job loses one window, so it is no longer than about half a minute. The first one is small, so that the first
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
#: Rows of the first window, and of the largest, if no batch size is given.
_FIRST, _MOST = 64, 4096
#: Seconds; a window that took longer is not followed by a larger one.
_LONG_S = 15.0


class WindowSize:
    """How many rows the next window has.

    Args:
        batch_size: Rows that the model works on at a time; None for the default.
        rows: Rows of every window; None for few at first, twice as many after each short window.

    Attributes:
        rows: Rows of the next window.

    Raises:
        OptionError: A number is not a whole number above 0.
    """

    def __init__(self, batch_size: int | None = None, rows: int | None = None) -> None:
        self._fixed = rows is not None
        self.rows = check_count("window", rows) if rows is not None else _BATCHES * (batch_size or _FIRST // _BATCHES)
        self._most = max(_MOST, self.rows)

    def took(self, seconds: float) -> None:
        """Choose the size of the next window from the time of this one."""
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
    """Return an iterator over the generations and failures of prompts, in order; arguments are checked immediately.

    Args:
        batch: The settings of the batch.
        prompts: Texts or chats; read one window at a time.
        grammar: The grammar of all values.
        seed: The seed of the first row, counted up; None for none.
        window: Rows of a window; None for `WindowSize`.
        progress: As for `LanguageModel.batch`.

    Raises:
        OptionError: An argument is invalid; in the first window, as for `raise_misuse`.
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
