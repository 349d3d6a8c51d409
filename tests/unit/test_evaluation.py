"""Reading what a model meant, comparing it with the right answer, and how sure a share is."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field

from schemagen import Choice
from schemagen.errors import OptionError
from schemagen.evaluation import Example, evaluate, read_examples
from schemagen.evaluation.scoring import fields_right, paired, wilson
from schemagen.grammar.lenient_json import first_object
from schemagen.rows import Result
from schemagen.rows.formats import CsvFormat

MEANT = [
    ('{"a": 1}', {"a": 1}),
    ('```json\n{"a": 1}\n```', {"a": 1}),
    ('Sure! Here it is: {"a": 1}. Anything else?', {"a": 1}),
    ("{'a': 'it', b: True, c: None}", {"a": "it", "b": True, "c": None}),
    ('{"a": [1, 2,], "b": {"c": 2,},}', {"a": [1, 2], "b": {"c": 2}}),
    ('{"a": 1 // one\n, /* two */ "b": 2}', {"a": 1, "b": 2}),
    ('{"a": 1\n "b": 2}', {"a": 1, "b": 2}),
    ('{"a": {"b": 1}, "c": "cut off he', {"a": {"b": 1}, "c": "cut off he"}),
    ('{"a": 1, "b":', {"a": 1}),
    ('{"a": 1, "b"', {"a": 1}),
    ('{"a": hello world, "b": 3}', {"a": "hello world", "b": 3}),
    ('{"a": 42 dollars}', {"a": "42 dollars"}),
    ('{"a": 1,234, "b": 2}', {"a": 1234, "b": 2}),
    ('{"a": 1.5e3, "b": -2, "c": +3}', {"a": 1500.0, "b": -2, "c": 3}),
    ('{"a": "x\ny", "b": "\\u00e9\\n\\"z\\""}', {"a": "x\ny", "b": 'é\n"z"'}),
    ("{\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK}: 1}", {"a": 1}),
    ('{"a" 1} then {"b": 2}', {"b": 2}),
    ('The set {} is empty, {"a": 1} is not.', {"a": 1}),
    ('{"a": , "b": 1}', {"a": None, "b": 1}),
    ("no object at all", None),
    ("{", None),
    ("{}", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_what_was_meant_is_read(text, meant):
    """Around and into JSON anything may be written."""
    assert first_object(text) == meant


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=6,
        ),
        min_size=1,
    )
)
def test_json_is_read_as_json(value):
    """Whatever stands around it."""
    assert first_object(f"Answer: {json.dumps(value)} and that is all") == value


@given(st.text(alphabet="{}[]\",:'abc019.-+ \n\\/*#eEtrufalsn", max_size=60))
def test_no_text_breaks_the_reader(text):
    """It gives an object with a key, or nothing."""
    found = first_object(text)
    assert found is None or (isinstance(found, dict) and found)


RIGHT = [
    ("  ada LOVELACE ", "Ada Lovelace", True),
    ("Ada", "Ada Lovelace", False),
    (36, 36.0, True),
    ("36", 36, True),
    ("$1,200", 1200, True),
    ("42 dollars", 42, True),
    (True, 1, False),
    (1, True, False),
    ("yes", True, False),
    ("true", True, True),
    (None, None, True),
    ("N/A", None, True),
    ("someone", None, False),
    (None, "x", False),
    (12345, "12345", True),
    (["a"], ["a"], True),
    (["a"], "a", False),
]


@pytest.mark.parametrize(("given_value", "right", "is_right"), RIGHT)
def test_values_are_compared_by_what_they_say(given_value, right, is_right):
    """Leniently, so that nothing is lost to how it is written."""
    assert fields_right({"a": given_value}, {"a": right}) == {"/a": is_right}


def test_fields_are_counted_one_by_one():
    """Also in objects; what is missing is wrong unless it is null, and what nobody asked for counts nothing."""
    right = {"a": 1, "b": {"c": "x", "d": None}, "thoughts": ""}
    found = fields_right({"a": 1, "b": {"c": "y"}, "more": 3}, right, {"thoughts"})
    assert found == {"/a": True, "/b/c": False, "/b/d": True}
    assert fields_right(None, right, {"thoughts"}) == {"/a": False, "/b/c": False, "/b/d": False}
    assert fields_right("red", "red") == {"": True}


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"), [(0, 10, 0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1), (0, 0, 0, 1)]
)
def test_intervals_are_those_of_wilson(hits, count, low, high):
    """The values of the formula, worked out by others."""
    assert wilson(hits, count) == pytest.approx((low, high), abs=1e-4)


def test_differences_are_taken_by_example():
    """Two ways that differ by the same everywhere differ by exactly that."""
    assert paired({0: 0.5, 1: 0.75, 2: 1.0}, {0: 0.25, 1: 0.5, 2: 0.75}) == pytest.approx((0.25, 0.25, 0.25))
    mean, low, high = paired({0: 1.0, 1: 0.0}, {0: 0.0, 1: 1.0})
    assert (mean, low, high) == pytest.approx((0, -1.96 * math.sqrt(1), 1.96 * math.sqrt(1)), abs=1e-3)


ROWS = [
    ("csv", 'prompt,name,age\n"Ada, 36",Ada,36\n', [Example("Ada, 36", {"name": "Ada", "age": 36})]),
    ("csv", "prompt,zip,note,ok\nx,01234,,true\n", [Example("x", {"zip": "01234", "note": None, "ok": True})]),
    ("csv", "prompt,a.b,a.c\nx,1,y\n", [Example("x", {"a": {"b": 1, "c": "y"}})]),
    ("csv", 'id,prompt,expected\n7,x,"{""a"": 1}"\n', [Example("x", {"a": 1})]),
    ("csv", "\ufeffprompt,expected\nx,red\n", [Example("x", "red")]),
    ("jsonl", '{"prompt": "x", "expected": {"a": "1"}}\n\n', [Example("x", {"a": "1"})]),
    ("jsonl", '{"prompt": "x", "a": "1", "b": null}', [Example("x", {"a": "1", "b": None})]),
    ("jsonl", '{"id": 3, "prompt": [{"role": "user", "content": "x"}], "a": 1}',
     [Example([{"role": "user", "content": "x"}], {"a": 1})]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "examples"), ROWS)
def test_rows_are_examples(kind, text, examples):
    """Of CSV and JSON Lines, with one column of answers or one for each field."""
    assert read_examples(text, True, kind=kind) == examples


class Money(BaseModel):
    """A nested model."""

    amount: int
    currency: str


class Priced(BaseModel):
    """Fields whose columns are not called as they are."""

    id: int
    value: Money
    amount: int | None = None


class Only(BaseModel):
    """One field, called as the column of whole values."""

    value: str


class Judged(BaseModel):
    """Fields called as the columns of confidence."""

    confidence: float
    least_confidence: str


class Dotted(BaseModel):
    """A field with a dot in its name."""

    ab: int = Field(alias="a.b")


class Texts(BaseModel):
    """Texts that look like something else."""

    year: str
    note: str | None
    inner: Only


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (Priced, {"id": 7, "value": {"amount": 5, "currency": "EUR"}, "amount": None}),
        (Only, {"value": "hi"}),
        (Dotted, {"a.b": 5}),
        (Judged, {"confidence": 0.5, "least_confidence": "none"}),
        (Choice("yes", "12"), "12"),
        (int, 3),
        (Texts, {"year": "2024", "note": "null", "inner": {"value": '"q"'}}),
        (Texts, {"year": "", "note": None, "inner": {"value": "-5"}}),
        (Texts, {"year": "[" * 100_000, "note": "{}", "inner": {"value": "x" * 200_000}}),
    ],
)
def test_tables_of_batch_are_read_as_they_were_written(spec, value):
    """Whatever the fields are called, and whatever their texts look like."""
    sure = {"": 0.5}
    result = Result(0, "r", json.dumps(value), finish_reason="complete", prompt="x", confidence=sure)
    for confidence in (False, True):
        text = CsvFormat(spec, prompts=True, confidence=confidence).encode([result], first=True).decode()
        assert read_examples(text, spec, kind="csv") == [Example("x", value)]


def test_a_field_that_was_left_out_is_null():
    """So that an answer that has it is wrong."""
    table = CsvFormat(Priced, prompts=True)
    value = {"id": 7, "value": {"amount": 5, "currency": "EUR"}}
    text = table.encode([Result(0, None, json.dumps(value), prompt="x")], first=True).decode()
    assert read_examples(text, Priced, kind="csv") == [Example("x", {**value, "amount": None})]


def test_tables_of_batch_that_cannot_be_used():
    """A row with an error has no right answer, and another spec has other columns."""
    error = {"code": "max-tokens", "message": "m", "text": "t"}
    text = CsvFormat(Only, prompts=True).encode([Result(0, None, None, error, prompt="x")], first=True).decode()
    with pytest.raises(OptionError, match="no right answer, but the error 'max-tokens'") as caught:
        read_examples(text, Only, kind="csv")
    assert caught.value.at == "line 2"
    with pytest.raises(OptionError, match=r"no column 'value\.id'"):
        read_examples(text, Priced, kind="csv")


@pytest.mark.parametrize("cell", ["-5", "1e5", "[1]", "{}", "true", "4111111111111112", "[" * 100_000, "x" * 200_000])
def test_a_field_of_texts_has_texts(cell):
    """Also in a table that was written by hand, if the spec says so."""
    text = f"prompt,year,note,inner.value\nx,{cell},null,{cell}\n"
    expected = {"year": cell, "note": None, "inner": {"value": cell}}
    assert read_examples(text, Texts, kind="csv") == [Example("x", expected)]
    assert read_examples(f"prompt,expected\nx,{cell}\n", str, kind="csv") == [Example("x", cell)]


def test_a_deep_cell_is_a_text():
    """It is not JSON that Python reads."""
    deep = "[" * 100_000
    assert read_examples(f"prompt,a\nx,{deep}\n", True, kind="csv") == [Example("x", {"a": deep})]


@pytest.mark.parametrize(
    ("kind", "text", "fact"),
    [
        ("csv", "", "no rows"),
        ("csv", "prompt,a\n", "no rows"),
        ("csv", "text,a\nx,1\n", "no prompt"),
        ("csv", "prompt,a\nx\n", "cells"),
        ("csv", "prompt,a\nx,1,2\n", "cells"),
        ("csv", 'prompt,a\n"x" y,1\n', "not CSV"),
        ("csv", "prompt\nx\n", "no expected answer"),
        ("csv", "prompt,a,a.b\nx,1,2\n", "columns"),
        ("jsonl", "{", "not JSON"),
        ("jsonl", "[1]", "not an object"),
        ("jsonl", '{"prompt": 3, "a": 1}', "no prompt"),
    ],
)
def test_rows_that_cannot_be_used_are_named(kind, text, fact):
    """With their line, before the model works."""
    with pytest.raises(OptionError, match=fact) as caught:
        read_examples(text, True, kind=kind)
    assert caught.value.fix


def test_a_model_is_measured_both_ways():
    """The bundled model writes JSON by itself; what is counted are its answers."""
    import schemagen

    lm = schemagen.load_bundled()
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    examples = [
        Example("Ada Lovelace is 36.", {"name": "Ada Lovelace", "age": 36}),
        Example("Bob is 5 years old.", {"name": "Robert", "age": 5}),
    ]
    found = evaluate(lm, schema, examples, max_new_tokens=60)
    assert set(found.ways) == {"constrained", "unconstrained"}
    for way in found.ways.values():
        assert (way.count, way.valid, way.exact, way.shares) == (2, 2, 1, [1.0, 0.5])
    assert found.difference() == (0, 0, 0)
    assert found.ways["constrained"].summary()["masked_mass"] < 0.01
    assert found.ways["unconstrained"].summary()["masked_mass"] is None
    told = [answer.distortion for answer in found.ways["constrained"].answers]
    assert found.ways["constrained"].summary()["distortion"] == pytest.approx(sum(told) / len(told))
    assert found.ways["unconstrained"].summary()["distortion"] is None
    ignored = evaluate(lm, schema, examples[1:], unconstrained=False, ignored=["name"], max_new_tokens=60)
    assert ignored.ways["constrained"].exact == 1
    assert ignored.difference() is None


def test_an_answer_that_is_cut_off_is_not_valid():
    """And what can be read of it counts."""
    import schemagen

    lm = schemagen.load_bundled()
    found = evaluate(lm, schemagen.Choice("billing", "shipping"), [Example("x", "billing")], max_new_tokens=8)
    assert found.ways["constrained"].valid == 1
    free = found.ways["unconstrained"].answers[0]
    assert free.valid == (free.text.strip() in {"billing", "shipping"})
