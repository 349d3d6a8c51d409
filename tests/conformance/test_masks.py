"""Mask = brute force on states of MaskBench schemas, over the vocabulary of GPT-2."""

import gzip
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

import schemagen

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("SCHEMAGEN_SHARED", ROOT.parent / "shared"))
MASKBENCH = SHARED / "maskbench" / "dev.jsonl.gz"
SCHEMAS, STATES, DRAWN, INSIDE = 20, 10, 400, 400


def sampled(count, seed):
    """A seeded sample of schemas with a valid instance."""
    if not MASKBENCH.is_file():
        pytest.skip("no maskbench/dev.jsonl.gz: set SCHEMAGEN_SHARED to a folder with it")
    with gzip.open(MASKBENCH, "rt", encoding="utf-8") as file:
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
def test_masks_of_maskbench_states_equal_brute_force(seed, count, gpt2_vocabulary, gpt2_tokenizer):
    """A token is in the mask exactly if its bytes can follow, in states along and beside valid instances."""
    checked = 0
    for case, schema, valid in sampled(count, seed):
        try:
            grammar = schemagen.compile(schema, gpt2_vocabulary, property_order="any", cache=None)
        except schemagen.SchemagenError:
            continue  # its verdict is the ratchet's business
        for state in range(STATES):
            rng = random.Random(f"{seed} {case} {state}")
            text = json.dumps(rng.choice(valid), ensure_ascii=False)
            matcher = grammar.matcher()
            walk_beside(matcher, gpt2_tokenizer.encode(text, add_special_tokens=False), rng)
            check_state(matcher, gpt2_vocabulary, rng, f"{case} state {state}")
        checked += 1
    assert checked >= 0.9 * count
