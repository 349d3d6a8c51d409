"""Mask = brute force on states of MaskBench schemas, over the vocabulary of GPT-2, or one of its kind."""

import gzip
import json
import random

import numpy as np
import pytest

import schemagen
from tests import corpora

SCHEMAS, STATES, DRAWN, INSIDE = 20, 10, 400, 400


@pytest.fixture(scope="module")
def tokenizer(request):
    """The tokenizer of GPT-2, or our own of its kind."""
    return request.getfixturevalue(f"{corpora.kinds()[0]}_tokenizer")


@pytest.fixture(scope="module")
def vocabulary(request):
    """Its vocabulary."""
    return request.getfixturevalue(f"{corpora.kinds()[0]}_vocabulary")


def sampled(count, seed):
    """A seeded sample of schemas with a valid instance."""
    with gzip.open(corpora.need("maskbench"), "rt", encoding="utf-8") as file:
        lines = file.readlines()
    random.Random(seed).shuffle(lines)
    found = []
    for line in lines:
        case = json.loads(line)
        valid = [test["data"] for test in case["tests"] if test["valid"]]
        if valid:
            found.append((case["id"], case["schema"], valid))
        if len(found) == count:
            break
    return found


def mask_of(matcher, vocabulary):
    """The mask as a bool array."""
    words = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    matcher.fill_next_token_bitmask(words, 0)
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)[: vocabulary.size]


def check_state(matcher, vocabulary, rng, at):
    """The mask says what `accept_bytes` does: for a sample of all ids and one of the ids in the mask."""
    mask = mask_of(matcher, vocabulary)
    inside = np.flatnonzero(mask).tolist()
    assert inside, f"{at}: the mask is empty"
    ids = {*rng.sample(range(vocabulary.size), DRAWN), *rng.sample(inside, min(INSIDE, len(inside)))}
    ends = set(vocabulary.eos_token_ids)
    for token in ids:
        data = vocabulary.tokens[token]
        expected = matcher.is_accepting() if token in ends else bool(data) and matcher.fork().accept_bytes(data)
        assert mask[token] == expected, f"{at}: token {token} {data!r}, mask {mask[token]}"


def walk_beside(matcher, tokens, rng):
    """Stop somewhere in a valid instance, or a few random tokens beside it: a state of the schema."""
    for token in tokens[: rng.randrange(len(tokens) + 1)]:
        if not matcher.accept_token(token):
            break
    for _ in range(rng.choice((0, 0, 1, 3))):
        allowed = matcher.allowed_tokens()
        if matcher.accept_token(rng.choice(allowed)) and matcher.is_terminated():
            matcher.rollback()
            break


@pytest.mark.parametrize(("seed", "count"), [(7, SCHEMAS), pytest.param(8, 20 * SCHEMAS, marks=pytest.mark.slow)])
def test_masks_of_maskbench_states_equal_brute_force(seed, count, vocabulary, tokenizer):
    """A token is in the mask exactly if its bytes can follow, in states along and beside valid instances."""
    checked = 0
    for case, schema, valid in sampled(count, seed):
        try:
            grammar = schemagen.compile(schema, vocabulary, property_order="any", cache=None)
        except schemagen.SchemagenError:
            continue  # its verdict is the ratchet's business
        for state in range(STATES):
            rng = random.Random(f"{seed} {case} {state}")
            text = json.dumps(rng.choice(valid), ensure_ascii=False)
            matcher = grammar.matcher()
            walk_beside(matcher, tokenizer.encode(text, add_special_tokens=False), rng)
            check_state(matcher, vocabulary, rng, f"{case} state {state}")
        checked += 1
    assert checked >= 0.9 * count


BORDERS = [
    {"type": "string", "pattern": r"^(?:\S+\s+){0,9}\S+$", "maxLength": 60},
    {"type": "string", "pattern": r"^(?:\S+\s+){0,9}\S+$", "maxLength": 5000},
    {"type": "string", "pattern": r"^[^\u00a0\u3000é]*$"},
    {"type": "string", "pattern": r"^\S{2,9}$"},
    {"type": "string", "pattern": r"^[A-Za-z][a-z_ ]{0,7}$"},
    {"type": "string", "pattern": r"^[一-龥а-я ]{0,6}$"},
    {"type": "string", "pattern": r"\d+-[a-f]*-[a-f]{4}", "minLength": 9},
    {"type": "string", "pattern": r"[a-z]{3}$", "maxLength": 70},
    {"type": "string", "format": "email", "maxLength": 300},
    {"oneOf": [{"type": "string", "pattern": p} for p in ("NEW", "ON_", "er")]},
    {"type": "string", "not": {"pattern": "the|é"}},
    {"type": "string", "minLength": 3, "maxLength": 20},
    {"allOf": [{"type": "string", "pattern": p} for p in (r"\d", "[A-Z]", "^.{4,}$")]},
]
STARTS = [
    "",
    "a",
    "A b",
    "é",
    "один ",
    "\U0001f600",
    "中文",
    "NEW",
    "x\\n",
    "12-ab",
    "a word and another one with a lot of text ",
]


@pytest.mark.parametrize("schema", BORDERS, ids=str)
def test_masks_at_the_borders_of_slices_equal_brute_force(schema, vocabulary):
    """What is left out of a walk is what it would have found: spaces, characters beyond ASCII and parts of them, lengths."""
    rng = random.Random(11)
    grammar = schemagen.compile(schema, vocabulary, cache=None)
    beyond = [k for k, data in enumerate(vocabulary.tokens) if not data.isascii()]
    checked = 0
    for start in STARTS:
        matcher = grammar.matcher()
        if not matcher.accept_bytes(b'"' + start.encode()):
            continue
        mask = mask_of(matcher, vocabulary)
        for token in {*rng.sample(beyond, min(600, len(beyond))), *rng.sample(range(vocabulary.size), 1500)}:
            data = vocabulary.tokens[token]
            if not data or token in vocabulary.eos_token_ids:
                continue
            assert mask[token] == matcher.fork().accept_bytes(data), (start, token, data)
            checked += 1
    assert checked
