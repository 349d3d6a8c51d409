"""`smc`: texts that are written side by side, and compete: sequential Monte Carlo.

Idea: all texts (particles) get one token at a time under the mask, and weights as in `schemagen.sampling.masked`. When a few
of them have most of the weight, the particles are drawn anew from themselves by their weights: promising beginnings go on
several times, and others end. So the work goes where the model's law is, and the weights stay even (Loula et al. 2025,
arXiv:2504.13139; Del Moral et al. 2006).

Invariant: before and after resampling, the weighted particles have the same law in expectation. Particles that are complete
keep their weights and take part.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

import torch

from schemagen.sampling.masked import step_masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.sampling.texts import Beginning, Law

#: Particles are drawn anew when fewer of them, as a share, carry the weight.
_EVEN = 0.5


def particles(law: Law, count: int, seed: int) -> list[Beginning]:
    """Return weighted texts.

    Args:
        law: The law of the model, and the constraint.
        count: How many.
        seed: Of the random numbers.

    Cost: a pass of the model for each token, over all particles that are not complete; equal ones are read once.
    """
    texts = [law.begin(seed + place) for place in range(count)]
    numbers = torch.Generator().manual_seed((seed + count) % 2**64)
    while live := [text for text in texts if not law.is_over(text)]:
        step_masked(law, live)
        weights = normalised([text.log_weight for text in texts])
        if 1 / sum(weight * weight for weight in weights) < _EVEN * count:
            texts = resampled(texts, weights, numbers)
    return texts


def resampled(texts: Sequence[Beginning], weights: Sequence[float], numbers: torch.Generator) -> list[Beginning]:
    """Draw particles by their weights, each about as often as its weight says (systematic resampling); all weigh the same."""
    count = len(texts)
    level = log_mean([text.log_weight for text in texts])
    start = float(torch.rand(1, dtype=torch.float64, generator=numbers))
    found, total, place = [], 0.0, 0
    for text, weight in zip(texts, weights, strict=True):
        total += weight * count
        while place < count and start + place < total:
            found.append(text)
            place += 1
    found += [texts[-1]] * (count - place)  # rounding
    seen: set[int] = set()
    out = []
    for text in found:
        made = text
        if id(text) in seen:
            state = int(torch.randint(1 << 62, (1,), generator=numbers))
            made = text.copy(torch.Generator().manual_seed(state))
        seen.add(id(text))
        made.log_weight = level
        out.append(made)
    return out


def normalised(log_weights: Sequence[float]) -> list[float]:
    """Return weights that add up to 1."""
    best = max(log_weights)
    if best == float("-inf"):
        return [1 / len(log_weights)] * len(log_weights)
    powers = [exp(each - best) for each in log_weights]
    total = sum(powers)
    return [power / total for power in powers]


def log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of numbers, given their logarithms."""
    best = max(logs)
    if best == float("-inf"):
        return best
    return best + log(sum(exp(each - best) for each in logs) / len(logs))
