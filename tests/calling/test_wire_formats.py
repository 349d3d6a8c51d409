"""Every wire format, through the template of its family and a model that tries to say what a test wants."""

from __future__ import annotations

import json
import re

import pytest

from schemagen.calling import ToolCall, detect_profile
from schemagen.calling.answer_format import write_calls
from schemagen.calling.history import render_chat
from schemagen.calling.tools import as_tools

pytestmark = pytest.mark.sampled(6)


def written(family, *calls):
    """Calls as the family writes them."""
    return write_calls(family.profile, [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls])


def nasty(family):
    """A text with quotes, line breaks, and the markers of the family, as far as a string can hold these."""
    text = 'say "hi"\n\tto \\ <é> 日本 😀 {"name": "send"}] ' + " ".join(family.profile.markers) + " <tool_call> [ARGS]"
    return shielded(family, text)


def shielded(family, text):
    """The text as it can be inside a string: markers there are no special tokens, and a value does not hold its end tag."""
    ends = [family.profile.argument_tail.strip()] if family.profile.style is not None else []
    for marker in [*ends, *(family.profile.markers if family.special else ())]:
        text = text.replace(marker, marker[:1] + " " + marker[1:])
    return text


def test_the_template_is_recognised(family):
    """The profile is told from the template."""
    assert detect_profile(family.tokenizer) == family.profile


def test_words_stay_words(family, tools):
    """An answer in words is a str, and any text is free."""
    answer = "It is } ] sunny, <tool> é 😀.\nReally?"
    assert family.lm(family.said(answer)).call("How is it?", tools) == answer


def test_one_call(family, tools):
    """A call comes back typed, with the arguments that were written."""
    lm = family.lm(written(family, ("get_weather", {"city": "Paris", "unit": "f", "days": 3})))
    call = lm.call("Weather in Paris?", tools)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments.city, call.arguments.unit, call.arguments.days) == (
        "get_weather",
        "Paris",
        "f",
        3,
    )
    assert call.content == ""
    assert call() == "Paris: 21 f, 3 days"


def test_strings_hold_anything(family, tools):
    """Quotes, newlines, emoji and the markers of the format inside a string end nothing."""
    text = nasty(family)
    lm = family.lm(written(family, ("send", {"to": [text, ""], "text": text, "urgent": True})))
    call = lm.call("Send it.", tools, max_new_tokens=2000)
    assert (call.arguments.to, call.arguments.text, call.arguments.urgent) == ([text, ""], text, True)


def test_null_and_booleans(family, tools):
    """The three constants are read in every syntax, and their names in strings stay strings."""
    arguments = {"to": ["True", "null"], "text": None, "urgent": False}
    call = family.lm(written(family, ("send", arguments))).call("x", tools)
    assert json.loads(call.json) == arguments


def test_text_before_a_call(family, tools):
    """Where the format has it, text before a call is its content."""
    if family.profile.is_anchored:
        pytest.skip("an answer of this format is text or calls")
    call = family.lm("Let me see. < \n" + written(family, ("send", {"to": []}))).call("x", tools)
    assert (call.name, call.content) == ("send", "Let me see. <")


def test_parallel_calls(family, tools):
    """Several calls come as a list, in order; one call, if the format has no more."""
    wanted = [("get_weather", {"city": "Oslo"}), ("send", {"to": ["a"]}), ("get_weather", {"city": "Rome"})]
    wanted = [*family.fitting(*wanted)]
    calls = family.lm(written(family, *wanted)).call("x", tools, parallel=True, max_new_tokens=900)
    assert [(call.name, json.loads(call.json)) for call in calls] == wanted
    assert len({call.id for call in calls}) == len(wanted)


def test_without_parallel_there_is_one_call(family, tools):
    """What a model wants to write after its first call is cut off."""
    first, second = ("get_weather", {"city": "Oslo"}), ("send", {"to": ["a"]})
    both = written(family, first) * 2 if family.profile.separator is None else written(family, first, second)
    call = family.lm(both).call("x", tools)
    assert isinstance(call, ToolCall)
    assert call.arguments.city == "Oslo"


def test_required_starts_with_a_call(family, tools):
    """A model that wants to talk has to call at once."""
    lm = family.lm("Hello! " * 3 + written(family, ("send", {"to": []})))
    call = lm.call("x", [tools[1]], tool_choice="required", max_new_tokens=400)
    assert isinstance(call, ToolCall)
    assert call.content == ""


def test_required_in_parallel(family, tools):
    """At least one call, and no word."""
    wanted = family.fitting(("get_weather", {"city": "Oslo"}), ("send", {"to": []}))
    lm = family.lm(written(family, *wanted))
    calls = lm.call("x", tools, tool_choice="required", parallel=True)
    assert [call.name for call in calls] == [name for name, _ in wanted]


@pytest.mark.parametrize("form", ["name", "function", "list"])
def test_a_chosen_tool_is_called(family, tools, form):
    """The tools that are named are the only ones, and one of them is called."""
    choice = {"name": "send", "function": tools[1], "list": ["send"]}[form]
    lm = family.lm(written(family, ("send", {"to": []})))
    assert lm.call("x", tools, tool_choice=choice).name == "send"
    matcher = family.wire(tools, choice).graph.matcher()
    other = family.encode(written(family, ("get_weather", {"city": "x"})))
    assert not all(matcher.accept_token(token) for token in other)


def test_none_makes_no_call(family, tools):
    """A model that wants to call cannot, and what it says instead is a str."""
    lm = family.lm(written(family, ("send", {"to": []})), family.said("words"))
    answer = lm.call("x", tools, tool_choice="none", max_new_tokens=400)
    assert isinstance(answer, str)
    assert lm.call("x", tools, tool_choice="none") == "words"


def test_unknown_names_are_impossible(family, tools):
    """The name of a tool that does not exist is masked at its first wrong letter."""
    matcher = family.wire(tools, "required").graph.matcher()
    tokens = family.encode(written(family, ("get_wealth", {"city": "x"})))
    accepted = next(index for index, token in enumerate(tokens) if not matcher.accept_token(token))
    assert family.tokenizer.decode(tokens[:accepted]).endswith("get_wea")


def test_other_whitespace_is_read(family, tools):
    """A model may lay out its call in another way than the template does."""
    text = written(family, ("get_weather", {"city": "x"}))
    for loose in (text.replace(": ", ":").replace(", ", ","), text.replace('{"name": ', '{\n  "name" : ')):
        assert family.lm(loose).call("x", tools).arguments.city == "x"


def test_history_is_what_models_write(family, tools):
    """A call that the template renders as history is a call of the grammar, with the same arguments."""
    wanted = [("get_weather", {"city": "Oslo", "days": 2}), ("send", {"to": [nasty(family)], "urgent": True})]
    wanted = [*family.fitting(*wanted)]
    calls = family.lm(written(family, *wanted)).call("x", tools, parallel=True, max_new_tokens=2000)
    entries = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.json}} for c in calls]
    said = {"role": "assistant", "content": "", "tool_calls": entries}
    asked = {"role": "user", "content": "x"}
    results = [call.run().to_message() for call in calls]
    described = as_tools(tools)
    text, _ = render_chat(family.tokenizer, [asked, said], described, family.profile)
    before, _ = render_chat(family.tokenizer, [asked], described, family.profile)
    stem = (
        next(i for i in range(len(text)) if text[i] != before[i : i + 1])
        if not text.startswith(before)
        else len(before)
    )
    answer = re.split(r"<\|(?:end|call)\|>", text[stem:])[0]
    answer = re.sub(r"^<.Assistant.>", "", answer)
    if family.profile.name == "mistral":  # its history has ids, which the model does not write
        answer = re.sub(r', "id": "\w{9}"', "", answer)
    read = family.wire(tools, "auto", parallel=True).read(family.encode(answer.rstrip("\n")))
    assert [(call.tool.name, json.loads(call.json)) for call in read.calls] == wanted
    everything, _ = render_chat(family.tokenizer, [asked, said, results[0]], described, family.profile)
    assert "Oslo: 21 c, 2 days" in everything


@pytest.mark.parametrize(("written_id", "found"), [("[CALL_ID]a1B2c3D4e", "a1B2c3D4e"), ("", "")])
@pytest.mark.parametrize("family", [("mistral-ids", False), ("mistral-ids", True)], indirect=True)
def test_ids_are_those_of_the_model(family, tools, written_id, found):
    """An id that the model writes is that of the call; without one there is one of our own."""
    line = f'[TOOL_CALLS]get_weather{written_id}[ARGS]{{"city": "Oslo"}}'
    call = family.lm(line).call("x", tools)
    assert call.id == found or (not found and len(call.id) == 9)
    assert call() == "Oslo: 21 c, 1 days"


def test_a_loop_of_two_steps(family, tools):
    """Call, result, answer: the result is in the second prompt, and the chat holds everything."""
    lm = family.lm(written(family, ("get_weather", {"city": "Paris"})), family.said("It is 21 degrees."))
    chat = lm.chat("Weather in Paris?", tools)
    assert chat.text == "It is 21 degrees."
    assert [message["role"] for message in chat.messages] == ["user", "assistant", "tool", "assistant"]
    assert [result.value for result in chat.results] == ["Paris: 21 c, 1 days"]
    assert "Paris: 21 c, 1 days" in lm.model.prompts[1]
    assert "get_weather" in lm.model.prompts[0]
