"""Advice about types: what each rule finds, and where it stays quiet."""

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field
from typer.testing import CliRunner

import schemagen
from schemagen.cli.commands import app
from schemagen.grammar.lint import RULES

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
Short = Annotated[str, Field(max_length=80)]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Late(BaseModel):
    answer: int
    reasoning: Short


class LateTwice(BaseModel):
    inner: Late
    others: Annotated[list[Late], Field(max_length=3)]


class Early(BaseModel):
    reasoning: Short
    answer: int


class Choosing(BaseModel):
    colour: Annotated[Colour, Field(description="Of the cover.")]
    size: Literal["S", "M", "other"]
    shape: Literal["round", "square"] | None
    unit: Literal["kg"]
    kind: Literal["a", "b"] = "a"


class Unbounded(BaseModel):
    name: Annotated[str, Field(description="In full.")]
    tags: list[Short]
    code: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    pair: tuple[int, int]
    rows: Annotated[list[list[int]], Field(max_length=3)] | None
    sizes: set[Literal["S", "M"]]


class Patterns(BaseModel):
    anchored: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    found_within: Annotated[str, Field(pattern="[A-Z]{3}")]
    endless: Annotated[str, Field(pattern="^a*$")]


class Scales(BaseModel):
    stars: Literal[1, 2, 3]
    priority: Literal["low", "high"]


class Recipe(BaseModel):
    vegan: bool
    steps: Annotated[list[Short], Field(max_length=9)]


class Sum(BaseModel):
    final_answer: int
    steps: Annotated[list[Short], Field(max_length=9)]


class Labelled(BaseModel):
    participant_label: Short
    steps: Annotated[list[Short], Field(max_length=9)]


class Explained(BaseModel):
    is_spam: bool
    scoreExplanation: Short  # noqa: N815 - a key in this style


class Parcel(BaseModel):
    status: Literal["late", "lost", "other"]
    reason: Literal["rain", "snow", "other"]
    working: bool


class Clear(BaseModel):
    x: int
    y: int
    value: int
    unit: Literal["kg"]


class Linked(BaseModel):
    number: int
    following: "Linked | None"


class Even(BaseModel):
    odd: "Odd | None"


class Odd(BaseModel):
    even: Even | None
    part: Linked | None


class Unclear(BaseModel):
    x: int
    field1: int
    data: int
    y: Annotated[int, Field(description="Rows from the top.")]


class Undescribed(BaseModel):
    width: int
    height: int
    depth: int
    weight: int


@dataclass
class Tree:
    value: Annotated[int, Field(description="Its number.")]
    children: "list[Tree]"


CASES = [
    (Late, {("answer-before-reasons", "")}),
    (LateTwice, {("answer-before-reasons", "/$defs/Late")}),
    (Early, set()),
    (Choosing, {("no-way-out", "/properties/colour")}),
    (
        Unbounded,
        {
            ("unbounded-string", "/properties/name"),
            ("unbounded-list", "/properties/sizes"),
        },
    ),
    (Patterns, {("unbounded-string", "/properties/found_within")}),
    (Scales, set()),
    (Recipe, set()),
    (Sum, {("answer-before-reasons", "")}),
    (Labelled, set()),
    (Explained, {("answer-before-reasons", "")}),
    (Parcel, set()),
    (Clear, {("no-description", "")}),
    (Linked, {("unbounded-depth", "/$defs/Linked")}),
    (Even, {("unbounded-depth", "/$defs/Even")}),
    (Unclear, {("unclear-name", "")}),
    (Undescribed, {("no-description", "")}),
    (Tree, {("unbounded-list", "/$defs/Tree/properties/children"), ("unbounded-depth", "/$defs/Tree")}),
    (list[int], {("unbounded-list", "")}),
    (str, {("unbounded-string", "")}),
    (int, set()),
    (bool, set()),
    ({"type": ["string", "null"]}, {("unbounded-string", "")}),
    ({"type": "string", "format": "no-such-format"}, {("unbounded-string", "")}),
    ({"type": "string", "format": "date"}, set()),
    ({"type": "array", "items": {"enum": ["S", "M"]}, "uniqueItems": True}, set()),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": False}, set()),
    (
        {"type": "object", "properties": {"a%20b": {"type": "array", "items": {"type": "integer"}}}},
        {("unbounded-list", "/properties/a%20b")},
    ),
    ({"properties": {"self": {"$ref": "#"}}, "type": "object"}, {("unbounded-depth", "")}),
    ({"type": "object", "properties": {"age": {"type": "integer", "minimumx": 1}}}, {("no-effect", "/properties/age")}),
    (
        {"type": "object", "properties": {"number_of_items_that_were_ordered": {"type": "integer"}}},
        {("long-key", "")},
    ),
    (schemagen.Regex("a*"), set()),
    (schemagen.Choice(["a", "b"]), set()),
    (schemagen.Lark('start: "a"+'), set()),
]


@pytest.mark.parametrize(
    ("spec", "expected"), CASES, ids=[str(getattr(spec, "__name__", spec))[:40] for spec, _ in CASES]
)
def test_advice(bundled_vocabulary, spec, expected):
    """The rules and places; long keys of the small vocabulary are left out where they are not the case's own."""
    found = {(each.rule, each.at) for each in schemagen.compile(spec, bundled_vocabulary).lint()}
    own = {rule for rule, _ in expected}
    assert {(rule, at) for rule, at in found if rule in own or rule != "long-key"} == expected


def test_every_rule_has_a_case():
    """And the budget, which has a test of its own."""
    assert {rule for _, found in CASES for rule, _ in found} | {"small-budget"} == RULES.keys()


def test_advice_says_what_and_why(bundled_vocabulary):
    """It names fields and numbers, gives the reason with its source, a remedy, and how much it matters."""
    advice, *_ = schemagen.compile(Late, bundled_vocabulary).lint()
    assert advice.fact == "reasoning comes after answer"
    assert advice.source == "arXiv:2408.02442"
    assert advice.level == "warning"
    assert f"{advice.why} ({advice.source})" in str(advice)
    assert advice.fix == "declare reasoning before answer"
    assert str(advice).splitlines()[0] == advice.fact


def test_places_have_names(bundled_vocabulary):
    """Parts of lists and of maps are told from the list itself."""
    facts = [each.fact for each in schemagen.compile(Unbounded, bundled_vocabulary).lint()]
    # A set may be written with repetitions, so it has no bound either.
    assert {"sizes, items of rows, tags may have any number of items"} == {fact for fact in facts if "items" in fact}
    maps = schemagen.compile({"type": "object", "additionalProperties": {"type": "string"}}, bundled_vocabulary)
    assert [each.fact for each in maps.lint()] == ["values of the answer may be of any length"]
    [cycle] = [each for each in schemagen.compile(Even, bundled_vocabulary).lint() if each.rule == "unbounded-depth"]
    assert cycle.fact == "Even, Odd, Linked may contain itself at any depth"
    _, endless = schemagen.compile(
        {"properties": {"a1": {"type": "string"}, "code": {"type": "string", "pattern": "[a-z]"}}, "type": "object"},
        bundled_vocabulary,
    ).lint()[:2]
    assert endless.fact == "patterns that texts of any length match: code ([a-z])"


def test_keywords_are_named_once(bundled_vocabulary):
    """With the number of their places, and with the keyword that may be meant."""
    wrong = {"type": "integer", "minimumx": 1}
    found = schemagen.compile({"properties": {"a1": wrong, "b": wrong}, "type": "object"}, bundled_vocabulary).lint()
    [advice] = [each for each in found if each.rule == "no-effect"]
    assert advice.fact.startswith("minimumx restricts nothing, in 2 places")
    assert "did you mean 'minimum'?" in advice.fact


def test_the_budget_of_a_pattern(bundled_vocabulary):
    """The one rule that makes sense without fields."""
    grammar = schemagen.compile(schemagen.Regex("[a-z]{40}"), bundled_vocabulary)
    assert [each.rule for each in grammar.lint(grammar.min_new_tokens)] == ["small-budget"]


def test_a_budget(bundled_vocabulary):
    """One that leaves little room beside the keys is named with what it takes."""
    grammar = schemagen.compile(Late, bundled_vocabulary)
    needed = grammar.min_new_tokens
    assert grammar.lint(needed * 2 - 1)[-1].rule == "small-budget"
    assert str(needed) in grammar.lint(needed)[-1].fact
    assert grammar.lint(needed * 2) == grammar.lint()


def run(*arguments: str):
    """Run the command."""
    return CliRunner().invoke(app, ["lint", *arguments])


def test_the_command():
    """Text or JSON; with --strict advice is a failure; rules about tokens need a tokenizer."""
    schema = json.dumps(CASES[-4][0])
    assert "no advice" in run(schema, "--strict").output
    bundled = str(Path(schemagen.__file__).parent / "lm" / "bundled")
    found = run(schema, "--json", "--tokenizer", bundled, "--max-new-tokens", "1")
    assert [each["rule"] for each in json.loads(found.output)] == ["long-key", "small-budget"]
    assert found.exit_code == 0
    assert all(
        set(each) == {"rule", "level", "at", "fact", "why", "fix", "source"} for each in json.loads(found.output)
    )
    told = run('{"type": "string"}', "--strict")
    assert told.exit_code == 1
    assert "rule: unbounded-string, advice" in told.output


def test_a_grammar_without_fields(tmp_path):
    """The command says why there is nothing to say."""
    path = tmp_path / "a.gbnf"
    path.write_text('root ::= "a"+\n', encoding="utf-8")
    told = run(str(path), "--strict")
    assert told.exit_code == 0
    assert told.output == "no advice: most rules are about fields, and this grammar has none\n"


def test_the_page_has_every_rule():
    """With the reason that the advice gives."""
    rows = [
        f"| `{name}` | {rule.level} | {rule.why[0].upper()}{rule.why[1:]} | {rule.source} |"
        for name, rule in RULES.items()
    ]
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(["| rule | level | why | source |", "|---|---|---|---|", *rows]) in page, "\n".join(rows)


def test_pages_that_are_sources_exist():
    """A source within the documentation is a page of it."""
    pages = [part for rule in RULES.values() for part in rule.source.split(", ") if part.startswith("docs/")]
    assert pages
    assert [page for page in pages if not (PAGE.parents[1] / page).is_file()] == []
