"""`schemagen.rows.cells`: values as columns of a CSV, and back."""

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from schemagen import GBNF, Choice, Regex
from schemagen.rows.cells import CellTable


class Place(BaseModel):
    """A nested model."""

    city: str
    code: str | None


class Tree(BaseModel):
    """A model that contains itself."""

    name: str
    children: "list[Tree]"


class Guest(BaseModel):
    """Fields of every kind."""

    name: str
    age: int
    home: Place
    work: Place | None
    tags: list[str]
    kind: Literal["a", "b"] | None
    note: str | None = "none given"
    nick: str | None = None
    mixed: int | str | None = 3
    tree: Tree | None = None


NAMES = ["name", "age", "home.city", "home.code", "work", "tags", "kind", "note", "nick", "mixed", "tree"]
PLACE = {"city": "Bonn", "code": None}
LEAST = {"name": "", "age": 1, "home": PLACE, "work": None, "tags": [], "kind": None}
#: Texts that could be read as something else.
TRICKY = [
    "",
    "null",
    "true",
    "12",
    "1.50",
    '"',
    '"x"',
    "[1]",
    "{",
    " a ",
    "a,b\n\rc",
    "\ud800",
    "\\ud800",
    "\0",
    "é",
    '\\"',
]


def test_fields_are_columns() -> None:
    """A nested model that is always there has dotted columns; lists and models that may be missing are JSON."""
    table = CellTable(Guest)
    assert table.names == NAMES
    value = {"name": "Ada", "age": 36, "home": PLACE, "work": PLACE, "tags": ["x"], "kind": "a", "nick": None}
    place = '{"city": "Bonn", "code": null}'
    assert table.written(json.dumps(value)) == ["Ada", "36", "Bonn", "", place, '["x"]', "a", "", "", "", ""]


@pytest.mark.parametrize("text", TRICKY)
@pytest.mark.parametrize("name", ["name", "note", "nick", "mixed"])
def test_values_are_read_back(name: str, text: str) -> None:
    """Texts that look like something else, null and fields that were left out are told apart."""
    table = CellTable(Guest)
    value = {**LEAST, "home": {"city": text, "code": text}, name: text}
    cells = table.written(json.dumps(value))
    assert json.loads(table.read(iter(cells))) == value
    assert all("\0" not in cell for cell in cells)


def test_numbers_keep_their_digits() -> None:
    """Nothing is rounded, and a number of thousands of digits is none too long."""
    table = CellTable({"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False})
    for digits in ("1.10", "1e400", "-0", "9" * 5000):
        assert table.written(f'{{ "n" :{digits} }}') == [digits]


@pytest.mark.parametrize("value", [{**LEAST}, {**LEAST, "note": None}, {**LEAST, "mixed": None}, {**LEAST, "mixed": 7}])
def test_null_is_not_a_field_that_was_left_out(value: dict[str, Any]) -> None:
    """Unless it is what the field has by default, so that the values are equal."""
    table = CellTable(Guest)
    assert json.loads(table.read(iter(table.written(json.dumps(value))))) == value
    assert Guest.model_validate_json(table.read(iter(table.written(json.dumps({**value, "nick": None}))))).nick is None


@pytest.mark.parametrize(
    ("spec", "value", "cell"),
    [
        (int, "3", "3"),
        (str, '"a, b"', "a, b"),
        (str | None, "null", ""),
        (str | None, '"null"', "null"),
        (str | None, '""', '""'),
        (list[int], "[1, 2]", "[1, 2]"),
        (Choice("yes", "no"), '"yes"', "yes"),
        (Regex("[0-9]+"), '"12"', "12"),
        (GBNF("root ::= [0-9]+"), '"12"', "12"),
        ({"type": "object", "properties": {"a": {}}}, '{"b": 1}', '{"b": 1}'),
        (dict[str, int], '{"b": 1}', '{"b": 1}'),
        (True, "[]", "[]"),
    ],
)
def test_other_values_have_one_column(spec: Any, value: str, cell: str) -> None:
    """Its name is value."""
    table = CellTable(spec)
    assert table.names == ["value"]
    cells = table.written(value)
    assert cells == [cell]
    assert table.read(iter(cells)) == value


def test_names_of_other_columns() -> None:
    """A field that is called as another column is prefixed, and so is an only field called value."""

    class Named(BaseModel):
        id: int
        value: int

    class Only(BaseModel):
        value: int

    assert CellTable(Named, {"id"}).names == ["value.id", "value"]
    assert CellTable(Only).names == ["value.value"]
    dotted = {
        "type": "object",
        "properties": {
            "a.b": {"type": "integer"},
            "a": {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": False},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    table = CellTable(dotted)
    assert table.names == ["a.b", "a"]
    assert table.written('{"a.b": 1, "a": {"b": 2}}') == ["1", '{"b": 2}']


def test_no_two_columns_have_one_name() -> None:
    """Also after a prefix: nested models become JSON in one cell, and then the whole value does."""

    class Inner(BaseModel):
        index: bool

    class Dup(BaseModel):
        index: bool
        value: Inner

    table = CellTable(Dup, {"index"})
    assert table.names == ["value.index", "value"]
    value = '{"index": true, "value": {"index": false}}'
    assert table.written(value) == ["true", '{"index": false}']
    assert table.read(iter(table.written(value))) == value
    fields = {"index": {"type": "boolean"}, "value.index": {"type": "boolean"}}
    table = CellTable({"type": "object", "properties": fields, "additionalProperties": False}, {"index"})
    assert table.names == ["value"]
    value = '{"index": true, "value.index": false}'
    assert table.read(iter(table.written(value))) == value


def test_texts_are_known_by_their_path() -> None:
    """Of fields in closed and open objects, and of whole values."""
    table = CellTable(Guest)
    found = {name for name in NAMES if table.is_text(*name.split("."))}
    assert found == {"name", "home.city", "home.code", "kind", "note", "nick"}
    assert not table.is_text()
    assert not table.is_text("home", "street")
    assert CellTable(Choice("yes", "no")).is_text()
    assert CellTable({"type": "object", "properties": {"a": {"type": "string"}}}).is_text("a")


def test_a_model_that_needs_itself_has_columns() -> None:
    """It has no values, and asking for its columns ends all the same."""
    node = {
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert len(CellTable(node).names) > 2


def test_booleans_of_a_spreadsheet() -> None:
    """A spreadsheet writes TRUE; where a text is possible it is a text."""

    class Flags(BaseModel):
        sure: bool
        maybe: bool | None = None
        free: bool | str

    table = CellTable(Flags)
    assert json.loads(table.read(iter(["TRUE", "False", "TRUE"]))) == {"sure": True, "maybe": False, "free": "TRUE"}
