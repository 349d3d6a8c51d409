"""Budgets of context-free grammars: completions are found where readings are many, are the shortest, and masks keep to them."""

import random

import pytest

import schemagen
from schemagen.engine.protocol import Matcher
from schemagen.errors import LimitError
from schemagen.testing import mask_of
from schemagen.vocabulary import Vocabulary
from tests.property.test_budget import compare_shortest

_PIECES = [*(bytes([byte]) for byte in b"abcn# "), b"ab", b"a#", b"n ", b"bc#"]
TOY = Vocabulary.from_tokens([b"", *_PIECES], eos_token_ids=[0])
#: With every byte, so that bounds in bytes are bounds in tokens.
FULL = Vocabulary.from_tokens(
    [b"", *_PIECES, *({bytes([byte]) for byte in range(256)} - {*_PIECES})], eos_token_ids=[0]
)
#: Each of its rules is many others, and may be itself.
_AMBIGUOUS = r"""
start: /a+/ | /a+/ "ab"? | "n" x x
x: start (y+ /[bc]+n/ | x | y y+)? | "ab"
y: x | y | /c(a|b)*c/*
%ignore " "
%ignore / +/
"""
#: Names need blanks around them, and a comment the end of its line. One kind of statement opens others, which need much.
_STATEMENTS = r"""
start: s+
s: "ba" s s "ab" | "n" NAME "#" | "aa" s ["c" s] | "#"
NAME: /[abc]+/
%ignore " "
%ignore /nn[ab]*n/
"""
#: Name -> text of the grammar, and options. In the second and third words need a blank between them.
_GRAMMARS = {
    "ambiguous": (_AMBIGUOUS, {"parser": "earley"}),
    "words": ('start: (word "#")+\nword: "an" NAME | NAME "b" NAME?\nNAME: /[abcn]+/\n%ignore " "', {"parser": "lalr"}),
    "words, earley": ('start: (NAME "b")* NAME "#"\nNAME: /[abcn]+/\n%ignore " "', {"parser": "earley"}),
    "brackets": ('start: "a" start? "b" | "c" start "n"', {"parser": "lalr"}),
    "sums": ('start: start "#" start | "n" | "a" start "b"', {"parser": "earley"}),
    "statements": (_STATEMENTS, {"parser": "earley"}),
    "statements, reserved": (_STATEMENTS, {"parser": "earley", "keywords": "reserved"}),
    "statements, basic": (_STATEMENTS, {"parser": "earley", "lexer": "basic"}),
    "statements, dialect": (_STATEMENTS, {"dialect": "llguidance"}),
    "ordered words": ('start: "c"* K "b"\nK: "an"|"bn"\n%ignore " "', {"parser": "earley"}),
    "ordered words, basic": ('start: K "a" "b"\nK: "an"|"bn"\n%ignore " "', {"parser": "earley", "lexer": "basic"}),
    "longest": ("start: A B\nA: /a+b?/\nB: /b+c/", {"parser": "lalr", "lexer": "basic"}),
}
GRAMMARS = {
    name: schemagen.compile(schemagen.Lark(text, **options), TOY, cache=None)
    for name, (text, options) in _GRAMMARS.items()
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_the_completion_is_the_first_of_the_shortest(name: str) -> None:
    """Every text of that many bytes was tried."""
    assert compare_shortest(GRAMMARS[name], _PIECES, random.Random(name), walks=12, steps=4, limit=5) >= 12


@pytest.mark.parametrize("vocabulary", [TOY, FULL], ids=["toy", "bytes"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_a_mask_has_the_tokens_after_which_the_rest_fits(name: str, vocabulary: Vocabulary) -> None:
    """Asked of another compilation of the same grammar, so that neither knows what the other has found."""
    text, options = _GRAMMARS[name]
    one, other = (schemagen.compile(schemagen.Lark(text, **options), vocabulary, cache=None) for _ in range(2))
    rng, compared = random.Random(name), 0
    for _ in range(5):
        matcher, asked = one.matcher(), other.matcher()
        for _ in range(6):
            needed = asked.tokens_to_finish()
            assert needed is not None
            for budget in range(max(needed, 1), needed + 8):
                expected = {token for token in mask_of(asked, vocabulary) if fits(asked, token, budget - 1)}
                if expected:
                    assert mask_of(matcher, vocabulary, budget=budget) == expected
                    compared += 1
            going_on = [token for token in asked.allowed_tokens() if token not in TOY.eos_token_ids]
            if not going_on:
                break
            token = rng.choice(going_on)
            assert matcher.accept_token(token)
            assert asked.accept_token(token)
    assert compared >= 12


def fits(matcher: Matcher, token: int, left: int) -> bool:
    """Whether a text that goes on with a token can be finished in so many."""
    behind = matcher.fork()
    assert behind.accept_token(token)
    needed = 0 if token in TOY.eos_token_ids else behind.tokens_to_finish()
    return needed is not None and needed <= left + (token in TOY.eos_token_ids)


@pytest.mark.parametrize("text", [b"nnnann n", b"nnnann n n", b"n" * 10, b"n" * 12 + b"a n n n"])
def test_however_many_readings_there_are_an_end_is_found(text: bytes) -> None:
    """That calls return to the same places by many ways counts once."""
    matcher = GRAMMARS["ambiguous"].matcher()
    assert matcher.accept_bytes(text)
    end = matcher.shortest_completion()
    assert end
    assert matcher.accept_bytes(end)
    assert matcher.is_accepting()


@pytest.mark.parametrize("vocabulary", [TOY, FULL], ids=["toy", "bytes"])
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("seed", range(6))
def test_a_budget_is_kept(name: str, seed: int, vocabulary: Vocabulary) -> None:
    """What the masks allow is complete in time, at whatever pace the budget shrinks."""
    text, options = _GRAMMARS[name]
    matcher = schemagen.compile(schemagen.Lark(text, **options), vocabulary).matcher()
    rng, needed = random.Random(seed), matcher.tokens_to_finish()
    assert needed is not None
    for left in range(needed + rng.randrange(12), 0, -1):
        needed = matcher.tokens_to_finish()
        assert needed is not None
        assert needed <= left
        going_on = sorted(mask_of(matcher, vocabulary, budget=left) - {0})
        if not going_on:
            break
        assert matcher.accept_token(rng.choice(going_on))
    assert matcher.is_accepting()


def test_a_token_that_ends_within_a_character_is_read() -> None:
    """In free text it leads to another place than the whole characters around it."""
    pieces = [b"<<x\xe2\x86", *(bytes([byte]) for byte in range(256))]
    vocabulary = Vocabulary.from_tokens([b"", *pieces], eos_token_ids=[0])
    spec = schemagen.Lark("start: S | A B \"z\"\nS: /'''[^']*'''/\nA: /a/\nB: /[^;]+/")
    matcher = schemagen.compile(spec, vocabulary, cache=None).matcher()
    assert matcher.accept_bytes(b"'''#")
    assert 1 in mask_of(matcher, vocabulary, budget=6)
    assert 1 not in mask_of(matcher, vocabulary, budget=4)


def test_where_no_end_is_found_that_is_said() -> None:
    """The shortest text of this grammar has 262,144 bytes: no text is no answer, and the mask is that without a budget."""
    rules = "\n".join(f"r{k}: r{k + 1} r{k + 1}" for k in range(18))
    grammar = schemagen.compile(schemagen.Lark(f'start: r0\n{rules}\nr18: "a"', parser="earley"), TOY, cache=None)
    matcher = grammar.matcher()
    assert matcher.tokens_to_finish() is None
    assert mask_of(matcher, TOY, budget=5) == mask_of(matcher, TOY)
    with pytest.raises(LimitError, match="no end of the text was found"):
        matcher.shortest_completion()
