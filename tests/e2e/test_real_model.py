"""SmolLM2-135M-Instruct: what only a model shows that was trained on other people's texts, with a vocabulary of 49,152 tokens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

import schemagen
from tests import real_model

pytestmark = pytest.mark.real_model
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture(scope="module")
def lm():
    """Load the model once; the dequantised weights are kept in the ignored folder, so that the next run takes a second."""
    pytest.importorskip("gguf")
    return schemagen.load(real_model.need(), cache=real_model.cache())


class Person(BaseModel):
    name: str
    age: int
    city: str


def test_the_vocabulary_is_that_of_the_tokenizer(lm):
    """The bytes of the tokens of a text are the text, and every token that is text is known by its bytes."""
    texts = [
        "Hello, wörld!",
        '{"a": [1, 2.5e-3]}',
        "日本語 \N{GRINNING FACE}\n\t  x",
        " leading",
        "\r\n",
        "naïve café",
        "0123456789",
    ]
    for text in texts:
        ids = lm.tokenizer(text, add_special_tokens=False)["input_ids"]
        assert lm.vocabulary.decode(ids) == text.encode()
    assert lm.vocabulary.size == lm.model.config.vocab_size
    special = set(lm.vocabulary.special_token_ids)
    for token_id, data in enumerate(lm.vocabulary.tokens):
        assert bool(data) == (token_id not in special)
        if data and data.isascii():
            assert lm.tokenizer.decode([token_id]) == data.decode()


def test_bytes_without_a_token_are_control_characters(lm):
    """This vocabulary lacks some single bytes: none that JSON writes as they are, and two that begin rare planes of Unicode."""
    missing = set(range(256)) - {data[0] for data in lm.vocabulary.tokens if len(data) == 1}
    never_in_utf8 = {0xC0, 0xC1, *range(0xF5, 0x100)}
    assert missing - never_in_utf8 == {4, 6, 19, 20, 22, 29, 0xF1, 0xF2}


def test_the_answer_ends_with_the_end_of_the_template(lm):
    """The EOS of the vocabulary is the token that the chat template closes messages with, and an answer ends with it."""
    (eos,) = lm.vocabulary.eos_token_ids
    assert lm.tokenizer.convert_ids_to_tokens(eos) == "<|im_end|>"
    found = lm.run("Who wrote Hamlet? Name and age at death.", Person)
    assert found.token_ids[-1] == eos
    assert eos not in found.token_ids[:-1]


def test_the_prompt_is_what_the_template_writes(lm):
    """With the system message of the model, the question and the beginning of the answer."""
    text = lm.render("Hi", Person)
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert text.endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert "<|im_start|>user\nHi\n" in text


@pytest.mark.parametrize("name", ["extraction_5", "extraction_15", "classification", "arithmetic", "tools"])
def test_every_answer_is_valid(lm, name):
    """The tasks of the benchmarks, in a batch."""
    import jsonschema
    from tasks import TASKS

    task = TASKS[name]
    prompts = [example.prompt for example in task.examples("tune", 4)]
    for found in lm.run_batch(prompts, task.schema, progress=False, max_new_tokens=task.max_new_tokens):
        jsonschema.validate(json.loads(found.text), task.schema)


def test_most_facts_are_found(lm):
    """The model is small, and still knows a name from a number: the prompt shows what is wanted, and the mask lets it say that."""
    from tasks import TASKS

    from schemagen.evaluation.scoring import fields_right

    task = TASKS["extraction_5"]
    examples = task.examples("tune", 6)
    answers = lm.batch(
        [each.prompt for each in examples], task.schema, progress=False, max_new_tokens=task.max_new_tokens
    )
    right = [
        one
        for each, answer in zip(examples, answers, strict=True)
        for one in fields_right(answer, each.answer).values()
    ]
    assert sum(right) / len(right) >= 0.6


def test_the_processor_writes_what_the_front_door_writes(lm):
    """Greedy, in ``model.generate``, token by token."""
    prompt = lm.render("Extract: Ada Lovelace, 36, lives in London.", Person)
    inputs = lm.tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
    processor = schemagen.LogitsProcessor(lm.compile(Person))
    output = lm.model.generate(**inputs, logits_processor=[processor], max_new_tokens=64, do_sample=False)
    written = tuple(output[0, inputs["input_ids"].shape[1] :].tolist())
    assert written == lm.run("Extract: Ada Lovelace, 36, lives in London.", Person).token_ids


def test_a_tool_is_called(lm):
    """The call can be made: its function is one of those that were given, and its arguments have their types."""

    def get_weather(city: str) -> str:
        """Tell the weather in a city."""
        return f"sunny in {city}"

    def set_timer(minutes: int) -> str:
        """Set a timer."""
        return f"{minutes} minutes"

    found = lm.call("What is the weather in Paris?", [get_weather, set_timer], tool_choice="required")
    assert found.run().value == "sunny in Paris"


def test_streams_tell_the_same_text(lm):
    """The text of the stream is the text of the answer."""
    with lm.stream("Ada Lovelace, 36, London", Person) as stream:
        for _ in stream:
            pass
    assert stream.text == lm.run("Ada Lovelace, 36, London", Person).text


def test_sampling_stays_within_the_type(lm):
    """Hot, so that the model alone would write anything."""
    kinds = Literal["red", "green", "blue"]
    found = {lm("A color?", kinds, temperature=5.0, seed=seed) for seed in range(4)}
    assert found <= {"red", "green", "blue"}


def test_the_masked_mass_is_a_probability(lm):
    """And not nothing: this model does not write JSON by itself."""
    found = lm.run("Tell me about Ada Lovelace.", Person)
    assert 0 < found.masked_mass < 1


def test_a_long_answer_fits_its_budget(lm):
    """Strings without bounds end in time, also where the model would go on."""
    for budget in (24, 40):
        found = lm.run("Tell me a very long story about a city.", Person, max_new_tokens=budget)
        assert found.new_tokens <= budget
