"""Formats of values: what is written how, what is refused and why, what a reader does not take, and what a prompt shows."""

import dataclasses
import json
import pickle
import sys
import typing as t
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest
import yaml
from pydantic import BaseModel, Field, PastDate, create_model, field_validator
from ruamel.yaml import YAML
from typing_extensions import NotRequired, TypedDict

import schemagen
from schemagen.errors import (
    OptionError,
    SchemagenError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    UnsupportedTypeError,
    ValidationFailed,
)
from schemagen.regex import Language
from schemagen.testing import check_masks
from schemagen.writers.yaml import agreed_numbers, plain_scalars, scalar_text
from tests.grammars import compiled_by

pytestmark = pytest.mark.sampled(2)

BYTES = schemagen.Vocabulary.byte_vocabulary()


class Point(BaseModel):
    x: float
    y: float = 0.0


class Person(BaseModel):
    name: str
    age: int = Field(ge=0)
    tags: list[str] = []
    home: Point | None = None


class Tree(BaseModel):
    value: bool
    left: t.Optional["Tree"] = None
    right: t.Optional["Tree"] = None


class Pair(t.NamedTuple):
    a: int
    b: int = 2


@dataclasses.dataclass
class Left:
    x: int


@dataclasses.dataclass
class Right:
    x: int


ADA = Person(name="Ada", age=36, tags=["a", "b"], home=Point(x=1.0, y=2.0))
PYTHON = 'Person(name="Ada", age=36, tags=["a", "b"], home=Point(x=1.0, y=2.0))'
YAML_TEXT = """\
name: Ada
age: 36
tags:
  - a
  - "b"
home:
  x: 1.0
  "y": 2.0"""
XML = """\
<person>
  <name>Ada</name>
  <age>36</age>
  <tags>a</tags>
  <tags>b</tags>
  <home>
    <x>1.0</x>
    <y>2.0</y>
  </home>
</person>"""


def compiled(spec: t.Any, as_: t.Any) -> schemagen.Grammar:
    """A grammar over bytes."""
    return schemagen.compile(spec, BYTES, as_=as_, cache=None)


def accepts(grammar: schemagen.Grammar, text: str) -> bool:
    """Whether a text is in the language."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


# --- the same class in all formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("as_", "text"), [("python", PYTHON), ("yaml", YAML_TEXT), ("xml", XML)])
def test_one_class_in_each_format(as_, text):
    """A text of each format is in the language and stands for the same instance; its beginning is refused when it is read."""
    grammar = compiled(Person, as_)
    assert accepts(grammar, text)
    assert grammar.validate(text) == ADA
    assert not accepts(grammar, text + "\n")
    with pytest.raises(ValidationFailed) as refused:
        grammar.validate(text[:9])
    assert refused.value.text == text[:9]


@pytest.mark.parametrize("as_", ["python", "yaml", "xml"])
def test_masks_are_exact(as_):
    """The masks of a nested class equal brute force."""
    assert check_masks(compiled(Person, as_), walks=2) > 20
    assert check_masks(compiled(Tree, as_), walks=2) > 5


@pytest.mark.parametrize("as_", ["csv", "markdown"])
def test_masks_of_tables_are_exact(as_):
    """The masks of a table equal brute force."""
    assert check_masks(compiled(list[Row], as_), walks=2) > 20


def test_json_is_what_it_was():
    """as_="json" is the grammar without it, from the same memory."""
    assert schemagen.compile(Person, BYTES, as_="json") is schemagen.compile(Person, BYTES)
    assert schemagen.compile(Person, BYTES, as_="yaml") is schemagen.compile(Person, BYTES, as_="yaml")
    assert schemagen.compile(Person, BYTES, as_="yaml") is not schemagen.compile(Person, BYTES, as_="xml")


@pytest.mark.parametrize("as_", ["python", "yaml", "xml"])
def test_a_grammar_is_pickled(as_):
    """A grammar is made again of the type and the format."""
    again = pickle.loads(pickle.dumps(compiled(Person, as_)))  # noqa: S301 - our own
    assert again.spec == compiled(Person, as_).spec
    assert again.spec.format == as_


def test_a_validator_refuses():
    """A validator of the type has the last word, with a pointer into the value."""

    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            """Refuse odd numbers."""
            if n % 2:
                raise ValueError("odd")
            return n

    for as_, text in (("python", "Even(n=3)"), ("yaml", '"n": 3'), ("xml", "<even>\n  <n>3</n>\n</even>")):
        grammar = compiled(Even, as_)
        assert accepts(grammar, text)
        with pytest.raises(ValidationFailed, match="odd") as refused:
            grammar.validate(text)
        assert refused.value.at == "/n"
        assert refused.value.text == text


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_both_engines_read_the_rules(engine):
    """The reference engine takes the same rules."""
    grammar = compiled_by(engine, Person, BYTES, as_="python")
    assert accepts(grammar, PYTHON)
    assert not accepts(grammar, PYTHON.replace("36", "-36"))


def test_a_report_says_what_is_left_to_the_type():
    """What validation asks the world about is in the report of each format; it is exact where there is nothing of that."""
    for as_ in ("python", "yaml", "xml"):
        assert compiled(Person, as_).report.is_exact
        assert compiled(Person, as_).report.entries[0].keyword == as_
        entries = compiled(create_model("Past", day=(PastDate, ...)), as_).report.of_status("checked_after")
        assert [entry.pointer for entry in entries] == ["/properties/day"]


# --- options ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (Person, {"as_": "toml"}),
        (schemagen.Regex("a"), {"as_": "yaml"}),
        (schemagen.Choice("a", "b"), {"as_": "xml"}),
        (["a", "b"], {"as_": "python"}),
        (schemagen.GBNF('root ::= "a"'), {"as_": "python"}),
        ({"type": "object"}, {"as_": "python"}),
        (Person, {"as_": "yaml", "property_order": "any"}),
        (Person, {"as_": "xml", "whitespace": "compact"}),
        (Person, {"as_": "xml", "resources": {}}),
    ],
)
def test_options_that_cannot_be_meant(spec, options):
    """A format that there is not, or not for this, is refused with a fix."""
    with pytest.raises(OptionError) as refused:
        schemagen.compile(spec, BYTES, **options)
    assert refused.value.fix


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("as_", "text"), [("yaml", 'name: x\n"n": 1'), ("xml", "<value>\n  <name>x</name>\n  <n>1</n>\n</value>")]
)
def test_a_schema_gives_plain_data(as_, text):
    """A JSON Schema is written, too; its value is data, checked by jsonschema."""
    grammar = compiled(SCHEMA, as_)
    assert accepts(grammar, text)
    assert grammar.validate(text) == {"name": "x", "n": 1}
    with pytest.raises(ValidationFailed):
        grammar.validate(text.replace("1", "1.5"))


def test_multiples_of_decimals():
    """A number that is a multiple as it is written is one, though the remainder of the floats is none."""
    grammar = compiled({"type": "number", "multipleOf": 0.01}, "yaml")
    assert accepts(grammar, "20.4")
    assert grammar.validate("20.4") == 20.4
    with pytest.raises(ValidationFailed):
        grammar.validate("20.405")


def test_large_whole_numbers():
    """A number without a point is exact, and with one it is the nearest float."""
    grammar = compiled({"enum": [10**29 + 1]}, "xml")
    assert accepts(grammar, f"<value>{10**29 + 1}</value>")
    assert grammar.validate(f"<value>{10**29 + 1}</value>") == 10**29 + 1
    assert not accepts(grammar, f"<value>{10**29 + 1}.0</value>")
    with pytest.raises(ValidationFailed):
        grammar.validate(f"<value>{10**29 + 2}.0</value>")
    large = compiled({"enum": [1e100]}, "xml")
    for text in (f"<value>{int(1e100)}</value>", "<value>1e+100</value>"):
        assert accepts(large, text)
        assert large.validate(text) == 1e100


def test_rows_of_a_schema():
    """A table of a JSON Schema."""
    grammar = compiled({"type": "array", "items": SCHEMA}, "csv")
    assert grammar.validate("name,n\na,1\nb,2") == [{"name": "a", "n": 1}, {"name": "b", "n": 2}]


# --- Python -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tp", "texts", "others"),
    [
        (tuple[int, str], ['(1, "a")'], ['[1, "a"]', '(1, "a",)', "(1,)"]),
        (tuple[int], ["(1,)"], ["(1)", "1", "()"]),
        (tuple[()], ["()"], ["(1,)", "(,)"]),
        (tuple[int, ...], ["()", "(1,)", "(1, 2)"], ["(1)", "[1]"]),
        (set[int], ["set()", "{1}", "{1, 2}"], ["{}", "[1]"]),
        (frozenset[int], ["set()", "{1}"], ["frozenset()"]),
        (list[int], ["[]", "[1, 2]"], ["[1,2]", "[1, ]", "(1,)"]),
        (dict[str, int], ["{}", '{"a": 1}', '{"a": 1, "b": 2}'], ["{1: 1}", "{'a': 1}"]),
        (int | None, ["1", "-1", "None"], ["null", "+1", "01", "1.0", "1_0"]),
        (float, ["1.5", "1e5", "-0.0"], ["inf", "nan", "1.", ".5", "1j"]),
        (bool, ["True", "False"], ["true", "1"]),
        (str, ['"a"', r'"\n\u00e9"', '"é"'], ["'a'", r'"\x41"', r'"\/"', r'"\ud83d\ude00"', '"a" "b"', 'f"a"']),
        (Pair, ["Pair(a=1)", "Pair(a=1, b=2)"], ["Pair(1)", "Pair(b=2)", "(1, 2)"]),
        (t.Literal["a", 1], ['"a"', "1"], ["a"]),
    ],
)
def test_python_displays(tp, texts, others):
    """Each kind of type has one display; other spellings are not written."""
    grammar = compiled(tp, "python")
    for text in texts:
        assert accepts(grammar, text), text
        assert type(grammar.validate(text)) is type(eval(text, {"Pair": Pair})) or tp in (float, frozenset[int])  # noqa: S307
    for text in others:
        assert not accepts(grammar, text), text


@pytest.mark.parametrize(
    "tp",
    [
        create_model("Two Words", x=(int, ...)),
        create_model("set", x=(int, ...)),
        create_model("Fine", x=(int, Field(alias="class"))),
        create_model("Fine", x=(int, Field(alias="\ufb01"))),
    ],
)
def test_names_that_cannot_be_called(tp):
    """Names that Python does not read, or reads as others, are refused."""
    with pytest.raises(UnsupportedTypeError, match=r"the (class|argument)") as refused:
        compiled(tp, "python")
    assert refused.value.fix


@pytest.mark.parametrize("number", ["0x1F", "1_0", "1.", ".5", "0o7", "007", "1j", "+1"])
def test_numbers_of_python_alone_are_refused(number):
    """What JSON does not have is said to be no such number, and not to be broken JSON."""
    with pytest.raises(ValidationFailed, match="the text is no python"):
        compiled(Point, "python").validate(f"Point(x={number})")


@pytest.mark.parametrize(
    ("as_", "opening", "closing"),
    [("python", "Tree(value=True, left=", ")"), ("yaml", "{value: true, left: ", "}"), ("xml", "<left>", "</left>")],
)
def test_texts_nested_too_deep_are_refused(as_, opening, closing):
    """A reader that cannot go so deep says so."""
    text = opening * 20_000 + closing * 20_000
    with pytest.raises(ValidationFailed, match="the text is no"):
        compiled(Tree, as_).validate(f"<tree>{text}</tree>" if as_ == "xml" else text)


def test_classes_with_the_same_members_are_told_apart():
    """A call makes an instance of the class that it names, also where JSON could not say which."""
    grammar = compiled(list[Left | Right], "python")
    assert grammar.validate("[Right(x=1), Left(x=2)]") == [Right(1), Left(2)]


@pytest.mark.parametrize(
    "text",
    ["Person()", "print(1)", "__import__('os')", 'Person("Ada", 36)', "Person(**{})", "1 + 1", "Person(name=x, age=1)",
     '[Person(name="a", age=1)]', "Person(name='a',\n age=1)", "(" * 300, "lambda: 1", "\0"],
)  # fmt: skip
def test_python_evaluates_nothing(text):
    """What is no value and no call of a known class is refused when it is read."""
    with pytest.raises(ValidationFailed):
        compiled(Person, "python").validate(text)


def test_a_default_may_be_left_out():
    """Members with a default may be absent; the order is that of declaration."""
    grammar = compiled(Person, "python")
    assert grammar.validate('Person(name="a", age=1)') == Person(name="a", age=1)
    assert accepts(grammar, 'Person(name="a", age=1, home=None)')
    assert not accepts(grammar, 'Person(age=1, name="a")')
    assert not accepts(grammar, 'Person(name="a")')


def test_recursive_values():
    """A type that contains itself: calls in calls; flow style in YAML, and one line in XML, from the second time on."""
    tree = Tree(value=True, left=Tree(value=False, left=Tree(value=True)))
    python = "Tree(value=True, left=Tree(value=False, left=Tree(value=True)))"
    in_yaml = "value: true\nleft:\n  value: false\n  left: {value: true}"
    in_xml = "<tree>\n  <value>true</value>\n  <left>\n    <value>false</value>\n    <left><value>true</value></left>\n  </left>\n</tree>"
    for as_, text in (("python", python), ("yaml", in_yaml), ("xml", in_xml)):
        grammar = compiled(Tree, as_)
        assert accepts(grammar, text), text
        assert grammar.validate(text) == tree


# --- YAML ---------------------------------------------------------------------------------------------------------------

WORDS = [
    "y",
    "Y",
    "n",
    "yes",
    "Yes",
    "NO",
    "on",
    "Off",
    "true",
    "True",
    "FALSE",
    "null",
    "Null",
    "yess",
    "nan",
    "inf",
    "e5",
    "3 lamps",
    "1.2.3",
    "2024-01-01",
    "2024-01-01 or so",
]


@pytest.mark.parametrize("in_flow", [False, True])
def test_plain_scalars_mean_themselves(in_flow):
    """All short texts: where one is a plain scalar, YAML 1.1 and 1.2 both read it as itself, as a value and as a key."""
    language = Language(plain_scalars(in_flow=in_flow))
    texts = {
        a + b + c
        for a in "aN -:#,[{&*!|>'\"%@`~.0?=<é"
        for b in ["", *"a1 :#,[]{}-'=&?\"\\\xa0"]
        for c in ["", *"a1 :#,]}-n"]
    }
    plain = [text for text in [*sorted(texts), *WORDS] if language.matches(text)]
    assert len(plain) > 100
    modern = YAML(typ="safe", pure=True)
    for text in plain:
        document = f"[{text}, {text}]" if in_flow else f"- {text}\n- {text}"
        assert yaml.safe_load(document) == modern.load(document) == [text, text], text
        if in_flow:
            document = f"{{{text}: 1}}"
            assert yaml.safe_load(document) == modern.load(document) == {text: 1}, text
    assert not {"yes", "n", "On", "NULL", "", "1", "-", "a: b", "a #b", "~", "2024-01-01"} & set(plain)
    assert {"3 lamps", "1.2.3", "2024-01-01 or so"} <= set(plain)


def test_numbers_on_which_both_agree():
    """All short texts of digits and signs: where one is written as a number, both versions read that number."""
    language, modern = Language(agreed_numbers()), YAML(typ="safe", pure=True)
    texts = {
        f"{a}{b}{c}"
        for a in ("0", "-0", "1", "-12")
        for b in ("", ".", ".5", ".05")
        for c in ("", "e+5", "e-5", "E+05", "e5")
    }
    numbers = [text for text in sorted(texts) if language.matches(text)]
    assert "1.5e+5" in numbers
    assert "1e+5" not in numbers
    for text in numbers:
        assert yaml.safe_load(text) == modern.load(text) == json.loads(text), text
        assert type(yaml.safe_load(text)) is type(modern.load(text)), text


@pytest.mark.parametrize(
    "text", ["a", "yes", "1", "2020-01-01", "a: b", "é", "\x85\u2028\ufeff", "tab\t", "", "x" * 2000, "😀\x7f"]
)
def test_strings_in_yaml(text):
    """A string is read by both versions as itself, plain or in quotes."""
    written = scalar_text(text, in_flow=False)
    assert written is not None
    assert yaml.safe_load(f"a: {written}") == YAML(typ="safe", pure=True).load(f"a: {written}") == {"a": text}
    assert accepts(compiled(str, "yaml"), written)


def test_lists_in_yaml():
    """Lists of lists and of objects begin on the line of their dash; what is empty is in brackets."""
    grammar = compiled(list[list[int]], "yaml")
    assert grammar.validate("- - 1\n  - 2\n- []") == [[1, 2], []]
    assert accepts(grammar, "- - 1\n  - 2\n- []")
    assert accepts(grammar, "[]")
    assert not accepts(grammar, "[[1]]")
    people = compiled(list[Person], "yaml")
    text = "- name: a\n  age: 1\n  tags: []\n- name: b\n  age: 2\n  tags:\n    - x"
    assert accepts(people, text)
    assert [person.tags for person in people.validate(text)] == [[], ["x"]]


@pytest.mark.parametrize(
    "text",
    [
        "name: &a Ada\nage: 1",
        "name: *a\nage: 1",
        "name: a\nage: 0x10",
        "name: a\nname: b\nage: 1",
        "",
        "a: [",
        "- 1\n- 2",
        "1: 2",
    ],
)
def test_yaml_that_is_never_written(text):
    """Anchors, other numbers, repeated keys and broken documents are refused when they are read."""
    with pytest.raises(ValidationFailed):
        compiled(Person, "yaml").validate(text)


# --- XML ----------------------------------------------------------------------------------------------------------------


class Names(BaseModel):
    first: str
    nick: str | None
    others: list[str]
    rows: list[list[int]] = Field(default_factory=list)


def test_absence_in_xml():
    """No element is null or the empty list; lists of lists have elements inside."""
    grammar = compiled(Names, "xml")
    empty = "<names>\n  <first></first>\n</names>"
    assert grammar.validate(empty) == Names(first="", nick=None, others=[])
    text = "<names>\n  <first>&lt;a&gt; &amp; b</first>\n  <nick></nick>\n  <others>x</others>\n  <rows>\n    <item>1</item>\n  </rows>\n  <rows></rows>\n</names>"
    assert accepts(grammar, text)
    assert grammar.validate(text) == Names(first="<a> & b", nick="", others=["x"], rows=[[1], []])
    assert not accepts(grammar, "<names>\n  <first>\x00</first>\n</names>")
    assert not accepts(grammar, "<names>\n  <first>a\rb</first>\n</names>")


@pytest.mark.parametrize(
    ("tp", "words"),
    [
        (int | str, "a string or a number"),
        (list[int] | int, "a list or something else"),
        (list[str | None], "null or an empty string"),
        (TypedDict("T", {"a": NotRequired[list[int]]}), "an empty list in a member"),
        (TypedDict("T", {"a": NotRequired[int | None]}), "null in a member"),
        (dict[str, int], "undeclared keys"),
        (TypedDict("T", {"a b": int}), "the member"),
    ],
)
def test_what_xml_does_not_tell_apart(tp, words):
    """A type whose values would look alike is refused: the fact, where, why, and what to do."""
    with pytest.raises(UnsupportedTypeError, match=words) as refused:
        compiled(tp, "xml")
    assert refused.value.at
    assert refused.value.why
    assert refused.value.fix


@pytest.mark.parametrize(
    "text",
    ["<person/>", "<people></people>", '<person a="1"></person>', "<!DOCTYPE a><person></person>", "<person>x<name>a</name></person>",
     "<person><name>a</name><name>b</name><age>1</age></person>", "<person><age>a</age></person>", "<person><other>1</other></person>"],
)  # fmt: skip
def test_xml_that_is_never_written(text):
    """Attributes, declarations, mixed content and strange elements are refused when they are read."""
    with pytest.raises(ValidationFailed):
        compiled(Person, "xml").validate(text)


# --- tables -------------------------------------------------------------------------------------------------------------


class Row(BaseModel):
    name: str
    n: int | None
    note: str = "-"


def test_empty_cells():
    """An empty cell is null, or the member is left out; the empty string is in quotes, or cannot be written."""
    in_csv = compiled(list[Row], "csv")
    assert in_csv.validate('name,n,note\n,,\na,1,""') == [Row(name="", n=None), Row(name="a", n=1, note="")]
    assert accepts(in_csv, 'name,n,note\n"a ""b"", c\nd",1,x')
    assert accepts(in_csv, "name,n,note")
    in_markdown = compiled(list[Row], "markdown")
    text = "| name | n | note |\n| --- | --- | --- |\n|  |  |  |\n| a \\| \\\\ | 1 | x |"
    assert accepts(in_markdown, text)
    assert in_markdown.validate(text) == [Row(name="", n=None), Row(name="a | \\", n=1, note="x")]


@pytest.mark.parametrize(
    ("tp", "words"),
    [
        (Row, "no list of rows"),
        (list[int], "no object of one kind"),
        (list[Row | Person], "no object of one kind"),
        (list[Person], "a list or an object in a cell"),
        (list[TypedDict("T", {"a": int | str})], "a string or a number"),
        (list[TypedDict("T", {"a": int | None})], "one column with empty cells"),
        (list[dict[str, int]], "undeclared keys"),
    ],
)
def test_what_no_table_says(tp, words):
    """What is no list of flat rows is refused."""
    with pytest.raises(UnsupportedTypeError, match=words) as refused:
        compiled(tp, "csv")
    assert refused.value.fix


@pytest.mark.parametrize("text", ["", "name\na", "name,n,note\na,1", 'name,n,note\n"a"x,1,', "name,n,note\na,x,"])
def test_csv_that_is_never_written(text):
    """Other columns, rows of another length and strange cells are refused when they are read."""
    with pytest.raises(ValidationFailed):
        compiled(list[Row], "csv").validate(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "| name | n | note |",
        "x",
        "| name | n | note |\n| a | 1 | b |",
        "| name | n | note |\n| --- | --- | --- |\n| a |",
    ],
)
def test_markdown_that_is_never_written(text):
    """The same of Markdown; a header alone, without the line below it, is half a table."""
    grammar = compiled(list[Row], "markdown")
    assert not accepts(grammar, text)
    with pytest.raises(ValidationFailed):
        grammar.validate(text)


# --- what no format says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_", ["yaml", "xml"])
@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, ""),
        ({"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}}, ""),
        ({**SCHEMA, "additionalProperties": {"type": "integer"}}, ""),
        ({**SCHEMA, "properties": {**SCHEMA["properties"], "n": {"type": "object"}}}, "/properties/n"),
    ],
)
def test_what_rules_do_not_remember(as_, schema, at):
    """What would need a memory is refused, with the place in the schema."""
    with pytest.raises(UnsupportedSchemaError) as refused:
        compiled(schema, as_)
    assert refused.value.at == at


@pytest.mark.parametrize(
    ("bounds", "counts"), [({"minProperties": 2}, {2, 3}), ({"maxProperties": 1, "required": []}, {0, 1})]
)
def test_members_are_counted(bounds, counts):
    """In YAML, in blocks and between brackets; an element of XML may be left out for null, so there it is refused."""
    members = {key: {"const": 1} for key in "abc"}
    schema = {"type": "object", "properties": members, "required": ["b"], "additionalProperties": False} | bounds
    needed = set(schema["required"])
    grammar = compiled({"type": "object", "properties": {"o": schema}, "additionalProperties": False}, "yaml")
    for size in range(4):
        for keys in combinations("abc", size):
            text = "o:\n" + "\n".join(f"  {key}: 1" for key in keys) if keys else "o: {}"
            matcher = grammar.matcher()
            is_written = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
            assert is_written is (size in counts and needed <= {*keys}), text
    with pytest.raises(UnsupportedSchemaError):
        compiled(schema, "xml")


def test_negated_containers_are_refused():
    """`not` over an object cannot be a rule."""
    with pytest.raises(SchemagenError):
        compiled({"type": "object", "not": {"required": ["a"]}}, "yaml")


@pytest.mark.parametrize("as_", ["yaml", "xml"])
def test_no_value_at_all(as_):
    """A schema without values is unsatisfiable in each format."""
    with pytest.raises(UnsatisfiableSchemaError):
        compiled({"type": "string", "pattern": "^a$", "minLength": 2}, as_)
    with pytest.raises(UnsatisfiableSchemaError):
        compiled({**SCHEMA, "properties": {"name": False, "n": {}}}, as_)


@pytest.mark.parametrize(
    ("key", "is_one"),
    [("name", True), ("naïve", True), ("名前", True), ("größe.2-x", True), ("_x", True)]
    + [(key, False) for key in ("2x", "xmlns", "a b", "a:b", "-x", "", "a<b", "²", "\U0001d431", "aⅣ")],
)
def test_names_of_elements(key, is_one):
    """Letters of any script that the reader knows, no blanks and colons, and none that begins like a word of XML itself."""
    spec = {
        "type": "object",
        "properties": {key: {"type": "integer"}},
        "additionalProperties": False,
        "required": [key],
    }
    if not is_one:
        with pytest.raises(UnsupportedSchemaError, match="cannot be written"):
            compiled(spec, "xml")
        return
    text = f"<value>\n  <{key}>1</{key}>\n</value>"
    grammar = compiled(spec, "xml")
    assert accepts(grammar, text)
    assert grammar.validate(text) == {key: 1}


# --- sizes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_", ["python", "yaml", "xml"])
def test_classes_in_several_places_are_rules_and_not_copies(as_):
    """A chain of classes, each twice in the next, is as many rules; written out it would be a thousand million texts."""
    chained: t.Any = create_model("Class0", a=(str, ...))
    for number in range(1, 31):
        chained = create_model(f"Class{number}", a=(chained, ...), b=(chained, ...))
    assert compiled(chained, as_).matcher().allowed_tokens()


# --- threads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("as_", "text"), [("python", PYTHON), ("yaml", YAML_TEXT), ("xml", XML)])
def test_threads_read_at_once(as_, text):
    """A grammar is shared between threads, and its reader is no exception."""
    grammar = compiled(Person, as_)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(grammar.validate, [text] * 64)) == [ADA] * 64


@pytest.mark.parametrize("reads", [100, pytest.param(2_000, marks=pytest.mark.slow)])
def test_threads_read_python_at_once(reads):
    """CPython 3.11 before 3.11.8 fails where threads parse at once; ours take turns there."""
    grammar = compiled(list[Person], "python")
    text = f"[{', '.join([PYTHON] * 8)}]"
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda _: read_often(grammar, text, reads), range(8)))
    finally:
        sys.setswitchinterval(interval)


def read_often(grammar, text, reads):
    """Read a text again and again, and leave cycles behind: the fault shows where the collector runs while a tree is made."""
    for _ in range(reads):
        cycle = Cyclic()
        cycle.itself = cycle
        del cycle
        assert len(grammar.validate(text)) == 8
    return True


class Cyclic:
    def __del__(self):  # noqa: D105 - what a collection runs: where it switches threads
        for _ in range(20):
            pass
