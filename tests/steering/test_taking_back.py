"""Fields are written again until their validators accept them, and nothing remains of what was refused."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
import torch
from pydantic import TypeAdapter

import schemagen
from schemagen.decode.batch import Row, decode_batch
from schemagen.errors import ValidationFailed
from schemagen.steering.plan import guide_of
from tests.steering.toys import VOCABULARY, model, random_type, run

CASES = 1000


def case(number):
    """Return the arguments of a random case, and its judges."""
    draw = random.Random(number)
    tp, judges = random_type(draw)
    return {"seed": number, "tp": tp, "sampled": draw.random() < 0.5, "tries": draw.choice([2, 3, 8])}, judges


@pytest.mark.sampled(10)
@pytest.mark.parametrize("group", range(50))
def test_a_text_is_that_of_a_run_forced_along_its_path(group):
    """Text, cache and use of the random numbers are those of a run that writes the same tokens at once."""
    for number in range(group, CASES, 50):
        arguments, _ = case(number)
        loop, guide, sampler = run(**arguments)
        if not completes(loop):
            continue
        text = VOCABULARY.decode([token for token in loop.run.token_ids if token != VOCABULARY.eos_token_ids[0]])
        TypeAdapter(arguments["tp"]).validate_json(text)
        fresh, _, numbers = run(**arguments, forced=loop.run.token_ids)
        list(fresh.steps())
        assert fresh.run.token_ids == loop.run.token_ids
        same_caches(loop._cache, fresh._cache)
        if sampler is not None:
            assert torch.equal(sampler.numbers.get_state(), numbers.numbers.get_state()), number
        values = [(each.path, each.text) for each in guide.refused]
        assert len(values) <= 16 * arguments["tries"]


def completes(loop):
    """Write the text of a loop; return whether it was accepted in the end."""
    with suppress(ValidationFailed):
        list(loop.steps())
        return True
    return False


def same_caches(left, right):
    """Check that two caches hold the same, up to the shorter one: the last tokens of a text may not have been read."""
    length = min(left.get_seq_length(), right.get_seq_length())
    assert abs(left.get_seq_length() - right.get_seq_length()) <= 1
    for mine, other in zip(left.layers, right.layers, strict=True):
        assert torch.allclose(mine.keys[..., :length, :], other.keys[..., :length, :], atol=1e-9)
        assert torch.allclose(mine.values[..., :length, :], other.values[..., :length, :], atol=1e-9)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("group", range(20))
def test_a_batch_writes_the_texts_of_single_runs(group):
    """Rows that go back do not disturb the others, and each is the text that it is alone."""
    for number in range(group, 200, 20):
        cases = [case(number * 7 + row)[0] for row in range(5)]
        cases = [{**each, "seed": number * 7 + row, "sampled": cases[0]["sampled"]} for row, each in enumerate(cases)]
        shared = model(number % 7)
        rows, singles = [], []
        for each in cases:
            grammar = schemagen.compile(each["tp"], VOCABULARY, whitespace="compact")
            make = lambda grammar=grammar, tries=each["tries"]: guide_of(grammar, tries=tries)  # noqa: E731
            rows.append(Row((1, 2, 3), grammar, each["seed"], guide=make))
        sampled = cases[0]["sampled"]
        options = {"max_new_tokens": 60, "do_sample": sampled, "top_k": 0}
        found = dict(decode_batch(shared, rows, batch_size=3, pad_token_id=len(VOCABULARY.tokens) - 1, **options))
        for row in rows:
            singles += [one for _, one in decode_batch(shared, [row], batch_size=1, **options)]
        for index, single in enumerate(singles):
            if isinstance(single, ValidationFailed):
                assert isinstance(found[index], ValidationFailed)
            else:
                assert found[index].token_ids == single.token_ids
                assert found[index].refused == single.refused


@pytest.mark.parametrize("number", range(100))
def test_validators_see_no_value_twice_at_the_same_place(number):
    """A value that was refused with the same fields before it does not come back."""
    arguments, judges = case(number)
    loop, guide, _ = run(**{**arguments, "tries": 8})
    completes(loop)
    whole = [str(value) for value in judges[2].asked if judges[2].refuses(value)]
    assert len(whole) == len(set(whole))
    roots = [each.text for each in guide.refused if each.path == ""] if guide else []
    assert len(roots) == len(set(roots))
