"""`returns=`: an answer is calls, or a value of a type in place of free text, in every wire format."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

import schemagen
from schemagen.calling.answer_format import write_calls
from schemagen.errors import OptionError, ValidationFailed
from schemagen.events import CallCompleted, Completed, Delta, FieldCompleted, ReasoningDelta, StepStarted, TextDelta
from schemagen.lm import Reasoning
from tests.calling.conftest import Family
from tests.calling.graph_reader import GraphReader

pytestmark = pytest.mark.sampled(3)

THINK = Reasoning(200, begin="<think>\n", end="</think>\n\n")


class Weather(BaseModel):
    """The weather."""

    place: str
    degrees: int


PARIS = Weather(place='the "é" of Paris', degrees=21)
TEXT = PARIS.model_dump_json()


def get(city: str, days: int = 1) -> str:
    """Get the weather."""
    return f"{days} x 21 degrees in {city}"


def called(family, **arguments):
    """Return a call in the format of a family."""
    return write_calls(family.profile, [("get", json.dumps(arguments))])


def test_a_chat_ends_in_a_value(family):
    """The model calls, gets the result, and answers with an instance; the prompt shows its shape, and the messages do not."""
    lm = family.lm(called(family, city="Paris"), family.said(TEXT))
    chat = lm.chat("How warm is it?", [get], returns=Weather)
    assert (chat.value, chat.text) == (PARIS, TEXT)
    assert [result.value for result in chat.results] == ["1 x 21 degrees in Paris"]
    assert chat.messages[-1] == {"role": "assistant", "content": TEXT}
    assert all('"place": string' in prompt for prompt in lm.model.prompts)
    assert "place" not in json.dumps(chat.messages[:-1])


def test_an_answer_is_a_call_or_a_value(family):
    """The choice decides which; words are neither, so a model that wants words writes a value."""
    assert family.lm(family.said(TEXT)).call("x", [get], returns=Weather) == PARIS
    assert family.lm(called(family, city="Rome")).call("x", [get], returns=Weather).json == '{"city": "Rome"}'
    words = family.lm(family.said("It is warm in Paris.")).call("x", [get], returns=Weather, max_new_tokens=200)
    assert isinstance(words, (Weather, schemagen.ToolCall))
    lm = family.lm(family.said(TEXT))
    assert lm.call("x", [get], returns=Weather, tool_choice="required", max_new_tokens=300).name == "get"
    assert '"place": string' not in lm.model.prompts[0], "an answer that is never given has no shape"
    assert family.lm(family.said(TEXT)).call("x", [get], returns=Weather, tool_choice="none") == PARIS
    assert family.lm(family.said(TEXT)).call("x", [], returns=Weather) == PARIS
    two = family.lm(called(family, city="Rome")).call("x", [get], returns=Weather, parallel=True)
    assert [each.arguments.city for each in two] == ["Rome"]


def test_the_graph_accepts_calls_and_values_alone(family):
    """The mask and the reader take a call and a value, and neither words, a value after a call, nor two values."""
    grammar = family.lm().compile(Weather)
    wire = family.wire((get,), returns=grammar, parallel=True)
    call, value = called(family, city="Rome"), family.said(TEXT)
    for text, is_answer in [
        (value, True),
        (call, True),
        (family.said('{ "place": "x",\n "degrees": -3 }'), True),
        (family.said("Warm."), False),
        ("Warm. " + call, False),
        (call + value, False),
        (family.said(TEXT + TEXT), False),
        (value + value, False),
        (family.said('{"place": "x"}'), False),
        ("", False),
    ]:
        for matcher in (wire.graph.matcher(), GraphReader(wire.graph), wire.graph.reader()):
            taken = all(matcher.accept_token(token) for token in family.encode(text)) and matcher.is_accepting()
            assert taken == is_answer, (text, matcher)


def test_a_stream_has_the_fields_of_the_value(family):
    """Events of fields add up to the value, whole or behind thoughts."""
    said = written = family.said(TEXT)
    for marker in family.profile.markers if family.special else ():
        written = written.replace(marker, "")
    for line, more in [(said, {}), (f"Hm.</think>\n\n{said}", {"reasoning": THINK})]:
        stream = family.lm(line).stream_call("x", [get], returns=Weather, **more)
        events = list(stream)
        fields = {str(event.path): event.value for event in events if isinstance(event, FieldCompleted)}
        assert fields == {"/place": PARIS.place, "/degrees": 21}
        grown = [event.text for event in events if isinstance(event, Delta) and str(event.path) == "/place"]
        assert "".join(grown) == PARIS.place
        assert not any(isinstance(event, TextDelta) for event in events)
        assert isinstance(events[-1], Completed)
        assert events[-1].value == PARIS
        assert (stream.words, stream.text) == (TEXT, written)
        assert any(isinstance(event, ReasoningDelta) for event in events) == bool(more)


def test_a_streamed_chat_ends_in_a_value(family):
    """The events of a call, then those of the value, then the chat with it."""
    lines = [f"Hm.</think>\n\n{each}" for each in (called(family, city="Rome"), family.said(TEXT))]
    events = list(family.lm(*lines).stream_chat("x", [get], returns=Weather, reasoning=THINK))
    assert sum(isinstance(event, StepStarted) for event in events) == 2
    assert [event.call.json for event in events if isinstance(event, CallCompleted)] == ['{"city": "Rome"}']
    assert events[-1].value.value == PARIS
    assert [event.value for event in events if isinstance(event, FieldCompleted)] == [PARIS.place, 21]


def even(value: int) -> int:
    """Refuse odd numbers."""
    if value % 2:
        raise ValueError("must be even")
    return value


Even = Annotated[int, AfterValidator(even)]


class Count(BaseModel):
    """A number that only a validator checks."""

    number: Even


def test_a_refused_value_is_asked_again(hermes):
    """`retries` of a call, and the steps of a chat, tell the model why; then the error is raised."""
    lines = ('{"number": 3}', '{"number": 4}')
    lm = hermes.lm(*lines)
    assert lm.call("x", [get], returns=Count, retries=1) == Count(number=4)
    assert "must be even" in lm.model.prompts[1]
    with pytest.raises(ValidationFailed, match="must be even"):
        hermes.lm(*lines).call("x", [get], returns=Count)
    chat = hermes.lm(*lines).chat("x", [get], returns=Count)
    assert chat.value == Count(number=4)
    assert [message["role"] for message in chat.messages] == ["user", "assistant", "user", "assistant"]
    assert [*hermes.lm(*lines).stream_chat("x", [get], returns=Count)][-1].value.value == Count(number=4)
    with pytest.raises(ValidationFailed, match="must be even"):
        hermes.lm(*lines).chat("x", [get], returns=Count, max_steps=1)


def test_a_stream_raises_a_refused_field(hermes):
    """As in `stream`, the error comes with the field; the events before it were told."""
    seen = []
    with pytest.raises(ValidationFailed, match="must be even") as caught:
        seen += hermes.lm('{"number": 3}').stream_call("x", [get], returns=Count)
    assert caught.value.at == "/number"


@pytest.mark.parametrize("name", ["llama", "plain"])
def test_a_call_wins_over_a_value_with_the_same_text(name):
    """Without markers a value can spell a call: then it is one. A value that only begins like one is a value."""
    family = Family(name, special=False)
    call = called(family, city="Rome")
    found = family.lm(call).call("x", [get], returns=dict[str, Any])
    assert isinstance(found, schemagen.ToolCall)
    for text in ('{"name": "get"}', call[:-1] + ', "more": 1}', call.replace("get", "got"), '{"city": "Rome"}'):
        assert family.lm(text).call("x", [get], returns=dict[str, Any]) == json.loads(text), text
    events = list(family.lm(call).stream_call("x", [get], returns=dict[str, Any]))
    assert [event.call.json for event in events if isinstance(event, CallCompleted)] == ['{"city": "Rome"}']
    assert not any(isinstance(event, (FieldCompleted, Delta)) for event in events), "no event is taken back"
    with_marker = Family("hermes", special=False)
    assert with_marker.lm(call).call("x", [get], returns=dict[str, Any]) == json.loads(call)


def test_other_specs(family):
    """A choice and a pattern are specs, too; their whitespace is kept."""
    assert family.lm(family.said("warm")).call("x", [get], returns=schemagen.Choice(["warm", "cold"])) == "warm"
    assert family.lm(family.said(" 21 ")).chat("x", [get], returns=schemagen.Regex(" [0-9]{2} ")).value == " 21 "
    assert family.lm(family.said("[1, 2]")).chat("x", [get], returns=list[int]).value == [1, 2]
    assert family.lm(family.said("Warm.")).chat("x", [get]).value == "Warm."


def test_grammars_over_tokens_are_refused(hermes):
    """An answer beside calls is read byte by byte, which such a grammar cannot be."""
    with pytest.raises(OptionError, match="names or counts tokens"):
        hermes.lm().call("x", [get], returns=schemagen.text.text_tokens(1, 3))


def test_async(hermes):
    """The async forms take it, too."""
    import asyncio

    async def main():
        assert await hermes.lm(TEXT).acall("x", [get], returns=Weather) == PARIS
        assert (await hermes.lm(TEXT).achat("x", [get], returns=Weather)).value == PARIS
        events = [event async for event in hermes.lm(TEXT).astream_call("x", [get], returns=Weather)]
        assert events[-1].value == PARIS
        events = [event async for event in hermes.lm(TEXT).astream_chat("x", [get], returns=Weather)]
        assert events[-1].value.value == PARIS

    asyncio.run(main())
