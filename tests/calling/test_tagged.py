"""Tagged arguments: which texts are values, compared with a reader of our own, and what the formats cannot carry."""

from __future__ import annotations

import json
from itertools import product
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from schemagen import UnsatisfiableSchemaError, UnsupportedSchemaError, Vocabulary
from schemagen.calling import Tool, profiles
from schemagen.calling.answer_format import build, write_calls
from schemagen.calling.tools import as_tools
from schemagen.calling.wire_profiles import Profile
from schemagen.errors import ToolError

VOCABULARY = Vocabulary.byte_vocabulary()
PIECES = {
    "qwen-coder": ["a", "é", "5", "\n", " ", "null", "None", "True", "</parameter", "</parameter>", '"', "<tool_call>"],
    "glm": ["a", "é", "5", "\n", " ", "null", "None", "true", "</arg_value", "</arg_value>", '"', "</tool_call>"],
}
TYPES = {
    "text": str,
    "text or null": str | None,
    "number or text": int | str,
    "number": int,
    "flag": bool,
    "choice": Literal["a", "\na", "a5\n", "null"],
    "choice or null": Literal["a", "null"] | None,
    "pattern": Annotated[str, Field(pattern="^[a\n]+$")],
    "lengths": Annotated[str, Field(min_length=2, max_length=3)],
    "bounds": Annotated[int, Field(ge=5, le=55)],
}
NAMES = {"True": True, "False": False, "None": None}


def wire_of(name: str, spec: Any, **flags: Any):
    """The grammar of calls of one tool with one parameter, in a format."""
    tool = Tool.from_model(type("f", (BaseModel,), {"__annotations__": {"x": spec}}))
    return build(profiles()[name], as_tools([tool]), VOCABULARY, (), may_answer=False, **flags)


def call_text(name: str, text: str) -> str:
    """A call with a value as it is written."""
    value = {"qwen-coder": "<function=f>\n<parameter=x>{}</parameter>\n</function>\n",
             "glm": "f\n<arg_key>x</arg_key>\n<arg_value>{}</arg_value>\n"}[name]  # fmt: skip
    return f"<tool_call>{value.format(text)}</tool_call>"


def values(name: str, spec: Any, text: str) -> list[Any]:
    """What a text stands for, as the formats are documented: JSON that is no string, else the text; nothing: no value."""
    adapter = TypeAdapter(spec)
    end = {"qwen-coder": "</parameter>", "glm": "</arg_value>"}[name]
    bare = text.strip(" \n")
    has_strings = "string" in json.dumps(adapter.json_schema())
    try:
        parsed = NAMES[bare] if bare in NAMES and not has_strings else json.loads(bare)
    except ValueError:
        parsed = ""
    string = text.removeprefix("\n").removesuffix("\n") if name == "qwen-coder" else text
    candidates = [string] if isinstance(parsed, str) else [parsed, string]
    return [value for value in candidates if end not in text and is_valid(adapter, value)][:1]


def is_valid(adapter: TypeAdapter[Any], value: Any) -> bool:
    """Whether a type takes a value without converting it."""
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", PIECES)
def test_texts_are_values(name, kind):
    """Every text of a few pieces is accepted if it stands for a value of the type, and is read as that value."""
    spec, accepted = TYPES[kind], 0
    wire = wire_of(name, spec)
    texts = [
        "",
        *map("".join, product(PIECES[name], repeat=2)),
        *map("".join, product(["", *PIECES[name][:4]], repeat=3)),
    ]
    for text in texts:
        data, wanted = call_text(name, text).encode(), values(name, spec, text)
        matcher = wire.graph.matcher()
        assert (matcher.accept_bytes(data) and matcher.is_accepting()) is bool(wanted), text
        if wanted:
            (call,) = wire.read(data).calls
            found = json.loads(call.json)["x"]
            assert (found, type(found)) == (wanted[0], type(wanted[0])), text
            accepted += 1
    assert accepted > 1


def many(city: str, days: int, unit: Literal["c", "f"] = "c", notes: list[str] | None = None, on: bool = False) -> None:
    """Take many."""


@pytest.mark.parametrize("name", PIECES)
def test_what_may_be_left_out(name):
    """Optional parameters may be missing, required ones not; each stands once, in order."""
    wire = build(profiles()[name], as_tools([many]), VOCABULARY, (), may_answer=False)
    everything = {"city": "", "days": -3, "unit": "f", "notes": ["a\n", '</x>"'], "on": True}
    for keys, fits in [
        ("city days unit notes on", True), ("city days", True), ("city days on", True), ("city days unit on", True),
        ("city", False), ("days unit", False), ("days city", False), ("city days on unit", False), ("city city days", False),
    ]:  # fmt: skip
        one = [write_calls(wire.profile, [("many", json.dumps({key: everything[key]}))]) for key in keys.split()]
        head, tail = write_calls(wire.profile, [("many", "{}")]).rsplit(wire.profile.tail, 1)[0], wire.profile.tail
        text = head + "".join(part.removeprefix(head).removesuffix(tail) for part in one) + tail
        matcher = wire.graph.matcher()
        assert (matcher.accept_bytes(text.encode()) and matcher.is_accepting()) is fits, keys
        if fits:
            (call,) = wire.read(text.encode()).calls
            assert json.loads(call.json) == {key: everything[key] for key in keys.split()}


@pytest.mark.parametrize("name", PIECES)
def test_a_call_without_arguments(name):
    """A tool without parameters is called by its name alone."""

    def stop() -> None:
        """Stop."""

    wire = build(profiles()[name], as_tools([stop]), VOCABULARY, (), may_answer=False, parallel=True)
    text = write_calls(wire.profile, [("stop", "{}"), ("stop", "{}")])
    assert [call.json for call in wire.read(text.encode()).calls] == ["{}", "{}"]


@pytest.mark.parametrize(
    ("schema", "error", "text"),
    [
        ({"properties": {"a b": {"type": "string"}}}, ToolError, "whitespace"),
        ({"properties": {"a>": {"type": "string"}}}, ToolError, "character of a tag"),
        ({"properties": {"a": {}, "b": {}}, "minProperties": 1}, ToolError, "number of arguments is bounded"),
        ({"properties": {"a": {}, "b": {}}, "maxProperties": 1}, ToolError, "number of arguments is bounded"),
        ({"properties": {}, "required": ["a"]}, ToolError, "no arguments satisfy"),
        ({"properties": {"a": {"const": "</arg_value>"}}}, UnsatisfiableSchemaError, "no "),
    ],
)  # fmt: skip
def test_limits_are_errors(schema, error, text):
    """What the formats cannot carry is refused, and nothing is weakened."""
    tool = Tool.from_dict({"name": "f", "parameters": {**schema, "additionalProperties": False}})
    with pytest.raises(error, match=text):
        build(profiles()["glm"], as_tools([tool]), VOCABULARY, (), may_answer=False)


def test_what_rules_cannot_count_is_refused():
    """The error names the tool, the format and what to do."""
    tool = Tool.from_dict({"name": "f", "parameters": {"properties": {"a": {"type": "array", "uniqueItems": True}}}})
    with pytest.raises(UnsupportedSchemaError, match="different items") as caught:
        build(profiles()["gemma"], as_tools([tool]), VOCABULARY, (), may_answer=False)
    assert caught.value.fact == "the arguments of f cannot be written in the format 'gemma'"
    assert (caught.value.at, "profile='plain'" in caught.value.fix) == ("/properties/a", True)


def test_a_profile_tags_its_arguments():
    """A profile with tagged arguments says what stands around each."""
    with pytest.raises(ToolError, match="does not tag"):
        Profile("wrong", head="<call>{name}", markers=("<call>",), arguments="tagged", argument_head="<{key}>")
