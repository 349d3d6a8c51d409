"""How likely a model finds the ends of several texts, in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.generate import inputs_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def log_likelihoods(model: Any, rows: Sequence[tuple[int, ...]], counts: Sequence[int]) -> list[float]:
    """Return the logarithm of the probability that the model, without a mask, gives the last tokens of each row.

    Args:
        model: A causal model of transformers.
        rows: The tokens of each row, its prompt first.
        counts: How many tokens of each row count, from its end.

    Cost: one pass over all rows; float [B, max(counts), V] in memory.
    """
    inputs = inputs_of(rows, 0, model.device)
    positions = (inputs["attention_mask"].cumsum(dim=-1) - 1).clamp(min=0)
    longest = max(counts)
    with torch.inference_mode():
        logits = model(**inputs, position_ids=positions, use_cache=False).logits[:, -longest - 1 : -1].float()
    ids = inputs["input_ids"][:, -longest:].unsqueeze(-1)
    each = torch.log_softmax(logits, dim=-1).gather(-1, ids).squeeze(-1).tolist()
    return [sum(row[longest - count :]) for row, count in zip(each, counts, strict=True)]
