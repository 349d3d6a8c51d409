"""Deltas and items of answers that hold everything, in every wire format; what a request of each API means; its thoughts."""

from __future__ import annotations

import json

import pytest

from schemagen.calling.answer_format import write_calls
from schemagen.calling.request import CallForm, CallRequest, resolve
from schemagen.lm import Reasoning
from schemagen.prompts.messages import as_messages
from schemagen.request.settings import Settings, reasoning_format
from schemagen.serve.errors import RequestError
from schemagen.serve.readers import CallReader, joined
from schemagen.serve.requests import ChatRequest, read_body
from schemagen.serve.response_items import ResponseShape
from schemagen.serve.response_requests import ResponsesRequest
from schemagen.serve.shapes import Usage
from tests.calling.conftest import FAMILIES, Family
from tests.serve.conftest import PERSON, WEATHER, as_format, chat_body, chunks_of, function, message_of

THINK = Reasoning(200, begin="<think>\n", end="</think>\n\n")
CALLS = [("get_weather", {"place": 'Pa}ris; " <'}), ("save", {"name": "Ada", "age": 36, "city": "[x"})]
TOOLS = [function("get_weather", WEATHER), function("save", PERSON)]
USAGE = Usage(3, 9, 4)


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda f: f"{f[0]}-{'special' if f[1] else 'text'}")
def family(request):
    """Every family."""
    name, special = request.param
    return Family(name, special=special)


def deltas_of(family, line, *, thinks, returns=None):
    """Return the deltas of an answer that was written in single tokens, and its finish reason."""
    lm = family.lm()
    thinker = reasoning_format(lm, THINK) if thinks else None
    form = CallForm.of(lm, TOOLS, parallel=True, profile=family.profile, returns=returns)
    request = CallRequest.of(Settings(lm, {}, thinker), form, as_messages("x"), resolve(form.tools, "auto"))
    reader, found = CallReader(request), []
    for token in family.encode(("Hm, <é>.</think>\n\n" if thinks else "") + line):
        found += reader.feed([token])
    rest, reason = reader.end("stop")
    assert (reader.reasoning_tokens is not None) == thinks
    return found + rest, reason


def events_of(deltas, reason):
    """Return the events of a streamed response, and the response that is not streamed."""
    given = read_body(json.dumps({"input": "x"}).encode(), ResponsesRequest)
    streamed, whole = ResponseShape(given, "m"), ResponseShape(given, "m")
    written = [*streamed.opening(1)]
    for delta in deltas:
        written += streamed.step(0, delta)
    written += [*streamed.step(0, {}, reason), *streamed.closing(USAGE)]
    events = [json.loads(each.split(b"data: ", 1)[1]) for each in written]
    assert [each.split(b"\n", 1)[0].decode() for each in written] == [f"event: {event['type']}" for event in events]
    return events, whole.body([(deltas, reason)], USAGE)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("thinks", [False, True])
def test_several_calls_are_streamed_one_by_one(family, thinks):
    """Each call has an id and a name, then its arguments in pieces; a response has an item for each, in order."""
    wanted = [*family.fitting(*CALLS)]
    line = write_calls(family.profile, [(name, json.dumps(arguments)) for name, arguments in wanted])
    deltas, reason = deltas_of(family, line, thinks=thinks)
    message = joined(deltas)
    calls = [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message["tool_calls"]]
    assert (calls, reason) == (wanted, "tool_calls")
    assert message.get("reasoning") == message.get("reasoning_content") == ("Hm, <é>." if thinks else None)
    order = [part["index"] for delta in deltas for part in delta.get("tool_calls", ())]
    assert order == sorted(order)
    if family.profile.arguments == "json":
        assert order.count(len(wanted) - 1) > 4, "arguments come in pieces"
    events, whole = events_of(deltas, reason)
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.completed"
    assert [item["type"] for item in final["output"]] == ["reasoning"] * thinks + ["function_call"] * len(wanted)
    assert [each["call_id"] for each in final["output"][thinks:]] == [call["id"] for call in message["tool_calls"]]
    assert without_ids(final) == without_ids(whole)
    for index, (name, arguments) in enumerate(wanted, start=int(thinks)):
        own = [event for event in events if event.get("output_index") == index]
        assert own[0]["item"]["name"] == own[-1]["item"]["name"] == own[-2]["name"] == name
        pieces = "".join(each["delta"] for each in own if each["type"].endswith("arguments.delta"))
        assert json.loads(pieces) == arguments
        assert pieces == own[-2]["arguments"] == own[-1]["item"]["arguments"]


def without_ids(response):
    """Return a response without what is made up anew."""
    output = [{key: value for key, value in item.items() if key != "id"} for item in response["output"]]
    return {**response, "id": "", "created_at": 0, "output": output}


def test_text_between_calls_is_an_item_of_its_own():
    """Words, a call, words: three items, whatever was open before."""
    family = Family("hermes", special=True)
    call = write_calls(family.profile, [("get_weather", '{"place": "x"}')])
    deltas, reason = deltas_of(family, f"One.\n{call}\nTwo.", thinks=True)
    _, whole = events_of(deltas, reason)
    assert [item["type"] for item in whole["output"]] == ["reasoning", "message", "function_call", "message"]
    assert whole["usage"]["output_tokens_details"] == {"reasoning_tokens": 4}


@pytest.mark.sampled(2)
def test_a_value_is_the_content(family):
    """A typed answer is content, as it was written; a budget that closed it makes the response incomplete."""
    text = json.dumps({"place": 'é "x"'})
    deltas, reason = deltas_of(family, family.said(text), thinks=True, returns=family.lm().compile(WEATHER))
    assert (joined(deltas)["content"], reason) == (text, "stop")
    assert sum("content" in delta for delta in deltas) > 4, "it comes in pieces"
    events, whole = events_of(deltas, "length")
    assert whole["output"][-1]["content"][0]["text"] == text
    assert (events[-1]["type"], whole["incomplete_details"]) == ("response.incomplete", {"reason": "max_output_tokens"})


def test_an_error_in_a_stream_is_an_event():
    """It names the fields of this API, in the places where clients look for them."""
    given = read_body(json.dumps({"input": "x"}).encode(), ResponsesRequest)
    written = ResponseShape(given, "m").failure(RequestError("max_tokens=5", param="max_tokens", code="c"))
    told = json.loads(written.split(b"data: ", 1)[1])
    assert (told["type"], told["code"], told["param"]) == ("error", "c", "max_output_tokens")
    assert told["message"] == told["error"]["message"] == "max_output_tokens=5"


def test_a_response_asks_for_a_chat():
    """Items become messages, flat fields nested ones; calls join the message before them."""
    given = {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "c", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "1",
                "name": "f",
                "arguments": "{}",
                "status": "completed",
            },
            {"type": "function_call", "call_id": "2", "name": "g", "arguments": '{"x": 1}'},
            {"role": "assistant", "content": "!"},
            {"type": "function_call_output", "call_id": "2", "output": "d"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "e"}]},
            {"role": "developer", "content": "f"},
        ],
        "text": {
            "format": {"type": "json_schema", "name": "n", "schema": WEATHER, "strict": True},
            "verbosity": "medium",
        },
        "tools": [{"type": "function", "name": "f", "parameters": WEATHER, "strict": True}],
        "tool_choice": {"type": "function", "name": "f"},
        "parallel_tool_calls": False,
        "max_output_tokens": 7,
        "temperature": 0.5,
        "reasoning": {"effort": "high"},
        "store": False,
        "stream": True,
    }
    chat = read_body(json.dumps(given).encode(), ResponsesRequest).chat
    called = [
        {"id": "1", "function": {"name": "f", "arguments": "{}"}},
        {"id": "2", "function": {"name": "g", "arguments": '{"x": 1}'}},
    ]
    expected = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "a\nb"},
            {"role": "assistant", "content": "c!", "tool_calls": called},
            {"role": "tool", "tool_call_id": "2", "content": "d"},
            {"role": "tool", "tool_call_id": "1", "content": "e"},
            {"role": "developer", "content": "f"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": WEATHER, "strict": True, "description": None},
        },
        "tools": [{"type": "function", "function": {"name": "f", "parameters": WEATHER, "strict": True}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": False,
        "max_completion_tokens": 7,
        "temperature": 0.5,
        "reasoning_effort": "high",
        "stream": True,
    }
    assert chat == ChatRequest.model_validate({**expected, "schemagen": chat.extension})
    assert chat.reasoning == 2048


def test_a_response_is_the_answer_to_its_chat(client):
    """The same request through both APIs gives the same text, calls and counts, and a conversation goes on with its items."""
    for more, flat in [
        (
            {"response_format": as_format(PERSON)},
            {"text": {"format": {"type": "json_schema", "name": "x", "schema": PERSON}}},
        ),
        ({"tools": TOOLS, "tool_choice": "required"}, {"tool_choice": "required"}),
        ({"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
        ({}, {"instructions": None}),
    ]:
        if "tools" in more:
            flat["tools"] = [{"type": "function", **tool["function"]} for tool in TOOLS]
        chat = client.post("/v1/chat/completions", json=chat_body(**more)).json()
        body = {"input": chat_body()["messages"], "max_output_tokens": 80, **flat}
        found = client.post("/v1/responses", json=body).json()
        message = chat["choices"][0]["message"]
        texts = [part["text"] for item in found["output"] if item["type"] == "message" for part in item["content"]]
        assert "".join(texts) == (message["content"] or "")
        calls = [(item["name"], item["arguments"]) for item in found["output"] if item["type"] == "function_call"]
        assert calls == [
            (each["function"]["name"], each["function"]["arguments"]) for each in message.get("tool_calls", ())
        ]
        assert found["usage"]["output_tokens"] == chat["usage"]["completion_tokens"]
        assert found["usage"]["input_tokens"] == chat["usage"]["prompt_tokens"]
        results = [{"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
                   for item in found["output"] if "call_id" in item]  # fmt: skip
        more_input = [*body["input"], *found["output"], *results, {"role": "user", "content": "Thanks"}]
        again = client.post("/v1/responses", json={**body, "input": more_input, "tool_choice": "auto"})
        assert again.status_code == 200, again.text


def test_thoughts_of_a_format_of_ones_own(client, lm):
    """A model without markers of its own thinks in those of the request, before text, a value or a call, as in Python."""
    own = {"begin": "Think: ", "end": "\nSo: ", "max_tokens": 9}
    expected = lm.run(chat_body()["messages"], PERSON, reasoning=Reasoning(9, "Think: ", "\nSo: "), max_new_tokens=80)
    ask = {"schemagen": {"reasoning": own}}
    found = client.post("/v1/chat/completions", json=chat_body(response_format=as_format(PERSON), **ask)).json()
    message = found["choices"][0]["message"]
    assert (message["content"], message["reasoning"].strip()) == (expected.text, expected.reasoning)
    assert found["usage"]["completion_tokens_details"] == {"reasoning_tokens": expected.reasoning_tokens}
    assert found["usage"]["prompt_tokens"] == expected.prompt_tokens
    whole = client.post("/v1/chat/completions", json=chat_body(**ask)).json()["choices"][0]["message"]
    assert {"reasoning", "reasoning_content", "content"} <= set(whole)
    streamed = chunks_of(client.post("/v1/chat/completions", json=chat_body(**ask, stream=True)))
    assert message_of(streamed)[0] == (whole["content"] or "")
    said = [choice["delta"].get("reasoning") or "" for chunk in streamed for choice in chunk["choices"]]
    assert "".join(said) == whole["reasoning"]
    several = client.post("/v1/chat/completions", json=chat_body(**ask, n=2, temperature=1.0, seed=3)).json()
    assert all(choice["message"]["reasoning"] for choice in several["choices"])
    refused = client.post("/v1/completions", json={"prompt": "x", **ask})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unsupported")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, False),
        ({"reasoning_effort": "none"}, 0),
        ({"reasoning_effort": "medium"}, 1024),
        ({"chat_template_kwargs": {"enable_thinking": True}}, True),
        ({"chat_template_kwargs": {"thinking": False}}, False),
        ({"schemagen": {"reasoning": 50}, "reasoning_effort": "high"}, 50),
        ({"schemagen": {"reasoning": {"end": "x"}}}, Reasoning(1024, "", "x")),
        ({"schemagen": {"reasoning": True}, "chat_template_kwargs": {"enable_thinking": True}}, True),
    ],
)
def test_fields_that_ask_for_thoughts(given, expected):
    """The extension says most, then the effort, then the switches of templates."""
    found = read_body(json.dumps(chat_body(**given)).encode(), ChatRequest).reasoning
    assert (found, type(found)) == (expected, type(expected))


# --- drafts ------------------------------------------------------------------------------------------------------------

FLAG = as_format({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})


@pytest.mark.parametrize(
    "draft", [True, 12, {"max_tokens": 9, "prompt": "Think.", "answer": "Answer!", "temperature": 0.5}]
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_draft_is_the_reasoning_of_a_message(client, draft, stream):
    """The server takes what `draft=` takes; the draft arrives where thoughts do, and the content is the instance."""
    body = chat_body(max_tokens=200, response_format=FLAG, stream=stream, schemagen={"draft": draft})
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    if stream:
        message = joined([choice["delta"] for chunk in chunks_of(response) for choice in chunk["choices"]])
    else:
        message = response.json()["choices"][0]["message"]
        assert response.json()["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
    assert isinstance(json.loads(message["content"])["ok"], bool)
    assert isinstance(message.get("reasoning_content", ""), str)


@pytest.mark.parametrize("options", [{"loop_guard": True}, {"prefer_length": 12}])
def test_answers_come_to_an_end(client, lm, options):
    """The server takes the options of `brevity`, and answers as the library does."""
    schema = {"type": "array", "items": {"type": "integer"}}
    body = chat_body("Ada, 36, lives in Paris", max_tokens=120, response_format=as_format(schema), schemagen=options)
    found = client.post("/v1/chat/completions", json=body).json()
    expected = lm.run(body["messages"], schema, max_new_tokens=120, **options)
    assert found["choices"][0]["message"]["content"] == expected.text
    assert found["usage"]["completion_tokens"] < 120


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"schemagen": {"draft": 0}}, "draft"),
        ({"schemagen": {"draft": {"answer": " "}}}, "answer"),
        ({"schemagen": {"draft": True, "reasoning": {"end": "x"}}}, "beside"),
        ({"schemagen": {"draft": True}, "stop": "x"}, "stop"),
        ({"schemagen": {"draft": {"best_of": 2}}}, "best_of"),
        ({"schemagen": {"draft": True, "prefer_length": 20}}, "prefer_length"),
        ({"schemagen": {"prefer_length": 0}}, "prefer_length"),
    ],
    ids=str,
)
def test_wrong_drafts_are_refused(client, asked, said):
    """With 400, and a message that names the field."""
    response = client.post("/v1/chat/completions", json=chat_body(response_format=FLAG, **asked))
    assert response.status_code == 400
    assert said in response.text
