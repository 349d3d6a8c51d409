"""Rows that come and go in slots read what each would read alone."""

from __future__ import annotations

import random

import pytest
import torch
from transformers import LlamaForCausalLM

from schemagen.decode.cache_slots import CacheSlots, empty_cache
from tests.models import llama_config

pytestmark = pytest.mark.sampled(3)

VOCABULARY = 50


@pytest.fixture(scope="module", params=["heads", "grouped"])
def model(request):
    """Return a model of a few thousand weights; one of them has fewer heads of keys than of queries."""
    torch.manual_seed(0)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2 if request.param == "grouped" else 4}
    return LlamaForCausalLM(llama_config(vocab_size=VOCABULARY, max_position_embeddings=1024, **heads)).eval()


def alone(model, text):
    """Return the logits behind a text, without any cache."""
    return model(input_ids=torch.tensor([text])).logits[0, -1]


class Rows:
    """Rows of random tokens over slots, each checked against the same text alone."""

    def __init__(self, model, seed):
        self.model, self.draw = model, random.Random(seed)
        self.slots = CacheSlots(model.config, model.device)
        self.texts: list[list[int]] = []

    def tokens(self, count):
        return [self.draw.randrange(VOCABULARY) for _ in range(count)]

    def join(self, lengths):
        """Read some prompts in a pass of their own."""
        texts = [self.tokens(length) for length in lengths]
        width = max(lengths)
        ids = torch.tensor([[0] * (width - len(text)) + text for text in texts])
        mask = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts])
        cache = empty_cache(self.model.config)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        self.model(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        self.slots.add(cache, lengths)
        self.texts += texts

    def leave(self, kept):
        """Keep some rows."""
        order = self.slots.keep(kept)
        assert sorted(order) == sorted(kept)
        self.texts = [self.texts[row] for row in order]

    def step(self):
        """Read a token of each row, and return the logits."""
        new = self.tokens(len(self.texts))
        mask, positions = self.slots.step()
        logits = self.model(
            input_ids=torch.tensor(new).unsqueeze(-1), attention_mask=mask, position_ids=positions,
            past_key_values=self.slots.cache, use_cache=True,
        ).logits[:, -1]  # fmt: skip
        self.slots.stepped()
        self.texts = [[*text, token] for text, token in zip(self.texts, new, strict=True)]
        return logits

    def check(self, logits):
        """Each row got the logits that it gets alone."""
        for text, found in zip(self.texts, logits, strict=True):
            torch.testing.assert_close(found, alone(self.model, text), rtol=1e-4, atol=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("seed", range(12))
def test_rows_read_what_they_read_alone(model, seed):
    """Whoever joins or leaves, and however long they are, the logits of each row are those of its text alone."""
    rows = Rows(model, seed)
    draw = random.Random(seed)
    for _ in range(40):
        if not rows.texts or draw.random() < 0.3:
            rows.join([draw.choice([1, 2, 7, 30, 90]) for _ in range(draw.randrange(1, 6))])
        if draw.random() < 0.4:
            rows.leave([row for row in range(len(rows.texts)) if draw.random() < 0.7])
        if rows.texts:
            rows.check(rows.step())


@torch.inference_mode()
def test_what_a_row_leaves_behind_harms_no_other(model):
    """NaN in the keys and values of a row that has gone is never in sight of the row that takes its slot."""
    rows = Rows(model, 1)
    rows.join([60, 50, 5])
    for layer in rows.slots.cache.layers:
        layer.keys[:2] = float("nan")
        layer.values[:2] = float("nan")
    assert rows.step()[:2].isnan().all()
    rows.leave([2])
    rows.join([3, 4])
    rows.check(rows.step())
    rows.join([120])  # longer than what is there: older rows get columns that are not theirs
    rows.check(rows.step())


@torch.inference_mode()
def test_what_was_behind_the_last_column_harms_no_other(model):
    """Columns that were in use before the rows were shifted are made empty when a long row makes them part of all rows."""
    rows = Rows(model, 4)
    rows.join([5, 60])
    for layer in rows.slots.cache.layers:
        layer.keys[1] = float("nan")
        layer.values[1] = float("nan")
    rows.leave([0])
    columns, end = rows.slots.size[1], rows.slots.end
    while rows.slots.end >= end:
        rows.check(rows.step())
        end = max(end, rows.slots.end)
    assert rows.slots.size[1] == columns, "the rows were shifted within their buffer"
    rows.join([3])
    rows.join([columns - 5])
    rows.check(rows.step())


@torch.inference_mode()
def test_columns_and_rows_that_nobody_uses_are_given_back(model):
    """The buffers stay in proportion to the rows, however long a batch goes on, and shrink when long rows leave."""
    rows = Rows(model, 2)
    rows.join([5, 5])
    for _ in range(300):
        rows.step()
        rows.join([5])
        longest = max(range(len(rows.texts)), key=lambda row: len(rows.texts[row]))
        rows.leave([row for row in range(len(rows.texts)) if row != longest])
    assert rows.slots.size[1] < 200
    rows.join([400] + [5] * 100)
    assert rows.slots.size[0] >= 103
    rows.leave([5, 6])
    assert rows.slots.size[0] < 20
    assert rows.slots.size[1] < 100
    rows.check(rows.step())


@torch.inference_mode()
def test_no_row_at_all(model):
    """When every row has left, others begin anew, and `clear` forgets the buffers."""
    rows = Rows(model, 3)
    rows.join([5, 9])
    rows.leave([])
    rows.join([4])
    rows.check(rows.step())
    rows.slots.clear()
    assert rows.slots.size == (0, 0)
