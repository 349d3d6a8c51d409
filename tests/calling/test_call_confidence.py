"""How sure a model was of its calls: the fields are where the wire format has them, their numbers are those of one pass."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import BaseModel

import schemagen
from schemagen.calling.answer_format import write_calls
from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.request import CallForm, CallRequest, resolve
from schemagen.decode.generate import Decoded
from schemagen.decode.token_records import TokenRecord, records_of
from schemagen.events import Completed
from schemagen.lm import Reasoning
from schemagen.prompts.messages import as_messages
from schemagen.request.settings import Settings, reasoning_format
from tests.calling.conftest import get_weather
from tests.models import one_thread

THINK = Reasoning(200, begin="<think>\n", end="</think>\n\n")


def place_order(customer: str, items: list[str], paid: bool) -> None:
    """Order some items."""
    if customer == "Nobody":
        raise ValueError(items, paid)


#: They write the name into the id of the call.
NAMELESS = ("kimi",)
CALLS = [
    ("get_weather", {"city": 'Pé}ris "x', "unit": "f", "days": 2}),
    ("place_order", {"customer": "Ada, €", "items": ["a b", "ç"], "paid": True}),
]


def confidence_of(family, text, *, thinks=False, returns=None):
    """Return the confidence of a written answer, whose tokens have different probabilities, and its request."""
    lm = family.lm()
    form = CallForm.of(lm, [get_weather, place_order], parallel=True, profile=family.profile, returns=returns)
    thinker = reasoning_format(lm, THINK) if thinks else None
    request = CallRequest.of(Settings(lm, {}, thinker), form, as_messages("x"), resolve(form.tools, "auto"))
    token_ids = family.encode(("Hm, <é>.</think>\n\n" if thinks else "") + text)
    records = tuple(TokenRecord(token, -1.0 / (place + 2), 0.0) for place, token in enumerate(token_ids))
    return request.confidence(Decoded(text, tuple(token_ids), 1, 0.0, None, records=records)), request


def holds(confidence, path, text):
    """Whether a field has a text, and the tokens that write it and no others."""
    found = confidence[path]
    pieces = confidence.pieces[found.first : found.first + len(found.tokens)]
    assert tuple(confidence.tokens[found.first : found.first + len(found.tokens)]) == found.tokens
    assert found.text in "".join(pieces), path
    if len(pieces) > 1:
        assert found.text not in "".join(pieces[1:]), path
        assert found.text not in "".join(pieces[:-1]), path
    assert text in (None, found.text), path


@pytest.mark.parametrize("thinks", [False, True])
def test_the_fields_of_calls(family, thinks):
    """In every wire format: names, arguments, and what is inside of them as far as the format has places for it."""
    wanted = family.fitting(*CALLS)
    line = write_calls(family.profile, [(name, json.dumps(given, ensure_ascii=False)) for name, given in wanted])
    confidence, request = confidence_of(family, line, thinks=thinks)
    assert confidence[""].text == "".join(confidence.pieces)
    assert "Hm" not in confidence[""].text
    for index, (name, given) in enumerate(wanted):
        assert (f"/{index}/name" in confidence) == (family.profile.name not in NAMELESS)
        if f"/{index}/name" in confidence:
            holds(confidence, f"/{index}/name", name)
        holds(confidence, f"/{index}/arguments", None)
        holds(confidence, f"/{index}", None)
        inner = [path for path in confidence if path.startswith(f"/{index}/arguments/")]
        if request.wire.profile.arguments == "python":
            assert inner == []
            continue
        for key, value in given.items():
            text = confidence[f"/{index}/arguments/{key}"].text
            holds(confidence, f"/{index}/arguments/{key}", text)
            if request.wire.profile.arguments == "json":
                assert json.loads(text) == value
            else:
                assert text.strip() == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        listed = [f"/{index}/arguments/items/{place}" for place in range(2) if "items" in given]
        assert all(path in confidence for path in listed) == (request.wire.profile.arguments == "json" or not listed)
        own = confidence.within(f"/{index}")
        assert own is not None
        assert own[""].tokens == confidence[f"/{index}"].tokens
        assert own["/arguments"].text == confidence[f"/{index}/arguments"].text
        holds(own, "/arguments", None)
        assert "".join(own.pieces).find(own["/arguments"].text) >= 0


def test_a_typed_answer_has_its_fields(family):
    """They are those of its type; words have none."""
    text = '{"name": "Adé", "age": 36}'
    returns = family.lm().compile(
        {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    )
    confidence, _ = confidence_of(family, family.said(text), thinks=True, returns=returns)
    assert [*confidence] == ["", "/name", "/age"]
    holds(confidence, "/name", '"Adé"')
    holds(confidence, "/age", "36")
    confidence, _ = confidence_of(family, family.said("Hello."))
    assert [*confidence] == [""]


@pytest.fixture(scope="module")
def lm():
    """The bundled model."""
    with one_thread():
        yield schemagen.load_bundled()


class Answer(BaseModel):
    """An answer without a call."""

    city: str


def oracle(lm, request, token_ids, path, confidence):
    """Return the log-probability of a field, by one pass over the whole text."""
    prompt = request.prepare().token_ids
    records = records_of(lm.model, prompt, token_ids, request.constraint, 80)
    field = confidence[path]
    return sum(record.log_probability for record in records[field.first : field.first + len(field.tokens)])


@pytest.mark.parametrize("parallel", [False, True])
def test_front_doors(lm, parallel):
    """`call`, `stream_call` and `chat` record it on request, for the generation and for each call."""
    ask = {"tool_choice": "required", "parallel": parallel, "max_new_tokens": 80}
    tools = [get_weather, place_order]
    found = lm.call("The weather in Paris?", tools, confidence=True, **ask)
    call = found[0] if parallel else found
    with lm.stream_call("The weather in Paris?", tools, confidence=True, **ask) as stream:
        (last,) = [event for event in stream if isinstance(event, Completed)]
    whole = last.generation.confidence
    streamed = last.value[0] if parallel else last.value
    assert (streamed.json, [*streamed.confidence]) == (call.json, [*call.confidence])
    form = CallForm.of(lm, tools, parallel=parallel, profile=None)
    choice = resolve(form.tools, "required")
    request = CallRequest.of(Settings(lm, {}), form, as_messages("The weather in Paris?"), choice)
    for path, field in call.confidence.items():
        expected = oracle(lm, request, last.generation.token_ids, f"/0{path}", whole)
        assert field.log_probability == pytest.approx(expected, abs=5e-3), path
        assert whole[f"/0{path}"].log_probability == pytest.approx(expected, abs=5e-3), path
    for field in call.confidence.values():
        assert call.confidence[""].log_probability <= field.log_probability + 1e-9
    assert whole.explain("/0/name").startswith(f"/0/name = {call.name}")
    for key, value in json.loads(call.json).items():
        assert json.loads(call.confidence[f"/arguments/{key}"].text) == value
    plain = lm.call("The weather in Paris?", tools, **ask)
    first = plain[0] if parallel else plain
    assert first.confidence is None
    assert replace(first, id=call.id) == call, "it is no part of the value"


def test_chats(lm):
    """The calls that a chat has run know it, those that were refused, too; so does the answer of a stream."""
    chat = lm.chat(
        "The weather in Paris?", [get_weather], confidence=True, tool_choice="required", max_steps=2, max_new_tokens=60
    )
    (result,) = chat.results
    assert "/arguments/city" in result.call.confidence
    events = [
        *lm.stream_chat(
            "The weather in Paris?", [get_weather], confidence=True, tool_choice="required", max_steps=2,
            max_new_tokens=60, returns=Answer,
        )
    ]  # fmt: skip
    assert [*events[-1].generation.confidence] == ["", "/city"]
    assert all("/arguments/city" in result.call.confidence for result in events[-1].value.results)


def test_a_refused_call_knows_it(lm):
    """A result with the reasons has the call, and the call its confidence."""
    from pydantic import Field, field_validator

    class Order(BaseModel):
        """Order."""

        count: int = Field(ge=0, le=9)

        @field_validator("count")
        @classmethod
        def _refuse(cls, value):
            raise ValueError(f"not {value}")

    form = CallForm.of(lm, [Order], parallel=False, profile=None, strict=False)
    request = CallRequest.of(
        Settings(lm, {"max_new_tokens": 60}, confidence=True),
        form,
        as_messages("Order 3"),
        resolve(form.tools, "required"),
    )
    (found,) = request.attempted().value.found
    assert isinstance(found, ToolResult)
    assert isinstance(found.call, ToolCall)
    assert "/arguments/count" in found.call.confidence
