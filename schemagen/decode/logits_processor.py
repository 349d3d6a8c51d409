"""`LogitsProcessor`: grammars as an ordinary processor of `transformers.generate`.

At each step every row is masked with exactly the tokens that its grammar allows; everything else gets ``-inf``, also
the padding of the logits beyond the vocabulary. Broken logits cannot break the constraint: NaN among the allowed tokens
counts as ``-inf``, and where no finite logit is left the allowed tokens all get 0, which is the uniform choice.

The object is reusable and needs no reset: rows are recognised by their tokens (see `schemagen.decode.sequences`), which
covers beam search, `num_return_sequences`, assisted decoding, left padding, and the next call of `generate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import LogitsProcessor as TransformersLogitsProcessor

from schemagen.bitmask import allocate_token_bitmask
from schemagen.decode.sequences import Cursor, Sequences
from schemagen.errors import BitmaskShapeError, DeadEndError, MatcherError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.compiler import Grammar

_BITS = 32


class LogitsProcessor(TransformersLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Masks logits so that every row can only continue within its grammar.

    Pass it to ``model.generate(..., logits_processor=[processor])``, and the EOS ids of the vocabulary as
    ``eos_token_id``. Not for use by two threads at once.

    Args:
        grammar: One grammar for all rows, or one (or None: unconstrained) per prompt of the batch. With beams or
            several returned sequences the rows of a prompt share its grammar.
        measure_mass: Whether to sum up the probability that the mask removes (a softmax per step).
        pad_token_id: Allowed, besides EOS, in rows that are already complete.

    Attributes:
        constrained_steps: Rows masked since construction or `reset`, summed over steps.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        grammar: Grammar | Sequence[Grammar | None],
        *,
        measure_mass: bool = False,
        pad_token_id: int | None = None,
    ) -> None:
        if isinstance(grammar, (list, tuple)) and not grammar:
            raise MatcherError("no grammar for any row", fix="give a grammar, or a list with one per prompt")
        several: list[Any] = list(grammar) if isinstance(grammar, (list, tuple)) else [grammar]
        known = [entry.vocabulary for entry in several if entry is not None]
        self._vocabulary = known[0] if known else None
        self._widest = max((vocabulary.size for vocabulary in known), default=0)
        self._ends = _ending_ids(known, pad_token_id)
        self._sequences = Sequences(grammar)
        self._measure_mass = measure_mass
        self._removed: list[torch.Tensor] = []
        self.constrained_steps = 0

    @property
    def masked_mass(self) -> float | None:
        """Mean probability that the model had given to tokens the mask removed; None if it was not measured."""
        if not self._removed:
            return None
        return float(torch.cat(self._removed).mean())

    def reset(self) -> None:
        """Forget the last generation and the measurements.

        Needed only where a generation goes on, with the same object, from an unfinished text of the one before.
        """
        self._sequences.forget()
        self._removed = []
        self.constrained_steps = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores with every forbidden token at ``-inf``.

        Args:
            input_ids: int64 [B, T]: prompts and what was generated so far.
            scores: float [B, V]; V may exceed the vocabulary, the surplus is masked.

        Raises:
            BitmaskShapeError: V is smaller than the vocabulary.
            DeadEndError: A grammar allows no token; nothing is sampled from an empty mask.
            MatcherError: A row holds a token that its grammar forbids.

        Cost: the last column of ``input_ids`` to the CPU, B * V/8 bytes to the device of the scores, and a few passes
        over the scores there.
        """
        if scores.shape[-1] < self._widest:
            raise BitmaskShapeError(
                f"logits of width {scores.shape[-1]} for a vocabulary of {self._widest} tokens",
                why="the grammar was compiled for a wider vocabulary than the model's",
                fix="build the Vocabulary with vocab_size set to the width of the logits",
            )
        cursors = self._sequences.update(input_ids)
        if all(cursor is None for cursor in cursors):
            return scores
        bitmask = allocate_token_bitmask(len(cursors), self._widest)  # int32 [B, ceil(V/32)]
        live = [self._fill(cursor, bitmask, row) for row, cursor in enumerate(cursors)]
        self.constrained_steps += sum(live)
        allowed = _expand(bitmask, self._widest, scores)  # [B, V]
        if self._measure_mass and any(live):
            self._measure(scores, allowed, live)
        masked = _mask(scores, allowed)
        if all(cursor is not None for cursor in cursors):
            return masked
        constrained = torch.tensor([cursor is not None for cursor in cursors], device=scores.device)
        return torch.where(constrained.unsqueeze(-1), masked, scores)

    def _fill(self, cursor: Cursor | None, bitmask: Any, row: int) -> bool:
        """Write the mask of one row; return whether its grammar was asked."""
        if cursor is None:
            return False
        if cursor.is_over:
            bitmask[row] = 0
            for token_id in self._ends:
                _allow(bitmask, row, token_id)
            return False
        cursor.matcher.fill_next_token_bitmask(bitmask, row)
        if not bool(bitmask[row].any()):
            raise DeadEndError(
                f"no token can follow the {len(cursor.generated)} generated ones in row {row}",
                at=f"generated token {len(cursor.generated)}",
                why="the vocabulary has no token for any text that the grammar allows here",
            )
        return True

    def _measure(self, scores: torch.Tensor, allowed: torch.Tensor, live: list[bool]) -> None:
        """Keep the removed probability of the live rows, on their device."""
        rows = torch.tensor(live, device=scores.device)
        clean = torch.nan_to_num(scores[rows].float(), nan=float("-inf"), posinf=torch.finfo(torch.float32).max)
        kept = torch.softmax(clean, dim=-1).masked_fill(~allowed[rows], 0).sum(dim=-1)
        # All logits NaN: the softmax is not defined, and neither is the mass.
        self._removed.append((1 - kept[~kept.isnan()]).clamp(0, 1))


def _ending_ids(vocabularies: list[Any], pad_token_id: int | None) -> list[int]:
    """What may follow in a row that is complete: EOS and padding."""
    found = {int(token_id) for vocabulary in vocabularies for token_id in vocabulary.eos_token_ids}
    if pad_token_id is not None and any(0 <= pad_token_id < vocabulary.size for vocabulary in vocabularies):
        found.add(pad_token_id)
    return sorted(found)


def _allow(bitmask: Any, row: int, token_id: int) -> None:
    """Set one bit of an int32 mask; bit 31 is the sign."""
    word, bit = divmod(token_id, _BITS)
    bitmask[row, word] |= -(2**31) if bit == _BITS - 1 else 1 << bit


def _expand(bitmask: torch.Tensor, covered: int, scores: torch.Tensor) -> torch.Tensor:
    """Unpack int32 words [B, W] into booleans [B, V] beside the scores; what the words do not cover is False."""
    unpack = _unpack_on_host if scores.device.type == "cpu" else _unpack_on_device
    bits = unpack(bitmask, scores.device)[:, :covered]
    surplus = scores.shape[-1] - covered
    return torch.nn.functional.pad(bits, (0, surplus)) if surplus else bits


def _unpack_on_host(bitmask: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Unpack with numpy, five times as fast as shifts on a CPU (0.06 ms for 128,000 tokens)."""
    octets = bitmask.numpy().view(np.uint8)  # little-endian words, so that bit i is token i
    return torch.from_numpy(np.unpackbits(octets, axis=1, bitorder="little")).to(device, torch.bool)


def _unpack_on_device(bitmask: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Send the words, a bit per token, and unpack them where the scores are."""
    words = bitmask.to(device, non_blocking=True)
    shifts = torch.arange(_BITS, dtype=torch.int32, device=device)
    return (words.unsqueeze(-1) >> shifts & 1).bool().flatten(1)


def _mask(scores: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Return the scores with ``-inf`` where nothing is allowed, and at least one finite score per row."""
    low = float("-inf")
    masked = torch.where(allowed, scores, low)  # [B, V]
    # The maximum is NaN, infinite, or minus infinite exactly where something is wrong with a row.
    if bool(masked.amax(dim=-1).isfinite().all()):
        return masked
    masked = torch.nan_to_num(masked, nan=low, posinf=torch.finfo(scores.dtype).max, neginf=low)
    hopeless = masked.isneginf().all(dim=-1, keepdim=True)  # [B, 1]
    return torch.where(hopeless & allowed, torch.zeros_like(masked), masked)
