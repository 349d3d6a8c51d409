"""The prompts that measure tool calling: made of the seed alone, and answered by calls that the tools take."""

import importlib.util
import sys
from itertools import islice
from pathlib import Path

import pytest

from schemagen.calling.tools import as_tool

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def calls():
    """The module tools/bundled_calls.py."""
    spec = importlib.util.spec_from_file_location("bundled_calls_under_test", TOOLS / "bundled_calls.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    before = sys.path.copy()
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


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
