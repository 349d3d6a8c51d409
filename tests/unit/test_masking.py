"""Masks on logits, against the definition: ``-inf`` unless the bit is set, and a finite maximum for a processor."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import schemagen
from schemagen.masking import _masked_on_device, mask_rows, mask_rows_inplace, removed_mass

WIDTH, COVERED = 1003, 997
#: Share of allowed tokens: a few, some, nearly all, all.
SHARES = (0.002, 0.02, 0.3, 0.95, 1.0)


def random_case(share, dtype, seed):
    """Return scores [4, WIDTH], words, and the allowed tokens as bool [4, WIDTH]."""
    generator = torch.Generator().manual_seed(seed)
    allowed = torch.rand(4, WIDTH, generator=generator) < share
    allowed[:, seed % COVERED] = True
    allowed[2, 31] = True  # the sign bit
    packed = np.packbits(allowed[:, : COVERED + 3].numpy(), axis=1, bitorder="little")
    words = np.zeros((4, -(-COVERED // 32) * 4), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed[:, : words.shape[1]]
    allowed[:, COVERED:] = False
    scores = torch.randn(4, WIDTH, generator=generator).to(dtype)
    return scores, torch.from_numpy(words.view(np.int32)), allowed


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("share", SHARES)
def test_allowed_logits_stay_and_all_others_go(share, dtype):
    """For few and for many allowed tokens, in every precision, exactly; bits beyond the covered ones do not count."""
    for seed in range(8):
        scores, words, allowed = random_case(share, dtype, seed)
        before = scores.clone()
        masked = mask_rows(scores, words, range(4), COVERED)
        assert masked.dtype == dtype
        assert masked.equal(torch.where(allowed, scores, -math.inf))
        assert scores.equal(before)
        assert mask_rows(scores, words, range(4), COVERED, inplace=True).equal(masked)
        assert scores.equal(masked)


@pytest.mark.parametrize("share", SHARES)
def test_large_rows_are_masked_one_by_one(share, monkeypatch):
    """The ways for many logits, few allowed or not, on small ones: the same result, in place and not."""
    monkeypatch.setattr("schemagen.masking._AT_ONCE", 0)
    for seed in range(8):
        for rows in (range(4), [0, 2, 3]):
            scores, words, allowed = random_case(share, torch.float32, seed)
            expected = scores.clone()
            for row in rows:
                expected[row] = torch.where(allowed[row], scores[row], -math.inf)
            assert mask_rows(scores, words, rows, COVERED).equal(expected)
            assert mask_rows(scores, words, rows, COVERED, inplace=True).equal(expected)


@pytest.mark.parametrize("share", SHARES)
def test_other_rows_are_copied(share):
    """Rows that are not named stay as they are, broken or not, and share no memory."""
    scores, words, allowed = random_case(share, torch.float32, 5)
    scores[1, 7] = math.nan
    masked = mask_rows(scores, words, [0, 3], COVERED)
    assert masked[0].equal(torch.where(allowed[0], scores[0], -math.inf))
    assert masked[[1, 2]].equal(scores[[1, 2]]) or masked[[1, 2]].isnan().equal(scores[[1, 2]].isnan())
    assert masked.data_ptr() != scores.data_ptr()


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["allowed", "forbidden", "everywhere"])
@pytest.mark.parametrize("at_once", [0, 1 << 18])
def test_broken_logits_never_reach_the_sampler(share, broken, where, at_once, monkeypatch):
    """NaN and the infinities, wherever they are: forbidden tokens stay at -inf, and a softmax is defined."""
    monkeypatch.setattr("schemagen.masking._AT_ONCE", at_once)
    scores, words, allowed = random_case(share, torch.float32, 3)
    hit = {"allowed": allowed, "forbidden": ~allowed, "everywhere": torch.ones_like(allowed)}[where]
    scores[hit] = broken
    before = scores.clone()
    for inplace in (False, True):
        masked = mask_rows(scores, words, range(4), COVERED, inplace=inplace)
        assert masked[~allowed].isneginf().all()
        assert torch.softmax(masked, dim=-1).isfinite().all()
        if where == "forbidden":
            assert masked[allowed].equal(before[allowed])


def test_logits_that_are_not_contiguous():
    """A slice of a larger tensor, as assisted decoding passes it."""
    for share in SHARES:
        scores, words, allowed = random_case(share, torch.float32, 1)
        strided = torch.stack([scores, scores], dim=1)[:, 1]
        assert not strided.is_contiguous()
        assert mask_rows(strided, words, range(4), COVERED).equal(torch.where(allowed, scores, -math.inf))
        mask_rows_inplace(strided, words, COVERED)
        assert strided.equal(torch.where(allowed, scores, -math.inf))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("share", SHARES)
def test_apply_in_place_is_the_definition(share, dtype):
    """The public function does what its docstring says, also with NaN and infinity among the forbidden logits."""
    for seed, broken in enumerate((0.0, math.nan, math.inf)):
        scores, words, allowed = random_case(share, dtype, seed)
        scores[~allowed] += broken
        expected = torch.where(allowed, scores, -math.inf)
        schemagen.apply_token_bitmask_inplace(scores, words, vocab_size=COVERED)
        assert scores.equal(expected)


def test_apply_in_place_keeps_an_allowed_nan():
    """Nothing is repaired behind the caller's back."""
    scores, words, allowed = random_case(0.3, torch.float32, 2)
    scores[0] = math.nan
    schemagen.apply_token_bitmask_inplace(scores, words, vocab_size=COVERED)
    assert scores[0].isnan().equal(allowed[0])


@pytest.mark.parametrize("broken", [0.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("share", SHARES)
def test_both_ways_to_mask_agree(share, broken):
    """What an accelerator does, done on the CPU, is what the CPU does."""
    scores, words, _ = random_case(share, torch.float32, 6)
    scores[:, ::3] += broken
    for rows in (range(4), [1, 2]):
        kept = [row for row in range(4) if row not in rows]
        ours, theirs = (mask(scores, words, rows, COVERED) for mask in (mask_rows, _masked_on_device))
        assert ours[list(rows)].equal(theirs[list(rows)])
        assert ours[kept].nan_to_num(nan=7).equal(theirs[kept].nan_to_num(nan=7))


@pytest.mark.parametrize("share", SHARES)
def test_removed_mass_is_that_of_the_softmax(share):
    """One minus the probability of the allowed tokens, also for some of the rows and with NaN among the logits."""
    scores, words, allowed = random_case(share, torch.float32, 4)
    scores[1, 3] = math.nan
    clean = torch.nan_to_num(scores, nan=-math.inf)
    expected = 1 - torch.where(allowed, torch.softmax(clean, dim=-1), 0).sum(dim=-1)
    for rows in (range(4), [1, 3]):
        assert torch.allclose(removed_mass(scores, words, rows, COVERED), expected[list(rows)].clamp(0, 1), atol=1e-6)
    assert removed_mass(torch.full((4, WIDTH), math.nan), words, range(4), COVERED).numel() == 0
