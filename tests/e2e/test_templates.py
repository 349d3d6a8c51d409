"""Templates at the front doors."""

from typing import Annotated

import pytest
from annotated_types import Ge, MaxLen
from pydantic import BaseModel

import schemagen
from schemagen import Choice, Template
from schemagen.events import Completed


class Person(BaseModel):
    """Whose fields are holes."""

    name: Annotated[str, MaxLen(8)]
    age: Annotated[int, Ge(0)]


@pytest.fixture(scope="module")
def lm():
    """The model that comes along."""
    return schemagen.load_bundled()


def test_every_front_door(lm):
    """One, several, a stream and a record."""
    template = Template("Name: {name}\nAge: {age}\n", Person)
    assert isinstance(lm("Ada, 36", template, max_new_tokens=100), Person)
    assert all(isinstance(each, Person) for each in lm.batch(["Ada, 36", "Bob, 3"], template, max_new_tokens=100))
    record, *others = (lm.run("Ada, 36", template, max_new_tokens=100) for _ in range(4))
    assert {each.token_ids for each in others} == {record.token_ids}  # whatever is remembered of those before
    assert record.text.startswith(f"Name: {record.value.name}\nAge: ")
    *_, last = lm.stream("Ada, 36", template, max_new_tokens=100)
    assert isinstance(last, Completed)
    assert last.value == record.value
    assert isinstance(schemagen.Generator(lm, template, max_new_tokens=100)("Ada, 36"), Person)


def test_fixed_text_costs_one_forward_pass(lm):
    """However long it is: the prompt and the text before a hole in one, then one for each hole with the text behind it."""
    passes = []
    handle = lm.model.register_forward_hook(lambda *_: passes.append(1))
    try:
        fixed = "a text of many tokens which nobody has to choose, " * 5
        template = Template(f"{fixed}{{a}}{fixed}{{b}}{fixed}", a=Choice("x", "y"), b=Choice("x", "y"))
        record = lm.run("Go", template, max_new_tokens=600)
    finally:
        handle.remove()
    assert len(record.token_ids) > 60
    assert len(passes) == 3


def test_the_prompt_shows_the_template(lm):
    """With the types of its holes."""
    prompt = lm.render("Ada, 36", Template("Name: {name}\nAge: {age}\n", name=str, age=int))
    assert "Name: {name: string}\nAge: {age: integer}" in prompt
