"""`schemagen.integrations.mlx` with the real mlx-lm, on the CPU: `make integrations`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import schemagen
from schemagen.errors import BitmaskShapeError, MatcherError, OptionError
from schemagen.integrations.mlx import LogitsProcessor, vocabulary_of

mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("ignore")]

SPECS = [
    {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"],
     "additionalProperties": False},
    schemagen.Regex("[A-Z][a-z]{1,9}, [0-9]{1,3}"),
    schemagen.Choice(["good", "bad"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def loaded():
    """Return the bundled model, loaded by mlx-lm."""
    return mlx_lm.load(str(Path(schemagen.__file__).parent / "lm" / "bundled"))


@pytest.fixture(scope="module")
def lm():
    """Return the bundled model of schemagen."""
    return schemagen.load_bundled()


def test_the_vocabulary_is_that_of_the_model(loaded, lm):
    """Bytes, width and EOS ids are those that transformers' model has."""
    model, tokenizer = loaded
    assert vocabulary_of(tokenizer, model) == lm.vocabulary


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("budget", [40, None])
def test_texts_are_those_of_transformers(loaded, lm, spec, budget):
    """The greedy text is the one that `LanguageModel.run` writes for the same prompt, with the budget and without."""
    model, tokenizer = loaded
    prompt = "Ada Lovelace, 36, London"
    ids = tokenizer.encode(lm.render(prompt, spec), add_special_tokens=False)
    processor = LogitsProcessor(lm.compile(spec), max_new_tokens=budget)
    text = mlx_lm.generate(model, tokenizer, ids, max_tokens=budget or 80, logits_processors=[processor])
    assert text == lm.run(prompt, spec, max_new_tokens=budget or 80).text


def test_a_small_budget_is_enough(loaded, lm):
    """With the least budget of the grammar the text is complete."""
    model, tokenizer = loaded
    grammar = lm.compile(SPECS[0])
    ids = tokenizer.encode("A very long story about", add_special_tokens=False)
    budget = grammar.min_new_tokens
    processor = LogitsProcessor(grammar, max_new_tokens=budget)
    text = mlx_lm.generate(model, tokenizer, ids, max_tokens=budget, logits_processors=[processor])
    assert set(json.loads(text)) == {"name", "age"}


def test_wrong_use_is_told(lm):
    """Another text, a token that is forbidden, narrow logits and a budget that is none are errors."""
    grammar = lm.compile(schemagen.Choice(["good", "bad"]))
    processor = LogitsProcessor(grammar)
    processor(mx.array([1, 2]), mx.zeros((1, lm.vocabulary.size)))
    forbidden = next(i for i in range(9, lm.vocabulary.size) if i not in grammar.matcher().allowed_tokens())
    with pytest.raises(MatcherError):
        processor(mx.array([1, 2, forbidden]), mx.zeros((1, lm.vocabulary.size)))
    with pytest.raises(MatcherError):
        processor(mx.array([1]), mx.zeros((1, lm.vocabulary.size)))
    with pytest.raises(BitmaskShapeError):
        LogitsProcessor(grammar)(mx.array([1]), mx.zeros((1, 8)))
    with pytest.raises(OptionError):
        LogitsProcessor(grammar, max_new_tokens=0)
