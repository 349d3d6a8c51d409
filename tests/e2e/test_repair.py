"""`lm.repair` turns nearly valid text into values: what is valid stays, and the model writes what has to be invented."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import AfterValidator, BaseModel, Field, create_model

import schemagen
from schemagen.errors import BudgetError, LimitError, OptionError, OptionTypeError, ValidationFailed
from schemagen.lm import Repair
from schemagen.testing import random_text

PROMPT = "Ada Lovelace, 36, lives in London"
#: Random types, and corrupted texts of each.
TYPES, CORRUPTIONS = 30, 10


class Address(BaseModel):
    city: str
    zip: Optional[str] = None


class Person(BaseModel):
    name: str
    age: int
    ok: bool
    colour: Literal["red", "green"]
    address: Optional[Address] = None
    tags: list[str] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(ge=0, le=9)]


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


class Node(BaseModel):
    label: str
    next: Optional[Node] = None


def edited(text: str, found: Repair[Any]) -> str:
    """Return a text after the edits of a repair."""
    for edit in reversed(found.edits):
        text = text[: edit.start] + edit.replacement + text[edit.end :]
    return text


def check(lm: Any, text: str, spec: Any, found: Repair[Any]) -> None:
    """Check that the text of a repair is one of the spec, denotes its value, and is the given text after the edits."""
    grammar = lm.compile(spec, whitespace="any", property_order="any")
    matcher = grammar.matcher()
    assert matcher.accept_bytes(found.text.encode()), (text, found.text)
    assert matcher.is_accepting(), (text, found.text)
    assert grammar.validate(found.text) == found.value
    assert edited(text, found) == found.text


# --- the mistakes of models ------------------------------------------------------------------------------------------------

VALID = '{"name": "Ada", "age": 36, "ok": true, "colour": "red"}'

#: A text, what becomes of it without the model, and the cost.
MISTAKES: list[tuple[str, str, float]] = [
    (f"Sure! Here is {{the}} JSON:\n{VALID}\nAnything else?", VALID, 2),
    (f"```json\n{VALID}\n```", VALID, 2),
    (VALID.replace('"', "'"), VALID, 0.06),
    (VALID[:-1] + ",}", VALID, 1),
    (VALID[:-1], VALID, 1),
    (
        '{"name": "Ada", "age": 36, "ok": true, "colour": "red", "tags": ["a", "b"',
        VALID[:-1] + ', "tags": ["a", "b"]}',
        2,
    ),
    ("{name: Ada, age: 36, ok: true, colour: red}", VALID, 0.06),
    (VALID.replace("true", "True"), VALID, 0.01),
    (VALID[:-1] + ', "address": None}', VALID[:-1] + ', "address": null}', 0.01),
    (VALID.replace('"Ada",', '"Ada", // the name\n').replace("36,", "36, /* years */"), None, 0.02),
    (VALID.replace("36", '"36"'), VALID, 0.01),
    (VALID.replace("36", '"36 years"'), VALID, 1),
    (VALID.replace("36", "1,200"), VALID.replace("36", "1200"), 0.01),
    (VALID.replace('"Ada"', "36"), VALID.replace('"Ada"', '"36"'), 0.01),
    (VALID[:-1] + ', "extra": {"x": [1, 2]}}', VALID, 3.5),
    (VALID.replace('"age"', '"extra": "x", "age"'), VALID, 3.5),
    (VALID.replace('"Ada"', '"Ada "the great" Byron"'), VALID.replace('"Ada"', '"Ada \\"the great\\" Byron"'), 1.2),
    (VALID.replace('"Ada"', '"Ada\nByron"'), VALID.replace('"Ada"', '"Ada\\nByron"'), 0.01),
    (VALID.replace("36,", "36"), VALID.replace("36,", "36 ,"), 1),
    (f"[{VALID}]", VALID, 2),
    (f'{{"person": {VALID}}}', VALID, 3.5),
    (VALID.replace('"age":', '"age" '), None, 1),
    (VALID.replace('"', "\N{LEFT DOUBLE QUOTATION MARK}", 1), None, 2),
]


@pytest.mark.parametrize(("text", "expected", "cost"), MISTAKES, ids=[text[:40] for text, *_ in MISTAKES])
def test_usual_mistakes(lm, monkeypatch, text, expected, cost):
    """The usual mistakes that lose nothing are corrected without the model."""
    monkeypatch.setattr(type(lm.model), "forward", None)
    found = lm.run_repair(text, Person)
    check(lm, text, Person, found)
    assert found.cost <= cost + 0.1
    assert found.generation is None
    if expected is not None:
        assert json.loads(found.text) == json.loads(expected)
    else:
        assert found.value == Person(name="Ada", age=36, ok=True, colour="red")


HOLES: list[tuple[str, Any, dict[str, Any]]] = [
    (VALID.replace('"red"', '"grean"'), Person, {"name": "Ada", "age": 36, "ok": True}),
    (VALID.replace('"red"', '"crimson"'), Person, {"name": "Ada", "age": 36, "ok": True}),
    (VALID.replace('"age": 36, ', ""), Person, {"name": "Ada", "ok": True, "colour": "red"}),
    (VALID.replace("36", '"unknown"'), Person, {"name": "Ada", "ok": True, "colour": "red"}),
    ('{"name": "Ada", "colour": "red"', Person, {"name": "Ada", "colour": "red"}),
    ('{"kind": "cat"}', Union[Cat, Dog], {"kind": "cat"}),
    ('{"kind": "dog", "lives": 12}', Cat, {"kind": "cat"}),
    ("", Person, {}),
    ("no idea", Cat, {}),
]


@pytest.mark.parametrize(("text", "spec", "kept"), HOLES, ids=[text[:40] for text, *_ in HOLES])
def test_what_the_model_writes(lm, text, spec, kept):
    """The model writes invented values, and only these."""
    found = lm.run_repair(text, spec, max_new_tokens=300, show_schema=False)
    check(lm, text, spec, found)
    assert found.generation is not None
    assert found.cost > 0
    value = json.loads(found.text)
    for key, part in kept.items():
        assert value[key] == part or part.items() <= value[key].items(), found.text


def test_the_model_reads_the_prompt(bundled_lm):
    """A missing value is looked for in what the text answers."""
    found = bundled_lm.run_repair('{"name": "Ada Lovelace"', create_model("P", name=(str, ...), age=(int, ...)), PROMPT)
    assert (found.value.name, found.value.age) == ("Ada Lovelace", 36)
    assert found.text.startswith('{"name": "Ada Lovelace"')


def test_the_prompt_shows_the_text(lm, monkeypatch):
    """The model reads the caller's words, the shape, and the text as it was."""
    seen: list[Any] = []

    def render(_, messages, **__):
        seen.append(messages)
        return "x", False

    monkeypatch.setattr("schemagen.request.answer_request.render", render)
    lm.run_repair('{"kind": "cat"', Cat, "Tom has nine lives", max_new_tokens=80)
    content = seen[0][-1]["content"]
    assert content.startswith("Tom has nine lives\n\nAnswer with JSON only")
    assert content.endswith('\n{"kind": "cat"')


def test_invented_text_without_a_choice_needs_no_model(lm, monkeypatch):
    """A constant that is missing is written without the model."""
    monkeypatch.setattr(type(lm.model), "forward", None)
    found = lm.run_repair('{"lives": 3}', Cat)
    assert found.value == Cat(kind="cat", lives=3)
    assert (found.generation, found.cost > 0) == (None, True)


# --- valid texts, and random faults ----------------------------------------------------------------------------------------

UNCHANGED: list[tuple[str, Any]] = [
    (VALID, Person),
    ('{ "colour":"red",\n\n\n      "age":36,"ok":true ,"name":"A" }', Person),
    (" " * 100 + VALID, Person),
    ('{"a": 1234567890123456789012345678901234567890}', {"type": "object", "properties": {"a": {"type": "integer"}}}),
    ("abab", schemagen.Regex("(ab)*")),
    ("yes", schemagen.Choice(["yes", "no"])),
    ("", schemagen.Regex("(ab)*")),
]


@pytest.mark.parametrize(("text", "spec"), UNCHANGED, ids=[text[:20] for text, _ in UNCHANGED])
def test_valid_text_is_left_alone(lm, monkeypatch, text, spec):
    """Whatever its layout and the order of its keys: no edit, no cost, no call."""
    monkeypatch.setattr(type(lm.model), "forward", None)
    found = lm.run_repair(text, spec)
    assert (found.text, found.edits, found.cost, found.generation) == (text, (), 0, None)


KINDS: tuple[Any, ...] = (
    Annotated[str, Field(max_length=6)],
    Annotated[int, Field(ge=-9, le=99)],
    float,
    bool,
    Literal["red", "green", 3],
    Annotated[int, Field(ge=0, le=9)] | None,
    Annotated[list[bool], Field(max_length=2)],
    tuple[bool, Annotated[int, Field(ge=0, le=9)]],
    Annotated[Union[Cat, Dog], Field(discriminator="kind")],
    Cat,
)


def corrupted(text: str, rng: random.Random) -> tuple[str, int]:
    """Return a text with one to three characters deleted, inserted or replaced, and the cost to undo that at most."""
    count = rng.randint(1, 3)
    start = rng.randrange(max(1, len(text) - count))
    more = "".join(rng.choices('abc"{}[],: 019\\', k=count))
    way = rng.choice(["delete", "insert", "replace"])
    rest = text[start + (0 if way == "insert" else count) :]
    return text[:start] + ("" if way == "delete" else more) + rest, count * (2 if way == "replace" else 1)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(TYPES))
def test_random_corruptions(lm, seed):
    """A corrupted text becomes an instance, at no more than what it costs to undo the corruption."""
    rng = random.Random(seed)
    fields = {f"f{index}": (rng.choice(KINDS), ...) for index in range(rng.randint(1, 3))}
    tp = create_model(f"Random{seed}", **fields)
    grammar = lm.compile(tp)
    for index in range(CORRUPTIONS):
        valid = random_text(grammar, seed=seed * CORRUPTIONS + index, max_tokens=30)
        text, bound = corrupted(valid, rng)
        found = lm.run_repair(text, tp, max_new_tokens=100, show_schema=False, whitespace="flexible")
        check(lm, text, tp, found)
        assert found.cost <= bound, (valid, text, found.text)
        matcher = lm.compile(tp, property_order="any").matcher()
        is_valid = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
        assert (found.edits == ()) == (found.text == text)
        assert not is_valid or found.text == text
        again = lm.run_repair(found.text, tp)
        assert (again.text, again.edits) == (found.text, ())


def test_it_is_the_same_every_time(lm):
    """Nothing about the search is random."""
    text = '{"name": Ada, "age" "x", ok: True, colour: "rde", tags: ["a" "b"'
    runs = [lm.run_repair(text, Person, max_new_tokens=200, show_schema=False) for _ in range(2)]
    assert runs[0].text == runs[1].text
    assert runs[0].edits == runs[1].edits


# --- other specs, and refusals ---------------------------------------------------------------------------------------------


def test_patterns_choices_and_schemas(lm):
    """Of patterns and choices the cheapest edits decide; a schema is like a type, and so is a compiled grammar."""
    assert lm.repair("abb", schemagen.Regex("(ab)*")) == "ab"
    assert lm.repair("Yes.", schemagen.Choice(["yes", "no"])) == "yes"
    assert lm.repair("the answer is 36", int) == 36
    assert lm.repair("{'a': 'b'", {"type": "object", "properties": {"a": {"const": "b"}}}) == {"a": "b"}
    grammar = lm.compile(Cat)
    assert lm.repair('{"kind":"cat","lives":3', grammar) == Cat(kind="cat", lives=3)


def test_the_order_of_the_text_is_kept(lm):
    """Also of keys that the type does not declare, and where some are missing."""
    text = '{"colour": "red", "ok": True, age: 36, "name": "Ada"'
    assert lm.run_repair(text, Person).text == '{"colour": "red", "ok": true, "age": 36, "name": "Ada"}'
    spec = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
    assert lm.run_repair('{"z": 1, "b": 2, "y": [3,], "a": 4', spec).text == '{"z": 1, "b": 2, "y": [3], "a": 4}'


def test_keys_of_dicts(lm):
    """Keys have to differ, so that every one leads to another place of the grammar."""
    found = lm.run_repair("{'a': 1, 'b' 2, \"c\": '3'}", dict[str, int])
    assert found.text == '{"a": 1, "b" :2, "c": 3}'


def test_a_long_text_that_is_cut_off(lm, monkeypatch):
    """It is one mistake, however much is missing."""
    monkeypatch.setattr(type(lm.model), "forward", None)
    items = [{"a": {"b": [index]}} for index in range(300)]
    text = json.dumps({"items": items})
    found = lm.run_repair(text[:-5], {"properties": {"items": {"items": {"type": "object"}}}})
    assert (found.text, found.cost) == (text, 1)


def test_a_given_layout_is_enforced(lm):
    """Without ``whitespace`` and ``property_order`` any will do."""
    text = '{"lives": 3, "kind": "cat"}'
    assert lm.run_repair(text, Cat).text == text
    assert lm.run_repair(text, Cat, whitespace="compact").text == '{"lives":3,"kind":"cat"}'


def test_asyncio(lm):
    """The twins return the same."""
    assert asyncio.run(lm.arepair(VALID[:-1], Person)) == lm.repair(VALID[:-1], Person)
    assert asyncio.run(lm.arun_repair(VALID[:-1], Person)) == lm.run_repair(VALID[:-1], Person)


def test_refusals(lm):
    """Bad arguments, formats without JSON, validators, budgets and limits."""

    def never(_: int) -> int:
        raise ValueError("never")

    with pytest.raises(OptionTypeError):
        lm.repair(3, Person)
    with pytest.raises(OptionError, match="not JSON"):
        lm.repair("name: Ada", Person, as_="yaml")
    with pytest.raises(OptionError, match="max_tokens"):
        lm.repair("{", Person, max_tokens=3)
    with pytest.raises(OptionError, match="needs a type or schema"):
        lm.repair("{")
    with pytest.raises(BudgetError):
        lm.repair('{"name": "Ada"', Person, max_new_tokens=3)
    with pytest.raises(ValidationFailed):
        lm.repair('{"a": 3', create_model("Never", a=(Annotated[int, AfterValidator(never)], ...)))
    with pytest.raises(LimitError, match="20,000"):
        lm.repair("x" * 20_001, Person)
