"""One row of a caller's bitmask, checked: for the matchers that are written in Python."""

from __future__ import annotations

from typing import Any

from schemagen.errors import BitmaskShapeError


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
    words = -(-size // 32)
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
