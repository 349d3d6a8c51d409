"""Logits to ``-inf`` by bits: on the CPU a pass without branches, elsewhere a few elementwise kernels.

Idea: on the CPU the obvious ``where(allowed, scores, -inf)`` branches on every element, and mispredicts most of them:
2 to 6 ms for 8 rows of 128,256 where a copy of the same numbers takes 0.1 ms. So

- a row that allows few tokens is filled with ``-inf``, and only the allowed logits are copied (8 rows: 0.1 ms);
- any other row gets a bias added that is 0 or ``-inf``. The bits become the bias by integer arithmetic:
  ``(bit - 1) * 2**23`` is 0 or the bit pattern of ``-inf`` in float32 (8 rows: 0.35 ms).

Adding is only right while the logits are finite: NaN, and the sum of ``inf`` and ``-inf``, survive it. Both turn up in the
maximum of a row, so a maximum that is not finite sends that row through the slow and careful way.

Times are of one thread; `benchmarks/decode_overhead.py` compares whole decode steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

BITS = 32
_LOW = float("-inf")
#: The bit pattern of float32 ``-inf`` as an integer is ``-1 * 2**23``.
_EXPONENT = 1 << 23
#: A row is sparse if at most one word in so many has a bit.
_SPARSE = 16


def mask_rows(scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int) -> torch.Tensor:
    """Return the scores with ``-inf`` in `rows` wherever the bit of a token is not set; other rows are copied.

    Each of the rows has a finite maximum then, so that it can be sampled from: NaN counts as ``-inf``, ``inf`` as the largest
    finite number, and where no allowed logit is left, all allowed tokens get 0.

    Args:
        scores: float [B, V]; not changed.
        words: int32 [B, W], on the CPU. Rows that are not in `rows` are not looked at.
        rows: Which rows are masked; none of them is without a bit.
        covered: How many bits of a row count, at most V; logits beyond are masked.

    Cost: as the module says; on an accelerator no synchronisation.
    """
    if scores.device.type != "cpu":
        return _masked_on_device(scores, words, rows, covered)
    out = torch.empty_like(scores, memory_format=torch.contiguous_format)
    if len(rows) < len(scores):
        out.copy_(scores)
    _restrict(scores, words.numpy(), rows, covered, out)
    highest: list[float] = out.amax(dim=-1).tolist()
    for row in rows:
        if not math.isfinite(highest[row]):
            out[row] = _repaired(scores[row], _allowed(words[row], covered, scores.shape[-1]))
    return out


def mask_rows_inplace(logits: torch.Tensor, words: torch.Tensor, covered: int) -> None:
    """Set the logits to ``-inf`` wherever the bit of a token is not set; allowed ones stay what they are, NaN included.

    Args:
        logits: float [B, V], on the CPU.
        words: int32 [B, W], on the CPU.
        covered: How many bits of a row count, at most V; logits beyond are masked.
    """
    _restrict(logits, words.numpy(), range(len(logits)), covered, logits)
    for row, highest in enumerate(logits.amax(dim=-1).tolist()):
        if math.isnan(highest) or highest == math.inf:
            logits[row].masked_fill_(~_allowed(words[row], covered, logits.shape[-1]), _LOW)


def removed_mass(scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int) -> torch.Tensor:
    """Return the probability of the tokens that are not allowed, for each of `rows` where it is defined.

    Args:
        scores: float [B, V], before they were masked.
        words: int32 [B, W], on the CPU.
        rows: Which rows are measured.
        covered: How many bits of a row count, at most V.

    Cost: a softmax and a product of these rows, on the device of the scores (8 rows of 128,256 on a CPU: 0.7 ms).
    """
    chosen = list(rows)
    every = chosen == list(range(len(scores)))
    logits = scores if every else scores[chosen]
    bits = unpack(words if every else words[chosen], scores.device)[:, :covered]
    kept = _kept(logits.float(), bits)
    if bool(kept.isnan().any()):
        high = torch.finfo(torch.float32).max
        kept = _kept(torch.nan_to_num(logits.float(), nan=_LOW, posinf=high, neginf=_LOW), bits)
    # All logits NaN: the softmax is not defined, and neither is the mass.
    return (1 - kept[~kept.isnan()]).clamp(0, 1)


def unpack(words: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return int32 words [B, W] on the CPU as uint8 [B, 32 W] on the device, 1 where a bit is set."""
    return _unpack_on_host(words) if device.type == "cpu" else _unpack_on_device(words, device)


def _unpack_on_host(words: torch.Tensor) -> torch.Tensor:
    """Unpack with numpy, five times as fast as shifts on a CPU (0.05 ms for 8 rows of 128,256)."""
    octets = words.numpy().view(np.uint8)  # little-endian words, so that bit i is token i
    return torch.from_numpy(np.unpackbits(octets, axis=-1, bitorder="little"))


def _unpack_on_device(words: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Send the words, a bit per token, and unpack them where the scores are."""
    sent = words.to(device, non_blocking=True)
    shifts = torch.arange(BITS, dtype=torch.int32, device=device)
    return (sent.unsqueeze(-1) >> shifts & 1).to(torch.uint8).flatten(1)


def _kept(logits: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Return the probability of the tokens whose bit is 1; NaN where the softmax is not defined."""
    return (torch.softmax(logits, dim=-1)[:, : bits.shape[1]] * bits).sum(dim=-1)


def _restrict(scores: torch.Tensor, words: Any, rows: Sequence[int], covered: int, out: torch.Tensor) -> None:
    """Write the masked scores of `rows` into `out`, which may be the scores themselves; finite scores are assumed."""
    counts = np.count_nonzero(words, axis=1)
    sparse = [row for row in rows if counts[row] * _SPARSE <= words.shape[1]]
    if sparse:
        _copy_allowed(scores, words, sparse, covered, out)
    if len(sparse) == len(rows):
        return
    narrow = set(sparse)
    for row in rows:
        if row not in narrow:
            # row by row, so that what lies between two passes stays in the cache
            bits = torch.from_numpy(np.unpackbits(words[row].view(np.uint8), bitorder="little")[:covered])
            bias = bits.to(torch.int32).sub_(1).mul_(_EXPONENT).view(torch.float32)
            torch.add(scores[row, :covered], bias, out=out[row, :covered])
            out[row, covered:] = _LOW


def _copy_allowed(scores: torch.Tensor, words: Any, rows: list[int], covered: int, out: torch.Tensor) -> None:
    """Fill rows with ``-inf``, and copy the few logits that are allowed."""
    at, word = np.nonzero(words[rows])
    bits = np.unpackbits(words[rows][at, word].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    entry, bit = np.nonzero(bits)
    tokens = word[entry] * BITS + bit
    inside = tokens < covered
    row_ids = torch.from_numpy(np.asarray(rows)[at[entry][inside]])
    token_ids = torch.from_numpy(tokens[inside])
    kept = scores[row_ids, token_ids]
    if len(rows) == len(out):
        out.fill_(_LOW)
    else:
        for row in rows:
            out[row].fill_(_LOW)
    out[row_ids, token_ids] = kept


def _allowed(words: torch.Tensor, covered: int, width: int) -> torch.Tensor:
    """Return one row of words as bool [width]; False beyond the bits that count."""
    allowed = torch.zeros(width, dtype=torch.bool)
    allowed[:covered] = _unpack_on_host(words)[:covered].bool()
    return allowed


def _repaired(scores: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Return masked scores with a finite maximum in every row, whatever the scores are.

    Args:
        scores: float [..., V].
        allowed: bool, of the same shape.
    """
    masked = torch.where(allowed, scores, _LOW)
    masked = torch.nan_to_num(masked, nan=_LOW, posinf=torch.finfo(scores.dtype).max, neginf=_LOW)
    hopeless = masked.isneginf().all(dim=-1, keepdim=True)
    return torch.where(hopeless & allowed, torch.zeros_like(masked), masked)


def _masked_on_device(scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int) -> torch.Tensor:
    """Mask where the scores are, carefully at once: asking whether that is needed would wait for the device."""
    bits = _unpack_on_device(words, scores.device)[:, :covered].bool()
    allowed = torch.nn.functional.pad(bits, (0, scores.shape[-1] - covered))  # [B, V]
    masked = _repaired(scores, allowed)
    if len(rows) == len(scores):
        return masked
    constrained = torch.zeros(len(scores), dtype=torch.bool)
    constrained[list(rows)] = True
    return torch.where(constrained.to(scores.device).unsqueeze(-1), masked, scores)
