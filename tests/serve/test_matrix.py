"""Thoughts, tools and a typed answer, in every combination, streamed or not, in four families, by OpenAI's client.

Each cell gives an instance, or a refusal that the guide names. The client talks to the app without a network.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict, Field

import schemagen
from schemagen.serve import create_app
from tests.calling.conftest import TEMPLATES
from tests.serve.conftest import as_format

openai = pytest.importorskip("openai", reason="the client library is not installed")

pytestmark = pytest.mark.sampled(3)

MESSAGES = [{"role": "user", "content": "Ada Lovelace, 36, London"}]
#: The families; llama's template knows no thoughts.
FAMILIES = ("hermes", "glm", "mistral-args", "llama")
SIGN = "{# <think> </think> #}"
THOUGHTS = 12


class Person(BaseModel):
    """A person."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=150)


class Weather(BaseModel):
    """Get the weather."""

    model_config = ConfigDict(extra="forbid")
    place: str = Field(max_length=12)


class Timer(BaseModel):
    """Set a timer."""

    model_config = ConfigDict(extra="forbid")
    minutes: int = Field(ge=1, le=60)


TOOLS = {"Weather": Weather, "Timer": Timer}
CHOICES = (None, "auto", "required", "named")


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, lm):
    """OpenAI's client of a server whose model has the template of a family."""
    tokenizer = copy.deepcopy(lm.tokenizer)
    thinks = request.param != "llama"
    text = (TEMPLATES / f"{request.param}.jinja").read_text(encoding="utf-8")
    tokenizer.chat_template = text + (SIGN if thinks else "")
    app = create_app(schemagen.from_transformers(lm.model, tokenizer), name=request.param)
    with TestClient(app, raise_server_exceptions=False) as http:
        client = openai.OpenAI(base_url="http://testserver/v1", api_key="none", max_retries=0, http_client=http)
        yield SimpleNamespace(name=request.param, client=client, http=http, thinks=thinks)


def check(answer, *, typed, choice, thinks):
    """Check an answer, given as thoughts, text, calls, and the number of tokens of thoughts."""
    thoughts, text, calls, reasoning_tokens = answer
    if thinks:
        assert 1 <= reasoning_tokens <= THOUGHTS + 24, "the thoughts, and the text that ends them"
    else:
        assert not thoughts
        assert not reasoning_tokens
    for name, arguments in calls:
        TOOLS[name].model_validate_json(arguments)
    if choice in ("required", "named"):
        assert calls
        assert not text
        assert choice == "required" or [name for name, _ in calls] == ["Weather"]
    elif choice is None:
        assert not calls
    if typed and not calls:
        Person.model_validate_json(text)
    if typed and calls:
        assert not text


cells = pytest.mark.parametrize(
    ("thinks", "choice", "typed"),
    [(thinks, choice, typed) for thinks in (False, True) for choice in CHOICES for typed in (False, True)],
)


@cells
def test_chat_completions(family, thinks, choice, typed):
    """The parts of a message are those that were asked for, and those of a stream are the same."""
    asked = {"model": "any", "messages": MESSAGES, "max_completion_tokens": 100 if typed or choice else 40}
    if thinks:
        asked |= {"reasoning_effort": "low", "extra_body": {"schemagen": {"reasoning": THOUGHTS}}}
    if choice:
        asked |= {"tools": [openai.pydantic_function_tool(each) for each in TOOLS.values()]}
        named = {"type": "function", "function": {"name": "Weather"}}
        asked |= {"tool_choice": named if choice == "named" else choice}
    if typed:
        asked |= {"response_format": as_format(Person.model_json_schema())}
    if thinks and not family.thinks:
        with pytest.raises(openai.BadRequestError, match="no known way to think") as caught:
            family.client.chat.completions.create(**asked)
        assert caught.value.param == "reasoning"
        return
    whole = family.client.chat.completions.create(**asked)
    message = whole.choices[0].message
    thoughts, details = getattr(message, "reasoning_content", None), whole.usage.completion_tokens_details
    assert thoughts == getattr(message, "reasoning", None)
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    answer = (thoughts, message.content, calls, details and details.reasoning_tokens)
    check(answer, typed=typed, choice=choice, thinks=thinks)
    ended = whole.choices[0].finish_reason
    assert ended in ("length", "tool_calls" if calls and choice != "named" else "stop")
    stream = family.client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    assert told(stream) == (thoughts or "", message.content or "", calls, ended, whole.usage)


def told(stream):
    """Return what the chunks of a stream add up to."""
    thoughts, text, calls, ended, usage = "", "", [], None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            thoughts += getattr(choice.delta, "reasoning_content", None) or ""
            text += choice.delta.content or ""
            ended = choice.finish_reason or ended
            for call in choice.delta.tool_calls or ():
                if call.id:
                    calls.append([call.function.name, ""])
                calls[call.index][1] += call.function.arguments
    return thoughts, text, [tuple(call) for call in calls], ended, usage


def test_helpers_of_the_client(family):
    """``parse`` and ``stream`` give instances, for a value and for the arguments of a call."""
    tools = [openai.pydantic_function_tool(Weather)]
    ask = {
        "model": "any",
        "messages": MESSAGES,
        "tools": tools,
        "response_format": Person,
        "max_completion_tokens": 150,
    }
    for choice, kind in (("none", Person), ("required", Weather)):
        message = family.client.chat.completions.parse(**ask, tool_choice=choice).choices[0].message
        with family.client.chat.completions.stream(**ask, tool_choice=choice) as stream:
            last = stream.get_final_completion().choices[0].message
        for each in (message, last):
            found = each.parsed if choice == "none" else each.tool_calls[0].function.parsed_arguments
            assert isinstance(found, kind)


@cells
def test_responses(family, thinks, choice, typed):
    """The items of a response are those that were asked for; those of a stream, by its events and whole, are the same."""
    asked = {"model": "any", "input": MESSAGES, "max_output_tokens": 100 if typed or choice else 40}
    if thinks:
        asked |= {"reasoning": {"effort": "low"}, "extra_body": {"schemagen": {"reasoning": THOUGHTS}}}
    if choice:
        tools = [openai.pydantic_function_tool(each)["function"] for each in TOOLS.values()]
        asked |= {"tools": [{"type": "function", **tool} for tool in tools]}
        asked |= {"tool_choice": {"type": "function", "name": "Weather"} if choice == "named" else choice}
    if typed:
        asked |= {"text_format": Person}
    if thinks and not family.thinks:
        with pytest.raises(openai.BadRequestError, match="no known way to think") as caught:
            family.client.responses.parse(**asked)
        assert caught.value.param == "reasoning"
        return
    whole = family.client.responses.parse(**asked)
    answer = parts_of(whole)
    check(answer, typed=typed, choice=choice, thinks=thinks)
    assert whole.output_parsed == (Person.model_validate_json(answer[1]) if typed and answer[1] else None)
    ended = "response.completed" if whole.status == "completed" else "response.incomplete"
    with family.client.responses.stream(**asked) as stream:
        events = list(stream)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [events[0].type, events[1].type, events[-1].type] == ["response.created", "response.in_progress", ended]
    final = events[-1].response
    assert parts_of(final) == answer
    assert final.usage == whole.usage
    check_events(events, final.output)


def parts_of(response):
    """Return the thoughts, the text and the calls of a response, and the number of tokens of thoughts."""
    thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.content]
    calls = [(item.name, item.arguments) for item in response.output if item.type == "function_call"]
    return "".join(thoughts), response.output_text, calls, response.usage.output_tokens_details.reasoning_tokens


def check_events(events, output):
    """Check that the events of each item are in order, and add up to it."""
    assert [event.item.type for event in events if event.type == "response.output_item.added"] == [
        item.type for item in output
    ]
    names = {"message": "output_text", "reasoning": "reasoning_text", "function_call": "function_call_arguments"}
    for index, item in enumerate(output):
        own = [event for event in events if getattr(event, "output_index", None) == index]
        name, has_part = f"response.{names[item.type]}", item.type != "function_call"
        kinds = [event.type.removeprefix("response.") for event in own if event.type != f"{name}.delta"]
        part = ["content_part.added"] * has_part, ["content_part.done"] * has_part
        assert kinds == [
            "output_item.added",
            *part[0],
            f"{name}.done".removeprefix("response."),
            *part[1],
            "output_item.done",
        ]
        assert {getattr(event, "item_id", item.id) for event in own} == {item.id}
        written = "".join(event.delta for event in own if event.type == f"{name}.delta")
        assert written == (item.content[0].text if has_part else item.arguments)
