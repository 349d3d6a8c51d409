"""`classify` and `classify_batch`: rows do not affect each other, and what cannot be classified is refused."""

from __future__ import annotations

from typing import Literal

import pytest

import schemagen
from schemagen.errors import BudgetError, GenerationError, OptionError

Mood = Literal["positive", "negative", "neutral"]
PROMPTS = ["I love it! Great product.", "", "It broke after a day.", [{"role": "nobody"}]]


def test_rows_are_those_of_single_prompts(lm):
    """A row that cannot be read is a failure with its error, and the others are as if alone."""
    first, empty, third, wrong = lm.classify_batch(PROMPTS, Mood, temperature=2.0)
    assert first == lm.classify(PROMPTS[0], Mood, temperature=2.0)
    assert third == lm.classify(PROMPTS[2], Mood, temperature=2.0)
    assert isinstance(wrong, schemagen.Failure)
    assert isinstance(wrong.error, GenerationError)
    assert (wrong.index, wrong.prompt) == (3, PROMPTS[3])
    assert isinstance(empty, schemagen.Distribution), "the schema alone is a prompt"
    assert lm.classify_batch([], Mood) == []


def test_what_is_wrong_with_the_call_is_raised(lm):
    """A type with many values, a single prompt, and invalid options are the error of no row."""
    with pytest.raises(OptionError, match="to classify by"):
        lm.classify_batch([], int)
    with pytest.raises(OptionError, match="a single str"):
        lm.classify_batch("x", Mood)
    for options in ({"temperature": 0}, {"temperature": "hot"}, {"max_nodes": 0}, {"show_schema": "no"}):
        with pytest.raises(OptionError, match=next(iter(options))):
            lm.classify("x", Mood, **options)
    with pytest.raises(OptionError, match="needs a type or schema"):
        lm.classify("x")


def test_a_prompt_without_room_is_refused(lm):
    """A prompt that fills the context leaves no room for an option."""
    with pytest.raises(BudgetError):
        lm.classify("word " * 5000, Mood)


def test_grammars_and_texts_are_specs(lm):
    """A compiled grammar is one, a list of texts is a choice for every row, and other formats are refused."""
    assert lm.classify("Good!", lm.compile(Mood)) == lm.classify("Good!", Mood)
    (found,) = lm.classify_batch(["Yes or no?"], ["yes", "no"])
    assert set(found.options) == {"yes", "no"}
    with pytest.raises(OptionError, match="to classify by"):
        lm.classify("Good!", lm.compile(Mood, as_="yaml"))
