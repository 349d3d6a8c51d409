"""Many threads over the same grammars write the masks that one thread writes alone.

`make core-tsan` runs this file under ThreadSanitizer. Where Python has no lock (PYTHON_GIL=0, 3.13t and later) the threads
do run at once; elsewhere they take turns of some milliseconds, or of some microseconds where a test asks for that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import random
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pydantic
import pytest

import schemagen
from schemagen.grammar import compiler

_core = pytest.importorskip("schemagen._core", reason="threads matter to the compiled core")

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


class Person(pydantic.BaseModel):
    """A type that pydantic knows."""

    name: str = pydantic.Field(max_length=12)
    age: int = pydantic.Field(ge=0, lt=150)


@dataclasses.dataclass
class Pair:
    """A type of the standard library."""

    left: list[int]
    right: Person | None = None


#: One of each: read by the core, by Python, from types, patterns and choices; a few languages in common.
SPECS = [
    *SCHEMAS,
    {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "propertyNames": {"maxLength": 9}},
    {"allOf": [{"type": "integer", "minimum": -7}, {"not": {"multipleOf": 3}}]},
    {"type": "array", "contains": {"const": 1}, "maxContains": 2, "items": {"enum": [0, 1, 2]}},
    {"anyOf": [{"type": "string", "format": "email"}, {"type": "string", "format": "date-time"}]},
    Person,
    Pair,
    schemagen.Regex("(ab|a.c)+[0-9]{2,5}"),
    schemagen.Choice(["red", "reddish", "blue"]),
]
THREADS = 8


@pytest.fixture
def quick_turns():
    """Let threads of ordinary Pythons take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(task, count=THREADS):
    """Return ``task(k)`` of each number below `count`, called in threads that begin together."""
    start = threading.Barrier(count)

    def begin(k):
        start.wait()
        return task(k)

    with ThreadPoolExecutor(count) as pool:
        return [job.result() for job in [pool.submit(begin, k) for k in range(count)]]


def first_masks(grammar, steps=12):
    """Return the masks of one walk, all steps of which are the first token that is allowed."""
    matcher = grammar.matcher()
    bitmask = np.zeros((1, -(-grammar.vocabulary.size // 32)), dtype=np.int32)
    masks = []
    for _ in range(steps):
        matcher.fill_next_token_bitmask(bitmask)
        masks.append(bitmask.tobytes())
        bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")
        if not matcher.accept_token(int(bits.argmax())) or matcher.is_terminated():
            break
    return masks


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


@pytest.fixture(params=[False, True], ids=["as it comes", "rival"])
def rival(request):
    """As if another thread were always making something new, so that whoever has to make something starts over."""
    _core.force_lock_contention(request.param)
    yield
    _core.force_lock_contention(False)


@pytest.mark.usefixtures("rival")
@pytest.mark.parametrize("schema", SCHEMAS, ids=["object", "array", "recursive"])
def test_threads_write_what_one_thread_writes(schema):
    """Batches of several Python threads, each filled by several native threads, equal those of one thread."""
    alone = [walk(schemagen.compile(schema, vocabulary(), cache=None), seed) for seed in range(4)]
    shared = schemagen.compile(schema, vocabulary(), cache=None)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: walk(shared, seed, threads=3), range(4)))
    assert together == alone


@pytest.mark.parametrize("number", range(len(SPECS)))
def test_work_that_starts_over_leaves_no_trace(number):
    """A thread that starts over at everything that is new writes the masks of one that goes on."""
    new = {"type": "object", "properties": {f"new{number}": {"type": "string", "pattern": f"^[p-t{number}]{{2,9}}$"}}}

    def masks(*, rival: bool) -> list[list[bytes]]:
        _core.force_lock_contention(rival)
        return [walk(schemagen.compile(spec, vocabulary(), cache=None), 3) for spec in (SPECS[number], new)]

    try:
        first = masks(rival=True)
        assert masks(rival=False) == first == masks(rival=True)
    finally:
        _core.force_lock_contention(False)


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


@pytest.mark.usefixtures("quick_turns")
@pytest.mark.parametrize("cache", [None, "memory"])
def test_everything_is_compiled_by_every_thread(cache):
    """Whatever threads compile at once, in an order of their own, allows what it allows when one thread compiles it."""
    vocab = vocabulary()
    alone = [first_masks(schemagen.compile(spec, vocab, cache=None)) for spec in SPECS]
    schemagen.clear_cache()

    def task(k):
        order = random.Random(k).sample(range(len(SPECS)), len(SPECS))
        found = {at: schemagen.compile(SPECS[at], vocab, cache=cache) for at in order}
        return [found[at] for at in range(len(SPECS))]

    grammars = at_once(task)
    assert [[first_masks(grammar) for grammar in each] for each in grammars] == [alone] * THREADS
    if cache is not None:  # a thread that comes second takes the grammar of the first
        assert all(grammar is first for each in grammars for grammar, first in zip(each, grammars[0], strict=True))


@pytest.mark.usefixtures("quick_turns")
def test_a_grammar_is_asked_everything_by_every_thread():
    """What a grammar works out when it is first asked is the same for all threads that ask first."""
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "yy"]}},
        "required": ["a"],
        "additionalProperties": False,
    }

    def answers(grammar):
        matcher = grammar.matcher()
        matcher.accept_bytes(b'{"a"')
        return (
            first_masks(grammar),
            matcher.tokens_to_finish(),
            matcher.shortest_completion(),
            matcher.explain(256),
            grammar.min_new_tokens,
            grammar.spec,
            str(grammar.report),
            grammar.draw("automaton", max_states=5).mermaid(),
            grammar.memory_bytes > 0,
        )

    def fresh():
        return schemagen.compile(schema, vocabulary(), cache=None)

    alone, shared = answers(fresh()), fresh()
    assert at_once(lambda _: answers(shared)) == [alone] * THREADS


@pytest.mark.usefixtures("quick_turns")
def test_a_vocabulary_is_built_once():
    """Threads that first need the tables of a vocabulary get one and the same."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"%d" % number for number in range(100, 5000)]
    for _ in range(5):
        vocab = schemagen.Vocabulary.from_tokens(tokens, eos_token_ids=())
        assert len(set(at_once(lambda _, v=vocab: (id(v.tables), v.fingerprint)))) == 1


@pytest.mark.usefixtures("quick_turns")
def test_the_memory_is_cleared_while_threads_compile():
    """Neither forgetting nor counting disturbs those who compile."""
    vocab = vocabulary()
    alone = [first_masks(schemagen.compile(spec, vocab, cache=None)) for spec in SPECS]

    def task(k):
        if k == 0:
            for _ in range(40):
                schemagen.clear_cache()
                assert schemagen.cache_info().grammars <= len(SPECS)
            return alone
        return [first_masks(schemagen.compile(spec, vocab)) for spec in SPECS]

    assert at_once(task) == [alone] * THREADS


@pytest.mark.usefixtures("quick_turns")
def test_a_schema_that_changes_meanwhile_is_read_as_it_was_once(monkeypatch):
    """Without the lock a compilation takes a copy first; it has one version, and so does the grammar that is kept."""
    monkeypatch.setattr(compiler, "HAS_LOCK", False)
    vocab, over = schemagen.Vocabulary.byte_vocabulary(), threading.Event()
    texts = {"integer": b'{"a0":1}', "string": b'{"a0":"x"}', "boolean": b'{"a0":true}'}
    versions = [{f"a{k}": {"type": kind} for k in range(60)} for kind in texts]
    schema = {"type": "object", "properties": versions[0]}

    def change():
        while not over.wait(1e-5):
            for version in versions:
                schema["properties"] = version
                schema["title"] = "t"
                schema["$defs"] = {str(k): {"type": "null"} for k in range(5)}
                del schema["title"]

    def read(k):
        for _ in range(40):
            grammar = schemagen.compile(schema, vocab, cache="memory" if k % 2 else None)
            kind = grammar.spec["properties"]["a59"]["type"]
            taken = [name for name, text in texts.items() if grammar.matcher().accept_bytes(text)]
            assert taken == [kind]

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        try:
            at_once(read, 4)
        finally:
            over.set()
        changing.result()


@pytest.mark.usefixtures("quick_turns")
def test_a_matcher_of_two_threads_stays_whole():
    """A matcher is for one thread at a time. Two that forget it get answers of no use, and a matcher that works."""
    grammar = schemagen.compile(SCHEMAS[0], vocabulary(), cache=None)
    matcher, width = grammar.matcher(), -(-grammar.vocabulary.size // 32)
    alone = first_masks(grammar, 1)

    def task(k):
        rng, bitmask = random.Random(k), np.zeros((16, width), dtype=np.int32)
        acts = [
            lambda: matcher.fill_next_token_bitmask(bitmask),
            lambda: matcher.fill_next_token_bitmask(bitmask, budget=30),
            lambda: schemagen.fill_next_token_bitmasks([matcher] * 16, bitmask, threads=2),
            lambda: matcher.accept_bytes(rng.choice([b'{"', b"name", b'":"', b"abc", b'"}'])),
            lambda: matcher.accept_token(rng.randrange(256)),
            lambda: matcher.rollback(rng.randrange(3)),
            lambda: matcher.fork().accept_bytes(b"x"),
            matcher.tokens_to_finish,
            matcher.shortest_completion,
            matcher.forced_tokens,
            matcher.is_accepting,
            lambda: matcher.explain(34),
            matcher.reset,
        ]
        for _ in range(150):
            with contextlib.suppress(schemagen.SchemagenError, IndexError):
                rng.choice(acts)()

    at_once(task, 4)
    matcher.reset()
    bitmask = np.zeros((1, width), dtype=np.int32)
    matcher.fill_next_token_bitmask(bitmask)
    assert [bitmask.tobytes()] == alone


def test_the_garbage_collector_is_left_as_it_was():
    """Compiling turns it off for a moment; whatever threads do, and whatever fails, it is on again in the end."""
    vocab = vocabulary()

    def task(k):
        for at in range(20):
            with contextlib.suppress(schemagen.SchemaError):
                schemagen.compile(
                    {"type": "string", "maxLength": at} if (at + k) % 3 else {"type": 7}, vocab, cache=None
                )

    assert gc.isenabled()
    at_once(task)
    assert gc.isenabled()


def test_the_first_compilation_may_be_that_of_many_threads():
    """Modules are imported when they are first needed, by several threads at once."""
    program = """
import threading
import schemagen
vocabulary, start, done = schemagen.Vocabulary.byte_vocabulary(), threading.Barrier(8), []
def task(k):
    start.wait()
    schema = {"type": "array", "items": {"type": "string", "pattern": "^a+$"}, "minItems": k}
    grammar = schemagen.compile(schema, vocabulary)
    done.append(grammar.matcher().accept_bytes(b"["))
threads = [threading.Thread(target=task, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert done == [True] * 8, done
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has its lock")
def test_the_lock_stays_off():
    """Neither the core nor what schemagen needs to compile turns the lock of a free-threaded Python on."""
    program = """
import sys, pydantic, schemagen
schemagen.compile(list[int], schemagen.Vocabulary.byte_vocabulary()).report
assert "schemagen._core" in sys.modules and not sys._is_gil_enabled()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
