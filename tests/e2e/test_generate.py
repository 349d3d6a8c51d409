"""`model.generate` with our processor, and `LanguageModel` around it."""

from __future__ import annotations

import dataclasses
import logging
import threading
from typing import Annotated, Literal, NamedTuple, TypedDict
from unittest.mock import patch

import pytest
import torch
from pydantic import BaseModel, Field, ValidationError, field_validator

import schemagen
from schemagen.errors import (
    BitmaskShapeError,
    BudgetError,
    GenerationError,
    OptionError,
    SchemagenError,
    ValidationFailed,
)
from schemagen.prompts.shapes import SHAPE_INSTRUCTION
from schemagen.request.settings import token_ids_of
from tests.models import wants


class Person(BaseModel):
    name: Annotated[str, Field(max_length=6)]
    age: Annotated[int, Field(ge=0, le=120)]


class Even(BaseModel):
    number: Annotated[int, Field(ge=0, le=9)]

    @field_validator("number")
    @classmethod
    def is_even(cls, value):
        """Refuse odd numbers."""
        if value % 2:
            raise ValueError("must be even")
        return value


class Movie(TypedDict):
    year: int


class Pair(NamedTuple):
    left: bool
    right: bool


@dataclasses.dataclass
class Point:
    x: Annotated[int, Field(ge=0, le=9)]


def texts_of(lm, output, prompt_length):
    """Return the decoded texts of the rows of an output, up to EOS."""
    ends = set(lm.vocabulary.eos_token_ids)
    found = []
    for row in output[:, prompt_length:].tolist():
        body = row[: next((i for i, token in enumerate(row) if token in ends), len(row))]
        found.append(lm.vocabulary.decode(body).decode())
    return found


def encode(lm, *texts, side="left"):
    """Tokenize a padded batch."""
    return lm.tokenizer(list(texts), return_tensors="pt", padding=True, padding_side=side)


# --- the processor in model.generate -----------------------------------------------------------------------------------


def test_one_processor_serves_many_generations(lm):
    """A processor may be used again, with the same prompt, another one, and another batch."""
    processor = schemagen.LogitsProcessor(lm.compile(Person))
    results = []
    for prompts in (["a"], ["a"], ["another prompt"], ["b", "c"]):
        batch = encode(lm, *prompts)
        output = lm.model.generate(**batch, logits_processor=[processor], max_new_tokens=200, do_sample=False)
        results.append(texts_of(lm, output, batch["input_ids"].shape[1]))
    assert results[0] == results[1]
    for text in (text for row in results for text in row):
        Person.model_validate_json(text)


def test_each_row_follows_its_own_grammar(lm):
    """A left-padded batch with a list of grammars gives each row its type; None leaves a row free."""
    grammars = [lm.compile(Person), lm.compile(bool), None]
    batch = encode(lm, "a long prompt that is padded nowhere", "b", "c")
    processor = schemagen.LogitsProcessor(grammars)
    output = lm.model.generate(**batch, logits_processor=[processor], max_new_tokens=200, do_sample=False)
    first, second = texts_of(lm, output[:2], batch["input_ids"].shape[1])
    Person.model_validate_json(first)
    assert second in {"true", "false"}


def test_padding_changes_nothing(lm):
    """A row of a padded batch is what the prompt gives alone."""
    alone = lm.run("b", Person, show_schema=False)
    batch = encode(lm, "a long prompt that is padded nowhere\n", "b\n")
    output = lm.model.generate(
        **batch, logits_processor=[schemagen.LogitsProcessor(lm.compile(Person))], max_new_tokens=200, do_sample=False
    )
    assert texts_of(lm, output, batch["input_ids"].shape[1])[1] == alone.text


@pytest.mark.parametrize(
    "options", [{"num_beams": 4}, {"num_beams": 4, "num_return_sequences": 3, "early_stopping": True}]
)
def test_beams_stay_within_the_grammar(lm, options):
    """Beam search permutes the rows, and every returned sequence is valid."""
    batch = encode(lm, "a", "bcd")
    processor = schemagen.LogitsProcessor([lm.compile(Person), lm.compile(list[bool])])
    output = lm.model.generate(**batch, logits_processor=[processor], max_new_tokens=200, do_sample=False, **options)
    texts = texts_of(lm, output, batch["input_ids"].shape[1])
    half = len(texts) // 2
    for text in texts[:half]:
        Person.model_validate_json(text)
    for text in texts[half:]:
        lm.compile(list[bool]).validate(text)


def test_sampled_sequences_of_one_prompt_share_its_grammar(lm):
    """num_return_sequences=3 gives three valid, different texts."""
    torch.manual_seed(1)
    batch = encode(lm, "a")
    processor = schemagen.LogitsProcessor([lm.compile(Person)])
    output = lm.model.generate(
        **batch, logits_processor=[processor], max_new_tokens=300, do_sample=True, num_return_sequences=3
    )
    texts = texts_of(lm, output, batch["input_ids"].shape[1])
    assert len(set(texts)) == 3
    for text in texts:
        Person.model_validate_json(text)


def test_beam_search_finds_what_a_brute_force_finds(make_lm):
    """Over a small choice the best beam is the most probable option."""
    lm = make_lm()
    options = ["ab", "ba", "aa", "bb"]
    batch = encode(lm, "x")
    processor = schemagen.LogitsProcessor(lm.compile(schemagen.Choice(options)))
    output = lm.model.generate(
        **batch, logits_processor=[processor], num_beams=4, do_sample=False, max_new_tokens=4, length_penalty=0.0
    )

    def log_probability(option):
        ids = torch.cat([batch["input_ids"], lm.tokenizer(option + "<eos>", return_tensors="pt")["input_ids"]], dim=1)
        with torch.no_grad():
            steps = torch.log_softmax(lm.model(ids).logits, dim=-1)[0, batch["input_ids"].shape[1] - 1 : -1]
        return float(steps.gather(1, ids[0, batch["input_ids"].shape[1] :, None]).sum())

    assert texts_of(lm, output, batch["input_ids"].shape[1]) == [max(options, key=log_probability)]


def test_assisted_decoding_keeps_the_grammar(make_lm):
    """An assistant model proposes, and the text stays valid and the same."""
    lm, assistant = make_lm(), make_lm()
    grammar = lm.compile(Person)
    batch = encode(lm, "a")
    outputs = []
    for extra in ({}, {"assistant_model": assistant.model}):
        processor = schemagen.LogitsProcessor(grammar)
        output = lm.model.generate(**batch, logits_processor=[processor], max_new_tokens=200, do_sample=False, **extra)
        outputs.append(texts_of(lm, output, batch["input_ids"].shape[1]))
    assert outputs[0] == outputs[1]
    Person.model_validate_json(outputs[1][0])


def test_a_model_narrower_than_the_vocabulary_is_refused(lm):
    """A grammar of a wider vocabulary cannot mask these logits."""
    wide = schemagen.Vocabulary.from_tokenizer(lm.tokenizer, vocab_size=400)
    processor = schemagen.LogitsProcessor(schemagen.compile(bool, wide))
    with pytest.raises(BitmaskShapeError, match="width 320"):
        lm.model.generate(**encode(lm, "a"), logits_processor=[processor], max_new_tokens=4)


# --- LanguageModel -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tp", [Person, Point, Pair, bool, list[bool], Literal["a", "b"], int | None, Annotated[int, Field(ge=3, le=5)]]
)
def test_values_have_the_type_that_was_asked_for(lm, tp):
    """lm(prompt, T) is a T."""
    value = lm("x", tp, max_new_tokens=800)
    lm.compile(tp).validate(lm.run("x", tp, max_new_tokens=800).text)
    if isinstance(tp, type) and tp is not list[bool]:
        assert isinstance(value, tp if not hasattr(tp, "__origin__") else list)


def test_schemas_patterns_and_choices(lm):
    """A JSON Schema gives parsed JSON, a pattern or a choice its text."""
    assert lm("x", {"type": "integer", "minimum": 3, "maximum": 4}) in {3, 4}
    assert lm("x", {"enum": [["a"], None]}) in (["a"], None)
    assert lm("x", schemagen.Regex("(ab){2}")) == "abab"
    assert lm("x", schemagen.Choice(["left", "right"])) in {"left", "right"}


def test_the_circumstances_of_a_generation(lm):
    """`generate` says what was written, how long it is and how much the constraint took away."""
    found = lm.run("x", Person)
    assert Person.model_validate_json(found.text) == found.value
    assert found.new_tokens == len(found.token_ids)
    assert found.token_ids[-1] in lm.vocabulary.eos_token_ids
    assert lm.vocabulary.decode(found.token_ids).decode() == found.text
    assert found.prompt_tokens == len(lm.tokenizer(lm.render("x", Person))["input_ids"])
    assert 0 < found.masked_mass <= 1
    assert found.seconds > 0
    assert found.attempts == 1


def test_greedy_by_default_whatever_the_model_prefers(lm):
    """A generation_config that samples does not make calls random."""
    lm.model.generation_config.do_sample = True
    try:
        assert len({lm.run("x", Person).text for _ in range(4)}) == 1
    finally:
        lm.model.generation_config.do_sample = False


def test_seeds_reproduce_and_leave_the_global_state_alone(lm):
    """The same seed gives the same text, another one another, and torch's own state is untouched."""
    state = torch.random.get_rng_state()
    texts = [lm.run("x", Person, temperature=2.0, seed=seed, max_new_tokens=900).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert torch.equal(state, torch.random.get_rng_state())


def test_beams_through_the_language_model(lm):
    """num_beams is passed on."""
    assert isinstance(lm("x", Person, num_beams=4), Person)


def test_unknown_options_are_refused(lm):
    """A misspelt option is not dropped in silence."""
    with pytest.raises(OptionError, match="did you mean temperature"):
        lm("x", Person, tempereture=0.5)


def test_several_results_are_refused(lm):
    """One call, one value."""
    with pytest.raises(OptionError, match="num_return_sequences=3"):
        lm("x", Person, num_return_sequences=3)


def test_a_budget_that_is_too_small(lm):
    """It is refused before the model runs, and the error names the least one, which suffices."""
    with pytest.raises(BudgetError, match=r"a budget of 3 tokens, and the shortest text takes \d+") as caught:
        lm("x", Person, max_new_tokens=3)
    least = lm.compile(Person).min_new_tokens
    assert f"max_new_tokens={least}" in caught.value.fix
    assert isinstance(lm("x", Person, max_new_tokens=least), Person)


def test_a_stopping_criterion_may_still_cut_a_text_off(lm):
    """Budgets cannot help against what stops the model from outside; the error holds the partial text."""
    calls = iter([False, False, True])
    with pytest.raises(BudgetError, match="not complete after 3 tokens") as caught:
        lm("x", Person, stopping_criteria=[lambda ids, _: torch.tensor([next(calls)] * len(ids))])
    assert caught.value.text.startswith("{")


def test_a_budget_that_ends_with_the_text_is_enough(lm):
    """EOS itself need not fit into the budget."""
    tokens = lm.run("x", Person).new_tokens
    assert isinstance(lm("x", Person, max_new_tokens=tokens - 1), Person)


def test_a_prompt_without_room_for_an_answer(lm):
    """A prompt as long as the context is refused before the model runs."""
    for options in ({}, {"max_new_tokens": 9}):
        with pytest.raises(BudgetError, match="context of the model 2048"):
            lm("x" * 2100, Person, **options)


@pytest.mark.parametrize("least", [1000, 10_000])
def test_long_arrays_are_counted_beforehand(lm, least):
    """The shortest of them is far above the budget: the model is not asked."""
    grammar = lm.compile({"type": "array", "minItems": least, "items": {"enum": ["abcdefgh"]}})
    assert grammar.min_new_tokens > least
    with pytest.raises(BudgetError, match=f"takes {grammar.min_new_tokens}"):
        lm("x", grammar)


def test_a_text_too_long_to_count_is_refused_by_a_lower_bound(lm):
    """Where nobody knows the shortest text a budget may still be known to be too small."""
    grammar = lm.compile({"type": "array", "minItems": 30_000, "items": {"enum": ["abcdefgh"]}})
    assert grammar.min_new_tokens is None
    lower = -(-(30_000 * 11 + 1) // max(map(len, lm.vocabulary.tokens)))
    with pytest.raises(BudgetError, match=f"no text takes fewer than {lower}") as caught:
        lm("x", grammar)
    assert caught.value.text == ""


@pytest.mark.parametrize(("longest", "warned"), [(2048, False), (100, True)])
def test_only_the_error_speaks_of_a_prompt_that_is_too_long(make_lm, tokenizer, monkeypatch, caplog, longest, warned):
    """What transformers says of it is left out where our error follows; of another limit of the tokenizer it may warn."""
    monkeypatch.setattr(tokenizer, "model_max_length", longest)
    monkeypatch.setattr(tokenizer, "deprecation_warnings", {})
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    lm = make_lm()
    with pytest.raises(BudgetError, match="context of the model"):
        lm("x" * 2100, Person)
    (failure,) = lm.batch(["x" * 2100], Person)
    assert isinstance(failure.error, BudgetError)
    assert ("indexing errors" in caplog.text) == warned


def test_a_stopping_rule_of_the_user_ends_in_an_error(lm):
    """A stop string inside the JSON is a text that is not complete."""
    with pytest.raises(BudgetError):
        lm("x", Person, stop_strings=["{"], tokenizer=lm.tokenizer)


def test_a_refused_value_is_a_validation_failure(make_lm, tokenizer):
    """A custom validator's complaint arrives with the raw text and pydantic's error."""
    lm = make_lm(wants(tokenizer, "7"))
    with pytest.raises(ValidationFailed, match="must be even") as caught:
        lm("x", Even, whitespace="compact")
    assert caught.value.text == '{"number":7}'
    assert isinstance(caught.value.error, ValidationError)
    assert caught.value.attempts == 1
    assert caught.value.at == "/number"


class Recorder:
    """The tokenizer of a model, which keeps the texts that it is given."""

    def __init__(self, lm, texts):
        assert lm.vocabulary, "read before"
        self.tokenizer = lm.tokenizer
        self.texts = texts

    def __getattr__(self, name):
        """Be the tokenizer in everything else."""
        return getattr(self.tokenizer, name)

    def __call__(self, text, **options):
        self.texts.append(text)
        return self.tokenizer(text, **options)


def change_its_mind(lm, tokenizer):
    """Let the model want 7 for its first prompt and 8 for later ones; return the prompts, as they come."""
    prompts = []
    lm.tokenizer = Recorder(lm, prompts)

    def distort(logits):
        return wants(tokenizer, "7" if len(prompts) < 2 else "8")(logits)

    lm.model.distort = distort
    return prompts


def test_retries_tell_the_model_why(make_lm, tokenizer):
    """A retry sends the refused answer and the reason, and its value counts."""
    lm = make_lm()
    prompts = change_its_mind(lm, tokenizer)
    found = lm.run("x", Even, whitespace="compact", retries=3)
    assert found.value == Even(number=8)
    assert found.attempts == 2
    assert '{"number":7}' in prompts[1]
    assert "must be even" in prompts[1]


def test_retries_end(make_lm, tokenizer):
    """After the last retry the failure says how many attempts there were."""
    lm = make_lm(wants(tokenizer, "7"))
    with pytest.raises(ValidationFailed) as caught:
        lm("x", Even, retries=2)
    assert caught.value.attempts == 3


def test_retries_tell_which_keyword_was_broken(make_lm, tokenizer):
    """A keyword that is only checked afterwards is retried as a validator is, alone and in a batch."""
    schema = {
        "type": "object",
        "properties": {"echo": {"type": "string", "pattern": r"^(8)\1?$", "allOf": [{"pattern": "^[78]$"}]}},
        "required": ["echo"],
        "additionalProperties": False,
    }
    lm = make_lm(wants(tokenizer, "7"))
    grammar = schemagen.compile(schema, lm.vocabulary, strict=False, whitespace="compact")
    with pytest.raises(ValidationFailed, match="only checked afterwards") as caught:
        lm("x", grammar, retries=1)
    assert (caught.value.at, caught.value.attempts, caught.value.text) == ("/echo", 2, '{"echo":"7"}')
    assert caught.value.error.validator == "pattern"
    (failure,) = lm.batch(["x"], grammar, retries=1)
    assert (failure.error.at, failure.error.attempts) == ("/echo", 2)

    prompts = change_its_mind(lm, tokenizer)
    assert lm("x", grammar, retries=1) == {"echo": "8"}
    assert "- /echo: the text breaks a keyword" in prompts[1]


@pytest.mark.parametrize(
    ("tp", "text", "pointer"),
    [
        (dict[str, Even | None], '{"a/b": {"number": 7}}', "/a~1b/number"),
        (list[tuple[str, Even]], '[["x", {"number": 8}], ["y", {"number": 7}]]', "/1/1/number"),
        (Even, '{"number": 7}', "/number"),
    ],
)
def test_the_place_of_a_refusal_is_a_pointer_into_the_value(tp, text, pointer, byte_vocabulary):
    """Members of unions and validators, which pydantic names on the way, are no part of it."""
    with pytest.raises(ValidationFailed) as caught:
        schemagen.compile(tp, byte_vocabulary).validate(text)
    assert caught.value.at == pointer
    assert isinstance(caught.value.error, ValidationError)
    assert caught.value.__cause__ is caught.value.error


# --- prompts -----------------------------------------------------------------------------------------------------------

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


@pytest.fixture
def templated(make_lm, tokenizer, monkeypatch):
    """Return a model whose tokenizer has a chat template."""
    monkeypatch.setattr(tokenizer, "chat_template", TEMPLATE)
    return make_lm()


def test_the_shape_is_part_of_the_prompt(lm):
    """The text that the model reads is the prompt, the instruction and the shape."""
    expected = f'Who?\n\n{SHAPE_INSTRUCTION}\n{{"year": integer}}\n'
    assert lm.render("Who?", Movie) == expected
    assert lm.render("Who?", Movie, show_schema=False) == "Who?\n"
    assert lm.render("Who?", schemagen.Regex("a"), show_schema=False) == "Who?\n"


def test_options_and_patterns_are_part_of_the_prompt(lm):
    """What is not JSON has no shape, and the model has to know it as well."""
    choice = schemagen.Choice(["yes", "no, never"])
    assert lm.render("Really?", choice) == "Really?\n\nAnswer with one of these only:\nyes | no, never\n"
    odd = schemagen.Choice(["a\nb", "", "é|"])
    assert lm.render("Really?", odd).splitlines()[-1] == '"a\\nb" | "" | "é|"'
    pattern = schemagen.Regex("[0-9]{4}")
    expected = "When?\n\nAnswer only with a text that matches this regular expression:\n[0-9]{4}\n"
    assert lm.render("When?", pattern) == expected
    assert lm.render("When?", lm.compile(pattern)) == expected


def test_chat_templates_are_applied(templated):
    """The template of the tokenizer wraps the messages, the shape goes to the last message of the user."""
    shape = f'\n\n{SHAPE_INSTRUCTION}\n{{"year": integer}}'
    assert templated.render("Who?", Movie) == f"<user>Who?{shape}<assistant>"
    assert templated.render("Who?", Movie, chat_template=False) == f"Who?{shape}\n"
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    assert templated.render(chat, Movie) == f"<user>Hi{shape}<assistant>Yes?<assistant>"
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert templated.render(parts, Movie, chat_template=False) == f"Hi\n{shape.lstrip()}\n"


def test_an_empty_chat_is_refused(lm):
    """There must be something to answer."""
    with pytest.raises(GenerationError, match="no messages"):
        lm([], Movie)


def test_no_special_token_is_doubled(templated, tokenizer):
    """A template writes its own special tokens, so the tokenizer adds none."""
    token_ids = token_ids_of(templated, "<eos>x", templated=True)
    assert token_ids == (tokenizer.eos_token_id, *tokenizer("x")["input_ids"])


def test_unconstrained_text(lm):
    """`generate_text` is the model without a constraint."""
    assert isinstance(lm.generate_text("x", max_new_tokens=5), str)


def test_unconstrained_text_of_a_type(bundled_lm):
    """With a type, `generate_text` sends what `generate` sends: a shape that the model knows makes it write an instance."""
    asked = []
    with patch.object(bundled_lm, "tokenizer", Recorder(bundled_lm, asked)):
        text = bundled_lm.generate_text("Thirty-six", Point)
        bundled_lm("Thirty-six", Point)
    assert asked[0] == asked[1]
    assert "x" in text


# --- front doors -------------------------------------------------------------------------------------------------------


def test_generators_compile_once(lm, monkeypatch):
    """A generator keeps its grammar and its defaults."""
    generator = schemagen.Generator(lm, Person, max_new_tokens=100)
    monkeypatch.setattr(lm, "compile", None)
    assert isinstance(generator("x"), Person)
    assert generator.run("y").value == generator("y")
    with pytest.raises(BudgetError):
        generator("x", max_new_tokens=2)


def test_generators_are_shared_between_threads(lm):
    """Four threads get what one gets."""
    generator = schemagen.Generator(lm, Person)
    prompts = [f"prompt {number}" for number in range(8)]
    expected = [generator(prompt) for prompt in prompts]
    found = {}
    threads = [threading.Thread(target=lambda p=p: found.update({p: generator(p)})) for p in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[prompt] for prompt in prompts] == expected


def test_structured_classes_generate_themselves(lm):
    """The decorator gives models, dataclasses and named tuples a class method."""

    @schemagen.structured
    class City(BaseModel):
        big: bool

    @schemagen.structured
    @dataclasses.dataclass
    class Flag:
        up: bool

    assert isinstance(City.generate("x", lm=lm), City)
    assert isinstance(Flag.generate("x", lm=lm, max_new_tokens=60), Flag)
    assert schemagen.structured(Movie).generate("x", lm=lm).keys() == {"year"}
    assert isinstance(schemagen.structured(Pair).generate("x", lm=lm), Pair)


def test_subclasses_generate_instances_of_their_own(lm):
    """The method belongs to whom it is called on."""

    class City(schemagen.Structured, BaseModel):
        big: bool

    class Capital(City):
        crowded: bool

    assert isinstance(Capital.generate("x", lm=lm), Capital)
    assert type(City.generate("x", lm=lm)) is City


def test_the_bundled_model_is_the_default(lm, monkeypatch):
    """Without `lm` the bundled model is asked."""
    monkeypatch.setattr("schemagen.lm.load_bundled", lambda: lm)

    @schemagen.structured
    class City(BaseModel):
        big: bool

    assert isinstance(City.generate("x"), City)


def test_a_class_with_a_generate_of_its_own_is_refused():
    """Neither a method nor a field of that name is hidden."""
    with pytest.raises(SchemagenError, match="already has an attribute 'generate'"):

        @schemagen.structured
        class WithMethod(BaseModel):
            def generate(self):
                """Do something else."""

    with pytest.raises(SchemagenError, match="already has an attribute 'generate'"):

        @schemagen.structured
        class WithField(BaseModel):
            generate: int

    with pytest.raises(SchemagenError, match="already has an attribute 'generate'"):

        class Inherited(schemagen.Structured):
            generate = 1


def test_classes_without_methods_are_refused():
    """A builtin cannot be changed."""
    with pytest.raises(SchemagenError, match="cannot have methods"):
        schemagen.structured(int)


def test_models_are_loaded_from_a_folder(lm, tmp_path):
    """`load` reads what save_pretrained wrote, and gives the same answers."""
    lm.model.save_pretrained(tmp_path)
    lm.tokenizer.save_pretrained(tmp_path)
    loaded = schemagen.load(tmp_path, local_files_only=True)
    assert loaded.run("x", Person).text == lm.run("x", Person).text


def test_the_bundled_model_needs_no_network(capfd):
    """The model of the package loads in silence, once, and answers with an instance."""
    try:
        lm = schemagen.load_bundled()
    except SchemagenError as error:
        pytest.skip(f"built without the bundled model: {error.fact}")
    assert capfd.readouterr().err == ""
    assert schemagen.load_bundled() is lm
    assert isinstance(lm("Ada, 36", Person), Person)
    assert lm.render("Ada, 36", Person).count("<|bos|>") == 1
