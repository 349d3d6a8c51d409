"""Answers of the server are those of `LanguageModel`, streamed or not, whatever the request asks for."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

import schemagen
from schemagen.serve.requests import Harmless
from tests.serve.conftest import PERSON, WEATHER, as_format, chat_body, chunks_of, function, message_of

PROMPTS = ["Ada Lovelace, 36, London", "Grace Hopper, 85, New York", "Tom", "12 apples for Emmy Noether in Erlangen"]
TOOLS = [function("save_person", PERSON), function("get_weather", WEATHER)]


def chat(client, **more):
    """Return the body of a response with status 200."""
    response = client.post("/v1/chat/completions", json=chat_body(**more))
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("text", PROMPTS)
def test_an_answer_is_that_of_the_model(client, lm, text):
    """Text and usage are those of `LanguageModel.run` for the same messages."""
    expected = lm.run([{"role": "user", "content": text}], PERSON, max_new_tokens=80)
    found = chat(client, text=text, response_format=as_format(PERSON))
    assert found["choices"][0]["message"]["content"] == expected.text
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["usage"] == {
        "prompt_tokens": expected.prompt_tokens,
        "completion_tokens": expected.new_tokens,
        "total_tokens": expected.prompt_tokens + expected.new_tokens,
    }


def test_free_text_is_that_of_the_model(client, lm):
    """Without a constraint the text is what `generate_text` writes, and a budget that ends it is told."""
    found = chat(client, max_tokens=12)["choices"][0]
    assert found["message"]["content"].strip() == lm.generate_text(PROMPTS[0], max_new_tokens=12).strip()
    assert found["finish_reason"] == "length"


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_a_text_that_the_budget_closed_is_told(path, n, client):
    """A list that had no room to go on, and a text that the budget ends, alone and in a batch; one that ends itself is not."""
    ask = chat_body() if path == "chat/completions" else {"model": "any", "prompt": PROMPTS[0]}
    cases = [("[a-z]{30,}", 30, "length"), ("[a-z]{30,}b", 31, "length"), ("[a-z]{3}", 30, "stop")]
    for pattern, budget, reason in cases:
        # Nearly greedy: at a higher temperature a text may end itself in time.
        body = {**ask, "guided_regex": pattern, "max_tokens": budget, "n": n, "temperature": 0.001 * (n > 1)}
        choices = client.post(f"/v1/{path}", json=body).json()["choices"]
        assert [choice["finish_reason"] for choice in choices] == [reason] * n, choices


STREAMED = {
    "schema": {"response_format": as_format(PERSON)},
    "object": {"response_format": {"type": "json_object"}},
    "text": {"response_format": {"type": "text"}, "max_tokens": 12},
    "stop": {"stop": ["36", ", L"]},
    "pattern": {"guided_regex": "[A-Z][a-z]{1,9} é[0-9]{1,3}"},
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "auto": {"tools": TOOLS},
    "none": {"tools": TOOLS, "tool_choice": "none"},
    "named": {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
    "sampled": {"response_format": as_format(PERSON), "temperature": 1.3, "top_p": 0.9, "top_k": 40, "seed": 5},
}


@pytest.mark.parametrize("more", STREAMED.values(), ids=STREAMED)
def test_a_stream_says_what_the_whole_answer_does(client, more):
    """The deltas of a stream add up to the message, and its usage is the same."""
    whole = chat(client, **more)
    message = whole["choices"][0]["message"]
    response = client.post(
        "/v1/chat/completions", json=chat_body(**more, stream=True, stream_options={"include_usage": True})
    )
    chunks = chunks_of(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == whole["usage"]
    content, calls, reason = message_of(chunks)
    assert (content or None) == (message["content"] or None)
    assert calls == [call["function"] for call in message.get("tool_calls", ())]
    assert reason == whole["choices"][0]["finish_reason"]


def test_tools_are_called_as_asked(client):
    """A call has a tool's name and arguments of its schema; without one there are words."""
    schemas = {"save_person": PERSON, "get_weather": WEATHER}
    for choice, names, reason in [
        ("required", set(schemas), "tool_calls"),
        (None, set(schemas), "tool_calls"),
        ({"type": "function", "function": {"name": "get_weather"}}, {"get_weather"}, "stop"),
    ]:
        found = chat(client, tools=TOOLS, tool_choice=choice)["choices"][0]
        assert found["finish_reason"] == reason
        assert found["message"]["content"] is None
        for call in found["message"]["tool_calls"]:
            assert call["function"]["name"] in names
            assert call["id"]
            jsonschema.validate(json.loads(call["function"]["arguments"]), schemas[call["function"]["name"]])
    words = chat(client, tools=TOOLS, tool_choice="none")["choices"][0]
    assert "tool_calls" not in words["message"]
    assert words["message"]["content"]


def test_a_chat_goes_on_behind_a_call(client):
    """The message with a call and its result, as clients send them back, is a prompt like others."""
    called = chat(client, tools=TOOLS, tool_choice="required")["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "saved"}
    messages = [{"role": "developer", "content": "Be brief."}, *chat_body()["messages"], called, result]
    found = chat(client, messages=messages, tools=TOOLS, response_format=None)
    assert found["choices"][0]["finish_reason"] in {"stop", "tool_calls"}
    assert chat(client, messages=messages, response_format=as_format(PERSON))["usage"]["prompt_tokens"] > 40


GUIDED = {
    "json": ({"guided_json": {"enum": [17, 400]}}, r"17|400"),
    "json text": ({"guided_json": '{"type": "boolean"}'}, r"true|false"),
    "json false alternative": ({"guided_json": {"enum": [None]}}, r"null"),
    "regex": ({"guided_regex": "[a-c]{2,4}-[0-9]{2}"}, r"[a-c]{2,4}-[0-9]{2}"),
    "choice": ({"guided_choice": ["red", "green blue"]}, r"red|green blue"),
    "gbnf": ({"guided_grammar": 'root ::= "x" [0-9] "y"'}, r"x[0-9]y"),
    "outputs json": ({"structured_outputs": {"json": {"const": "é"}}}, r'"(é|\\u00[eE]9)"'),
    "outputs regex": ({"structured_outputs": {"regex": "a|b"}}, r"a|b"),
    "outputs choice": ({"structured_outputs": {"choice": ["yes", "no"]}}, r"yes|no"),
    "outputs object": ({"structured_outputs": {"json_object": True}}, r"\{[\s\S]*\}"),
    "outputs compact": (
        {"structured_outputs": {"json": PERSON, "disable_any_whitespace": True}},
        r'\{"name":"[\s\S]*","age":-?[0-9.E+-]+,"city":"[\s\S]*"\}',
    ),
    "outputs tag": (
        {
            "structured_outputs": {
                "structural_tag": json.dumps(
                    {
                        "type": "structural_tag",
                        "format": {
                            "type": "tag",
                            "begin": "<n>",
                            "content": {"type": "json_schema", "json_schema": {"type": "boolean"}},
                            "end": "</n>",
                        },
                    }
                )
            }
        },
        r"<n>(true|false)</n>",
    ),
    "response tag": (
        {"response_format": {"type": "structural_tag", "format": {"type": "const_string", "value": "fixed"}}},
        r"fixed",
    ),
}


@pytest.mark.parametrize("path", ["chat/completions", "completions"])
@pytest.mark.parametrize(("more", "pattern"), GUIDED.values(), ids=GUIDED)
def test_guided_fields_hold(client, path, more, pattern):
    """The constraint of each field of vLLM holds for chats and for completions."""
    body = chat_body(**more)
    if path == "completions":
        body["prompt"] = body.pop("messages")[0]["content"]
    response = client.post(f"/v1/{path}", json=body)
    assert response.status_code == 200, response.text
    choice = response.json()["choices"][0]
    text = choice["text"] if path == "completions" else choice["message"]["content"]
    assert re.fullmatch(pattern, text), text
    used = response.json()["usage"]["completion_tokens"]
    assert choice["finish_reason"] == "stop" or used > 70, "an object of any kind may go on to the end of the budget"


def test_a_rule_has_its_temperature(client):
    """A greedy request draws the text of a hot rule at random, with its seed; that of others is the likeliest."""
    grammar = "root ::= cold hot\ncold ::= [a-z]{6}\nhot[temperature=1000] ::= [a-z]{12}"
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": grammar}}
    found = [
        chat(client, structured_outputs={"structural_tag": json.dumps(tag)}, seed=seed)["choices"][0]["message"][
            "content"
        ]
        for seed in (1, 1, 2)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert len({text[:6] for text in found}) == 1


def test_a_lark_grammar_is_told_by_its_colons(client):
    """A grammar without ``::=`` is lark's."""
    pytest.importorskip("lark")
    found = chat(client, guided_grammar="start: /[ab]{2}/")
    assert re.fullmatch("[ab]{2}", found["choices"][0]["message"]["content"])


def test_several_texts_have_indices_and_seeds(client):
    """`n` answers come in order; a seed makes them the same again, and they differ from each other."""
    more = {"response_format": as_format(PERSON), "n": 4, "temperature": 1.5, "seed": 7}
    first, second = (chat(client, **more)["choices"] for _ in range(2))
    assert [choice["index"] for choice in first] == [0, 1, 2, 3]
    texts = [choice["message"]["content"] for choice in first]
    assert texts == [choice["message"]["content"] for choice in second]
    assert len(set(texts)) > 1
    response = client.post("/v1/chat/completions", json=chat_body(**more, stream=True))
    streamed = [""] * 4
    for chunk in chunks_of(response):
        for choice in chunk["choices"]:
            streamed[choice["index"]] += choice["delta"].get("content") or ""
    assert streamed == texts


def test_prompts_of_a_completion(client, lm):
    """A prompt is a text, tokens, or a list of either, read as it is; the indices count them all."""
    tokens = lm.tokenizer("Tom, 3", add_special_tokens=True)["input_ids"]
    bodies = ["Tom, 3", tokens, ["Tom, 3", "Ada"], [tokens, tokens]]
    found = [
        client.post("/v1/completions", json={"prompt": prompt, "max_tokens": 9, "guided_json": True}).json()
        for prompt in bodies
    ]
    texts = [[choice["text"] for choice in each["choices"]] for each in found]
    assert [len(each) for each in texts] == [1, 1, 2, 2]
    assert {texts[0][0], texts[1][0], texts[2][0], texts[3][0], texts[3][1]} == {texts[0][0]}
    assert found[2]["choices"][1]["index"] == 1


def test_harmless_fields_change_nothing(client):
    """Who asks, and where it is billed, is taken and has no effect."""
    more = {"response_format": as_format(PERSON), "frequency_penalty": 0, "logprobs": False, "modalities": ["text"]}
    plain = chat(client, response_format=as_format(PERSON))["choices"]
    others = {"store": True, "priority": 3, "metadata": {"x": "y"}, "prediction": {"type": "content", "content": "x"}}
    harmless = dict.fromkeys(Harmless.model_fields, "x") | others
    assert chat(client, **more, **harmless)["choices"] == plain


def test_the_shape_is_shown_unless_one_says_not_to(client, lm):
    """The extension leaves the schema out of the prompt."""
    hidden = chat(client, response_format=as_format(PERSON), schemagen={"show_schema": False})
    expected = lm.run(PROMPTS[0], PERSON, show_schema=False, max_new_tokens=80)
    assert hidden["usage"]["prompt_tokens"] == expected.prompt_tokens
    assert hidden["choices"][0]["message"]["content"] == expected.text


def test_a_trace_tells_masks_and_fields(client):
    """The chunks of a traced stream tell each token with what the mask allowed, and the fields when they are complete."""
    more = {"response_format": as_format(PERSON), "stream": True, "schemagen": {"trace": True}}
    chunks = chunks_of(client.post("/v1/chat/completions", json=chat_body(**more)))
    content, _, _ = message_of(chunks)
    told = [chunk["schemagen"] for chunk in chunks if "schemagen" in chunk]
    steps = [step for each in told for step in each.get("steps", ())]
    assert "".join(step["text"] for step in steps) == content
    grammar = schemagen.load_bundled().compile(PERSON)
    matcher = grammar.matcher()
    for index, step in enumerate(steps):
        allowed = matcher.allowed_tokens()
        assert step["allowed"] <= len(allowed)
        assert step["allowed"] == len(allowed) or index > 10  # the budget may shut longer ways later on
        matcher.accept_token(step["id"])
    assert any(step["forced"] for step in steps)
    fields = {field["path"]: field["value"] for each in told for field in each.get("fields", ())}
    assert fields == {f"/{key}": value for key, value in json.loads(content).items()}
    assert told[-1]["vocabulary"] == grammar.vocabulary.size
