"""Random programs from masks: each ends, lark parses it, masks are those of brute force; a few in every run, 20,000 in `make test-all`."""

import random
import re

import pytest

lark = pytest.importorskip("lark")

import schemagen  # noqa: E402 - below the import of what may be missing
from schemagen.errors import ValidationFailed  # noqa: E402
from schemagen.testing import mask_of  # noqa: E402
from tests.property.language_walks import (  # noqa: E402
    FILES,
    LANGUAGES,
    assigns_to_no_target,
    error_of_python,
    language,
    mutated,
    reads,
    walk,
    written_anew,
)

pytestmark = pytest.mark.sampled(4)

WALKS = 8
#: Walks of a slow test, and how many there are of each language.
CHUNK, CHUNKS = 250, 10
#: Of so many walks one is compared with brute force.
COMPARED = 50
#: Tokens of a text.
LENGTHS = [10, 40, 80, 150]

#: What Python asks of a program that is no matter of lark's grammar of it, by what it says.
LEFT_TO_PYTHON = re.compile(
    "cannot (assign to|delete|use assignment expressions with)|illegal target for annotation|.* illegal expression for augmented"
    r"|only single target|invalid syntax[^:]*: *(.*; )?\*"  # `*a: int`; what is assigned to has to be a target
    r"|.* <> |invalid syntax[^:]*: class \w+ \(.* for "  # before Python 3; bases are no generator
    "|invalid syntax[^:]*:.* := "  # asks for parentheses in defaults, keyword arguments and more
    "|expression cannot contain assignment|assignment to yield|cannot have both|keyword argument repeated"
    "|(positional|iterable) argument (follows|unpacking follows)|Generator expression must be parenthesized"
    "|(non-default|parameter without a default) |named (parameters|arguments) must follow|[*/] (may|must) appear|[*/] argument"
    "|(var-|bare |at least one ).*argument|default 'except:' must be last|leading zeros in decimal|invalid decimal literal"
    "|dict unpacking cannot|iterable unpacking cannot|can't use starred|starred assignment target|import \\* only"
    "|trailing comma not allowed|too many statically nested|unparenthesized"
)


def check_walk(name: str, seed: int, *, compare: bool) -> str:
    """Write a text, let lark parse it and a text beside it, and return it."""
    grammar, spec, is_exact = language(name)
    choose = random.Random(seed)
    text = walk(grammar, seed, choose.choice(LENGTHS), compare=compare).text.decode()
    assert spec.parse(text) is not None
    other = mutated(text, choose)
    ours, theirs = reads(grammar.matcher(), other), parses(spec, other)
    assert ours == theirs or (theirs and not is_exact), other
    return text


def parses(spec: schemagen.Lark, text: str) -> bool:
    """Whether lark reads a text by the grammar of a spec."""
    try:
        spec.parse(text)
    except ValidationFailed:
        return False
    return True


@pytest.mark.parametrize("name", FILES)
def test_walks_end_and_lark_reads_them(name: str) -> None:
    """In each language, along masks, the first of which are compared."""
    for seed in range(100_000, 100_000 + WALKS):
        check_walk(name, seed, compare=seed == 100_000)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_grammar_that_is_renewed_writes_the_same(name: str) -> None:
    """What is known of neighbours goes along into the next epoch, and means the same there."""
    grammar, _, _ = language(name)
    other = schemagen.compile(grammar.spec, grammar.vocabulary, cache=None, limits=schemagen.Limits(max_seconds=600))
    for seed in range(300_000, 300_003):
        tokens = walk(grammar, seed, 40, compare=False).tokens
        matcher, renewed = grammar.matcher(), other.matcher()
        for at, token in enumerate(tokens):
            if at % (30 if name == "python" else 5) == 0:
                other._implementation.begin_anew()  # type: ignore[attr-defined]
            assert mask_of(renewed, grammar.vocabulary) == mask_of(matcher, grammar.vocabulary)
            assert matcher.accept_token(token)
            assert renewed.accept_token(token)


@pytest.mark.parametrize(("name", "seed"), [("sql, lalr", 534)])
def test_a_budget_is_kept(name: str, seed: int) -> None:
    """Where the shortest text was counted on one way and is written on another."""
    check_walk(name, seed, compare=False)


def test_walks_over_python_are_python() -> None:
    """Written anew, so that words are apart, Python's parser takes most; of the others it says why."""
    texts = [check_walk("python", seed, compare=seed == 200_000) for seed in range(200_000, 200_000 + WALKS)]
    assert check_programs(texts) >= len(texts) / 2


def check_programs(texts: list[str]) -> int:
    """Let Python parse programs, and return how many it takes; the others have to be refused for what is no grammar."""
    errors = [(text, error_of_python(written_anew(text))) for text in texts]
    left = [(text, error) for text, error in errors if error is not None and not LEFT_TO_PYTHON.match(error)]
    assert [(text, error) for text, error in left if not assigns_to_no_target(error)] == []
    return [error for _, error in errors].count(None)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", LANGUAGES)
def test_all_walks_end_and_lark_reads_them(name: str, chunk: int) -> None:
    """Twenty thousand."""
    seeds = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    texts = [check_walk(name, seed, compare=seed % COMPARED == 0) for seed in seeds]
    if name == "python":
        assert check_programs(texts) >= len(texts) / 2
