"""Many threads over the same grammars write the masks that one thread writes alone.

`make core-tsan` runs this file under ThreadSanitizer.
"""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import schemagen

pytest.importorskip("schemagen._core", reason="threads matter to the compiled core")

SCHEMAS = [
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 9},
            "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "uniqueItems": True},
            "size": {"type": "number", "minimum": 0},
            "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"},
        },
        "required": ["name"],
    },
    {"type": "array", "items": {"anyOf": [{"type": "string", "format": "date"}, {"type": "object"}]}},
    {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}}},
]
STEPS = 25
WALKERS = 8


def vocabulary() -> schemagen.Vocabulary:
    """Return all bytes and some longer tokens."""
    longer = [b'":', b'", "', b'{"', b'"}', b"}]", b"name", b"red", b"20", b"-0", b"ab", b'": "', b"true", b"  "]
    tokens = [bytes([byte]) for byte in range(256)] + longer + [b""]
    return schemagen.Vocabulary.from_tokens(tokens, eos_token_ids=[len(tokens) - 1])


def walk(grammar: schemagen.Grammar, seed: int, *, threads: int = 1) -> list[bytes]:
    """Return the masks of `WALKERS` random walks, filled as a batch at every step."""
    size = grammar.vocabulary.size
    matchers = [grammar.matcher() for _ in range(WALKERS)]
    drawn = [random.Random(f"{seed}-{k}") for k in range(WALKERS)]
    bitmask = np.zeros((WALKERS, -(-size // 32)), dtype=np.int32)
    masks = []
    for _ in range(STEPS):
        schemagen.fill_next_token_bitmasks(matchers, bitmask, threads=threads)
        masks.append(bitmask.tobytes())
        for row, (matcher, rng) in enumerate(zip(matchers, drawn, strict=True)):
            allowed = np.flatnonzero(np.unpackbits(bitmask[row].view(np.uint8), bitorder="little")[: size - 1])
            if len(allowed):
                assert matcher.accept_token(int(rng.choice(list(allowed))))
            else:
                matcher.reset()
    return masks


@pytest.mark.parametrize("schema", SCHEMAS, ids=["object", "array", "recursive"])
def test_threads_write_what_one_thread_writes(schema):
    """Batches of several Python threads, each filled by several native threads, equal those of one thread."""
    alone = [walk(schemagen.compile(schema, vocabulary(), cache=None), seed) for seed in range(4)]
    shared = schemagen.compile(schema, vocabulary(), cache=None)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: walk(shared, seed, threads=3), range(4)))
    assert together == alone


def test_grammars_of_many_threads_are_compiled_at_once():
    """Compiling from several threads gives grammars with the same masks as compiling from one."""
    alone = [walk(schemagen.compile(schema, vocabulary(), cache=None), 7) for schema in SCHEMAS]
    with ThreadPoolExecutor(4) as pool:
        jobs = [(schema, vocabulary()) for schema in SCHEMAS] * 2
        together = list(pool.map(lambda job: walk(schemagen.compile(*job, cache=None), 7, threads=2), jobs))
    assert together == alone * 2


def test_a_failing_row_does_not_spoil_the_others():
    """A row that is not there is an error that names it, before anything is written."""
    grammar = schemagen.compile({"const": 1}, vocabulary(), cache=None)
    bitmask = np.zeros((2, -(-grammar.vocabulary.size // 32)), dtype=np.int32)
    with pytest.raises(schemagen.errors.BitmaskShapeError, match="row 2"):
        schemagen.fill_next_token_bitmasks([grammar.matcher(), grammar.matcher()], bitmask, rows=[0, 2], threads=2)
    assert not bitmask.any()


def test_a_table_is_read_while_it_grows():
    """It grows without the interpreter's lock, and what is read meanwhile is whole."""
    node = {
        "type": "object",
        "properties": {
            "leaf": {"type": "boolean"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 3},
        },
        "required": ["leaf"],
        "additionalProperties": False,
    }
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    grammar = schemagen.compile({"$ref": "#/$defs/t", "$defs": {"t": node}}, vocabulary, cache=None)
    table, grown = grammar.token_table, threading.Event()

    def grow():
        for _ in range(30):
            table.expand(40)
        grown.set()

    def read():
        while not grown.is_set():
            rows = table.transitions(range(len(table)))
            assert rows.max(initial=0) < len(table.needed())
            assert table.state_of(grammar.matcher()) == table.start

    with ThreadPoolExecutor(3) as pool:
        for task in [pool.submit(grow), pool.submit(read), pool.submit(read)]:
            task.result()
    assert len(table) > 1000
