"""Grammars whose terminals take what has to follow them: whatever a mask allows can be gone on from."""

import random

import pytest

import schemagen
from schemagen import Vocabulary
from schemagen.errors import LimitError, UnsatisfiableSchemaError

WORDS = (b"ab", b"a#", b"n ", b"bc#")
VOCABULARY = Vocabulary.from_tokens([b"", *(bytes([byte]) for byte in b"abcn# "), *WORDS], eos_token_ids=[0])
TERMINALS = (
    *('"a"', '"ab"', '"abc"', '"b"', '"c"', '"n"', '"#"'),
    *("/a+/", "/[ab]+/", "/a[^b]*b/", "/[bc]+n/", "/c(a|b)*c/", "/b|bca/", "/ab|c|abcb/"),
)
IGNORED = ("/#[^n]*/", "/ +/", "/[ n]+/", '" "', "/#[^#n]*#/", "/a/")
STEPS = 12


def random_grammar(choose: random.Random) -> str:
    """Rules over terminals that begin alike, with comments and blanks ignored."""
    names = ["start", "x", "y"][: choose.randint(1, 3)]

    def alternatives(depth: int) -> str:
        return " | ".join(sequence(depth) for _ in range(choose.randint(1, 3)))

    def sequence(depth: int) -> str:
        return " ".join(part(depth) + choose.choice(["", "", "", "?", "*", "+"]) for _ in range(choose.randint(1, 3)))

    def part(depth: int) -> str:
        kind = choose.random()
        if kind < 0.3:
            return choose.choice(names)
        return f"({alternatives(depth - 1)})" if kind < 0.45 and depth else choose.choice(TERMINALS)

    rules = [f"{name}: {alternatives(1)}" for name in names]
    return "\n".join([*rules, *(f"%ignore {each}" for each in choose.sample(IGNORED, choose.choice([0, 1, 1, 2])))])


def check(seed: int, **options: str) -> bool:
    """Walk a random grammar; whether it has texts that are read within the limits."""
    choose = random.Random(seed)
    text = random_grammar(choose)
    try:
        grammar = schemagen.compile(schemagen.Lark(text, **options), VOCABULARY, cache=None)
        for _ in range(3):
            matcher = grammar.matcher()
            for _ in range(STEPS):
                allowed = matcher.allowed_tokens()
                for token in set(allowed) - {0}:
                    fork = matcher.fork()
                    assert fork.accept_token(token), (text, token)
                    assert fork.allowed_tokens(), (text, fork.text, token)
                if not (token := choose.choice(allowed)):
                    break
                assert matcher.accept_token(token)
    except (LimitError, UnsatisfiableSchemaError):
        return False
    return True


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 1500), marks=pytest.mark.slow)])
def test_the_dialect_has_no_dead_ends(seeds: range) -> None:
    """The longest match of terminals that are expected together, ignored ones between them."""
    assert sum(check(seed, dialect="llguidance") for seed in seeds) > len(seeds) / 2


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 1500), marks=pytest.mark.slow)])
def test_longest_matches_have_no_dead_ends(seeds: range) -> None:
    """The longest match of all terminals, as lark's basic lexer takes it."""
    assert sum(check(seed, parser="earley", lexer="basic") for seed in seeds) > len(seeds) / 2
