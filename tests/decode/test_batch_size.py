"""How many rows go through the model at a time, where the user does not say."""

from types import SimpleNamespace

import pytest
import torch

from schemagen.decode import batch, batch_size
from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.batch_size import MOST_ROWS, bytes_of_row, cut, rows_that_fit
from tests.decode.tiny import PAD, compiled, model


def test_as_many_as_half_of_the_free_memory_holds(monkeypatch):
    """At least one, at most the cap; a few where nothing is known."""
    llama = model("llama")
    row = bytes_of_row(llama, 100)
    for free, expected in ((20 * row, 10), (0, 1), (10**15, MOST_ROWS), (None, 16)):
        monkeypatch.setattr(batch_size, "free_bytes", lambda _, free=free: free)
        assert rows_that_fit(llama, 100) == expected


def test_the_memory_of_a_row_is_that_of_its_keys_and_values():
    """As the cache of a generation has it, for each position; the logits come on top."""
    llama = model("llama")
    cache = llama(input_ids=torch.tensor([[1, 2, 3]])).past_key_values
    held = sum(part.nbytes for layer in cache.layers for part in (layer.keys, layer.values))
    assert bytes_of_row(llama, 103) - bytes_of_row(llama, 100) == held
    unknown = SimpleNamespace(config=SimpleNamespace(), dtype=torch.int8)
    assert bytes_of_row(unknown, 1000) > 1e9


def test_the_free_memory_is_known_here():
    """On the CPU of this machine; other kinds of devices are not asked."""
    assert 0 < batch_size.free_bytes(torch.device("cpu")) < 2**50
    assert batch_size.free_bytes(torch.device("meta")) is None


@pytest.mark.parametrize(
    ("lengths", "most", "expected"),
    [
        ([], 8, []),
        ([7], 8, [1]),
        ([5] * 20, 8, [8, 8, 4]),
        ([5] * 20, 1, [1] * 20),
        ([90, 80, 3, 2, 1], 8, [5]),
        ([20_000, 19_000, 10, 10, 10], 8, [2, 3]),
        ([20_000, *[10] * 40], 64, [1, 40]),
        ([50_000, 49_000, *[100] * 3], 64, [2, 3]),
    ],
)
def test_padding_does_not_outweigh_the_prompts(lengths, most, expected):
    """A long prompt among short ones goes through the model by itself."""
    found = cut(lengths, most)
    assert sum(found) == len(lengths)
    assert all(0 < size <= most for size in found)
    assert found == expected


@pytest.mark.parametrize(
    ("options", "expected"), [({"no_repeat_ngram_size": 99}, [5, 5, 2]), ({"num_beams": 2}, [2] * 6)]
)
def test_rows_go_through_the_model_together(options, expected, monkeypatch):
    """In chunks of what fits, where each beam is a row; results are those of a size that is stated."""
    rows = [Row(tuple(b"abc"), compiled("choice"))] * 12
    stated = dict(decode_batch(model("llama"), rows, batch_size=3, max_new_tokens=30, pad_token_id=PAD, **options))
    sizes, generate = [], batch._generate
    monkeypatch.setattr(batch, "rows_that_fit", lambda _model, positions: 5 if positions == 33 else 0)
    monkeypatch.setattr(batch, "_generate", lambda m, part, *rest: sizes.append(len(part)) or generate(m, part, *rest))
    found = dict(decode_batch(model("llama"), rows, batch_size=None, max_new_tokens=30, pad_token_id=PAD, **options))
    assert sizes == expected
    assert [found[index].text for index in range(12)] == [stated[index].text for index in range(12)]
