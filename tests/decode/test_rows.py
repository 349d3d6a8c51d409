"""Texts as a queue of rows: the texts of a batch are those of calls of ``generate``, and no row waits for a longer one."""

import random

import pytest
import torch

import schemagen
from schemagen.decode import rows as queue
from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.cached_rows import CachedRows
from schemagen.decode.rows import can_queue
from schemagen.errors import LogitsError
from tests.decode.tiny import PAD, VOCABULARY, compiled, llama

MODEL = llama(3, hidden=32, layers=2, spread=0.3)
KINDS = ("choice", "regex", "object", "counted")


def lengths_of(*lengths):
    """Return rows whose texts have these lengths, in tokens, EOS apart."""
    return [
        Row((5, 6 + place), schemagen.compile(schemagen.Regex(f"[a-z]{{{length}}}"), VOCABULARY), seed=place)
        for place, length in enumerate(lengths)
    ]


@pytest.fixture
def live(monkeypatch):
    """Note how many rows each step has."""
    found = []
    advance = CachedRows.advance

    def noting(self, texts):
        found.append(len(texts))
        advance(self, texts)

    monkeypatch.setattr(CachedRows, "advance", noting)
    return found


def written(rows, *, size, **options):
    """Return what came of each row, in their order."""
    found = dict(decode_batch(MODEL, rows, batch_size=size, pad_token_id=PAD, **options))
    return [found[index] for index in range(len(rows))]


def by_generate(rows, monkeypatch, **options):
    """Return the same by calls of ``generate``, one for each row."""
    with monkeypatch.context() as patch:
        patch.setattr("schemagen.decode.batch.can_queue", lambda *_: False)
        patch.setattr("schemagen.decode.batch.can_read_ahead", lambda *_: False)
        return written(rows, size=1, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 1.5}, {"temperature": 0.8, "top_k": 9, "top_p": 0.9}, {"min_p": 0.02, "typical_p": 0.9}],
    ids=repr,
)
@pytest.mark.parametrize("size", [2, 3, 9])
def test_texts_are_those_of_generate(options, size, live, monkeypatch):
    """Of every kind of grammar, greedy and drawn, whatever rows are beside them; budgets and reasons are the same."""
    choose = random.Random(size)
    rows = [
        Row(
            tuple(choose.randrange(97, 120) for _ in range(choose.randint(1, 30))),
            compiled(choose.choice(KINDS)),
            place,
        )
        for place in range(12)
    ]
    found = written(rows, size=size, max_new_tokens=60, **options)
    assert max(live) == size
    expected = by_generate(rows, monkeypatch, max_new_tokens=60, **options)
    for one, other in zip(found, expected, strict=True):
        assert (one.token_ids, one.text, one.finish_reason) == (other.token_ids, other.text, other.finish_reason)
        assert one.seconds > 0


def test_no_row_waits_for_a_longer_one(live):
    """Where a text ends the next one takes its row: the steps are those of all tokens, shared between the rows."""
    lengths = [100, *[10] * 20]
    found = written(lengths_of(*lengths), size=3, max_new_tokens=200)
    assert [len(each.text) for each in found] == lengths
    # In chunks of three: 100 steps of the first chunk, 10 of each of the others, each after the one before.
    assert len(live) < 130
    assert sum(live) >= sum(lengths)
    assert min(live[:100]) >= 2


def test_a_max_length_is_that_of_each_prompt(monkeypatch):
    """Padding is no part of it."""
    rows = [Row((97,) * length, compiled("regex")) for length in (2, 9, 14)]
    found = written(rows, size=3, max_length=40)
    assert [each.token_ids for each in found] == [
        each.token_ids for each in by_generate(rows, monkeypatch, max_length=40)
    ]


def test_a_batch_that_does_not_fit_goes_on_with_half_of_its_rows(monkeypatch):
    """Texts that were begun keep their tokens."""
    rows = lengths_of(30, 20, 25, 30, 15)
    expected = [each.text for each in written(rows, size=5, temperature=1.0)]
    forward, calls = MODEL.forward, []

    def small(*arguments, input_ids, **options):
        calls.append(len(input_ids))
        if len(calls) > 9 and len(input_ids) > 2:
            raise torch.OutOfMemoryError("no memory")
        return forward(*arguments, input_ids=input_ids, **options)

    with monkeypatch.context() as patch:
        patch.setattr(queue, "can_cache_rows", lambda _: True)  # it looks at the arguments of `forward`
        patch.setattr(MODEL, "forward", small)
        found = written(rows, size=5, temperature=1.0)
    assert [each.text for each in found] == expected
    assert max(calls[9:11]) > 2
    assert max(calls[14:]) == 2


def test_a_text_that_is_alone_and_raises_has_failed(monkeypatch):
    """The others are written."""
    rows = lengths_of(5, 6, 7, 8)
    forward = MODEL.forward

    def breaking(*arguments, input_ids, **options):
        if 8 in input_ids[:, :2]:
            raise IndexError("far")
        return forward(*arguments, input_ids=input_ids, **options)

    with monkeypatch.context() as patch:
        patch.setattr(queue, "can_cache_rows", lambda _: True)
        patch.setattr(MODEL, "forward", breaking)
        found = written(rows, size=4)
    assert [isinstance(each, IndexError) for each in found] == [False, False, True, False]


def test_broken_logits_are_one_row_s(monkeypatch):
    """It is written once more alone, and has failed if its logits are broken there, too."""
    rows = lengths_of(5, 6, 7)
    forward = MODEL.forward

    def broken(*arguments, input_ids, **options):
        output = forward(*arguments, input_ids=input_ids, **options)
        output.logits[(input_ids == 7).any(dim=-1)] = float("nan")
        return output

    with monkeypatch.context() as patch:
        patch.setattr(queue, "can_cache_rows", lambda _: True)
        patch.setattr(MODEL, "forward", broken)
        found = written(rows, size=3)
    assert [isinstance(each, LogitsError) for each in found] == [False, True, False]


@pytest.mark.parametrize(
    "options",
    [{"num_beams": 2}, {"repetition_penalty": 1.1}, {"stop_strings": ["x"]}, {"streamer": 1}],
    ids=repr,
)
def test_other_options_are_left_to_generate(options):
    """What is more than a way to draw from the last scores."""
    plain = {"max_new_tokens": 9, "do_sample": False}
    assert can_queue(MODEL, [plain] * 2, None)
    assert not can_queue(MODEL, [plain], None)
    assert not can_queue(MODEL, [plain] * 2, 1)
    assert not can_queue(MODEL, [plain, {**plain, **options}], None)


def test_torch_s_seed_is_that_of_rows_without_one():
    """As it is for ``generate``."""
    rows = [Row((97, place), compiled("regex")) for place in (98, 99, 100)]
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        runs.append([each.text for each in written(rows, size=3, temperature=3.0, max_new_tokens=60)])
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("options", [{}, {"temperature": 1.2}], ids=repr)
def test_fixed_text_is_written_as_it_is_for_one_prompt(options):
    """The text between the holes of a template is in the tokens that spell it best, without a question to the model."""
    lm = schemagen.load_bundled()
    template = schemagen.Template("Name: {name}\nHow old, in whole years: {age}\n", name=str, age=int)
    prompts = ["Ada, 36", "", "Bob is 7", "Grace Hopper, 85"]
    found = lm.run_batch(prompts, template, batch_size=3, seed=4, max_new_tokens=60, **options)
    for place, each in enumerate(found):
        alone = lm.run(prompts[place], template, seed=4 + place, max_new_tokens=60, **options)
        assert (each.text, each.token_ids) == (alone.text, alone.token_ids)
