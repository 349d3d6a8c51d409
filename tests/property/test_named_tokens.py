"""Random grammars that name tokens: what they derive, and every mask, is what their words say, written out in full.

A word is a sequence of characters and of tokens. The oracle knows no automaton and no mark: a token is allowed behind a sequence of
tokens if some word begins with what these stand for, and goes on with the token itself, or with the characters of its text.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from schemagen import EBNF, Lark, Vocabulary
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.testing import mask_of
from tests.grammars import compiled_by

#: A character as its byte, or a token as its id in a tuple.
Word = tuple[Any, ...]

TEXTS = [*(bytes([byte]) for byte in b"abcd"), b"ab", b"bc", b"abc", b"dd", b"\xff", b"\xf5", b"\xc0", b"<t>", b"a\xff"]
TAKEN = TEXTS.index(b"<t>")


def vocabulary_of(specials: int) -> Vocabulary:
    """Return a vocabulary with tokens whose bytes no text has, an added token of text, and special tokens, the first two EOS."""
    first = len(TEXTS)
    ids = range(first, first + specials)
    names = {token_id: f"<|{token_id - first}|>" for token_id in ids} | {TAKEN: "<t>"}
    tokens = [*TEXTS, *[None] * specials, None]
    return Vocabulary.from_tokens(
        tokens, eos_token_ids=[first, first + 1], special_token_ids=list(ids), token_names=names
    )


VOCABULARIES = {count: vocabulary_of(count) for count in (4, 20)}


@dataclass
class Grammar:
    """A grammar in both notations, and its words."""

    ebnf: str
    lark: str
    words: frozenset[Word]


class Maker:
    """Makes grammars: `part` returns an expression in EBNF and in Lark with its words."""

    def __init__(self, seed: int, vocabulary: Vocabulary, *, ends: bool) -> None:
        self.choose = random.Random(seed)
        self.vocabulary = vocabulary
        first = 0 if ends else 2
        self.specials = sorted(vocabulary.special_token_ids)[first:]
        self.nameable = [*self.specials, TAKEN]

    def part(self, depth: int) -> tuple[str, str, frozenset[Word]]:
        kind = self.choose.choice(
            ["text", "token", "token", "ids"] + ["sequence", "either", "repeat"] * (depth > 0) * 2
        )
        if kind == "text":
            text = "".join(self.choose.choice("abcd") for _ in range(self.choose.randint(1, 3)))
            return f'"{text}"', f'"{text}"', frozenset([tuple(text.encode())])
        if kind == "token":
            token_id = self.choose.choice(self.nameable)
            name = self.vocabulary.token_names[token_id]
            return f'Token("{name}")', name, frozenset([((token_id,),)])
        if kind == "ids":
            low = self.choose.choice(self.specials)
            high = min(low + self.choose.randint(0, 2), self.specials[-1])
            ids = range(low, high + 1)
            return f"Token({', '.join(map(str, ids))})", f"<[{low}-{high}]>", frozenset(((each,),) for each in ids)
        if kind == "repeat":
            ebnf, lark, words = self.part(depth - 1)
            low, high = self.choose.choice([(0, 1), (0, 2), (1, 2)])
            counts = f"{{{low},{high}}}"
            return f"({ebnf}){counts}", f"({lark}){counts}", self.repeated(words, low, high)
        parts = [self.part(depth - 1) for _ in range(self.choose.randint(2, 3))]
        if kind == "either":
            words = frozenset().union(*(words for _, _, words in parts))
            return f"({' | '.join(p[0] for p in parts)})", f"({' | '.join(p[1] for p in parts)})", words
        words = frozenset([()])
        for _, _, more in parts:
            words = frozenset(one + other for one in words for other in more)
        return f"({' '.join(p[0] for p in parts)})", f"({' '.join(p[1] for p in parts)})", words

    def repeated(self, words: frozenset[Word], low: int, high: int) -> frozenset[Word]:
        found: set[Word] = set()
        rounds = frozenset([()])
        for count in range(high + 1):
            if count >= low:
                found |= rounds
            rounds = frozenset(one + other for one in rounds for other in words)
        return frozenset(found)

    def grammar(self) -> Grammar:
        ebnf, lark, words = self.part(3)
        return Grammar(f"root ::= {ebnf}", f"start: {lark}", words)


class Oracle:
    """The masks of a finite language of words."""

    def __init__(self, words: frozenset[Word], vocabulary: Vocabulary) -> None:
        self.words = words
        self.vocabulary = vocabulary
        self.begun = {word[:cut] for word in words for cut in range(len(word) + 1)}
        #: A token that is named stands for itself alone.
        self.named = {symbol[0] for word in words for symbol in word if isinstance(symbol, tuple)}

    def read(self, word: Word, token_id: int) -> Word | None:
        """Return what a token makes of a word; None if it makes none."""
        token = self.vocabulary.tokens[token_id]
        as_text = token and token_id not in self.named
        behind = word + (tuple(token) if as_text else ((token_id,),))
        return behind if behind in self.begun else None

    def mask(self, word: Word) -> set[int]:
        allowed = {each for each in range(self.vocabulary.size) if self.read(word, each) is not None}
        return allowed | set(self.vocabulary.eos_token_ids) if word in self.words else allowed


def specs_of(grammar: Grammar) -> list[tuple[Any, str]]:
    """Return what is compiled of a grammar, and by which engine."""
    return [
        (EBNF(grammar.ebnf), "native"),
        (EBNF(grammar.ebnf), "reference"),
        (Lark(grammar.lark, dialect="xgrammar"), "native"),
    ]


def made(seed: int, *, ends: bool = False) -> tuple[Grammar, Vocabulary]:
    """Return a grammar of some words, with its vocabulary; `ends`: in which EOS ids may be named."""
    vocabulary = VOCABULARIES[4 if seed % 2 else 20]
    attempt = seed * 1000
    while True:
        grammar = Maker(attempt, vocabulary, ends=ends).grammar()
        if 1 < len(grammar.words) <= 3000:
            return grammar, vocabulary
        attempt += 1


def walk(matcher: Any, oracle: Oracle, choose: random.Random, context: str) -> None:
    """Compare the masks along a random text, and what is refused."""
    word: Word = ()
    while True:
        expected = oracle.mask(word)
        assert mask_of(matcher, oracle.vocabulary) == expected, (context, word)
        assert matcher.is_accepting() == (word in oracle.words), (context, word)
        refused = choose.choice([each for each in range(oracle.vocabulary.size) if each not in expected])
        assert not matcher.accept_token(refused), (context, word, refused)
        going_on = [each for each in sorted(expected) if oracle.read(word, each) is not None]
        if not going_on:
            return
        token_id = choose.choice(going_on)
        following = oracle.read(word, token_id)
        assert following is not None
        assert matcher.accept_token(token_id), (context, word, token_id)
        if choose.random() < 0.2 and not matcher.is_terminated():
            matcher.rollback()
            assert mask_of(matcher, oracle.vocabulary) == expected, (context, word, "rolled back")
            assert matcher.accept_token(token_id)
        word = following
        if matcher.is_terminated():
            assert token_id in oracle.vocabulary.eos_token_ids
            assert word in oracle.words
            return


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("ends", [False, True], ids=["special", "eos"])
def test_masks_are_those_of_the_words(seed: int, ends: bool) -> None:
    """Behind every prefix a token is allowed if, and only if, a word goes on with it; EOS ids that are named, too."""
    grammar, vocabulary = made(seed, ends=ends)
    oracle = Oracle(grammar.words, vocabulary)
    choose = random.Random(seed)
    for spec, engine in specs_of(grammar):
        compiled = compiled_by(engine, spec, vocabulary)  # type: ignore[arg-type]
        for _ in range(6):
            walk(compiled.matcher(), oracle, choose, f"{engine} {spec}")


@pytest.mark.parametrize("seed", range(40))
def test_budgets_are_kept(seed: int) -> None:
    """With the least budget the text comes to an end in time, whatever is chosen; engines agree on how many tokens that takes."""
    grammar, vocabulary = made(seed)
    oracle = Oracle(grammar.words, vocabulary)
    choose = random.Random(seed)
    needed = set()
    for spec, engine in specs_of(grammar):
        compiled = compiled_by(engine, spec, vocabulary)  # type: ignore[arg-type]
        least = compiled.matcher().tokens_to_finish()
        assert least is not None
        assert engine == "reference" or compiled.least_new_tokens <= least
        needed.add(least)
        matcher, word = compiled.matcher(), ()
        for left in range(least, 0, -1):
            allowed = sorted(mask_of(matcher, vocabulary, budget=left) - set(vocabulary.eos_token_ids))
            if not allowed:
                break
            token_id = choose.choice(allowed)
            assert matcher.accept_token(token_id)
            word = oracle.read(word, token_id) or ()
        assert word in oracle.words, (spec, engine)
        assert matcher.is_accepting()
    assert len(needed) == 1


def recursive_grammar(choose: random.Random, vocabulary: Vocabulary) -> str:
    """Return rules in EBNF that call one another, over texts and tokens."""
    names = sorted({vocabulary.token_names[each] for each in vocabulary.special_token_ids})

    def symbol() -> str:
        kind = choose.random()
        if kind < 0.35:
            return f'Token("{choose.choice(names)}")'
        if kind < 0.65:
            return choose.choice(["root", "one", "two"])
        return choose.choice(['"a"', '"ab"', "[a-c]+", '"d"?', '""'])

    rules = []
    for name in ("root", "one", "two"):
        ways = [" ".join(symbol() for _ in range(choose.randint(1, 3))) for _ in range(choose.randint(1, 3))]
        rules.append(f"{name} ::= {' | '.join(ways)}")
    return "\n".join(rules)


@pytest.mark.parametrize("seed", range(80))
def test_engines_agree_on_rules_that_call_themselves(seed: int) -> None:
    """Masks and completions of the core are those of the parser in Python, with EOS ids among the tokens that are named."""
    choose = random.Random(seed)
    vocabulary = VOCABULARIES[4 if seed % 2 else 20]
    while True:
        spec = EBNF(recursive_grammar(choose, vocabulary))
        try:
            grammars = [compiled_by(engine, spec, vocabulary) for engine in ("native", "reference")]
            break
        except UnsatisfiableSchemaError:
            continue
    for _ in range(4):
        one, other = (grammar.matcher() for grammar in grammars)
        for _ in range(12):
            allowed = mask_of(one, vocabulary)
            assert allowed == mask_of(other, vocabulary), spec
            assert one.is_accepting() == other.is_accepting(), spec
            assert one.tokens_to_finish() == other.tokens_to_finish(), spec
            assert mask_of(one, vocabulary, budget=3) == mask_of(other, vocabulary, budget=3), spec
            token_id = choose.choice(sorted(allowed))
            assert one.accept_token(token_id)
            assert other.accept_token(token_id)
            assert one.is_terminated() == other.is_terminated(), spec
            if one.is_terminated():
                break
