"""The front doors: which return values and which return records, whose model is asked, and which options they know."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, NamedTuple

import numpy as np
import pytest
import transformers
from pydantic import BaseModel, Field

import schemagen
from schemagen.errors import BudgetError, ModelError, OptionError, SchemagenError
from schemagen.options import GenerateOptions, names_of

pytestmark = pytest.mark.sampled(2)

INF, NAN = float("inf"), float("nan")


class Point(BaseModel):
    x: Annotated[int, Field(ge=0, le=9)]


@pytest.fixture(autouse=True)
def _no_default():
    """Reset the default model afterwards."""
    yield
    schemagen.set_default_lm(None)


class Recorder:
    """A model that only tells what it was asked."""

    def __init__(self, name):
        self.name = name

    def run(self, prompt, spec, **options):
        """Return the arguments."""
        return (self.name, prompt, spec, options)

    generate = batch = stream = run


# --- values and records ------------------------------------------------------------------------------------------------


def test_names_with_run_return_records_and_all_others_values(lm):
    """The rule holds for a model, a generator and a class."""

    @schemagen.structured(lm=lm)
    class Spot(Point):
        pass

    generator = schemagen.Generator(lm, Spot)
    value = lm("x", Spot)
    assert type(value) is Spot
    for door in (lm, generator, Spot):
        given = () if door is not lm else (Spot,)
        assert door.generate("x", *given) == value
        assert door.batch(["x"], *given) == [value]
        record = door.run("x", *given)
        assert isinstance(record, schemagen.Generation)
        assert record.value == value
        (row,) = door.run_batch(["x"], *given)
        assert (row.value, row.text, row.token_ids) == (value, record.text, record.token_ids)


def test_the_twins_for_asyncio_return_the_same(lm):
    """What is awaited has the type of what is called."""

    @schemagen.structured(lm=lm)
    class Spot(Point):
        pass

    async def ask(door, *given):
        values = [await door.agenerate("x", *given), *await door.abatch(["x"], *given)]
        records = [await door.arun("x", *given), *await door.arun_batch(["x"], *given)]
        return values, [record.value for record in records]

    value = lm("x", Spot)
    for door in (lm, schemagen.Generator(lm, Spot), Spot):
        values, of_records = asyncio.run(ask(door) if door is not lm else ask(lm, Spot))
        assert values == of_records == [value, value]


def test_failures_of_rows_are_the_same_in_records(lm):
    """A row that fails is a `Failure` in both forms."""
    rows = lm.run_batch(["x", "y"], [Point, {"type": "integer", "minimum": 2, "maximum": 1}])
    assert isinstance(rows[0], schemagen.Generation)
    assert isinstance(rows[1], schemagen.Failure)


# --- structured classes ------------------------------------------------------------------------------------------------


def test_a_call_a_decorator_and_the_default_name_the_model(monkeypatch):
    """The nearest wins: argument, decorator, `set_default_lm`, bundled model."""
    monkeypatch.setattr("schemagen.lm.load_bundled", lambda: Recorder("bundled"))

    @schemagen.structured
    class Plain(BaseModel):
        x: int

    @schemagen.structured(lm=Recorder("decorator"))
    class Bound(BaseModel):
        x: int

    assert Plain.generate("?")[0] == "bundled"
    schemagen.set_default_lm(Recorder("default"))
    assert Plain.generate("?")[0] == "default"
    assert Bound.generate("?")[0] == "decorator"
    assert Bound.generate("?", lm=Recorder("call"))[0] == "call"
    schemagen.set_default_lm(None)
    assert Plain.generate("?")[0] == "bundled"


def test_options_of_the_decorator_are_defaults():
    """A call overrides them one by one; a stream has no retries."""

    @schemagen.structured(lm=Recorder("m"), retries=2, max_new_tokens=40)
    class Person(BaseModel):
        name: str

    assert Person.run("?", max_new_tokens=9)[3] == {"retries": 2, "max_new_tokens": 9}
    assert Person.stream("?")[3] == {"max_new_tokens": 40}


def test_the_decorator_sets_the_defaults_of_a_typed_class():
    """`Structured` brings the methods, the decorator the model, and a subclass inherits both."""

    @schemagen.structured(lm=Recorder("m"), seed=1)
    class Person(schemagen.Structured, BaseModel):
        name: str

    @schemagen.structured(retries=1)
    class Author(Person):
        books: int

    assert Person.generate("?") == ("m", "?", Person, {"seed": 1})
    assert Author.generate("?") == ("m", "?", Author, {"seed": 1, "retries": 1})


def test_fields_of_a_class_keep_their_names():
    """A field or method called like an added method stays, with a warning; `generate` alone must be free."""

    @dataclass
    class Base:
        batch: int

    @dataclass
    class Job(Base):
        run: str = "later"

        def stream(self):
            """Return something of the user."""
            return "mine"

    with pytest.warns(UserWarning, match=r"called 'run', 'batch', 'stream', and keeps it: Later\.run\(") as caught:

        @schemagen.structured
        class Later(Job):
            pass

    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="called 'run', 'batch', 'stream'") as caught:
        schemagen.structured(lm=Recorder("m"))(Job)
    assert caught[0].filename == __file__
    job = Job(3)
    assert (job.batch, job.run, job.stream()) == (3, "later", "mine")
    assert Job.generate("?")[2] is Job
    with pytest.raises(SchemagenError, match="already has an attribute 'batch'") as refused:

        class Typed(schemagen.Structured, BaseModel):
            batch: int

    assert "decorator" in refused.value.fix


def test_a_class_without_fields_is_refused_where_it_is_decorated(lm):
    """Not at its first call; and a dataclass is one only above its decorator."""

    class Plain:
        name: str

    with pytest.raises(schemagen.errors.UnsupportedTypeError, match="Plain is a plain class") as caught:
        schemagen.structured(Plain)
    assert "BaseModel" in caught.value.fix
    assert "above @dataclass" in caught.value.fix
    assert not hasattr(Plain, "generate")
    with pytest.raises(schemagen.errors.UnsupportedTypeError, match="Sub is a plain class"):
        schemagen.structured(lm=lm)(type("Sub", (dict,), {"__annotations__": {"a": int}}))


def test_classes_that_pydantic_knows_are_taken():
    """Also those with names that are defined later."""

    class Linked(BaseModel):
        other: Later  # noqa: F821 - defined by whoever uses it

    class Record(NamedTuple):
        other: Later  # noqa: F821 - defined by whoever uses it

    class Own:
        @classmethod
        def __get_pydantic_core_schema__(cls, _source, handler):
            """Read an integer."""
            return handler(int)

    for cls in (Linked, Record, Own, Enum("Mood", ["GOOD"])):
        assert schemagen.structured(cls).generate


WRONG_DEFAULTS = [
    ({"model": "gpt2"}, "lm="),
    ({"llm": "gpt2"}, "lm="),
    ({"max_tokens": 3}, "the budget is called max_new_tokens"),
    ({"tempereture": 0.5}, "did you mean temperature=?"),
    ({"temperature": "hot"}, "above 0"),
    ({"retries": -1}, "0 or more"),
    ({"seed": "x"}, "whole number"),
    ({"seed": [1, "x"]}, "whole number"),
    ({"batch_size": 0}, "1 or more"),
    ({"partials": "no"}, "True or False"),
    ({"reasoning": "much"}, "whole number"),
    ({"show_schema": None}, "True or False"),
    ({"whitespace": "wide"}, "choose one of"),
    ({"property_order": "none"}, "choose one of"),
    ({"generation_config": {}}, "GenerationConfig"),
]


@pytest.mark.parametrize(("options", "fix"), WRONG_DEFAULTS)
def test_wrong_defaults_are_refused_where_they_are_given(lm, options, fix):
    """By a decorator that knows its model and by one that does not, and by a generator."""
    for give in (
        lambda: schemagen.structured(**options),
        lambda: schemagen.structured(lm=lm, **options),
        lambda: schemagen.Generator(lm, Point, **options),
    ):
        with pytest.raises(OptionError) as caught:
            give()
        assert fix in caught.value.fix


def test_defaults_of_transformers_pass(lm):
    """Whatever its generate knows, also where it cannot be asked yet."""
    others = {
        "renormalize_logits": True,
        "begin_suppress_tokens": [5],
        "min_length": 3,
        "batch_size": 4,
        "partials": True,
    }
    schemagen.structured(lm=lm, **others)
    schemagen.structured(**others)
    schemagen.Generator(lm, Point, **others)


def test_a_class_is_no_model():
    """Nor is a model of transformers."""
    for wrong in (schemagen.LanguageModel, "gpt2", transformers.LlamaForCausalLM):
        for give in (schemagen.set_default_lm, lambda each: schemagen.structured(lm=each)):
            with pytest.raises(OptionError, match="is not a model"):
                give(wrong)
    with pytest.raises(OptionError, match="the model of a Generator is"):
        schemagen.Generator(schemagen.LanguageModel, Point)


def test_a_model_is_a_model():
    """A tokenizer, a name or the like is refused where it is given."""
    for give in (schemagen.set_default_lm, lambda lm: schemagen.structured(lm=lm)):
        with pytest.raises(OptionError, match="is not a model"):
            give("gpt2")


# --- options -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def idle(lm, monkeypatch):
    """A model that must not work."""

    def work(**_options):
        raise AssertionError("the model was asked")

    monkeypatch.setattr(lm.model, "forward", work)
    return lm


def doors(lm):
    """Every way to pass options, as functions of them."""

    def ping(host: str) -> str:
        return host

    generator = schemagen.Generator(lm, Point)
    typed = schemagen.structured(lm=lm)(type("Spot", (Point,), {}))
    return {
        "call": lambda **options: lm("x", Point, **options),
        "run": lambda **options: lm.run("x", Point, **options),
        "batch": lambda **options: lm.batch(["x"], Point, **options),
        "stream": lambda **options: lm.stream("x", Point, **options),
        "agenerate": lambda **options: asyncio.run(lm.agenerate("x", Point, **options)),
        "generator": lambda **options: generator("x", **options),
        "class": lambda **options: typed.generate("x", **options),
        "tools": lambda **options: lm.call("x", [ping], **options),
        "chat": lambda **options: lm.chat("x", [ping], **options),
        "text": lambda **options: lm.generate_text("x", **options),
    }


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("max_tokens", "max_new_tokens"),
        ("max_completion_tokens", "max_new_tokens"),
        ("stop", "where the text ends"),
        ("n", r"lm.batch([prompt] * n"),
        ("sampling_params", "generation_config"),
        ("response_format", "second argument"),
        ("top_n", "top_k"),
        ("max_new_token", "did you mean max_new_tokens=?"),
        ("tempereture", "did you mean temperature=?"),
        ("gobbledygook", "huggingface.co"),
    ],
)
def test_unknown_options_are_told_before_any_work(idle, name, fix):
    """Names of other libraries and misspelt ones are refused at every door, with what to write."""
    for door, ask in doors(idle).items():
        with pytest.raises(OptionError) as caught:
            ask(**{name: 1})
        assert caught.value.fact.startswith(f"{name}="), door
        assert fix in caught.value.fix, door


def test_options_of_another_method_are_told(idle):
    """An option that exists elsewhere says where; a misspelt name of a method's own is known to it."""
    ask = doors(idle)
    for door, option, fix in (
        ("run", "partials", "lm.stream"),
        ("run", "batch_size", "lm.batch"),
        ("run", "tool_choice", "lm.call"),
        ("stream", "retries", "do not stream"),
        ("chat", "show_schema", "lm(...)"),
        ("tools", "tool_choise", "did you mean tool_choice=?"),
        ("tools", "max_stepps", "did you mean max_steps=?"),
        ("batch", "batchsize", "did you mean batch_size=?"),
        ("run", "retry", "did you mean retries=?"),
    ):
        with pytest.raises(OptionError) as caught:
            ask[door](**{option: 2})
        assert fix in caught.value.fix


def test_options_of_transformers_still_pass(lm):
    """Those of a GenerationConfig and the arguments of `generate`."""
    options = {"renormalize_logits": True, "num_assistant_tokens": 3, "custom_generate": None}
    assert lm("x", Point, **options) == lm("x", Point)


@pytest.mark.parametrize("others", [{}, {"top_p": 0.9, "seed": 3}, {"do_sample": True}])
def test_temperature_zero_is_greedy(lm, others):
    """It is the limit of sampling, whatever other sampling options there are."""
    greedy = lm.run("x", Point)
    assert lm.run("x", Point, temperature=0, **others).token_ids == greedy.token_ids
    assert lm.run("x", Point, temperature=0.0, num_beams=2).value
    assert lm.batch(["x"], Point, temperature=0, **others) == [greedy.value]


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"temperature": -1}, "above 0"),
        ({"temperature": "hot"}, "above 0"),
        ({"num_return_sequences": 3}, "lm.batch([prompt] * 3"),
        ({"seed": 2**70}, "2**64"),
        ({"top_p": -0.5, "do_sample": True}, "at least 0 and at most 1"),
        ({"cache_implementation": "x"}, "correct cache_implementation"),
    ],
)
def test_values_that_cannot_be_meant_are_option_errors(lm, options, fix):
    """One family, whoever refuses them: this package, or transformers below it."""
    for ask in (lm, lm.run, lambda *given, **more: lm.batch(["x", "y"], given[1], **more)):
        with pytest.raises(OptionError) as caught:
            ask("x", Point, **options)
        assert fix in caught.value.fix


COUNTS_FROM_1 = ("max_new_tokens", "max_length", "num_beams", "prompt_lookup_num_tokens", "prefer_length")
#: Option -> values that cannot be meant.
WRONG_VALUES = {
    **dict.fromkeys(COUNTS_FROM_1, ("x", 0, -1, 1.5, 10**30, True)),
    **dict.fromkeys(("min_new_tokens", "no_repeat_ngram_size", "top_k"), ("x", -1, 1.5, True)),
    **dict.fromkeys(("top_p", "min_p", "penalty_alpha"), ("x", -0.1, 1.1, NAN, (), True)),
    **dict.fromkeys(("typical_p", "top_h"), ("x", 0, 1.1, NAN)),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), ("x", -0.1, 1, NAN)),
    **dict.fromkeys(("do_sample", "use_cache", "loop_guard"), ("yes", 1, (), np.int64(1))),
    **dict.fromkeys(("show_schema", "chat_template", "tokenization"), ("...", None, 1)),
    **dict.fromkeys(("tokenizer", "assistant_tokenizer"), ("gpt2", 3)),
    "as_": ["x", 3, None, []],
    "max_time": ["a", 0, -1, NAN, True],
    "temperature": ["hot", -1, NAN, INF, 1e-300, 1e300, 10**400, Decimal("NaN"), True],
    "length_penalty": ["x", NAN, INF, 1e300],
    "early_stopping": ["x", 3, {}],
    "repetition_penalty": ["x", 0, -1, NAN, INF],
    "guidance_scale": ["x", NAN, INF, {}],
    "bad_words_ids": ["x", 3, [], [[]], [3], [["a"]], [[-1]], [[10**6]], {}],
    "sequence_bias": ["x", 3, {}, [], {(5,): "x"}, {(): 1.0}, {"a": 1.0}, {(10**6,): 1.0}, {(5,): INF}],
    "suppress_tokens": ["x", 3, [-1], ["a"], {}],
    "assistant_model": ["x", 3, transformers.LlamaForCausalLM],
    "stop_strings": [3, [], "", ["a", ""], [3]],
    "cache_implementation": ["x", 3, {}],
    "generation_config": [{}, {"top_p": 0.5}, "x", transformers.GenerationConfig, transformers.LlamaConfig()],
    "logits_processor": [3, "x", {}, print, [3], [print, transformers.LogitsProcessor]],
    "stopping_criteria": [3, "x", {}, print, [3]],
    "streamer": [3, "x", print, transformers.TextStreamer],
    "num_return_sequences": ["x", 0, []],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG_VALUES.items() for value in values]
)
def test_every_option_says_what_its_value_may_be(lm, name, value):
    """A value of a wrong type, or beyond the bounds, is refused by its name, for one prompt and for several."""
    for ask in (lm.run, lambda prompt, spec, **options: lm.batch([prompt, "y"], spec, **options)):
        with pytest.raises(OptionError) as caught:
            ask("x", Point, **{name: value})
        assert caught.value.fact.startswith(f"{name}=")
        assert caught.value.why
        assert caught.value.fix


def test_every_option_of_generate_has_wrong_values():
    """The table above leaves none out, but for those that have tests of their own."""
    assert names_of(GenerateOptions) - WRONG_VALUES.keys() == {
        "whitespace", "property_order", "reasoning", "draft", "retries", "seed", "heal",
        "tries", "checker", "confidence",
    }  # fmt: skip


def test_values_in_a_generation_config_are_checked(lm):
    """They are those of the options."""
    config = transformers.GenerationConfig(max_new_tokens=60)
    config.top_p = 7
    with pytest.raises(OptionError, match=r"generation_config\.top_p=7"):
        lm("x", Point, generation_config=config)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": np.float32(0.7)},
        {"temperature": Decimal("0.7"), "top_p": Fraction(1, 2)},
        {"temperature": 3},
        {"repetition_penalty": 2},
        {"max_new_tokens": np.int64(60), "max_time": np.float32(60)},
        {"suppress_tokens": np.array([5, 6]), "bad_words_ids": ((7,), (8, 9))},
        {"sequence_bias": {(7,): Decimal(-2), (8, 9): float("-inf")}},
        {"do_sample": np.True_, "top_k": np.uint8(4)},
        {"early_stopping": "never", "num_beams": 2},
        {"logits_processor": (lambda _, scores: scores,), "max_new_tokens": 2**62},
    ],
)
def test_values_of_other_types_are_read(lm, options):
    """Numbers of numpy, Decimals, whole numbers and tuples are what they look like, alone and in a batch."""
    assert isinstance(lm("x", Point, seed=0, **options), Point)
    assert isinstance(lm.batch(["x"], Point, seed=0, **options)[0], Point)


def test_the_flags_of_prompts_are_checked_at_every_door(lm):
    """A template in the place of a flag would be taken for True, None for False."""
    for ask in (lm.render, lm.stream):
        for name in ("show_schema", "chat_template"):
            with pytest.raises(OptionError, match=f"{name}='...'"):
                ask("x", Point, **{name: "..."})
    with pytest.raises(OptionError, match="chat_template=None"):
        lm.generate_text("x", chat_template=None)
    with pytest.raises(OptionError, match="partials='no'"):
        lm.stream("x", Point, partials="no")


def test_stop_strings_end_a_text_that_may_end_there(lm):
    """The tokenizer is that of the model; what ends too early is an error, as everywhere."""
    bias = {"sequence_bias": {(lm.tokenizer.convert_tokens_to_ids("a"),): 100.0}}
    ask = {"stop_strings": "aaa", "max_new_tokens": 20, **bias}
    assert lm("x", schemagen.Regex("a+b?"), **ask) == "aaa"
    *_, end = lm.stream("x", schemagen.Regex("a+b?"), **ask)
    assert end.generation.value == "aaa"
    assert lm.batch(["x", "yy"], schemagen.Regex("a+b?"), **ask) == ["aaa", "aaa"]
    assert lm.generate_text("x", **ask) == "aaa"
    config = transformers.GenerationConfig(stop_strings=["aaa"], max_new_tokens=20)
    assert lm("x", schemagen.Regex("a+b?"), generation_config=config, **bias) == "aaa"
    with pytest.raises(BudgetError, match="not complete after 3 tokens") as caught:
        lm("x", schemagen.Regex("a{5}"), **ask)
    assert "stop_strings" in caught.value.why


def test_rows_that_are_stopped_at_different_steps_are_told_alike(lm):
    """What a row is padded with, once it was stopped, is none of its text."""
    grammars = [schemagen.Regex("a{3,}"), schemagen.Regex("b{9}"), schemagen.Regex("a{5}")]
    found = lm.batch(["x"] * 3, grammars, stop_strings=["aaa"], max_new_tokens=20)
    assert found[:2] == ["aaa", "b" * 9]
    assert isinstance(found[2].error, BudgetError)
    assert found[2].text == "aaa"


@pytest.mark.parametrize(
    ("ask", "fix"),
    [
        (lambda lm: lm.batch("x", Point), "list"),
        (lambda lm: lm.batch([{"role": "user", "content": "x"}], Point), "list"),
        (lambda lm: lm.batch(["x", "y"], ["good", "bad"]), "Choice"),
        (lambda lm: lm.batch(["x"], [Point, Point]), "list of 1"),
        (lambda lm: lm.batch(["x"], Point, seed=[1, 2]), "list of 1"),
        (lambda lm: lm.batch(["x"], Point, seed=2**64), "2**64"),
        (lambda lm: lm.compile(Point, whitespace="wide"), "choose one of"),
    ],
)
def test_arguments_that_cannot_be_meant_are_option_errors(lm, ask, fix):
    """Shapes of batches and choices of words as well."""
    with pytest.raises(OptionError) as caught:
        ask(lm)
    assert fix in caught.value.fix


def test_swapped_arguments_are_told(lm):
    """The prompt comes first."""
    with pytest.raises(SchemagenError) as caught:
        lm(Point, "Ada")
    assert "the prompt comes first" in caught.value.fix
    with pytest.raises(SchemagenError) as caught:
        lm(Point, Point)
    assert "lm(prompt, Point)" in caught.value.fix


# --- specs, reprs, loading ---------------------------------------------------------------------------------------------


def test_short_specs_work_at_the_front_door(lm):
    """Lists of texts, patterns of `re` and enums in a Choice, as the model is asked and as classes of answers."""
    mood = Enum("Mood", {"GOOD": "good", "BAD": "bad"})
    assert lm("x", ["a", "b"]) in {"a", "b"}
    assert lm("x", re.compile("[ab]", re.IGNORECASE)) in {*"abAB"}
    assert lm("x", schemagen.Choice(mood)) in mood
    assert schemagen.Generator(lm, schemagen.Choice(mood))("x") in mood
    assert lm.batch(["x"], [["a", "b"]])[0] in {"a", "b"}
    assert "a | b" in lm.render("x", ["a", "b"])


def test_reprs_are_short(lm):
    """Nothing is shown by its address."""
    grammar = lm.compile(Point)
    stream = lm.stream("x", Point)
    found = [repr(stream), repr(schemagen.LogitsProcessor(grammar)), repr(schemagen.Generator(lm, Point))]
    stream.close()
    assert all(len(text) < 160 and "object at" not in text for text in found), found


def test_a_pipeline_is_a_model_and_a_tokenizer(lm):
    """`from_transformers` takes it apart; of anything else it says what it misses."""
    pipeline = transformers.pipeline("text-generation", model=lm.model, tokenizer=lm.tokenizer)
    assert schemagen.from_transformers(pipeline)("x", Point) == lm("x", Point)
    with pytest.raises(OptionError, match="tokenizer"):
        schemagen.from_transformers(lm.model)


@pytest.mark.parametrize(("name", "fix"), [("model.gguf", "check the path"), ("folder/model.safetensors", "'folder'")])
def test_files_of_weights_say_what_to_load(name, fix):
    """transformers loads folders."""
    with pytest.raises(ModelError) as caught:
        schemagen.load(name)
    assert fix in caught.value.fix


def test_any_is_called_required(lm):
    """The name that other APIs have for it is told."""

    def ping(host: str) -> str:
        return host

    with pytest.raises(SchemagenError) as caught:
        lm.call("x", [ping], tool_choice="any")
    assert "'required'" in caught.value.fix
