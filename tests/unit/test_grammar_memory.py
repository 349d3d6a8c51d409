"""The memory of `compile`: bounded by bytes that grow, least recently used first, safe between threads."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

import schemagen
from schemagen.grammar import compiler, memory_cache as grammar_memory
from schemagen.grammar.memory_cache import GrammarMemory


def sized(size):
    """A stand-in for a grammar that holds some bytes."""
    return SimpleNamespace(memory_bytes=size)


def keys(memory):
    """What is remembered, from the one that goes next to the one that goes last; asking changes nothing."""
    return list(memory._entries)


@pytest.fixture
def own_memory(monkeypatch):
    """A memory of its own for `compile`."""
    memory = GrammarMemory()
    monkeypatch.setattr(compiler, "_memory", memory)
    return memory


def test_the_least_recently_used_goes_first() -> None:
    """Where the count is exceeded, the grammar that was not asked for the longest time goes."""
    memory = GrammarMemory(max_grammars=2)
    for key in "ab":
        memory.put(key, sized(1))
    assert memory.get("a") is not None
    memory.put("c", sized(1))
    assert keys(memory) == ["a", "c"]
    assert memory.info()[:4] == (1, 0, 2, 2)


def test_bytes_are_bounded() -> None:
    """As many grammars go as have to, and their bytes are given back."""
    memory = GrammarMemory(max_bytes=100)
    for key in range(5):
        memory.put(key, sized(20))
    assert keys(memory) == [0, 1, 2, 3, 4]
    memory.put("large", sized(70))
    assert keys(memory) == [4, "large"]
    assert memory.info().bytes == 90


def test_the_last_grammar_stays_whatever_its_size() -> None:
    """A grammar above the bound is kept until the next one comes."""
    memory = GrammarMemory(max_bytes=100)
    memory.put("small", sized(1))
    memory.put("large", sized(1000))
    assert keys(memory) == ["large"]
    memory.put("small", sized(1))
    assert keys(memory) == ["small"]


def test_growth_counts_when_a_grammar_is_found() -> None:
    """A grammar that grew while it was used counts with what it holds now."""
    memory, grown = GrammarMemory(max_bytes=100), sized(10)
    memory.put("other", sized(10))
    memory.put("grown", grown)
    grown.memory_bytes = 95
    assert memory.get("grown") is grown
    memory.put("new", sized(2))
    assert keys(memory) == ["grown", "new"]


def test_growth_of_grammars_that_are_held_elsewhere_is_noticed() -> None:
    """A grammar that is compiled once and used for ever counts after some insertions, and at once in `info`."""
    memory, grown = GrammarMemory(max_bytes=1000), sized(10)
    memory.put("grown", grown)
    grown.memory_bytes = 2000
    assert memory.info().bytes == 2000
    memory = GrammarMemory(max_bytes=1000)
    memory.put("grown", grown)
    grown.memory_bytes = 10
    for key in range(grammar_memory.RECOUNT_EVERY):
        memory.put(key, sized(1))
    assert memory.info().bytes == grammar_memory.RECOUNT_EVERY


def test_a_second_grammar_of_a_key_is_the_first() -> None:
    """Threads that compile the same thing at once end up with one grammar."""
    memory, first = GrammarMemory(), sized(1)
    assert memory.put("key", first) is first
    assert memory.put("key", sized(1)) is first
    assert memory.info().grammars == 1


def test_compile_finds_what_it_compiled(own_memory, byte_vocabulary) -> None:
    """The same schema is the same grammar, until the cache is cleared."""
    schema = {"type": "integer", "minimum": 3}
    grammar = schemagen.compile(schema, byte_vocabulary)
    assert schemagen.compile(dict(schema), byte_vocabulary) is grammar
    info = schemagen.cache_info()
    assert (info.hits, info.misses, info.grammars) == (1, 1, 1)
    assert info.bytes == grammar.memory_bytes > 0
    schemagen.clear_cache()
    assert schemagen.cache_info()[:4] == (0, 0, own_memory.max_grammars, 0)
    assert schemagen.compile(schema, byte_vocabulary) is not grammar


def test_threads_share_one_memory() -> None:
    """The bytes add up after many threads used it, with evictions all the time."""
    memory = GrammarMemory(max_bytes=500, max_grammars=20)

    def use(seed):
        for step in range(500):
            key = (seed * 7 + step * 13) % 60
            memory.get(key) or memory.put(key, sized(key))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    info = memory.info()
    assert info.bytes == sum(keys(memory)) <= 500
    assert info.hits + info.misses == 8 * 500
    assert 0 < info.grammars <= 20


GIVES_BACK = """
import schemagen

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

vocabulary = schemagen.Vocabulary.byte_vocabulary()
for number in range(100):
    spec = schemagen.Lark(f'start: NAME "=" value\\nvalue: NUMBER | "[" value* "]"\\nNAME: /[a-z]{{1,9}}{number}/\\nNUMBER: /[0-9]+/')
    matcher = schemagen.compile(spec, vocabulary).matcher()
    for byte in f"ab{number}=[1[2]]".encode():
        matcher.allowed_tokens()
        assert matcher.accept_token(byte)
counted, before = schemagen.cache_info().bytes, resident()
del matcher
schemagen.clear_cache()
print(counted, before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and other C libraries decide by themselves")
def test_cleared_memory_is_given_back() -> None:
    """At least half of the bytes that the grammars counted go back to the system at once, though others are used beside them."""
    run = subprocess.run([sys.executable, "-c", GIVES_BACK], capture_output=True, text=True, check=True)
    counted, given_back = map(int, run.stdout.split())
    assert given_back > counted / 2 > 500_000


MANY = """
import gc, random, sys
import schemagen
from schemagen.grammar import compiler

count, most_rules, max_grammars = map(int, sys.argv[1:])

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def grammar(number):
    draw = random.Random(number)
    rules = draw.randint(5, most_rules)
    lines = ['start: (rule0 ";")+', "NAME: /[a-z_][a-z0-9_]*/", "NUMBER: /-?[0-9]+/", "%ignore / +/"]
    for rule in range(rules):
        one, other = (f"rule{draw.randint(rule + 1, rules - 1)}" if rule + 1 < rules else "NUMBER" for _ in "ab")
        body = draw.choice(['"{w}" {a} | {b}', '{a} ("," {b})*', '"(" {a} ")" | NAME', '"{w}" "=" {a} | NUMBER', '["{w}"] {a}'])
        word = "".join(draw.choices("abcdefgh", k=draw.randint(3, 9)))
        lines.append(f"rule{rule}: " + body.format(w=word, a=one, b=other))
    return schemagen.Lark("\\n".join(lines))

vocabulary = schemagen.Vocabulary.byte_vocabulary()
compiler._memory.max_grammars = max_grammars

def use(numbers):
    for number in numbers:
        draw = random.Random(number)
        matcher = schemagen.compile(grammar(number), vocabulary).matcher()
        for _ in range(6):
            allowed = [token for token in matcher.allowed_tokens() if token < 256]
            if not allowed:
                break
            matcher.accept_token(draw.choice(allowed))
    gc.collect()

def now():
    info = schemagen.cache_info()
    return resident(), info.bytes + info.shared_bytes

use(range(50))
print(*now())
use(range(50, 50 + count // 2))
print(*now())
use(range(50 + count // 2, 50 + count))
print(*now())
schemagen.clear_cache()
print(*now())
"""


def memory_of_many(count, most_rules, max_grammars=10_000):
    """Resident and counted bytes after 50 Lark grammars, half of so many more, all of them, and `clear_cache`."""
    arguments = [sys.executable, "-c", MANY, str(count), str(most_rules), str(max_grammars)]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_is_counted_is_what_the_process_grows_by() -> None:
    """Of Lark grammars that are all different, and of masks of each; nearly all of it comes back."""
    warm, _, full, cleared = memory_of_many(100, 20)
    grown, counted = full[0] - warm[0], full[1] - warm[1]
    assert grown > 2_000_000
    assert 0.7 < counted / grown < 1.3
    assert full[0] - cleared[0] > 0.7 * grown


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_cache_of_bounded_size_is_a_process_of_bounded_size() -> None:
    """Two thousand grammars take no more than one thousand if the cache keeps 250, and most of it comes back."""
    warm, half, full, cleared = memory_of_many(2000, 40, max_grammars=250)
    assert full[0] - half[0] < 0.25 * (half[0] - warm[0])
    assert full[0] - cleared[0] > 0.5 * (full[0] - warm[0])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_counting_is_right_of_larger_grammars() -> None:
    """Within a fifth, for grammars of up to 40 rules."""
    warm, _, full, _ = memory_of_many(300, 40)
    assert 0.8 < (full[1] - warm[1]) / (full[0] - warm[0]) < 1.2
