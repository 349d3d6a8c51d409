"""Rules with a temperature: greedy inside of 0, flat inside of a high one, and as the call has it everywhere else."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import schemagen
from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.generate import decode
from schemagen.decode.logits_processor import LogitsProcessor
from schemagen.decode.row_sampling import RowSampler
from schemagen.decode.speculation import Speculation, decode_ahead
from schemagen.options.sampling import Sampling
from tests.decode.tiny import EOS, PAD, VOCABULARY, WIDTH, llama

LETTERS = "abc"
LOGITS = torch.tensor([2.0, 1.0, 0.0])
#: Two letters as the call has it, two greedy ones, two of any, one as the call has it.
TEXT = """
root ::= letter letter cold hot letter
cold[temperature=0] ::= letter letter
hot[temperature=1000] ::= letter letter
letter ::= [a-c]
"""
GRAMMAR = schemagen.compile(schemagen.EBNF(TEXT), VOCABULARY)
PLAIN = schemagen.compile(schemagen.Regex("[a-c]{7}"), VOCABULARY)
COLD, HOT = (2, 3), (4, 5)
COUNT = 500
TOKEN_BY_TOKEN = Speculation(max_draft=0)


def fixed(logits: torch.Tensor):
    """Return a model whose logits do not depend on the text: those of the letters, and low ones."""
    model = llama(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        model.model.norm.weight.fill_(1)
        model.model.embed_tokens.weight.fill_(1)
        rows = torch.full((WIDTH,), -3.0, dtype=torch.float64)
        rows[[ord(letter) for letter in LETTERS]] = logits.double()
        model.lm_head.weight.copy_((rows / model.config.hidden_size).unsqueeze(-1).expand_as(model.lm_head.weight))
    return model


MODEL = fixed(LOGITS)


def test_the_model_has_these_logits():
    """Whatever the text is."""
    found = MODEL(torch.tensor([[5, 6]])).logits[0, -1]
    assert torch.allclose(found[[ord(letter) for letter in LETTERS]], LOGITS.double(), atol=1e-3)


def expected_at(place: int, temperature: float | None) -> torch.Tensor:
    """Return the distribution of a letter; greedy without a temperature of the call."""
    if place in HOT:
        return torch.full((3,), 1 / 3)
    if place in COLD or temperature is None:
        return torch.tensor([1.0, 0, 0])
    return torch.softmax(LOGITS / temperature, dim=-1)


def check(texts: list[str], temperature: float | None) -> None:
    """Compare the letters of texts with what they should be; five standard deviations."""
    assert all(len(text) == 7 for text in texts)
    for place in range(7):
        counts = Counter(text[place] for text in texts)
        for letter, chance in zip(LETTERS, expected_at(place, temperature).tolist(), strict=True):
            spread = 5 * (chance * (1 - chance) / len(texts)) ** 0.5
            assert abs(counts[letter] / len(texts) - chance) <= spread + 1e-9, (place, letter, counts)


def ways(monkeypatch, rows, **options) -> list[list[tuple[int, ...]]]:
    """Return the tokens of rows as a queue, read ahead one by one, and by calls of ``generate`` for three rows and for one."""
    found = []
    for size in ("queue", "ahead", 3, 1):
        with monkeypatch.context() as patch:
            if size != "queue":
                patch.setattr("schemagen.decode.batch.can_queue", lambda *_: False)
            if size not in ("queue", "ahead"):
                patch.setattr("schemagen.decode.batch.can_read_ahead", lambda *_: False)
            most = {"queue": 16, "ahead": 1}.get(size, size)
            written = dict(decode_batch(MODEL, rows, batch_size=most, pad_token_id=PAD, **options))
            found.append([written[index].token_ids for index in range(len(rows))])
    return found


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.5, "top_k": 0}, {"temperature": 2.0, "top_p": 0.9}], ids=repr
)
def test_all_loops_write_the_same_texts(options, monkeypatch):
    """Rows in different regions beside each other, and rows without any, with the same seeds."""
    other = schemagen.compile(schemagen.EBNF(TEXT.replace("letter letter cold", "cold letter letter")), VOCABULARY)
    grammars = [GRAMMAR, PLAIN, other]
    rows = [Row((5, 6 + place), grammars[place % 3], seed=place) for place in range(12)]
    found = ways(monkeypatch, rows, max_new_tokens=9, **options)
    assert found[1:] == found[:-1]
    assert len(set(found[0])) > 3


@pytest.mark.parametrize("temperature", [None, 0.5, 3.0])
def test_each_region_has_its_distribution(temperature):
    """With the call greedy, cold and hot."""
    options = {} if temperature is None else {"temperature": temperature, "top_k": 0}
    rows = [Row((5, 6), GRAMMAR, seed=place) for place in range(COUNT)]
    found = [each.text for _, each in decode_batch(MODEL, rows, batch_size=100, pad_token_id=PAD, **options)]
    check(found, temperature)


@pytest.mark.parametrize(("temperature", "count"), [(None, 50), (0.5, 150)])
def test_drafts_keep_the_distribution(temperature, count):
    """Those of a small model with other logits are drawn and accepted at the temperature of the region."""
    assistant = fixed(torch.tensor([0.0, 1.0, 1.5]))
    sampling = None if temperature is None else Sampling(temperature)
    found, accepted, drafted = [], 0, 0
    for seed in range(count):
        speculation = Speculation(counts=False, prompt_lookup=False, assistant=assistant)
        sampler = RowSampler([seed], sampling)
        run = decode_ahead(MODEL, torch.tensor([[5, 6]]), GRAMMAR, 9, speculation=speculation, sampler=sampler)
        found.append(VOCABULARY.decode(run.token_ids[:7]).decode())
        accepted, drafted = accepted + run.accepted, drafted + run.drafted
    check(found, temperature)
    assert 0 < accepted < drafted


@pytest.mark.parametrize("sampling", [None, Sampling(0.7), Sampling(2.0, top_k=2)], ids=repr)
def test_drafts_change_no_text(sampling):
    """With the same random numbers the tokens are those of a loop that goes token by token, and of masks on refusal."""
    texts = set()
    for seed in range(20):
        kinds = (TOKEN_BY_TOKEN, Speculation(), Speculation())
        runs = [
            decode_ahead(
                MODEL, torch.tensor([[5, 6]]), GRAMMAR, 9, speculation=each, sampler=RowSampler([seed], sampling)
            ).token_ids
            for each in kinds
        ]
        assert runs[1:] == runs[:-1]
        texts.add(tuple(runs[0]))
    assert len(texts) > 5


def test_masks_on_refusal_keep_the_distribution():
    """The model chooses before the mask is computed."""
    found = []
    for seed in range(200):
        sampler = RowSampler([seed], Sampling(0.5))
        speculation = Speculation(opportunistic=True)
        run = decode_ahead(MODEL, torch.tensor([[5, 6]]), GRAMMAR, 9, speculation=speculation, sampler=sampler)
        found.append(VOCABULARY.decode(run.token_ids[:7]).decode())
    check(found, 0.5)


@pytest.mark.parametrize("temperature", [0.5, None])
def test_generate_with_a_processor(temperature):
    """Where ``generate`` samples, the processor makes up for its temperature; where it does not, rules are ignored."""
    torch.manual_seed(0)
    options = (
        {"do_sample": False} if temperature is None else {"do_sample": True, "temperature": temperature, "top_k": 0}
    )
    inputs = torch.tensor([[5, 6]] * (3 if temperature is None else COUNT))
    found = MODEL.generate(
        inputs,
        attention_mask=torch.ones_like(inputs),
        logits_processor=[LogitsProcessor(GRAMMAR)],
        max_new_tokens=9,
        eos_token_id=EOS,
        pad_token_id=PAD,
        **options,
    )[:, 2:]
    texts = [VOCABULARY.decode(row[:7]).decode() for row in found.tolist()]
    if temperature is None:
        assert texts == ["a" * 7] * 3
    else:
        check(texts, temperature)


def test_without_a_seed_regions_follow_the_random_numbers_of_torch():
    """As a call that samples does."""
    inputs = {"input_ids": torch.tensor([[5, 6]])}
    runs = []
    for seed in (1, 1, 2, 3):
        torch.manual_seed(seed)
        runs.append(decode(MODEL, inputs, GRAMMAR).text)
    assert runs[0] == runs[1]
    assert len({*runs}) > 1
    assert all(text.startswith("aaaa") and text.endswith("a") for text in runs)


def test_a_grammar_without_temperatures_asks_no_matcher(monkeypatch):
    """Nothing is paid for a feature that is not used."""
    from schemagen.decode.sequences import Cursor

    rows = [Row((5, 6), PLAIN, seed=place) for place in range(3)]
    asked = []
    temperature = Cursor.temperature
    monkeypatch.setattr(Cursor, "temperature", lambda self: asked.append(temperature(self)))
    assert not PLAIN.has_temperatures
    greedy = [each.text for _, each in decode_batch(MODEL, rows, batch_size=3, pad_token_id=PAD)]
    assert greedy == ["a" * 7] * 3
    assert {*asked} == {None}
