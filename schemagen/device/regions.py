"""The tensors of `schemagen.device.kernels.Tables`, as regions that grow without sending data to the device twice.

Idea: a grammar has a region of states and one of transitions, a matrix with a column for each class. Both have spare
room; a region that is full is allocated again at the end of its tensor, twice as large, and copied there by the device.
The space of the old regions is lost, at most as much as is in use. So a page fault sends only the rows that were
computed for it: a class that was split gets a copy of the column of its origin
(core/runtime/token_table.cpp).

Invariants: entries without a row lead to `HOST`; a token only ever moves to a new class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from schemagen.device.kernels import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The text left its grammar / has ended / depends on more than a state.
DEAD, OVER, HOST = 0, 1, 2
#: The state of rows without a constraint.
FREE = 3
#: Masks that all grammars share: nothing (of states without a row), the tokens after an end, and everything.
_NOTHING, _ENDING, _ALL = 0, 1, 2


class Heap:
    """A tensor whose rows are allocated in order; it is copied into one of twice its size when they run out.

    Attributes:
        tensor: [capacity, *row]; replaced by a `take` that exceeds its size.
    """

    def __init__(self, fill: int, row: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        self._fill, self._row = fill, row
        self._used = 0
        self.tensor = torch.empty(0, *row, dtype=dtype, device=device)

    def take(self, count: int) -> int:
        """Allocate rows; return the first of them."""
        start = self._used
        self._used += count
        if self._used > len(self.tensor):
            self._grow(max(self._used, 2 * len(self.tensor)), start)
        return start

    def reserve(self, count: int) -> None:
        """Make room for exactly this many rows, before the first is allocated."""
        self._grow(count, 0)

    def _grow(self, capacity: int, used: int) -> None:
        grown = self.tensor.new_full((capacity, *self._row), self._fill)
        grown[:used] = self.tensor[:used]
        self.tensor = grown


@dataclass(slots=True)
class Region:
    """The place of a grammar, and its part that is on the device.

    Attributes:
        classes: int32 [V]: class of each token.
        first: Index of its first transition.
        width: Capacity for classes.
        class_count: Number of classes.
        base: Number of its first state among all.
        capacity: Capacity for states.
        needed: int32 [states]: fewest tokens to finish.
        ready: bool [states]: whether a state has its row.
        mask_ids: int64: for each mask of the table its row in the masks of all.
    """

    classes: Any
    first: int = 0
    width: int = 0
    class_count: int = 0
    base: int = 0
    capacity: int = 0
    needed: Any = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    ready: Any = field(default_factory=lambda: np.zeros(0, dtype=bool))
    mask_ids: Any = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def states(self) -> int:
        """Number of states, with a row or without."""
        return len(self.ready)


class Regions:
    """The grammars of a device in one set of tensors; the first is that of rows without a constraint.

    Args:
        tables: Tables of the core, as far as they are computed; see `refresh`.
        device: The device of the tensors.
        width: V.
        ending: int32 [W]: the mask of tokens that may follow an end.
    """

    def __init__(self, tables: Sequence[Any], device: torch.device, width: int, ending: Any) -> None:
        self._device, self._width, self._words = device, width, len(ending)
        self._transitions = Heap(HOST, (), torch.int32, device)
        self._masks = Heap(0, (self._words,), torch.int32, device)
        self._mask_ids = Heap(_NOTHING, (), torch.int64, device)
        self._needed = Heap(0, (), torch.int32, device)
        self._ready = Heap(0, (), torch.bool, device)
        self._classes = torch.zeros(1 + len(tables), width, dtype=torch.int32, device=device)
        bits = np.unpackbits(ending.view(np.uint8), bitorder="little")[:width].astype(bool)
        self._ends = self._send(bits, torch.bool)
        sizes = [(FREE + 1, 1), *((len(table), table.class_count) for table in tables)]
        self._transitions.reserve(sum(states * classes for states, classes in sizes))
        for heap in (self._mask_ids, self._needed, self._ready):
            heap.reserve(sum(states for states, _ in sizes))
        self._masks.reserve(_ALL + 1 + sum(table.mask_count for table in tables))
        self._add_masks(np.stack([np.zeros_like(ending), ending, np.full_like(ending, -1)]))
        self._regions = [self._free()]
        for table in tables:
            self._regions.append(Region(np.zeros(width, dtype=np.int32)))
            self.refresh(len(self._regions) - 1, table)

    def refresh(self, index: int, table: Any) -> None:
        """Send the new entries of a grammar.

        Args:
            index: The index of the grammar; 0 is the one without a constraint.
            table: The table of the core; no other thread may use it meanwhile.

        Cost: sending the new rows, and copying the regions of the grammar on the device if they were too small.
        """
        region = self._regions[index]
        needed, ready = table.needed(), table.ready().astype(bool)
        ready[[DEAD, OVER]] = True
        known = region.states
        self._make_room(region, len(ready), table.class_count)
        self._split_classes(index, fitted(table.classes(), self._width), table.class_count)
        self._needed.tensor[region.base + known : region.base + len(ready)] = self._send(needed[known:], torch.int32)
        fresh = np.flatnonzero(ready & ~np.pad(region.ready, (0, len(ready) - known)))
        region.needed, region.ready = needed, ready
        if not len(fresh):
            return
        added = fitted(table.masks(len(region.mask_ids)).T, self._words).T
        region.mask_ids = np.concatenate([region.mask_ids, self._add_masks(added)])
        mask_ids = region.mask_ids[table.mask_ids()[fresh]]
        mask_ids[fresh < HOST] = _ENDING
        rows = self._send(fresh, torch.int64)
        transitions = self._send(table.transitions(fresh.tolist()), torch.int32)
        self._matrix(region)[:, : region.class_count].index_copy_(0, rows, transitions)
        self._mask_ids.tensor.index_copy_(0, rows + region.base, self._send(mask_ids, torch.int64))
        self._ready.tensor.index_fill_(0, rows + region.base, True)  # noqa: FBT003 - the value

    def has_row(self, index: int, state: int) -> bool:
        """Whether a state has its row on the device."""
        region = self._regions[index]
        return state < region.states and bool(region.ready[state])

    def most_needed(self) -> int:
        """The largest known number of tokens that any state needs to finish."""
        needed = np.concatenate([region.needed for region in self._regions])
        return int(needed[needed < np.iinfo(np.int32).max].max(initial=0))

    def tables(self) -> Tables:
        """Return the tensors; a `refresh` may replace some of them."""
        return Tables(
            classes=self._classes,
            transitions=self._transitions.tensor,
            firsts=self._send([region.first for region in self._regions], torch.int64),
            widths=self._send([region.width for region in self._regions], torch.int64),
            bases=self._send([region.base for region in self._regions], torch.int64),
            mask_ids=self._mask_ids.tensor,
            masks=self._masks.tensor,
            needed=self._needed.tensor,
            ready=self._ready.tensor,
            ends=self._ends,
            width=self._width,
        )

    def _free(self) -> Region:
        """Add the grammar of rows without a constraint: state `FREE` leads to itself and allows all tokens."""
        region = Region(np.zeros(self._width, dtype=np.int32))
        self._make_room(region, FREE + 1, 1)
        region.class_count = 1
        region.needed, region.ready = np.zeros(FREE + 1, dtype=np.int32), np.ones(FREE + 1, dtype=bool)
        self._matrix(region)[:, 0] = torch.arange(FREE + 1, dtype=torch.int32, device=self._device)
        self._mask_ids.tensor[region.base : region.base + FREE] = _ENDING
        self._mask_ids.tensor[region.base + FREE] = _ALL
        self._ready.tensor[region.base : region.base + region.states] = True
        return region

    def _make_room(self, region: Region, states: int, classes: int) -> None:
        if states <= region.capacity and classes <= region.width:
            return
        known, old = region.states, self._place(region)
        more_states = states > region.capacity
        region.capacity, region.width = _room(region.capacity, states), _room(region.width, classes)
        region.first = self._transitions.take(region.capacity * region.width)
        self._matrix(region)[:known, : region.class_count] = self._matrix_at(*old)[:known, : region.class_count]
        old_base = region.base
        for heap in (self._mask_ids, self._needed, self._ready) if more_states else ():
            region.base = heap.take(region.capacity)  # the same of all three
            heap.tensor[region.base : region.base + known] = heap.tensor[old_base : old_base + known]

    def _split_classes(self, index: int, classes: Any, count: int) -> None:
        """Give each new class the column of the class that it was split from."""
        region = self._regions[index]
        known = region.class_count
        changed = np.flatnonzero(classes != region.classes)
        if known and count > known:
            origins = np.zeros(count - known, dtype=np.int64)  # 0 for classes that have no token any more
            origins[classes[changed] - known] = region.classes[changed]
            matrix = self._matrix(region)
            matrix[:, known:count] = matrix.index_select(1, self._send(origins, torch.int64))
        if len(changed):
            places, found = self._send(changed, torch.int64), self._send(classes[changed], torch.int32)
            self._classes[index].index_copy_(0, places, found)
        region.classes, region.class_count = classes, count

    def _add_masks(self, masks: Any) -> Any:
        """Add masks int32 [n, W]; return their numbers."""
        first = self._masks.take(len(masks))
        self._masks.tensor[first : first + len(masks)] = self._send(masks, torch.int32)
        return np.arange(first, first + len(masks))

    def _place(self, region: Region) -> tuple[int, int, int]:
        return region.first, region.capacity, region.width

    def _matrix(self, region: Region) -> torch.Tensor:
        """The transitions of a grammar, int32 [capacity, width]."""
        return self._matrix_at(*self._place(region))

    def _matrix_at(self, first: int, capacity: int, width: int) -> torch.Tensor:
        return self._transitions.tensor[first : first + capacity * width].view(capacity, width)

    def _send(self, values: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(values)).to(self._device, dtype)


def _room(present: int, wanted: int) -> int:
    """The capacity to allocate: the wanted size at first, then at least twice the present one."""
    return present if wanted <= present else max(wanted, 2 * present)


def fitted(values: Any, length: int) -> Any:
    """Cut or pad an array with zeros at its first axis."""
    missing = length - len(values)
    return values[:length] if missing <= 0 else np.pad(values, [(0, missing)] + [(0, 0)] * (values.ndim - 1))
