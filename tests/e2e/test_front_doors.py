"""The front doors: which return values and which return records, whose model is asked, and which options they know."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

import schemagen
from schemagen.errors import OptionError, SchemagenError


class Point(BaseModel):
    x: Annotated[int, Field(ge=0, le=9)]


@pytest.fixture(autouse=True)
def _no_default():
    """Reset the default model afterwards."""
    yield
    schemagen.set_default_lm(None)


class Recorder:
    """A model that only tells what it was asked."""

    def __init__(self, name):
        self.name = name

    def run(self, prompt, spec, **options):
        """Return the arguments."""
        return (self.name, prompt, spec, options)

    generate = batch = stream = run


# --- values and records ------------------------------------------------------------------------------------------------


def test_names_with_run_return_records_and_all_others_values(lm):
    """The rule holds for a model, a generator and a class."""

    @schemagen.structured(lm=lm)
    class Spot(Point):
        pass

    generator = schemagen.Generator(lm, Spot)
    value = lm("x", Spot)
    assert type(value) is Spot
    for door in (lm, generator, Spot):
        given = () if door is not lm else (Spot,)
        assert door.generate("x", *given) == value
        assert door.batch(["x"], *given) == [value]
        record = door.run("x", *given)
        assert isinstance(record, schemagen.Generation)
        assert record.value == value
        (row,) = door.run_batch(["x"], *given)
        assert (row.value, row.text, row.token_ids) == (value, record.text, record.token_ids)


def test_the_twins_for_asyncio_return_the_same(lm):
    """What is awaited has the type of what is called."""

    @schemagen.structured(lm=lm)
    class Spot(Point):
        pass

    async def ask(door, *given):
        values = [await door.agenerate("x", *given), *await door.abatch(["x"], *given)]
        records = [await door.arun("x", *given), *await door.arun_batch(["x"], *given)]
        return values, [record.value for record in records]

    value = lm("x", Spot)
    for door in (lm, schemagen.Generator(lm, Spot), Spot):
        values, of_records = asyncio.run(ask(door) if door is not lm else ask(lm, Spot))
        assert values == of_records == [value, value]


def test_failures_of_rows_are_the_same_in_records(lm):
    """A row that fails is a `Failure` in both forms."""
    rows = lm.run_batch(["x", "y"], [Point, {"type": "integer", "minimum": 2, "maximum": 1}])
    assert isinstance(rows[0], schemagen.Generation)
    assert isinstance(rows[1], schemagen.Failure)


# --- structured classes ------------------------------------------------------------------------------------------------


def test_a_call_a_decorator_and_the_default_name_the_model(monkeypatch):
    """The nearest wins: argument, decorator, `set_default_lm`, bundled model."""
    monkeypatch.setattr("schemagen.lm.load_bundled", lambda: Recorder("bundled"))

    @schemagen.structured
    class Plain(BaseModel):
        x: int

    @schemagen.structured(lm=Recorder("decorator"))
    class Bound(BaseModel):
        x: int

    assert Plain.generate("?")[0] == "bundled"
    schemagen.set_default_lm(Recorder("default"))
    assert Plain.generate("?")[0] == "default"
    assert Bound.generate("?")[0] == "decorator"
    assert Bound.generate("?", lm=Recorder("call"))[0] == "call"
    schemagen.set_default_lm(None)
    assert Plain.generate("?")[0] == "bundled"


def test_options_of_the_decorator_are_defaults():
    """A call overrides them one by one; a stream has no retries."""

    @schemagen.structured(lm=Recorder("m"), retries=2, max_new_tokens=40)
    class Person(BaseModel):
        name: str

    assert Person.run("?", max_new_tokens=9)[3] == {"retries": 2, "max_new_tokens": 9}
    assert Person.stream("?")[3] == {"max_new_tokens": 40}


def test_the_decorator_sets_the_defaults_of_a_typed_class():
    """`Structured` brings the methods, the decorator the model, and a subclass inherits both."""

    @schemagen.structured(lm=Recorder("m"), seed=1)
    class Person(schemagen.Structured, BaseModel):
        name: str

    @schemagen.structured(retries=1)
    class Author(Person):
        books: int

    assert Person.generate("?") == ("m", "?", Person, {"seed": 1})
    assert Author.generate("?") == ("m", "?", Author, {"seed": 1, "retries": 1})


def test_fields_of_a_class_keep_their_names():
    """A field or method called like an added method stays; `generate` alone must be free."""

    @schemagen.structured(lm=Recorder("m"))
    @dataclass
    class Job:
        batch: int
        run: str = "later"

        def stream(self):
            """Return something of the user."""
            return "mine"

    job = Job(3)
    assert (job.batch, job.run, job.stream()) == (3, "later", "mine")
    assert Job.generate("?")[2] is Job
    with pytest.raises(SchemagenError, match="already has an attribute 'batch'") as caught:

        class Typed(schemagen.Structured, BaseModel):
            batch: int

    assert "decorator" in caught.value.fix


def test_a_model_is_a_model():
    """A tokenizer, a name or the like is refused where it is given."""
    for give in (schemagen.set_default_lm, lambda lm: schemagen.structured(lm=lm)):
        with pytest.raises(OptionError, match="is no model"):
            give("gpt2")
