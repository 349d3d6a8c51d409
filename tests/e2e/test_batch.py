"""`LanguageModel.batch`: every row as if it were alone, and no row harms another."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import numpy as np
import pytest
import torch
from pydantic import AfterValidator, BaseModel, Field

import schemagen
from schemagen import Failure
from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.row_sampling import RowSampler, sampling_of, warpers_for
from schemagen.decode.speculation import decode_ahead
from schemagen.errors import (
    BudgetError,
    DeadEndError,
    OptionError,
    UnsupportedTypeError,
    ValidationFailed,
)
from tests.models import wants


class Person(BaseModel):
    name: Annotated[str, Field(max_length=6)]
    age: Annotated[int, Field(ge=0, le=120)]


Short = Annotated[str, Field(max_length=12)]
PROMPTS = ["b", "a long prompt that is padded nowhere", "", "two words", "b", "another one 😀", "x" * 60]


def is_even(value):
    """Refuse odd numbers."""
    if value % 2:
        raise ValueError("must be even")
    return value


class Even(BaseModel):
    number: Annotated[int, Field(ge=0, le=9), AfterValidator(is_even)]


@pytest.fixture
def chunks(lm, monkeypatch):
    """Record the widths of the batches that reach the model."""
    seen = []
    generate = lm.model.generate

    def recording(input_ids, **options):
        seen.append(tuple(input_ids.shape))
        return generate(input_ids=input_ids, **options)

    monkeypatch.setattr(lm.model, "generate", recording, raising=False)
    return seen


# --- as if alone -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_a_greedy_batch_is_what_the_rows_are_alone(lm, batch_size):
    """Whatever the batch size, the values are those of single calls, in order."""
    assert lm.batch(PROMPTS, Person, batch_size=batch_size) == [lm(prompt, Person) for prompt in PROMPTS]


def test_the_bundled_model_in_a_batch(bundled_lm):
    """Right values, not only valid ones, from prompts of different lengths."""
    prompts = ["Ada Lovelace, 36, London", "Grace Hopper is 85 years old.", "Bob, 7"]

    class Named(BaseModel):
        name: str
        age: int

    found = bundled_lm.batch(prompts, Named)
    assert [(row.name, row.age) for row in found] == [("Ada Lovelace", 36), ("Grace Hopper", 85), ("Bob", 7)]
    assert found == [bundled_lm(prompt, Named) for prompt in prompts]


def test_a_row_alone_is_read_ahead(bundled_lm, monkeypatch):
    """A batch of one row takes fewer passes of the model than it has tokens, and is the text of a larger batch."""
    prompts = ["Ada Lovelace, 36, London", "Grace Hopper is 85 years old.", "Bob, 7"]
    expected = bundled_lm.batch(prompts, Person, batch_size=3, max_new_tokens=80)
    runs = []

    def recording(*arguments, **options):
        runs.append(decode_ahead(*arguments, **options))
        return runs[-1]

    monkeypatch.setattr("schemagen.decode.generate.decode_ahead", recording)
    found = bundled_lm.batch(prompts[:1], Person, batch_size=2, max_new_tokens=80)
    assert found == expected[:1]
    assert len(runs) == 1
    assert runs[0].passes < len(runs[0].token_ids)


@pytest.mark.parametrize("options", [{"do_sample": True}, {"temperature": 3.0, "top_k": 40, "top_p": 0.95}])
def test_a_seed_means_the_same_text_alone_and_among_any_neighbours(lm, options):
    """Row i with seed s is what `generate` gives for seed s, for any batch size and order."""
    seeds = [5, 1, 1, 7, 8, 2, 3]
    alone = [lm.run(prompt, Short, seed=seed, **options).value for prompt, seed in zip(PROMPTS, seeds, strict=True)]
    assert len(set(alone)) > 4
    for size in (2, 7):
        assert lm.batch(PROMPTS, Short, seed=seeds, batch_size=size, **options) == alone
    turned = lm.batch(PROMPTS[::-1], Short, seed=seeds[::-1], batch_size=4, **options)
    assert turned[::-1] == alone


def test_one_seed_is_counted_up(lm):
    """The same prompt twelve times gives different texts, and each can be had again by its own seed."""
    state = torch.random.get_rng_state()
    found = lm.batch(["x"] * 12, Short, seed=40, temperature=2.0)
    assert len(set(found)) > 6
    assert found[3] == lm("x", Short, seed=43, temperature=2.0)
    assert torch.equal(state, torch.random.get_rng_state())


def test_the_sampler_draws_as_transformers_does(lm):
    """The warpers are those of `generate`, with the same values, and tokens come as often as their probability says."""
    options = {"temperature": 0.7, "top_k": 9, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.95, "epsilon_cutoff": 3e-4}
    options |= {"eta_cutoff": 3e-4}
    lm.model.generation_config.temperature = 5.0  # a given option goes first
    try:
        inputs = lm.tokenizer("x", return_tensors="pt")
        kept = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True, "max_new_tokens": 1}
        output = lm.model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            do_sample=True,
            **options,
            **kept,
        )
        sampling = sampling_of(lm.model, options)
    finally:
        lm.model.generation_config.temperature = None
    scores = output.logits[0]
    for warp in warpers_for(sampling, "cpu"):
        scores = warp(inputs["input_ids"], scores)
    assert torch.equal(scores, output.scores[0])
    probabilities = torch.softmax(torch.tensor([0.0, 1.0, -torch.inf, 2.0, -torch.inf]), dim=-1)
    many = RowSampler(range(4000), sampling_of(lm.model, {"top_k": 5}))
    drawn = many(torch.zeros(4000, 1), probabilities.log().repeat(4000, 1))
    assert (drawn.isfinite().sum(dim=-1) == 1).all()
    assert torch.allclose(drawn.isfinite().float().mean(dim=0), probabilities, atol=0.03)


def test_beams_with_seeds_are_generated_one_by_one(lm, chunks):
    """Where rows cannot have random numbers of their own, they are alone."""
    options = {"num_beams": 2, "do_sample": True, "temperature": 1.5}
    found = lm.batch(["a", "b", "c"], bool, seed=3, **options)
    assert [rows for rows, _ in chunks] == [1, 1, 1]
    assert found == [lm(prompt, bool, seed=3 + row, **options) for row, prompt in enumerate("abc")]
    chunks.clear()
    lm.batch(["a", "b", "c"], bool, **options)
    assert [rows for rows, _ in chunks] == [3]


# --- rows and their types ----------------------------------------------------------------------------------------------


def test_every_row_has_its_type(lm):
    """A list of specs has one for each row: types, schemas, patterns and choices."""
    specs = [bool, schemagen.Regex("(ab){2}"), {"const": [1]}, schemagen.Choice(["left"]), Person, bool]
    found = lm.batch(["x"] * 6, specs)
    assert isinstance(found[0], bool)
    assert found[1:4] == ["abab", [1], "left"]
    assert isinstance(found[4], Person)


def test_a_bad_type_fails_its_row(lm):
    """A type that does not compile among others is a failure; as the only one it is an error."""
    found = lm.batch(["x", "y", "z"], [bool, memoryview, bool])
    assert isinstance(found[1], Failure)
    assert isinstance(found[1].error, UnsupportedTypeError)
    assert found[1].index == 1
    assert found[1].prompt == "y"
    assert found[1].text == ""
    assert all(isinstance(found[index], bool) for index in (0, 2))
    assert isinstance(lm.batch(["x"], [3])[0], Failure)
    with pytest.raises(UnsupportedTypeError):
        lm.batch(["x"], memoryview)


def test_prompts_may_be_chats_and_iterators(lm):
    """A batch takes what `generate` takes, from any iterable; nothing gives nothing."""
    chat = [{"role": "user", "content": "hi"}]
    assert lm.batch(iter([chat, "hi"]), Person) == [lm(chat, Person), lm("hi", Person)]
    assert lm.batch([], Person) == []


@pytest.mark.parametrize(
    ("prompts", "spec", "options"),
    [
        ("one text", bool, {}),
        ([{"role": "user", "content": "one chat"}], bool, {}),
        (["a", "b"], [bool], {}),
        (["a", "b"], bool, {"seed": [1]}),
        (["a"], bool, {"batch_size": 0}),
        (["a", "b"], bool, {"tempereture": 1}),
        (["a", "b"], bool, {"num_return_sequences": 2}),
    ],
)
def test_wrong_calls_are_refused(lm, prompts, spec, options):
    """What is wrong with the call and not with a row raises."""
    with pytest.raises(OptionError):
        lm.batch(prompts, spec, **options)


# --- failures ----------------------------------------------------------------------------------------------------------


def test_a_prompt_without_room_fails_its_row(lm):
    """A prompt longer than the context, an empty chat and a broken message harm nobody."""
    broken = [{"role": "user"}]
    found = lm.batch(["a", "x" * 2100, [], broken, "b", None], Person)
    assert [isinstance(row, Failure) for row in found] == [False, True, True, True, False, True]
    assert isinstance(found[1].error, BudgetError)
    assert found[2].error.code == "empty-prompt"
    assert found[3].error.code == "invalid-prompt"
    assert found[3].error.at == "/0/content"
    assert [found[0], found[4]] == [lm("a", Person), lm("b", Person)]


def test_a_prompt_with_little_room_leaves_the_budgets_of_others_alone(lm, chunks):
    """Rows share a chunk only if they have the same budget."""
    found = lm.batch(["x" * 2000, "y", "z"], Person, show_schema=False)
    assert found[1:] == [lm("y", Person, show_schema=False), lm("z", Person, show_schema=False)]
    assert chunks[0][0] == 1
    assert chunks[1][0] == 2


def test_max_length_counts_no_padding(lm):
    """Prompts of other lengths do not shorten a budget that counts the prompt."""
    tokens = lm.run("y", Person, show_schema=False)
    limit = tokens.prompt_tokens + tokens.new_tokens
    found = lm.batch(["x" * 9, "y"], Person, show_schema=False, max_length=limit)
    assert found[1] == tokens.value


def test_a_budget_that_is_too_small_fails_its_row(lm):
    """Its failure names the least budget, and nothing was generated for it; the other row is complete."""
    found = lm.batch(["a", "b"], [Person, bool], max_new_tokens=3, whitespace="compact")
    assert isinstance(found[0].error, BudgetError)
    assert "the shortest text takes" in str(found[0].error)
    assert isinstance(found[1], bool)


def test_every_row_is_complete_within_its_budget(lm):
    """Rows of different types share a budget that is the least one of the longest."""
    least = max(lm.compile(spec, whitespace="compact").min_new_tokens for spec in (Person, bool, list[int]))
    found = lm.batch(["a", "b", "c"], [Person, bool, list[int]], max_new_tokens=least, whitespace="compact")
    assert [type(value) for value in found] == [Person, bool, list]


def test_a_refused_value_fails_its_row(make_lm, tokenizer):
    """A validator's complaint is the failure of the row, with the text."""
    lm = make_lm(wants(tokenizer, "7"))
    found = lm.batch(["a", "b"], [Even, bool], whitespace="compact")
    assert isinstance(found[0].error, ValidationFailed)
    assert found[0].text == '{"number":7}'
    assert str(found[0]).startswith("row 0: ValidationFailed: a validator of Even refused")
    assert isinstance(found[1], bool)


@pytest.mark.parametrize("raised", [TypeError, ValueError, KeyError, RuntimeError])
def test_a_validator_that_fails_in_every_row_makes_failures(lm, raised):
    """It says nothing of the options of the call; pydantic makes refusals of ValueErrors."""

    def fail(_):
        raise raised("no")

    found = lm.batch(["x", "y"], Annotated[bool, AfterValidator(fail)])
    assert [type(row) for row in found] == [schemagen.Failure] * 2
    for index, row in enumerate(found):
        if raised is ValueError:
            assert isinstance(row.error, ValidationFailed)
            continue
        assert row.error.code == "validator-raised"
        assert isinstance(row.error.__cause__, raised)
        assert row.error.at == f"row {index}"
        assert row.text in {"true", "false"}


def test_only_refused_rows_are_asked_again(make_lm, tokenizer, monkeypatch):
    """Retries tell the model why, and leave the other rows alone."""
    lm = make_lm()
    rounds = []
    generate = lm.model.generate

    def recording(input_ids, **options):
        rounds.append(tokenizer.batch_decode(input_ids, skip_special_tokens=True))
        lm.model.distort = wants(tokenizer, "7" if len(rounds) < 2 else "8")
        return generate(input_ids=input_ids, **options)

    monkeypatch.setattr(lm.model, "generate", recording, raising=False)
    found = lm.batch(["first", "second"], [Even, bool], whitespace="compact", retries=2)
    assert found[0] == Even(number=8)
    assert isinstance(found[1], bool)
    assert [len(texts) for texts in rounds] == [2, 1]
    assert "must be even" in rounds[1][0]
    lm.model.distort = None


@pytest.mark.parametrize(
    "error", [torch.cuda.OutOfMemoryError("no memory"), DeadEndError("no token"), IndexError("far")]
)
def test_a_row_on_which_the_model_breaks_is_found_by_halving(lm, monkeypatch, error):
    """Whatever the model raises for one row of eight, the others have their values, after at most seven calls."""
    calls = []
    generate = lm.model.generate

    def breaking(input_ids, **options):
        calls.append(len(input_ids))
        if any("BAD" in text for text in lm.tokenizer.batch_decode(input_ids)):
            raise error
        return generate(input_ids=input_ids, **options)

    monkeypatch.setattr(lm.model, "generate", breaking, raising=False)
    prompts = ["a", "b", "BAD", "c", "d", "e", "f", "g"]
    found = lm.batch(prompts, bool)
    assert [type(row) for row in found] == [bool, bool, Failure, *[bool] * 5]
    assert isinstance(found[2].error, schemagen.SchemagenError)
    assert found[2].error is error or found[2].error.__cause__ is error
    assert len(calls) <= 7


def test_a_batch_that_does_not_fit_is_generated_in_smaller_ones(lm, monkeypatch):
    """Out of memory with four rows: two at a time."""
    generate = lm.model.generate

    def small(input_ids, **options):
        if len(input_ids) > 2:
            raise torch.cuda.OutOfMemoryError("no memory")
        return generate(input_ids=input_ids, **options)

    monkeypatch.setattr(lm.model, "generate", small, raising=False)
    assert lm.batch(["a", "b", "c", "d"], Person) == [lm(prompt, Person) for prompt in "abcd"]


def test_an_interruption_is_none_of_the_rows(lm, monkeypatch):
    """Control-C ends the batch."""

    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(lm.model, "generate", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        lm.batch(["a", "b"], bool)


# --- chunks, progress, twins -------------------------------------------------------------------------------------------


def test_rows_of_like_length_share_a_chunk(lm, chunks):
    """The longest rows come first, and nothing is padded more than needed."""
    lengths = [3, 50, 4, 49, 5, 48]
    lm.batch(["x" * length for length in lengths], bool, batch_size=3, show_schema=False)
    assert chunks == [(3, 51), (3, 6)]


def test_the_pad_token_is_that_of_the_call_then_of_the_tokenizer(lm, monkeypatch):
    """Prompts are padded with what was asked for, else the tokenizer's, else EOS; the mask hides it."""
    seen = []
    generate = lm.model.generate

    def recording(input_ids, attention_mask, **options):
        seen.append((int(input_ids[0, 0]), int(input_ids[1, 0]), attention_mask[:, 0].tolist()))
        return generate(input_ids=input_ids, attention_mask=attention_mask, **options)

    monkeypatch.setattr(lm.model, "generate", recording, raising=False)
    expected = lm.batch(["xx", "x"], bool)
    assert lm.batch(["xx", "x"], bool, pad_token_id=5) == expected
    rows = [Row((7, 7), lm.compile(bool)), Row((7,), lm.compile(bool))]
    assert len(list(decode_batch(lm.model, rows, batch_size=2))) == 2
    eos = lm.vocabulary.eos_token_ids[0]
    assert [(pad, mask) for _, pad, mask in seen] == [(lm.tokenizer.pad_token_id, [1, 0]), (5, [1, 0]), (eos, [1, 0])]


def test_progress_goes_to_standard_error(lm, capfd):
    """A bar is there if it is asked for, and nowhere else than on standard error; without a terminal there is none."""
    lm.batch(["a", "b", "x" * 2100], bool, progress=True)
    shown = capfd.readouterr()
    assert "3/3" in shown.err
    assert "1 failed" in shown.err
    assert shown.out == ""
    lm.batch(["a"], bool)
    assert capfd.readouterr().err == ""


def test_generators_have_batches(lm):
    """A generator's grammar and defaults serve its batches."""
    generator = schemagen.Generator(lm, Person, max_new_tokens=100)
    assert generator.batch(["a", "b"]) == [generator("a"), generator("b")]
    assert isinstance(generator.batch(["a"], max_new_tokens=2)[0], Failure)


def test_async_twins(lm):
    """`agenerate` and `abatch` give what their twins give, and the event loop runs on."""

    async def work():
        ticks = []

        async def tick():
            while True:
                ticks.append(0)
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        generator = schemagen.Generator(lm, Literal["a", "b"])
        found = await asyncio.gather(
            lm.arun("x", Person), lm.abatch(["x", "y"], Person), generator.arun("x"), generator.abatch(["x"])
        )
        ticking.cancel()
        return found, len(ticks)

    (one, many, letter, letters), ticks = asyncio.run(work())
    assert one.value == many[0] == lm("x", Person)
    assert many[1] == lm("y", Person)
    assert [letter.value] == letters
    assert ticks > 1


@pytest.mark.parametrize("prompts", ["a", b"a", {"role": "user", "content": "a"}])
def test_a_single_prompt_is_no_batch(lm, prompts):
    """The characters of a text, or the keys of a message, are not prompts."""
    with pytest.raises(OptionError, match=f"a single {type(prompts).__name__}"):
        lm.batch(prompts, Short)


def test_seeds_may_be_integers_of_numpy(lm):
    """One is counted up like any other; what is no integer is refused."""
    options = {"temperature": 5.0, "max_new_tokens": 20}
    assert lm.batch(["a", "b"], Short, seed=np.int64(3), **options) == lm.batch(
        ["a", "b"], Short, seed=[3, 4], **options
    )
    with pytest.raises(OptionError, match="a whole number, or a list"):
        lm.batch(["a"], Short, seed=1.5, **options)
