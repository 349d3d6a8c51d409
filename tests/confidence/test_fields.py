"""What the model expected at each token: the loops note what one pass over the whole text finds."""

from __future__ import annotations

import io
import pickle
from math import exp
from typing import Literal

import pytest
import torch
from pydantic import BaseModel

import schemagen
from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.generate import decode, inputs_of
from schemagen.decode.token_records import records_of
from schemagen.errors import OptionError
from tests.decode.tiny import VOCABULARY, compiled, model

PROMPT = "Ada Lovelace, 36, London"


class Person(BaseModel):
    name: str
    age: int
    mood: Literal["happy", "sad"]


def close(found, expected):
    """Check that two lists of records say the same."""
    assert [each.token_id for each in found] == [each.token_id for each in expected]
    for mine, other in zip(found, expected, strict=True):
        assert mine.raw_log_probability == pytest.approx(other.raw_log_probability, abs=1e-4)
        assert mine.log_allowed == pytest.approx(other.log_allowed, abs=1e-4)
        assert mine.is_forced == other.is_forced
        mass = {each.token_id: (each.allowed, each.log_probability) for each in other.alternatives}
        for each in mine.alternatives:
            if each.token_id in mass:
                assert mass[each.token_id] == (each.allowed, pytest.approx(each.log_probability, abs=1e-4))


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "top_k": 0, "temperature": 0.7}])
@pytest.mark.parametrize("kind", ["object", "regex", "choice"])
def test_every_loop_records_the_same(kind, options):
    """The loop that reads ahead, rows of a batch and ``generate`` agree with one pass over the text."""
    grammar = compiled(kind)
    prompts = [tuple(text.encode()) for text in ("one", "number two", "3")]
    rows = [Row(prompt, grammar, seed, notes=True) for seed, prompt in enumerate(prompts)]
    own = {"max_new_tokens": 60, **options}
    batch = dict(decode_batch(model("llama"), rows, batch_size=2, **own))
    for index, row in enumerate(rows):
        inputs = inputs_of([row.token_ids], 0, torch.device("cpu"))
        ahead = decode(model("llama"), inputs, grammar, seed=row.seed, notes=True, **own)
        expected = records_of(model("llama"), row.token_ids, ahead.token_ids, grammar, 60)
        close(ahead.records, expected)
        assert batch[index].token_ids == ahead.token_ids
        close(batch[index].records, expected)
    slow = decode(model("llama"), inputs, grammar, notes=True, max_new_tokens=60, num_beams=2)
    close(slow.records, records_of(model("llama"), row.token_ids, slow.token_ids, grammar, 60))
    assert decode(model("llama"), inputs, grammar, max_new_tokens=60).records is None
    assert VOCABULARY.size == grammar.vocabulary.size


def test_fields_have_the_tokens_of_their_values(lm):
    """Products of the tokens are the probabilities of fields, and the whole is that of all tokens but EOS."""
    found = lm.run(PROMPT, Person, confidence=True)
    sure = found.confidence
    assert list(sure) == ["", "/name", "/age", "/mood"]
    assert "".join(sure.pieces) == found.text
    for path, field in sure.items():
        written = "".join(sure.pieces[field.first : field.first + len(field.tokens)])
        assert field.text in written
        assert field.probability == pytest.approx(exp(sum(token.log_probability for token in field.tokens)))
        assert field.raw_log_probability <= 0
        assert 0 <= field.removed_mass <= 1
        assert path in found.explain(path) or not path
    assert sure["/age"].text == "36"
    assert sure["/mood"].removed_mass > 0.001
    with pytest.raises(OptionError, match="no field '/nam'"):
        sure["/nam"]
    with pytest.raises(OptionError, match="not known"):
        lm.run(PROMPT, Person).explain("/name")
    assert lm.run(PROMPT, Person).confidence is None


def test_batches_streams_thoughts_and_healing_keep_their_places(lm):
    """The fields are found wherever the answer begins."""
    single = lm.run(PROMPT, Person, confidence=True).confidence
    batch = lm.run_batch([PROMPT, "Alan Turing, 41"], Person, confidence=True)
    assert batch[0].confidence["/name"].probability == pytest.approx(single["/name"].probability, abs=1e-3)
    *_, last = lm.stream(PROMPT, Person, confidence=True)
    assert last.generation.confidence["/name"].probability == pytest.approx(single["/name"].probability, abs=1e-3)
    drafted = lm.run(PROMPT, Person, draft=8, confidence=True)
    assert drafted.confidence["/age"].text == str(drafted.value.age)
    healed = lm.run(PROMPT + "\n", Person, heal=True, confidence=True)
    assert healed.confidence["/age"].text == str(healed.value.age)
    tried = lm.run(PROMPT, Person, confidence=True, tries=3)
    assert tried.confidence["/name"].text == single["/name"].text


def test_names_of_grammars_are_fields(lm):
    """Rules, groups and holes have a confidence each; a pattern without names has one as a whole."""
    grammar = schemagen.Lark('start: name " " number\nname: /[a-z]+/\nnumber: /[0-9]{1,3}/')
    assert {"", "start", "name", "number"} == set(lm.run(PROMPT, grammar, confidence=True).confidence)
    assert set(lm.run(PROMPT, schemagen.Regex("(?P<year>[0-9]{4})-x"), confidence=True).confidence) == {"", "year"}
    assert list(lm.run(PROMPT, schemagen.Choice(["a", "b"]), confidence=True).confidence) == [""]


def test_the_distribution_of_a_field(lm):
    """It contains the value that was written, as likely as its tokens or likelier."""
    found = lm.run(PROMPT, Person, confidence=True).confidence
    mood = found.distribution("/mood")
    assert set(mood.options) == {"happy", "sad"}
    assert mood.masked_probabilities[0] >= found["/mood"].probability - 1e-3
    name = found.distribution("/name")
    assert name.value == "Ada Lovelace"
    assert 0 < name.error < 0.1
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301 - of our own
    assert copy["/mood"] == found["/mood"]
    with pytest.raises(OptionError, match="no model to ask"):
        copy.distribution("/mood")


def test_it_is_shown_in_colours(lm):
    """In a notebook every token tells its alternatives, and nothing of the text is markup."""
    found = lm.run(PROMPT, schemagen.Choice(["<b>a</b>", "<i>&</i>"]), confidence=True)
    shown = found._repr_html_()
    assert "title=" in shown
    assert "<b>" not in shown
    assert "<i>" not in shown
    from rich.console import Console

    console = Console(record=True, width=80, file=io.StringIO())
    console.print(found.confidence)
    assert found.text in console.export_text().replace("\n", "")


def test_classify_reads_prompts_as_run_does(lm):
    """The likeliest option is the greedy answer where the model is sure."""
    kind = Literal["positive", "negative", "neutral"]
    found = lm.classify("I love it! Great product.", kind)
    assert found.value == lm("I love it! Great product.", kind)
    assert lm.classify("x", kind, temperature=5.0).entropy > lm.classify("x", kind).entropy
    for wrong in ({"temperature": 0}, {"max_nodes": 0}, {"show_schema": "no"}):
        with pytest.raises(OptionError):
            lm.classify("x", kind, **wrong)
