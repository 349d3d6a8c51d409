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
    code: Annotated[str, Field(pattern="[A-Z]{3}")]
    pair: tuple[int, int]


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
    (Unbounded, {("unbounded-string", "/properties/name"), ("unbounded-list", "/properties/tags")}),
    (Unclear, {("unclear-name", "")}),
    (Undescribed, {("no-description", "")}),
    (Tree, {("unbounded-list", "/$defs/Tree/properties/children")}),
    (list[int], {("unbounded-list", "")}),
    (str, {("unbounded-string", "")}),
    (int, set()),
    (bool, set()),
    ({"type": "object", "properties": {"age": {"type": "integer", "minimun": 1}}}, {("no-effect", "/properties/age")}),
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
    """It names fields and numbers, gives the reason with its source, and a remedy."""
    advice, *_ = schemagen.compile(Late, bundled_vocabulary).lint()
    assert advice.fact == "reasoning comes after answer"
    assert "arXiv:2408.02442" in advice.why
    assert advice.fix == "declare reasoning before answer"
    assert str(advice).splitlines()[0] == advice.fact


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
    told = run('{"type": "string"}', "--strict")
    assert told.exit_code == 1
    assert "rule: unbounded-string" in told.output


def test_the_page_has_every_rule():
    """With the reason that the advice gives."""
    rows = [f"| `{name}` | {rule.why[0].upper()}{rule.why[1:]} |" for name, rule in RULES.items()]
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(["| rule | why |", "|---|---|", *rows]) in page, "\n".join(rows)
