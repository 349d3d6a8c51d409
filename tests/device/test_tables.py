"""Tables on a device give the masks and states that matchers give, schema by schema and in mixed batches."""

import contextlib
import random

import numpy as np
import pytest

import schemagen
from schemagen.calling.answer_format import build
from schemagen.calling.families import find_profile
from schemagen.calling.tools import as_tools
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from tests import corpora
from tests.suite.cases import load_cases

torch = pytest.importorskip("torch")

from schemagen.device import DeviceTables  # noqa: E402 - needs torch
from schemagen.device.kernels import allowed_tokens  # noqa: E402
from schemagen.device.regions import DEAD, HOST, OVER, Heap, Regions  # noqa: E402

#: In draft 4 an integer has no exponent, so there are few states; of later drafts its spellings are too many for a closed table.
PERSON = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
TREE = {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}


def mask_of(matcher, size, budget=None):
    """Return the mask of a matcher, bool [V]."""
    words = np.zeros((1, -(-size // 32)), dtype=np.int32)
    matcher.fill_next_token_bitmask(words, 0, budget=budget)
    return torch.from_numpy(np.unpackbits(words.view(np.uint8), bitorder="little")[:size].astype(bool))


def settle(tables, owners, states, matchers):
    """Work out the rows of states that have none, as a decoder does; return those that depend on the text."""
    faults = [(row, int(owners[row]) - 1, int(states[row])) for row in tables.faults(owners, states)]
    if any(state != HOST for _, _, state in faults):
        tables.page_in([(index, state) for _, index, state in faults if state != HOST])
    for row, index, state in faults:
        if state == HOST:
            states[row] = tables.state_of(index, matchers[row])
    return {row for row in range(len(states)) if int(states[row]) == HOST}


def follow(grammars, tables, rng, steps, budget=None):
    """Walk one random text per grammar, in one batch; compare every mask. Returns how many were compared."""
    vocabulary = grammars[0].vocabulary
    matchers = [grammar.matcher() for grammar in grammars]
    owners, states = tables.starts(range(len(grammars)))
    compared, over = 0, set()
    for step in range(steps):
        on_host = settle(tables, owners, states, matchers)
        left = None if budget is None else budget - step
        budgets = None if left is None else torch.full_like(states, left)
        allowed = allowed_tokens(tables.tensors, owners, states, budgets)
        tokens = []
        for row, matcher in enumerate(matchers):
            if row in over:
                tokens.append(vocabulary.eos_token_ids[0])
                continue
            expected = mask_of(matcher, vocabulary.size, left)
            if row not in on_host and (left is None or tables.is_closed):
                assert torch.equal(allowed[row], expected), f"{grammars[row]!r} after {step} tokens"
                compared += 1
            ids = expected.nonzero().flatten().tolist()
            going_on = [token for token in ids if token not in vocabulary.eos_token_ids]
            tokens.append(rng.choice(going_on if going_on and rng.random() < 0.9 else ids))
            assert matcher.accept_token(tokens[-1])
            if matcher.is_terminated():
                over.add(row)
        states = tables.advance(owners, states, torch.tensor(tokens))
        for row in over:
            assert int(states[row]) in (OVER, HOST)
    return compared


def _cases():
    cases = [case for case in load_cases() if "native" in case.engines and not case.xfail]
    return [cases[k : k + 12] for k in range(0, len(cases), 12)]


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(cases, id=cases[0].id, marks=() if k % 4 == 0 else pytest.mark.slow)
        for k, cases in enumerate(_cases())
    ],
)
def test_masks_equal_those_of_matchers_in_mixed_batches(cases, bundled_vocabulary):
    """A batch of twelve grammars, few of their states worked out beforehand, walks as their matchers do."""
    grammars = [case.compile(bundled_vocabulary, "native") for case in cases]
    tables = DeviceTables(grammars, max_states=40)
    assert follow(grammars, tables, random.Random(cases[0].id), 25) > len(cases)


@pytest.mark.parametrize(
    "spec", [PERSON, schemagen.Regex("[ab]{2,7}(x|yz)*"), {"type": "array", "maxItems": 3}], ids=str
)
def test_masks_with_budgets_equal_those_of_matchers(spec, bundled_vocabulary):
    """Near the end of a budget the same tokens are left out."""
    grammar = schemagen.compile(spec, bundled_vocabulary, whitespace="compact", cache=None)
    tables = DeviceTables([grammar], max_states=20_000)
    if not tables.is_closed:  # arrays of anything nest without end
        assert "maxItems" in str(spec)
        return
    for seed in range(6):
        assert follow([grammar], tables, random.Random(seed), 12, budget=12) >= 4


def test_a_closed_grammar_has_no_faults(bundled_vocabulary):
    """An object without open ends is worked out whole."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, whitespace="compact", cache=None)
    tables = DeviceTables([grammar])
    assert tables.is_closed
    owners, states = tables.starts([0, 0])
    assert tables.faults(owners, states) == []


def test_a_recursive_grammar_is_paged_in(bundled_vocabulary):
    """Nesting deeper than what was worked out faults once, and then never again."""
    grammar = schemagen.compile(TREE, bundled_vocabulary, cache=None)
    tables = DeviceTables([grammar], max_states=10)
    assert not tables.is_closed
    opening = bundled_vocabulary.tokens.index(b"[")
    faults = []
    for _ in range(2):
        owners, states = tables.starts([0])
        faults.append(0)
        for _ in range(60):
            states = tables.advance(owners, states, torch.tensor([opening]))
            for row in tables.faults(owners, states):
                tables.page_in([(int(owners[row]) - 1, int(states[row]))])
                assert tables.faults(owners, states) == []
                faults[-1] += 1
    assert faults[0] >= 1
    assert faults[1] == 0


def table_of(tables, index):
    """Return for each state of a grammar what is on the device: where tokens lead, mask, tokens to finish, whether ready."""
    tensors, owner = tables.tensors, index + 1
    count = len(tables._tables[index])
    states = torch.arange(count)
    rows = tensors.bases[owner] + states
    places = tensors.firsts[owner] + states.unsqueeze(1) * tensors.widths[owner] + tensors.classes[owner]
    masks = tensors.masks[tensors.mask_ids[rows]]
    return tensors.transitions[places], masks, tensors.needed[rows], tensors.ready[rows]


def test_a_fault_sends_only_new_rows(bundled_vocabulary, monkeypatch):
    """After faults in two grammars the tensors are those that are made at once; nothing was sent a second time."""
    maps = {"type": "object", "additionalProperties": {"enum": [1, 2.5, None, "x"]}, "maxProperties": 40}
    grammars = [schemagen.compile(spec, bundled_vocabulary, cache=None) for spec in (TREE, maps, PERSON)]
    tables = DeviceTables(grammars, width=bundled_vocabulary.size + 40, pad_token_id=0, max_states=6)
    before = [table.ready().astype(bool) for table in tables._tables]
    masks = [table.mask_count for table in tables._tables]
    sent, send = [], Regions._send

    def recording(self, values, dtype):
        sent.append(np.shape(values))
        return send(self, values, dtype)

    monkeypatch.setattr(Regions, "_send", recording)
    faults = 0
    for index, most in ((0, 700), (1, 500), (0, 900)):
        table = tables._tables[index]
        while len(table) < most and not table.is_closed:
            missing = np.flatnonzero(table.ready()[HOST + 1 :] == 0)[:3] + HOST + 1
            tables.page_in([(index, int(state)) for state in missing])
            faults += 1
    monkeypatch.undo()
    assert faults >= 6
    at_once = DeviceTables(grammars, width=tables._width, pad_token_id=0, max_states=0)
    for index in range(3):
        for grown, made in zip(table_of(tables, index), table_of(at_once, index), strict=True):
            assert torch.equal(grown, made)
    words = -(-tables._width // 32)
    rows_of_masks = sum(shape[0] for shape in sent if len(shape) == 2 and shape[1] == words)
    rows = sum(shape[0] for shape in sent if len(shape) == 2 and shape[1] != words)
    after = [table.ready().astype(bool) for table in tables._tables]
    assert rows == sum(now.sum() - then.sum() for now, then in zip(after, before, strict=True))
    assert rows_of_masks == sum(table.mask_count for table in tables._tables) - sum(masks)


def test_tensors_double_when_they_are_full():
    """A thousand rows, one after the other, are copied a few times, and stay what they are."""
    heap, copies, tensor = Heap(7, (2,), torch.int32, torch.device("cpu")), 0, None
    heap.reserve(3)
    for number in range(1000):
        assert heap.take(1) == number
        heap.tensor[number] = number
        copies += heap.tensor is not tensor
        tensor = heap.tensor
    assert copies <= 10
    assert heap.tensor[:1000, 1].tolist() == list(range(1000))
    assert (heap.tensor[1000:] == 7).all()


def test_rows_without_a_grammar_are_free(bundled_vocabulary):
    """They allow everything and never change."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, cache=None)
    tables = DeviceTables([grammar])
    owners, states = tables.starts([None, 0])
    scores = torch.zeros(2, bundled_vocabulary.size)
    assert tables.mask(owners, states, scores)[0].isfinite().all()
    assert torch.equal(tables.advance(owners, states, torch.tensor([5, 5]))[:1], states[:1])


def test_a_forbidden_token_leads_nowhere(bundled_vocabulary):
    """A row that went against its grammar may only end."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, cache=None)
    tables = DeviceTables([grammar], pad_token_id=0)
    owners, states = tables.starts([0])
    states = tables.advance(owners, states, torch.tensor([bundled_vocabulary.tokens.index(b"]")]))
    assert states.tolist() == [DEAD]
    allowed = allowed_tokens(tables.tensors, owners, states)
    assert set(allowed[0].nonzero().flatten().tolist()) == {0, *bundled_vocabulary.eos_token_ids}


def test_logits_wider_than_the_vocabulary(bundled_vocabulary):
    """Padding of the embedding is never allowed, and a token there leads nowhere."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, cache=None)
    tables = DeviceTables([grammar, grammar], width=bundled_vocabulary.size + 70)
    owners, states = tables.starts([0, None])
    masked = tables.mask(owners, states, torch.zeros(2, bundled_vocabulary.size + 70))
    assert masked[0, bundled_vocabulary.size :].isneginf().all()
    behind = tables.advance(owners, states, torch.tensor([bundled_vocabulary.size + 3, 1]))
    assert behind[0] == DEAD


def test_a_grammar_that_counts_tokens_has_no_table(bundled_vocabulary):
    """The error says what to decode with."""
    grammar = schemagen.compile(schemagen.text.text_tokens(1, 3), bundled_vocabulary, cache=None)
    with pytest.raises(schemagen.MatcherError, match="no table"):
        DeviceTables([grammar])


@pytest.mark.slow
def test_masks_equal_those_of_matchers_on_public_schemas(bundled_vocabulary):
    """The same over three hundred schemas of MaskBench that compile, twelve to a batch."""
    schemas = [group["schema"] for group in corpora.groups("maskbench")]
    grammars = []
    for schema in random.Random(0).sample(schemas, 400):
        with contextlib.suppress(schemagen.SchemaError, schemagen.LimitError):
            grammars.append(schemagen.compile(schema, bundled_vocabulary, cache=None))
    assert len(grammars) >= 300
    for k in range(0, 300, 12):
        batch = grammars[k : k + 12]
        assert follow(batch, DeviceTables(batch, max_states=20), random.Random(k), 30) > len(batch)


def get_weather(city: str, days: int = 3) -> None:
    """Get the weather."""


@pytest.mark.parametrize("profile", ["plain", "hermes", "qwen-coder", "mistral-ids"])
def test_answers_with_tools_have_tables(profile, bundled_vocabulary):
    """Words, markers, and calls in JSON and between tags; thoughts, whose tokens are counted, have none."""
    specials = tuple((marker, 500 + k) for k, marker in enumerate(find_profile(profile).markers))
    vocabulary = schemagen.Vocabulary.from_tokens(
        [None if k in dict(specials).values() else token for k, token in enumerate(bundled_vocabulary.tokens)],
        eos_token_ids=bundled_vocabulary.eos_token_ids,
        special_token_ids=[*dict(specials).values(), *bundled_vocabulary.special_token_ids],
    )
    flags = {"may_answer": profile != "plain", "parallel": True}
    graph = build(find_profile(profile), as_tools([get_weather]), vocabulary, specials, **flags).graph
    compared = sum(follow([graph, graph], DeviceTables([graph, graph]), random.Random(seed), 40) for seed in range(4))
    assert compared > 100
    thinking = ReasoningFormat("", "</think>", 5, ()).before_parts(graph)
    with pytest.raises(schemagen.MatcherError, match=r"no table"):
        DeviceTables([thinking])
