"""What a language model is told about reading ahead, and what it tells of it."""

import json
from weakref import WeakKeyDictionary

import pytest

import schemagen
from schemagen import OptionError
from schemagen.lm import Speculation

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


def forget(monkeypatch):
    """Let nothing be known of earlier answers, which other tests asked for."""
    for name in ("_of_models", "_of_grammars"):
        monkeypatch.setattr(f"schemagen.decode.speculation.memories.{name}", WeakKeyDictionary())


def test_examples_make_the_first_answer_fast(bundled_lm, tmp_path, monkeypatch):
    """Values, texts and files; the answer is the same, in fewer passes, where their length does not depend on the clock."""
    monkeypatch.setattr("schemagen.decode.speculation.memories.PassTimes.of", lambda *_: 1.0)
    lm = schemagen.from_transformers(bundled_lm.model, bundled_lm.tokenizer)
    schema = {**PERSON, "required": ["name", "age"]}
    examples = [{"name": f"Bob {number}", "age": number} for number in range(10, 20)]
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in examples))
    forget(monkeypatch)
    cold = lm.run("Ada Lovelace, 36, London", schema)
    for given in (examples, [json.dumps(each) for each in examples], path):
        forget(monkeypatch)
        assert lm.warm_up(schema, given) == 10
        warm = lm.run("Ada Lovelace, 36, London", schema)
        assert warm.text == cold.text
        assert warm.passes < cold.passes


@pytest.mark.parametrize("examples", [[{"age": "old"}], ["{"], "no-such-file.jsonl", [object()]])
def test_examples_must_be_of_the_type(examples, bundled_lm):
    """The one at fault is named."""
    with pytest.raises(OptionError):
        bundled_lm.warm_up(PERSON, examples)


def test_an_assistant_can_be_assigned(bundled_lm):
    """The model itself, as a language model or as what it holds; anything else is refused."""
    lm = schemagen.from_transformers(bundled_lm.model, bundled_lm.tokenizer)
    expected = lm("Ada Lovelace, 36, London", PERSON)
    for assistant in (bundled_lm, bundled_lm.model, None):
        lm.assistant = assistant
        assert lm.assistant is assistant
        assert lm("Ada Lovelace, 36, London", PERSON) == expected
    with pytest.raises(OptionError):
        lm.assistant = "gpt2"
    with pytest.raises(OptionError):
        Speculation(max_draft=-1)


def test_what_the_constraint_changed_is_counted(bundled_lm):
    """A model that would write the same by itself is never stopped; one that wants something else is."""
    found = bundled_lm.run("Ada Lovelace, 36, London", PERSON)
    assert found.interventions is not None
    assert found.passes < found.new_tokens
    assert bundled_lm.run("Ada Lovelace", schemagen.Regex("[xyz]{9}")).interventions > 1


def test_what_teaches_nothing_is_refused(bundled_lm, tmp_path):
    """Examples that are none, and settings that are none; a line of JSON ends at a line feed and nowhere else."""
    with pytest.raises(schemagen.OptionError, match="examples"):
        bundled_lm.warm_up(PERSON, 5)
    with pytest.raises(schemagen.OptionError, match="speculation"):
        bundled_lm.speculation = 5
    path = tmp_path / "examples.jsonl"
    path.write_text('{"name": "a\u2028b", "age": 3}\n', encoding="utf-8")
    assert bundled_lm.warm_up({"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}, path) == 1
