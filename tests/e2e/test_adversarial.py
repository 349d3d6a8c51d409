"""Models that want the wrong thing: the result is valid, or the error is ours."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

import pytest
import torch
from pydantic import BaseModel, Field

import schemagen
from schemagen.errors import BudgetError, LogitsError

pytestmark = pytest.mark.sampled(3)


class Unit(Enum):
    METRE = "m"
    FOOT = "ft"


class Measurement(BaseModel):
    label: Annotated[str, Field(max_length=8)]
    value: float
    count: int
    unit: Unit
    tags: Annotated[list[Literal["new", "old"]], Field(max_length=3)]
    note: str | None = Field(max_length=5)


class Note(BaseModel):
    text: str


def always(piece, strength=1e4):
    """Return a maker of distortions that put all weight on one token."""

    def make(tokenizer):
        token_id = tokenizer.convert_tokens_to_ids(piece)

        def distort(logits):
            logits = logits.clone()
            logits[..., token_id] = strength
            return logits

        return distort

    return make


def constant(value):
    """Return a maker of distortions that make all logits equal."""
    return lambda tokenizer: lambda logits: torch.full_like(logits, value)  # noqa: ARG005


def padding_wins(tokenizer):
    """Put all weight on an id behind the tokenizer."""

    def distort(logits):
        logits = logits.clone()
        logits[..., len(tokenizer) + 10 :] = 1e4
        return logits

    return distort


ADVERSARIES = {
    "quote": always('"'),
    "newline": always("Ċ"),
    "space": always("Ġ"),
    "tab": always("ĉ"),
    "digit": always("9"),
    "zero": always("0"),
    "minus": always("-"),
    "exponent": always("e"),
    "comma": always(","),
    "bracket": always("["),
    "backslash": always("\\"),
    "letter": always("a"),
    "half a character": always("Ã"),
    "eos": always("<eos>"),
    "pad": always("<pad>"),
    "the largest number": always("9", torch.finfo(torch.float32).max),
    "surplus ids": padding_wins,
    "uniform": constant(0.0),
    "only the largest number": constant(torch.finfo(torch.float32).max),
}


@pytest.mark.parametrize("wish", ADVERSARIES)
@pytest.mark.parametrize("whitespace", ["flexible", "compact"])
def test_bounded_types_come_out_valid(make_lm, tokenizer, wish, whitespace):
    """Whatever the model wants, a type with bounded parts is complete and valid within its budget."""
    lm = make_lm(ADVERSARIES[wish](tokenizer))
    # The soft cap on a gap is 41 bytes, and the type has 21 gaps.
    found = lm.run("x", Measurement, whitespace=whitespace, max_new_tokens=1500)
    assert isinstance(found.value, Measurement)
    assert Measurement.model_validate_json(found.text) == found.value


@pytest.mark.parametrize("wish", ["uniform", "only the largest number"])
def test_sampling_from_odd_logits_is_valid(make_lm, tokenizer, wish):
    """Sampling meets the same guarantee as greedy search."""
    lm = make_lm(ADVERSARIES[wish](tokenizer))
    found = lm("x", Measurement, do_sample=True, seed=3, whitespace="compact", max_new_tokens=400)
    assert isinstance(found, Measurement)


@pytest.mark.parametrize("make", [always("9", float("inf")), constant(float("inf"))], ids=["one", "all"])
@pytest.mark.parametrize("options", [{}, {"do_sample": True, "seed": 3}, {"num_beams": 2}])
def test_infinite_logits_are_no_wish(make_lm, tokenizer, make, options):
    """They are an error of the model: their softmax is no distribution, and an instance would be made of noise."""
    lm = make_lm(make(tokenizer))
    with pytest.raises(LogitsError):
        lm("x", Measurement, max_new_tokens=400, **options)
    (row,) = lm.batch(["x"], Measurement, max_new_tokens=400, **options)
    assert isinstance(row.error, LogitsError)


def test_a_string_without_end_is_ended_in_time(make_lm, tokenizer):
    """An unbounded string that never ends uses the budget up, and the text is complete all the same."""
    lm = make_lm(ADVERSARIES["letter"](tokenizer))
    found = lm.run("x", Note, max_new_tokens=40, whitespace="compact")
    assert found.new_tokens >= 39
    assert "aaaa" in found.value.text


@pytest.mark.parametrize("name", ADVERSARIES)
def test_every_adversary_ends_within_the_least_budget(name, make_lm, tokenizer):
    """From the minimum on, whatever the model wants."""
    lm = make_lm(ADVERSARIES[name](tokenizer))
    least = lm.compile(Note).min_new_tokens
    for budget in (least, least + 1, least + 6):
        assert isinstance(lm("x", Note, max_new_tokens=budget), Note)
    with pytest.raises(BudgetError, match=f"takes {least}"):
        lm("x", Note, max_new_tokens=least - 1)


def test_text_without_a_bound_still_ends_in_a_choice(make_lm, tokenizer):
    """Choices and patterns hold against the same models."""
    for wish in ADVERSARIES.values():
        lm = make_lm(wish(tokenizer))
        assert lm("x", schemagen.Choice(["yes", "no"])) in {"yes", "no"}
        assert len(lm("x", schemagen.Regex("[a-c]{3}"))) == 3
