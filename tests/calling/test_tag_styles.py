"""Profiles whose arguments are written in a style of structural tags: what is written, and what is read back."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest
from pydantic import BaseModel

from schemagen import Vocabulary
from schemagen.calling import Profile, Tool
from schemagen.calling.answer_format import build, write_calls
from schemagen.calling.answer_stream import AnswerReader
from schemagen.calling.tools import as_tools
from schemagen.calling.wire_profiles import TagStyle
from schemagen.errors import ToolError
from schemagen.testing import check_masks, random_token_ids
from tests.property.tagged_texts import written

STYLES = get_args(TagStyle)
MARKERS = ("<|open|>", "<|sep|>", "<|close|>", "</arg_value>", "</parameter>")
IDS = {marker: 256 + index for index, marker in enumerate(MARKERS)}
VOCABULARY = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *(b"" for _ in MARKERS), b""],
    eos_token_ids=[261],
    special_token_ids=[*IDS.values(), 261],
    token_names={token: name for name, token in IDS.items()},
)


class Inner(BaseModel):
    """An object inside, which may hold itself."""

    k: dict[str, Inner] = {}


class Move(BaseModel):
    """Arguments of all kinds."""

    city: str
    days: int | None = None
    near: Inner | str = ""
    on: bool = False
    tags: list[str] = []


ARGUMENTS = [
    {"city": "Bonn"},
    {"city": '5 "<x>', "days": 3, "near": {"k": {"a": {"k": {}}}}, "on": True, "tags": ["a", "</x>"]},
    {"city": "null", "days": None, "near": "\n{", "tags": []},
]


def wire_of(style: str, *, special: bool):
    """The grammar of a call, with markers that are special tokens or text."""
    profile = Profile("own", head="<|open|>{name}\n", tail="<|close|>", markers=MARKERS, arguments=style)
    return build(profile, as_tools([Move]), VOCABULARY, tuple(IDS.items()) if special else (), may_answer=False)


def tokens(text: str, *, special: bool) -> list[int]:
    """The tokens of a text."""
    pieces = re.split("(" + "|".join(map(re.escape, MARKERS)) + ")", text) if special else [text]
    return [token for piece in pieces for token in ([IDS[piece]] if piece in IDS and special else piece.encode())]


def read(wire, token_ids: list[int]) -> dict:
    """Read a call at once, and token by token."""
    (call,) = wire.read(token_ids).calls
    reader = AnswerReader(wire.graph, lambda made, _: json.loads(made.json))
    for token in token_ids:
        reader.read([token])
    reader.finish()
    assert reader.found == [json.loads(call.json)]
    return json.loads(call.json)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("style", STYLES)
def test_arguments_are_written_and_read(style, arguments, special):
    """A call is written as structural tags have it, is in the language, and is read as what it was."""
    wire = wire_of(style, special=special)
    text = write_calls(wire.profile, [("Move", json.dumps(arguments))])
    bare = text.removeprefix("<|open|>Move\n").removesuffix("<|close|>")
    end = wire.profile.argument_tail
    assert bare.replace(end, end.strip()).replace("</arg_key>\n", "</arg_key>") == written(style, [*arguments.items()])
    matcher = wire.graph.matcher()
    given = tokens(text, special=special)
    assert all(map(matcher.accept_token, given))
    assert matcher.is_accepting()
    assert read(wire, given) == arguments


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_walks_write_arguments_of_the_type(style, special):
    """Whatever the masks let through is read as an instance."""
    wire = wire_of(style, special=special)
    for seed in range(8):
        assert Move.model_validate(read(wire, random_token_ids(wire.graph, seed=seed, max_tokens=250)), strict=True)


@pytest.mark.parametrize("style", ["deepseek_xml", "kimi_k3_xml"])
def test_masks_equal_brute_force(style):
    """In front of each token the mask holds those that can follow, and no others."""
    assert check_masks(wire_of(style, special=True).graph, walks=2) > 10


@pytest.mark.parametrize("style", ["deepseek_xml", "kimi_k3_xml"])
def test_the_type_is_what_the_tag_says(style):
    """A string that looks like a number is one only where the tag says so."""
    wire = wire_of(style, special=False)
    for arguments in ({"city": "a", "days": "3"}, {"city": 3}, {"city": "a", "on": "true"}):
        data = write_calls(wire.profile, [("Move", json.dumps(arguments))]).encode()
        matcher = wire.graph.matcher()
        assert not (matcher.accept_bytes(data) and matcher.is_accepting())


def test_names_are_escaped_where_the_style_does():
    """A name with a quote is written in the style of Kimi, and refused in others."""
    tool = Tool.from_dict(
        {"name": "f", "parameters": {"properties": {'a "b"': {"type": "string"}}, "required": ['a "b"']}}
    )
    for style in STYLES:
        profile = Profile("own", head="<|open|>{name}\n", tail="<|close|>", markers=MARKERS, arguments=style)
        if style != "kimi_k3_xml":
            with pytest.raises(ToolError, match="character of a tag"):
                build(profile, as_tools([tool]), VOCABULARY, (), may_answer=False)
            continue
        wire = build(profile, as_tools([tool]), VOCABULARY, (), may_answer=False)
        text = write_calls(profile, [("f", json.dumps({'a "b"': "x"}))])
        assert 'key="a &quot;b&quot;"' in text
        assert [json.loads(call.json) for call in wire.read(text.encode()).calls] == [{'a "b"': "x"}]


def test_a_style_has_its_own_tags():
    """Tags beside a style would have no effect."""
    with pytest.raises(ToolError, match="tags of its own"):
        Profile("own", head="<a>{name}", markers=("<a>",), arguments="glm_xml", argument_head="<{key}>")


@pytest.mark.parametrize("line", ["", "\n"])
def test_arguments_stand_on_lines_if_the_head_does(line):
    """A format in one line stays in one line; where it has line breaks, the model may leave them out."""
    profile = Profile("own", head="<|open|>{name}" + line, tail="<|close|>", markers=MARKERS, arguments="qwen_xml")
    call = f"<|open|>Move{line}<parameter=city>Bonn</parameter>{line}<|close|>"
    assert write_calls(profile, [("Move", '{"city": "Bonn"}')]) == call
    for text in (call, call.replace("\n", "")):
        found = build(profile, as_tools([Move]), VOCABULARY, ()).read(text.encode())
        assert [json.loads(each.json) for each in found.calls] == [{"city": "Bonn"}]
