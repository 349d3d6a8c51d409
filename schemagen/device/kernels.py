"""The steps of a batch through tables of grammars, as torch index operations without any synchronisation."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from schemagen.masks.rows import BITS


@dataclass(frozen=True, slots=True)
class Tables:
    """Concatenated tables of grammars; g is a grammar (0 without a constraint), s one of its states.

    Attributes:
        classes: int32 [G, V]: class of each token.
        transitions: int32 [N]: the state after class c is at ``firsts[g] + s * widths[g] + c``.
        firsts: int64 [G].
        widths: int64 [G]: classes of each grammar.
        bases: int64 [G]: state s is number ``bases[g] + s`` among all.
        mask_ids: int64 [S]: row of `masks`.
        masks: int32 [M, ceil(V/32)]: bit ``i % 32`` of word ``i // 32`` is token i.
        needed: int32 [S]: fewest tokens to finish; the largest int32 if unknown.
        ready: bool [S]: whether the state has its row.
        ends: bool [V]: EOS and padding.
        width: V.
    """

    classes: torch.Tensor
    transitions: torch.Tensor
    firsts: torch.Tensor
    widths: torch.Tensor
    bases: torch.Tensor
    mask_ids: torch.Tensor
    masks: torch.Tensor
    needed: torch.Tensor
    ready: torch.Tensor
    ends: torch.Tensor
    width: int


def advance(tables: Tables, owners: torch.Tensor, states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return the states int64 [B] after one token each.

    Args:
        tables: The grammars.
        owners: int64 [B]: the grammar of each row.
        states: int64 [B].
        tokens: int64 [B], each below V.

    Cost: five gathers of B entries.
    """
    token_class = tables.classes[owners, tokens]
    return tables.transitions[tables.firsts[owners] + states * tables.widths[owners] + token_class].long()


def allowed_tokens(
    tables: Tables, owners: torch.Tensor, states: torch.Tensor, budgets: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the tokens allowed next, bool [B, V].

    Args:
        tables: The grammars.
        owners: int64 [B].
        states: int64 [B].
        budgets: int64 [B]: tokens that may still come. A token is left out if more than ``budget - 1`` are needed after
            it; a budget below the minimum counts as the minimum.

    Cost: V/8 bytes a row are gathered and unpacked; with budgets also 12 V.
    """
    rows = tables.bases[owners] + states
    words = tables.masks[tables.mask_ids[rows]]  # [B, W]
    shifts = torch.arange(BITS, dtype=torch.int32, device=words.device)
    allowed = (words.unsqueeze(-1) >> shifts & 1).bool().flatten(1)[:, : tables.width]
    if budgets is None:
        return allowed
    return allowed & _fitting(tables, owners, states, budgets)


def _fitting(tables: Tables, owners: torch.Tensor, states: torch.Tensor, budgets: torch.Tensor) -> torch.Tensor:
    """Return which tokens leave enough of the budget, bool [B, V]; EOS always does."""
    at = tables.firsts[owners] + states * tables.widths[owners]
    after = tables.transitions[at.unsqueeze(-1) + tables.classes[owners]].long()  # [B, V]
    needed = tables.needed[tables.bases[owners].unsqueeze(-1) + after]
    enough = torch.maximum(budgets, tables.needed[tables.bases[owners] + states].long())
    return (needed < enough.unsqueeze(-1)) | tables.ends
