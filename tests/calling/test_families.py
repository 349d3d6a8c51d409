"""The table of the families: their templates, ids, types of values, histories and thoughts, and the page about them."""

from __future__ import annotations

import json
from itertools import product

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from schemagen import Vocabulary
from schemagen.calling import Tool, find_profile, profiles
from schemagen.calling.answer_format import build, write_calls
from schemagen.calling.history import call_message, render_chat
from schemagen.calling.tools import as_tools
from schemagen.calling.wire_profiles import Profile
from schemagen.errors import ToolError
from schemagen.lm import Reasoning
from schemagen.prompts.reasoning_grammar import THOUGHT_MARKERS, ReasoningFormat
from tests.calling.conftest import NAMES, Family, profile_of

VOCABULARY = Vocabulary.byte_vocabulary()


def get(city: str, unit: str = "c") -> str:
    """Get the weather."""
    return f"sunny in {city}, in degrees {unit}"


def call_of(name, text, **options):
    """The one call of a text that a family writes."""
    wire = build(find_profile(name), as_tools([get]), VOCABULARY, (), may_answer=False, **options)
    (call,) = wire.read(text.encode()).calls
    return call


def test_every_profile_has_a_template():
    """So each is read back from what a template of its family renders, in test_wire_formats.py."""
    assert {profile_of(name).name for name in NAMES} == set(profiles())


# --- ids ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "before", "after", "form"),
    [
        (
            "kimi",
            "<|tool_calls_section_begin|><|tool_call_begin|>",
            "<|tool_call_argument_begin|>{}",
            "functions.get:{}",
        ),
        ("cohere", '<|START_ACTION|>[{"tool_call_id": "', '", "tool_name": "get", "parameters": {}', "{}"),
    ],
)
def test_ids_are_counted(name, before, after, form):
    """The id that the model counts is that of the call; it is a number without leading zeros."""
    profile, arguments = find_profile(name), json.dumps({"city": "x"})
    rest = after.replace("{}", arguments) + profile.tail + profile.end
    for number in ("0", "7", "12", "345678"):
        assert call_of(name, before + form.replace("{}", number) + rest).id == form.replace("{}", number)
    matcher = build(profile, as_tools([get]), VOCABULARY, (), may_answer=False).graph.matcher()
    for wrong in ("", "01", "x", "-1", "1234567"):
        assert not matcher.accept_bytes((before + form.replace("{}", wrong) + rest).encode())


def test_a_number_that_is_no_id_is_left_out():
    """Kimi K3 counts the calls of each answer from 1, so the number is no id of the chat."""
    (call,) = (
        build(find_profile("kimi-k3"), as_tools([get]), VOCABULARY, ())
        .read(write_calls(find_profile("kimi-k3"), [("get", '{"city": "x"}')]).encode())
        .calls
    )
    assert call.id == ""
    assert 'index="1"' in write_calls(find_profile("kimi-k3"), [("get", '{"city": "x"}')])


def test_past_calls_get_the_ids_of_the_format():
    """Ids of other origin become those that the model knows, counted through the chat; results refer to them."""
    family = Family("kimi", special=False)
    messages = [{"role": "user", "content": "x"}]
    for turn in ("a", "b"):
        messages.append(call_message([(f"call_{turn}{i}", "get", '{"city": "x"}') for i in range(2)]))
        messages += [{"role": "tool", "content": f"{turn}{i}", "tool_call_id": f"call_{turn}{i}"} for i in (1, 0)]
    text, _ = render_chat(family.tokenizer, messages, as_tools([get]), family.profile)
    assert [f"<|tool_call_begin|>functions.get:{i}<|" in text for i in range(5)] == [True] * 4 + [False]
    for number, said in ((1, "a1"), (0, "a0"), (3, "b1"), (2, "b0")):
        assert f"## Return of functions.get:{number}\n{said}<" in text
    assert "call_" not in text.replace("_call_", "")


# --- one call in an answer ---------------------------------------------------------------------------------------------


def test_harmony_calls_one_by_one():
    """Calls of one message are shown one after another, each with its result; only one can be written."""
    family = Family("harmony", special=False)
    calls = call_message([(f"c{i}", "get", json.dumps({"city": f"city {i}"})) for i in range(2)])
    results = [{"role": "tool", "content": f"result {i}", "tool_call_id": f"c{i}"} for i in (1, 0)]
    told = [{"role": "user", "content": "x"}, calls, *results, {"role": "user", "content": "next"}]
    text, _ = render_chat(family.tokenizer, told, as_tools([get]), family.profile)
    places = [text.index(part) for part in ("city 0", "result 0", "city 1", "result 1", "next")]
    assert places == sorted(places)
    assert text.count("result 0") == text.count("result 1") == 1
    with pytest.raises(ToolError, match="cannot hold 2 calls"):
        write_calls(family.profile, [("get", "{}")] * 2)


@pytest.mark.parametrize(
    "head",
    [
        "<|channel|>commentary to=functions.get <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.get<|constrain|>json<|message|>",
        " to=functions.get<|channel|>commentary <|constrain|>json<|message|>",
        " to=functions.get<|channel|>commentary json<|message|>",
    ],
)
@pytest.mark.parametrize("special", [False, True])
def test_harmony_has_several_heads(head, special):
    """The recipient of a call stands in the channel or before it, as models and templates write it."""
    lm = Family("harmony", special=special).lm(head + '{"city": "Oslo"}')
    assert lm.call("x", [get]).arguments.city == "Oslo"


# --- types of tagged values --------------------------------------------------------------------------------------------

OPENINGS = {
    "deepseek-v3.2": ['string="true"', 'string="false"'],
    "kimi-k3": [f'type="{kind}"' for kind in ("string", "number", "boolean", "null", "object", "array", "integer")],
}
TEXTS = ["", "a", "5", "-1", "true", "null", "[]", '["a"]', "{}", '{"n": 5}', '"a"', " 5", "5 a"]
KINDS = {str: "string", int: "number", bool: "boolean", type(None): "null", dict: "object", list: "array"}


class Inner(BaseModel):
    """An object."""

    n: int


@pytest.mark.parametrize("spec", [str, int, int | str, bool | None, list[str] | str, Inner | None], ids=str)
@pytest.mark.parametrize("name", OPENINGS)
def test_the_type_of_a_value_is_said(name, spec):
    """A value is read as the type that is said before it, and only values of that type may follow."""
    tool = Tool.from_model(type("f", (BaseModel,), {"__annotations__": {"x": spec}}))
    wire = build(find_profile(name), as_tools([tool]), VOCABULARY, (), may_answer=False)
    whole, accepted = write_calls(find_profile(name), [("f", '{"x": "VALUE"}')]), 0
    for opening, text in product(OPENINGS[name], TEXTS):
        data = whole.replace(OPENINGS[name][0], opening).replace("VALUE", text).encode()
        matcher, wanted = wire.graph.matcher(), values(spec, opening, text)
        assert (matcher.accept_bytes(data) and matcher.is_accepting()) is bool(wanted), (opening, text)
        if wanted:
            (call,) = wire.read(data).calls
            assert json.loads(call.json) == {"x": wanted[0]}
            assert type(json.loads(call.json)["x"]) is type(wanted[0])
            accepted += 1
    assert accepted


def values(spec, opening, text):
    """The value that a text stands for after an opening, if it stands for one."""
    is_string = "string" in opening and "false" not in opening
    try:
        value = text if is_string else json.loads(text)
        if not is_string and (
            isinstance(value, str) or opening not in (f'type="{KINDS[type(value)]}"', 'string="false"')
        ):
            return []
        TypeAdapter(spec).validate_python(value, strict=True)
    except (ValueError, ValidationError):
        return []
    return [value]


@pytest.mark.parametrize("name", ["minimax", "deepseek-v4", "step3"])
def test_names_in_quotes(name):
    """A parameter whose name holds a quote is refused where names stand in quotes; Kimi K3 escapes it."""
    schema = {"properties": {'a"b': {"type": "string"}}, "additionalProperties": False}
    tool = Tool.from_dict({"name": "f", "parameters": schema})
    with pytest.raises(ToolError, match="character of a tag"):
        build(find_profile(name), as_tools([tool]), VOCABULARY, (), may_answer=False)
    build(find_profile("kimi-k3"), as_tools([tool]), VOCABULARY, (), may_answer=False)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"id": "{index}"}, "in its head"),
        ({"words": ("say: ", "")}, "has the words between"),
        ({"words": ("", "over")}, "has the words between"),
        ({"other_heads": ("<call>",)}, "no single {name}"),
        ({"other_heads": ("call {name}",)}, "begin with"),
    ],
)
def test_wrong_profiles_are_refused(wrong, text):
    """What could not be read back is an error when the profile is made."""
    with pytest.raises(ToolError, match=text):
        Profile("wrong", head="<call>{name}", markers=("<call>",), **wrong)


# --- thoughts ----------------------------------------------------------------------------------------------------------

THINKING = [
    name
    for name in NAMES
    if any(
        all(sign in Family(name, special=False).tokenizer.chat_template for sign in each.signs)
        for each in THOUGHT_MARKERS
    )
]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", THINKING)
def test_thoughts_and_a_call(name, special):
    """Thoughts between the family's own markers come before a call, and before words."""
    family = Family(name, special=special)
    lm = family.lm()
    thinker = ReasoningFormat.of(200, family.tokenizer, lm.vocabulary)
    end = thinker.before_opening(family.profile.words[0]).end
    call = write_calls(family.profile, [("get", '{"city": "Paris"}')])
    lm = family.lm(f"I call {{it}}.{end}{call}", f"I say it.{end}{family.said('It is sunny.')}")
    found = lm.call("x", [get], reasoning=200, max_new_tokens=900)
    assert (found(), found.content) == ("sunny in Paris, in degrees c", "")
    assert lm.call("x", [get], reasoning=Reasoning(200)) == "It is sunny."
    assert all(prompt.rstrip().endswith(thinker.begin.rstrip()) for prompt in lm.model.prompts)


def test_thoughts_are_told_from_the_template():
    """The first entry whose signs are in a template gives the markers; each entry can be found."""
    for index, markers in enumerate(THOUGHT_MARKERS):
        text = " ".join(markers.signs)
        first = next(i for i, each in enumerate(THOUGHT_MARKERS) if all(sign in text for sign in each.signs))
        assert first == index


# --- the peer ----------------------------------------------------------------------------------------------------------

#: Our profiles, and xgrammar's names for the formats.
PEERS = {
    "deepseek": "deepseek_r1",
    "deepseek-v3.1": "deepseek_v3_1",
    "deepseek-v3.2": "deepseek_v3_2",
    "deepseek-v4": "deepseek_v4",
    "deepseek-v4.1": "deepseek_v4_1",
    "glm": "glm_4_7",
    "harmony": "harmony",
    "hermes": "qwen_3",
    "kimi": "kimi",
    "kimi-k3": "kimi_k3",
    "llama": "llama",
    "mimo": "mimo",
    "minimax": "minimax",
    "qwen-coder": "qwen_3_coder",
}


@pytest.mark.parametrize("name", PEERS)
def test_the_peer_takes_our_calls(name):
    """xgrammar's own grammar of the format, if it is installed, accepts what we write; a wrong name it does not."""
    peer = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    builtin = pytest.importorskip("xgrammar.builtin_structural_tag")
    profile, tools = find_profile(name), [Tool.from_function(get).to_dict()]
    tag = builtin.get_model_structural_tag(PEERS[name], tools=tools, tool_choice="required", reasoning="disabled")
    calls = [("get", '{"city": "Pa ris", "unit": "f"}'), ("get", '{"city": "é"}')][
        : 1 if profile.separator is None else 2
    ]
    before = {
        "deepseek-v3.2": "\n\n",
        "deepseek-v4": "\n\n",
        "deepseek-v4.1": "\n\n",
        "minimax": "\n</think>" + "\n" * 5,
    }
    text = before.get(name, "") + write_calls(profile, calls)
    if name == "harmony":
        text = text.replace(" <|constrain|>", "<|constrain|>") + "<|call|>"
    grammar = peer.Grammar.from_structural_tag(tag)
    assert testing._is_grammar_accept_string(grammar, text)
    assert not testing._is_grammar_accept_string(grammar, text.replace("get", "set"))


def test_a_thousand_functions_are_compiled_once():
    """Functions keep their tools, and so their grammar, also where there are many of them."""
    functions = [lambda city, number=number: f"{city} {number}" for number in range(1000)]
    for number, function in enumerate(functions):
        function.__name__ = f"get_{number}"
        function.__annotations__ = {"city": str, "number": int}
    assert all(first is second for first, second in zip(as_tools(functions), as_tools(functions), strict=True))
