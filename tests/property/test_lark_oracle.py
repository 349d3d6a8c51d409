"""Grammars of lark against lark itself: a sample of the texts in every run, all of them in `make test-all`."""

import contextlib

import pytest

lark = pytest.importorskip("lark")

from schemagen import Vocabulary  # noqa: E402 - below the import of what may be missing
from schemagen.context_free.lark.reader import grammar_of  # noqa: E402
from schemagen.engine.native.context_free import compile_context_free  # noqa: E402
from schemagen.engine.options import DEFAULT_LIMITS, Options  # noqa: E402
from schemagen.engine.protocol import Matcher  # noqa: E402
from schemagen.errors import LimitError, UnsatisfiableSchemaError, UnsupportedPatternError  # noqa: E402
from schemagen.testing import brute_force_mask  # noqa: E402
from tests.property.lark_grammars import GRAMMARS, IGNORING_GRAMMARS, MORE_GRAMMARS  # noqa: E402
from tests.property.random_lark import CHARACTERS, random_grammar, random_ignoring_grammar  # noqa: E402
from tests.property.test_lark_grammars import WAYS, texts  # noqa: E402

pytestmark = pytest.mark.sampled(3)

BYTES = Vocabulary([b"", *(bytes([byte]) for byte in range(1, 256)), b"ab", b"aab", b"1+", b"ba"], eos_token_ids=[0])
#: Length of the texts behind which a mask is compared with brute force.
MASKED = 2
#: Length of the texts of random grammars.
LONGEST = 7
#: Seeds of a slow test, and how many there are.
CHUNK, CHUNKS = 100, 14
#: Grammars, with the parser or lexer under which we refuse them, or come to a limit: assertions where any part of a match is
#: taken, and conflicts by which the stack grows for ever.
REFUSED = {
    ("look-arounds", "dynamic_complete"),
    ("a string and its escapes", "dynamic_complete"),
    ("look ahead at what comes", "dynamic_complete"),
    ("lazy and greedy", "dynamic_complete"),
    ("no end behind a longest match", "lalr"),
    ("palindromes", "lalr"),
}


def parser_of(source: str, parser: str, lexer: str) -> "lark.Lark | None":
    """Lark's own parser; None if lark refuses the grammar."""
    try:
        return lark.Lark(source, parser=parser, lexer=lexer)
    except lark.exceptions.LarkError:
        return None


def parses(parser: "lark.Lark", text: str) -> bool | None:
    """Whether lark reads a text; None if it fails on it."""
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    except (AssertionError, RuntimeError):  # "Please report this bug", RecursionError
        return None
    return True


def matcher_of(parser: "lark.Lark") -> Matcher | None:
    """Ours, at the start; None if the grammar has no text."""
    with contextlib.suppress(UnsatisfiableSchemaError):
        return compile_context_free(grammar_of(parser), BYTES, Options(limits=DEFAULT_LIMITS)).matcher()
    return None


def check_completion(theirs: "lark.Lark", matcher: Matcher, text: str) -> None:
    """The shortest completion of a text is read by us and by lark."""
    if matcher.tokens_to_finish() is None:
        return
    rest = matcher.shortest_completion()
    behind = matcher.fork()
    assert behind.accept_bytes(rest), (text, rest)
    assert behind.is_accepting(), (text, rest)
    assert parses(theirs, text + rest.decode()) is not False, (text, rest)


def compare(source: str, way: tuple[str, str], characters: str, longest: int) -> int:
    """Compare every text up to a length, and return how many; 0 if lark or we refuse the grammar."""
    theirs = parser_of(source, *way)
    if theirs is None:
        return 0
    try:
        start = matcher_of(theirs)
    except (LimitError, UnsupportedPatternError):  # refused, and nothing is guessed
        return 0
    count = 0
    with contextlib.suppress(
        LimitError
    ):  # a text has too many readings to be followed: that is said, and never guessed
        for text, matcher in texts(start, characters, longest):
            read = parses(theirs, text)
            assert read in {matcher is not None and matcher.is_accepting(), None}, (source, way, text, read)
            if matcher is not None and len(text) <= MASKED:
                allowed = set(matcher.allowed_tokens())
                assert allowed == brute_force_mask(matcher, BYTES), (source, way, text)
                assert allowed, (source, way, text)
                check_completion(theirs, matcher, text)
            count += 1
    return count


@pytest.mark.parametrize("name", IGNORING_GRAMMARS)
def test_what_is_ignored_goes_on(name: str) -> None:
    """Where one byte does not tell whether the longest match is over."""
    source, characters, longest = IGNORING_GRAMMARS[name]
    compare(source, ("lalr", "basic"), characters, longest)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("name", MORE_GRAMMARS)
def test_we_read_what_lark_reads(name: str, way: tuple[str, str]) -> None:
    """The shorter texts."""
    source, characters, longest = MORE_GRAMMARS[name]
    compare(source, way, characters, longest - 3)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_random_grammars_are_those_of_lark(way: tuple[str, str]) -> None:
    """Some of them; most are read by both."""
    compared = [compare(random_grammar(seed), way, CHARACTERS, LONGEST - 2) for seed in range(10_000, 10_040)]
    assert sum(map(bool, compared)) >= len(compared) / 5


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_random_grammars_that_ignore_are_those_of_lark(way: tuple[str, str]) -> None:
    """With a pattern that is ignored, or a terminal that rules may use, too."""
    compared = [compare(random_ignoring_grammar(seed), way, CHARACTERS, LONGEST - 2) for seed in range(250, 290)]
    assert sum(map(bool, compared)) >= len(compared) / 5


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("name", [*GRAMMARS, *MORE_GRAMMARS])
def test_all_texts_of_a_grammar(name: str, way: tuple[str, str]) -> None:
    """To their full length, but for the grammars that are known to be refused."""
    source, characters, longest = {**GRAMMARS, **MORE_GRAMMARS}[name]
    count = compare(source, way, characters, longest)
    if parser_of(source, *way) is not None and not {(name, each) for each in way} & REFUSED:
        assert count == sum(len(characters) ** length for length in range(longest + 1))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_random_grammars(chunk: int, way: tuple[str, str]) -> None:
    """Every seed, with and without what is ignored."""
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        compare(random_grammar(seed), way, CHARACTERS, LONGEST)
        compare(random_ignoring_grammar(seed), way, CHARACTERS, LONGEST)
