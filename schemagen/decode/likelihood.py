"""How likely a model finds the ends of several texts, in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


def log_likelihoods(model: Any, rows: Sequence[tuple[int, ...]], counts: Sequence[int]) -> list[float]:
    """Return the logarithm of the probability that the model, without a mask, gives the last tokens of each row.

    Rows are padded at their ends, which no earlier token of a causal model reads, so no mask or positions are needed.

    Args:
        model: A causal model of transformers.
        rows: The tokens of each row, its prompt first.
        counts: How many tokens of each row count, from its end; at least one comes before them.

    Cost: one pass over all rows; float [B, T, V] in memory.
    """
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=model.device)
    firsts = [len(row) - count for row, count in zip(rows, counts, strict=True)]
    first = min(firsts)
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[:, first - 1 : -1].float()
    chosen = torch.log_softmax(logits, dim=-1).gather(-1, ids[:, first:].unsqueeze(-1)).squeeze(-1)
    return [
        float(each[start - first : len(row) - first].sum())
        for each, row, start in zip(chosen, rows, firsts, strict=True)
    ]
