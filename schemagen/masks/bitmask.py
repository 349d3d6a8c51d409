"""Token bitmasks: allocate them, fill them for a batch, apply them to logits.

A bitmask is int32 ``[B, ceil(V/32)]``; bit ``i % 32`` of word ``i // 32`` belongs to token ``i``, 1 = allowed. The layout is
that of the other engines of this field, so a mask can be handed from one to another.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from schemagen.errors import BitmaskShapeError, OptionError
from schemagen.errors.installing import check_packages
from schemagen.masks.rows import BITS, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch
    from numpy.typing import NDArray

    from schemagen.engine.protocol import Matcher

_NATIVE = "schemagen._core"


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> torch.Tensor:
    """Return a bitmask int32 ``[batch_size, ceil(vocab_size / 32)]`` on the CPU, every token allowed.

    Pinned memory is used where a GPU is present, so that copying it there does not block. Without torch it is an array of
    numpy, which everything here takes as well.
    """
    if batch_size < 0 or vocab_size < 1:
        raise BitmaskShapeError(f"a bitmask of {batch_size} rows over {vocab_size} tokens")
    words = -(-vocab_size // BITS)
    if find_spec("torch") is None:
        return cast("torch.Tensor", np.full((batch_size, words), -1, dtype=np.int32))
    import torch

    return torch.full((batch_size, words), -1, dtype=torch.int32, device="cpu", pin_memory=torch.cuda.is_available())


def fill_next_token_bitmasks(
    matchers: Sequence[Matcher],
    bitmask: Any,
    *,
    rows: Sequence[int] | None = None,
    threads: int = 1,
    budgets: Sequence[int | None] | None = None,
) -> None:
    """Write the tokens that ``matchers[k]`` allows next into ``bitmask[rows[k]]``, for every matcher.

    A text that has ended gets a row that allows EOS alone, so that a loop may go on until all rows of its batch have ended;
    `Matcher.accept_token` then returns False and changes nothing. (A single `Matcher.fill_next_token_bitmask` is an error
    there: a loop over one text knows that it is over.)

    Args:
        matchers: At most as many as the bitmask has rows.
        bitmask: int32 ``[B, ceil(V/32)]`` on the CPU (torch or numpy).
        rows: For each matcher the row that it writes, each another one; by default the rows from 0 on. Other rows are left
            as they are.
        threads: How many threads fill rows, 8 rows each at least. The interpreter's lock is released meanwhile.
        budgets: For each matcher how many tokens may still come (None if there is no bound), as for
            `Matcher.fill_next_token_bitmask`.

    Raises:
        BitmaskShapeError: More matchers than rows, a row that is not there, or a wrong dtype, device or width.
        OptionError: `rows` or `budgets` are not as many as the matchers, or a row is named twice.

    Cost: masks that were asked for before are copies of a row; new ones are worked out side by side, too, but for what is new
    to all grammars of the process (a pattern, a format), which one thread makes at a time.
    """
    if len(matchers) > bitmask.shape[0]:
        raise BitmaskShapeError(f"{len(matchers)} matchers for a bitmask of {bitmask.shape[0]} rows")
    if threads < 1:
        raise OptionError(f"threads={threads}", why="at least one is needed", fix="give 1 or more")
    if budgets is not None and len(budgets) != len(matchers):
        raise OptionError(f"{len(budgets)} budgets for {len(matchers)} matchers", fix="give one for each, or none")
    if rows is None:
        rows = range(len(matchers))
    elif len(rows) != len(matchers) or len(set(rows)) != len(rows):
        raise OptionError(
            f"rows={list(rows)} for {len(matchers)} matchers",
            why="each needs a row of its own",
            fix="give as many, each once",
        )
    fill_rows(matchers, bitmask, rows, threads=threads, budgets=budgets)


def is_native(matcher: Matcher) -> bool:
    """Whether a matcher is one of the compiled core, which never writes a mask without a token (`DeadEndError`)."""
    return type(matcher).__module__ == _NATIVE


def fill_rows(
    matchers: Sequence[Matcher],
    bitmask: Any,
    rows: Sequence[int],
    *,
    threads: int = 1,
    budgets: Sequence[int | None] | None = None,
) -> None:
    """Write the tokens that ``matchers[k]`` allows next into ``bitmask[rows[k]]``: EOS alone where the text has ended.

    Those of the core are filled in one call.
    """
    if len(set(map(type, matchers))) == 1 and is_native(matchers[0]):
        from schemagen import _core

        alike = cast("list[_core.Matcher]", list(matchers))
        _core.fill_rows(alike, bitmask, list(rows), threads, [] if budgets is None else list(budgets))
        return
    native: list[int] = []
    for place, (matcher, row) in enumerate(zip(matchers, rows, strict=True)):
        if is_native(matcher):
            native.append(place)
        elif matcher.is_terminated():
            _allow_only(matcher.eos_token_ids, bitmask, row)
        elif budgets is None:
            matcher.fill_next_token_bitmask(bitmask, row)
        else:
            matcher.fill_next_token_bitmask(bitmask, row, budget=budgets[place])
    if native:
        chosen = [matchers[place] for place in native]
        left = None if budgets is None else [budgets[place] for place in native]
        fill_rows(chosen, bitmask, [rows[place] for place in native], threads=threads, budgets=left)


def _allow_only(token_ids: Sequence[int], bitmask: Any, row: int) -> None:
    words = row_of(bitmask, row, bitmask.shape[1] * BITS).view(np.uint32)
    words[:] = 0
    for token_id in token_ids:
        words[token_id // BITS] |= np.uint32(1 << token_id % BITS)


def apply_token_bitmask_inplace(
    logits: torch.Tensor | NDArray[Any], bitmask: torch.Tensor | NDArray[np.int32], *, vocab_size: int | None = None
) -> None:
    """Set the logits of the tokens that are not allowed to -inf, in place.

    The meaning is ``logits[b, v] = -inf unless bitmask[b, v // 32] >> (v % 32) & 1``. Logits beyond ``vocab_size`` (padding of
    the model's embedding) are always masked.

    Args:
        logits: float ``[B, W]`` or ``[W]``, W >= the width the mask covers: a torch tensor on any device, or a writable numpy
            array.
        bitmask: int32 ``[B, ceil(V/32)]`` or ``[ceil(V/32)]``: a torch tensor, which is moved to the device of the logits, or a
            numpy array if the logits are one.
        vocab_size: V, if the last word is not full; by default every bit counts.

    Raises:
        BitmaskShapeError: The shapes or types do not fit, or the array of logits is read-only.

    Cost: O(B W) on the device of the logits, on a CPU at the speed of its memory (see `schemagen.masks.logits`); the copy of
    the mask (V/8 bytes a row) does not synchronise.
    """
    is_float, has_words, write = _kind_of(logits, bitmask)
    if not is_float:
        kind = getattr(logits, "dtype", type(logits).__name__)
        raise BitmaskShapeError(f"logits of type {kind}, a float tensor or numpy array is needed")
    if not has_words:
        raise BitmaskShapeError(
            f"a bitmask of type {getattr(bitmask, 'dtype', type(bitmask).__name__)} for logits of type {logits.dtype}",
            why="it must be int32, and a torch tensor or a numpy array as the logits are",
        )
    if isinstance(logits, np.ndarray) and not logits.flags.writeable:
        raise BitmaskShapeError(
            "logits in a read-only array", why="they are changed in place", fix="pass logits.copy()"
        )
    rows = logits[None] if logits.ndim == 1 else logits
    mask = bitmask[None] if bitmask.ndim == 1 else bitmask
    if rows.ndim != 2 or mask.ndim != 2 or mask.shape[0] != rows.shape[0]:
        raise BitmaskShapeError(
            f"logits {tuple(logits.shape)} with a bitmask {tuple(bitmask.shape)} of {bitmask.dtype}",
            why="each row of logits needs one row of int32 words",
        )
    width = rows.shape[1]
    covered = mask.shape[1] * BITS if vocab_size is None else vocab_size
    if covered < 1 or covered > mask.shape[1] * BITS or (vocab_size is not None and width < vocab_size):
        raise BitmaskShapeError(f"{vocab_size} tokens, {mask.shape[1]} words a row, logits of width {width}")
    write(rows, mask, min(covered, width))


def _kind_of(logits: Any, bitmask: Any) -> tuple[bool, bool, Callable[[Any, Any, int], None]]:
    """Return whether logits are floats, whether a bitmask of the same package is int32, and the function that masks them."""
    if isinstance(logits, np.ndarray):
        return logits.dtype.kind == "f", isinstance(bitmask, np.ndarray) and bitmask.dtype == np.int32, _mask_arrays
    if not hasattr(logits, "ndim"):  # a list is an error of the caller, with torch or without
        return False, False, _mask_arrays
    check_packages("apply_token_bitmask_inplace for logits that are no array of numpy", "torch")
    import torch

    from schemagen.masks.logits import mask_rows_inplace

    is_float = isinstance(logits, torch.Tensor) and torch.is_floating_point(logits)
    return is_float, isinstance(bitmask, torch.Tensor) and bitmask.dtype == torch.int32, mask_rows_inplace


def _mask_arrays(logits: Any, words: Any, covered: int) -> None:
    """Set logits of numpy to ``-inf``: by the core, or by numpy if they are no plain rows of floats in memory."""
    from schemagen import _core

    if _core.mask_logits(logits, logits, words, range(len(logits)), covered, repair=False) is None:
        bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
        logits[:, :covered][bits[:, :covered] == 0] = -np.inf
        logits[:, covered:] = -np.inf
