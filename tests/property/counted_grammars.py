"""Random grammars that count tokens, and the sequences of tokens that they derive by the definition."""

import random
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

from schemagen import Vocabulary
from schemagen.context_free.simplify import reachable
from schemagen.context_free.syntax import (
    Alternatives,
    ContextFreeGrammar,
    Expression,
    Repeat,
    Rule,
    Sequence,
    Text,
    Token,
    TokenBound,
    TokenRun,
    alternatives,
    bounded,
    counted_in,
    repeat,
    sequence,
)
from schemagen.regex import ast, matches, parse_python
from tests.property.small_grammars import derived

#: The tokens, with EOS in front: characters, and pieces that end in the middle of everything.
TOKENS = (b"", b"a", b"b", b"ab", b"ba", b"bb", b"aab")
VOCABULARY = Vocabulary(list(TOKENS), eos_token_ids=[0])
EOS = 0
PATTERNS = ("a", "b", "a", "b", "ab", "ba", "a+", "b*a", "(a|bb)", "a{2,3}", "(ab)*", "[ab]{0,3}", "[ab]*", "b")
#: Bytes of the longest sequences that are all tried.
LONGEST = 5


def token_sequences(size: int) -> list[tuple[int, ...]]:
    """Return the sequences of tokens of exactly so many bytes."""
    if size == 0:
        return [()]
    ids = range(1, len(TOKENS))
    return [
        (*rest, each) for each in ids if len(TOKENS[each]) <= size for rest in token_sequences(size - len(TOKENS[each]))
    ]


SEQUENCES = [each for size in range(LONGEST + 1) for each in token_sequences(size)]


def random_grammar(seed: int) -> ContextFreeGrammar:
    """Return rules with bounds and runs: S may call itself, A is recursive without them, B has some for S to nest."""
    source = random.Random(seed)

    def text() -> Expression:
        return Text(parse_python(source.choice(PATTERNS)))

    def run() -> Expression:
        low = source.randint(1, 2)
        token = Token((source.choice([(1, 1), (2, 2), (3, 4), (6, 6)]),), may_be_text=True)
        kind = source.randint(1, 3)
        but, only = (token,) if kind == 1 else (), token if kind == 2 else None
        return repeat(TokenRun(1, 1, but=but, only=only), low, source.choice([None, low, low + 1]))

    def bound(inner: list[str]) -> Expression:
        parts = [Rule(source.choice(inner)) if source.random() < 0.4 else text() for _ in range(source.randint(1, 2))]
        both = sequence(*parts) if source.random() < 0.7 else alternatives(*parts)
        return bounded(both, source.choice([1, 1, 2, 2, 3]), "bounded")

    def symbol(own: list[str], inner: list[str] | None) -> Expression:
        kind = source.random()
        one = Rule(source.choice(own)) if kind < 0.25 else text()
        if inner is not None and kind > 0.55:
            one = run() if kind > 0.9 else bound(inner)
        if source.random() < 0.15:
            low = source.randint(0, 1)
            return repeat(one, low, source.choice([None, low + 1]))
        return one

    def body(own: list[str], inner: list[str] | None) -> Expression:
        lengths = [source.choice([1, 1, 2, 2, 3]) for _ in range(source.randint(1, 3))]
        return alternatives(*(sequence(*(symbol(own, inner) for _ in range(length))) for length in lengths))

    rules = {"S": body(["S", "A", "B"], ["A", "A", "B"]), "A": body(["A"], None), "B": body(["A"], ["A"])}
    return ContextFreeGrammar("S", reachable(rules, "S"))


def is_nested(grammar: ContextFreeGrammar) -> bool:
    """Whether a text whose tokens are counted contains another."""
    return any(
        counted_in(replace(grammar, rules=reachable({**grammar.rules, "inside": each.inner}, "inside")))
        for each in counted_in(grammar)
        if isinstance(each, TokenBound)
    )


@lru_cache(maxsize=100_000)
def is_match(regex: ast.Regex, text: str) -> bool:
    """Whether a regular expression has a text."""
    return matches(regex, text)


@cache
def fewest_tokens(text: str) -> int:
    """Return how many tokens a text takes at least."""
    if not text:
        return 0
    return 1 + min(fewest_tokens(text[len(each) :]) for each in TOKENS if each and text.startswith(each.decode()))


class Reading:
    """All ways to derive the bytes of one sequence of tokens.

    Args:
        grammar: The rules.
        tokens: The sequence; a text among them counts as a token that no run has.
        languages: The short texts of bounded expressions, or None to count tokens only at the end of a bounded text.
    """

    def __init__(
        self, grammar: ContextFreeGrammar, tokens: tuple[int | str, ...], languages: dict[TokenBound, set[str]] | None
    ) -> None:
        self.languages = languages
        self.tokens = tokens
        texts = [TOKENS[each].decode() if isinstance(each, int) else each for each in tokens]
        self.text = "".join(texts)
        self.token_at = [index for index, each in enumerate(texts) for _ in each]
        begins = accumulate(map(len, texts), initial=0)
        self.boundaries = {at: index for index, at in enumerate(begins)}
        self.known: dict[tuple[str, int], frozenset[int]] = {}
        before = None
        while self.known != before:
            before = dict(self.known)
            for name, body in grammar.rules.items():
                for start in range(len(self.text) + 1):
                    self.known[name, start] = self.ends(body, start)
        self.is_complete = len(self.text) in self.known[grammar.start, 0]

    def ends(self, expression: Expression, start: int) -> frozenset[int]:
        """Return where texts of an expression end that begin at a byte."""
        if isinstance(expression, Rule):
            return self.known.get((expression.name, start), frozenset())
        if isinstance(expression, Sequence):
            found = frozenset([start])
            for part in expression.parts:
                found = frozenset(end for at in found for end in self.ends(part, at))
            return found
        if isinstance(expression, Alternatives):
            return frozenset().union(*(self.ends(part, start) for part in expression.parts))
        if isinstance(expression, Repeat):
            return self.repeated(expression, start)
        if isinstance(expression, TokenBound):
            return frozenset(
                end for end in self.ends(expression.inner, start) if self.is_within(expression, start, end)
            )
        rest = range(start, len(self.text) + 1)
        if isinstance(expression, TokenRun):
            return frozenset(end for end in rest if self.is_run(expression, start, end))
        assert isinstance(expression, Text)
        return frozenset(end for end in rest if is_match(expression.regex, self.text[start:end]))

    def repeated(self, expression: Repeat, start: int) -> frozenset[int]:
        """Return where repetitions end."""
        layer = frozenset([start])
        for _ in range(expression.low):
            layer = frozenset(end for at in layer for end in self.ends(expression.inner, at))
        found = layer
        for _ in range(len(self.text) + 1 if expression.high is None else expression.high - expression.low):
            layer = frozenset(end for at in layer for end in self.ends(expression.inner, at))
            found |= layer
        return found

    def is_run(self, run: TokenRun, start: int, end: int) -> bool:
        """Whether a part of the text is a run of whole tokens."""
        if start not in self.boundaries or end not in self.boundaries:
            return False
        taken = self.tokens[self.boundaries[start] : self.boundaries[end]]
        excluded = {each for token in run.but for low, high in token.wanted for each in range(low, high + 1)}
        only = run.only and {each for low, high in run.only.wanted for each in range(low, high + 1)}
        members = all(
            isinstance(each, int) and each not in excluded and (only is None or each in only) for each in taken
        )
        return members and run.low <= len(taken) and (run.high is None or len(taken) <= run.high)

    def is_within(self, bound: TokenBound, start: int, end: int) -> bool:
        """Whether a part of the text has no more than its tokens, and after each token still had enough of them to end."""
        if start == end:
            return True
        if self.taken(start, end) > bound.most:
            return False
        if self.languages is None:
            return True
        words = self.languages[bound]
        for at in self.boundaries:
            if not start < at < end or (begun := self.text[start:at]) in words:
                continue
            shortest = min((word for word in words if word.startswith(begun)), key=lambda word: (len(word), word))
            if fewest_tokens(shortest[len(begun) :]) > bound.most - self.taken(start, at):
                return False
        return True

    def taken(self, start: int, end: int) -> int:
        """Return how many tokens have a byte of a part of the text."""
        return len(set(self.token_at[start:end]))


def languages_of(grammar: ContextFreeGrammar) -> dict[TokenBound, set[str]]:
    """Return the short texts of each bounded expression, which contains no other."""
    found = {}
    for each in counted_in(grammar):
        if isinstance(each, TokenBound):
            rules = reachable({**grammar.rules, "inside": each.inner}, "inside")
            found[each] = derived(ContextFreeGrammar("inside", rules))
    return found


def read(matcher: Any, tokens: tuple[int, ...]) -> bool:
    """Whether a matcher accepts tokens one after another; it keeps those before the first that it refuses."""
    return all(matcher.accept_token(each) for each in tokens)
