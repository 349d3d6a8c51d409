"""What notebooks show: tables of results, grammars and reports in which no text of a user is markup."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from shutil import which
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, Field, SecretStr

import schemagen
from schemagen.notebook import MOST_CHARACTERS, MOST_ROWS, html_table

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
SCRIPT = "</td></svg><script>alert(1)</script><img src=x onerror=alert(1)>"
TAGS = {
    "table",
    "tr",
    "th",
    "td",
    "div",
    "b",
    "svg",
    "title",
    "g",
    "text",
    "path",
    "rect",
    "polygon",
    "polyline",
    "ellipse",
}


class Reader(HTMLParser):
    """Collects the tags, the attributes and the cells of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.styles: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.styles |= {value or "" for name, value in attrs if name == "style"}
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def cells(value: Any) -> list[str]:
    """The cells of the table of one value."""
    return Reader(html_table([("value", value)])).cells[2:]


class Person(BaseModel):
    name: str
    age: int
    password: SecretStr = SecretStr("hidden")
    internal: str = Field(default="secret", repr=False)


@dataclass
class Point:
    x: int
    y: int
    hidden: str = field(default="secret", repr=False)


@dataclass
class Unset:
    first: int
    second: int = field(init=False)


class Silent:
    """Neither `str` nor `repr` works."""

    def __str__(self) -> str:  # noqa: D105 - the class says it
        raise RuntimeError

    __repr__ = __str__


class SilentModel(BaseModel):
    """Its fields cannot be listed."""

    def __repr_args__(self) -> Any:  # noqa: D105 - the class says it
        raise RuntimeError


class Pair(NamedTuple):
    left: int
    right: None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Person(name="Ada", age=36), ["name", "Ada", "age", "36", "password", "**********"]),
        (Point(1, 2), ["x", "1", "y", "2"]),
        (Pair(1, None), ["left", "1", "right", "None"]),
        ({"a": {"b": 1}}, ["a", "", "b", "1"]),
        ([Point(1, 2), Point(3, 4)], ["0", "", "x", "1", "y", "2", "1", "", "x", "3", "y", "4"]),
        ([1, 2], []),
        ({}, []),
        (Point, []),
    ],
    ids=str,
)
def test_a_record_is_a_table_of_its_fields(value: Any, shown: list[str]) -> None:
    """So is a list of records; lists of anything else, and fields that a repr leaves out, make no rows."""
    assert cells(value) == shown
    assert "secret" not in html_table([("value", value)])


@pytest.mark.parametrize("value", [Silent(), [Silent()], SilentModel()], ids=["str", "list", "model"])
def test_a_value_that_cannot_be_shown_leaves_the_others(value: Any) -> None:
    """Its cell names its type and the error, and a field that is not set is left out."""
    shown = f"{type(value).__name__}, which raises RuntimeError when it is shown"
    assert Reader(html_table([("a", value), ("b", 1)])).cells == ["a", shown, "b", "1"]
    assert cells({"x": value, "y": 2}) == ["x", shown, "y", "2"]
    assert cells(Unset(1)) == ["first", "1"]


def test_large_values_are_cut() -> None:
    """A line counts the rest, and what is inside of three tables is text, even of a value that contains itself."""
    assert cells(dict.fromkeys(range(MOST_ROWS + 7), 0))[-1] == "… 7 more"
    assert "x… 1,000 more characters" in html_table([("text", "x" * (MOST_CHARACTERS + 1000))])
    circle: dict[str, Any] = {}
    circle["again"] = circle
    assert cells(circle) == ["again", "", "again", "", "again", "{'again': {...}}"]
    nested: list[Any] = []
    nested.append(nested)
    assert cells(nested) == []


def hostile() -> list[Any]:
    """Results, grammars and reports with markup wherever a stranger can write."""
    schema = {"title": SCRIPT, "properties": {SCRIPT: {"enum": [SCRIPT]}, "a": {SCRIPT: 1}}}
    grammars = [
        schemagen.compile(spec, VOCABULARY, cache=None)
        for spec in (schema, schemagen.Choice(SCRIPT), schemagen.GBNF(f'root ::= "{SCRIPT}" a\na ::= [<>&"]'))
    ]
    generations = [
        schemagen.Generation(value, SCRIPT, (1,), 1, 0.5, 0.1, reasoning=SCRIPT)
        for value in (SCRIPT, {SCRIPT: SCRIPT}, [{SCRIPT: 1}], Person(name=SCRIPT, age=1))
    ]
    return [*grammars, *(grammar.report for grammar in grammars), *generations]


@pytest.mark.parametrize("shown", hostile(), ids=lambda shown: type(shown).__name__)
def test_nothing_of_a_user_is_markup(shown: Any) -> None:
    """Nothing runs, nothing is loaded, and nothing has a colour of its own that the dark would hide."""
    html = shown._repr_html_()
    reader = Reader(html)
    assert reader.tags <= TAGS
    assert not [name for name in reader.attributes if name.startswith("on") or name in {"href", "src", "xlink:href"}]
    assert not any("color" in style or "url" in style for style in reader.styles)
    assert "<style" not in html


def test_a_generation_shows_its_figures_under_their_names() -> None:
    """Not the numbers of its tokens, and nothing that it does not have."""
    answer = schemagen.Generation("<i>x", "<i>x", (71, 72, 73), 4, 0.51234, 0.01234, finish_reason="budget")
    assert Reader(answer._repr_html_()).cells == [
        *("value", "<i>x", "text", "<i>x", "new_tokens", "3", "prompt_tokens", "4", "seconds", "0.512"),
        *("masked_mass", "0.012", "finish_reason", "budget", "attempts", "1"),
    ]
    assert Reader(schemagen.Generation(None, "null", (1,), 4, 0.5, None)._repr_html_()).cells[:2] == ["value", "None"]


def test_a_report_is_a_table_with_what_is_not_enforced_in_bold() -> None:
    """Its counts stand above it."""
    schema = {"properties": {"a": {"type": "string", "pattern": r"^(.)\1$", "maxLen": 3}}}
    html = schemagen.compile(schema, VOCABULARY, strict=False, cache=None).report._repr_html_()
    shown = Reader(html).cells
    assert shown[:4] == ["status", "at", "keyword", "note"]
    assert ["enforced", "/properties/a", "type", ""] in [shown[i : i + 4] for i in range(4, len(shown), 4)]
    assert html.startswith("<div>4 enforced, 1 checked_after, 1 unknown</div>")
    assert "<b>checked_after</b>" in html
    assert "<b>unknown</b>" in html
    assert "<b>enforced</b>" not in html


def test_a_grammar_shows_its_spec_and_figures() -> None:
    """Of a grammar text no counts: its report says nothing of keywords."""
    grammar = schemagen.compile(Person, VOCABULARY, cache=None)
    shown = Reader(grammar._repr_html_()).cells
    rows = dict(zip(shown[::2], shown[1::2], strict=False))
    assert rows["kind"] == "type"
    assert rows["spec"] == "Person"
    assert rows["vocabulary"] == f"{VOCABULARY.size:,} tokens"
    assert rows["min_new_tokens"] == str(grammar.min_new_tokens)
    assert rows["report"].startswith(grammar.report.summary)
    for spec, kind in (({"type": "null"}, "JSON Schema"), (schemagen.Regex("a"), "Regex")):
        assert kind in Reader(schemagen.compile(spec, VOCABULARY)._repr_html_()).cells
    text = schemagen.compile(schemagen.GBNF('root ::= "a"'), VOCABULARY)
    assert "report" not in Reader(text._repr_html_()).cells


def test_a_grammar_shows_a_small_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules need no other program, objects Graphviz; patterns and large grammars have none, and colours are inherited."""
    rules = schemagen.compile(schemagen.GBNF('root ::= "a" b\nb ::= "c" | root'), VOCABULARY, cache=None)
    assert "<svg" in rules._repr_html_()
    assert "2 rules; terminals are round" in rules._repr_html_()
    assert "<svg" in schemagen.compile(Person, VOCABULARY, cache=None)._repr_html_() or which("dot") is None
    assert "<svg" not in schemagen.compile(schemagen.Regex("a+"), VOCABULARY, cache=None)._repr_html_()
    monkeypatch.setattr("schemagen.draw.drawing.shutil.which", lambda _: None)
    assert "<svg" not in schemagen.compile(Point, VOCABULARY, cache=None)._repr_html_()
    monkeypatch.setattr("schemagen.grammar.grammar._LARGE", 100)
    assert "<svg" not in schemagen.compile(schemagen.GBNF('root ::= "a"'), VOCABULARY, cache=None)._repr_html_()
