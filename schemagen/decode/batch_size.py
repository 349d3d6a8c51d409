"""The batch size: as many rows as the memory of the device holds, unless padding outweighs the gain.

A call of ``generate`` takes little longer for many rows than for a few, since it reads the weights once for all of
them. Each row needs memory for its keys and values, one pair per layer and position, and for some copies of its logits.
Rows get half of the free memory. An estimate that is too high does no harm: a chunk that does not fit is halved.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

#: More rows save no time.
MOST_ROWS = 256
#: Where the free memory is not known.
_CAUTIOUS = 16
#: The share of the free memory that rows may take.
_SHARE = 0.5
#: Float32 copies of the logits of a row at a step: the model's, the masked ones, and those of the sampler.
_LOGITS = 6
#: Padding of up to this many tokens costs less than another call of ``generate``.
_FREE_PADDING = 4096


def rows_that_fit(model: Any, positions: int) -> int:
    """Return how many rows of this many positions fit into the free memory of the model's device; at least 1.

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

    Values that the configuration does not state are assumed to have their usual size.
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
        # Memory that torch has reserved without using it is free, too.
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    return _free_of_system() if device.type == "cpu" else None


def _free_of_system() -> int | None:
    """Return how much memory this process may still take, a limit of its container included."""
    found = [amount for amount in (_available(), _left_to_container()) if amount is not None]
    return min(found, default=None)


def _available() -> int | None:
    """Return the memory that Linux calls available, or the free pages of another system."""
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
    """Return how much memory the control group of this process (version 2) has left; None if it has no limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, used = ((folder / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        return max(0, int(most) - int(used))
    except (OSError, ValueError):  # no such files, or "max"
        return None


def cut(lengths: Sequence[int], most: int) -> list[int]:
    """Return the number of rows in each chunk.

    Args:
        lengths: Tokens of each prompt, in descending order.
        most: Maximum number of rows in a chunk.

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
