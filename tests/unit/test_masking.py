"""Masks on logits, against the definition: ``-inf`` unless the bit is set, and a finite maximum for a processor."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import schemagen
from schemagen.masks import logits as masking
from schemagen.masks.logits import (
    _masked_by_torch,
    has_overflow,
    mask_and_check,
    mask_rows,
    mask_rows_inplace,
    removed_mass,
)

WIDTH, COVERED = 1003, 997
#: Share of allowed tokens: a few, some, nearly all, all.
SHARES = (0.002, 0.02, 0.3, 0.95, 1.0)
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@pytest.fixture(params=["core", "torch"], autouse=True)
def way(request, monkeypatch):
    """Both ways on a CPU: the kernel of the core, and torch, to which the core leaves what it cannot read."""
    if request.param == "torch":
        left_to_torch = SimpleNamespace(mask_logits=lambda *_: None, sum_allowed=lambda *_: None)
        monkeypatch.setattr(masking, "_core", left_to_torch)
    return request.param


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


@pytest.mark.parametrize("dtype", DTYPES)
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
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_broken_logits_never_reach_the_sampler(share, broken, where, dtype):
    """NaN and the infinities, wherever they are: forbidden tokens stay at -inf, and a softmax is defined."""
    scores, words, allowed = random_case(share, dtype, 3)
    hit = {"allowed": allowed, "forbidden": ~allowed, "everywhere": torch.ones_like(allowed)}[where]
    scores[hit] = broken
    before = scores.clone()
    for inplace in (False, True):
        masked = mask_rows(scores, words, range(4), COVERED, inplace=inplace)
        assert masked[~allowed].isneginf().all()
        assert torch.softmax(masked, dim=-1).isfinite().all()
        if where == "forbidden":
            assert masked[allowed].equal(before[allowed])


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("broken", [math.nan, -math.nan, math.inf])
def test_a_single_overflow_is_found_wherever_it_is(share, dtype, inplace, broken):
    """Among allowed and forbidden logits, in the first and the last ones; other rows, and logits that do not count, are fine."""
    for place in (0, 31, 32, 500, 991, 992, COVERED - 1, COVERED, WIDTH - 1):
        scores, words, allowed = random_case(share, dtype, place % 7)
        scores[1, place] = scores[3, place] = broken
        scores[2, 7] = -math.inf
        masked, found = mask_and_check(scores, words, [0, 1, 2], COVERED, inplace=inplace)
        assert found == ([1] if place < COVERED else [])
        assert masked[[0, 2]].equal(mask_rows(scores, words, [0, 2], COVERED)[[0, 2]]) or inplace
        assert masked[0][~allowed[0]].isneginf().all()


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_without_any_allowed_logit_is_found(share, dtype):
    """All of them are -inf, whatever the others are; a single one that is not, is enough to go on."""
    scores, words, allowed = random_case(share, dtype, 2)
    scores[0] = -math.inf
    scores[1][allowed[1]] = -math.inf
    scores[2][allowed[2]] = -math.inf
    scores[2, int(allowed[2].nonzero()[-1])] = torch.finfo(dtype).min
    assert mask_and_check(scores, words, range(4), COVERED)[1] == [0, 1]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ends_may_be_infinite(share, dtype):
    """But not NaN, and nothing else may; what is written is finite all the same, in both ways."""
    scores, words, allowed = random_case(share, dtype, 4)
    ends = [5, COVERED - 1]
    scores[:, ends] = math.inf
    scores[1, 5] = math.nan
    scores[2, 6] = math.inf
    masked, found = mask_and_check(scores, words, range(4), COVERED, ends=ends)
    assert found == [1, 2]
    assert not masked.isposinf().any()
    assert has_overflow(scores[:, :COVERED], ends).tolist() == [False, True, True, False]
    assert masked[~allowed].isneginf().all()


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("broken", [0.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("share", SHARES)
def test_both_ways_to_mask_agree(share, broken, dtype):
    """What an accelerator does, done on the CPU, is what the CPU does."""
    scores, words, _ = random_case(share, dtype, 6)
    scores[:, ::3] += broken
    for rows in (range(4), [1, 2]):
        kept = [row for row in range(4) if row not in rows]
        ours, theirs = mask_rows(scores, words, rows, COVERED), _masked_by_torch(scores, words, rows, COVERED)[0]
        assert ours[list(rows)].equal(theirs[list(rows)])
        assert ours[kept].nan_to_num(nan=7).equal(theirs[kept].nan_to_num(nan=7))


def expected_of(scores, allowed):
    """Return the definition."""
    return torch.where(allowed, scores, -math.inf)


def test_the_core_masks_in_place(way):
    """No other memory is involved, and torch knows that the tensor was written to."""
    scores, words, allowed = random_case(0.3, torch.float32, 8)
    expected, version = expected_of(scores, allowed), scores._version
    assert (mask_rows(scores, words, range(4), COVERED, inplace=True) is scores) == (way == "core")
    mask_rows_inplace(scores, words, COVERED)
    assert scores.equal(expected)
    assert scores._version > version


@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 95, 96])
@pytest.mark.parametrize("surplus", [0, 1, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_widths_around_whole_words(width, surplus, dtype):
    """The last word may be cut, and the logits may be wider than all words."""
    words = torch.tensor([[-1, -1, -1], [0x55555555, 1 << 30, -(2**31)]], dtype=torch.int32)[:, : -(-width // 32)]
    scores = torch.arange(2 * (width + surplus)).view(2, -1).to(dtype)
    bits = [[token < width and bool(row[token // 32] >> token % 32 & 1) for token in range(width + surplus)]
            for row in words.tolist()]  # fmt: skip
    rows = [row for row in range(2) if any(bits[row])]
    expected = expected_of(scores, torch.tensor(bits))
    assert mask_rows(scores, words, rows, width)[rows].equal(expected[rows])
    schemagen.apply_token_bitmask_inplace(scores, words, vocab_size=width)
    assert scores.equal(expected)


@pytest.mark.parametrize("kind", ["rows apart", "upside down", "one row for all", "transposed", "negated", "inference"])
def test_unusual_tensors_are_masked_alike(kind):
    """What the core cannot read is left to torch, with the same result."""
    scores, words, allowed = random_case(0.3, torch.float32, 9)
    if kind == "rows apart":
        scores = torch.cat([scores, scores], dim=-1)[:, :WIDTH]
    elif kind == "upside down":
        words, allowed = words.flip(0), allowed.flip(0)
    elif kind == "one row for all":
        scores = scores[:1].expand(4, -1)
    elif kind == "negated":
        scores = torch._neg_view(-scores)
    elif kind == "transposed":
        scores = scores.t().contiguous().t()
    with torch.inference_mode(kind == "inference"):
        scores = scores.clone() if kind == "inference" else scores
        expected = expected_of(scores, allowed)
        assert mask_rows(scores, words, range(4), COVERED).equal(expected)
        if kind != "one row for all":
            mask_rows_inplace(scores, words, COVERED)
            assert scores.equal(expected)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.int32, torch.bool])
def test_the_core_refuses_what_it_cannot_write(dtype, way):
    """Other types, columns apart, and rows that share their memory: nothing is written."""
    if way == "torch":
        return
    scores, words, _ = random_case(0.3, torch.float32, 9)
    before = scores.clone()
    for odd in (scores.to(dtype), scores.t().contiguous().t(), scores[:1].expand(4, -1), scores[0]):
        assert not masking._core.mask_logits(odd, odd, words, range(4), COVERED, True)
    assert scores.equal(before)


def test_the_core_checks_what_it_is_given(way):
    """Memory that is not there is never read or written."""
    if way == "torch":
        return
    scores, words, _ = random_case(0.3, torch.float32, 9)
    wrong = {
        "like": (scores, scores[:2].clone(), words, range(4), COVERED),
        "for each of 4 rows": (scores, scores, words[:3], range(4), COVERED),
        "tokens for": (scores, scores, words, range(4), WIDTH + 200),
        "row 4 of 4": (scores, scores, words, [0, 4], COVERED),
        "row -1 of 4": (scores, scores, words, [-1], COVERED),
    }
    for message, arguments in wrong.items():
        with pytest.raises(schemagen.errors.BitmaskShapeError, match=message):
            masking._core.mask_logits(*arguments, True)


def test_gradients_flow_through_allowed_logits():
    """Scores that require gradients are masked by torch, which can differentiate that."""
    scores, words, allowed = random_case(0.3, torch.float32, 2)
    scores.requires_grad_()
    mask_rows(scores, words, range(4), COVERED)[allowed].sum().backward()
    assert scores.grad.equal(allowed.float())


def test_tensors_without_memory_are_not_read():
    """Of fake and meta tensors only the shape is known; so is that of the result."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    scores, words, _ = random_case(0.3, torch.float32, 2)
    assert mask_rows(scores.to("meta"), words, range(4), COVERED).shape == scores.shape
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(scores)
        assert mask_rows(fake, mode.from_tensor(words), range(4), COVERED).shape == scores.shape
        mask_rows_inplace(fake, mode.from_tensor(words), COVERED)


def test_a_compiled_function_has_one_graph():
    """`torch.compile` sees the kernels of torch, and the graph does not break."""
    scores, words, allowed = random_case(0.3, torch.float32, 2)

    def apply(scores, words):
        schemagen.apply_token_bitmask_inplace(scores, words, vocab_size=COVERED)
        return scores * 2

    compiled = torch.compile(apply, backend="eager", fullgraph=True)
    assert compiled(scores.clone(), words).equal(expected_of(scores, allowed) * 2)


@pytest.mark.parametrize("share", SHARES)
def test_removed_mass_is_that_of_the_softmax(share):
    """One minus the probability of the allowed tokens, also for some of the rows and where a logit is -inf."""
    scores, words, allowed = random_case(share, torch.float32, 4)
    scores[1, 3] = -math.inf
    expected = 1 - torch.where(allowed, torch.softmax(scores, dim=-1), 0).sum(dim=-1)
    for rows in (range(4), [1, 3]):
        assert torch.allclose(removed_mass(scores, words, rows, COVERED), expected[list(rows)].clamp(0, 1), atol=1e-6)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_the_mass_of_what_is_no_distribution_is_nan(share, broken):
    """One such logit, allowed or forbidden, is enough; and so are no logits but -inf. Other rows are measured."""
    scores, words, allowed = random_case(share, torch.float32, 4)
    scores[1, 3] = scores[3, int(allowed[3].nonzero()[0])] = broken
    scores[2] = -math.inf
    assert removed_mass(scores, words, range(4), COVERED).isnan().tolist() == [False, True, True, True]


def test_a_mass_of_many_small_numbers_is_exact():
    """A sum over a hundred thousand probabilities, as double precision has it, up to the rounding of the softmax."""
    scores = torch.randn(1, 100_003, generator=torch.Generator().manual_seed(0))
    words = torch.randint(-(2**31), 2**31, (1, 3126), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    words[0, 100:200], words[0, 200:300] = 0, -1
    bits = masking._shift(words)[0, :100_001].double()
    expected = 1 - (torch.softmax(scores.double(), dim=-1)[0, :100_001] * bits).sum()
    assert removed_mass(scores, words, [0], 100_001).item() == pytest.approx(expected.item(), abs=1e-6)


def test_the_core_checks_what_it_sums(way):
    """Memory that is not there is never read; what is no vector of float32 is left to torch."""
    if way == "torch":
        return
    values, words = torch.zeros(64), torch.zeros(2, dtype=torch.int32)
    assert masking._core.sum_allowed(values, words, 64) == 0
    for odd in (values.double(), values[::2], values.view(2, 32)):
        assert masking._core.sum_allowed(odd, words, 32) is None
    for covered in (65, 33):
        with pytest.raises(schemagen.errors.BitmaskShapeError, match="tokens for"):
            masking._core.sum_allowed(values, words[: 2 if covered == 65 else 1], covered)
