"""`LanguageModel.stream_call`: the events of an answer in every wire format, and that they add up to what `call` returns."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, Field, model_validator

import schemagen
from schemagen.calling import Tool, ToolCall
from schemagen.calling.answer_format import write_calls
from schemagen.errors import BudgetError, OptionError, ToolError, ValidationFailed
from schemagen.events import (
    ArgumentCompleted,
    ArgumentDelta,
    ArgumentStarted,
    CallCompleted,
    CallStarted,
    Completed,
    StepStarted,
    TextDelta,
    ToolReturned,
)

pytestmark = pytest.mark.sampled(10)

NASTY = 'say "hi"\n\tto \\ <é> 日本 😀 {"name": "send"}] </tool'


def written(family, *calls):
    """Calls as the family writes them."""
    return write_calls(family.profile, [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls])


def plain(found):
    """What a result says, without the ids, which are made up."""
    if isinstance(found, list):
        return [plain(each) for each in found]
    return (found.name, found.json, found.arguments, found.content) if isinstance(found, ToolCall) else found


def streamed(family, line, tools, **options):
    """The events of a line, after checking that they are in order and add up to what `call` returns."""
    expected = family.lm(line).call("x", tools, **options)
    stream = family.lm(line).stream_call("x", tools, **options)
    events = list(stream)
    assert isinstance(events[-1], Completed)
    assert plain(events[-1].value) == plain(expected)
    assert stream.text == events[-1].text
    calls = expected if isinstance(expected, list) else [] if isinstance(expected, str) else [expected]
    words = expected if isinstance(expected, str) else calls[0].content
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == words
    rest = [event for event in events[:-1] if not isinstance(event, TextDelta)]
    for index, call in enumerate(calls):
        own = [event for event in rest if event.index == index]
        rest = rest[len(own) :] if rest[: len(own)] == own else None
        check_call(own, call)
    assert rest == []
    return events


def check_call(events, call):
    """The events of a call are in order and add up to it."""
    started, *inside, completed = events
    assert isinstance(started, CallStarted)
    assert (started.name, started.tool.spec) == (call.name, call.tool.spec)
    assert isinstance(completed, CallCompleted)
    assert plain(completed.call)[:3] == plain(call)[:3]
    values = {event.path: event.value for event in inside if isinstance(event, ArgumentCompleted)}
    found = {path[0]: value for path, value in values.items() if len(path) == 1}
    assert list(found) == list(json.loads(call.json))
    if not isinstance(call.arguments, dict):
        found = {key: value for key, value in found.items() if value is not getattr(call.arguments, key)}
        assert found == {key: getattr(call.arguments, key) for key in found}
    for path, value in values.items():
        mine = [event for event in inside if event.path == path]
        assert isinstance(mine[0], ArgumentStarted)
        assert isinstance(mine[-1], ArgumentCompleted)
        assert all(isinstance(event, ArgumentDelta) for event in mine[1:-1])
        if isinstance(value, str):
            assert "".join(event.text for event in mine[1:-1]) == value


# --- every format ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["It is } ] sunny, <tool> é 😀.\nReally?", " a <", "<tool_", "`` ```", ""])
def test_words(family, tools, answer):
    """Words come as they are written, whole characters, without whitespace around them."""
    events = streamed(family, family.said(answer), tools)
    assert all(isinstance(event, TextDelta) for event in events[:-1])


@pytest.mark.parametrize("parallel", [False, True])
def test_a_call(family, tools, parallel):
    """A call begins when its tool is certain, its arguments come one after the other, with values of their types."""
    line = written(family, ("get_weather", {"city": "Paris", "unit": "f", "days": 13}))
    events = streamed(family, line, tools, parallel=parallel)
    completed = [event for event in events if isinstance(event, ArgumentCompleted)]
    assert [(event.path, event.value) for event in completed] == [
        (("city",), "Paris"),
        (("unit",), "f"),
        (("days",), 13),
    ]


def test_values_of_every_kind(family, tools):
    """Lists, null, booleans, and strings with quotes, line breaks and the beginnings of markers."""
    line = written(family, ("send", {"to": [NASTY, "", "True"], "text": NASTY, "urgent": True}))
    events = streamed(family, line, tools, max_new_tokens=2000)
    assert [event.value for event in events if isinstance(event, ArgumentCompleted)] == [
        NASTY,
        "",
        "True",
        [NASTY, "", "True"],
        NASTY,
        True,
    ]
    streamed(family, written(family, ("send", {"to": [], "text": None, "urgent": False})), tools)


def test_calls_and_words(family, tools):
    """Words before a call, several calls, and words behind them, where the format has those."""
    calls = [("get_weather", {"city": "Oslo"}), ("send", {"to": ["a"]}), ("get_weather", {"city": "Rome"})]
    calls = family.fitting(*calls)
    streamed(family, written(family, *calls), tools, parallel=True)
    streamed(family, written(family, *calls), tools, parallel=True, tool_choice="required")
    if not family.profile.is_anchored:
        streamed(family, "Let me see. < \n" + written(family, *calls), tools, parallel=True)
        streamed(family, "Well\n" + written(family, calls[0]), tools)
    if family.profile.repeats:
        both = " One: " + written(family, calls[0]) + "\n and \n" + written(family, calls[1]) + " so. "
        streamed(family, both, tools, parallel=True)


def test_without_arguments(family, tools):
    """A call without arguments is a call; so is one of a tool that takes none."""

    def ping() -> str:
        """Ping."""
        return "pong"

    calls = family.fitting(("ping", {}), ("ping", {}))
    line = written(family, *calls)
    events = streamed(family, line, [*tools, ping], parallel=True)
    assert sum(isinstance(event, CallCompleted) for event in events) == len(calls)
    streamed(family, line, [ping], tool_choice="required")


@pytest.mark.parametrize("choice", ["none", "required", "send", ["send", "get_weather"]])
def test_choices(family, tools, choice):
    """Whatever may be called, and whatever the model wants."""
    choice = tools[1] if choice == "send" else choice
    line = written(family, ("send", {"to": ["é"], "urgent": True}))
    streamed(family, line, tools, tool_choice=choice, max_new_tokens=400)
    streamed(family, "Hello! " + line, tools, tool_choice=choice, max_new_tokens=400)


@pytest.mark.parametrize("more", range(0, 60, 7))
def test_budgets(family, tools, more):
    """Cut short, the events are still those of what `call` returns."""
    line = written(family, ("send", {"to": ["é" * 30]}))
    streamed(family, line, tools, max_new_tokens=max(1, family.wire(tools).graph.min_new_tokens) + more)


def test_ids(family, tools):
    """The last event has the calls of the others, ids included; one that the model writes is that."""
    line = written(family, *family.fitting(("get_weather", {"city": "Oslo"}), ("send", {"to": ["a"]})))
    events = list(family.lm(line).stream_call("x", tools, parallel=True))
    said = [event.call.id for event in events if isinstance(event, CallCompleted)]
    assert [call.id for call in events[-1].value] == said
    form = family.profile.id or ("{id}" if "{id}" in family.profile.head else "")
    if form:
        assert said == [family.profile.counted(form, name, i) for i, name in enumerate(("get_weather", "send"))]


def test_the_tool_is_known_early(hermes, tools):
    """The name is known at its first letter, if no other tool begins with that, and before its arguments."""
    line = written(hermes, ("send", {"to": ["abc"]}))
    stream = hermes.lm(line).stream_call("x", tools)
    first = next(stream)
    assert (first.name, stream.text) == ("send", '<tool_call>\n{"name": "s')
    alone = hermes.lm(line).stream_call("x", [tools[1]])
    assert next(alone).name == "send"
    assert alone.text.strip() == "<tool_call>"
    stream.close()
    alone.close()


def test_keys_are_known_early(family, tools):
    """An argument starts before its value is there."""
    stream = family.lm(written(family, ("send", {"to": ["abc"]}))).stream_call("x", tools)
    assert any(isinstance(event, ArgumentStarted) and event.path == ("to",) for event in stream)
    assert "abc" not in stream.text
    stream.close()


def test_a_string_or_a_number(family):
    """A union of strings and others is said at the latest when it is over."""

    def note(what: int | str | None, more: list[int | str] | str = "") -> str:
        """Note."""
        return f"{what} {more}"

    for what in (5, "5 apples", "apples", None, "nul", ""):
        streamed(family, written(family, ("note", {"what": what, "more": [1, "2"]})), [note])
        streamed(family, written(family, ("note", {"what": what, "more": "\n[1]\n"})), [note])


def test_a_model_without_a_streamer(family, tools, monkeypatch):
    """What no streamer was told is read from the result."""
    model = type(family.lm().model)
    generate = model.generate

    def mute(*args, **options):
        return generate(*args, **{**options, "streamer": None})

    monkeypatch.setattr(model, "generate", mute)
    streamed(family, written(family, ("send", {"to": ["é"], "urgent": True})), tools)
    streamed(family, family.said("words"), tools)


# --- errors and ends ---------------------------------------------------------------------------------------------------


class Even(BaseModel):
    """Note an even number."""

    number: Annotated[int, AfterValidator(lambda value: value if value % 2 == 0 else 1 / 0 if value < 0 else odd())]
    then: str = ""
    low: int = 0
    high: int = 0

    @model_validator(mode="after")
    def in_order(self):
        """Refuse a range that is none."""
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def odd():
    """Refuse it."""
    raise ValueError("must be even")


def test_a_refused_argument_ends_the_stream(family):
    """The model does not go on writing what cannot become valid."""
    lm = family.lm(written(family, ("Even", {"number": 7, "then": "x" * 400})))
    stream, found = lm.stream_call("x", [Even]), []
    with pytest.raises(ValidationFailed, match="must be even") as caught:
        found.extend(stream)
    assert caught.value.at == "Even/number"
    assert any(isinstance(event, ArgumentDelta) and event.text == "7" for event in found)
    assert lm.model.steps < 300
    assert list(stream) == []


def test_refused_arguments_end_the_stream(family):
    """Validators of the whole run when the call is complete."""
    stream, found = family.lm(written(family, ("Even", {"number": 2, "low": 1}))).stream_call("x", [Even]), []
    with pytest.raises(ValidationFailed, match="low is above high"):
        found.extend(stream)
    assert any(isinstance(event, ArgumentCompleted) and event.path == ("low",) for event in found)


def test_errors_come_when_they_belong(hermes, tools):
    """Wrong tools at once, a budget that is too small at the first event, and whatever the model raises."""
    with pytest.raises(ToolError, match="there are no tools"):
        hermes.lm("x").stream_call("x", [], tool_choice="required")
    with pytest.raises(ToolError, match="no profile"):
        hermes.lm("x").stream_call("x", tools, profile="no")
    stream = hermes.lm("x").stream_call("x", tools, tool_choice="required", max_new_tokens=3)
    with pytest.raises(BudgetError):
        next(stream)
    with pytest.raises(IndexError):
        list(hermes.lm().stream_call("x", tools))


def test_closing_stops_the_model(hermes, tools):
    """Whoever leaves the loop, or drops the stream, stops the generation at its next token."""
    line = written(hermes, ("send", {"to": ["a" * 1000]}))
    lm = hermes.lm(line, line)
    with lm.stream_call("x", tools, max_new_tokens=2000) as stream:
        for event in stream:
            if isinstance(event, ArgumentDelta):
                break
    assert lm.model.steps < 400
    assert list(stream) == []
    for event in lm.stream_call("x", tools, max_new_tokens=2000):
        if isinstance(event, ArgumentDelta):
            break
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "schemagen-stream":
            thread.join(timeout=30)
    assert lm.model.steps < 800


def test_without_blocking_the_event_loop(hermes, tools):
    """`astream_call` yields the same events, and stops the model when it is closed."""
    line = written(hermes, ("send", {"to": ["a" * 300]}))
    lm = hermes.lm(line, line)

    async def main():
        whole = [event async for event in lm.astream_call("x", tools, max_new_tokens=2000)]
        steps = lm.model.steps
        events = lm.astream_call("x", tools, max_new_tokens=2000)
        async for event in events:
            if isinstance(event, ArgumentDelta):
                break
        await events.aclose()
        return whole, lm.model.steps - steps

    whole, steps = asyncio.run(main())
    assert whole[-1].value.arguments.to == ["a" * 300]
    assert steps < 300


def test_dicts_and_recursion(hermes):
    """The arguments of a tool that is a JSON Schema are parsed JSON; a recursive model streams as well."""
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {}}}, "required": ["a"]}
    tool = Tool.from_dict({"name": "f", "parameters": schema})
    events = streamed(hermes, written(hermes, ("f", {"a": [{"b": None}, 1.5]})), [tool])
    assert [event.value for event in events if isinstance(event, ArgumentCompleted)][-1] == [{"b": None}, 1.5]
    streamed(hermes, written(hermes, ("Tree", {"name": "a", "below": [{"name": "b"}]})), [Tree])


class Tree(BaseModel):
    """A tree."""

    name: str
    below: Annotated[list[Tree], Field(max_length=3)] = []


def test_the_bundled_model_streams_calls():
    """Greedy and sampled, the events of the bundled model add up to what it calls."""

    def set_timer(minutes: int) -> str:
        """Set a timer."""
        return f"{minutes} minutes"

    def get_weather(city: str) -> str:
        """Say what the weather is like."""
        return f"sunny in {city}"

    lm, tools = schemagen.load_bundled(), [get_weather, set_timer]
    for options in ({}, {"parallel": True, "seed": 3, "temperature": 2.0}, {"tool_choice": "required"}):
        expected = lm.call("Set a timer for 10 minutes", tools, **options)
        events = list(lm.stream_call("Set a timer for 10 minutes", tools, **options))
        assert plain(events[-1].value) == plain(expected)
        assert [plain(event.call) for event in events if isinstance(event, CallCompleted)] == [
            plain(call)
            for call in (expected if isinstance(expected, list) else [expected])
            if isinstance(call, ToolCall)
        ]


# --- chats -------------------------------------------------------------------------------------------------------------


def fail(text: str) -> str:
    """Fail."""
    raise LookupError(text)


def chat_lines(family):
    """A chat of two calls, one that is refused, one that raises, and an answer."""
    return (
        written(family, *family.fitting(("get_weather", {"city": "Oslo"}), ("Even", {"number": 7}))),
        written(family, ("fail", {"text": "é"})),
        family.said("It is sunny."),
    )


def shown(chat):
    """What a chat says, without the ids."""
    said = [(message["role"], message["content"]) for message in chat.messages]
    return chat.text, said, [(result.call.name, result.call.json, result.text) for result in chat.results]


def test_a_chat(family, tools):
    """The events of every answer, the results of its calls, and at the end the chat."""
    asked = {"tools": [*tools, Even, fail], "parallel": True}
    expected = family.lm(*chat_lines(family)).chat("x", **asked)
    events = list(family.lm(*chat_lines(family)).stream_chat("x", **asked))
    assert shown(events[-1].value) == shown(expected)
    assert [event.step for event in events if isinstance(event, StepStarted)] == [0, 1, 2]
    returned = [event for event in events if isinstance(event, ToolReturned)]
    assert [event.index for event in returned] == [*range(len(family.fitting(0, 1))), 0]
    assert [event.result for event in returned] == list(events[-1].value.results)
    assert [event.call.name for event in events if isinstance(event, CallCompleted)] == ["get_weather", "fail"]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is sunny."
    assert sum(isinstance(event, Completed) for event in events) == 1


def test_a_chat_without_blocking_the_event_loop(hermes, tools):
    """`astream_chat` yields the same events; closed early, it stops the model and runs nothing more."""
    lm, asked = hermes.lm(*chat_lines(hermes), *chat_lines(hermes)), {"tools": [*tools, Even, fail], "parallel": True}

    async def main():
        whole = [event async for event in lm.astream_chat("x", **asked)]
        steps, events = lm.model.steps, lm.astream_chat("x", **asked)
        async for event in events:
            if isinstance(event, ArgumentDelta):
                break
        await events.aclose()
        return whole, lm.model.steps - steps

    whole, steps = asyncio.run(main())
    expected = list(hermes.lm(*chat_lines(hermes)).stream_chat("x", **asked))
    assert [type(event) for event in whole] == [type(event) for event in expected]
    assert shown(whole[-1].value) == shown(expected[-1].value)
    assert steps < 200


def test_a_chat_is_refused_at_once(hermes, tools):
    """Wrong arguments are errors of the call, not of the first event."""
    with pytest.raises(ToolError, match="no profile"):
        hermes.lm("x").stream_chat("x", tools, profile="no")
    with pytest.raises(OptionError, match="max_steps=0"):
        hermes.lm("x").astream_chat("x", tools, max_steps=0)
    with pytest.raises(OptionError, match="timeout_s=0"):
        hermes.lm("x").stream_chat("x", tools, timeout_s=0)
    chat = hermes.lm("Hello.").stream_chat("x")
    assert [type(event).__name__ for event in chat][::6] == ["StepStarted", "TextDelta"]


def test_leaving_a_chat_stops_the_model(hermes, tools):
    """A chat that nobody listens to any more goes no further."""
    lm = hermes.lm(written(hermes, ("send", {"to": ["a" * 1000]})), "end")
    for event in lm.stream_chat("x", tools, max_new_tokens=2000):
        if isinstance(event, ArgumentDelta):
            break
    gc.collect()
    assert lm.model.steps < 400
    assert lm.model.lines == ["end"]
