"""Context-free grammars against the definition: which spans of a text a rule derives, as the least fixpoint."""

import itertools
import random

import pytest

from schemagen import Vocabulary
from schemagen.context_free.syntax import (
    Alternatives,
    ContextFreeGrammar,
    Expression,
    Repeat,
    Rule,
    Sequence,
    Text,
    alternatives,
    repeat,
    sequence,
)
from schemagen.engine.native.context_free import compile_context_free
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.regex import ast, matches
from schemagen.testing import brute_force_mask

pytestmark = pytest.mark.sampled(3)

TOKENS = [b"", *(bytes([byte]) for byte in b"ab"), b"ab", b"ba", b"aab", b"abab", b"bb", b"aa", b"aaa", b"abb"]
VOCABULARY = Vocabulary(TOKENS, eos_token_ids=[0])
LONGEST = 6
WORDS = ["".join(word) for length in range(LONGEST + 1) for word in itertools.product("ab", repeat=length)]


class Definition:
    """What a grammar derives from each span of one text."""

    def __init__(self, grammar: ContextFreeGrammar, text: str) -> None:
        self.rules = grammar.rules
        self.text = text
        self.spans: set[tuple[str, int, int]] = set()
        changed = True
        while changed:
            changed = False
            for name, body in grammar.rules.items():
                for begin in range(len(text) + 1):
                    new = {(name, begin, end) for end in self.ends(body, begin)} - self.spans
                    changed = changed or bool(new)
                    self.spans |= new
        self.derived = (grammar.start, 0, len(text)) in self.spans

    def ends(self, body: Expression, begin: int) -> set[int]:
        if isinstance(body, Rule):
            return {end for name, start, end in self.spans if name == body.name and start == begin}
        if isinstance(body, Sequence):
            found = {begin}
            for part in body.parts:
                found = {end for at in found for end in self.ends(part, at)}
            return found
        if isinstance(body, Alternatives):
            return set().union(*(self.ends(part, begin) for part in body.parts))
        if isinstance(body, Repeat):
            return self.repeated(body, begin)
        assert isinstance(body, Text)
        return {end for end in range(begin, len(self.text) + 1) if matches(body.regex, self.text[begin:end])}

    def repeated(self, body: Repeat, begin: int) -> set[int]:
        layer = {begin}
        for _ in range(body.low):
            layer = {end for at in layer for end in self.ends(body.inner, at)}
        found: set[int] = set()
        more = len(self.text) + 1 if body.high is None else body.high - body.low
        for _ in range(more):
            found |= layer
            layer = {end for at in layer for end in self.ends(body.inner, at)}
        return found | layer


def random_grammar(seed: int) -> ContextFreeGrammar:
    """A few rules over a and b: empty ones, left, right and hidden recursion, ambiguity come by themselves."""
    source = random.Random(seed)
    names = ["S", "A", "B", "C"][: source.randint(1, 4)]

    def symbol() -> Expression:
        name = source.choice([*names, "a", "b", "a", "b"])
        one: Expression = Rule(name) if name in names else Text(ast.literal(name))
        kind = source.random()
        if kind < 0.1:
            low = source.randint(0, 2)
            return repeat(one, low, source.choice([None, low, low + 1]))
        return one

    def body() -> Expression:
        parts = [
            Sequence(tuple(symbol() for _ in range(source.choice([0, 1, 1, 2, 2, 3]))))
            for _ in range(source.randint(1, 3))
        ]
        return Alternatives(tuple(parts))

    return ContextFreeGrammar("S", {name: body() for name in names})


@pytest.mark.parametrize("seed", range(120))
def test_random_grammars_read_what_the_definition_derives(seed: int) -> None:
    """Texts, masks and shortest completions."""
    grammar = random_grammar(seed)
    derived = {word for word in WORDS if Definition(grammar, word).derived}
    try:
        constraint = compile_context_free(grammar, VOCABULARY, Options(limits=DEFAULT_LIMITS))
    except UnsatisfiableSchemaError:
        assert not derived
        return
    for word in WORDS:
        matcher = constraint.matcher()
        read = matcher.accept_bytes(word.encode())
        assert (read and matcher.is_accepting()) == (word in derived), (grammar, word)
        if not read or len(word) > 2:
            continue
        assert set(matcher.allowed_tokens()) == brute_force_mask(matcher, VOCABULARY), (grammar, word)
        rest = matcher.shortest_completion().decode()
        shortest = min((len(each) - len(word) for each in derived if each.startswith(word)), default=None)
        if shortest is not None:
            assert len(rest) == shortest
            assert word + rest in derived


@pytest.mark.parametrize("seed", range(60))
def test_longer_texts_of_random_grammars(seed: int) -> None:
    """Long enough that the ways to read one are compared and united at several places."""
    source, grammar = random.Random(seed), random_grammar(seed)
    try:
        constraint = compile_context_free(grammar, VOCABULARY, Options(limits=DEFAULT_LIMITS))
    except UnsatisfiableSchemaError:
        return
    for length in (8, 10):
        matcher, word = constraint.matcher(), ""
        while len(word) < length:  # along what may follow, so that many of the texts are derived
            following = [each for each in "ab" if matcher.fork().accept_bytes(each.encode())]
            if not following:
                break
            word += source.choice(following)
            assert matcher.accept_bytes(word[-1].encode())
            assert matcher.is_accepting() == Definition(grammar, word).derived, (grammar, word)
        for each in (word[:-1] + "ab"[word.endswith("a")] if word else "a", word + "a", word + "b"):
            other = constraint.matcher()
            read = other.accept_bytes(each.encode())
            assert (read and other.is_accepting()) == Definition(grammar, each).derived, (grammar, each)


def nested(low: str, high: str) -> ContextFreeGrammar:
    """As many of the one as of the other."""
    return ContextFreeGrammar(
        "S", {"S": alternatives(sequence(Text(ast.literal(low)), Rule("S"), Text(ast.literal(high))), sequence())}
    )


def test_right_recursion_needs_no_more_memory_than_left_recursion() -> None:
    """A call in the last place of a rule returns to where that rule returns to (Leo 1991)."""
    item = Text(ast.literal("a"))
    right = ContextFreeGrammar(
        "S", {"S": sequence(Rule("L"), Text(ast.literal("b"))), "L": alternatives(item, sequence(item, Rule("L")))}
    )
    left = ContextFreeGrammar(
        "S", {"S": sequence(Rule("L"), Text(ast.literal("b"))), "L": alternatives(item, sequence(Rule("L"), item))}
    )
    for grammar in (right, left):
        constraint = compile_context_free(grammar, VOCABULARY, Options(limits=DEFAULT_LIMITS))
        matcher = constraint.matcher()
        assert matcher.accept_bytes(b"a" * 200)
        before = constraint.memory_bytes
        assert matcher.accept_bytes(b"a" * 5000)
        assert constraint.memory_bytes - before < 4096, grammar


def test_what_is_open_has_to_be_closed() -> None:
    """The parser counts without an end."""
    constraint = compile_context_free(nested("a", "b"), VOCABULARY, Options(limits=DEFAULT_LIMITS))
    matcher = constraint.matcher()
    assert matcher.accept_bytes(b"a" * 1000)
    assert matcher.shortest_completion() == b"b" * 1000
    assert matcher.accept_bytes(b"b" * 999)
    assert [TOKENS[token] for token in matcher.allowed_tokens()] == [b"b"]
