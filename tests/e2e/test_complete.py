"""`lm.complete` keeps what is given, in any place of any type, and has the model write the rest."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import random
import typing
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, RootModel, TypeAdapter, create_model
from typing_extensions import TypedDict

import schemagen
from schemagen.errors import BudgetError, OptionError, OptionTypeError, ValidationFailed
from schemagen.prompts.messages import plain_text
from schemagen.testing import random_text

#: Random types, and partial values of each.
TYPES, PARTIALS = 50, 10


class Address(BaseModel):
    street: str = Field(max_length=8)
    city: str = Field(max_length=8)


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=120)
    address: Address
    nick: Annotated[str | None, Field(alias="nickName", max_length=4)] = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


class Node(BaseModel):
    label: Literal["a", "b"]
    next: Optional[Node] = None


class Movie(TypedDict):
    title: Literal["Up", "Jaws"]
    year: Annotated[int, Field(ge=1900, le=2100)]


class Pair(NamedTuple):
    left: int
    right: int


@dataclass
class Point:
    x: Annotated[int, Field(ge=0, le=9)]
    y: Annotated[int | None, Field(ge=0, le=9)] = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: bool
    b: bool


KINDS: tuple[Any, ...] = (
    Annotated[str, Field(max_length=3)],
    Annotated[str, Field(pattern="^[a-c]{1,3}$")],
    Annotated[int, Field(ge=-9, le=99)],
    bool,
    Literal["red", "green", 3],
    Annotated[int, Field(ge=0, le=9)] | None,
    Annotated[list[bool], Field(max_length=2)],
    tuple[bool, Annotated[int, Field(ge=0, le=9)]],
    Annotated[dict[Literal["k", "l"], bool], Field(max_length=2)],
    Union[Cat, Dog],
    Annotated[Union[Cat, Dog], Field(discriminator="kind")],
    Annotated[list[Cat], Field(max_length=2)],
    Node,
    Movie,
    Point,
    dt.date,
)


def random_type(rng: random.Random) -> type[BaseModel]:
    """Return a class of one to four fields of random types, some of them optional or with an alias."""
    fields: dict[str, Any] = {}
    for index in range(rng.randint(1, 4)):
        tp = rng.choice(KINDS)
        alias = {"alias": f"f-{index}"} if rng.random() < 0.2 else {}
        fields[f"f{index}"] = (
            (Optional[tp], Field(default=None, **alias)) if rng.random() < 0.3 else (tp, Field(**alias))
        )
    return create_model(f"Random{rng.randrange(1000)}", **fields)


def random_part(value: Any, rng: random.Random) -> Any:
    """Return JSON data without some of the members of its objects; lists keep their length."""
    if isinstance(value, dict):
        return {key: random_part(part, rng) for key, part in value.items() if rng.random() < 0.6}
    return [random_part(part, rng) for part in value] if isinstance(value, list) else value


def holds(given: Any, found: Any) -> bool:
    """Whether JSON data has all given parts, equal and in their places."""
    if isinstance(given, dict):
        return isinstance(found, dict) and all(key in found and holds(part, found[key]) for key, part in given.items())
    if isinstance(given, list):
        return isinstance(found, list) and len(given) == len(found) and all(map(holds, given, found))
    return given == found and isinstance(given, bool) == isinstance(found, bool)


def is_text_of(grammar: schemagen.Grammar, text: str) -> bool:
    """Whether a text is one of a grammar."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(TYPES))
def test_given_parts_are_kept(lm, seed):
    """Of random types, random parts come back as they were given, in a valid text of the type."""
    rng = random.Random(seed)
    tp = random_type(rng)
    grammar = lm.compile(tp)
    for index in range(PARTIALS):
        instance = json.loads(random_text(grammar, seed=seed * PARTIALS + index, max_tokens=30))
        partial = random_part(instance, rng)
        found = lm.run_complete(
            partial, tp, temperature=1.0, seed=index, max_new_tokens=100, show_schema=False, whitespace="compact"
        )
        assert holds(partial, json.loads(found.text)), (tp, partial, found.text)
        assert is_text_of(grammar, found.text), (tp, partial, found.text)
        assert found.value == TypeAdapter(tp).validate_json(found.text)


@pytest.mark.parametrize("seed", range(10))
def test_whole_values_need_no_model(lm, seed):
    """A whole instance comes back, and the model is not called."""
    rng = random.Random(seed)
    tp = random_type(rng)
    fields = tp.model_fields
    instance = json.loads(random_text(lm.compile(tp), seed=seed, max_tokens=40))
    full = {key: instance.get(key) for key in [info.alias or name for name, info in fields.items()]}
    value = tp.model_validate(full)
    found = lm.run_complete(value, tp)
    # An optional field that was set to None is given, too; only fields of nested values may be missing.
    assert found.value.model_dump(exclude_unset=True) | value.model_dump(exclude_unset=True) == found.value.model_dump(
        exclude_unset=True
    )


def test_the_model_is_not_called_for_a_whole_value(lm):
    """Everything is given: no pass, no token."""
    whole = {"name": "Ada", "age": 36, "nick": "A", "address": {"city": "London", "street": "x"}}
    found = lm.run_complete(whole, Person)
    assert (found.passes, found.token_ids, found.attempts) == (0, (), 0)
    assert found.value == Person(name="Ada", age=36, nickName="A", address=Address(city="London", street="x"))
    assert is_text_of(lm.compile(Person), found.text)


# --- what a partial value may be ------------------------------------------------------------------------------------------

CASES: list[tuple[Any, Any, Any]] = [
    ({"nick": "x"}, Person, {"nickName": "x"}),
    ({"nickName": "x", "address": {"city": "Rome"}}, Person, {"nickName": "x", "address": {"city": "Rome"}}),
    (Person.model_construct(age=3, nick=None), Person, {"age": 3, "nickName": None}),
    (schemagen.Partial[Person](age=3), Person, {"age": 3}),
    (schemagen.Partial[Person](address=schemagen.Partial[Address](city="Rome")), Person, {"address": {"city": "Rome"}}),
    (Point(3), Point, {"x": 3}),
    (Point(3, 4), Point, {"x": 3, "y": 4}),
    ({"title": "Up"}, Movie, {"title": "Up"}),
    ({"a": True}, typing.TypedDict("Old", {"a": bool, "b": bool}), {"a": True}),
    ({"b": True, "z": 1}, Open, {"b": True, "z": 1}),
    ({"good": True}, Union[Cat, Dog], {"kind": "dog", "good": True}),
    ({"lives": 3}, Annotated[Union[Cat, Dog], Field(discriminator="kind")], {"kind": "cat", "lives": 3}),
    ({"next": {"next": {"label": "b"}}}, Node, {"next": {"next": {"label": "b"}}}),
    ([{"label": "a"}, {"next": None}], list[Node], [{"label": "a"}, {"next": None}]),
    ([True, {"lives": 3}], tuple[bool, Cat], [True, {"kind": "cat", "lives": 3}]),
    ({"x": {"lives": 1}}, Annotated[dict[str, Cat], Field(max_length=1)], {"x": {"kind": "cat", "lives": 1}}),
    ({1: True}, Annotated[dict[int, bool], Field(max_length=1)], {"1": True}),
    ({"a": Decimal("1.50")}, create_model("D", a=(Decimal, ...), b=(bool, ...)), {"a": 1.5}),
    ({"a": dt.date(2020, 1, 2)}, create_model("T", a=(dt.date, ...), b=(bool, ...)), {"a": "2020-01-02"}),
    (
        {"a": dt.timedelta(seconds=90)},
        create_model("L", a=(dt.timedelta, ...), b=(bool, ...)),
        {"a": "PT1M30S"},
    ),
    ({"a": b"xy"}, create_model("B", a=(bytes, ...), b=(bool, ...)), {"a": "xy"}),
    ({"a": {1}}, create_model("S", a=(set[int], ...), b=(bool, ...)), {"a": [1]}),
    ({"f": 1}, create_model("A", f=(int, Field(validation_alias=AliasChoices("g", "h"))), b=(bool, ...)), {"g": 1}),
    ({"p": Pair(1, 2)}, create_model("P", p=(tuple[int, int], ...), b=(bool, ...)), {"p": [1, 2]}),
    ({"r": RootModel[list[int]]([1])}, create_model("R", r=(RootModel[list[int]], ...), b=(bool, ...)), {"r": [1]}),
]


@pytest.mark.parametrize(("partial", "tp", "kept"), CASES, ids=str)
def test_what_is_given(lm, partial, tp, kept):
    """Dicts, instances, `Partial`s and dataclasses say what is given; values of Python are written as JSON."""
    found = lm.run_complete(partial, tp, max_new_tokens=120)
    assert holds(kept, json.loads(found.text)), found.text
    assert is_text_of(lm.compile(tp), found.text)


SCHEMAS = [
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/node",
        "definitions": {
            "node": {
                "type": "object",
                "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}, "c": {"$ref": "#/definitions/node"}},
                "required": ["a", "b"],
                "additionalProperties": False,
            }
        },
    },
    {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}, "c": {"$ref": "#"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    {
        "$id": "https://example.com/node",
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}, "c": {"$ref": "/node"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["draft 7", "draft 4", "id"])
def test_schemas_of_every_draft(lm, schema):
    """The root of a schema may be referred to: given parts are those of the value, not of values in it."""
    found = lm.complete({"a": 2, "c": {"b": True}}, schema, max_new_tokens=80)
    assert (found["a"], found["c"]["b"]) == (2, True)
    given = lm.compile(schema).narrowed({"properties": {"a": {"enum": [2]}}, "required": ["a"]})
    assert is_text_of(given, '{"a":2,"b":true,"c":{"a":1,"b":true}}')


def test_list_items_are_whole_unless_they_lack_a_member(lm):
    """An optional member of an item is left out; of an item without a required one it may be written."""
    seen = set()
    for seed in range(12):
        found = lm.complete([{"label": "a"}, {}], list[Node], temperature=3.0, seed=seed, max_new_tokens=80)
        assert found[0] == Node(label="a")
        assert "next" not in found[0].model_fields_set
        seen.add("next" in found[1].model_fields_set)
    assert seen == {True, False}


# --- what the model sees -------------------------------------------------------------------------------------------------


def test_the_prompt_shows_what_is_given(lm, monkeypatch):
    """The model reads the caller's words, the shape of the whole type, and the given parts."""
    seen = []

    def render(_, messages, **__):
        seen.append(messages)
        return "x", False

    monkeypatch.setattr("schemagen.request.answer_request.render", render)
    lm.complete({"age": 36}, Person, "Ada", max_new_tokens=120)
    text = plain_text(seen[0][-1])
    assert text.startswith("Ada\n\n")
    assert '"nickName"?: ' in text
    assert '"age": integer(0..120)' in text
    assert text.endswith('\n{"age": 36}')


def test_formats(lm):
    """YAML and XML of the type have the given parts; Python and tables are refused."""
    for as_ in ("yaml", "xml"):
        found = lm.run_complete({"age": 36, "address": {"city": "Rome"}}, Person, as_=as_, max_new_tokens=200)
        assert (found.value.age, found.value.address.city) == (36, "Rome")
    with pytest.raises(OptionError, match="as_='python'"):
        lm.complete({"age": 36}, Person, as_="python")


def test_retries_and_beams(lm):
    """The options of `run` mean the same."""
    refused = []

    def odd(value: int) -> int:
        if value % 2 == 0:
            refused.append(value)
            raise ValueError("odd only")
        return value

    tp = create_model("Odd", a=(bool, ...), b=(Annotated[int, Field(ge=0, le=9), AfterValidator(odd)], ...))
    found = lm.run_complete({"a": True}, tp, retries=8, temperature=5.0, seed=1, show_schema=False, max_new_tokens=40)
    assert found.attempts == len(refused) + 1
    assert found.value.a is True
    assert lm.complete({"age": 3}, Person, num_beams=2, max_new_tokens=120).age == 3


def test_the_bundled_model_uses_what_it_is_told(bundled_lm):
    """A given field may contradict the prompt, and a missing one is read from it."""
    prompt = "Ada Lovelace, 36, lives in London"
    found = bundled_lm.complete({"name": "Bob"}, create_model("P", name=(str, ...), age=(int, ...)), prompt)
    assert (found.name, found.age) == ("Bob", 36)


def test_asyncio(lm):
    """The twins return the same."""
    partial = {"age": 3, "address": {"city": "Rome"}}
    expected = lm.run_complete(partial, Person, max_new_tokens=120).text
    assert asyncio.run(lm.arun_complete(partial, Person, max_new_tokens=120)).text == expected
    assert asyncio.run(lm.acomplete(partial, Person, max_new_tokens=120)).age == 3


# --- refusals ------------------------------------------------------------------------------------------------------------


def no_ada(name: str) -> str:
    """Refuse a name."""
    if name == "Ada":
        raise ValueError("not Ada")
    return name


Checked = create_model("Checked", name=(Annotated[str, AfterValidator(no_ada)], ...), b=(bool, ...))

CONTRADICTIONS: list[tuple[Any, Any, str, str]] = [
    ({"age": -1}, Person, "/age", "minimum 0"),
    ({"address": {"city": 5}}, Person, "/address/city", 'type "string"'),
    ({"name": "Ada", "foo": 1}, Person, "/foo", "additionalProperties"),
    ({"lives": 1, "good": True}, Union[Cat, Dog], "/good", "additionalProperties"),
    ([{"label": "a"}, {"label": "c"}], list[Node], "/1/label", "enum"),
    ({"next": {"next": {"label": 1}}}, Node, "/next/next/label", 'type "string"'),
    ([True], tuple[bool, bool], "/0", "minItems"),
    ({"a/b": 1, "c": 2}, dict[str, Annotated[int, Field(le=1)]], "/c", "maximum"),
    ([1, 2], list[Cat], "/0", 'type "object"'),
    ({"a": 3}, SCHEMAS[0], "/a", "enum"),
    ({"name": "Ada"}, Checked, "/name", "given"),
]


@pytest.mark.parametrize(("partial", "tp", "at", "why"), CONTRADICTIONS, ids=str)
def test_contradictions(lm, monkeypatch, partial, tp, at, why):
    """A given part that the type forbids is an error with its place and the reason, before the model works."""
    monkeypatch.setattr(type(lm.model), "forward", None)
    with pytest.raises(OptionError) as caught:
        lm.complete(partial, tp)
    assert caught.value.at == at
    assert why in caught.value.why


def test_a_validator_that_changes_its_own_result(lm):
    """What an instance has must come back; what a dict has is what the type reads."""
    tp = create_model("Grows", a=(Annotated[int, AfterValidator(lambda value: value + 1)], ...), b=(bool, ...))
    assert lm.complete({"a": 1}, tp).a == 2
    with pytest.raises(ValidationFailed, match="2 came back as 3") as caught:
        lm.complete(tp(a=1, b=True), tp)
    assert caught.value.at == "/a"


@pytest.mark.parametrize("partial", ["Ada", 3, None, Person, b"x"])
def test_values_without_parts(lm, partial):
    """A partial value has parts."""
    with pytest.raises(OptionTypeError, match="partial value"):
        lm.complete(partial, Person)


def test_values_without_json(lm):
    """NaN and arbitrary objects are no parts of JSON."""
    for value in (float("nan"), object(), "\ud800"):
        with pytest.raises(OptionError) as caught:
            lm.complete({"name": value}, Person)
        assert caught.value.at == "/name"


def test_specs_and_options(lm):
    """Texts have no parts, options are checked, and budgets count."""
    with pytest.raises(OptionError, match="no parts"):
        lm.complete({"a": 1}, schemagen.Regex("a+"))
    with pytest.raises(OptionError, match="max_tokens"):
        lm.complete({"age": 1}, Person, max_tokens=3)
    with pytest.raises(BudgetError):
        lm.complete({"age": 1}, Person, max_new_tokens=3)
    with pytest.raises(OptionError, match="needs a type or schema"):
        lm.complete({"age": 1})
