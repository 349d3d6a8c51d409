"""How many rows a batch may have at a time: as many as the memory of the device holds, and padding does not outweigh.

A call of ``generate`` takes little longer for many rows than for a few, since the weights are read once for all of them. What
grows with each row are its keys and values, one pair for each layer and position, and some copies of its logits. Half of the
memory that is free is given to them. An estimate that is too high does no harm: a chunk that does not fit is halved.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

#: More rows than these save no time.
MOST_ROWS = 256
#: Where the free memory is not known.
_CAUTIOUS = 16
#: Of the free memory, what the rows may take.
_SHARE = 0.5
#: Copies of the logits of a row in float32 at a step: of the model, masked, and of whatever samples.
_LOGITS = 6
#: So much padding, in tokens, is less than another call of ``generate`` costs.
_FREE_PADDING = 4096


def rows_that_fit(model: Any, positions: int) -> int:
    """Return how many rows of so many positions fit into the free memory of the model's device; at least 1.

    Args:
        model: Of transformers.
        positions: Of a row: prompt and new tokens.

    Cost: one question to the device or the system.
    """
    free = free_bytes(torch.device(model.device))
    if free is None:
        return _CAUTIOUS
    return max(1, min(MOST_ROWS, int(free * _SHARE) // bytes_of_row(model, positions)))


def bytes_of_row(model: Any, positions: int) -> int:
    """Return about how much memory a row takes: keys and values of all layers, and its logits.

    What a configuration does not say is taken to be as large as it usually is.
    """
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config

    def stated(*names: str) -> int:
        found = (getattr(config, name, None) for name in names)
        return next((value for value in found if isinstance(value, int) and value > 0), 0)

    layers = stated("num_hidden_layers", "n_layer", "num_layers") or 48
    hidden = stated("hidden_size", "n_embd", "d_model") or 8192
    heads = stated("num_attention_heads", "n_head", "num_heads") or 1
    size = (stated("head_dim") or hidden // heads) * (stated("num_key_value_heads") or heads)
    width = stated("vocab_size") or 256_000
    item = torch.finfo(model.dtype).bits // 8 if getattr(model, "dtype", None) in _FLOATS else 4
    return 2 * layers * size * item * positions + _LOGITS * width * 4


_FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64})


def free_bytes(device: torch.device) -> int | None:
    """Return how much memory is free where the model is; None if that is not known."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # What torch holds without using it is free, too.
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    return _free_of_system() if device.type == "cpu" else None


def _free_of_system() -> int | None:
    """Return how much memory this process may still take, a limit of its container included."""
    found = [amount for amount in (_available(), _left_to_container()) if amount is not None]
    return min(found, default=None)


def _available() -> int | None:
    """Return what Linux calls available, else the free pages of the system."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_to_container() -> int | None:
    """Return what the control group of this process (version 2) may still take; None without a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, used = ((folder / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        return max(0, int(most) - int(used))
    except (OSError, ValueError):  # no such files, or "max"
        return None


def cut(lengths: Sequence[int], most: int) -> list[int]:
    """Return how many rows each chunk has, of rows whose prompts are so long, the longest first.

    Args:
        lengths: Tokens of each prompt, descending.
        most: Rows of a chunk, at most.

    A chunk ends where its padding would be more than half of its prompts, and more than another call costs.
    """
    sizes: list[int] = []
    start = 0
    while start < len(lengths):
        tokens = end = 0
        for end in range(start, min(start + most, len(lengths))):
            tokens += lengths[end]
            padding = (end - start + 1) * lengths[start] - tokens
            if padding > max(tokens // 2, _FREE_PADDING):
                break
        else:
            end += 1
        sizes.append(end - start)
        start = end
    return sizes
