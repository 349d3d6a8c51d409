"""The steps of `schemagen.device.kernels` as one Triton kernel: state advance and mask in one pass over the scores.

One program handles one row and a block of its scores. Each looks up the state behind the last token itself, five loads
that are the same for all programs of a row, so that none has to wait for another; the first of them writes it down. The
scores are read once and written once, which is the floor for any mask.

Triton is not a dependency of this package: torch brings it along where it has a GPU. With ``TRITON_INTERPRET=1`` the kernel
runs on a CPU, which is how it is tested against the torch functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]

if TYPE_CHECKING:
    from schemagen.device.kernels import Tables

_BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _advance_and_mask(  # noqa: PLR0913
    scores: Any,
    out: Any,
    owners: Any,
    states: Any,
    tokens: Any,
    next_states: Any,
    classes: Any,
    transitions: Any,
    firsts: Any,
    widths: Any,
    bases: Any,
    mask_ids: Any,
    masks: Any,
    width: Any,
    words: Any,
    stride: Any,
    HAS_TOKENS: tl.constexpr,  # noqa: N803 - Triton's own style
    BLOCK: tl.constexpr,  # noqa: N803
) -> None:
    """Follow a token, and copy a block of scores with ``-inf`` where the new state does not allow a token."""
    row, block = tl.program_id(0), tl.program_id(1)
    owner, state = tl.load(owners + row), tl.load(states + row)
    if HAS_TOKENS:
        token_class = tl.load(classes + owner * width + tl.load(tokens + row)).to(tl.int64)
        state = tl.load(transitions + tl.load(firsts + owner) + state * tl.load(widths + owner) + token_class).to(
            tl.int64
        )
    if block == 0:
        tl.store(next_states + row, state)
    mask = tl.load(mask_ids + tl.load(bases + owner) + state)
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    word = tl.load(masks + mask * words + at // 32, mask=inside, other=0)
    allowed = (word >> (at % 32)) & 1
    values = tl.load(scores + row * stride + at, mask=inside, other=float("-inf"))
    tl.store(out + row * stride + at, tl.where(allowed != 0, values, float("-inf")), mask=inside)


def advance_and_mask(
    tables: Tables,
    owners: torch.Tensor,
    states: torch.Tensor,
    tokens: torch.Tensor | None,
    scores: torch.Tensor,
    out: torch.Tensor | None = None,
    next_states: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states behind the tokens, int64 [B], and the scores masked by them, [B, V].

    Args:
        tables: The grammars.
        owners: int64 [B]: the grammar of each row.
        states: int64 [B]: before the tokens.
        tokens: int64 [B]; None for the first step, which only masks.
        scores: float [B, V], contiguous in V.
        out: Where the masked scores go; may be `scores` itself. A new tensor by default.
        next_states: Where the states go, so that a captured graph has fixed addresses. A new tensor by default. It must not
            be `states`: programs of a row read these at different times.

    Cost: one launch; the scores read and written once, V/8 bytes of mask and some dozen bytes of tables for each row.
    """
    batch, width = scores.shape
    out = torch.empty_like(scores) if out is None else out
    next_states = torch.empty_like(states) if next_states is None else next_states
    kernel: Any = _advance_and_mask
    kernel[batch, triton.cdiv(width, _BLOCK)](
        scores,
        out,
        owners,
        states,
        states if tokens is None else tokens,
        next_states,
        tables.classes,
        tables.transitions,
        tables.firsts,
        tables.widths,
        tables.bases,
        tables.mask_ids,
        tables.masks,
        tables.width,
        tables.masks.shape[1],
        scores.stride(0),
        HAS_TOKENS=tokens is not None,
        BLOCK=_BLOCK,
    )
    return next_states, out
