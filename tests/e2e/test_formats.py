"""Values in other formats than JSON, through every front door."""

import asyncio

import pytest
from pydantic import BaseModel, Field

import schemagen
from schemagen.errors import BudgetError, OptionError, UnsupportedTypeError
from schemagen.events import Completed, Delta
from schemagen.generation import Failure

FORMATS = ["json", "python", "yaml", "xml"]


class Place(BaseModel):
    """A class of short values, so that a model without sense writes them soon."""

    name: str = Field(max_length=8)
    size: int = Field(ge=0, lt=1000)
    tags: list[str] = Field(default=[], max_length=1)


@pytest.mark.parametrize("as_", FORMATS)
def test_each_door_takes_a_format(bundled_lm, as_):
    """One answer, several, a stream and a generator: each is an instance, from the text of the format."""
    grammar = bundled_lm.compile(Place, as_=as_)
    prompt, budget = "Paris, 105 km2", {"max_new_tokens": 200}
    found = bundled_lm.run(prompt, Place, as_=as_, **budget)
    assert isinstance(found.value, Place)
    assert grammar.validate(found.text) == found.value
    assert bundled_lm(prompt, Place, as_=as_, **budget) == found.value
    assert asyncio.run(bundled_lm.agenerate(prompt, Place, as_=as_, **budget)) == found.value
    rows = bundled_lm.batch([prompt, "Rome"], Place, as_=as_, **budget)
    assert all(isinstance(row, Place) for row in rows)
    generator = schemagen.Generator(bundled_lm, Place, as_=as_, **budget)
    assert generator(prompt) == found.value
    events = list(bundled_lm.stream(prompt, Place, as_=as_, **budget))
    assert isinstance(events[-1], Completed)
    assert events[-1].generation.value == found.value
    if as_ != "json":
        assert "".join(event.text for event in events if isinstance(event, Delta)) == found.text


def test_a_compiled_grammar_has_its_own_format(bundled_lm):
    """The same format beside it is fine, and none; another one is an error, for nothing would come of it."""
    grammar, budget = bundled_lm.compile(Place, as_="yaml"), {"max_new_tokens": 200}
    found = bundled_lm.run("Paris", grammar, **budget)
    assert bundled_lm.run("Paris", grammar, as_="yaml", **budget).text == found.text
    for other, as_ in ((grammar, "xml"), (bundled_lm.compile(Place), "yaml"), (bundled_lm.compile(["a"]), "python")):
        with pytest.raises(OptionError, match="compiled grammar") as caught:
            bundled_lm("Paris", other, as_=as_, **budget)
        assert as_ in caught.value.fix


def test_a_structured_class_has_a_format(bundled_lm):
    """As a default of the decorator, and in a call, which comes first."""

    @schemagen.structured(lm=bundled_lm, as_="yaml", max_new_tokens=200)
    class City(Place):
        """Another place."""

    assert City.run("Paris").text.startswith("name: ")
    assert City.run("Paris", as_="python").text.startswith("City(name=")


def test_rows_of_a_table(bundled_lm):
    """A list of rows is written as a table."""

    class Row(BaseModel):
        name: str = Field(max_length=5)
        n: int = Field(ge=0, lt=100)

    rows = list[Row]
    for as_, head in (("csv", "name,n"), ("markdown", "| name | n |\n| --- | --- |")):
        found = bundled_lm.run("Some numbers", rows, as_=as_, max_new_tokens=60)
        assert found.text.startswith(head)
        assert all(isinstance(row, Row) for row in found.value)


def test_the_prompt_shows_the_format(bundled_lm):
    """An instruction names it, and can be left out; an example is written in it."""
    for as_, words in (("python", 'Place(name="..."'), ("yaml", "size: 0"), ("xml", "<place>")):
        assert f"Answer with {'one Python' if as_ == 'python' else as_.upper()}" in bundled_lm.render(
            "Paris", Place, as_=as_
        )
        assert words in bundled_lm.render("Paris", Place, as_=as_, show_schema="example")
        assert words not in bundled_lm.render("Paris", Place, as_=as_, show_schema=False)


def test_a_budget_holds_in_every_format(bundled_lm):
    """A budget that is too small is an error before the model works, as in JSON; a small one is kept."""
    for as_ in FORMATS:
        least = bundled_lm.compile(Place, as_=as_).min_new_tokens
        assert isinstance(bundled_lm("Paris", Place, as_=as_, max_new_tokens=least + 1), Place)
        with pytest.raises(BudgetError):
            bundled_lm("Paris", Place, as_=as_, max_new_tokens=1)


def test_what_cannot_be_written_fails_at_once(bundled_lm):
    """The type is refused before the model works; in a batch it is the failure of its row."""
    with pytest.raises(UnsupportedTypeError):
        bundled_lm("Paris", dict[str, int], as_="yaml")
    with pytest.raises(OptionError):
        bundled_lm("Paris", Place, as_="toml")
    with pytest.raises(OptionError):
        schemagen.structured(as_="toml")(type("Empty", (BaseModel,), {}))
    rows = bundled_lm.batch(["a", "b"], [Place, dict[str, int]], as_="yaml", max_new_tokens=200)
    assert isinstance(rows[0], Place)
    assert isinstance(rows[1], Failure)
