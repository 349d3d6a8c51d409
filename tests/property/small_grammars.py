"""Random grammars over a and b, the texts that they derive by the definition, and the masks that follow from these."""

import random
from dataclasses import replace
from functools import lru_cache
from itertools import product

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
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.regex import ast, matches, parse_python

#: The tokens, with EOS in front: single characters, and pieces that end in the middle of everything.
TOKENS = (b"", b"a", b"b", b"ab", b"ba", b"aab", b"bb", b"aaa", b"abab")
VOCABULARY = Vocabulary(list(TOKENS), eos_token_ids=[0])
EOS = 0
#: Random grammars are more ambiguous than any that somebody would write.
OPTIONS = Options(limits=replace(DEFAULT_LIMITS, max_alternatives=1_000_000))
#: The longest texts that are derived.
LONGEST = 7
WORDS = ["".join(word) for length in range(LONGEST + 1) for word in product("ab", repeat=length)]
PATTERNS = ("a", "b", "a", "b", "a", "b", "ab", "ba", "a+", "b*a", "(a|bb)", "a{2,3}", "(ab)*")


def random_grammar(seed: int) -> ContextFreeGrammar:
    """A few rules over texts: empty ones, left, right and hidden recursion, ambiguity come by themselves."""
    source = random.Random(seed)
    names = ["S", "A", "B"][: source.randint(1, 3)]

    def symbol() -> Expression:
        name = source.choice([*names, None, None, None])
        one: Expression = Rule(name) if name else Text(parse_python(source.choice(PATTERNS)))
        if source.random() < 0.1:
            low = source.randint(0, 2)
            return repeat(one, low, source.choice([None, low, low + 1]))
        return one

    def body() -> Expression:
        lengths = [source.choice([0, 1, 1, 2, 2, 3]) for _ in range(source.randint(1, 3))]
        return alternatives(*(sequence(*(symbol() for _ in range(length))) for length in lengths))

    return ContextFreeGrammar("S", {name: body() for name in names})


def random_pattern(seed: int) -> ast.Regex:
    """A regular expression over a and b of some texts."""
    source = random.Random(seed)

    def part(depth: int) -> ast.Regex:
        if depth == 0 or source.random() < 0.2:
            return parse_python(source.choice(PATTERNS))
        kind = source.choice("|.*")
        if kind == "*":
            return ast.repeat(part(depth - 1), source.randint(0, 1), source.choice([None, 2]))
        return (ast.union if kind == "|" else ast.concat)(part(depth - 1), part(depth - 1))

    return part(3)


def derived(grammar: ContextFreeGrammar) -> set[str]:
    """The texts of at most `LONGEST` characters that a grammar derives: the least fixpoint of its rules as sets."""
    known: dict[str, frozenset[str]] = dict.fromkeys(grammar.rules, frozenset())
    while True:
        new = {name: _texts(body, known) for name, body in grammar.rules.items()}
        if new == known:
            return set(known[grammar.start])
        known = new


def _texts(body: Expression, known: dict[str, frozenset[str]]) -> frozenset[str]:
    if isinstance(body, Rule):
        return known[body.name]
    if isinstance(body, Sequence):
        found = frozenset([""])
        for part in body.parts:
            found = _joined(found, _texts(part, known))
        return found
    if isinstance(body, Alternatives):
        return frozenset().union(*(_texts(part, known) for part in body.parts))
    if isinstance(body, Repeat):
        return _repeated(_texts(body.inner, known), body.low, body.high)
    assert isinstance(body, Text)
    return words_of(body.regex)


def _repeated(inner: frozenset[str], low: int, high: int | None) -> frozenset[str]:
    layer = frozenset([""])
    for _ in range(low):
        layer = _joined(layer, inner)
    found = layer
    for _ in range(LONGEST if high is None else high - low):
        layer = _joined(layer, inner)
        found |= layer
    return found


def _joined(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    return frozenset(one + other for one in left for other in right if len(one) + len(other) <= LONGEST)


@lru_cache(maxsize=1024)
def words_of(regex: ast.Regex) -> frozenset[str]:
    """The texts of a regular language of at most `LONGEST` characters."""
    return frozenset(word for word in WORDS if matches(regex, word))


def certain_mask(words: set[str], text: str) -> set[int]:
    """The tokens that some known text goes on with; more may be allowed, if only longer texts do."""
    allowed = {
        token_id
        for token_id, token in enumerate(TOKENS)
        if token and any(word.startswith(text + token.decode()) for word in words)
    }
    return allowed | ({EOS} if text in words else set())
