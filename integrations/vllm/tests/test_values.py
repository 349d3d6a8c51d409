"""The two ends of a request: a schema for it, and the instance in its answer."""

from types import SimpleNamespace

import pytest
from pydantic import BaseModel, field_validator

import schemagen
import schemagen_vllm
from schemagen.errors import BudgetError, OptionTypeError, ValidationFailed


class Order(BaseModel):
    """An order."""

    item: str
    count: int

    @field_validator("count")
    @classmethod
    def few(cls, count):
        """Refuse large orders."""
        if count > 100:
            raise ValueError("too many")
        return count


def answer(text, reason="stop", prompt="a prompt"):
    """Return what ``LLM.generate`` returns for a prompt."""
    completion = SimpleNamespace(index=0, text=text, token_ids=[1, 2, 3], finish_reason=reason)
    return SimpleNamespace(prompt=prompt, outputs=[completion])


def test_the_schema_of_a_type_is_a_json_schema():
    """It describes the type, and a schema is its own."""
    found = schemagen_vllm.schema(Order)
    assert set(found["properties"]) == {"item", "count"}
    assert schemagen_vllm.schema({"type": "integer"}) == {"type": "integer"}
    with pytest.raises(OptionTypeError, match="regex="):
        schemagen_vllm.schema(schemagen.Regex("a"))


@pytest.mark.parametrize("wrap", [answer, lambda text: answer(text).outputs[0], lambda text: text])
def test_an_answer_gives_the_instance(wrap):
    """From a request's output, a completion, or the text."""
    assert schemagen_vllm.value(Order, wrap('{"item": "tea", "count": 2}')) == Order(item="tea", count=2)


def test_other_specs_give_their_values():
    """A schema gives what JSON says, a choice and a pattern the text."""
    assert schemagen_vllm.value({"type": "array"}, "[1]") == [1]
    assert schemagen_vllm.value(schemagen.Choice(["a", "b"]), answer("a")) == "a"
    assert schemagen_vllm.value(schemagen.Regex("a+"), answer("aa")) == "aa"


@pytest.mark.parametrize(
    ("text", "reason", "error"),
    [
        ('{"item": "tea", "count": 200}', "stop", ValidationFailed),
        ('{"item": "te', "length", BudgetError),
        ('{"item": "te', "abort", ValidationFailed),
    ],
)
def test_a_bad_answer_is_a_failure(text, reason, error):
    """Nothing is raised for a row; the failure has the text, the prompt and the fault."""
    found = schemagen_vllm.value(Order, answer(text, reason))
    assert isinstance(found, schemagen.Failure)
    assert type(found.error) is error
    assert (found.text, found.prompt) == (text, "a prompt")


def test_what_is_no_answer_is_an_error():
    """A list of answers is not one."""
    with pytest.raises(OptionTypeError, match="got a list"):
        schemagen_vllm.value(Order, [answer("{}")])


def test_the_helpers_are_reached_through_schemagen():
    """`schemagen.vllm` is the plug-in, where it is installed."""
    assert schemagen.vllm.value is schemagen_vllm.value
