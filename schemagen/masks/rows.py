"""Rows of bitmasks in numpy: the layout of their words, and one row of a caller's bitmask, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from schemagen.errors import BitmaskShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

BITS = 32

#: The mask of one row, int32 [ceil(V/32)].
Words: TypeAlias = "npt.NDArray[np.int32]"


def words_of(token_ids: Iterable[int] | slice, words: int) -> Words:
    """Return the mask int32 [words] of some ids."""
    bits = np.zeros(words * BITS, dtype=bool)
    bits[token_ids if isinstance(token_ids, slice) else list(token_ids)] = True
    return np.packbits(bits, bitorder="little").view(np.int32)


def ids_of(words: Words) -> list[int]:
    """Return the ids of a mask int32 [words], ascending."""
    found: list[int] = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()
    return found


def set_bit(words: Words, token_id: int) -> None:
    """Allow an id in a mask int32 [words], whose bytes are little-endian; bit 31 is the sign."""
    words.view(np.uint8)[token_id >> 3] |= np.uint8(1 << (token_id & 7))


def row_of(bitmask: Any, row: int, size: int) -> Any:
    """Return a writable numpy view of a row of a bitmask of torch or numpy.

    Args:
        bitmask: int32 ``[B, ceil(size/32)]`` on the CPU.
        row: ``0 <= row < B``.
        size: Ids of the vocabulary.

    Raises:
        BitmaskShapeError: dtype, device, width or row are wrong.
    """
    shape, dtype = tuple(getattr(bitmask, "shape", ())), str(getattr(bitmask, "dtype", type(bitmask).__name__))
    device = getattr(getattr(bitmask, "device", "cpu"), "type", "cpu")
    words = -(-size // BITS)
    if dtype.rpartition(".")[2] != "int32" or len(shape) != 2 or shape[1] != words or device != "cpu":
        raise BitmaskShapeError(
            f"a bitmask of shape {shape} and dtype {dtype} on {device}, expected int32 [B, {words}] on cpu",
            why=f"the vocabulary has {size} ids, 32 to a word",
            fix="use schemagen.allocate_token_bitmask(batch_size, vocabulary.size)",
        )
    if not 0 <= row < shape[0]:
        raise BitmaskShapeError(
            f"row {row} of a bitmask with {shape[0]} rows",
            why="rows are counted from 0",
            fix="allocate one row for each sequence of the batch",
        )
    # A torch tensor on the CPU shares its memory with the numpy array that it gives; torch is not imported for that.
    return (bitmask.numpy() if hasattr(bitmask, "numpy") else bitmask)[row]
