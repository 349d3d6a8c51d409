"""Running calls: values, exceptions, coroutines, timeouts."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

import schemagen
from schemagen.calling import Tool, ToolCall
from schemagen.errors import ToolError, ToolRetry

released = threading.Event()
colour = ContextVar("colour", default="none")


def double(number: int) -> int:
    """Double."""
    return number * 2


async def slow_double(number: int) -> int:
    """Double, later."""
    await asyncio.sleep(0)
    return number * 2


def hang() -> None:
    """Wait for the end of the test."""
    released.wait(30)


async def hang_async() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


def fail() -> None:
    """Fail."""
    raise LookupError("not there")


def retry() -> None:
    """Ask again."""
    raise ToolRetry("no such city: use its English name")


def call_of(function, **arguments):
    """A call as a model would make it."""
    tool = Tool.from_function(function)
    instance = tool.spec(**arguments)
    return ToolCall(tool, instance, instance.model_dump_json())


@pytest.mark.parametrize("function", [double, slow_double])
@pytest.mark.parametrize("timeout_s", [None, 30])
def test_a_call_runs_its_function(function, timeout_s):
    """A call returns what the function returns, coroutine functions included, inside and outside of an event loop."""
    call = call_of(function, number=4)
    assert call(timeout_s=timeout_s) == 8
    assert asyncio.run(call.acall(timeout_s=timeout_s)) == 8
    assert call.run(timeout_s=timeout_s).value == 8
    assert asyncio.run(call.arun()).text == "8"
    assert str(call) == '{"name": "FUNCTION", "arguments": {"number": 4}}'.replace("FUNCTION", function.__name__)


@pytest.mark.parametrize("function", [hang, hang_async])
def test_what_takes_too_long(function):
    """A timeout is a TimeoutError that names the tool, or a result with it."""
    call = call_of(function)
    with pytest.raises(TimeoutError, match=f"{function.__name__} took longer than 0.01 s"):
        call(timeout_s=0.01)
    result = call.run(timeout_s=0.01)
    assert isinstance(result.error, TimeoutError)
    assert result.text.startswith("Error: TimeoutError: ")
    with pytest.raises(TimeoutError, match="took longer"):
        asyncio.run(limited(call))
    released.clear()


async def limited(call):
    """Run a call with a limit, and let its thread go."""
    try:
        return await call.acall(timeout_s=0.01)
    finally:
        released.set()


def test_exceptions_are_data():
    """`run` returns what a function raises, and a call itself raises it."""
    result = call_of(fail).run()
    assert isinstance(result.error, LookupError)
    assert result.text == "Error: LookupError: not there"
    assert result.to_message()["content"] == result.text
    with pytest.raises(LookupError):
        call_of(fail)()


def test_asking_again():
    """The text of a ToolRetry is what the model reads."""
    assert call_of(retry).run().text == "Error: no such city: use its English name\nCorrect the call and try again."


def test_a_coroutine_function_in_a_running_loop():
    """It cannot be waited for there, and the error says what can be done."""

    async def inside():
        with pytest.raises(ToolError, match="an event loop is running") as caught:
            call_of(slow_double, number=1)()
        assert caught.value.code == "running-loop"
        return call_of(double, number=1)()

    assert asyncio.run(inside()) == 2


def test_context_reaches_the_thread():
    """Context variables are those of the caller, also where a timeout moves the function to a thread."""

    def look() -> str:
        return colour.get()

    token = colour.set("red")
    assert call_of(look)(timeout_s=30) == "red"
    colour.reset(token)


class Point(BaseModel):
    x: int


class MuteError(Exception):
    def __str__(self):
        """Say nothing."""
        raise RuntimeError("no words")


CYCLE = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (None, "null"),
        ({"é": [1, True]}, '{"é":[1,true]}'),
        (Point(x=1), '{"x":1}'),
        (SimpleNamespace(a=1), '"namespace(a=1)"'),
        ("a\ud800", "a\\ud800"),
        (CYCLE, "[[...]]"),
        (MuteError(), '"MuteError"'),
        (Point.model_construct(x=CYCLE), "x=[[...]]"),
    ],
)
def test_values_as_text(value, text):
    """A text is told as it is, other values as JSON."""
    assert call_of(lambda_of(value)).run().text == text


def test_an_exception_without_words_is_told_by_its_name():
    """Whatever a tool raises has a text."""

    def fail_mutely():
        raise MuteError

    assert call_of(fail_mutely).run().text == "Error: MuteError: MuteError"


def test_a_generator_is_read_once():
    """What a generator function yields is a list, and what it raises meanwhile is data."""

    def count(up_to: int):
        for number in range(up_to):
            yield 6 // (2 - number)

    result = call_of(count, up_to=2).run()
    assert (result.text, result.text, result.value) == ("[3,6]", "[3,6]", [3, 6])
    assert isinstance(call_of(count, up_to=3).run().error, ZeroDivisionError)
    assert asyncio.run(call_of(count, up_to=2).arun()).value == [3, 6]


def lambda_of(value):
    """A function that returns a value."""

    def give():
        return value

    return give


def test_retry_is_public():
    """Tools import what they raise from the package."""
    assert schemagen.ToolRetry is ToolRetry
