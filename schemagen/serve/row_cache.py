"""Rows that come and go in one batch: each step is a pass over a token of every row, and between two steps rows may change.

Idea: a batch is a cache of keys and values [B, H, T, D], padded on the left, and a mask [B, T] of what is no padding. Rows that
leave are indexed out, and columns that no row uses any more are cut off. Rows that join are read in a pass of their own,
padded like each other, then both caches are widened to the longer one and put together. Positions are counted by the mask,
as ``generate`` does it, so what a row is given does not depend on its neighbours (but for rounding).

Invariants: the cache holds the prompt and every token of a row but the last; `jobs` are its rows, in order.

Rejected: reading a batch again whenever its rows change, which only needs ``generate``: with prompts of sixty tokens and
answers of twenty it cost a third of the throughput.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import pad as padded

from schemagen.decode.loop import inputs_of
from schemagen.decode.speculation.eligibility import is_plain_decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.serve.choosing import Chooser
    from schemagen.serve.jobs import Job

#: Rows that are over are taken out when one of so many is.
_GONE = 4


def can_cache_rows(model: Any) -> bool:
    """Whether the rows of a batch of this model can come and go: its cache is known, and it is told positions and a mask."""
    if not is_plain_decoder(model):
        return False
    from transformers import DynamicCache

    layers = getattr(DynamicCache(config=model.config), "layers", None)
    takes = inspect.signature(model.forward).parameters
    return (
        layers is not None
        and all(type(layer).__name__ == "DynamicLayer" for layer in layers)
        and {"position_ids", "attention_mask"} <= takes.keys()
    )


class CachedRows:
    """The rows of a batch.

    Args:
        model: Of which `can_cache_rows` holds.
        pad: What prompts are padded with.
        chooser: Chooses the tokens.

    Attributes:
        jobs: The rows.
    """

    def __init__(self, model: Any, pad: int, chooser: Chooser) -> None:
        self._model = model
        self._pad = pad
        self._chooser = chooser
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.jobs: list[Job] = []
        self._cache: Any = None
        self._mask = torch.empty((0, 0), dtype=torch.int64)  # int64 [B, T]
        self._last = torch.empty((0, 1), dtype=torch.int64)  # int64 [B, 1]: chosen, and not read yet

    def advance(self, jobs: Sequence[Job]) -> None:
        """Make one step: every one of some jobs gets a token.

        Args:
            jobs: The rows from now on. Those that are no rows yet join, with the token that follows their text. Those that are
                no longer among them are padding until others join, or until they are a quarter of the rows.

        Raises:
            Exception: Whatever the model raises; call `clear` then.

        Cost: a pass of the model over one token of each row; where rows join, a pass over their texts, and a copy of the cache.
        """
        known, staying = set(self.jobs), set(jobs)
        joining = [job for job in jobs if job not in known]
        kept = [row for row, job in enumerate(self.jobs) if job in staying]
        if not kept:
            self.clear()
        elif self.jobs:
            self._step()
        gone = len(self.jobs) - len(kept)
        if joining or (gone and _GONE * gone >= len(self.jobs)):
            self._change(kept, joining)

    def _step(self) -> None:
        """Read the last token of each row, and choose the next."""
        self._mask = padded(self._mask, (0, 1), value=1)
        positions = self._mask.sum(dim=-1, keepdim=True) - 1
        self._last = self._read(self.jobs, self._last, self._mask, positions, self._cache)

    def _change(self, kept: list[int], joining: list[Job]) -> None:
        """Keep some rows, and read the texts of new ones."""
        from transformers import DynamicCache

        if not joining:
            self._put_together(kept, None, self._mask[:0, :0], self._last[:0])
            self.jobs = [self.jobs[row] for row in kept]
            return
        inputs = inputs_of([(*job.token_ids, *job.generated) for job in joining], self._pad, self._model.device)
        mask = inputs["attention_mask"]
        positions = (mask.cumsum(dim=-1) - 1).clamp(min=0)
        cache = DynamicCache(config=self._model.config)
        last = self._read(joining, inputs["input_ids"], mask, positions, cache)
        if kept:
            self._put_together(kept, cache, mask, last)
        else:
            self._cache, self._mask, self._last = cache, mask, last
        self.jobs = [*(self.jobs[row] for row in kept), *joining]

    def _put_together(self, kept: list[int], other: Any, mask: torch.Tensor, last: torch.Tensor) -> None:
        """Make one batch of some rows and another batch (None: no rows), without columns that no row uses."""
        index = torch.tensor(kept, device=self._mask.device)
        own = self._mask[index]
        own = own[:, int(own.any(dim=0).int().argmax()) :]
        width = max(own.shape[1], mask.shape[1])
        for place, layer in enumerate(self._cache.layers):
            more = None if other is None else other.layers[place]
            for name in ("keys", "values"):
                states = getattr(layer, name)
                rows = [states[:, :, states.shape[2] - own.shape[1] :].index_select(0, index)]
                rows += [] if more is None else [getattr(more, name)]
                setattr(layer, name, _stacked(rows, width))
        self._mask = torch.cat([padded(each, (width - each.shape[1], 0)) for each in (own, mask)])
        self._last = torch.cat([self._last[index], last])

    def _read(
        self, jobs: Sequence[Job], input_ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any
    ) -> torch.Tensor:
        """Read some tokens of each row, and return the token that was chosen behind them, int64 [B, 1]."""
        logits = self._model(
            input_ids=input_ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        chosen = self._chooser.choose(jobs, logits.float())
        return torch.tensor(chosen, dtype=input_ids.dtype, device=input_ids.device).unsqueeze(-1)


def _stacked(parts: list[torch.Tensor], width: int) -> torch.Tensor:
    """Return keys or values [B, H, T, D] of several batches as one, padded on the left to a width."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    found = first.new_zeros((sum(map(len, parts)), first.shape[1], width, first.shape[3]))
    start = 0
    for part in parts:
        found[start : start + len(part), :, width - part.shape[2] :] = part
        start += len(part)
    return found
