"""A pattern beside a maxLength that is counted: near the limit the mask lets through what can still be finished, and nothing else."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import numpy as np
import pytest

import schemagen
from schemagen.context_free.lark.python_re import codes, parser

pytest.importorskip("schemagen._core", reason="the compiled core counts beside the pattern")

ALPHABET = "ab c"
TOKENS = ["a", "b", " ", "c", "ab", "a ", " b", "ca", "bc ", "aab", '"', 'a"', 'b"', ' "', "\\u0061", "\\u0063a"]
PATTERNS = [
    r"(?:\S+\s+){0,9}\S+",
    r"(ab|c)*a?",
    r"a*b(ca)*",
    r"([abc]{2} )*abc",
    r"(a|b|c| )*",
    r"(abc|a b)*",
]


def finishable(pattern: str, text: str, room: int) -> bool:
    """Whether some continuation of at most `room` characters matches."""
    if room < 0:
        return False
    return any(
        re.fullmatch(pattern, text + "".join(rest))
        for length in range(room + 1)
        for rest in itertools.product(ALPHABET, repeat=length)
    )


@pytest.mark.parametrize("limit", [12, 13, 50, 51])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_near_the_limit(pattern, limit):
    """For prefixes that leave up to four characters, tokens are allowed exactly if a short enough continuation matches."""
    tokens = [token.encode() for token in TOKENS] + [b""]
    vocabulary = schemagen.Vocabulary.from_tokens(
        [bytes([byte]) for byte in range(256)] + tokens, eos_token_ids=[256 + len(tokens) - 1]
    )
    schema = {"type": "string", "pattern": f"^(?:{pattern})$", "maxLength": limit}
    grammar = schemagen.compile(schema, vocabulary, cache=None)
    bitmask = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    seeds = ["ab", "c", "a", "ab ", "abc", "a b", "ca", " ", "aab ", "b"]
    checked = 0
    for unit, left in itertools.product(seeds, range(5)):
        for start in ("", "a", "ab "):
            text = (start + unit * limit)[: limit - left]
            matcher = grammar.matcher()
            if not matcher.accept_bytes(b'"' + text.encode()):
                assert not finishable(pattern, text, left), text
                continue
            assert finishable(pattern, text, left), text
            matcher.fill_next_token_bitmask(bitmask, 0)
            for k, token in enumerate(TOKENS):
                allowed = bool(bitmask[0, (256 + k) // 32] >> ((256 + k) % 32) & 1)
                read = token.encode().decode("unicode_escape").rstrip('"')
                if token.endswith('"'):
                    expected = len(text + read) <= limit and bool(re.fullmatch(pattern, text + read))
                else:
                    expected = finishable(pattern, text + read, left - len(read))
                assert allowed == expected, (text, token)
                checked += 1
    assert checked


def _counted(rng: random.Random, depth: int = 0) -> str:
    """Return a pattern of nested repetitions with counts, of which texts leave some at several counts."""
    if depth == 3 or rng.random() < 0.25:
        return rng.choice(["a", "b", "ab", "[ab]", "aa", "b?"])
    inner = _counted(rng, depth + 1)
    low = rng.randrange(3)
    count = rng.choice([f"{{{low},{low + rng.randrange(3)}}}", f"{{{low + 1}}}", f"{{{low},}}", "?", "*"])
    parts = [f"(?:{inner}){count}"] * rng.randint(1, 3)
    parts.insert(rng.randrange(len(parts) + 1), _counted(rng, depth + 1))
    return "(?:" + rng.choice(["|", ""]).join(parts) + ")"


def _ends(tree: Any, text: str, begins: set[int]) -> set[int]:
    """Return where a pattern may end that begins at one of some places; `re` takes exponential time for such patterns."""
    for kind, value in tree:
        if kind is codes.LITERAL:
            begins = {at + 1 for at in begins if text[at : at + 1] == chr(value)}
        elif kind is codes.IN:
            begins = {at + 1 for at in begins if any(text[at : at + 1] == chr(each) for _, each in value)}
        elif kind is codes.BRANCH:
            begins = set().union(*(_ends(branch, text, begins) for branch in value[1]))
        elif kind is codes.SUBPATTERN:
            begins = _ends(value[3], text, begins)
        else:
            assert kind is codes.MAX_REPEAT
            low, high, inner = value
            found = [begins]
            while len(found) <= min(high, low + len(text)):
                found.append(_ends(inner, text, found[-1]))
            begins = set().union(*found[low:])
    return begins


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 3000), marks=pytest.mark.slow)], ids=str)
def test_repetitions_that_are_left_at_several_counts(seeds: range) -> None:
    """Texts of up to eight characters, against the sets of places where the pattern may end."""
    texts = ["".join(text) for length in range(9) for text in itertools.product("ab", repeat=length)]
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    for seed in seeds:
        pattern = _counted(random.Random(seed))
        tree = parser.parse(pattern)
        grammar = schemagen.compile(schemagen.Regex(pattern), vocabulary, cache=None)
        for text in texts[seed % 11 :: 11]:
            matcher = grammar.matcher()
            accepted = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
            assert accepted == (len(text) in _ends(tree, text, {0})), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "unit", "most"),
    [
        ("(a|aa){1000}", "a", 2000),
        ("(?:a|bb)?" * 300, "abb", 450),
        ("(ab?){1000}", "ab", 2000),
        ("(a{1,9}b{1,9}){99}", "ab", 198),
    ],
)
def test_long_counts_are_one_interval(pattern: str, unit: str, most: int) -> None:
    """Each state is small, so that the whole takes little memory; an alternative for each count would take a hundred times more."""
    grammar = schemagen.compile(schemagen.Regex(f"(?:{pattern})"), schemagen.Vocabulary.byte_vocabulary(), cache=None)
    matcher = grammar.matcher()
    read = 0
    while matcher.accept_bytes(unit[read % len(unit)].encode()):
        read += 1
    assert read == most
    assert grammar.memory_bytes < 3_000_000
