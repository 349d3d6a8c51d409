"""Arguments that hold themselves, and dicts with free keys, in the formats that write arguments one by one."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, Field

from schemagen import Vocabulary
from schemagen.calling import profiles
from schemagen.calling.answer_format import build, write_calls
from schemagen.calling.answer_stream import AnswerReader
from schemagen.calling.tools import as_tools
from schemagen.testing import check_masks, random_token_ids

VOCABULARY = Vocabulary.byte_vocabulary()
FORMATS = ("qwen-coder", "glm", "gemma", "llama-pythonic")


class Tree(BaseModel):
    """A tree."""

    name: str = Field(max_length=4)
    children: list[Tree] = Field(default=[], max_length=2)


class Grow(BaseModel):
    """Arguments of all kinds."""

    tree: Tree
    counts: dict[str, list[int]] = Field(default={})
    either: Tree | bool | None = None
    note: str | dict[str, bool] = ""


VALUES = [
    {"tree": {"name": "a", "children": [{"name": '"', "children": [{"name": "é\n"}]}, {"name": ""}]}},
    {"tree": {"name": "None"}, "counts": {}, "either": None, "note": "x"},
    {
        "tree": {"name": "True"},
        "counts": {"a b": [], 'say "hi"': [1, -2]},
        "either": {"name": "b"},
        "note": {"k": True},
    },
]
WRONG = [
    {"tree": {"name": "long!"}},
    {"tree": {"name": "a", "children": [{}]}},
    {"tree": {"name": "a", "children": [{"name": "b"}] * 3}},
    {"tree": {"name": "a"}, "counts": {"a": ["x"]}},
    {"tree": {"name": "a"}, "either": "x"},
    {"counts": {}},
]


def wire_of(name: str):
    """The grammar of a call of the one tool."""
    return build(profiles()[name], as_tools([Grow]), VOCABULARY, (), may_answer=False)


def read(wire, data: bytes) -> dict:
    """Read a call at once, and byte by byte: both give the same arguments."""
    (call,) = wire.read(data).calls
    reader = AnswerReader(wire.graph, lambda written, _: json.loads(written.json))
    for byte in data:
        reader.read([byte])
    reader.finish()
    assert reader.found == [json.loads(call.json)]
    return json.loads(call.json)


@pytest.mark.parametrize("arguments", VALUES)
@pytest.mark.parametrize("name", FORMATS)
def test_nested_arguments_are_read(name, arguments):
    """What is written is in the language, and is read as what it was."""
    wire = wire_of(name)
    data = write_calls(wire.profile, [("Grow", json.dumps(arguments))]).encode()
    matcher = wire.graph.matcher()
    assert matcher.accept_bytes(data)
    assert matcher.is_accepting()
    assert read(wire, data) == arguments


@pytest.mark.parametrize("arguments", WRONG)
@pytest.mark.parametrize("name", FORMATS)
def test_wrong_arguments_are_refused(name, arguments):
    """The type holds at any depth."""
    wire = wire_of(name)
    matcher = wire.graph.matcher()
    data = write_calls(wire.profile, [("Grow", json.dumps(arguments))]).encode()
    assert not (matcher.accept_bytes(data) and matcher.is_accepting())


@pytest.mark.parametrize("name", FORMATS)
def test_walks_write_arguments_of_the_type(name):
    """Whatever the masks let through is read as an instance."""
    wire = wire_of(name)
    for seed in range(15):
        data = bytes(token for token in random_token_ids(wire.graph, seed=seed, max_tokens=300) if token < 256)
        assert Grow.model_validate(read(wire, data), strict=True)


@pytest.mark.parametrize("name", ["glm", "gemma"])
def test_masks_equal_brute_force(name):
    """In front of each token the mask holds those that can follow, and no others."""
    assert check_masks(wire_of(name).graph, walks=2) > 10


def test_an_end_tag_stands_in_no_string():
    """Neither in a string that is an argument, nor in one inside."""
    wire = wire_of("glm")
    for name in ("</arg_value>", "</arg_value"):
        arguments = {"tree": {"name": "a"}, "counts": {name: []}}
        matcher = wire.graph.matcher()
        data = write_calls(wire.profile, [("Grow", json.dumps(arguments))]).encode()
        assert (matcher.accept_bytes(data) and matcher.is_accepting()) is (name[-1] != ">")
