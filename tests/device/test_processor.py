"""`DeviceLogitsProcessor` lets through what `LogitsProcessor` does, in every search of transformers, and never waits.

Where there is a GPU, the model and the tables are on it.
"""

import json

import pytest

import schemagen
from tests.device.test_tables import PERSON

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from schemagen.decode import DeviceLogitsProcessor, LogitsProcessor  # noqa: E402 - needs torch
from tests.decode.tiny import llama  # noqa: E402

pytestmark = pytest.mark.sampled(3)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

FREE_KEYS = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}
TREE = {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 3}}}
SPECS = {"person": PERSON, "regex": schemagen.Regex("[ab]{2,7}(x|yz)*"), "free keys": FREE_KEYS, "tree": TREE}
MODES = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 2.0},
    "beams": {"num_beams": 3},
    "several beams": {"num_beams": 4, "num_return_sequences": 3},
    "several samples": {"do_sample": True, "num_return_sequences": 3},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
}


@pytest.fixture(scope="module")
def model(bundled_vocabulary):
    """A Llama over the bundled vocabulary, padded by some logits."""
    return llama(0, width=bundled_vocabulary.size + 16, hidden=32, layers=2, spread=0.3, ends=2, pad=0).to(DEVICE)


def generate(model, processor, rows, vocabulary, **mode):
    """Return the generated ids of some prompts of five tokens."""
    generator = torch.Generator().manual_seed(3)
    prompts = torch.randint(10, 1000, (rows, 5), generator=generator).to(DEVICE)
    torch.manual_seed(1)
    output = model.generate(
        input_ids=prompts,
        attention_mask=torch.ones_like(prompts),
        logits_processor=[processor],
        max_new_tokens=40,
        eos_token_id=list(vocabulary.eos_token_ids),
        pad_token_id=0,
        **mode,
    )
    return output[:, 5:]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spec", SPECS)
def test_the_same_texts_as_the_processor_on_the_host(spec, mode, model, bundled_vocabulary):
    """Token for token, whether the grammar is closed or not, and the object can be used again."""
    rows = 1 if mode == "prompt lookup" else 2
    grammar = schemagen.compile(SPECS[spec], bundled_vocabulary, whitespace="compact", cache=None)
    processor = DeviceLogitsProcessor(grammar, pad_token_id=0, max_states=200)
    expected = generate(model, LogitsProcessor(grammar, pad_token_id=0), rows, bundled_vocabulary, **MODES[mode])
    for _ in range(2):
        assert torch.equal(generate(model, processor, rows, bundled_vocabulary, **MODES[mode]), expected)


@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams"])
def test_a_table_that_comes_to_the_limits_of_its_grammar(mode, model, bundled_vocabulary):
    """Its states without a row are masked on the host."""
    inner = {"properties": {"a": {"type": "string", "pattern": "^[a-z]{0,20}(x|yz)+[0-9]{2,9}$"}}, "required": ["a"]}
    names = {"type": "string", "pattern": "^([A-Z]{2,8} ?)+$"}
    wide = {"type": "object", "properties": {"x": {"type": "object", **inner}, "y": names}, "required": ["x", "y"]}
    limits = schemagen.Limits(max_states=150)
    grammar = schemagen.compile(wide, bundled_vocabulary, limits=limits, whitespace="compact", cache=None)
    processor = DeviceLogitsProcessor(grammar, pad_token_id=0, max_states=20)
    expected = generate(model, LogitsProcessor(grammar, pad_token_id=0), 2, bundled_vocabulary, **MODES[mode])
    for _ in range(2):
        assert torch.equal(generate(model, processor, 2, bundled_vocabulary, **MODES[mode]), expected)
    assert processor._tables._full == {0}


def test_a_batch_mixes_grammars(model, bundled_vocabulary):
    """Each prompt has its own grammar, or none."""
    grammars = [
        schemagen.compile(spec, bundled_vocabulary, whitespace="compact", cache=None) for spec in SPECS.values()
    ]
    rows = [*grammars, None, grammars[0]]
    expected = generate(model, LogitsProcessor(rows, pad_token_id=0), len(rows), bundled_vocabulary)
    processor = DeviceLogitsProcessor(rows, pad_token_id=0)
    assert torch.equal(generate(model, processor, len(rows), bundled_vocabulary), expected)


@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams"])
@pytest.mark.parametrize("spec", SPECS)
def test_every_text_is_complete_within_its_budget(spec, mode, model, bundled_vocabulary):
    """With the least budget and some tokens more the model, which knows nothing, ends its text in time."""
    grammar = schemagen.compile(SPECS[spec], bundled_vocabulary, whitespace="compact", cache=None)
    for extra in (0, 1, 5):
        budget = grammar.min_new_tokens + extra
        processor = DeviceLogitsProcessor(grammar, pad_token_id=0, max_new_tokens=budget)
        options = {**MODES[mode], "max_new_tokens": budget}
        prompts = torch.tensor([[5, 6, 7], [8, 9, 10]], device=DEVICE)
        torch.manual_seed(extra)
        output = model.generate(
            input_ids=prompts,
            attention_mask=torch.ones_like(prompts),
            logits_processor=[processor],
            eos_token_id=list(bundled_vocabulary.eos_token_ids),
            pad_token_id=0,
            **options,
        )
        for row in output[:, 3:].tolist():
            ids = row[: row.index(2)] if 2 in row else row
            matcher = grammar.matcher()
            text = bundled_vocabulary.decode(ids)
            assert matcher.accept_bytes(text), text
            assert matcher.is_accepting(), text
            if isinstance(SPECS[spec], dict):
                json.loads(text)


def test_a_closed_grammar_never_asks_the_device(bundled_vocabulary):
    """On the meta device there are no values to ask for: whatever needs one would fail."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, whitespace="compact", cache=None)
    processor = DeviceLogitsProcessor(grammar, max_new_tokens=60)
    ids = torch.zeros(4, 7, dtype=torch.int64, device="meta")
    for _ in range(60):
        assert processor(ids, torch.zeros(4, bundled_vocabulary.size, device="meta")).shape == (
            4,
            bundled_vocabulary.size,
        )
        ids = torch.cat([ids, ids[:, -1:]], dim=-1)


def test_rows_and_grammars_must_fit(bundled_vocabulary):
    """The error names both numbers."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, cache=None)
    processor = DeviceLogitsProcessor([grammar, grammar])
    with pytest.raises(schemagen.MatcherError, match="3 rows and 2 grammars"):
        processor(torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, bundled_vocabulary.size))


def test_logits_must_be_wide_enough(bundled_vocabulary):
    """As for the processor on the host."""
    processor = DeviceLogitsProcessor(schemagen.compile(PERSON, bundled_vocabulary, cache=None))
    with pytest.raises(schemagen.BitmaskShapeError, match="width 100"):
        processor(torch.zeros(1, 4, dtype=torch.int64), torch.zeros(1, 100))
