"""Validators, checkers and ways to draw a field, through the front doors."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

import schemagen
from schemagen import Check, Checker, Sampling
from schemagen.errors import OptionError, ValidationFailed
from schemagen.events import Completed, Delta, FieldCompleted, FieldTakenBack
from schemagen.generation import Failure

PROMPT = "Ada Lovelace, 36, London"


def not_ada(value):
    """Refuse a name."""
    if "Ada" in value:
        raise ValueError("not Ada")
    return value


class Person(BaseModel):
    name: Annotated[str, AfterValidator(not_ada)]
    age: int
    city: str

    @field_validator("age")
    @classmethod
    def is_odd(cls, value):
        """Refuse even numbers."""
        if value % 2 == 0:
            raise ValueError("odd only")
        return value


class Span(BaseModel):
    first: int
    last: int

    @model_validator(mode="after")
    def ordered(self):
        """Refuse an end before the beginning."""
        if self.last <= self.first:
            raise ValueError("last must come after first")
        return self


@pytest.fixture(scope="module")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 3}])
def test_a_refused_field_is_written_again(lm, options):
    """Without tries the validator ends the call; with them the field gets another value, and the record says so."""
    with pytest.raises(ValidationFailed):
        lm(PROMPT, Person, **options)
    found = lm.run(PROMPT, Person, tries=8, **options)
    assert "Ada" not in found.value.name
    assert found.value.age % 2
    assert found.refused[0].path == "/name"
    assert found.refused[0].reason.endswith("not Ada")
    assert found.refused[0].text == '"Ada Lovelace"'
    assert Person.model_validate_json(found.text) == found.value
    assert found.attempts == 1


def test_a_batch_is_steered_row_by_row(lm):
    """Rows take back their own fields, and equal single runs; a row that fails does not disturb the others."""
    prompts = [PROMPT, "Alan Turing, 41, London", "Grace Hopper, 85, New York"]
    found = lm.run_batch(prompts, Person, tries=8, batch_size=2)
    for prompt, each in zip(prompts, found, strict=True):
        alone = lm.run(prompt, Person, tries=8)
        assert (each.value, each.refused) == (alone.value, alone.refused)
    impossible = Annotated[Literal["a", "b"], Check(lambda _: False)]
    mixed = lm.batch([PROMPT, PROMPT], [impossible, Person], tries=8)
    assert isinstance(mixed[0], Failure)
    assert isinstance(mixed[1], Person)


def test_a_stream_says_what_was_taken_back(lm):
    """The events that are left, without those that were taken back, are the value."""
    fields, taken, whole = {}, [], None
    for event in lm.stream(PROMPT, Person, tries=8, partials=True):
        if isinstance(event, FieldTakenBack):
            taken.append(event)
            fields = {path: text for path, text in fields.items() if path != event.path}
        elif isinstance(event, Delta):
            fields[event.path] = fields.get(event.path, "") + event.text
        elif isinstance(event, Completed):
            whole = event
    assert next(str(event.path) for event in taken) == "/name"
    assert taken[0].refused == whole.generation.refused[0]
    assert {str(path): text for path, text in fields.items()} == {
        f"/{name}": str(value) for name, value in whole.value.model_dump().items()
    }


def test_a_model_validator_has_its_object_written_again(lm):
    """The whole object is refused, and a field in it changes."""
    found = lm.run("first is 7, last is 5", Span, tries=8)
    assert found.value.last > found.value.first
    assert {each.path for each in found.refused} == {""}
    inside = lm.run("first is 7, last is 5", Annotated[list[Span], Field(min_length=1, max_length=1)], tries=8)
    assert {each.path for each in inside.refused} <= {"/0"}


def test_a_validator_that_reads_other_fields_points_at_its_own(lm):
    """pydantic runs it with the object; the field that it names is written again."""

    class Bounds(BaseModel):
        low: int
        high: int

        @field_validator("high")
        @classmethod
        def above(cls, value, info):
            if value <= info.data["low"]:
                raise ValueError("too low")
            return value

    found = lm.run("low 7, high 5", Bounds, tries=8)
    assert found.value.high > found.value.low
    assert {each.path for each in found.refused} == {"/high"}


def test_dataclasses_and_root_values_are_steered(lm):
    """It does not take a pydantic model."""

    @dataclasses.dataclass
    class Card:
        name: Annotated[str, Check(lambda value: "Ada" not in value)]

    assert "Ada" not in lm(PROMPT, Card, tries=8).name
    assert lm(PROMPT, Annotated[int, Check(lambda value: value % 5 == 0)], tries=40) % 5 == 0


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 1}])
def test_all_values_refused_is_a_clear_error(lm, options):
    """The error names the field, the values and the reasons."""

    class Label(BaseModel):
        label: Annotated[Literal["a", "b", "c"], Check(lambda value: f"{value} is taken")]

    with pytest.raises(ValidationFailed, match="every value that the type allows of /label") as caught:
        lm("which one?", Label, tries=8, **options)
    assert {each.text for each in caught.value.refused} == {'"a"', '"b"', '"c"'}
    assert "b is taken" in caught.value.why
    assert caught.value.at == "/label"


def test_tries_end_and_retries_ask_again(lm):
    """After all tries the model is asked again, with the reasons, if `retries` allow it."""

    class Never(BaseModel):
        name: Annotated[str, Check(lambda _: False, message="no name will do")]

    with pytest.raises(ValidationFailed) as caught:
        lm(PROMPT, Never, tries=2)
    assert "no name will do" in str(caught.value)
    with pytest.raises(ValidationFailed) as again:
        lm(PROMPT, Never, tries=2, retries=1)
    assert again.value.attempts == 2


def test_a_slow_check_runs_once_at_the_end(lm):
    """It sees no value that is taken back."""
    seen = []
    slow = Check(seen.append, when="end")

    class Slow(BaseModel):
        name: Annotated[str, slow, AfterValidator(not_ada)]

    found = lm.run(PROMPT, Slow, tries=8)
    assert seen == [found.value.name]
    seen.clear()
    for _ in lm.stream(PROMPT, Slow, tries=8):
        pass
    assert len(seen) == 1


def test_a_checker_sees_every_beginning(lm):
    """No beginning that it refuses is part of the value, in a field and in a whole text."""

    class Shout(BaseModel):
        name: Annotated[str, Checker(lambda prefix: "no small e" if "e" in prefix else None)]
        age: int

    for options in ({}, {"temperature": 1.0, "seed": 5}):
        assert "e" not in lm(PROMPT, Shout, **options).name
    text = lm(PROMPT, schemagen.Regex("[A-Za-z ]{3,12}"), checker=lambda prefix: "e" not in prefix)
    assert "e" not in text
    streamed = [event for event in lm.stream(PROMPT, Shout) if isinstance(event, FieldCompleted)]
    assert "e" not in streamed[0].value
    with pytest.raises(ValidationFailed):
        schemagen.compile(Shout, lm.vocabulary).validate('{"name": "Peter", "age": 3}')


def test_a_checker_may_judge_the_end(lm):
    """Texts that are fine as beginnings only are not ended there."""

    class Even(Checker):
        def next(self, prefix):
            """Let all beginnings pass."""

        def end(self, text):
            """Ask for an even number of letters."""
            return None if len(text) % 2 == 0 else "odd"

    assert len(lm(PROMPT, Annotated[str, Field(pattern="^[A-Z][a-z]{2,9}$"), Even()])) % 2 == 0
    assert len(lm(PROMPT, schemagen.Regex("[A-Z][a-z]{2,9}"), checker=Even())) % 2 == 0


def test_a_checker_that_refuses_everything_is_an_error(lm):
    """It says what the checker said."""
    with pytest.raises(ValidationFailed, match="never"):
        lm(PROMPT, schemagen.Choice(["yes", "no"]), checker=lambda _: "never")


def test_fields_are_drawn_as_they_ask(lm):
    """A greedy call draws the field with a temperature alone."""

    class Mixed(BaseModel):
        name: Annotated[str, Sampling(temperature=4.0), Field(pattern="^[a-z]{4,8}$")]
        age: int

    found = [lm.run(PROMPT, Mixed, seed=seed).value for seed in range(6)]
    assert len({each.name for each in found}) > 1
    assert lm.run(PROMPT, Mixed, seed=2).value == found[2]
    batched = lm.batch([PROMPT] * 6, Mixed, seed=list(range(6)))
    assert batched == found
    cold = [lm(PROMPT, Annotated[str, Sampling(temperature=0)], temperature=2.0, seed=seed) for seed in range(3)]
    assert len(set(cold)) == 1


def test_it_works_after_thoughts_and_with_healing(lm):
    """What comes before the answer is not taken back."""
    found = lm.run(PROMPT, Person, tries=8, draft=10)
    assert found.draft is not None
    assert "Ada" not in found.value.name
    healed = lm.run("Ada Lovelace, 36, London\n", Person, tries=8, heal=True)
    assert "Ada" not in healed.value.name
    asked = asyncio.run(lm.agenerate(PROMPT, Person, tries=8))
    assert "Ada" not in asked.name


def test_options_that_cannot_go_back_are_refused(lm):
    """Nothing is weakened silently."""
    with pytest.raises(OptionError, match="needs generate"):
        lm(PROMPT, Person, tries=8, num_beams=2)
    assert lm(PROMPT, schemagen.Choice(["a", "b"]), tries=8, num_beams=2) in ("a", "b")
    with pytest.raises(OptionError, match="needs generate"):
        lm.batch([PROMPT, PROMPT], Person, tries=8, num_beams=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tries": 0}, "tries=0"),
        ({"tries": True}, "tries=True"),
        ({"tries": None}, "tries=None"),
        ({"checker": "abc"}, "Checker"),
        ({"confidence": "yes"}, "confidence='yes'"),
    ],
)
def test_wrong_values_are_refused_at_once(lm, options, told):
    """Each names the option."""
    with pytest.raises(OptionError, match=told):
        lm(PROMPT, Person, **options)


@pytest.mark.parametrize(
    "make", [lambda: Check(3), lambda: Check(str), lambda: Check(len, when="now"), lambda: Checker(3)]
)
def test_wrong_annotations_are_refused(make):
    """They say so when they are made."""
    with pytest.raises(OptionError):
        make()


# --- canonical tokens ----------------------------------------------------------------------------------------------------


def test_canonical_tokens_in_every_route(lm):
    """At a temperature at which words fall apart, the tokens are those that the tokenizer writes, in every route."""

    def is_canonical(found):
        ids = [token_id for token_id in found.token_ids if token_id not in lm.vocabulary.eos_token_ids]
        return ids == lm.tokenizer.encode(found.text, add_special_tokens=False)

    ways = [{"temperature": 3.0, "seed": seed, "max_new_tokens": 40} for seed in range(8)]
    assert not all(is_canonical(lm.run(PROMPT, list[str], **way)) for way in ways)
    for way in ways:
        options = {**way, "tokenization": "canonical"}
        alone = lm.run(PROMPT, list[str], **options)
        assert is_canonical(alone)
        *_, last = lm.stream(PROMPT, list[str], **options)
        assert last.generation.text == alone.text
    seeds = [way["seed"] for way in ways]
    options = {"temperature": 3.0, "max_new_tokens": 40, "tokenization": "canonical", "seed": seeds}
    rows = lm.run_batch([PROMPT] * len(ways), list[str], **options)
    assert all(map(is_canonical, rows))
    options = {**options, "seed": 3, "tries": 4, "max_new_tokens": 120}
    steered = lm.run(PROMPT, dict[str, Annotated[str, AfterValidator(not_ada)]], **options)
    assert is_canonical(steered)
    assert all(map(is_canonical, lm.sample(PROMPT, list[bool], 8, sampler="mask", seed=1, tokenization="canonical")))


def test_wrong_tokenizations(lm):
    """They are refused before the model works; so is what cannot go back."""
    with pytest.raises(OptionError, match="tokenization='exact'"):
        lm(PROMPT, Person, tokenization="exact")
    with pytest.raises(OptionError, match="tokenization=None"):
        lm.sample(PROMPT, Person, tokenization=None)
    with pytest.raises(OptionError, match="canonical tokens"):
        lm(PROMPT, Person, tokenization="canonical", num_beams=2)
    with pytest.raises(OptionError, match="tokenization"):
        lm.generate_text(PROMPT, tokenization="canonical")
