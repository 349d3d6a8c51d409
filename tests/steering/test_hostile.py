"""What hostile validators and checkers met: texts that differ between routes, searches without end, values that were skipped."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import annotated_types
import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field, FutureDate, create_model, model_validator

import schemagen
from schemagen import Check, Checker, Sampling
from schemagen.errors import OptionError, ValidationFailed
from schemagen.steering.bans import Bans

PROMPT = "Ada Lovelace, 36, London"


@pytest.fixture(scope="module")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()


def begins_without(*letters):
    """Return a checker of the first letter."""
    return Checker(lambda prefix: prefix[:1] not in letters)


class Named(BaseModel):
    name: Annotated[str, begins_without("A"), Check(lambda value: len(value) < 6)]
    age: int


class Picked(BaseModel):
    name: Annotated[
        Literal["Bob", "Bo", "Ada", "Paris", "Bert", "Tom", "London"],
        begins_without("P", "T", "L"),
        Check(lambda value: value in ("Ada", "Bert")),
    ]


@pytest.mark.parametrize("spec", [Named, Picked])
@pytest.mark.parametrize("options", [{}, {"temperature": 3.0}])
def test_a_batch_writes_what_single_calls_write(lm, spec, options):
    """With refusals at one place and at many; the records are those of the text."""
    prompts = [PROMPT, "Bob, 7, Paris", "Tom Berg", "Peter Meyer, Rome", "Bert", "London"]
    seeds = {"seed": [3, 1, 4, 1, 5, 9]} if options else {}
    rows = lm.run_batch(prompts, spec, tries=8, confidence=True, **options, **seeds)
    for index, (prompt, row) in enumerate(zip(prompts, rows, strict=True)):
        own = {"seed": seeds["seed"][index]} if options else {}
        alone = lm.run(prompt, spec, tries=8, confidence=True, **options, **own)
        assert row.text == alone.text
        assert row.refused == alone.refused
        assert row.confidence["/name"].probability == pytest.approx(alone.confidence["/name"].probability, rel=1e-3)


def test_the_distortion_is_that_of_the_text(lm):
    """Tokens that were taken back do not count."""
    spec = Annotated[int, Field(ge=0, le=99), Check(lambda value: value == 83)]
    found = lm.run("The weather is fine", spec, tries=200, confidence=True)
    assert found.refused
    told = -sum(record.log_allowed or 0 for record in found.confidence.tokens)
    assert found.distortion == pytest.approx(told, abs=1e-4)


class EndOnly(Checker):
    """Refuses at the end alone."""

    def next(self, prefix):
        del prefix

    def end(self, text):
        del text
        return "never"


class Late(BaseModel):
    age: int
    name: Annotated[Literal["red", "blue"], Checker(lambda prefix: prefix == "")]


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (Late, {}),
        (Late, {"whitespace": "compact", "max_new_tokens": 30}),
        (Annotated[str, EndOnly()], {"max_new_tokens": 3}),
        (Annotated[float, Field(ge=0.49999999999999994, le=0.5), Check(lambda _: False)], {"tries": 8}),
        (Annotated[Decimal, Field(ge=0, le=1), Check(lambda _: False)], {"tries": 8}),
    ],
    ids=["free before", "compact", "end only", "floats", "decimals"],
)
def test_a_search_for_nothing_ends(lm, spec, options):
    """Where nothing is acceptable, there is an error after a bounded number of tries, with the reason."""
    with pytest.raises(ValidationFailed) as caught:
        lm("Share 0.5", spec, **options)
    assert "refuse" in str(caught.value) or "never" in str(caught.value)


def test_a_checker_of_a_list_sees_its_beginning(lm):
    """Not only its end: then the ban would come too late."""
    asked = []

    def without_nine(text):
        asked.append(text)
        return "9" not in text

    spec = Annotated[list[int], Checker(without_nine)]
    assert 9 not in lm("Numbers 1 2 9 3", spec, max_new_tokens=20)
    assert any(text.startswith("[") and not text.endswith("]") for text in asked)


def test_decimals_beyond_float64_are_different_values(lm):
    """All digits count."""
    seen = []

    def is_long(value):
        seen.append(value)
        return len(value.as_tuple().digits) == 19

    spec = Annotated[Decimal, Field(ge=Decimal("0.1234567890123456"), le=Decimal("0.1234567890123457")), Check(is_long)]
    with pytest.raises(ValidationFailed):
        lm("0.12345678901234567890", spec, tries=12, max_new_tokens=40)
    assert len(set(seen)) >= 12


def passed(value: Any) -> Any:
    """Return a value."""
    return value


class Before(BaseModel):
    name: Annotated[str, Checker(lambda prefix: "e" not in prefix)]

    @model_validator(mode="before")
    @classmethod
    def first(cls, value):
        return value


class Warm(BaseModel):
    name: Annotated[str, Sampling(temperature=3.0)]

    @model_validator(mode="before")
    @classmethod
    def first(cls, value):
        return value


def test_early_validators_do_not_hide_annotations(lm):
    """The checker steers, and the field is drawn."""
    assert "e" not in lm("Peter Meyer", Before).name
    assert len({lm("Peter Meyer", Warm, seed=seed, max_new_tokens=40).name for seed in range(4)}) > 1


def test_rules_that_pydantic_checks_by_itself(lm):
    """Predicates and dates that depend on the day are validators, too."""
    short = Annotated[Literal["London", "Rome"], annotated_types.Predicate(lambda text: len(text) < 5)]
    assert lm(PROMPT, short, tries=4) == "Rome"
    found = lm.run("It was 1999-01-01", FutureDate, tries=64)
    assert found.refused[0].text == '"1999-01-01"'
    assert found.value > date(2026, 1, 1)


def test_a_refused_key_is_written_again(lm):
    """And not its value."""
    key = Annotated[Literal["Peter", "Meyer", "Tom"], Check(lambda key: "e" not in key)]
    found = lm.run("Peter Meyer", Annotated[dict[key, int], Field(min_length=1, max_length=1)], tries=8)
    assert [*found.value] == ["Tom"]
    assert all(one.path == "" for one in found.refused)


@pytest.mark.parametrize("note", [Check(lambda _: np.bool_(False)), Checker(lambda _: np.bool_(False))])
def test_false_of_numpy_refuses(lm, note):
    """As False does."""
    with pytest.raises(ValidationFailed):
        lm(PROMPT, Annotated[Literal["a", "b"], note])


def test_coroutine_functions_are_refused():
    """Their answer comes too late."""

    async def later(_):
        return False

    for make in (Check, Checker):
        with pytest.raises(OptionError, match="coroutine"):
            make(later)


def test_the_end_of_the_budget_is_an_end(lm):
    """A value that ends there is judged there."""
    even = Annotated[int, Check(lambda value: value % 2 == 0)]
    for prompts in (["How many? 7"], ["How many? 7", "9"]):
        for found in lm.run_batch(prompts, even, tries=8, max_new_tokens=2):
            assert found.value % 2 == 0
    assert lm("How many? 7", even, tries=8, max_new_tokens=2) % 2 == 0
    short = lm.run("Tell me a word", schemagen.Regex("[a-z]+"), checker=WithoutVowelAtEnd(), max_new_tokens=3)
    assert short.text[-1] not in "aeiou"


class WithoutVowelAtEnd(Checker):
    """Refuses texts that end in a vowel."""

    def next(self, prefix):
        del prefix

    def end(self, text):
        return text[-1:] not in "aeiou"


@pytest.mark.parametrize("sampler", ["rejection", "smc"])
def test_samples_that_validators_refuse(lm, sampler):
    """The error is theirs."""
    spec = Annotated[Literal["red", "blue"], Check(lambda _: False, message="no colour will do")]
    with pytest.raises(ValidationFailed, match="no colour will do"):
        lm.sample("Name a colour", spec, 3, seed=1, sampler=sampler)


@pytest.mark.parametrize("sampler", ["rejection", "smc", "mask", "awrs"])
def test_the_largest_seed(lm, sampler):
    """The seeds of many samples go round."""
    assert len(lm.sample("Name a colour", Literal["red", "blue"], 3, seed=2**64 - 1, sampler=sampler)) == 3


def test_a_validator_that_raises_stop_iteration(lm):
    """It does not end the loop silently, and the error says where it is from."""
    spec = create_model("S", name=(Annotated[str, AfterValidator(lambda _: next(iter(())))], ...))
    with pytest.raises(RuntimeError, match="a validator raised StopIteration"):
        lm(PROMPT, spec, tries=3)


def test_top_k_of_one_is_greedy_search(lm):
    """Refused values are followed by the likeliest others, as without it."""

    class Short(BaseModel):
        name: Annotated[str, Check(lambda value: len(value) <= 8)]
        age: int

    found = lm.run(PROMPT, Short, tries=8, top_k=1, do_sample=True, seed=3)
    assert found.text == lm.run(PROMPT, Short, tries=8).text


def test_rounding_bans_nothing():
    """A beginning with a rare text that is not banned is itself not; one that forced text leads on from is."""
    bans = Bans()
    for token_id, chance in ((1, 0.5), (2, 1 - 1e-12), (3, 1.0)):
        bans.append(token_id, chance)
    bans.ban(2)
    assert bans.is_banned([1, 2])  # since 3 is the only token after it
    assert not bans.is_banned([1])  # another one is allowed beside 2
    bans.cut(1)
    assert bans.discounts(1.0) == {2: float("-inf")}
    bans.cut(0)
    assert -12 < bans.discounts(1.0)[1] < -11
