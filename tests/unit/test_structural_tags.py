"""Structural tags: each type of format, each option, how they nest, the older forms, and errors with their places."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import schemagen
from schemagen import StructuralTag
from schemagen.errors import (
    GrammarSyntaxError,
    InvalidPatternError,
    LimitError,
    OptionError,
    OptionTypeError,
    SchemagenError,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
    UnsupportedSchemaError,
)
from tests.grammars import BYTES, check_masks_along, derives

ANY = {"type": "any_text"}
X = {"type": "const_string", "value": "x"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def const(value: str) -> dict[str, Any]:
    """A format of one text."""
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: Any, end: Any) -> dict[str, Any]:
    """A tag."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def triggered(triggers: list[str], *tags: Any, **options: Any) -> dict[str, Any]:
    """Free text with tags in it."""
    return {"type": "triggered_tags", "triggers": triggers, "tags": list(tags), **options}


def separated(separator: str, *tags: Any, **options: Any) -> dict[str, Any]:
    """Tags with a separator."""
    return {"type": "tags_with_separator", "tags": list(tags), "separator": separator, **options}


def schema(value: Any, **options: Any) -> dict[str, Any]:
    """JSON of a schema."""
    return {"type": "json_schema", "json_schema": value, **options}


def structural(body: Any, **options: Any) -> StructuralTag:
    """The structural tag of a format."""
    return StructuralTag({"type": "structural_tag", "format": body}, **options)


#: Formats, texts that they describe, and texts that they do not.
CASES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "const_string": (const("a<b"), ["a<b"], ["a<", "", "a<bb"]),
    "empty const_string": (const(""), [""], ["a"]),
    "any_text": (ANY, ["", "a\nb", "é"], []),
    "any_text excludes": ({**ANY, "excludes": ["ab", "c"]}, ["", "ba", "aab"[:2]], ["ab", "xabx", "c"]),
    "any_text max_chars": ({**ANY, "max_chars": 2}, ["", "éé"], ["abc"]),
    "any_text max_tokens 0": ({**ANY, "max_tokens": 0}, [""], ["a"]),
    "regex": ({"type": "regex", "pattern": "a.|b+"}, ["a\n", "bb"], ["a", "xab", ""]),
    "regex anchors": ({"type": "regex", "pattern": "^a$"}, ["a"], ["ab"]),
    "regex flags": ({"type": "regex", "pattern": "(?i)ab"}, ["AB"], ["b"]),
    "regex excludes": ({"type": "regex", "pattern": "[ab]+", "excludes": ["bb"]}, ["aba"], ["abba", ""]),
    "grammar": ({"type": "grammar", "grammar": 'root ::= "(" root ")" | "x"'}, ["((x))"], ["(x", "()"]),
    "sequence": ({"type": "sequence", "elements": [const("a"), const("b")]}, ["ab"], ["a", "ba"]),
    "or": ({"type": "or", "elements": [const("a"), const("ab")]}, ["a", "ab"], ["b", ""]),
    "optional": ({"type": "optional", "content": const("a")}, ["", "a"], ["aa"]),
    "star": ({"type": "star", "content": const("a")}, ["", "aaa"], ["b"]),
    "plus": ({"type": "plus", "content": const("a")}, ["a", "aa"], [""]),
    "repeat": ({"type": "repeat", "min": 1, "max": 2, "content": X}, ["x", "xx"], ["", "xxx"]),
    "repeat without end": ({"type": "repeat", "min": 2, "max": -1, "content": X}, ["xx", "xxxx"], ["x"]),
    "repeat nothing": ({"type": "repeat", "min": 0, "max": 0, "content": X}, [""], ["x"]),
    "tag": (tag("<a>", X, "</a>"), ["<a>x</a>"], ["<a>x", "x", "<a></a>"]),
    "tag of free text": (tag("<a>", ANY, "</a>"), ["<a></a>", "<a>x</</a>"], ["<a></a></a>", "<a>"]),
    "end within itself": (tag("b", ANY, "aa"), ["baa", "baaa", "bxaxaa"], ["baaaa", "ba"]),
    "several ends": (tag("b", ANY, ["e", "ff"]), ["be", "bff", "bfe"], ["bee", "bf"]),
    "an end may be empty": (tag("b", ANY, ["e", ""]), ["b", "bx", "bxe"], ["bee"]),
    "empty begin and end": (tag("", X, ""), ["x"], [""]),
    "the nearest tag ends free text": (tag("a", tag("b", ANY, "c"), "d"), ["abdcd", "abcd"], ["abccd", "abcc"]),
    "free text in a sequence of a tag": (
        tag("b", {"type": "sequence", "elements": [ANY, X]}, "e"),
        ["bxe", "baxxe"],
        ["bexe", "be"],
    ),
    "free text in a loop of a tag": (tag("b", {"type": "star", "content": ANY}, "e"), ["be", "bxye"], ["bee"]),
    "excludes beside an end": (tag("b", {**ANY, "excludes": ["x"]}, "e"), ["be", "bye"], ["bxe", "bee"]),
    "free text without end": ({"type": "sequence", "elements": [ANY, X]}, ["x", "xax"], ["", "xa"]),
    "triggered_tags": (
        triggered(["<f"], tag("<f=a>", X, "</f>"), tag("<f=b>", const("y"), "")),
        ["", "text <", "<f=a>x</f>", "t<f=b>yt<f=a>x</f>t"],
        ["<f", "<f=c>x</f>", "t<f=a>y</f>"],
    ),
    "at_least_one": (
        triggered(["<"], tag("<a", X, ">"), at_least_one=True),
        ["<ax>", "<ax>t<ax>t"],
        ["", "t", "t<ax>", "<ax><"],
    ),
    "stop_after_first": (
        triggered(["<"], tag("<a", X, ">"), stop_after_first=True),
        ["", "t", "t<ax>"],
        ["<ax>t", "<ax><ax>"],
    ),
    "exactly one": (
        triggered(["<"], tag("<a", X, ">"), stop_after_first=True, at_least_one=True),
        ["<ax>"],
        ["", "t", "t<ax>", "<ax>t"],
    ),
    "tags with one begin": (triggered(["<"], tag("<", X, ">"), tag("<x", const("y"), ">")), ["<x>", "<xy>"], ["<xx>"]),
    "triggered_tags in a tag": (
        tag("B", triggered(["<"], tag("<a>", ANY, "Ex")), "E"),
        ["BE", "BtE", "B<a>ExE", "B<a>EExtE"],
        ["BEE", "B<a>ExEE", "BE<a>Ex"],
    ),
    "triggered_tags exclude": (
        triggered(["<"], tag("<a", const("z"), ">"), excludes=["z"]),
        ["<az>", "t<az>t"],
        ["z", "<az>z"],
    ),
    "what is excluded within a trigger": (triggered(["<a"], tag("<a", X, ">"), excludes=["<"]), ["", "a"], ["<ax>"]),
    "what is excluded complete with a trigger": (
        triggered(["<a"], tag("<a", X, ">"), excludes=["z<a"]),
        ["<ax>", "z", "y<ax>"],
        ["z<ax>"],
    ),
    "triggers that overlap": (
        triggered(["ab", "bc"], tag("ab", X, "."), tag("bcd", X, ".")),
        ["abx.", "bcdx.", "aabx.", "ac"],
        ["abcdx.", "bc"],
    ),
    "tags_with_separator": (
        separated(",", tag("a", X, "b"), tag("c", ANY, "d")),
        ["", "axb", "axb,cd", "cx,d,axb"],
        [",", "axb,", "axbaxb", "axb, axb"],
    ),
    "empty separator": (separated("", tag("a", X, "b")), ["", "axbaxb"], ["axb,axb"]),
    "tags_with_separator at_least_one": (
        separated(",", tag("a", X, "b"), at_least_one=True),
        ["axb", "axb,axb"],
        [""],
    ),
    "tags_with_separator stop_after_first": (
        separated(",", tag("a", X, "b"), stop_after_first=True),
        ["", "axb"],
        ["axb,axb"],
    ),
    "a separator like an end": (separated("e", tag("a", ANY, "e")), ["ae", "aeeae"], ["aee", "aeae"]),
    "dispatch": (
        {"type": "dispatch", "rules": [["<", X], ["<a", const("y")]]},
        ["", "t", "t<xt<x", "<ay"],
        ["<", "<a", "<y"],
    ),
    "dispatch once": ({"type": "dispatch", "rules": [["<", X]], "loop": False}, ["", "t", "t<x"], ["<xt"]),
    "dispatch in a tag": (
        tag("B", {"type": "dispatch", "rules": [["<", X]], "excludes": ["E"]}, "E"),
        ["BE", "B<xtE"],
        ["BEE", "BEtE"],
    ),
    "json_schema": (schema({"enum": [1, 22]}), ["1", "22"], ["2"]),
    "json_schema in a tag": (
        tag("<j>", schema(CITY), "</j>"),
        ['<j>{"city": "Bo</j>n"}</j>', '<j>{\n\t"city" :"" }</j>'],
        ["<j>{}</j>", '<j>{"city": 1}</j>'],
    ),
    "json_schema whitespace": (
        schema(CITY, max_whitespace_cnt=2),
        ['{"city":"a"}', '{  "city":  "a"  }'],
        ['{   "city":"a"}', '{"city":   "a"}', ' {"city":"a"}', '{"city":"a"} '],
    ),
    "json_schema in any order": (
        schema({"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a"], "additionalProperties": False}
               | {"type": "object"}, any_order=True),
        ['{"a":1}', '{"b":2,"a":1}'],
        ['{"b":2}', '{"a":1,"a":1}'],
    ),
    "recursive json_schema": (
        tag("[", schema({"type": "array", "items": {"$ref": "#"}, "maxItems": 1}), "]"),
        ["[[]]", "[[[[]]]]"],
        ["[]", "[[1]]"],
    ),
    "true": (schema(True), ["1", '"a"', '{"a" : [ null ] }'], ["", "{", " 1", "1 ", " [1]", "[1]\n", '"a" ', " null"]),
    "json_schema between texts": (
        {"type": "sequence", "elements": [const("a "), schema({"type": ["integer", "array"]}), const("\n")]},
        ["a 1\n", "a [ 1 ]\n"],
        ["a  1\n", "a 1 \n", "a 1\n\n", "a [] \n"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_texts_of_formats(name: str) -> None:
    """A format takes the texts that it describes, and no others."""
    body, accepted, rejected = CASES[name]
    spec = structural(body)
    assert [text for text in accepted if not derives(spec, text)] == []
    assert [text for text in rejected if derives(spec, text)] == []


@pytest.mark.parametrize(
    "name",
    [
        "tag of free text",
        "triggered_tags in a tag",
        "json_schema in a tag",
        "json_schema between texts",
        "a separator like an end",
    ],
)
def test_masks_of_formats(name: str) -> None:
    """Each mask on the way through a text is what trying every token gives."""
    body, accepted, _ = CASES[name]
    for text in accepted:
        check_masks_along(structural(body), text)


@pytest.mark.parametrize(
    "name",
    [
        "const_string",
        "json_schema",
        "regex",
        "grammar",
        "sequence",
        "tag",
        "triggered_tags",
        "tags_with_separator",
        "dispatch",
    ],
)
def test_fields_may_tell_the_type(name: str) -> None:
    """Where one of its fields is of one type only, a format need not say it."""
    body, accepted, rejected = CASES[name]
    spec = structural({field: value for field, value in body.items() if field != "type"})
    assert all(derives(spec, text) for text in accepted)
    assert not any(derives(spec, text) for text in rejected)


# --- parameters ------------------------------------------------------------------------------------------------------

TOOL = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["C", "F"]},
        "near": {"$ref": "#/$defs/Place"},
    },
    "required": ["city"],
    "$defs": {
        "Place": {"type": "object", "properties": {"in": {"$ref": "#/$defs/Place"}}, "additionalProperties": False}
    },
}
#: Style -> how it writes a string, and how any other value, by its key and JSON type.
WRITTEN = {
    "qwen_xml": ("<parameter={}>{}</parameter>", "<parameter={}>{}</parameter>"),
    "minimax_xml": ('<parameter name="{}">{}</parameter>', '<parameter name="{}">{}</parameter>'),
    "deepseek_xml": (
        '<\uff5cDSML\uff5cparameter name="{}" string="true">{}</\uff5cDSML\uff5cparameter>',
        '<\uff5cDSML\uff5cparameter name="{}" string="false">{}</\uff5cDSML\uff5cparameter>',
    ),
    "deepseek_v4_1_xml": (
        '<\uff5cDSML\uff5c parameter name="{}" string="true">{}</\uff5cDSML\uff5c parameter>',
        '<\uff5cDSML\uff5c parameter name="{}" string="false">{}</\uff5cDSML\uff5c parameter>',
    ),
    "glm_xml": ("<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>", "<arg_key>{}</arg_key><arg_value>{}</arg_value>"),
    "kimi_k3_xml": (
        '<|open|>argument key="{}" type="string"<|sep|>{}<|close|>argument<|sep|>',
        '<|open|>argument key="{}" type="{kind}"<|sep|>{}<|close|>argument<|sep|>',
    ),
}


@pytest.mark.parametrize("style", WRITTEN)
def test_styles_of_parameters(style: str) -> None:
    """Strings stand as they are, other values as JSON, in the order of the schema, with whitespace between them."""
    string, other = WRITTEN[style]
    city = string.format("city", 'B"<n')
    days, near = other.format("days", " 3", kind="number"), other.format("near", '{"in": {}}', kind="object")
    spec = structural(schema(TOOL, style=style))
    for text in (city, f"\n{city}\n{days}\n", city + string.format("unit", "C") + near, f"{city}{days}{near}"):
        assert derives(spec, text), text
    for text in ("", days, days + city, city + city, city + other.format("days", "x", kind="number"), f"{city}x{days}"):
        assert not derives(spec, text), text
    for text in (
        string.format("unit", "K"),
        other.format("near", '{"in": 1}', kind="object"),
        string.format("zip", "1"),
    ):
        assert not derives(spec, city + text), text


NESTED = {
    "type": "object",
    "properties": {
        "s": {"type": "string"},
        "n": {"type": ["integer", "null"]},
        "o": {"type": "object", "properties": {"k": {"enum": ["v", 1]}}, "required": ["k"]},
        "l": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "t": {"$ref": "#/$defs/Tree"},
    },
    "$defs": {"Tree": {"type": "object", "properties": {"t": {"$ref": "#/$defs/Tree"}}}},
}


def cohere(name: str, value: str, kind: str) -> str:
    """A value of the style cohere_xml; an item of a list has no name."""
    named = f' name="{name}"' if name else ""
    return f'<cofl:value{named} type="{kind}">{value}</cofl:value>'


def minimax(name: str, value: str, _kind: str) -> str:
    """A value of the style minimax_m3_xml."""
    return f"]<]minimax[>[<{name or 'item'}>{value}]<]minimax[>[</{name or 'item'}>"


@pytest.mark.parametrize(("style", "write"), [("cohere_xml", cohere), ("minimax_m3_xml", minimax)])
def test_styles_that_write_objects_and_lists_as_tags(style: str, write: Callable[[str, str, str], str]) -> None:
    """At any depth, with what their schemas say, recursive ones too."""
    spec = structural(schema(NESTED, style=style))
    item = write("", "q", "raw")
    tree = write("t", write("t", write("t", "", "dict"), "dict"), "dict")
    for text in (
        "",
        write("s", "a<b", "raw") + "\n" + write("n", "3", "json"),
        write("n", "null", "json") + write("o", write("k", "v", "raw"), "dict"),
        write("o", write("k", "1", "json"), "dict") + write("l", item + item, "list") + tree,
    ):
        assert derives(spec, text), text
    for text in (
        write("n", "x", "json"),
        write("o", "", "dict"),
        write("o", '{"k": 1}', "dict"),
        write("o", write("k", "w", "raw"), "dict"),
        write("l", "", "list"),
        write("l", 3 * item, "list"),
        write("t", write("s", "", "raw"), "dict"),
        write("n", "1", "json") + write("s", "a", "raw"),
    ):
        assert not derives(spec, text), text


def test_undeclared_values_as_tags() -> None:
    """Of the style cohere_xml they may be anything, at any depth; that of MiniMax has to know their names."""
    spec = structural(schema({"type": "object"}, style="cohere_xml"))
    deep = cohere("a", cohere("b", cohere("", "1", "json") + cohere("", "x", "raw"), "list"), "dict")
    assert derives(spec, deep + cohere("c", "true", "json"))
    assert not derives(spec, cohere("c", "x", "json"))
    with pytest.raises(UnsupportedSchemaError, match="not declared"):
        structural(schema({"type": "object", "additionalProperties": True}, style="minimax_m3_xml"))


def test_names_are_escaped_where_the_style_does() -> None:
    """As XML does it in attributes."""
    value = {"type": "object", "properties": {'a"<&': {"type": "string"}}}
    assert derives(structural(schema(value, style="cohere_xml")), cohere("a&quot;&lt;&amp;", "x", "raw"))
    assert derives(structural(schema(value, style="qwen_xml")), '<parameter=a"<&>x</parameter>')


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("x-y", True),
        ("x y", True),
        ("é", True),
        ("a&lt;b", True),
        ("b", False),
        ("", False),
        ("a<b", False),
        ("a&b", False),
    ],
)
def test_undeclared_names_are_any_text_where_they_are_escaped(name: str, is_one: bool) -> None:
    """Of the style cohere_xml, but for the empty one and those that are declared; of others, what code has for names."""
    value = {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "integer"}}
    text = f'<cofl:value name="{name}" type="json">1</cofl:value>'
    assert derives(structural(schema(value, style="cohere_xml")), text) == is_one
    is_the_declared = name == "b"
    assert derives(structural(schema(value, style="qwen_xml")), f"<parameter={name}>1</parameter>") == is_the_declared


def argument(name: str, value: str, kind: str) -> str:
    """A parameter of the style kimi_k3_xml."""
    return f'<|open|>argument key="{name}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'


def test_names_of_kimi_are_escaped() -> None:
    """As XML writes them, those that are declared and those that are not."""
    spec = structural(schema({"type": "object", "properties": {'we"i&k': {"type": "string"}}}, style="kimi_k3_xml"))
    assert derives(spec, argument("we&quot;i&amp;k", "x", "string"))
    assert not derives(spec, argument('we"i&k', "x", "string"))
    free = structural(schema(True, style="kimi_k3_xml"))
    assert derives(free, argument("a&lt;b", "x", "string"))
    assert not derives(free, argument("a<b", "x", "string"))


@pytest.mark.parametrize("value", [True, {"type": "object", "additionalProperties": True}, {"type": "object"}])
def test_integers_of_kimi_where_nothing_is_declared(value: Any) -> None:
    """They are integers or numbers; where an integer is declared it is a number."""
    free = structural(schema(value, style="kimi_k3_xml"))
    assert all(derives(free, argument("k", "1", kind)) for kind in ("integer", "number"))
    assert not any(derives(free, argument("k", text, "integer")) for text in ("1.5", "x", "null", ""))
    declared = structural(schema({"type": "object", "properties": {"k": {"type": "integer"}}}, style="kimi_k3_xml"))
    assert derives(declared, argument("k", "1", "number"))
    assert not derives(declared, argument("k", "1", "integer"))


@pytest.mark.parametrize(("style", "write"), [("cohere_xml", cohere), ("minimax_m3_xml", minimax)])
def test_unions_of_objects_as_tags(style: str, write: Callable[[str, str, str], str]) -> None:
    """An object or null, one of several objects, and a list of such: each as one of its kind."""
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    named = {"type": "object", "properties": {"y": {"enum": ["n"]}}, "required": ["y"]}
    either = {"anyOf": [{"$ref": "#/$defs/P"}, {"oneOf": [named, {"type": "null"}]}], "description": "one of both"}
    members = {"o": either, "l": {"anyOf": [{"type": "array", "items": either}, {"type": "null"}]}}
    spec = structural(schema({"type": "object", "properties": members, "$defs": {"P": point}}, style=style))
    x, y = write("x", "1", "json"), write("y", "n", "raw")
    for value in (x, y):
        assert derives(spec, write("o", value, "dict"))
        assert derives(spec, write("l", write("", x, "dict") + write("", value, "dict"), "list"))
    assert derives(spec, write("o", "null", "json") + write("l", "null", "json"))
    for text in (
        write("o", x + y, "dict"),
        write("o", "", "dict"),
        write("o", '{"x": 1}', "json"),
        write("l", x, "list"),
    ):
        assert not derives(spec, text), text
    one = structural(schema({"type": "object", "properties": {"o": {"oneOf": [point, named]}}}, style=style))
    assert [derives(one, write("o", value, "dict")) for value in (x, y, x + y, "")] == [True, True, False, False]


@pytest.mark.parametrize(("style", "write"), [("cohere_xml", cohere), ("minimax_m3_xml", minimax)])
def test_constants_and_tuples_as_tags(style: str, write: Callable[[str, str, str], str]) -> None:
    """An object or a list that is listed in an enum, and a list of which each item has a schema."""
    members = {
        "c": {"enum": [{"k": 1}, [True], "s"]},
        "t": {"prefixItems": [{"const": "a"}, {"const": 2}], "minItems": 1},
    }
    spec = structural(schema({"type": "object", "properties": members}, style=style))
    first, second = write("", "a", "raw"), write("", "2", "json")
    for value in (write("k", "1", "json"), write("", "true", "json")):
        assert derives(spec, write("c", value, "dict" if "k" in value else "list"))
    assert derives(spec, write("c", "s", "raw") + write("t", first, "list"))
    assert derives(spec, write("t", first + second, "list"))
    for text in (
        write("c", "", "dict"),
        write("t", "", "list"),
        write("t", second, "list"),
        write("c", "[true]", "json"),
    ):
        assert not derives(spec, text), text


def test_lists_with_more_to_keep_are_refused() -> None:
    """Tags keep items and how many there are."""
    value = {"type": "object", "properties": {"l": {"type": "array", "uniqueItems": True}}}
    with pytest.raises(UnsupportedSchemaError) as caught:
        structural(schema(value, style="cohere_xml"))
    assert caught.value.at == "/format/json_schema/properties/l"
    spec = structural(schema(value, style="qwen_xml"))
    assert derives(spec, "<parameter=l>[1, 2]</parameter>")
    assert not derives(spec, "<parameter=l>[1, 1]</parameter>")


def test_a_string_parameter_ends_at_the_first_end() -> None:
    """What ends a parameter is no part of it, so a text has one reading."""
    spec = structural(schema(TOOL, style="qwen_xml"))
    assert not derives(spec, "<parameter=city>a</parameter></parameter>")
    assert derives(spec, "<parameter=city>a</param</parameter>")


def test_parameters_of_several_types() -> None:
    """A string, or another value in JSON; of a style that says which it is, as it says."""
    value = {"type": "object", "properties": {"a": {"type": ["string", "null"], "pattern": "^a+$"}}}
    qwen, deepseek = structural(schema(value, style="qwen_xml")), structural(schema(value, style="deepseek_xml"))
    assert derives(qwen, "<parameter=a>null</parameter>")
    assert derives(qwen, "<parameter=a>aa</parameter>")
    assert not derives(qwen, "<parameter=a>b</parameter>")
    string, other = WRITTEN["deepseek_xml"]
    assert derives(deepseek, other.format("a", "null"))
    assert derives(deepseek, string.format("a", "aa"))
    assert not derives(deepseek, string.format("a", "null"))
    assert not derives(deepseek, other.format("a", "aa"))


def test_parameters_that_are_not_declared() -> None:
    """They follow the declared ones where the schema says so, under other names."""
    more = {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": {"type": "integer"}}
    spec = structural(schema(more, style="qwen_xml"))
    assert derives(spec, "<parameter=a>1</parameter><parameter=b>2</parameter><parameter=c_1>3</parameter>")
    assert not derives(spec, "<parameter=a>2</parameter>")
    assert not derives(spec, "<parameter=1a>2</parameter>")
    assert derives(structural(schema({"type": "object"}, style="qwen_xml")), "<parameter=q>text</parameter>")
    assert derives(structural(schema(True, style="qwen_xml")), "<parameter=q>text</parameter>")


def test_objects_of_parameters_are_closed_together() -> None:
    """Parts of one schema declare keys for each other, and there are no others; also where texts are left out."""
    parts = [{"type": "object", "properties": {"a": {"const": 1}}}, {"properties": {"b": {"type": "string"}}}]
    for options in ({}, {"excludes": ["<|"]}):
        spec = structural(schema({"allOf": parts}, style="qwen_xml", **options))
        a, b, other = ("<parameter={}>{}</parameter>".format(*each) for each in (("a", 1), ("b", "<|"), ("c", 1)))
        assert derives(spec, a)
        assert derives(spec, a + b) is not bool(options)
        assert not derives(spec, a + other)


def test_parameters_in_any_order() -> None:
    """Each at most once, and those that are required."""
    spec = structural(schema({**TOOL, "required": ["city", "days"]}, style="qwen_xml", any_order=True))
    city, days = "<parameter=city>a</parameter>", "<parameter=days>1</parameter>"
    assert derives(spec, city + days)
    assert derives(spec, days + city)
    assert not derives(spec, days)
    assert not derives(spec, days + city + days)


def test_the_older_name_of_a_style() -> None:
    """The format qwen_xml_parameter is the style qwen_xml."""
    spec = structural({"type": "qwen_xml_parameter", "json_schema": TOOL})
    assert derives(spec, "<parameter=city>a</parameter>")
    assert not derives(spec, '{"city": "a"}')


@pytest.mark.parametrize(
    ("value", "keyword"),
    [
        ({"type": "string"}, "type"),
        (
            {"type": "object", "not": {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"const": 1}}},
            "",
        ),
        ({"type": "object", "properties": {key: {} for key in "abcdefghi"}}, "properties"),
        ({"type": "object", "properties": {"a>b": {}}}, "properties/a>b"),
    ],
)
def test_what_parameters_cannot_keep_is_refused(value: Any, keyword: str) -> None:
    """A keyword about the object as a whole is an error at its place."""
    with pytest.raises(UnsupportedSchemaError) as caught:
        structural(schema(value, style="qwen_xml", any_order=True))
    assert caught.value.at == f"/format/json_schema/{keyword}".rstrip("/")


def test_no_parameters_satisfy_a_schema() -> None:
    """The error says why, at the place of the schema."""
    with pytest.raises(UnsatisfiableSchemaError, match="forbidden by additionalProperties") as caught:
        structural(schema({"type": "object", "required": ["a"], "properties": {}}, style="glm_xml"))
    assert caught.value.at == "/format/json_schema"


def test_references_into_a_schema() -> None:
    """A reference leads to any place of the schema, also from JSON inside of a parameter."""
    members = {"a": {"type": "array", "items": {"$ref": "#/properties/a"}}, "o": {"$ref": "#"}}
    for style in ("qwen_xml", "glm_xml"):
        spec = structural(schema({"type": "object", "properties": members}, style=style))
        write = WRITTEN[style][1].format
        assert derives(spec, write("a", "[[], [[]]]") + write("o", '{"a": [], "o": {}}'))
        assert not derives(spec, write("a", "[1]"))
        assert not derives(spec, write("o", '{"a": 1}'))


# --- texts that JSON must not hold -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "accepted", "rejected"),
    [
        (True, ['"a"', '{"a": ["x", {"b": 1}]}', "1"], ['"a<|b"', '{"<|": 1}', '[{"a": ["<|"]}]', '"\\u003c|"']),
        ({"enum": ["a", "<|", 1]}, ['"a"', "1"], ['"<|"']),
        ({"$ref": "#/$defs/S", "$defs": {"S": {"type": "string"}}}, ['"<"'], ['"<|"', "1"]),
        (
            {"type": "object", "properties": {"n": {"$ref": "#"}, "s": {"type": "string"}}},
            ['{"n": {"s": "x"}}'],
            ['{"n": {"n": {"s": "<|"}}}'],
        ),
        ({"allOf": [{"type": "string"}], "pattern": "^[a<|]$"}, ['"<"', '"|"'], ['"<|"']),
    ],
)
def test_json_without_some_texts(value: Any, accepted: list[str], rejected: list[str]) -> None:
    """No string and no key holds them, at any depth and in any spelling."""
    spec = structural(schema(value, excludes=["<|", "zz"]))
    assert [text for text in accepted if not derives(spec, text)] == []
    assert [text for text in rejected if derives(spec, text)] == []


def test_parameters_without_some_texts() -> None:
    """Neither in strings nor in the JSON of other values."""
    spec = structural(schema(NESTED, style="qwen_xml", excludes=["<|"]))
    string, value = "<parameter=s>{}</parameter>".format, '<parameter=l>["{}"]</parameter>'.format
    assert derives(spec, string("<") + value("|"))
    assert not derives(spec, string("<|"))
    assert not derives(spec, value("<|"))


# --- tokens ----------------------------------------------------------------------------------------------------------

NAMED = schemagen.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"", b"", b"<eos>"],
    eos_token_ids=[258],
    special_token_ids=[256, 257, 258],
    token_names={256: "<|call|>", 257: "<|end|>", 258: "<eos>"},
)


def test_tokens_begin_and_end_a_tag() -> None:
    """A token is named, or given by its id, and no text stands for it."""
    call = {"type": "token", "token": "<|call|>"}
    spec = structural(tag(call, ANY, {"type": "token", "token": 257}))
    matcher = schemagen.compile(spec, NAMED).matcher()
    assert matcher.allowed_tokens() == [256]
    assert matcher.accept_token(256)
    assert 257 in matcher.allowed_tokens()
    assert 258 not in matcher.allowed_tokens()
    assert matcher.accept_bytes(b"text")
    assert matcher.accept_token(257)
    assert matcher.is_accepting()


def test_a_token_of_text_is_refused_around_free_text_with_its_place() -> None:
    """There ordinary tokens are read as their characters, so nothing tells one of them from free text."""
    with pytest.raises(UnsupportedGrammarError, match="ordinary token") as caught:
        schemagen.compile(structural(tag({"type": "token", "token": 97}, ANY, "</a>")), NAMED)
    assert caught.value.at == "/format/begin/token"


def test_a_token_of_text_by_its_id() -> None:
    """A format of its own is that token, whatever its text."""
    tokens = {"type": "star", "content": {"type": "token", "token": 97}}
    elements = [{"type": "const_string", "value": "<"}, tokens, {"type": "token", "token": "<|end|>"}]
    grammar = schemagen.compile(structural({"type": "sequence", "elements": elements}), NAMED)
    for ids, is_read in (([60, 257], True), ([60, 97, 97, 257], True), ([60, 98, 257], False), ([97, 257], False)):
        matcher = grammar.matcher()
        assert (all(map(matcher.accept_token, ids)) and matcher.is_accepting()) == is_read


def accepts(spec: StructuralTag, *pieces: str | int) -> bool:
    """Whether a spec takes texts and tokens, in this order, as a whole."""
    matcher = schemagen.compile(spec, NAMED).matcher()
    taken = (
        matcher.accept_bytes(each.encode()) if isinstance(each, str) else matcher.accept_token(each) for each in pieces
    )
    return all(taken) and matcher.is_accepting()


CALL, END = {"type": "token", "token": "<|call|>"}, {"type": "token", "token": "<|end|>"}


@pytest.mark.parametrize(
    ("options", "accepted", "rejected"),
    [
        (
            {},
            [(), ("t",), ("t", 256, "x", 257, "t", 256, "x", 257)],
            [(256,), (256, "y"), (257,), (256, "x", 257, 257)],
        ),
        ({"at_least_one": True}, [(256, "x", 257, "t")], [(), ("t", 256, "x", 257)]),
        ({"stop_after_first": True}, [(), ("t",), ("t", 256, "x", 257)], [("t", 256, "x", 257, "t")]),
        ({"stop_after_first": True, "at_least_one": True}, [(256, "x", 257)], [("t", 256, "x", 257), ()]),
    ],
)
def test_tags_behind_tokens(options: Any, accepted: list[Any], rejected: list[Any]) -> None:
    """Text, and where a trigger token comes, one of its tags."""
    body = {"type": "token_triggered_tags", "trigger_tokens": ["<|call|>"], "tags": [tag(CALL, X, END)], **options}
    spec = structural(body)
    assert [pieces for pieces in accepted if not accepts(spec, *pieces)] == []
    assert [pieces for pieces in rejected if accepts(spec, *pieces)] == []


def test_formats_behind_tokens() -> None:
    """A token hands over to its format, once or again and again."""
    rules = [["<|call|>", X], [257, const("y")]]
    loop, once = (
        structural({"type": "token_dispatch", "rules": rules}),
        structural({"type": "token_dispatch", "rules": rules, "loop": False}),
    )
    assert accepts(loop, "t", 256, "xt", 257, "y")
    assert accepts(once, "t", 257, "y")
    assert not accepts(once, "t", 257, "yt")
    assert not accepts(loop, 256, "y")


def test_text_of_any_tokens() -> None:
    """Special tokens are none of them; a tag of theirs ends with its token."""
    spec = structural(tag(CALL, {"type": "any_tokens", "exclude_tokens": ["<|call|>"]}, END))
    assert accepts(spec, 256, "any <|end|> text", 257)
    assert not accepts(spec, 256, 256, 257)
    assert not accepts(spec, 256, 257, 257)
    assert accepts(structural({"type": "any_tokens", "max_tokens": 0}))
    assert not accepts(structural({"type": "any_tokens", "max_tokens": 0}), "a")


def test_tokens_that_are_left_out() -> None:
    """Added tokens with a text are no text where they are left out, and ordinary ones cannot be."""
    added = schemagen.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b"<t>", b"ab", b""], eos_token_ids=[258], token_names={256: "<t>"}
    )
    for exclude in (["<t>"], [256]):
        matcher = schemagen.compile(structural({"type": "any_tokens", "exclude_tokens": exclude}), added).matcher()
        assert 256 not in matcher.allowed_tokens()
        assert 257 in matcher.allowed_tokens()
    free = schemagen.compile(structural({"type": "any_tokens"}), added).matcher()
    assert 256 in free.allowed_tokens()
    part = schemagen.concat(["x"], structural({"type": "any_tokens", "exclude_tokens": ["<t>"]}))
    matcher = schemagen.compile(part, added).matcher()
    assert matcher.accept_bytes(b"x")
    assert 256 not in matcher.allowed_tokens()
    with pytest.raises(UnsupportedGrammarError, match="ordinary token") as caught:
        schemagen.compile(structural({"type": "any_tokens", "exclude_tokens": [257]}), added)
    assert caught.value.at == "/format/exclude_tokens/0"


# --- the spec --------------------------------------------------------------------------------------------------------


def test_the_forms_of_a_tag_are_one_spec() -> None:
    """A dict, its JSON text, and whatever dumps as one are equal, and so are their hashes."""
    whole = {"type": "structural_tag", "format": tag("<a>", ANY, "</a>")}

    class Model(BaseModel):
        type: str
        format: dict[str, Any]

    spec = StructuralTag(whole)
    assert spec == StructuralTag(json.dumps(whole)) == StructuralTag(Model(**whole))
    assert hash(spec) == hash(StructuralTag(whole))
    assert spec != StructuralTag(whole, whitespace="compact")
    assert repr(spec) == f"StructuralTag({spec.text!r})"


def test_a_dict_may_be_changed_afterwards() -> None:
    """The spec keeps a copy."""
    whole = {"type": "structural_tag", "format": const("a")}
    spec = StructuralTag(whole)
    whole["format"] = const("b")
    assert derives(spec, "a")


def test_pickles_without_its_rules() -> None:
    """A spec is read again where it is unpickled."""
    spec = structural(tag("<a>", schema(CITY), "</a>"))
    again = pickle.loads(pickle.dumps(spec))  # noqa: S301 - our own bytes
    assert again == spec
    assert derives(again, '<a>{"city": "a"}</a>')


def test_values_and_prompts() -> None:
    """The value is the text, and a prompt shows the tag."""
    spec = structural(tag("<a>", X, "</a>"))
    assert schemagen.compile(spec, BYTES).validate("<a>x</a>") == "<a>x</a>"
    assert json.loads(spec.shown())["format"]["begin"] == "<a>"
    assert "structural tag" in spec.instruction


def test_json_in_another_layout() -> None:
    """The layout of JSON is that of the tag, whatever is said to `compile`."""
    spec = structural(schema(CITY), whitespace="compact")
    matcher = schemagen.compile(spec, BYTES, whitespace="any").matcher()
    assert not matcher.accept_bytes(b'{"city": ')
    with pytest.raises(OptionError):
        structural(ANY, whitespace="tight")


def test_a_tag_without_recursion_is_a_regular_expression() -> None:
    """So it can be printed and drawn as one."""
    spec = structural(tag("<a>", {"type": "regex", "pattern": "[0-9]+"}, "</a>"))
    assert schemagen.to_regex(spec) == "<a>[0-9]+</a>"


# --- older forms -----------------------------------------------------------------------------------------------------

STRUCTURE = {"begin": "<f=city>", "schema": CITY, "end": "</f>"}


class City(BaseModel):
    """A schema as a class."""

    city: str


@pytest.mark.parametrize("given", [CITY, json.dumps(CITY), City])
def test_structures_with_triggers(given: Any) -> None:
    """The older form is free text with JSON in its tags."""
    spec = StructuralTag({"structures": [{**STRUCTURE, "schema": given}], "triggers": ["<f="]})
    assert derives(spec, 'see <f=city>{"city": "a"}</f> there')
    assert not derives(spec, "see <f=town>")
    assert not derives(spec, "<f=city>{}</f>")
    assert spec == StructuralTag([{**STRUCTURE, "schema": given}], triggers=["<f="])
    assert json.loads(spec.text)["format"]["type"] == "triggered_tags"


def test_a_list_of_structures_needs_triggers() -> None:
    """And a whole tag has its own."""
    with pytest.raises(OptionError, match="without triggers="):
        StructuralTag([STRUCTURE])
    for whole in ({"structures": [STRUCTURE], "triggers": ["<f="]}, {"format": ANY}):
        with pytest.raises(OptionError, match="beside"):
            StructuralTag(whole, triggers=["<f="])


# --- errors ----------------------------------------------------------------------------------------------------------

#: What is wrong, and where.
WRONG: list[tuple[Any, str]] = [
    ("x", "/format"),
    (None, "/format"),
    ({}, "/format/type"),
    ({"type": "anytext"}, "/format/type"),
    ({"type": 1}, "/format/type"),
    ({"type": "const_string"}, "/format"),
    (const(1), "/format/value"),  # type: ignore[arg-type]
    ({**X, "values": "x"}, "/format/values"),
    ({**ANY, "excludes": "x"}, "/format/excludes"),
    ({**ANY, "excludes": [1]}, "/format/excludes/0"),
    ({**ANY, "excludes": [""]}, "/format/excludes/0"),
    ({**ANY, "max_chars": -1}, "/format/max_chars"),
    ({**ANY, "max_chars": True}, "/format/max_chars"),
    ({"type": "regex", "pattern": ""}, "/format/pattern"),
    ({"type": "grammar", "grammar": ""}, "/format/grammar"),
    (schema("{}"), "/format/json_schema"),
    (schema({}, style="xml"), "/format/style"),
    (schema({}, any_order=1), "/format/any_order"),
    (schema({}, max_whitespace_cnt=0), "/format/max_whitespace_cnt"),
    ({"type": "sequence", "elements": []}, "/format/elements"),
    ({"type": "sequence", "elements": X}, "/format/elements"),
    ({"type": "or", "elements": [X, {"type": "or", "elements": []}]}, "/format/elements/1/elements"),
    ({"type": "star"}, "/format"),
    ({"type": "repeat", "min": 2, "max": 1, "content": X}, "/format/min"),
    ({"type": "repeat", "min": -1, "max": 1, "content": X}, "/format/min"),
    ({"type": "repeat", "min": 0, "max": -2, "content": X}, "/format/max"),
    ({"type": "repeat", "min": 0.5, "max": 1, "content": X}, "/format/min"),
    (tag(1, X, "e"), "/format/begin"),
    (tag("b", X, 1), "/format/end"),
    (tag("b", X, []), "/format/end"),
    (tag("b", X, ["e", 1]), "/format/end/1"),
    (tag("b", ANY, ""), "/format/content"),
    (tag("b", ANY, ["", ""]), "/format/content"),
    (tag({"type": "const_string", "value": "x"}, ANY, "e"), "/format/begin/value"),
    (tag("b", {"type": "sequence", "elements": [X, ANY]}, ""), "/format/content/elements/1"),
    (tag("b", triggered(["<"], tag("<", X, ">")), ""), "/format/content"),
    (triggered([], tag("<", X, ">")), "/format/triggers"),
    (triggered([""], tag("<", X, ">")), "/format/triggers/0"),
    (triggered(["<"]), "/format/tags"),
    (triggered(["<"], X), "/format/tags/0/type"),
    (triggered(["<"], tag("<", X, ">"), tag("a", X, ">")), "/format/tags/1/begin"),
    (triggered(["<", "<a"], tag("<a", X, ">")), "/format/tags/0/begin"),
    (triggered(["<", "a"], tag("<a", X, ">")), "/format/triggers/1"),
    (triggered(["<"], tag({"type": "token", "token": 1}, X, ">")), "/format/tags/0/begin"),
    (triggered(["<"], tag("<", X, ">"), excludes=[""]), "/format/excludes/0"),
    (triggered(["<"], tag("<", X, ">"), at_least_one=None), "/format/at_least_one"),
    (separated(","), "/format/tags"),
    ({"type": "tags_with_separator", "tags": [tag("<", X, ">")]}, "/format"),
    ({"type": "dispatch", "rules": []}, "/format/rules"),
    ({"type": "dispatch", "rules": [["<"]]}, "/format/rules/0"),
    ({"type": "dispatch", "rules": [["", X]]}, "/format/rules/0/0"),
    ({"type": "dispatch", "rules": [["<", {"type": "x"}]]}, "/format/rules/0/1/type"),
    ({"type": "token", "token": -1}, "/format/token"),
    ({"type": "token", "token": ""}, "/format/token"),
    ({"type": "any_tokens", "exclude_tokens": [None]}, "/format/exclude_tokens/0"),
    (
        {"type": "token_triggered_tags", "trigger_tokens": [1], "tags": [tag({"type": "token", "token": 2}, X, "e")]},
        "/format/tags/0/begin",
    ),
    (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [1],
            "tags": [tag({"token": 1}, X, "e")],
            "exclude_tokens": [2, 1],
        },
        "/format/exclude_tokens/1",
    ),
    (
        {"type": "token_dispatch", "rules": [[1, X]], "exclude_tokens": [1]},
        "/format/exclude_tokens/0",
    ),
    (
        {"type": "token_triggered_tags", "trigger_tokens": [1, 2], "tags": [tag({"token": 1}, X, "e")]},
        "/format/trigger_tokens/1",
    ),
    ({"type": "token_dispatch", "rules": [[1]]}, "/format/rules/0"),
]


@pytest.mark.parametrize(("body", "place"), WRONG, ids=lambda given: json.dumps(given)[:60])
def test_a_malformed_tag_is_an_error_at_its_place(body: Any, place: str) -> None:
    """The error has a JSON pointer to what is wrong, and says what to do."""
    with pytest.raises(GrammarSyntaxError) as caught:
        structural(body)
    assert caught.value.at == place
    assert caught.value.fix


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (schema({}, excludes=["<", 'a"']), "/format/excludes/1"),
        (schema({"unevaluatedProperties": False}, excludes=["<"]), "/format"),
    ],
)
def test_what_cannot_be_enforced_is_refused(body: Any, place: str) -> None:
    """It is never left out without a word."""
    with pytest.raises(UnsupportedGrammarError) as caught:
        structural(body)
    assert caught.value.at == place
    assert caught.value.why
    assert caught.value.fix


def test_errors_of_parts_have_both_places() -> None:
    """Where the part stands, and where in it."""
    with pytest.raises(GrammarSyntaxError) as grammar:
        structural({"type": "sequence", "elements": [{"type": "grammar", "grammar": "root ::= x"}]})
    assert grammar.value.at == "/format/elements/0/grammar: line 1, column 10"
    with pytest.raises(InvalidPatternError) as pattern:
        structural({"type": "regex", "pattern": "a("})
    assert pattern.value.at.startswith("/format/pattern: position 1 ")
    with pytest.raises(InvalidPatternError):
        structural({"type": "regex", "pattern": "a)(?:b"})
    with pytest.raises(UnsatisfiableSchemaError) as nothing:
        structural({"type": "regex", "pattern": "a^b"})
    assert nothing.value.at == "/format/pattern"
    with pytest.raises(SchemagenError) as inner:
        schemagen.compile(structural(tag("a", schema({"properties": {"p": {"type": "nope"}}}), "b")), BYTES)
    assert inner.value.at == "/format/content/json_schema/properties/p/type"


def test_what_is_no_tag_at_all() -> None:
    """Other values, other JSON, and texts that are no JSON are told apart."""
    with pytest.raises(OptionTypeError):
        StructuralTag(3)
    with pytest.raises(OptionTypeError):
        StructuralTag("3")
    with pytest.raises(GrammarSyntaxError, match="no JSON") as caught:
        StructuralTag('{"type": }')
    assert (caught.value.line, caught.value.column) == (1, 10)
    with pytest.raises(GrammarSyntaxError, match="no JSON"):
        StructuralTag({"format": {"type": "const_string", "value": object()}})
    with pytest.raises(GrammarSyntaxError, match="'format' is missing"):
        StructuralTag({"type": "structural_tag"})
    with pytest.raises(GrammarSyntaxError, match="no type of a structural tag"):
        StructuralTag({"type": "json_schema", "format": ANY})


def test_hostile_tags_hit_a_limit() -> None:
    """Nesting, counts and numbers of literals are bounded, in little time."""
    deep: dict[str, Any] = X
    for _ in range(100):
        deep = tag("a", deep, "b")
    with pytest.raises(LimitError, match="nested more than"):
        structural(deep)
    for _ in range(100_000):
        deep = {"type": "star", "content": deep}
    with pytest.raises(LimitError, match="nested too deep"):
        structural(deep)
    with pytest.raises(LimitError, match="nested too deep"):
        StructuralTag('{"format":' * 200_000)
    with pytest.raises(LimitError, match="texts that free text must not hold"):
        structural({**ANY, "excludes": [str(number) for number in range(1000)]})
    with pytest.raises(LimitError, match="whitespace"):
        structural(schema({}, max_whitespace_cnt=100_000))
    for wrap in (
        lambda inner: separated(",", tag("<", inner, ">"), tag("b", X, "c")),
        lambda inner: triggered(["<"], tag("<", inner, ">"), tag("<b", X, "c"), at_least_one=True),
    ):  # an inner format that were written out twice at each level would be so 2**50 times
        shared: dict[str, Any] = schema({"enum": [1, 2]})
        for _ in range(50):
            shared = wrap(shared)
        assert derives(structural(shared), 50 * "<" + "1" + 50 * ">")
    with pytest.raises(LimitError):
        schemagen.compile(structural({"type": "repeat", "min": 10**9, "max": -1, "content": schema({})}), BYTES)


# --- objects are closed unless they say otherwise ------------------------------------------------------------------------

A, B = {"a": {"const": 1}}, {"b": {"const": 2}}
CLOSED: list[tuple[Any, list[str], list[str]]] = [
    ({"type": "object"}, ["{}", '{"a":1}'], ["1"]),
    ({"type": "object", "properties": A}, ["{}", '{"a":1}'], ['{"b":1}', '{"a":1,"b":2}']),
    ({"properties": A}, ['{"a":1}'], ['{"a":1,"b":2}', "1"]),
    ({"type": ["object", "null"], "properties": A}, ["null"], ['{"b":1}']),
    ({"type": "object", "properties": {}}, ["{}"], ['{"a":1}']),
    ({"type": "object", "properties": A, "additionalProperties": B["b"]}, ['{"a":1,"x":2}'], ['{"x":1}']),
    ({"type": "object", "properties": A, "unevaluatedProperties": True}, ['{"a":1,"x":2}'], ['{"a":2}']),
    ({"type": "object", "patternProperties": {"^x": {}}}, ['{"x":1}'], ['{"y":1}']),
    ({"properties": {"o": {"properties": A}}}, ['{"o":{"a":1}}'], ['{"o":{"b":1}}']),
    ({"$ref": "#/$defs/o", "$defs": {"o": {"type": "object", "properties": A}}}, ['{"a":1}'], ['{"b":1}']),
    ({"type": "array", "prefixItems": [{"const": 1}]}, ["[1]", "[]"], ["[1,1]", "1"]),
    ({"prefixItems": [{"const": 1}], "items": {"const": 2}}, ["[1,2,2]"], ["[1,3]", "{}"]),
    ({"type": "array"}, ["[1,{}]"], []),
    ({"items": {"properties": A}}, ['[{"a":1}]'], ['[{"b":1}]', "1"]),
    ({"anyOf": [{"properties": A}, {"properties": B}]}, ['{"a":1}', '{"b":2}'], ['{"a":1,"b":2}', '{"c":3}', "1"]),
    (
        {"allOf": [{"type": "object", "properties": A}, {"properties": B}]},
        ['{"a":1,"b":2}', "{}"],
        ['{"c":3}', '{"a":2}'],
    ),
    (
        {"type": "object", "properties": A, "anyOf": [{"properties": B, "required": ["b"]}, {"required": ["a"]}]},
        ['{"a":1,"b":2}', '{"a":1}', '{"b":2}'],
        ['{"a":1,"c":3}', "{}"],
    ),
    (
        {
            "type": "object",
            "properties": {"k": {"enum": ["x", "y"]}},
            "if": {"properties": {"k": {"const": "x"}}},
            "then": {"properties": A},
        },
        ['{"k":"x","a":1}', '{"k":"y"}'],
        ['{"k":"x","b":2}'],
    ),
    ({"not": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "type": "object"}, ['{"b":1}'], ['{"a":1,"b":1}']),
    ({"enum": [{"a": 1, "z": 2}]}, ['{"a":1,"z":2}'], ['{"a":1}']),
]


@pytest.mark.parametrize(("given", "taken", "refused"), CLOSED, ids=[str(given)[:60] for given, _, _ in CLOSED])
def test_objects_are_closed(given: Any, taken: list[str], refused: list[str]) -> None:
    """Where they declare keys; a tuple has its items alone. The schema that was given stays as it is."""
    before = json.dumps(given)
    spec = structural(schema(given))
    assert [text for text in taken if not derives(spec, text)] == []
    assert [text for text in refused if derives(spec, text)] == []
    assert json.dumps(given) == before


def test_objects_are_open_if_that_is_asked_for() -> None:
    """As JSON Schema has it."""
    tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"properties": A}}}
    spec = schemagen.StructuralTag(tag, closed=False)
    assert derives(spec, '{"b":1}')
    assert derives(spec, "1")
    assert spec != schemagen.StructuralTag(tag)
    assert "closed=False" in repr(spec)
    with pytest.raises(OptionError):
        schemagen.StructuralTag(tag, closed=1)  # type: ignore[arg-type]
