"""Each client library's own way to get a typed object, unmodified, against the server: `make integrations`.

The server is started as a process, with the bundled model; or it is the one whose address is in SCHEMAGEN_SERVE_URL.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import warnings

import pytest
from pydantic import BaseModel, Field

openai = pytest.importorskip("openai", reason="the client libraries are not installed")

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("ignore")]

TEXT = "Ada Lovelace, 36, London"


class Person(BaseModel):
    """A person."""

    name: str
    age: int = Field(ge=0, le=150)
    city: str


ADA = Person(name="Ada Lovelace", age=36, city="London")
MESSAGES = [{"role": "user", "content": TEXT}]


@pytest.fixture(scope="module")
def url():
    """Return the address of a server."""
    known = os.environ.get("SCHEMAGEN_SERVE_URL")
    if known:
        yield known
        return
    command = [sys.executable, "-m", "schemagen", "serve", "--bundled", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        found = None
        for line in process.stderr:
            if found := re.search(r"http://\S+:\d+/v1", line):
                break
        assert found, "the server did not start"
        yield found[0]
        process.terminate()


@pytest.fixture
def client(url):
    """Return OpenAI's client."""
    return openai.OpenAI(base_url=url, api_key="none", max_retries=0)


def test_openai_parse(client):
    """``chat.completions.parse`` returns the instance."""
    found = client.chat.completions.parse(model="bundled", messages=MESSAGES, response_format=Person)
    assert found.choices[0].message.parsed == ADA


def test_openai_stream(client):
    """The stream helper tells partial values, and the instance at the end."""
    with client.chat.completions.stream(model="bundled", messages=MESSAGES, response_format=Person) as stream:
        parsed = [event.parsed for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion().choices[0].message.parsed
    assert final == ADA
    # How many tokens an event has depends on what was read ahead, and on how fast the client reads.
    assert any(partial and "name" in partial and "city" not in partial for partial in parsed)


def test_openai_stream_of_tools(client):
    """Tool calls are put together from deltas, and parsed."""
    tool = openai.pydantic_function_tool(Person, name="save")
    with client.chat.completions.stream(
        model="bundled", messages=MESSAGES, tools=[tool], tool_choice="required"
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
    assert [event.parsed_arguments for event in done] == [ADA]


def test_openai_usage_and_errors(client):
    """A stream counts its tokens; what cannot be done is OpenAI's own exception, with our code."""
    chunks = [
        *client.chat.completions.create(
            model="bundled", messages=MESSAGES, stream=True, stream_options={"include_usage": True}, max_tokens=5
        )
    ]
    assert chunks[-1].usage.completion_tokens == 5
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.parse(model="bundled", messages=MESSAGES, response_format=Person, max_tokens=5)
    assert caught.value.code == "budget-exhausted"
    assert [model.id for model in client.models.list()] == ["bundled"]


def test_openai_completions_with_vllm_fields(client):
    """Fields of vLLM go through ``extra_body``."""
    found = client.completions.create(
        model="bundled", prompt=TEXT, max_tokens=30, extra_body={"structured_outputs": {"choice": ["yes", "no"]}}
    )
    assert found.choices[0].text in {"yes", "no"}


def test_openai_responses(client):
    """``responses.create``, ``parse`` and ``stream`` of the Responses API."""
    assert client.responses.create(model="bundled", input="Hello, I am Ada.", max_output_tokens=20).output_text
    assert client.responses.parse(model="bundled", input=TEXT, text_format=Person).output_parsed == ADA
    with client.responses.stream(model="bundled", input=TEXT, text_format=Person) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert stream.get_final_response().output_parsed == ADA
    assert Person.model_validate_json("".join(pieces)) == ADA


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA"])
def test_instructor(client, mode):
    """``response_model`` gives the instance, by a tool or by a schema."""
    instructor = pytest.importorskip("instructor")
    patched = instructor.from_openai(client, mode=getattr(instructor.Mode, mode))
    found = patched.chat.completions.create(model="bundled", messages=MESSAGES, response_model=Person, max_retries=0)
    assert isinstance(found, Person)
    assert found.name


def test_instructor_partial(client):
    """``create_partial`` yields instances that fill."""
    instructor = pytest.importorskip("instructor")
    patched = instructor.from_openai(client, mode=instructor.Mode.JSON_SCHEMA)
    found = [*patched.chat.completions.create_partial(model="bundled", messages=MESSAGES, response_model=Person)]
    assert Person.model_validate(found[-1].model_dump())


@pytest.mark.parametrize("way", ["tools", "native"])
def test_pydantic_ai(url, way):
    """An agent's ``output_type`` comes by a tool, or by a schema."""
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def main():
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as own:
            model = OpenAIChatModel("bundled", provider=OpenAIProvider(openai_client=own))
            output = {"tools": Person, "native": ai.NativeOutput(Person)}[way]
            return (await ai.Agent(model, output_type=output).run(TEXT)).output

    assert asyncio.run(main()) == ADA


@pytest.mark.parametrize("name", ["OpenAIChatModel", "OpenAIResponsesModel"])
def test_pydantic_ai_with_tools(url, name):
    """An agent that has tools gets its output by a schema, too, through both APIs."""
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models import openai as models
    from pydantic_ai.providers.openai import OpenAIProvider

    def get_weather(city: str) -> str:
        """Say what the weather is like."""
        return f"sunny in {city}"

    async def at_first(context, tool):
        return tool if context.run_step < 2 else None  # the bundled model would call for ever

    async def main():
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as own:
            model = getattr(models, name)("bundled", provider=OpenAIProvider(openai_client=own))
            tools = [ai.Tool(get_weather, prepare=at_first)]
            agent = ai.Agent(model, output_type=ai.NativeOutput(Person), tools=tools)
            return (await agent.run(TEXT)).output

    assert isinstance(asyncio.run(main()), Person)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_langchain(url, method):
    """``with_structured_output`` gives the instance by a schema and by a tool, whole and streamed."""
    langchain = pytest.importorskip("langchain_openai")
    model = langchain.ChatOpenAI(model="bundled", base_url=url, api_key="none", max_retries=0)
    structured = model.with_structured_output(Person, method=method)
    assert structured.invoke(TEXT) == ADA
    assert [*structured.stream(TEXT)][-1] == ADA


def test_llama_index(url):
    """``as_structured_llm`` of an OpenAI-like model gives the instance."""
    pytest.importorskip("llama_index.llms.openai_like")
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        llm = OpenAILike(
            model="bundled",
            api_base=url,
            api_key="none",
            is_chat_model=True,
            is_function_calling_model=True,
            max_retries=0,
        )
        found = llm.as_structured_llm(Person).chat([ChatMessage(role="user", content=TEXT)])
    assert found.raw == ADA
