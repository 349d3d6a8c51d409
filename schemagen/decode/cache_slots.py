"""Keys and values of rows that come and go, each row in a slot of one buffer for each layer of the model.

Idea: a buffer [R, H, C, D] has spare rows and columns. A step writes a column in place, a row that joins is written
into the next slot, and where a row leaves the last one moves into its slot. So only new or moved entries are copied;
only when a buffer is full are its rows shifted to its beginning, or copied into a larger one. The model sees views of
the rows and columns in use. It gets the place of each token as a position, so a token may be in any column, and there
may be holes between a row's columns: the mask marks its own columns. (If a new prompt is longer than the columns in
use, it starts at the first column, and the other rows continue after its end.)

Invariants: slots ``0 .. rows`` are in use, and of each the columns ``first .. end``, the last of which is the row's
last token; the other entries of a slot before ``end`` are zero or belonged to the same row before, never to another
row, since ``NaN`` times the weight of 0 that the mask gives it would be ``NaN``.

Rejected: building a new tensor from the remaining and the joining rows, and appending a column with ``torch.cat`` at
each step, as the cache of transformers does: that took a quarter of the time of the thread that runs the bundled model.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A new buffer has this many spare columns, plus an eighth of those in use.
_MORE_COLUMNS = 64
#: The rows of a buffer are a multiple of this.
_MORE_ROWS = 8
#: A shift copies everything in use twice, so it has to free this many columns.
_WORTH_A_SHIFT = 32
#: A buffer larger than this many times its used part is replaced by a smaller one.
_WASTE = 4


class CacheSlots:
    """The cache of a batch.

    Args:
        config: The configuration of the model; each of its layers keeps every position.
        device: The device of masks and positions.

    Attributes:
        cache: The cache to pass to the model.
        rows: How many slots are in use.
        first: The first column that a row uses.
        end: The column after the last one in use.
    """

    def __init__(self, config: Any, device: torch.device) -> None:
        self._config = config
        self._device = device
        self.clear()

    @property
    def size(self) -> tuple[int, int]:
        """How many rows and columns the buffers have."""
        capacity, columns = self._mask.shape
        return capacity, columns

    def clear(self) -> None:
        """Forget all rows, and the buffers."""
        self.rows = self.first = self.end = 0
        self._lengths: list[int] = []  # tokens of each row
        self._starts: list[int] = []  # its first column
        self._mask = torch.zeros((0, 0), dtype=torch.int64, device=self._device)  # int64 [R, C]
        self.cache = empty_cache(self._config)
        self.cache.layers = [_layer_type()(_Buffers(self)) for _ in self.cache.layers]

    def step(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Make room for a token of each row; return the mask, int64 [B, T], and the positions, int64 [B, 1], of a pass.

        Call `stepped` after the pass.
        """
        if self.end == self._mask.shape[1]:
            self._fit(self.rows, self.end - self.first + 1)
        self._mask[: self.rows, self.end] = 1
        positions = torch.tensor(self._lengths, device=self._device).unsqueeze(-1)
        return self._mask[: self.rows, self.first : self.end + 1], positions

    def stepped(self) -> None:
        """Record that each row has one more token."""
        self.end += 1
        self._lengths = [length + 1 for length in self._lengths]

    def crop(self, row: int, length: int) -> bool:
        """Keep the first tokens of a row; return whether there were more. Their columns become holes."""
        surplus = self._lengths[row] - length
        if surplus <= 0:
            return False
        columns = self._mask[row, : self.end].nonzero()[-surplus:, 0]
        self._mask[row, columns] = 0
        self._lengths[row] = length
        return True

    def add(self, other: Any, lengths: Sequence[int]) -> None:
        """Add the rows of another cache after the present ones.

        Args:
            other: A cache as `empty_cache` returns it, with keys and values [B, H, T, D], padded on the left.
            lengths: Tokens of each row without padding; one of them is T.
        """
        width, rows = max(lengths), self.rows + len(lengths)
        if rows > len(self._mask) or width > self._mask.shape[1]:
            self._fit(rows, max(self.end - self.first, width))
        end = max(self.end, width)
        for layer, more in zip(self.cache.layers, other.layers, strict=True):
            layer.buffers.add((more.keys, more.values), rows, end)
        self._mask[: self.rows, self.end : end] = 0
        self._mask[self.rows : rows, :end] = 0
        for row, length in enumerate(lengths, self.rows):
            self._mask[row, end - length : end] = 1
        self.rows, self.end = rows, end
        self._lengths += lengths
        self._starts += [end - length for length in lengths]
        self._look()

    def keep(self, kept: Sequence[int]) -> list[int]:
        """Keep some of the rows; return their new order: the old slot of the first row, the second, ...

        Args:
            kept: Slots, each once, ascending.
        """
        count, staying = len(kept), set(kept)
        movers = [row for row in kept if row >= count]
        free = [row for row in range(count) if row not in staying]
        order = [*range(count)]
        for slot, row in zip(free, movers, strict=True):
            order[slot] = row
        if movers:
            to, come = torch.tensor(free, device=self._device), torch.tensor(movers, device=self._device)
            for layer in self.cache.layers:
                layer.buffers.move(to, come)
            self._mask[to, : self.end] = self._mask[come, : self.end]
        self.rows = count
        self._lengths = [self._lengths[row] for row in order]
        self._starts = [self._starts[row] for row in order]
        self._look()
        capacity, columns = self.size
        width = self.end - self.first
        if capacity > _WASTE * (count + _MORE_ROWS) or columns > _WASTE * (width + _MORE_COLUMNS):
            self._fit(count, width, anew=True)
        return order

    def _fit(self, rows: int, width: int, *, anew: bool = False) -> None:
        """Move the rows to the beginning of the buffers, and make room for more rows and columns.

        Args:
            rows: The required number of rows.
            width: The required number of columns.
            anew: Whether to replace the buffers even if they are large enough.
        """
        capacity, columns = self.size
        if anew or rows > capacity or width + _WORTH_A_SHIFT > columns:
            fits = not anew and rows <= capacity
            capacity = capacity if fits else -(-rows // _MORE_ROWS) * _MORE_ROWS
            columns = width + _MORE_COLUMNS + width // 8
        for layer in self.cache.layers:
            layer.buffers.fit(capacity, columns)
        self._mask = _fitted(self._mask, self.rows, self.first, self.end, (capacity, columns))
        self._starts = [start - self.first for start in self._starts]
        self.first, self.end = 0, self.end - self.first
        self._look()

    def _look(self) -> None:
        """Update the views that the model sees."""
        self.first = min(self._starts, default=self.end)
        for layer in self.cache.layers:
            layer.look(self.end)


def empty_cache(config: Any) -> Any:
    """Return an empty cache of transformers."""
    from transformers import DynamicCache

    return DynamicCache(config=config)


class _Buffers:
    """The keys and the values of one layer, each [R, H, C, D]; not allocated before the first row.

    Args:
        slots: The slots that say which part is in use.
    """

    def __init__(self, slots: CacheSlots) -> None:
        self._slots = slots
        self._both: list[torch.Tensor] = []

    def in_use(self, end: int) -> list[torch.Tensor]:
        """Return views of the rows in use, up to a column; of keys, and of values."""
        slots = self._slots
        return [buffer[: slots.rows, :, slots.first : end] for buffer in self._both]

    def write(self, states: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Write the new entries of each row after the last column; return the views in use then."""
        slots = self._slots
        end = slots.end + states[0].shape[2]
        for buffer, new in zip(self._both, states, strict=True):
            buffer[: slots.rows, :, slots.end : end] = new
        return self.in_use(end)

    def add(self, states: Sequence[torch.Tensor], rows: int, end: int) -> None:
        """Write the keys and values of new rows so that they end at a column; the columns before them become zero."""
        capacity, columns = self._slots.size
        live = self._slots.rows
        if not self._both:
            self._both = [each.new_zeros((capacity, each.shape[1], columns, each.shape[3])) for each in states]
        for buffer, new in zip(self._both, states, strict=True):
            start = end - new.shape[2]
            buffer[:live, :, self._slots.end : end] = 0
            buffer[live:rows, :, :start] = 0
            buffer[live:rows, :, start:end] = new

    def move(self, to: torch.Tensor, come: torch.Tensor) -> None:
        """Copy rows into other slots."""
        for buffer in self._both:
            target, source = to.to(buffer.device), come.to(buffer.device)
            buffer[target, :, : self._slots.end] = buffer[source, :, : self._slots.end]

    def fit(self, capacity: int, columns: int) -> None:
        """Move the used part to the beginning of a buffer of another size, or of the same."""
        slots = self._slots
        for place, buffer in enumerate(self._both):
            size = (capacity, buffer.shape[1], columns, buffer.shape[3])
            self._both[place] = _fitted(buffer, slots.rows, slots.first, slots.end, size)


def _fitted(buffer: torch.Tensor, rows: int, first: int, end: int, size: tuple[int, ...]) -> torch.Tensor:
    """Return a buffer of some size that begins with the used part of another: the other itself, if it has the size."""
    columns = buffer.ndim - 2 or 1  # [R, C], or [R, H, C, D]
    used = buffer[:rows].narrow(columns, first, end - first)
    if buffer.shape == size:
        used, found = used.clone(), buffer
    else:
        found = buffer.new_zeros(size)
    found[:rows].narrow(columns, 0, end - first).copy_(used)
    return found


@cache
def _layer_type() -> Any:
    """Return the class of a layer for models; it exists only if transformers has the base class."""
    from transformers.cache_utils import DynamicLayer

    class SlotLayer(DynamicLayer):  # type: ignore[misc]  # transformers publishes no types
        """A layer whose ``keys`` and ``values`` are views of the used part."""

        def __init__(self, buffers: _Buffers) -> None:
            super().__init__()
            self.buffers = buffers

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
        ) -> tuple[torch.Tensor, torch.Tensor]:
            """Write a column of each row, and return all of them."""
            self.keys, self.values = self.buffers.write((key_states, value_states))
            return self.keys, self.values

        def look(self, end: int) -> None:
            """Update the views, up to a column."""
            if found := self.buffers.in_use(end):
                self.keys, self.values = found
                self.dtype, self.device, self.is_initialized = self.keys.dtype, self.keys.device, True

    return SlotLayer
