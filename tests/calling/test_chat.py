"""`LanguageModel.call` and `chat` apart from the wire formats: loops, errors, approval, async, retries."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Annotated

import pytest
from pydantic import AfterValidator

import schemagen
from schemagen.calling import Profile, find_profile, profiles, register_profile
from schemagen.calling.answer_format import write_calls
from schemagen.calling.history import render_chat
from schemagen.calling.tools import as_tools
from schemagen.errors import BudgetError, OptionError, ToolError, ToolRetry, ValidationFailed


def hermes_calls(*calls):
    """Calls in the format of Hermes."""
    return write_calls(find_profile("hermes"), [(name, json.dumps(arguments)) for name, arguments in calls])


def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


async def multiply(left: int, right: int) -> int:
    """Multiply two numbers."""
    await asyncio.sleep(0)
    return left * right


def divide(left: int, right: int) -> float:
    """Divide two numbers."""
    return left / right


def look_up(city: str) -> str:
    """Look a city up."""
    if city != "Munich":
        raise ToolRetry("use the English name")
    return "Bavaria"


def positive(value: int) -> int:
    """Refuse what is not above zero."""
    if value <= 0:
        raise ValueError("must be above zero")
    return value


def root(number: Annotated[int, AfterValidator(positive)]) -> float:
    """Take a root."""
    return number**0.5


TOOLS = [add, multiply, divide, look_up, root]


def test_steps_follow_each_other(hermes):
    """Each result is told before the next answer, and all of them are in the chat."""
    lm = hermes.lm(
        hermes_calls(("add", {"left": 1, "right": 2})), hermes_calls(("multiply", {"left": 3, "right": 4})), "12"
    )
    chat = lm.chat("(1 + 2) * 4", TOOLS)
    assert (chat.text, [result.value for result in chat.results]) == ("12", [3, 12])
    assert "<tool_response>\n3\n</tool_response>" in lm.model.prompts[1]
    assert chat.messages[-1] == {"role": "assistant", "content": "12"}
    ids = [message["tool_call_id"] for message in chat.messages if message["role"] == "tool"]
    assert ids == [result.call.id for result in chat.results]


def test_a_chat_goes_on(hermes):
    """The messages of a chat and another question are a prompt."""
    lm = hermes.lm(hermes_calls(("add", {"left": 1, "right": 2})), "3", "Still 3.")
    chat = lm.chat("1 + 2", TOOLS)
    again = lm.chat([*chat.messages, {"role": "user", "content": "Sure?"}], TOOLS)
    assert again.text == "Still 3."
    assert again.messages[: len(chat.messages)] == chat.messages
    assert again.results == ()


def test_exceptions_are_told(hermes):
    """What a tool raises is a result, and the chat goes on."""
    lines = (hermes_calls(("divide", {"left": 1, "right": 0})), hermes_calls(("look_up", {"city": "Muenchen"})), "No.")
    lm = hermes.lm(*lines)
    chat = lm.chat("x", TOOLS)
    assert [type(result.error) for result in chat.results] == [ZeroDivisionError, ToolRetry]
    assert "Error: ZeroDivisionError: division by zero" in lm.model.prompts[1]
    assert "Error: use the English name\nCorrect the call and try again." in lm.model.prompts[2]


def test_refused_arguments_are_told(hermes):
    """A validator's refusal is a result; the function is not run, and its neighbours are."""
    lm = hermes.lm(
        hermes_calls(("root", {"number": 0}), ("add", {"left": 1, "right": 1}), ("root", {"number": 4})), "ok"
    )
    chat = lm.chat("x", TOOLS, parallel=True)
    assert [result.value for result in chat.results] == [None, 2, 2.0]
    assert chat.results[0].call.arguments == {"number": 0}
    assert "- number: Value error, must be above zero" in lm.model.prompts[1]


def test_the_last_step_answers(hermes):
    """A model that would call for ever has to answer in the last step."""
    line = hermes_calls(("add", {"left": 1, "right": 1}))
    chat = hermes.lm(line, line, line).chat("x", TOOLS, max_steps=3, max_new_tokens=200)
    assert len(chat.results) == 2
    assert isinstance(chat.text, str)
    with pytest.raises(ValueError, match="max_steps=0"):
        hermes.lm().chat("x", TOOLS, max_steps=0)


def test_nothing_runs_without_approval(hermes):
    """A call that is declined does not run, and the model is told."""
    ran = []

    def spend(amount: int) -> str:
        ran.append(amount)
        return "spent"

    lm = hermes.lm(hermes_calls(("spend", {"amount": 1}), ("spend", {"amount": 1000})), "done")
    chat = lm.chat("x", [spend], parallel=True, approve=lambda call: call.arguments.amount < 10)
    assert ran == [1]
    assert chat.results[0].text == "spent"
    assert isinstance(chat.results[1].error, ToolError)
    assert "declined" in lm.model.prompts[1]


async def _refuse_later(_):
    return False


class _Refusing:
    def later(self, call):
        return _refuse_later(call)


@pytest.mark.parametrize("approve", [True, _refuse_later, lambda _: "no: ask first", _Refusing().later])
def test_only_true_approves(hermes, approve):
    """A coroutine and a text are true, but no tool runs by them."""
    ran = []

    def spend(amount: int) -> None:
        ran.append(amount)

    with pytest.raises(OptionError, match="approve"):
        hermes.lm(hermes_calls(("spend", {"amount": 1})), "done").chat("x", [spend], approve=approve)
    assert ran == []


def test_call_runs_nothing(hermes):
    """A call is returned, and its function has not run."""
    ran = []

    def note(text: str) -> None:
        ran.append(text)

    call = hermes.lm(hermes_calls(("note", {"text": "a"}))).call("x", [note])
    assert ran == []
    call()
    assert ran == ["a"]


def test_retries(hermes):
    """With retries the reasons are told and the model may correct itself; without, the refusal is an error."""
    lines = (hermes_calls(("root", {"number": -1})), hermes_calls(("root", {"number": 9})))
    call = hermes.lm(*lines).call("x", TOOLS, retries=1)
    assert call() == 3.0
    with pytest.raises(ValidationFailed, match="must be above zero") as caught:
        hermes.lm(*lines).call("x", TOOLS)
    assert (caught.value.attempts, caught.value.text) == (1, '{"number": -1}')


def test_async(hermes):
    """The same in an event loop, where calls of one answer run at the same time."""
    order = []

    async def first() -> str:
        """Wait for the second."""
        await gate.wait()
        order.append("first")
        return "1"

    async def second() -> str:
        """Let the first go."""
        order.append("second")
        gate.set()
        return "2"

    async def main():
        nonlocal gate
        gate = asyncio.Event()
        call = await lm.acall("x", TOOLS)
        return call, await lm.achat("x", [first, second, add], parallel=True)

    gate = None
    lines = (
        hermes_calls(("multiply", {"left": 2, "right": 3})),
        hermes_calls(("first", {}), ("second", {}), ("add", {"left": 1, "right": 1})),
        "end",
    )
    lm = hermes.lm(*lines)
    call, chat = asyncio.run(main())
    assert call() == 6
    assert order == ["second", "first"]
    assert [result.value for result in chat.results] == ["1", "2", 2]
    assert chat.text == "end"


def test_a_timeout_is_told(hermes):
    """A tool that takes too long does not hold the chat up."""

    async def wait() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    lm = hermes.lm(hermes_calls(("wait", {})), "gave up")
    chat = lm.chat("x", [wait], timeout_s=0.01)
    assert isinstance(chat.results[0].error, TimeoutError)
    assert chat.text == "gave up"


def test_without_tools_a_chat_is_an_answer(hermes):
    """No tools: words."""
    assert hermes.lm("Hello.").chat("Hi").text == "Hello."
    assert hermes.lm("Hello.").call("Hi", []) == "Hello."
    with pytest.raises(ToolError, match="there are no tools"):
        hermes.lm("Hello.").call("Hi", [], tool_choice="required")


def test_a_call_that_cannot_fit_is_refused_beforehand(hermes):
    """The error names the smallest budget that suffices, and with that the call is whole."""
    said = hermes_calls(("add", {"left": 1, "right": 1}))
    with pytest.raises(BudgetError, match=r"the shortest text takes (\d+)") as caught:
        hermes.lm(said).call("x", [add], tool_choice="required", max_new_tokens=5)
    least = int(re.search(r"takes (\d+)", caught.value.fact)[1])
    found = hermes.lm(said).call("x", [add], tool_choice="required", max_new_tokens=least)
    assert found.name == "add"
    assert set(found.arguments.model_dump()) == {"left", "right"}


@pytest.mark.parametrize("budget", [1, 2, 5, 9, 14, 20, 33, 60])
def test_whatever_is_begun_is_finished(hermes, budget):
    """With words or a call to choose from, any budget ends in one of them, whole."""
    found = hermes.lm(hermes_calls(("add", {"left": 1, "right": 1}))).call("x", [add], max_new_tokens=budget)
    assert isinstance(found, str) or found.arguments is not None


def test_openai_history_is_taken(hermes):
    """Arguments of past calls may be a text, as in OpenAI's API, whatever the template takes; content may be missing."""
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"left": 1, "right": 2}'}}
        ],
    }
    text, _ = render_chat(hermes.tokenizer, [{"role": "user", "content": "x"}, said], as_tools(TOOLS), hermes.profile)
    assert hermes_calls(("add", {"left": 1, "right": 2})) in text


def test_a_format_of_ones_own(hermes):
    """A registered profile is found by its signs and by its name; the newest of a name counts."""
    mine = Profile("mine", head="@{name} ", tail=";", markers=("@",), signs=("<|im_start|>",))
    known = dict(profiles())
    register_profile(mine)
    try:
        lm = hermes.lm('Now: @add {"left": 1, "right": 2};')
        assert lm.call("x", TOOLS)() == 3
        assert find_profile("mine") is mine
        register_profile(mine)
        assert list(profiles()).count("mine") == 1
    finally:
        profiles_restored(known)
    with pytest.raises(ToolError, match="no profile 'mine'"):
        hermes.lm().call("x", TOOLS, profile="mine")


def profiles_restored(known):
    """Put the registry back."""
    from schemagen.calling.families import _registry

    _registry[:] = list(known.values())


def test_an_explicit_profile_counts(hermes):
    """The format may be chosen against the template."""
    line = '{"name": "add", "arguments": {"left": 1, "right": 2}}'
    assert hermes.lm(line).call("x", TOOLS, profile="plain")() == 3
    assert hermes.lm(line).call("x", TOOLS, profile=find_profile("plain"))() == 3


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"head": "<call>"}, "no single"),
        ({"head": "{name}: ", "markers": ("<call>",)}, "begin with"),
        ({"head": "call {name}: "}, "begin with"),
        ({"head": "[{name}", "tail": "]", "arguments": "python"}, "parentheses"),
    ],
)
def test_formats_that_cannot_be_read(arguments, text):
    """A profile whose calls could not be told from text is refused."""
    with pytest.raises(ToolError, match=text) as caught:
        Profile("wrong", **arguments)
    assert caught.value.code == "wrong-profile"


def test_python_syntax_has_limits(hermes):
    """A parameter that is no keyword is refused where the format is Python's, and fine elsewhere."""
    tool = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"is-on": {"type": "boolean"}}, "additionalProperties": False},
    }
    with pytest.raises(ToolError, match="cannot be written in Python's syntax"):
        hermes.lm("x").call("x", [tool], profile="llama-pythonic")
    call = hermes.lm('{"name": "f", "arguments": {"is-on": true}}').call("x", [tool], profile="plain")
    assert call.arguments == {"is-on": True}


def test_the_bundled_model_picks_tools():
    """The bundled model, which has no template for tools, calls the right one with the right arguments."""

    def set_timer(minutes: int) -> str:
        """Set a timer."""
        return f"{minutes} minutes"

    def get_weather(city: str) -> str:
        """Say what the weather is like."""
        return f"sunny in {city}"

    lm = schemagen.load_bundled()
    tools = [get_weather, set_timer]
    assert lm.call("What is the weather in Paris?", tools, tool_choice="required")() == "sunny in Paris"
    assert lm.call("Set a timer for 10 minutes", tools, tool_choice="required")() == "10 minutes"
    beams = {"num_beams": 3, "max_new_tokens": 60}
    assert lm.call("What is the weather in Paris?", tools, tool_choice="required", **beams).arguments.city == "Paris"
    sampled = lm.call(
        "Set a timer for 10 minutes", tools, tool_choice="required", parallel=True, temperature=2.0, seed=3
    )
    assert {call.name for call in sampled} <= {"get_weather", "set_timer"}


@pytest.mark.parametrize("must_call", [False, True])
def test_a_prompt_for_several_calls_says_so(hermes, must_call):
    """Without tools in the template, the model is told how several calls are written; one call is described as before."""
    texts = [
        render_chat(
            hermes.tokenizer,
            "Add 1 and 2, and 3 and 4.",
            as_tools(TOOLS),
            find_profile("plain"),
            must_call=must_call,
            parallel=parallel,
        )[0]
        for parallel in (False, True)
    ]
    told = "\nIf several calls are needed, write one after the other, each on its own line."
    assert told not in texts[0]
    assert texts[1].replace(told, "") == texts[0]
