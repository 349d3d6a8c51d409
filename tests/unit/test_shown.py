"""What prompts show of an answer: ``show_schema`` means the same in every format, and an example is an answer."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import typing as t
from enum import Enum
from itertools import product

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import schemagen
from schemagen import Template
from schemagen.errors import OptionError, SchemagenError
from schemagen.grammar.written import FORMATS, AsJson, written
from schemagen.prompts.shapes import told
from tests.zoo import extra, fields, standard

BYTES = schemagen.Vocabulary.byte_vocabulary()
SHOWS: tuple[t.Any, ...] = (True, "shape", "example", "placeholders", "json_schema", "typescript")
#: What True stands for.
DEFAULTS = {"csv": "placeholders", "markdown": "placeholders", "yaml": "placeholders"}
#: Words that the prompt must not have where a value stands.
TYPE_NAMES = {"str", "int", "float", "bool", "None", "string", "integer", "number", "boolean", "any"}


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Row(BaseModel):
    name: str
    n: int | None
    size: Size
    paid: bool
    day: dt.date
    code: t.Annotated[str, Field(pattern="^[A-Z]{2}[0-9]{3}$")]
    share: t.Annotated[float, Field(gt=0, lt=1)]
    note: str = "-"


class Point(t.NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Home:
    street: t.Annotated[str, Field(description="street and number")]
    at: Point


class Person(BaseModel):
    row: Row
    homes: list[Home]
    tags: set[str]
    pair: tuple[int, bool]
    other: Home | None = None


class Tree(BaseModel):
    name: str
    children: list[Tree]


class Chain(BaseModel):
    name: str
    next: Chain | None = None


TEMPLATE = Template("{name} ({n}, {size}), {day}: {paid}. Code {code}, {share}", Row)
CASES = [
    *product(("python", "yaml", "xml"), (Row, list[Row], Person, Tree, Chain)),
    *product(("csv", "markdown"), (list[Row],)),
]


def accepted(grammar: schemagen.Grammar[t.Any], text: str) -> t.Any:
    """Return the value of a text that a grammar accepts."""
    matcher = grammar.matcher()
    assert matcher.accept_bytes(text.encode()), text
    assert matcher.is_accepting(), text
    return grammar.validate(text)


def shown(spec: t.Any, show: t.Any) -> tuple[str, str]:
    """Return the instruction and what is shown."""
    instruction, _, text = told(spec, show).partition("\n")
    return instruction, text


def cells(text: str) -> set[str]:
    """Return the words of a text that stand between signs of a format, where a value may stand."""
    return {part.strip(" \"'") for part in re.split(r"[,|\n:=<>()\[\]{}]", text)}


@pytest.mark.parametrize(("as_", "tp"), CASES)
def test_an_example_is_an_answer(as_, tp):
    """Its grammar accepts it, it is read to an instance, and no name of a type stands in it."""
    spec = written(tp, as_)
    instruction, text = shown(spec, "example")
    assert instruction.endswith(", in the form of this example:")
    value = accepted(schemagen.compile(tp, BYTES, as_=as_), text)
    TypeAdapter(tp).validate_python(value, strict=True)
    assert spec.value_of(text) == value
    assert not cells(text) & (TYPE_NAMES - {"None"})


@pytest.mark.parametrize("tp", [Row, list[Row], Person, Tree, Chain, Row | Tree])
def test_an_example_in_json_is_an_answer(tp):
    """One line for each alternative."""
    grammar = schemagen.compile(tp, BYTES)
    for line in shown(grammar.schema, "example")[1].splitlines():
        accepted(grammar, line)


def test_an_example_of_a_template_is_an_answer():
    """Strings stand without quotes; what may not stand before the fixed text is not taken."""
    text = shown(TEMPLATE, "example")[1]
    assert text == "... (1, small), 2024-05-17: true. Code AA000, 0.5"
    assert isinstance(accepted(schemagen.compile(TEMPLATE, BYTES), text), Row)
    dots = Template("{name}.{rest}!", name=str, rest=schemagen.Regex("a|b{3}"))
    assert dots.value_of(shown(dots, "example")[1]).rest == "a"
    lines = Template("{items}", items=Template("- {name}\n", name=str).many(1))
    assert shown(lines, "example")[1] == "- ...\n"


@pytest.mark.parametrize(("as_", "tp"), [("json", Row), *CASES])
def test_every_value_has_an_effect(as_, tp):
    """The renderings differ; the shape, the schema and TypeScript are those of JSON in all formats."""
    in_json = schemagen.compile(tp, BYTES).schema
    spec = in_json if as_ == "json" else written(tp, as_)
    found = {show: shown(spec, show) for show in SHOWS}
    assert len({found[show] for show in SHOWS[1:]}) >= (4 if tp in (Tree, Chain) else 5)  # strings alone
    assert found[True] == found[DEFAULTS.get(as_, "shape")]
    for show in ("shape", "json_schema", "typescript"):
        assert found[show][1] == shown(spec.schema if as_ != "json" else in_json, show)[1]
    lead = (AsJson if as_ == "json" else FORMATS[as_]).instruction
    assert all(instruction.startswith(lead) for instruction, _ in found.values())


def test_every_value_has_an_effect_on_templates():
    """Types stand in the holes, as each rendering has them."""
    template = Template("{name} is {age}", name=str, age=t.Annotated[int, Field(ge=0)])
    assert shown(template, "shape")[1] == "{name: string} is {age: integer(>=0)}"
    assert shown(template, "typescript")[1] == "{name: string} is {age: number}"
    assert shown(template, "json_schema")[1] == '{name: {"type": "string"}} is {age: {"minimum": 0, "type": "integer"}}'
    assert shown(template, "example")[1] == "... is 0"
    assert shown(template, "placeholders")[1] == "<name> is <age>"
    assert told(template) == told(template, "shape")
    inner = Template("{lines}.", lines=Template("- {name}\n", name=str).many(sep="\n"))
    assert shown(inner, "placeholders")[1] == "- <name>\n."


@pytest.mark.parametrize("show", ["example", "placeholders", "json_schema", "typescript"])
@pytest.mark.parametrize(
    "spec", [schemagen.Regex("a+"), schemagen.Choice(["a", "b"]), schemagen.GBNF('root ::= "a"')], ids=repr
)
def test_what_has_no_schema_has_one_rendering(spec, show):
    """Another one is refused; True and "shape" show its options, its pattern or its grammar."""
    with pytest.raises(OptionError, match=f"show_schema='{show}' with") as caught:
        told(spec, show)
    assert "leave show_schema out" in caught.value.fix
    assert told(spec, "shape") == told(spec)


def test_a_type_without_an_example():
    """The example is refused with what to give; the default of YAML is the shape, if it has no end."""
    schema = {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 2}
    with pytest.raises(OptionError, match="no example") as caught:
        told(schema, "example")
    assert "'typescript'" in caught.value.fix

    class Endless(BaseModel):
        """It has no instance that ends, but for the union."""

        again: list[Endless] = Field(min_length=1)

    endless = AsJson(Endless)
    assert endless.example() is None
    assert endless.placeholders() is None
    assert ", of this shape:\n" in told(written(Endless, "yaml"))


@pytest.mark.parametrize(
    ("as_", "text"),
    [
        (
            "json",
            '[{"name": "<name>", "home": {"street": "<street and number>", "at": ["<value>", "<value>"]}, "n": "<n>"}]',
        ),
        ("csv", "name,n\n<name>,<n>"),
        ("markdown", "| name | n |\n| --- | --- |\n| <name> | <n> |"),
        (
            "yaml",
            '- name: <name>\n  home:\n    street: <street and number>\n    at:\n      - <value>\n      - <value>\n  "n": <n>',
        ),
    ],
)
def test_placeholders(as_, text):
    """A row, or a document, with the name of each scalar in its place; items of a named tuple have none."""

    class Cells(BaseModel):
        """A row of scalars."""

        name: str
        n: int | None

    class Nested(BaseModel):
        """A row with more in it."""

        name: str
        home: Home
        n: int | None

    tp = Cells if as_ in ("csv", "markdown") else Nested
    assert (
        shown(TypeAdapter(list[tp]).json_schema() if as_ == "json" else written(list[tp], as_), "placeholders")[1]
        == text
    )


@pytest.mark.parametrize(
    ("as_", "text"),
    [
        ("python", 'Home(street="street and number", at=Point(x=1.5, y=1.5))'),
        ("yaml", "street: street and number\nat:\n  - 1.5\n  - 1.5"),
        ("xml", "<home>\n  <street>street and number</street>\n  <at>1.5</at>\n  <at>1.5</at>\n</home>"),
    ],
)
def test_descriptions_stand_for_strings(as_, text):
    """In the spelling of the format."""
    assert shown(written(Home, as_), "example")[1] == text


def test_examples_are_quoted_where_the_format_asks_for_it():
    """Commas in CSV, signs of markup in XML, words of YAML that are no texts."""

    class Odd(BaseModel):
        """With descriptions that are hard to write."""

        a: str = Field(description="one, two")
        b: str = Field(description="a < b & c")
        c: str = Field(description="yes")
        d: str = Field(examples=["first", "second"])

    assert shown(written(list[Odd], "csv"), "example")[1].splitlines()[1] == '"one, two",a < b & c,yes,first'
    for as_ in ("xml", "yaml", "python"):
        spec = written(Odd, as_)
        assert spec.value_of(shown(spec, "example")[1]) == Odd(a="one, two", b="a < b & c", c="yes", d="first")


ZOO = {**standard.ENTRIES, **extra.ENTRIES, **fields.ENTRIES}
#: Types of which no example is made.
WITHOUT = {"set of ints, at least two"}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("as_", ["json", "python", "yaml", "xml"])
def test_examples_of_the_types_of_pydantic(as_):
    """Of each type that the format can write, the example is a text of the grammar, which the type reads."""
    count = 0
    for name, entry in ZOO.items():
        try:
            grammar = schemagen.compile(entry.type, BYTES, as_=as_, cache=None)
        except SchemagenError:
            continue
        spec = AsJson(entry.type) if as_ == "json" else grammar.spec
        if name in WITHOUT:
            continue
        text = spec.example()
        assert text is not None, name
        accepted(grammar, text)
        count += 1
    assert count >= 200


def test_what_cannot_be_hashed_is_shown():
    """The metadata of a type may be anything; nothing is remembered then."""
    tp = t.Annotated[list[Tree], [1]]
    for as_ in ("yaml", "xml"):
        assert shown(written(tp, as_), "placeholders") == shown(written(list[Tree], as_), "placeholders")


def test_the_front_door_shows_the_format():
    """`lm.render`, also with a compiled grammar."""
    lm = schemagen.load_bundled()
    rendered = lm.render("two", list[Tree], as_="yaml", show_schema="example", chat_template=False)
    assert rendered.endswith('in the form of this example:\n- name: "..."\n  children: []\n')
    grammar = lm.compile(Row, as_="xml")
    for show in ("json_schema", "typescript"):
        assert told(grammar.spec, show) in lm.render("one", grammar, show_schema=show)
    assert lm.render("one", grammar, show_schema=False, chat_template=False) == "one\n"
