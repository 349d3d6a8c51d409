"""Whitespace between the parts of a JSON text, where the suite has no word for it."""

from __future__ import annotations

import json
import pickle
import re

import pytest

import schemagen
from schemagen import Layout

POLICIES = ("flexible", "any", Layout(indent=2), Layout(separators=(" ,", ":")))
NESTED = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "null"}}}
CLOSED = {**NESTED, "additionalProperties": False}
VALUE = {"a": [1, 2], "b": None}

UNIQUE_LISTS = {
    "type": "array",
    "uniqueItems": True,
    "items": {"type": "array", "items": {"type": "integer"}},
}


def copied(value):
    """Return what another process would get."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


def dumps_of(whitespace):
    """Return the arguments of json.dumps for a text that a policy takes."""
    if isinstance(whitespace, Layout):
        return {"indent": whitespace.indent, "separators": whitespace.separators}
    return {"indent": "\r" if whitespace == "any" else None}


def accepts(grammar, whitespace):
    """Whether the text of a policy is accepted."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(json.dumps(VALUE, **dumps_of(whitespace)).encode()) and matcher.is_accepting()


def takes(policy, other):
    """Whether a policy takes the text of another one."""
    wider = {"any": POLICIES, "flexible": ("flexible", Layout(indent=2))}
    return other in wider.get(policy, (policy,))


def test_no_line_break_leads_into_a_dead_end(byte_vocabulary):
    """Where a bracket would repeat an item, no whitespace is offered that only this bracket could follow."""
    matcher = schemagen.compile(UNIQUE_LISTS, byte_vocabulary, cache=None).matcher()
    assert matcher.accept_bytes(b"[[1],[1")
    assert {byte_vocabulary.tokens[i] for i in matcher.allowed_tokens()}.isdisjoint({b"\n", b" ", b"]"})
    assert not matcher.accept_bytes(b"\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"indent": -1}, "fewer than no spaces"),
        ({"indent": True}, "it is a bool"),
        ({"indent": 2.0}, "it is a float"),
        ({"indent": "--"}, "only space, tab"),
        ({"indent": "\u00a0"}, "only space, tab"),
        ({"separators": ","}, "no pair"),
        ({"separators": (",", ":", ";")}, "no pair"),
        ({"separators": (",", None)}, "no pair"),
        ({"separators": (";", ":")}, "';' is not one ','"),
        ({"separators": (",,", ":")}, "',,' is not one ','"),
        ({"separators": (",", "=>")}, "'=>' is not one ':'"),
        ({"separators": (":", ",")}, "':' is not one ','"),
        ({"separators": (",\u2003", ":")}, "JSON's whitespace"),
    ],
)
def test_what_is_no_layout_is_refused(arguments, why):
    """An indent or separator that JSON cannot have is refused where it is given, with the value and a way out."""
    with pytest.raises(schemagen.OptionError, match=re.escape(why)) as found:
        Layout(**arguments)
    assert repr(next(iter(arguments.values()))) in found.value.fact
    assert found.value.fix


def test_layouts_are_values():
    """Equal arguments make equal layouts, which can be keys and pickled; lists of separators become tuples."""
    layout = Layout(indent=2, separators=[" ,", ":"])
    assert layout == Layout(indent=2, separators=(" ,", ":")) == copied(layout)
    assert hash(layout) == hash(Layout(indent=2, separators=(" ,", ":")))
    assert str(layout) == "Layout(indent=2, separators=(' ,', ':'))"
    assert str(Layout()) == "Layout()"


@pytest.mark.parametrize("whitespace", ["none", None, 2, {"indent": 2}])
def test_a_mistyped_policy_is_refused(whitespace, byte_vocabulary):
    """What is no policy is refused by `compile` and `to_regex`, with those that there are."""
    for make in (
        lambda w: schemagen.compile(int, byte_vocabulary, whitespace=w),
        lambda w: schemagen.to_regex(int, whitespace=w),
    ):
        with pytest.raises(ValueError, match=r"'any', or give a schemagen\.Layout"):
            make(whitespace)


@pytest.mark.parametrize(
    ("layout", "name"), [(Layout(), "spaced"), (Layout(separators=(",", ":")), "compact")], ids=["spaced", "compact"]
)
def test_two_layouts_have_names(layout, name, byte_vocabulary):
    """The default layout of json.dumps is "spaced", and that without any space "compact": the same masks all along."""
    pair = [schemagen.compile(CLOSED, byte_vocabulary, whitespace=w).matcher() for w in (layout, name)]
    text = json.dumps(VALUE, separators=layout.separators).encode()
    for byte in text:
        assert pair[0].allowed_tokens() == pair[1].allowed_tokens()
        assert pair[0].shortest_completion() == pair[1].shortest_completion()
        assert pair[0].least_bytes() == pair[1].least_bytes()
        assert all(matcher.accept_bytes(bytes([byte])) for matcher in pair)
    assert schemagen.to_regex(CLOSED, whitespace=layout) == schemagen.to_regex(CLOSED, whitespace=name)


@pytest.mark.parametrize("whitespace", POLICIES, ids=str)
def test_the_memory_tells_layouts_apart(whitespace, byte_vocabulary):
    """Grammars in memory and pickled have the layout that was asked for."""
    schemagen.clear_cache()
    for other in POLICIES:
        schemagen.compile(NESTED, byte_vocabulary, whitespace=other)
    grammar = schemagen.compile(NESTED, byte_vocabulary, whitespace=whitespace)
    for same in (grammar, copied(grammar)):
        assert {w: accepts(same, w) for w in POLICIES} == {w: takes(whitespace, w) for w in POLICIES}


@pytest.mark.parametrize("whitespace", POLICIES, ids=str)
def test_the_report_names_the_layout_and_its_cap(whitespace, byte_vocabulary):
    """The report says what whitespace may be, with the soft cap where there is one."""
    notes = {
        "flexible": "flexible; soft cap: 40 characters of indentation",
        "any": "any; soft cap: 64 characters of whitespace in one place",
        Layout(indent=2): "exactly the layout of Layout(indent=2)",
        Layout(separators=(" ,", ":")): "exactly the layout of Layout(separators=(' ,', ':'))",
    }
    report = schemagen.compile(NESTED, byte_vocabulary, whitespace=whitespace).report
    assert [entry.note for entry in report if entry.keyword == "whitespace"] == [notes[whitespace]]


@pytest.mark.parametrize(
    ("whitespace", "read", "byte", "why"),
    [
        ("any", '{"a"' + 64 * " ", " ", '(whitespace="any") allows no more than 64 characters of whitespace in one place'),
        ("any", '{"a"  ', "x", "':' is expected after the key \"a\""),
        (Layout(indent=2), "{", "}", ""),
        (Layout(indent=2), "{", '"', "(whitespace=...) wants a line break"),
        (Layout(indent=2), "{\n ", '"', "(whitespace=...) wants a space"),
        (Layout(indent=2), "{\n  ", " ", "(whitespace=...) allows no ' '"),
        (Layout(indent=2), "{\n  ", "}", "(whitespace=...) wants something else here"),
        (Layout(indent="\t"), "{\n", '"', "(whitespace=...) wants a tab"),
        (Layout(indent=2), '{\n  "a":', "[", "(whitespace=...) wants a space"),
        (Layout(indent=2), '{\n  "a": []', "}", "(whitespace=...) wants a line break"),
        (Layout(indent=2), '{\n  "a": []\n', "x", "(whitespace=...) wants something else here"),
        (Layout(indent=2), '{\n  "a": []\n', ",", "(whitespace=...) wants something else here"),
        (Layout(separators=(" ,", ":")), '{"a":[]', ",", "(whitespace=...) wants a space"),
        (Layout(separators=(" ,", ":")), '{"a":[] ', "}", "(whitespace=...) wants something else here"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_the_layout_wants(whitespace, read, byte, why, byte_vocabulary):
    """Where whitespace is too much, missing or too little, the refusal says so."""
    matcher = schemagen.compile(NESTED, byte_vocabulary, whitespace=whitespace).matcher()
    assert matcher.accept_bytes(read.encode())
    assert matcher.explain(ord(byte)).endswith(why) if why else matcher.accept_bytes(byte.encode())


def test_what_a_layout_writes_between_two_choices_is_forced(byte_vocabulary):
    """Line breaks, indentation and separators of a layout have no choice, so they are read ahead with the key."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    matcher = schemagen.compile(schema, byte_vocabulary, whitespace=Layout(indent=2)).matcher()
    assert bytes(matcher.forced_tokens()) == b'{\n  "a": '
    assert matcher.accept_bytes(b'{\n  "a": 1\n')
    assert bytes(matcher.forced_tokens()) == b"}"


@pytest.mark.parametrize("whitespace", POLICIES, ids=str)
def test_a_recursive_value_costs_no_more_than_it_needs(whitespace, byte_vocabulary):
    """The bound of the bytes that are left is exact for required members at any depth."""
    schema = {
        "$ref": "#/$defs/t",
        "$defs": {
            "t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}, "v": {"const": [1]}}, "required": ["v"]}
        },
    }
    matcher = schemagen.compile(schema, byte_vocabulary, whitespace=whitespace).matcher()
    value = {"v": [1]}
    for _ in range(5):
        value = {"t": value, "v": [1]}
    for byte in json.dumps(value, **dumps_of(whitespace)).encode():
        assert matcher.least_bytes() == len(matcher.shortest_completion())
        assert matcher.accept_bytes(bytes([byte]))
    assert matcher.is_accepting()
