"""What the server does not do is refused with a status, a code and the field, in the form of OpenAI; and it goes on."""

from __future__ import annotations

import json
import random
import re
import threading

import pytest
from fastapi.testclient import TestClient

from schemagen.errors import OptionError
from schemagen.serve import ServerLimits, create_app
from schemagen.serve.run import Address
from tests.serve.conftest import PERSON, as_format, chat_body, function

pytestmark = pytest.mark.sampled(2)

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is refused
INTEGER = {"type": "integer"}
DEEP = INTEGER
for _ in range(300):
    DEEP = {"allOf": [DEEP]}
#: Alternatives that share a key are multiplied.
PRODUCT = {
    "type": "object",
    "allOf": [{"oneOf": [{"required": [f"k{i}{j}", "shared"]} for j in range(4)]} for i in range(12)],
}

#: What only a caller from Python can write.
OF_PYTHON = re.compile(
    r"\b[a-z_]+=(False|True|None|'|\[|\{|\.\.\.)|\blm\.|\bschemagen\.(?!reasoning|trace)|Limits\(|max_new_tokens"
)
FUNCTION = "tools.0.function"


def called(arguments):
    """Return a call in a message."""
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


#: What is added to a good request -> status, code, and the field that is named.
REFUSED = {
    "logprobs of the prompt": ({"prompt_logprobs": 1}, 400, "unsupported", "prompt_logprobs"),
    "likeliest alone": ({"top_logprobs": 2}, 400, "invalid-field", "top_logprobs"),
    "likeliest of tokens not wanted": ({"logprobs": False, "top_logprobs": 2}, 400, "invalid-field", "top_logprobs"),
    "too many likeliest": ({"logprobs": True, "top_logprobs": 21}, 400, "invalid-field", "top_logprobs"),
    "a number of logprobs": ({"logprobs": 2}, 400, "invalid-field", "logprobs"),
    "penalty": ({"frequency_penalty": 0.5}, 400, "unsupported", "frequency_penalty"),
    "bias": ({"logit_bias": {"5": 1}}, 400, "unsupported", "logit_bias"),
    "functions": ({"functions": []}, 400, "unsupported", "functions"),
    "unknown": ({"temperatures": 1}, 400, "unknown-field", "temperatures"),
    "unknown inside": ({"stream_options": {"usage": True}}, 400, "unknown-field", "stream_options.usage"),
    "too many tokens": ({"max_tokens": 10**6}, 400, "too-many-tokens", "max_tokens"),
    "no tokens": ({"max_tokens": 0}, 400, "invalid-field", "max_tokens"),
    "budget": ({"max_tokens": 3, "guided_json": PERSON}, 400, "budget-exhausted", None),
    "too long an array": ({"guided_json": {"type": "array", "minItems": 10**5}}, 400, "budget-exhausted", None),
    "invalid": ({"guided_json": {"type": "integr"}}, 400, "invalid-schema", "guided_json"),
    "no schema": ({"guided_json": [1, 2]}, 400, "invalid-field", "guided_json"),
    "half a schema": ({"guided_json": '{"type":'}, 400, "invalid-field", "guided_json"),
    "a number": ({"guided_json": 5}, 400, "invalid-field", "guided_json"),
    "unsatisfiable": (
        {"response_format": as_format({"type": "integer", "minimum": 3, "maximum": 2})},
        400,
        "unsatisfiable-schema",
        "response_format.json_schema.schema",
    ),
    "without its schema": (
        {"response_format": {"type": "json_schema"}},
        400,
        "invalid-field",
        "response_format.json_schema",
    ),
    "a schema that is none": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": [1]}}},
        400,
        "invalid-field",
        "response_format.json_schema.schema",
    ),
    "a schema of any object": (
        {"response_format": {"type": "json_object", "schema": INTEGER}},
        400,
        "unknown-field",
        "response_format.schema",
    ),
    "not regular": ({"guided_regex": r"(a)\1"}, 400, "unsupported-pattern", "guided_regex"),
    "half a pattern": ({"guided_regex": "("}, 400, "invalid-pattern", "guided_regex"),
    "half a grammar": ({"guided_grammar": 'root ::= "a'}, 400, "invalid-grammar", "guided_grammar"),
    "no choices": ({"guided_choice": []}, 400, None, None),
    "half a tag": ({"structured_outputs": {"structural_tag": "{"}}, 400, "invalid-grammar", None),
    "deep": ({"guided_json": DEEP}, 400, None, None),
    "product": ({"guided_json": PRODUCT}, 400, "limit-reached", "guided_json"),
    "elsewhere": (
        {"guided_json": {"$ref": "https://example.org/s.json"}},
        400,
        "unresolvable-reference",
        "guided_json",
    ),
    "two": ({"guided_json": INTEGER, "guided_regex": "a"}, 400, "several-constraints", "guided_regex"),
    "stop": ({"guided_json": INTEGER, "stop": "3"}, 400, "unsupported", "stop"),
    "tokens beside tools": (
        {"guided_grammar": 'root ::= "a" <[5]>', "tools": [function("f", PERSON)]},
        400,
        "invalid-option",
        None,
    ),
    "stop beside thoughts": (
        {"schemagen": {"reasoning": {"end": "</t>"}}, "stop": "x"},
        400,
        "unsupported",
        "stop",
    ),
    "no thoughts": ({"reasoning_effort": "low"}, 400, "invalid-option", "reasoning"),
    "no such effort": ({"reasoning_effort": "extreme"}, 400, "invalid-field", "reasoning_effort"),
    "a switch": ({"chat_template_kwargs": {"tone": "x"}}, 400, "unknown-field", "chat_template_kwargs.tone"),
    "thoughts or not": (
        {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}},
        400,
        "several-constraints",
        "chat_template_kwargs.enable_thinking",
    ),
    "half a format": ({"schemagen": {"reasoning": {"begin": "x"}}}, 400, "invalid-option", None),
    "a long format": (
        {"schemagen": {"reasoning": {"end": "x" * 201}}},
        400,
        "invalid-field",
        "schemagen.reasoning.end",
    ),
    "no room for thoughts": (
        {"schemagen": {"reasoning": {"end": "</thoughts of mine>"}}, "max_tokens": 5},
        400,
        "budget-exhausted",
        None,
    ),
    "named tool": (
        {"tools": [function("f", PERSON)], "tool_choice": {"type": "function", "function": {"name": "g"}}},
        400,
        "tool-error",
        None,
    ),
    "no tools": ({"tools": [], "tool_choice": "required"}, 400, None, None),
    "a tool without name": (
        {"tools": [{"type": "function", "function": {}}]},
        400,
        "invalid-field",
        FUNCTION + ".name",
    ),
    "another tool": ({"tools": [{"type": "web_search"}]}, 400, "invalid-field", "tools.0.type"),
    "a tool's name": ({"tools": [function("a b", PERSON)]}, 400, "invalid-field", FUNCTION + ".name"),
    "parameters": ({"tools": [function("f", "x")]}, 400, "invalid-field", FUNCTION + ".parameters"),
    "no parameters": ({"tools": [function("f", True)]}, 400, "invalid-field", FUNCTION + ".parameters"),
    "a list of parameters": ({"tools": [function("f", [1])]}, 400, "invalid-field", FUNCTION + ".parameters"),
    "an id": (
        {"messages": [{"role": "tool", "content": "x", "tool_call_id": []}]},
        400,
        "invalid-field",
        "messages.0.tool_call_id",
    ),
    "arguments": (
        {"messages": [{"role": "assistant", "tool_calls": [called("[1]")]}]},
        400,
        "invalid-field",
        "messages.0.tool_calls.0.function.arguments",
    ),
    "deep arguments": (
        {"messages": [{"role": "assistant", "tool_calls": [called('{"a":' + "[" * 900 + "]" * 900 + "}")]}]},
        400,
        "invalid-field",
        "messages.0.tool_calls.0.function.arguments",
    ),
    "half a text": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
        400,
        "invalid-field",
        "messages.0.content.0.text",
    ),
    "harmless": ({"user": 5}, 400, "invalid-field", "user"),
    "a tool that is none": ({"tools": [function("f", {"type": "integer"})]}, 400, None, None),
    "a hostile tool": ({"tools": [function("f", PRODUCT)]}, 400, "limit-reached", None),
    "many": ({"n": 17, "temperature": 1}, 400, "too-many", "n"),
    "no messages": ({"messages": []}, 400, "empty-prompt", None),
    "no role": ({"messages": [{"content": "x"}]}, 400, "invalid-field", "messages.0.role"),
    "picture": (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        400,
        "invalid-prompt",
        "messages",
    ),
    "calls that are none": (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": 1}]}]},
        400,
        "invalid-field",
        "messages.0.tool_calls.0.id",
    ),
    "too long": ({"messages": [{"role": "user", "content": "word " * 3000}]}, 400, "budget-exhausted", None),
    "wrong type": ({"messages": "x"}, 400, "invalid-field", "messages"),
}


#: The same for ``/v1/responses``.
REFUSED_RESPONSES = {
    "store": ({"store": True}, "unsupported", "store"),
    "a response before": ({"previous_response_id": "resp_1"}, "unsupported", "previous_response_id"),
    "conversation": ({"conversation": "conv_1"}, "unsupported", "conversation"),
    "background": ({"background": True}, "unsupported", "background"),
    "include": ({"include": ["reasoning.encrypted_content"]}, "unsupported", "include"),
    "truncation": ({"truncation": "auto"}, "unsupported", "truncation"),
    "summary": ({"reasoning": {"summary": "auto"}}, "unsupported", "reasoning.summary"),
    "verbosity": ({"text": {"verbosity": "low"}}, "unsupported", "text.verbosity"),
    "a hosted tool": ({"tools": [{"type": "web_search"}]}, "unsupported", "tools.0.type"),
    "a tool's name": ({"tools": [{"type": "function", "name": "a b"}]}, "invalid-field", "tools.0.name"),
    "no such tool": (
        {"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "function", "name": "g"}},
        "tool-error",
        None,
    ),
    "unknown": ({"max_tokens": 5}, "unknown-field", "max_tokens"),
    "too many tokens": ({"max_output_tokens": 10**6}, "too-many-tokens", "max_output_tokens"),
    "budget": ({"max_output_tokens": 3, "text": {"format": {"type": "json_schema", "schema": PERSON}}}, None, None),
    "schema": (
        {"text": {"format": {"type": "json_schema", "schema": {"type": "integr"}}}},
        "invalid-schema",
        "text.format.schema",
    ),
    "no input": ({"input": []}, "empty-prompt", "input"),
    "a picture": (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        "invalid-field",
        "input.0.content.0.type",
    ),
    "an item": ({"input": [{"type": "item_reference", "id": "x"}]}, "invalid-field", "input.0"),
    "arguments": (
        {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "[1]"}]},
        "invalid-field",
        "input.0.arguments",
    ),
    "thoughts": ({"reasoning": {"effort": "low"}}, "invalid-option", "reasoning"),
    "trace": ({"schemagen": {"trace": True}}, "unsupported", "schemagen.trace"),
}


@pytest.mark.parametrize(("more", "code", "param"), REFUSED_RESPONSES.values(), ids=REFUSED_RESPONSES)
def test_a_response_is_refused(client, more, code, param):
    """Errors name the fields of this API."""
    response = client.post("/v1/responses", json={"input": "x", "max_output_tokens": 60, **more})
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["code"] == code or code is None, error
    assert error["param"] == param or param is None, error
    assert not OF_PYTHON.search(error["message"]), error
    assert not re.search("response_format|completion", error["message"])
    assert ("max_tokens" in error["message"]) == (more == {"max_tokens": 5})


@pytest.mark.parametrize(("more", "status", "code", "param"), REFUSED.values(), ids=REFUSED)
def test_a_request_is_refused(client, more, status, code, param):
    """Status, code and field are those that a client can act on; the message says why, and what to do."""
    response = client.post("/v1/chat/completions", json=chat_body(**more))
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["code"] == code or code is None, error
    assert error["param"] == param or param is None, error
    assert error["message"]
    assert not OF_PYTHON.search(error["message"]), error


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"messages": [{"role": "user", "content": "word " * 3000}]}, '"schemagen": {"show_schema": false}'),
        ({"top_logprobs": 2}, '"logprobs": true'),
        ({"guided_json": PERSON, "max_tokens": 3}, "max_tokens"),
        ({"tools": [function("f", PERSON)], "tool_choice": "required", "max_tokens": 3}, '"max_tokens": '),
        ({"guided_json": PRODUCT}, "start the server with a higher max_alternatives"),
        ({"guided_json": {"type": "string", "pattern": r"(a)\1"}}, "leave it out"),
        ({"guided_grammar": "x: /a/"}, "name the first rule start"),
        ({"guided_grammar": "start: X\n%declare X"}, "write its definition into the grammar"),
    ],
)
def test_an_error_names_fields_of_http(client, more, told):
    """Not the options of Python that mean the same."""
    error = client.post("/v1/chat/completions", json=chat_body(**more)).json()["error"]
    assert told in error["fix"], error
    assert not OF_PYTHON.search(error["message"]), error


BODIES = {
    "nothing": b"",
    "no json": b"{",
    "no object": b"[]",
    "a number": b"1",
    "nan": b'{"messages": [], "temperature": NaN}',
    "surrogate": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "bytes": b'{"messages": "\xff"}',
    "deep": b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep schema": b'{"messages": [{"role": "user", "content": "x"}], "guided_json": '
    + b'{"not": ' * 5000
    + b"{}"
    + b"}" * 5001,
    "huge": b'{"messages": "' + b"x" * 1_100_000 + b'"}',
    "a huge number": b'{"messages": [], "seed": 1' + b"0" * 5000 + b"}",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_none_is_refused(client, body):
    """Whatever the bytes are, the answer is a 4xx with a code."""
    response = client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert 400 <= response.status_code < 500, response.text
    assert response.json()["error"]["code"]
    assert client.get("/health").json() == {"status": "ok"}


STRANGE = [None, -1, 10**30, "", "\0", "x", [], {}, [1], [[]], {"type": []}, True, "x" * 2000, 0.5, {"$ref": "#"}]


def changed(draw, value):
    """Return a JSON value with something in it replaced, left out or repeated."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        rest = {name: each for name, each in value.items() if name != key}
        return rest if draw.random() < 0.2 else {**rest, key: changed(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        index = draw.randrange(len(value))
        return [*value[:index], changed(draw, value[index]), *value[index + 1 :]]
    return draw.choice(STRANGE)


TALK = [
    {"role": "system", "content": [{"type": "text", "text": "You save."}]},
    {"role": "user", "content": "Ada"},
    {"role": "assistant", "content": None, "tool_calls": [called('{"name": "Ada"}')]},
    {"role": "tool", "tool_call_id": "c", "name": "save", "content": "done"},
    {"role": "user", "content": "And now?"},
]
TAG = {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": INTEGER}, "end": "</a>"}
SEEDS = [
    chat_body(response_format=as_format(PERSON), user="u", metadata={"a": "b"}),
    chat_body(tools=[function("save", PERSON)], tool_choice="required", parallel_tool_calls=False),
    chat_body(messages=TALK, tools=[function("save", PERSON)], tool_choice="auto"),
    chat_body(tools=[function("f", INTEGER)], tool_choice={"type": "function", "function": {"name": "f"}}),
    chat_body(structured_outputs={"regex": "[ab]{2}", "json": None}, stop=None, n=2, temperature=1.0, seed=3),
    chat_body(guided_grammar='root ::= "a" root | "b"', stream_options={"include_usage": True}, logprobs=False),
    chat_body(response_format={"type": "structural_tag", "format": TAG}, top_p=0.5, top_k=3, min_p=0.1),
    chat_body(guided_choice=["a", "b"], schemagen={"trace": False, "whitespace": "compact", "show_schema": False}),
    chat_body(guided_json='{"type": "integer"}', logit_bias={}, modalities=["text"], frequency_penalty=0),
    {"prompt": ["Ada", "Grace"], "guided_regex": "a|b", "stop": ["x"], "echo": False},
    {"prompt": [[1, 2], [3]], "response_format": {"type": "text"}, "priority": 3},
]


def mutated(seed):
    """Return a route, and a body for it of which up to three parts are changed."""
    draw = random.Random(seed)
    body = draw.choice(SEEDS)
    route = "/v1/completions" if "prompt" in body else "/v1/chat/completions"
    for _ in range(draw.randint(1, 3)):
        body = changed(draw, body)
    if isinstance(body, dict) and body.get("max_tokens", 1) in (1, 80):
        body["max_tokens"] = 8  # so that what is answered is answered soon
    return route, body


@pytest.mark.filterwarnings("ignore:the schema has no keyword of JSON Schema")
@pytest.mark.parametrize("seeds", [range(500), pytest.param(range(500, 5500), marks=pytest.mark.slow)], ids=len)
def test_a_changed_request_is_answered_or_refused(client, seeds):
    """A request with anything in it replaced is answered, or refused with a 4xx: never a fault of the server."""
    statuses = set()
    for seed in seeds:
        route, body = mutated(seed)
        content = json.dumps(body).encode()
        response = client.post(route, content=content, headers={"content-type": "application/json"})
        assert response.status_code == 200 or 400 <= response.status_code < 500, (body, response.text)
        statuses.add(response.status_code)
        if response.status_code != 200:
            error = response.json()["error"]
            assert error["code"]
            assert not OF_PYTHON.search(error.get("fix", "")), (body, error)
    assert statuses == {200, 400}


def test_a_stream_that_is_refused_has_a_status(client):
    """What is wrong with the request itself is known before the stream begins."""
    response = client.post("/v1/chat/completions", json=chat_body(stream=True, guided_regex="("))
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid-pattern"


def test_only_json_is_read(client):
    """A form, or plain text, is what a web page of another origin could send without being asked."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        headers = {} if kind is None else {"content-type": kind}
        response = client.post("/v1/chat/completions", content=json.dumps(chat_body()).encode(), headers=headers)
        assert response.status_code == 415
        assert response.json()["error"]["code"] == "not-json"


def test_other_routes_are_refused_in_the_same_form(client):
    """A route or a method that is not there is an error like others."""
    assert client.post("/v1/embeddings", json={}).status_code == 404
    response = client.get("/v1/chat/completions")
    assert response.status_code == 405
    assert response.json()["error"]["code"] == "no-route"


def test_a_key_is_asked_for(lm):
    """With a key, all but the page and the health of the server needs it."""
    with TestClient(create_app(lm, api_key="secret")) as client:
        for headers, status in [
            ({}, 401),
            ({"authorization": "Bearer other"}, 401),
            ({"authorization": "Bearer secret"}, 200),
        ]:
            assert client.get("/v1/models", headers=headers).status_code == status
            assert client.get("/metrics", headers=headers).status_code == status
            body = chat_body(guided_choice=["a"])
            assert client.post("/v1/chat/completions", json=body, headers=headers).status_code == status
        assert client.get("/health").status_code == 200
        assert client.get("/").status_code == 200
        refused = client.get("/v1/models")
        assert refused.json()["error"]["type"] == "authentication_error"
        assert refused.headers["www-authenticate"] == "Bearer"


def test_a_description_of_the_routes_is_off(lm):
    """Unless it is asked for; and with a key it needs the key."""
    with TestClient(create_app(lm)) as client:
        assert [client.get(path).status_code for path in ("/docs", "/openapi.json", "/redoc")] == [404] * 3
    with TestClient(create_app(lm, docs=True)) as client:
        assert "/v1/chat/completions" in client.get("/openapi.json").json()["paths"]
        assert "openapi.json" in client.get("/docs").text
    with TestClient(create_app(lm, docs=True, api_key="secret")) as client:
        for path in ("/docs", "/openapi.json"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"authorization": "Bearer secret"}).status_code == 200


def test_the_page_is_held_by_headers(client):
    """No frame, no other type, no other host, and no script but its own; tests/serve/test_page.py runs it so."""
    headers = client.get("/").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for kind in ("script-src", "style-src"):
        assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", policy[kind])


def test_other_names_of_this_machine_are_refused(lm):
    """A page in a browser may reach the server under a name of its own; without a key that name is not taken."""
    with TestClient(create_app(lm, allowed_hosts=["localhost"]), base_url="http://evil.example") as client:
        assert client.get("/v1/models").status_code == 400


@pytest.mark.parametrize(
    ("given", "is_open"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "localhost"}, True),
        ({"host": EVERYWHERE}, False),
        ({"host": "192.168.1.5"}, False),
        ({"host": "example.org"}, False),
        ({"host": EVERYWHERE, "api_key": "k"}, True),
        ({"host": EVERYWHERE, "no_key": True}, True),
        ({"api_key": " "}, False),
    ],
)
def test_an_open_server_needs_a_key(given, is_open):
    """An address that other machines reach needs a key, or the word that it needs none."""
    if is_open:
        assert Address(**given).port == 8000
        return
    with pytest.raises(OptionError) as caught:
        Address(**given)
    assert caught.value.code == "open-server"


def test_limits_that_let_nothing_through_are_refused():
    """Each limit is a whole number above 0."""
    for name in ("max_body_bytes", "max_waiting", "max_rows", "max_new_tokens"):
        with pytest.raises(OptionError):
            ServerLimits(**{name: 0})
    for timeout in (0, -1, float("nan"), "5", True):
        with pytest.raises(OptionError, match="timeout"):
            ServerLimits(timeout=timeout)


def test_a_full_queue_is_told(lm):
    """More texts than may wait are answered with 429, and with when to ask again."""
    with TestClient(create_app(lm, limits=ServerLimits(max_waiting=2))) as client:
        response = client.post("/v1/chat/completions", json=chat_body(n=3, temperature=1, guided_json=PERSON))
        assert response.status_code == 429
        assert response.headers["retry-after"] == "1"
        assert response.json()["error"] | {"message": ""} == {
            "message": "",
            "type": "rate_limit_error",
            "param": None,
            "code": "queue-full",
            "why": "the server is asked for more than it can write",
            "fix": "ask again in a moment; most clients do by themselves",
        }
        assert client.post("/v1/chat/completions", json=chat_body(n=2, temperature=1)).status_code == 200


class Stuck:
    """A scheduler that never comes to a text."""

    def __init__(self):
        self.jobs = []

    def submit(self, jobs):
        self.jobs += jobs

    def counts(self):
        return 0, 0

    def close(self):
        pass


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_takes_too_long_is_ended(lm, monkeypatch, stream):
    """With 504, or the last event of its stream; its texts are over, all of them."""
    stuck = Stuck()
    monkeypatch.setattr("schemagen.serve.app._scheduler", lambda *_, **__: stuck)
    with TestClient(create_app(lm, limits=ServerLimits(timeout=1.5))) as client:
        response = client.post("/v1/chat/completions", json=chat_body(n=2, temperature=1, stream=stream))
    if stream:
        *_, last, done = [line for line in response.text.splitlines() if line]
        assert done == "data: [DONE]"
        error = json.loads(last.removeprefix("data: "))["error"]
    else:
        assert response.status_code == 504
        error = response.json()["error"]
    assert error["code"] == "request-timeout"
    assert error["fix"]
    assert [job.is_over for job in stuck.jobs] == [True, True]


def test_planning_counts_against_the_time_of_a_request(lm, monkeypatch):
    """What is slow before the first text ends with 504 in time, and no text is begun."""
    stuck, over = Stuck(), threading.Event()
    monkeypatch.setattr("schemagen.serve.app._scheduler", lambda *_, **__: stuck)
    monkeypatch.setattr("schemagen.serve.app.read_body", lambda *_: over.wait(60))
    with TestClient(create_app(lm, limits=ServerLimits(timeout=0.1))) as client:
        response = client.post("/v1/chat/completions", json=chat_body())
        assert (response.status_code, response.json()["error"]["code"]) == (504, "request-timeout")
        over.set()
    assert stuck.jobs == []


@pytest.mark.parametrize("prompt", [[True, False], [-1], [10**23]])
def test_what_is_no_token_is_refused(client, prompt):
    """With the field, and what to give."""
    response = client.post("/v1/completions", json={"prompt": prompt})
    assert response.status_code == 400
    assert "prompt" in response.json()["error"]["param"]


def test_a_request_in_time_is_answered(lm):
    """A timeout that is not reached changes nothing."""
    with TestClient(create_app(lm, limits=ServerLimits(timeout=600))) as client:
        response = client.post("/v1/chat/completions", json=chat_body(guided_choice=["good", "bad"]))
    assert response.json()["choices"][0]["message"]["content"] in {"good", "bad"}


def test_a_client_that_goes_away_while_it_sends_is_no_fault(lm, caplog):
    """Half a body, and nobody who waits: nothing is told as a fault of the server."""
    import asyncio

    sent = []

    async def main():
        pieces = iter([
            {"type": "http.request", "body": b'{"messages":', "more_body": True},
            {"type": "http.disconnect"},
        ])  # fmt: skip

        async def receive():
            return next(pieces)

        async def send(message):
            sent.append(message)

        app = create_app(lm)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/v1/chat/completions", "raw_path": b"/v1/chat/completions", "query_string": b"", "root_path": "",
            "headers": [(b"content-type", b"application/json")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        await app(scope, receive, send)
        app.state.schemagen.close()

    asyncio.run(main())
    assert not caplog.records
    assert sent[0]["status"] == 499


@pytest.mark.parametrize("field", ["guided_grammar", "structured_outputs"])
def test_a_grammar_does_not_look_at_the_disk(client, tmp_path, monkeypatch, field):
    """What it imports is looked for in lark's library alone: the answer tells nobody which files lie on the server."""
    pytest.importorskip("lark")
    monkeypatch.chdir(tmp_path)

    def answer(text):
        given = text if field == "guided_grammar" else {"grammar": text}
        return client.post("/v1/chat/completions", json=chat_body(**{field: given}))

    texts = ["start: X\n%import .x (X)", "start: X\n%import x (X)", "start: X\n%import .y (X)"]
    before = [answer(text).json() for text in texts]
    (tmp_path / "x.lark").write_text("X: /x/", encoding="utf-8")
    after = [answer(text).json() for text in texts]
    assert before == after
    for body in after:
        assert body["error"]["code"] == "invalid-grammar"
        assert "not in lark's library" in body["error"]["message"]
        assert "Assertion" not in json.dumps(body)
    common = answer("start: DIGIT\n%import common.DIGIT").json()
    assert common["choices"][0]["message"]["content"].isdigit()
