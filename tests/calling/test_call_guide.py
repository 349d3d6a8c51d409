"""Validators, checkers and ways to draw a field, in the arguments of tools, while they are written."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator

import schemagen
from schemagen import Check, Checker, Sampling
from schemagen.calling.families import profiles
from schemagen.errors import OptionError, ValidationFailed
from tests.e2e.test_steering import Span

PROMPT = "What is the weather in Paris?"
JSON_FORMATS = [name for name, profile in profiles().items() if profile.arguments == "json"]


@pytest.fixture(scope="module")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()


class Judge:
    """Refuses some values; remembers what it was asked."""

    def __init__(self, *refused: Any) -> None:
        self.refused, self.asked = refused, []

    def __call__(self, value):
        """Return a value, or refuse it."""
        self.asked.append(value)
        if value in self.refused:
            raise ValueError(f"not {value}")
        return value


def weather(judge):
    """Return a tool whose first parameter is judged."""

    def get_weather(city: Annotated[str, AfterValidator(judge)], unit: Literal["c", "f"] = "c"):
        """Say what the weather is like."""

    return get_weather


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 3}])
@pytest.mark.parametrize("step", [pytest.param(6), pytest.param(1, marks=pytest.mark.slow)])
def test_a_refused_argument_is_written_again(lm, options, step):
    """In the formats with JSON; without tries= the call is refused at its end."""
    assert len(JSON_FORMATS) > 10
    for profile in JSON_FORMATS[::step]:
        first = lm.call(PROMPT, [weather(Judge())], tool_choice="required", profile=profile, **options).arguments.city
        judge = Judge(first)
        with pytest.raises(ValidationFailed):
            lm.call(PROMPT, [weather(judge)], tool_choice="required", profile=profile, **options)
        judge.asked.clear()
        call = lm.call(PROMPT, [weather(judge)], tool_choice="required", profile=profile, tries=16, **options)
        assert call.arguments.city != first
        assert judge.asked.count(first) == 1, "a refused value is not shown again"
        assert call.json.startswith("{")


def test_the_text_and_the_tokens_are_those_of_a_call(lm):
    """What was taken back is gone; the refused values are in the record."""
    from schemagen.calling.request import CallForm, CallRequest, resolve
    from schemagen.request.attempts import complete_request
    from schemagen.request.settings import Settings

    tools = [weather(Judge("Paris"))]
    form = CallForm.of(lm, tools, parallel=False, profile="hermes")
    settings = Settings(lm, {"max_new_tokens": 100}, tries=8)
    messages = [{"role": "user", "content": PROMPT}]
    found = complete_request(CallRequest.of(settings, form, messages, resolve(form.tools, "required")))
    assert [(one.path, one.text) for one in found.refused] == [("/city", '"Paris"')]
    assert found.text.startswith("<tool_call>")
    assert found.text.count("get_weather") == 1
    assert lm.vocabulary.decode(found.token_ids).decode().startswith(found.text)


def test_several_calls_and_tools_without_validators(lm):
    """Each call is steered by its own tool; words and other tools are left alone."""

    def add(numbers: list[int]):
        """Add numbers."""

    judge = Judge("Paris")
    plain = lm.call("Add 1 and 2.", [add, weather(judge)], tool_choice="add", tries=4)
    assert plain.json == lm.call("Add 1 and 2.", [add, weather(Judge())], tool_choice="add").json
    options = {"tool_choice": "required", "parallel": True, "max_new_tokens": 200, "temperature": 0.7, "seed": 5}
    for profile in ("hermes", "llama"):
        calls = lm.call("Weather in Paris, Paris and Rome?", [weather(judge)], tries=32, profile=profile, **options)
        assert all(call.arguments.city != "Paris" for call in calls)
    assert isinstance(lm.call("Hello", [weather(judge)], tool_choice="none", tries=4), str)


def test_checkers_and_sampling_of_parameters(lm):
    """They work as in any other type, without tries=."""
    asked = []

    def not_p(prefix):
        asked.append(prefix)
        return "no city with P" if prefix.lower().startswith("p") else None

    def get_weather(city: Annotated[str, Checker(not_p)]):
        """Say what the weather is like."""

    call = lm.call(PROMPT, [get_weather], tool_choice="required")
    assert not call.arguments.city.lower().startswith("p")
    assert asked

    def say(text: Annotated[str, Sampling(temperature=2.0)]):
        """Say a text."""

    said = {lm.call(PROMPT, [say], tool_choice="required", seed=seed, max_new_tokens=80).json for seed in range(4)}
    assert len(said) > 1


def test_a_rule_over_all_arguments(lm):
    """A model validator runs when the arguments close."""
    call = lm.call("From 5 to 3", [Span], tool_choice="required", tries=64)
    assert call.arguments.last > call.arguments.first


def test_nothing_left(lm):
    """If all values are refused, the error names the tool, the place and the values."""

    def pick(colour: Annotated[Literal["red", "blue"], Check(lambda _: False)]):
        """Pick a colour."""

    with pytest.raises(ValidationFailed) as caught:
        lm.call("red", [pick], tool_choice="required", tries=8)
    assert caught.value.at.startswith("pick")
    assert {one.text for one in caught.value.refused} == {'"red"', '"blue"'}


def test_formats_without_json_are_refused(lm):
    """They have no fields that close."""
    with pytest.raises(OptionError, match="tries=4 with the format"):
        lm.call(PROMPT, [weather(Judge())], profile="qwen-coder", tries=4)
    with pytest.raises(OptionError, match="tries"):
        lm.chat(PROMPT, [weather(Judge())], tries=4)


def test_streams_validate_complete_arguments(lm):
    """A checker of a parameter does not take back what was sent."""
    judge = Judge()
    events = list(lm.stream_call(PROMPT, [weather(judge)], tool_choice="required"))
    assert events[-1].generation.value.json == lm.call(PROMPT, [weather(judge)], tool_choice="required").json
