"""`reasoning=` where the answer is words or calls: thoughts first, then what the wire format allows."""

from __future__ import annotations

import pytest

from schemagen.calling.answer_format import write_calls
from schemagen.errors import OptionError
from schemagen.events import CallStarted, Completed, ReasoningDelta, StepStarted, TextDelta
from schemagen.lm import Reasoning
from tests.calling.conftest import Family

THINK = Reasoning(60, begin="<think>\n", end="</think>\n\n")
#: With calls, JSON and half a marker in it.
THOUGHT = 'I could say <tool_call>{"name": "get", "arguments": {}} or [get()] </think\n'


def get(city: str, unit: str = "c") -> str:
    """Get the weather."""
    return f"sunny in {city}, in degrees {unit}"


@pytest.fixture(params=["hermes", "llama", "llama-pythonic", "mistral", "deepseek", "qwen-coder"])
def family(request):
    """Return a family whose markers are text."""
    return Family(request.param, special=False)


def test_a_call_behind_thoughts(family):
    """Thoughts may hold what they like; the call behind them is read alone."""
    call = write_calls(family.profile, [("get", '{"city": "Paris"}')])
    lm = family.lm(f"{THOUGHT}</think>\n\n{call}")
    found = lm.call("x", [get], tool_choice="required", reasoning=Reasoning(200, THINK.begin, THINK.end))
    assert (found.name, found(), found.content) == ("get", "sunny in Paris, in degrees c", "")
    assert lm.model.prompts[0].endswith("<think>\n")


def test_words_behind_thoughts(family):
    """An answer in words is what stands behind the thoughts."""
    lm = family.lm("Hm.</think>\n\nIt is sunny.")
    assert lm.call("x", [get], reasoning=THINK) == "It is sunny."


def test_thoughts_are_cut(family):
    """Thoughts without an end leave room for the call."""
    lm = family.lm("a" * 500)
    found = lm.call(
        "x", [get], tool_choice="required", reasoning=Reasoning(9, THINK.begin, THINK.end), max_new_tokens=300
    )
    assert found.name == "get"


def test_a_stream_tells_thoughts_first(family):
    """The events of the answer come when the thoughts are over, also where only one tool can be called."""
    call = write_calls(family.profile, [("get", '{"city": "Paris"}')])
    stream = family.lm(f"Hm, é.</think>\n\n{call}").stream_call("x", [get], tool_choice="required", reasoning=THINK)
    events = list(stream)
    thoughts = [event.text for event in events if isinstance(event, ReasoningDelta)]
    assert "".join(thoughts) == "Hm, é."
    assert all(isinstance(event, ReasoningDelta) for event in events[: len(thoughts)])
    assert isinstance(events[len(thoughts)], CallStarted)
    assert isinstance(events[-1], Completed)
    assert events[-1].value() == "sunny in Paris, in degrees c"
    assert events[-1].generation.reasoning == "Hm, é."
    assert stream.text == events[-1].text


def test_every_step_of_a_chat_thinks():
    """The model thinks before it calls and before it answers; its thoughts do not come back to it."""
    family = Family("hermes", special=True)
    call = write_calls(family.profile, [("get", '{"city": "Paris"}')])
    lines = (f"First.</think>\n\n{call}", "Second.</think>\n\nSunny.")
    lm = family.lm(*lines)
    assert lm.chat("x", [get], reasoning=THINK).text == "Sunny."
    assert "First." not in lm.model.prompts[1]
    events = list(family.lm(*lines).stream_chat("x", [get], reasoning=THINK))
    said = [event.text for event in events if isinstance(event, (ReasoningDelta, TextDelta))]
    assert "".join(said) == "First.Second.Sunny."
    assert sum(isinstance(event, StepStarted) for event in events) == 2


def test_a_template_without_thoughts_is_refused(family):
    """The option is an error before the model works, as for `generate`."""
    with pytest.raises(OptionError, match="no known way to think"):
        family.lm("x").call("x", [get], reasoning=True)
