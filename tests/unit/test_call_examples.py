"""The prompts that measure and train tool calling: made of the seed alone, and answered by calls that the tools take."""

import importlib.util
import json
import re
import sys
from itertools import islice
from pathlib import Path

import jsonschema
import pytest

from schemagen.calling.tools import as_tool

TOOLS = Path(__file__).parents[2] / "tools"


def module_of(name):
    """A module of tools/."""
    spec = importlib.util.spec_from_file_location(f"{name}_under_test", TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    before = sys.path.copy()
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def calls():
    """The module tools/bundled_calls.py."""
    return module_of("bundled_calls")


@pytest.fixture(scope="module")
def talks():
    """The module tools/bundled_dialogues.py."""
    return module_of("bundled_dialogues")


@pytest.fixture(scope="module")
def requests():
    """The module tools/bundled_requests.py."""
    return module_of("bundled_requests")


def test_examples_are_those_of_the_seed(calls) -> None:
    """The same seed gives the same examples; held-out ones offer every tool."""
    first, again = (list(islice(calls.call_examples(5, held_out=True, small_talk=True), 60)) for _ in range(2))
    assert first == again
    assert all(len(example.tools) == 6 for example in first)
    assert {example.name for example in first} == {tool.__name__ for tool in calls.TOOLS} | {""}


def test_the_right_calls_are_valid(calls) -> None:
    """Each right call is one that its tool accepts, and its tool is offered."""
    for example in islice(calls.call_examples(7), 200):
        tool = next(as_tool(function) for function in example.tools if function.__name__ == example.name)
        tool.invoke(tool.spec(**dict(example.arguments)))


def test_words_where_no_tool_helps(calls) -> None:
    """Small talk has an answer in words."""
    some = [e for e in islice(calls.call_examples(3, small_talk=True), 200) if not e.name]
    assert some
    assert all(example.words and example.target() == example.words for example in some)


def test_dialogues_are_what_the_tools_take(talks) -> None:
    """Each call of a dialogue names an offered tool once, with arguments that its schema accepts; each has a result."""
    some = list(islice(talks.dialogues(11), 400))
    for dialogue in some:
        schemas = {tool.name: tool.parameters for tool in dialogue.tools}
        called = [call["function"] for message in dialogue.messages for call in message.get("tool_calls", [])]
        for function in called:
            jsonschema.validate(function["arguments"], schemas[function["name"]])
        results = [message["name"] for message in dialogue.messages if message["role"] == "tool"]
        assert dialogue.must_call or results == [function["name"] for function in called]
    assert {len(dialogue.tools) for dialogue in some} >= {1, 2, 3, 4, 5, 6}
    assert any("tool_calls" not in message for d in some for message in d.messages[1:2])


def test_dialogues_are_written_as_at_run_time(talks, bundled_tokenizer) -> None:
    """The text of a dialogue ends with its last answer, and has as many answers as there are messages of the assistant."""
    for dialogue in islice(talks.dialogues(12, held_out=True), 100):
        text = talks.rendered(bundled_tokenizer, dialogue)
        assert text.endswith("<|eos|>")
        said = [message for message in dialogue.messages if message["role"] == "assistant"]
        assert text.count("<|assistant|>") == text.count("<|eos|>") == len(said)
        call = next((message["tool_calls"][0]["function"] for message in said if "tool_calls" in message), None)
        if call:
            assert f'"arguments": {json.dumps(call["arguments"], ensure_ascii=False)}' in text


def test_held_out_sentences_are_not_trained(requests, talks) -> None:
    """Each of the six skills has held-out sentences, and none of them is in the domain of objects or in a dialogue."""
    data = module_of("bundled_data")
    prompts = [example.prompt for example in islice(data.examples(3), 4000) if example.domain == "tool"]
    prompts += [dialogue.messages[0]["content"] for dialogue in islice(talks.dialogues(13), 4000)]
    for skill in requests.BASIC:
        held_out = requests.share(skill.requests, held_out=True)
        assert len(held_out) >= 4
        assert not set(held_out) & set(requests.share(skill.requests, held_out=False))
        for sentence in held_out:
            pattern = re.sub(r"\\\{(a|b|minutes)\\\}", r"\\w+", re.escape(sentence.rstrip("?.!")))
            pattern = re.sub(r"\\\{\w+\\\}", r"[^ ]+", pattern)
            assert not [prompt for prompt in prompts if re.fullmatch(pattern, prompt.rstrip("?.!"), re.IGNORECASE)]
