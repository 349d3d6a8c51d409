"""Logits to ``-inf`` by bits: on the CPU one pass of the compiled core, elsewhere a few elementwise kernels.

Idea: masking is nothing but memory traffic, so the core (core/runtime/logits.cpp) reads and writes each logit at most once: a
word of the mask decides over 32 of them, and where it allows none they are not even read. 8 rows of 128,256 take as long as
a plain copy of them, 0.25 ms when nothing is in a cache, and less where few tokens are allowed. With torch alone the best was
a bias of 0 or ``-inf`` and a maximum, 1.1 to 1.7 ms; ``where`` branches on every element, and takes 2 to 6 ms.

What the core cannot see as plain floats in memory is left to torch: other devices, unusual strides and types, tensors that
require gradients, are fake or are traced by ``torch.compile``.

Logits from which no token can be chosen are found in the same pass (`mask_and_check`). The core looks through all logits for
NaN and ``inf``, those of forbidden tokens included, which costs 0.02 ms for a row of 128,256: a model that computes one of them
anywhere is broken.
"""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

import numpy as np
import torch

from schemagen import _core
from schemagen.masks.rows import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence


_LOW = float("-inf")


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
            no cache.

    Cost: as the module says; on an accelerator no synchronisation.
    """
    done = _masked_by_core(scores, words, rows, covered, inplace=inplace)
    return _masked_by_torch(scores, words, rows, covered)[0] if done is None else done[0]


def mask_and_check(
    scores: torch.Tensor,
    words: torch.Tensor,
    rows: Sequence[int],
    covered: int,
    *,
    inplace: bool = False,
    ends: Sequence[int] = (),
) -> tuple[torch.Tensor, list[int]]:
    """Return what `mask_rows` returns, and those of `rows` from which no token can be chosen, ascending.

    These are the rows in which a covered logit is NaN, or ``inf`` for another token than `ends`, or no allowed one is above
    ``-inf``. With ``inf`` the softmax of a row is no distribution. That of EOS is let through: penalties on the length of a
    text make it grow without bound while the text goes on. Other arguments as for `mask_rows`.

    Cost: as `mask_rows`; on an accelerator a maximum over the scores, and the host waits for the answer.
    """
    done = _masked_by_core(scores, words, rows, covered, inplace=inplace, ends=ends)
    if done is not None:
        return done
    masked, hopeless = _masked_by_torch(scores, words, rows, covered)
    broken = (hopeless | has_overflow(scores[:, :covered], ends)).tolist()
    return masked, [row for row in rows if broken[row]]


def has_overflow(scores: torch.Tensor, ends: Sequence[int] = ()) -> torch.Tensor:
    """Return which rows hold NaN, or ``inf`` for another token than `ends`, bool [B].

    A maximum is NaN if any number is, and needs no other memory. Between the ends there are slices: nothing is sent anywhere.
    """
    edges = [-1, *sorted({end for end in ends if 0 <= end < scores.shape[-1]}), scores.shape[-1]]
    pieces = [scores[:, low + 1 : high] for low, high in pairwise(edges) if high > low + 1]
    found = [~(piece.amax(dim=-1) < float("inf")) for piece in pieces]
    found += [scores[:, end].isnan() for end in edges[1:-1]]
    return torch.stack(found).any(dim=0)


def mask_rows_inplace(logits: torch.Tensor, words: torch.Tensor, covered: int) -> None:
    """Set the logits to ``-inf`` wherever the bit of a token is not set; allowed ones stay unchanged, NaN included.

    Args:
        logits: float [B, V].
        words: int32 [B, W], on any device.
        covered: How many bits of a row count, at most V; logits beyond are masked.

    Cost: as the module says; on an accelerator no synchronisation.
    """
    if _is_plain(logits):
        done = _mask_by_core(logits, logits, words.cpu(), range(len(logits)), covered, repair=False)
        if done is not None:
            return
    bits = _unpack(words, logits.device)[:, :covered]
    logits[:, :covered].masked_fill_(bits == 0, _LOW)
    logits[:, covered:] = _LOW


def _is_plain(scores: torch.Tensor) -> bool:
    """Whether the scores may be plain floats in the memory of this process; subclasses stand for something else."""
    if scores.device.type != "cpu" or type(scores) is not torch.Tensor or torch.compiler.is_compiling():
        return False
    return not scores.is_neg() and not (scores.requires_grad and torch.is_grad_enabled())


def _masked_by_core(
    scores: torch.Tensor,
    words: torch.Tensor,
    rows: Sequence[int],
    covered: int,
    *,
    inplace: bool,
    ends: Sequence[int] = (),
) -> tuple[torch.Tensor, list[int]] | None:
    """Return what `mask_and_check` returns; None if that is left to torch."""
    if not _is_plain(scores):
        return None
    out = scores if inplace else torch.empty_like(scores, memory_format=torch.contiguous_format)
    broken = _mask_by_core(scores, out, words, rows, covered, repair=True, ends=ends)
    return None if broken is None else (out, broken)


def _mask_by_core(
    scores: torch.Tensor,
    out: torch.Tensor,
    words: torch.Tensor,
    rows: Sequence[int],
    covered: int,
    *,
    repair: bool,
    ends: Sequence[int] = (),
) -> list[int] | None:
    """Write the masked scores into `out`, return the broken rows; None if it is left to torch."""
    broken: list[int] | None = _core.mask_logits(scores, out, words, rows, covered, repair, ends)
    if broken is not None and out is scores and not out.is_inference():
        torch.autograd.graph.increment_version(out)  # a write that torch has not seen
    return broken


def removed_mass(scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int) -> torch.Tensor:
    """Return the probability of the tokens that are not allowed, for each of `rows`.

    NaN where the scores are no distribution: one of them is NaN or ``inf``, or all are ``-inf``.

    Args:
        scores: float [B, V], before they were masked.
        words: int32 [B, W], on the CPU.
        rows: Which rows are measured.
        covered: How many bits of a row count, at most V.

    Cost: a softmax and a sum of these rows, on the device of the scores (0.1 ms for a row of 128,256 on a CPU).
    """
    if scores.device.type == "cpu":  # a row at a time stays in the cache
        removed = torch.tensor([1 - _kept(scores[row], words[row], covered) for row in rows])
    else:
        chosen = list(rows)
        bits = _unpack(words[chosen], scores.device)[:, :covered]
        probabilities = torch.softmax(scores[chosen].float(), dim=-1)
        removed = 1 - (probabilities[:, :covered] * bits).sum(dim=-1)
    return removed.clamp(0, 1)


def _kept(scores: torch.Tensor, words: torch.Tensor, covered: int) -> float:
    """Return the probability of the tokens of one row [V] on the CPU whose bit is 1; NaN if it is no distribution.

    All probabilities are NaN then, those of forbidden tokens included.
    """
    probabilities = torch.softmax(scores.float(), dim=-1)
    return _sum_allowed(probabilities, words, covered) + float(probabilities[0]) * 0


def _sum_allowed(values: torch.Tensor, words: torch.Tensor, covered: int) -> float:
    """Return the sum of the values float32 [V] whose bit is 1."""
    if _is_plain(values) and (found := _core.sum_allowed(values, words, covered)) is not None:
        return float(found)
    return float((values[:covered] * _unpack(words, values.device)[:covered]).sum())


def summary_of(
    scores: torch.Tensor, words: torch.Tensor | None, covered: int, count: int
) -> tuple[float, float, dict[int, bool]]:
    """Return how the probability of a row is spread.

    Args:
        scores: float [V], before they were masked.
        words: int32 [W], on the CPU; None if every token is allowed.
        covered: How many bits count, at most V.
        count: The likeliest tokens to name, of all and of the allowed ones.

    Returns:
        The logarithm of the sum of the exponentials; that of the probability of the allowed tokens; and the likeliest tokens,
        each with whether it is allowed.

    Cost: a softmax and two passes over the row, on its device (0.15 ms for 128,256 on a CPU).
    """
    if words is None:
        words = torch.full((-(-covered // BITS),), -1, dtype=torch.int32)
        log_sum, _, named = summary_of(scores, words, covered, count)
        return log_sum, 0.0, named
    probabilities = torch.softmax(scores.float(), dim=-1)
    kept = _sum_allowed(probabilities, words, covered)
    if kept > 0 and _is_plain(probabilities) and (places := _core.largest(probabilities, words, covered, count)):
        chances = probabilities[places].tolist()
        best = chances.index(max(chances))
        log_sum = float(scores[places[best]]) - log(chances[best])
        return log_sum, log(min(kept, 1.0)), {each: each < covered and allows(words, each) for each in places}
    allowed = torch.nn.functional.pad(_unpack(words, scores.device)[:covered].bool(), (0, len(scores) - covered))
    masked = torch.where(allowed, scores.float(), _LOW)
    log_sum = float(scores.float().logsumexp(dim=-1))
    most = min(count, len(scores))
    places = torch.cat([each.topk(most).indices for each in (scores.float(), masked)]).tolist()
    named = {each: bool(allowed[each]) for each in places if scores[each] > _LOW}
    return log_sum, min(float(masked.logsumexp(dim=-1)) - log_sum, 0.0), named


def allows(words: torch.Tensor, token_id: int) -> bool:
    """Whether a mask int32 [ceil(V/32)] has a token."""
    word, bit = divmod(token_id, BITS)
    return word < words.shape[0] and bool(int(words[word]) >> bit & 1)


def _unpack(words: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return the bits of some words [..., W] as uint8 [..., 32 W], on a device that the words, a bit per token, are sent to.

    On a CPU with numpy, which is five times as fast as shifts (0.05 ms for 8 rows of 128,256).
    """
    if device.type == "cpu" and _is_plain(words):
        octets = words.contiguous().numpy().view(np.uint8)  # little-endian words, so that bit i is token i
        return torch.from_numpy(np.unpackbits(octets, axis=-1, bitorder="little"))
    return _shift(words.to(device, non_blocking=True))


def _shift(words: torch.Tensor) -> torch.Tensor:
    shifts = torch.arange(BITS, dtype=torch.int32, device=words.device)
    return (words.unsqueeze(-1) >> shifts & 1).to(torch.uint8).flatten(-2)


def _repaired(scores: torch.Tensor, allowed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return masked scores with a finite maximum in every row, and in which rows they needed to be made up.

    Args:
        scores: float [B, V].
        allowed: bool, of the same shape.

    Returns:
        The scores [B, V], and bool [B]: whether no allowed score is above ``-inf``.
    """
    masked = torch.where(allowed, scores, _LOW)
    masked = torch.nan_to_num(masked, nan=_LOW, posinf=torch.finfo(scores.dtype).max, neginf=_LOW)
    hopeless = masked.isneginf().all(dim=-1)
    return torch.where(hopeless.unsqueeze(-1) & allowed, torch.zeros_like(masked), masked), hopeless


def _masked_by_torch(
    scores: torch.Tensor, words: torch.Tensor, rows: Sequence[int], covered: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mask where the scores are, carefully at once: asking whether that is needed would wait for the device.

    Returns:
        The masked scores [B, V], and bool [B]: whether no allowed score is above ``-inf``.
    """
    bits = _unpack(words, scores.device)[:, :covered].bool()
    allowed = torch.nn.functional.pad(bits, (0, scores.shape[-1] - covered))  # [B, V]
    masked, hopeless = _repaired(scores, allowed)
    if len(rows) == len(scores):
        return masked, hopeless
    constrained = torch.zeros(len(scores), dtype=torch.bool)
    constrained[list(rows)] = True
    return torch.where(constrained.to(scores.device).unsqueeze(-1), masked, scores), hopeless
