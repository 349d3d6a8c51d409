"""What type checkers must know about the public surface; read by mypy and pyright, never run."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import Unpack, assert_type

import schemagen
from schemagen.calling import ToolResult
from schemagen.calling.chat import Chat
from schemagen.calling.stream import CallStream
from schemagen.events import (
    ArgumentCompleted,
    ArgumentDelta,
    ArgumentStarted,
    CallCompleted,
    CallStarted,
    Completed,
    Delta,
    Event,
    FieldCompleted,
    FieldStarted,
    FieldTakenBack,
    Path,
    ReasoningDelta,
    Snapshot,
    StepStarted,
    TextDelta,
    ToolReturned,
)
from schemagen.lm import Repair
from schemagen.lm.stream import Stream
from schemagen.options import GenerateOptions
from schemagen.templates import Filled


class Person(schemagen.Structured, BaseModel):
    name: str
    age: int


@dataclass
class Point(schemagen.Structured):
    x: int
    y: int


@schemagen.structured
class City(BaseModel):
    name: str


class Movie(TypedDict):
    title: str


class Pair(NamedTuple):
    left: int
    right: str


@schemagen.structured(max_new_tokens=64, retries=1)
class Country(schemagen.Structured, BaseModel):
    name: str


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


async def structured_doors(lm: schemagen.LanguageModel, prompts: list[str]) -> None:
    assert_type(Country.generate("", seed=1), Country)
    assert_type(Country(name="France"), Country)
    assert_type(await Person.agenerate("", lm=lm, temperature=0), Person)
    assert_type(Person.run(""), schemagen.Generation[Person])
    assert_type(await Person.arun(""), schemagen.Generation[Person])
    assert_type(Person.batch(prompts, batch_size=2), list[Union[Person, schemagen.Failure]])
    assert_type(await Person.abatch(prompts), list[Union[Person, schemagen.Failure]])
    assert_type(Person.run_batch(prompts), list[Union[schemagen.Generation[Person], schemagen.Failure]])
    assert_type(Person.stream("", partials=True), Stream[Person])
    assert_type(Person.astream(""), AsyncGenerator[Event[Person], None])
    schemagen.set_default_lm(lm)
    schemagen.set_default_lm(None)


def passing_options_on(lm: schemagen.LanguageModel, **options: Unpack[GenerateOptions]) -> Person:
    return lm("", Person, **options)


def structured_classes(lm: schemagen.LanguageModel) -> None:
    assert_type(Person.generate("Ada, 36"), Person)
    assert_type(Person.generate("Ada, 36", lm=lm, max_new_tokens=32), Person)
    assert_type(Point.generate("1 and 2"), Point)
    # The constructors are those of the classes.
    assert_type(Person(name="Ada", age=36), Person)
    assert_type(Point(1, y=2), Point)
    # The decorator leaves the class as it is.
    assert_type(City(name="Paris"), City)


def classify(lm: schemagen.LanguageModel, prompts: list[str]) -> None:
    found = lm.classify("", Literal["a", "b"], temperature=2.0)
    assert_type(found, schemagen.Distribution[Literal["a", "b"]])
    assert_type(found.value, Literal["a", "b"])
    assert_type(found.options, tuple[Literal["a", "b"], ...])
    assert_type(found["a"], float)
    assert_type(found.at_temperature(2), schemagen.Distribution[Literal["a", "b"]])
    assert_type(lm.classify("", Mood, max_nodes=9), schemagen.Distribution[Mood])
    assert_type(lm.classify("", bool), schemagen.Distribution[bool])
    assert_type(lm.classify("", Annotated[int, Field(ge=1, le=5)]), schemagen.Distribution[int])
    assert_type(lm.classify("", bool | None), schemagen.Distribution[Optional[bool]])
    assert_type(lm.classify("", ["yes", "no"]), schemagen.Distribution[str])
    assert_type(lm.classify("", schemagen.Choice(Mood)), schemagen.Distribution[Mood])
    assert_type(lm.classify("", {"enum": [1, 2]}), schemagen.Distribution[Any])
    rows = lm.classify_batch(prompts, Mood, progress=False)
    assert_type(rows, list[Union[schemagen.Distribution[Mood], schemagen.Failure]])
    assert_type(lm.classify_batch(prompts, ["yes", "no"]), list[Union[schemagen.Distribution[str], schemagen.Failure]])


def call(lm: schemagen.LanguageModel) -> None:
    assert_type(lm("", Person), Person)
    assert_type(lm("", Point, max_new_tokens=8, temperature=0.5), Point)
    assert_type(lm("", Movie), Movie)
    assert_type(lm("", Pair), Pair)
    assert_type(lm("", int), int)
    assert_type(lm("", list[Person]), list[Person])
    assert_type(lm("", dict[str, int]), dict[str, int])
    assert_type(lm("", tuple[int, str]), tuple[int, str])
    assert_type(lm([{"role": "user", "content": "hi"}], Person), Person)


def formats(lm: schemagen.LanguageModel) -> None:
    assert_type(lm("", Person, as_="yaml"), Person)
    assert_type(lm("", list[Person], as_="csv"), list[Person])
    assert_type(lm.run("", Point, as_="python"), schemagen.Generation[Point])
    assert_type(lm.stream("", Person, as_="xml"), Stream[Person])
    assert_type(schemagen.Generator(lm, Person, as_="markdown"), schemagen.Generator[Person])
    assert_type(Person.generate("", as_="json"), Person)


def special_forms(lm: schemagen.LanguageModel) -> None:
    assert_type(lm("", int | None), Optional[int])
    assert_type(lm("", Union[int, str]), Union[int, str])
    assert_type(lm("", Literal["a", "b"]), Literal["a", "b"])
    assert_type(lm("", Annotated[int, Field(ge=1)]), int)


def grammars(lm: schemagen.LanguageModel, vocabulary: schemagen.Vocabulary) -> None:
    grammar = schemagen.compile(Person, vocabulary, whitespace="compact")
    assert_type(grammar, schemagen.Grammar[Person])
    assert_type(grammar.validate("{}"), Person)
    assert_type(lm("", grammar), Person)
    assert_type(lm("", lm.compile(Person)), Person)
    assert_type(lm("", lm.compile(list[Person], whitespace="spaced")), list[Person])
    assert_type(lm("", lm.compile(Optional[int])), Optional[int])
    assert_type(lm("", lm.compile(schemagen.Choice(Mood))), Mood)
    assert_type(lm("", lm.compile(["a", "b"])), str)
    assert_type(lm.compile({"type": "string"}), schemagen.Grammar[Any])
    assert_type(schemagen.compile(Union[int, str], vocabulary).validate("1"), Union[int, str])


def other_specs(lm: schemagen.LanguageModel, grammar: schemagen.Grammar) -> None:
    assert_type(lm("", schemagen.Regex("[0-9]+")), str)
    assert_type(lm("", schemagen.GBNF("root ::= [0-9]+")), str)
    assert_type(lm("", schemagen.EBNF("root ::= [0-9]+", dialect="w3c")), str)
    assert_type(lm("", schemagen.Lark("start: X", parser="lalr")), str)
    assert_type(lm("", schemagen.Choice(["yes", "no"])), str)
    assert_type(lm("", schemagen.Choice("yes", "no")), str)
    assert_type(lm("", schemagen.Choice(Mood)), Mood)
    assert_type(lm("", Mood), Mood)
    assert_type(lm("", ["yes", "no"]), str)
    assert_type(lm("", re.compile("a+")), str)
    assert_type(lm("", TypeAdapter(list[int])), list[int])
    assert_type(lm("", schemagen.text.quoted()), str)
    assert_type(lm("", schemagen.text.unquoted()), str)
    assert_type(lm("", schemagen.text.until("a", include=True)), str)
    assert_type(lm("", schemagen.text.paragraph()), str)
    assert_type(lm("", schemagen.text.one_of_lines("a\nb")), str)
    assert_type(lm("", schemagen.text.list_of(int)), list[int])
    assert_type(lm("", schemagen.text.list_of(Union[int, str])), list[Union[int, str]])
    assert_type(lm("", schemagen.text.list_of(Person, sep="\n", max=3)), list[Person])
    assert_type(lm("", schemagen.text.list_of(schemagen.Choice(Mood))), list[Mood])
    assert_type(lm("", schemagen.text.list_of(schemagen.Regex("a+"))), list[str])
    assert_type(lm("", schemagen.text.list_of(["a", "b"])), list[str])
    assert_type(lm("", schemagen.text.list_of(schemagen.text.list_of(int, sep=" "))), list[list[int]])
    assert_type(lm("", schemagen.text.list_of({"type": "integer"})), list[Any])
    assert_type(lm("", schemagen.text.subsequence_of(["a", "b"])), list[str])
    assert_type(lm("", schemagen.text.subsequence_of(["a", int])), list[Any])
    assert_type(lm.run("", schemagen.text.list_of(int)).value, list[int])
    assert_type(lm("", {"type": "integer"}), Any)
    assert_type(lm("", spec=True), Any)
    assert_type(lm("", grammar), Any)


def with_circumstances(lm: schemagen.LanguageModel) -> None:
    assert_type(lm.generate("", Person), Person)
    assert_type(lm.complete({"age": 36}, Person, "..."), Person)
    assert_type(lm.complete([{}], list[Person], seed=0), list[Person])
    assert_type(lm.complete({}, {"type": "object"}), Any)
    assert_type(lm.run_complete({"age": 36}, Person), schemagen.Generation[Person])
    assert_type(lm.repair("{", Person), Person)
    assert_type(lm.repair("ye", schemagen.Regex("yes")), str)
    assert_type(lm.repair("{", {"type": "object"}, "..."), Any)
    assert_type(lm.run_repair("{", list[int]), Repair[list[int]])
    found = lm.run("", Person)
    assert_type(found, schemagen.Generation[Person])
    assert_type(lm.run("", list[int]), schemagen.Generation[list[int]])
    assert_type(found.value, Person)
    assert_type(found.text, str)
    assert_type(found.new_tokens, int)
    assert_type(lm.run("", schemagen.Choice(["a"])).value, str)
    assert_type(lm.generate_text(""), str)
    assert_type(lm.render("", Person), str)


def generators(lm: schemagen.LanguageModel) -> None:
    generator = schemagen.Generator(lm, Person, retries=2)
    assert_type(generator, schemagen.Generator[Person])
    assert_type(generator(""), Person)
    assert_type(generator.generate("", seed=1), Person)
    assert_type(generator.run(""), schemagen.Generation[Person])
    assert_type(schemagen.Generator(lm, schemagen.Choice(Mood))(""), Mood)
    assert_type(schemagen.Generator(lm, ["a", "b"])(""), str)
    assert_type(schemagen.Generator(lm, list[int])(""), list[int])
    assert_type(schemagen.Generator(lm, int | None)(""), Optional[int])
    assert_type(schemagen.Generator(lm, schemagen.Regex("a"))(""), str)


def batches(lm: schemagen.LanguageModel, prompts: list[str]) -> None:
    people = lm.batch(prompts, Person, batch_size=4, seed=[1, 2])
    assert_type(people, list[Union[Person, schemagen.Failure]])
    for found in people:
        if isinstance(found, schemagen.Failure):
            assert_type(found.error, schemagen.SchemagenError)
            assert_type(found.text, str)
        else:
            assert_type(found, Person)
    assert_type(lm.batch(iter(prompts), int | None), list[Union[int, schemagen.Failure, None]])
    assert_type(lm.batch(prompts, schemagen.Choice(["a"])), list[Union[str, schemagen.Failure]])
    assert_type(lm.batch(prompts, [Person, Person]), list[Union[Person, schemagen.Failure]])
    # For pyright the union of all types, for mypy Any: never a failure alone.
    for found_of_several in lm.batch(prompts, [Person, int]):
        if not isinstance(found_of_several, schemagen.Failure):
            either: Union[Person, int] = found_of_several
            del either
    assert_type(lm.batch(prompts, {"type": "integer"}), list[Any])
    assert_type(lm.batch(prompts, schemagen.Choice(Mood)), list[Union[Mood, schemagen.Failure]])
    assert_type(lm.run_batch(prompts, Person), list[Union[schemagen.Generation[Person], schemagen.Failure]])
    assert_type(lm.run_batch(prompts, re.compile("a")), list[Union[schemagen.Generation[str], schemagen.Failure]])
    assert_type(lm.batch(prompts, [schemagen.Regex("a"), {"type": "integer"}]), list[Any])
    assert_type(schemagen.Generator(lm, Person).batch(prompts), list[Union[Person, schemagen.Failure]])


def maps(lm: schemagen.LanguageModel, prompts: Iterator[str]) -> None:
    assert_type(lm.map(prompts, Person, window=4, seed=1), Iterator[Union[Person, schemagen.Failure]])
    assert_type(lm.map(prompts, int | None), Iterator[Union[int, schemagen.Failure, None]])
    assert_type(lm.map(prompts, schemagen.Choice(Mood)), Iterator[Union[Mood, schemagen.Failure]])
    assert_type(lm.map(prompts, schemagen.Regex("a")), Iterator[Union[str, schemagen.Failure]])
    assert_type(lm.map(prompts, {"type": "integer"}), Iterator[Any])
    assert_type(lm.run_map(prompts, Person), Iterator[Union[schemagen.Generation[Person], schemagen.Failure]])
    assert_type(schemagen.Generator(lm, Person).map(prompts), Iterator[Union[Person, schemagen.Failure]])


def streams(lm: schemagen.LanguageModel) -> None:
    assert_type(lm.stream("", schemagen.Regex("a")), Stream[str])
    assert_type(lm.stream("", list[int]), Stream[list[int]])
    assert_type(schemagen.Generator(lm, Person).stream(""), Stream[Person])
    with lm.stream("", Person, partials=True) as stream:
        assert_type(stream.text, str)
        for event in stream:
            if isinstance(event, Completed):
                assert_type(event.value, Person)
                assert_type(event.generation, schemagen.Generation[Person])
            elif isinstance(event, Snapshot):
                assert_type(event.value, schemagen.Partial[Person])
                assert_type(event.value.name, Any)
            elif isinstance(event, (Delta, ReasoningDelta)):
                assert_type(event.text, str)
            else:
                assert_type(event, Union[FieldStarted, FieldCompleted, FieldTakenBack])
                assert_type(event.path, Path)
                assert_type(event.path[0], Union[str, int])


def call_streams(lm: schemagen.LanguageModel, tool: Any) -> None:
    assert_type(lm.stream_call("", [tool]), CallStream[Union[schemagen.ToolCall, str]])
    assert_type(lm.stream_call("", [tool], parallel=True), CallStream[Union[list[schemagen.ToolCall], str]])
    assert_type(lm.stream_call("", [tool], tool_choice="none"), CallStream[str])
    assert_type(lm.stream_call("", [tool], tool_choice=["f"], parallel=True), CallStream[list[schemagen.ToolCall]])
    for event in lm.stream_call("", [tool], tool_choice="required"):
        if isinstance(event, Completed):
            assert_type(event.value, schemagen.ToolCall)
        elif isinstance(event, CallCompleted):
            assert_type(event.call, schemagen.ToolCall)
        elif isinstance(event, (ReasoningDelta, TextDelta, ArgumentDelta)):
            assert_type(event.text, str)
        elif isinstance(event, CallStarted):
            assert_type(event.name, str)
        elif isinstance(event, (FieldStarted, Delta, FieldCompleted)):
            assert_type(event.path, Path)
        else:
            assert_type(event, Union[ArgumentStarted, ArgumentCompleted])
            assert_type(event.path, Path)
    assert_type(lm.stream_call("", [tool], returns=Person), CallStream[Union[schemagen.ToolCall, Person]])
    assert_type(
        lm.stream_call("", [tool], returns=list[int], parallel=True),
        CallStream[Union[list[schemagen.ToolCall], list[int]]],
    )


def chat_streams(lm: schemagen.LanguageModel, tool: Any) -> None:
    for event in lm.stream_chat("", [tool], max_steps=3):
        if isinstance(event, Completed):
            assert_type(event.value, Chat[str])
        elif isinstance(event, ToolReturned):
            assert_type(event.result, ToolResult)
        elif isinstance(event, StepStarted):
            assert_type(event.step, int)


async def twins(lm: schemagen.LanguageModel, prompts: list[str]) -> None:
    assert_type(await lm.agenerate("", Person), Person)
    assert_type(await lm.arun("", Person), schemagen.Generation[Person])
    assert_type(await lm.arun_batch(prompts, Person), list[Union[schemagen.Generation[Person], schemagen.Failure]])
    assert_type(await schemagen.Generator(lm, Person).agenerate(""), Person)
    assert_type(await lm.abatch(prompts, Person), list[Union[Person, schemagen.Failure]])
    assert_type(await lm.abatch(prompts, schemagen.Regex("a")), list[Union[str, schemagen.Failure]])
    events = lm.astream("", Person)
    assert_type(events, AsyncGenerator[Event[Person], None])
    async for event in events:
        if isinstance(event, Completed):
            assert_type(event.value, Person)
    async for _ in schemagen.Generator(lm, Person).astream(""):
        pass


@schemagen.tool
def get_weather(city: str, days: int = 1) -> str:
    return city * days


@schemagen.tool(name="sum", description="Add.")
async def add(left: int, right: int) -> int:
    return left + right


def send(text: str) -> None: ...


async def tools(lm: schemagen.LanguageModel, parallel: bool) -> None:
    assert_type(get_weather("Paris", days=2), str)
    assert_type(await add(1, 2), int)
    assert_type(get_weather.name, str)
    assert_type(lm.call("", [get_weather, send, Person, {"name": "ping"}]), Union[schemagen.ToolCall, str])
    assert_type(lm.call("", [get_weather], tool_choice="auto", max_new_tokens=9), Union[schemagen.ToolCall, str])
    assert_type(lm.call("", [send], parallel=True), Union[list[schemagen.ToolCall], str])
    assert_type(lm.call("", [send], tool_choice="none"), str)
    assert_type(lm.call("", [send], tool_choice="required"), schemagen.ToolCall)
    assert_type(lm.call("", [send], tool_choice=send), schemagen.ToolCall)
    assert_type(lm.call("", [send], tool_choice=["send"]), schemagen.ToolCall)
    assert_type(lm.call("", [send], tool_choice="required", parallel=True), list[schemagen.ToolCall])
    assert_type(lm.call("", [send], parallel=parallel), Union[schemagen.ToolCall, list[schemagen.ToolCall], str])
    assert_type(lm.call("", [send], returns=Person), Union[schemagen.ToolCall, Person])
    assert_type(lm.call("", [send], returns=Union[int, Person]), Union[schemagen.ToolCall, int, Person])
    assert_type(
        lm.call("", [send], returns=schemagen.Choice(["a"]), parallel=True), Union[list[schemagen.ToolCall], str]
    )
    assert_type(await lm.acall("", [send], returns=Person), Union[schemagen.ToolCall, list[schemagen.ToolCall], Person])


async def chats(lm: schemagen.LanguageModel) -> None:
    chat = lm.chat(
        [{"role": "user", "content": "hi"}], [get_weather], max_steps=3, approve=lambda call: call.name != "x"
    )
    assert_type(chat.text, str)
    assert_type(chat.results[0].call.arguments, Any)
    assert_type(chat, Chat[str])
    assert_type((await lm.achat("", [get_weather])).text, str)
    assert_type(lm.chat("", [get_weather], returns=Person).value, Person)
    assert_type(lm.chat("", [get_weather], returns=Union[int, Person]).value, Union[int, Person])
    assert_type(lm.chat("", [get_weather], returns=schemagen.Regex("a")).value, str)
    assert_type(lm.chat("", returns={"type": "integer"}).value, Any)
    assert_type((await lm.achat("", [get_weather], returns=list[Person])).value, list[Person])
    for event in lm.stream_chat("", [get_weather], returns=Person):
        if isinstance(event, Completed):
            assert_type(event.value, Chat[Person])
    # What was said goes on.
    lm.chat([*chat.messages, {"role": "user", "content": "and?"}])


def loading() -> None:
    assert_type(schemagen.load("gpt2", device_map="cpu"), schemagen.LanguageModel)
    assert_type(schemagen.load_bundled(), schemagen.LanguageModel)


def templates(lm: schemagen.LanguageModel) -> None:
    """A template into a class gives an instance of it, any other one attributes."""
    assert_type(lm("p", schemagen.Template("{name} {age}", Person)), Person)
    assert_type(lm.run("p", schemagen.Template("{name} {age}", Person)).value, Person)
    assert_type(lm("p", schemagen.Template("{name}", name=str)), Filled)
