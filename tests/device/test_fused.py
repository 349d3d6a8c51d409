"""The fused kernel gives the states and scores of the torch functions; on a CPU it runs in Triton's interpreter."""

import os
import random

import pytest

import schemagen
from tests.device.test_tables import PERSON

torch = pytest.importorskip("torch")
# Read when the kernel is defined, so it must be set before the import.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip(
    "triton", reason="Triton comes with the GPU builds of torch; `pip install triton` runs this on a CPU"
)

from schemagen.device import DeviceTables  # noqa: E402 - needs torch and Triton
from schemagen.device.fused import advance_and_mask  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("surplus", [0, 70])
def test_states_and_scores_equal_those_of_torch(surplus, bundled_vocabulary):
    """A batch of three grammars and a free row, step by step, random scores, greedy."""
    specs = [PERSON, schemagen.Regex("[ab]{2,7}(x|yz)*"), {"enum": ["a", "bcd", 17, None]}]
    grammars = [schemagen.compile(spec, bundled_vocabulary, whitespace="compact", cache=None) for spec in specs]
    width = bundled_vocabulary.size + surplus
    tables = DeviceTables(grammars, DEVICE, width=width, pad_token_id=0, max_states=20_000)
    owners, states = tables.starts([0, 1, 2, None])
    generator = torch.Generator().manual_seed(random.Random(surplus).randrange(1000))
    scores = torch.randn(4, width, generator=generator).to(DEVICE)
    expected = tables.mask(owners, states, scores)
    fused_states, masked = advance_and_mask(tables.tensors, owners, states, None, scores)
    assert torch.equal(masked, expected)
    for _ in range(12):
        tokens = masked.argmax(-1)
        scores = torch.randn(4, width, generator=generator).to(DEVICE)
        states = tables.advance(owners, states, tokens)
        expected = tables.mask(owners, states, scores)
        fused_states, masked = advance_and_mask(tables.tensors, owners, fused_states, tokens, scores)
        assert torch.equal(fused_states, states)
        assert torch.equal(masked, expected)


def test_it_writes_in_place(bundled_vocabulary):
    """Given tensors are used, so that a captured graph has fixed addresses."""
    tables = DeviceTables([schemagen.compile(PERSON, bundled_vocabulary, cache=None)], DEVICE)
    owners, states = tables.starts([0])
    scores, following = torch.zeros(1, bundled_vocabulary.size, device=DEVICE), torch.empty_like(states)
    expected = tables.mask(owners, states, scores)
    found, masked = advance_and_mask(tables.tensors, owners, states, None, scores, out=scores, next_states=following)
    assert found is following
    assert masked is scores
    assert torch.equal(scores, expected)
