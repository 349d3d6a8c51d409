"""Logits to ``-inf`` by bits: on the CPU a pass without branches, elsewhere a few elementwise kernels.

Idea: on the CPU the obvious ``where(allowed, scores, -inf)`` branches on every element, and mispredicts most of them:
2 to 6 ms for 8 rows of 128,256 where a copy of the same numbers takes 0.1 ms. So

- a row that allows few tokens is filled with ``-inf``, and only the allowed logits are copied (8 rows: 0.1 ms);
- any other row gets a bias added that is 0 or ``-inf``: the bits, as 0 and 2, times a number so large that its double
  is beyond float32, in one fused pass (8 rows: 0.3 ms).

Adding is only right while the logits are finite: NaN, and the sum of ``inf`` and ``-inf``, survive it. Both turn up in the
maximum of a row, so a maximum that is not finite sends that row through the slow and careful way.

Times are of one thread, with everything in its caches. After a pass of a model nothing is, and all of them triple;
`benchmarks/decode_overhead.py` compares whole decode steps.
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
#: Twice this is ``-inf`` in float32, and no times it is 0.
_HALF_LOW = -3e38
#: A row is sparse if at most one word in so many has a bit.
_SPARSE = 16
#: Up to so many logits all rows are masked at once: what costs time then is how many operations there are.
_AT_ONCE = 1 << 18


def mask_rows(
    scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int, *, inplace: bool = False
) -> torch.Tensor:
    """Return the scores with ``-inf`` in `rows` wherever the bit of a token is not set; other rows are copied.

    Each of the rows has a finite maximum then, so that it can be sampled from: NaN counts as ``-inf``, ``inf`` as the largest
    finite number, and where no allowed logit is left, all allowed tokens get 0.

    Args:
        scores: float [B, V].
        words: int32 [B, W], on the CPU. Rows that are not in `rows` are not looked at.
        rows: Which rows are masked; none of them is without a bit.
        covered: How many bits of a row count, at most V; logits beyond are masked.
        inplace: Whether the scores may be overwritten and returned. On a CPU that saves writing to memory that is in
            no cache, which is most of the cost of a step of a real model.

    Cost: as the module says; on an accelerator no synchronisation.
    """
    if scores.device.type != "cpu":
        return _masked_on_device(scores, words, rows, covered)
    out = scores if inplace else torch.empty_like(scores, memory_format=torch.contiguous_format)
    if len(rows) < len(scores) and not inplace:
        out.copy_(scores)
    for row in _restrict(scores, words.numpy(), rows, covered, out):
        out[row] = _repaired(scores[row], _allowed(words[row], covered, scores.shape[-1]))
    return out


def mask_rows_inplace(logits: torch.Tensor, words: torch.Tensor, covered: int) -> None:
    """Set the logits to ``-inf`` wherever the bit of a token is not set; allowed ones stay what they are, NaN included.

    Args:
        logits: float [B, V], on the CPU.
        words: int32 [B, W], on the CPU.
        covered: How many bits of a row count, at most V; logits beyond are masked.
    """
    for row in _restrict(logits, words.numpy(), range(len(logits)), covered, logits):
        logits[row].masked_fill_(~_allowed(words[row], covered, logits.shape[-1]), _LOW)


def removed_mass(scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int) -> torch.Tensor:
    """Return the probability of the tokens that are not allowed, for each of `rows` where it is defined.

    Args:
        scores: float [B, V], before they were masked.
        words: int32 [B, W], on the CPU.
        rows: Which rows are measured.
        covered: How many bits of a row count, at most V.

    Cost: a softmax and a product of these rows, on the device of the scores (0.1 ms for a row of 128,256 on a CPU).
    """
    if scores.device.type == "cpu":  # a row at a time stays in the cache
        removed = torch.stack([_removed(scores[row], _unpack_on_host(words[row])[:covered]) for row in rows])
    else:
        chosen = list(rows)
        bits = _unpack_on_device(words[chosen], scores.device)[:, :covered]
        removed = _removed(_without_nan(scores[chosen]), bits)
    # All logits NaN: the softmax is not defined, and neither is the mass.
    return removed[~removed.isnan()].clamp(0, 1)


def _removed(scores: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Return the probability of the tokens [..., V] whose bit is 0."""
    kept = (torch.softmax(scores.float(), dim=-1)[..., : bits.shape[-1]] * bits).sum(dim=-1)
    if scores.device.type == "cpu" and bool(kept.isnan()):
        kept = (torch.softmax(_without_nan(scores), dim=-1)[..., : bits.shape[-1]] * bits).sum(dim=-1)
    return 1 - kept


def _without_nan(scores: torch.Tensor) -> torch.Tensor:
    """Return scores whose softmax is defined where any of them is a number."""
    high = torch.finfo(torch.float32).max
    return torch.nan_to_num(scores.float(), nan=_LOW, posinf=high, neginf=_LOW)


def _unpack_on_host(words: torch.Tensor) -> torch.Tensor:
    """Unpack with numpy, five times as fast as shifts on a CPU (0.05 ms for 8 rows of 128,256)."""
    octets = words.numpy().view(np.uint8)  # little-endian words, so that bit i is token i
    return torch.from_numpy(np.unpackbits(octets, axis=-1, bitorder="little"))


def _unpack_on_device(words: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Send the words, a bit per token, and unpack them where the scores are."""
    sent = words.to(device, non_blocking=True)
    shifts = torch.arange(BITS, dtype=torch.int32, device=device)
    return (sent.unsqueeze(-1) >> shifts & 1).to(torch.uint8).flatten(-2)


def _restrict(scores: torch.Tensor, words: Any, rows: Sequence[int], covered: int, out: torch.Tensor) -> list[int]:
    """Write the masked scores of `rows` into `out`, which may be the scores themselves.

    Returns:
        The rows whose maximum is not finite, and which may therefore be wrong.
    """
    few = words.shape[1] // _SPARSE
    large = scores.numel() > _AT_ONCE
    every = len(rows) == len(scores)
    if every and large and np.count_nonzero(words) <= few:
        return _copy_allowed(scores, words, rows, covered, out)
    counts = np.count_nonzero(words, axis=1).tolist() if large else []
    sparse = [row for row in rows if counts[row] <= few] if large else []
    if every and not sparse:
        _add_bias(scores, _forbidden(words, covered), out)
        return [row for row, highest in enumerate(out.amax(dim=-1).tolist()) if not math.isfinite(highest)]
    suspects = _copy_allowed(scores, words, sparse, covered, out) if sparse else []
    for row in rows:
        if row not in sparse:
            target = out[row]
            _add_bias(scores[row], _forbidden(words[row], covered), target)
            if not math.isfinite(target.amax()):
                suspects.append(row)
    return suspects


def _forbidden(words: Any, covered: int) -> torch.Tensor:
    """Return uint8 [..., covered], 2 where the bit of a token is not set, else 0."""
    bits = np.unpackbits(np.invert(words).view(np.uint8), axis=-1, bitorder="little")
    bits <<= 1
    return torch.from_numpy(bits[..., :covered])


def _add_bias(scores: torch.Tensor, forbidden: torch.Tensor, out: torch.Tensor) -> None:
    """Write the scores plus 0 or ``-inf`` into `out`, float [..., V]."""
    covered = forbidden.shape[-1]
    target, source = out, scores
    if covered < out.shape[-1]:
        out[..., covered:] = _LOW
        target, source = out[..., :covered], scores[..., :covered]
    if out.dtype != torch.float32:
        torch.add(source, (forbidden.float() * _HALF_LOW).to(out.dtype), out=target)
    elif out.data_ptr() == scores.data_ptr():
        target.add_(forbidden.float(), alpha=_HALF_LOW)
    else:
        torch.add(source, target.copy_(forbidden), alpha=_HALF_LOW, out=target)


def _copy_allowed(scores: torch.Tensor, words: Any, rows: Sequence[int], covered: int, out: torch.Tensor) -> list[int]:
    """Fill rows with ``-inf``, and copy the few logits that are allowed; return the rows that may be wrong.

    After a pass of a model nothing of this is in a cache, and each operation, however small, takes 10 to 50
    microseconds: so few of them.
    """
    every = len(rows) == len(out)
    token = _set_bits(words if every else words[rows])
    bits, width = words.shape[1] * BITS, out.shape[-1]
    if not every or bits != width:
        place, token = np.divmod(token, bits)
        if covered < bits:
            place, token = place[token < covered], token[token < covered]
        token += (place if every else np.asarray(rows)[place]) * width
    index = torch.from_numpy(token)
    kept = scores.take(index)
    if every:
        out.fill_(_LOW)
    else:
        for row in rows:
            out[row].fill_(_LOW)
    out.put_(index, kept)
    return [] if math.isfinite(kept.sum()) else list(rows)


def _set_bits(words: Any) -> Any:
    """Return the positions of the bits that are set, of all rows behind each other; fast if few words have any."""
    wide = words.view(np.uint64) if words.shape[1] % 2 == 0 and words.flags.c_contiguous else words
    at = np.flatnonzero(wide)
    octets = wide.reshape(-1)[at].view(np.uint8)
    bit = np.flatnonzero(np.unpackbits(octets, bitorder="little").view(np.bool_))
    each = wide.itemsize * 8
    return at[bit // each] * each + bit % each


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
