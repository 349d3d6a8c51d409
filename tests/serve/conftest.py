"""A server with the bundled model, in this process."""

from __future__ import annotations

import pytest

import schemagen
from tests.models import one_thread

pytest.importorskip("fastapi", reason="the extra schemagen[serve] is not installed")
pytest.importorskip("prometheus_client", reason="the extra schemagen[serve] is not installed")

from fastapi.testclient import TestClient

from schemagen.serve import create_app

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer", "maximum": 150},
        "city": {"type": "string", "maxLength": 20},
    },
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "object",
    "properties": {"place": {"type": "string", "maxLength": 20}},
    "required": ["place"],
    "additionalProperties": False,
}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Run the model on one thread."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()


@pytest.fixture(scope="session")
def client(lm):
    """Return a client of a server without a key."""
    with TestClient(create_app(lm, name="bundled"), raise_server_exceptions=False) as found:
        yield found


def chat_body(text="Ada Lovelace, 36, London", **more):
    """Return the body of a chat."""
    return {"model": "any", "messages": [{"role": "user", "content": text}], "max_tokens": 80, **more}


def as_format(schema):
    """Return a response format of a schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def function(name, schema):
    """Return a tool."""
    return {"type": "function", "function": {"name": name, "description": f"To {name}", "parameters": schema}}


def chunks_of(response):
    """Return the chunks of a stream, which has to end as one does."""
    import json

    lines = [line for line in response.text.splitlines() if line]
    assert lines[-1] == "data: [DONE]", lines[-3:]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def message_of(chunks):
    """Return the message that the chunks of a stream make, and why it ended."""
    content, calls, reasons = "", [], []
    for chunk in chunks:
        for choice in chunk["choices"]:
            reasons += [choice["finish_reason"]] if choice["finish_reason"] else []
            content += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls", ()):
                if call["index"] == len(calls):
                    calls.append({"name": call["function"]["name"], "arguments": ""})
                calls[call["index"]]["arguments"] += call["function"]["arguments"]
    assert len(reasons) == 1, reasons
    return content, calls, reasons[0]
