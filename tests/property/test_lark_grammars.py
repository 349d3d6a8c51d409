"""Grammars of lark against lark itself: every short text over a few characters, in each way in which lark reads a grammar."""

import importlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

lark = pytest.importorskip("lark")

from schemagen import Vocabulary  # noqa: E402 - below the import of what may be missing
from schemagen.context_free.lark.reader import grammar_of  # noqa: E402
from schemagen.engine.native.context_free import compile_context_free  # noqa: E402
from schemagen.engine.options import DEFAULT_LIMITS, Options  # noqa: E402
from schemagen.engine.protocol import Matcher  # noqa: E402
from schemagen.errors import UnsatisfiableSchemaError, UnsupportedPatternError  # noqa: E402
from schemagen.testing import brute_force_mask  # noqa: E402
from tests.grammars import parses  # noqa: E402
from tests.property.lark_grammars import GRAMMARS  # noqa: E402

pytestmark = pytest.mark.sampled(8)

WORDS = [
    "if",
    "if ",
    "a=",
    "aa",
    "ab",
    ";i",
    "a b",
    "1+",
    "(1",
    "..1",
    "1.",
    "bb",
    "ba",
    "+(",
    "1_1",
    " if",
    "=a;",
    '"a',
    '""',
]
TOKENS = [b"", *(bytes([byte]) for byte in range(32, 127)), *(word.encode() for word in WORDS)]
VOCABULARY = Vocabulary(TOKENS, eos_token_ids=[0])
MASKED = 3
LONGEST_END = 6

WAYS = [
    ("earley", "dynamic"),
    ("earley", "dynamic_complete"),
    ("earley", "basic"),
    ("lalr", "basic"),
    ("lalr", "contextual"),
]


def texts(
    matcher: Matcher | None, characters: str, longest: int, text: str = ""
) -> Iterator[tuple[str, Matcher | None]]:
    """Every text, with a matcher behind it if it can be read."""
    yield text, matcher
    if len(text) == longest:
        return
    for character in characters:
        behind = None if matcher is None else matcher.fork()
        if behind is not None and not behind.accept_bytes(character.encode()):
            behind = None
        yield from texts(behind, characters, longest, text + character)


def can_end(matcher: Matcher, characters: str, within: int) -> bool:
    """Whether a few characters more make a text."""
    if matcher.is_accepting():
        return True
    if not within:
        return False
    behind = [matcher.fork() for _ in characters]
    return any(
        each.accept_bytes(character.encode()) and can_end(each, characters, within - 1)
        for each, character in zip(behind, characters, strict=True)
    )


@pytest.mark.parametrize(("parser", "lexer"), WAYS)
@pytest.mark.parametrize("name", GRAMMARS)
def test_we_read_what_lark_reads(name: str, parser: str, lexer: str) -> None:
    """Texts, and the masks behind the shortest of them."""
    source, characters, longest = GRAMMARS[name]
    try:
        theirs = lark.Lark(source, parser=parser, lexer=lexer)
    except lark.exceptions.GrammarError as error:
        pytest.skip(f"lark refuses it: {str(error).splitlines()[0]}")
    if name == "look-arounds" and lexer == "dynamic_complete":
        with pytest.raises(UnsupportedPatternError, match="assertion"):
            grammar_of(theirs)
        return
    try:
        start = compile_context_free(grammar_of(theirs), VOCABULARY, Options(limits=DEFAULT_LIMITS)).matcher()
    except UnsatisfiableSchemaError:
        start = None
    for text, matcher in texts(start, characters, longest):
        assert (matcher is not None and matcher.is_accepting()) == parses(theirs, text), text
        if matcher is not None and len(text) <= MASKED:
            assert set(matcher.allowed_tokens()) == brute_force_mask(matcher, VOCABULARY), text
            assert can_end(matcher, characters, LONGEST_END), text


# --- Python, whose lines make blocks -----------------------------------------------------------------------------------


class Python(NamedTuple):
    """Lark's grammar of Python, twice."""

    parser: "lark.Lark"
    vocabulary: Vocabulary
    matcher: Matcher


@pytest.fixture(scope="module")
def python() -> "Python":
    """With a vocabulary of bytes and some words."""
    from lark.indenter import PythonIndenter

    words = [
        "    ",
        "def ",
        "return ",
        "class ",
        "if ",
        ":\n    ",
        "\n    ",
        "\n\n",
        "for ",
        " in ",
        " x",
        "):",
        "\n\t",
    ]
    vocabulary = Vocabulary(
        [b"", *(bytes([byte]) for byte in range(1, 128)), *(word.encode() for word in words)], eos_token_ids=[0]
    )
    theirs = lark.Lark.open_from_package(
        "lark", "python.lark", ("grammars",), parser="lalr", start="file_input", postlex=PythonIndenter()
    )
    constraint = compile_context_free(grammar_of(theirs), vocabulary, Options(limits=DEFAULT_LIMITS))
    return Python(theirs, vocabulary, constraint.matcher())


@pytest.mark.parametrize("module", ["random", "textwrap", "heapq", "bisect", "keyword", "string"])
def test_the_standard_library_is_python(python: "Python", module: str) -> None:
    """Every module is read to its end, at once."""
    matcher = python.matcher.fork()
    source = Path(importlib.import_module(module).__file__ or "").read_bytes()
    assert matcher.accept_bytes(source)
    assert matcher.is_accepting()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("if x:\n  y\n", True),
        ("if x:\n  y\n z\n", False),  # no block begins there
        ("if x:\n\ty\n        z\n", True),  # a tabulator counts for eight
        ("f(\n1,\n    2)\n", True),  # line breaks in brackets mean nothing
        ("if x:\ny\n", False),
        ("  x\n", True),  # a line is only told apart by the break before it
        ("while x:\n    if y:\n        z\n# a comment\n    else:\n        pass\n", True),
        ("def f():\n    return\n", True),  # the end of the text closes all blocks
        ("def f():\n    return", False),
        ("def #", False),  # the line could not end there
    ],
)
def test_lines_make_blocks(python: "Python", text: str, read: bool) -> None:
    """As lark's `Indenter` has it."""
    matcher = python.matcher.fork()
    assert (matcher.accept_bytes(text.encode()) and matcher.is_accepting()) == read == parses(python.parser, text)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_are_parsed(python: "Python", seed: int) -> None:
    """Any token that is allowed, then the shortest end."""
    choose, matcher, text = random.Random(seed), python.matcher.fork(), b""
    for _ in range(120):
        token = choose.choice(matcher.allowed_tokens())
        if token == 0:
            break
        assert matcher.accept_token(token)
        text += python.vocabulary.tokens[token]
    text += matcher.shortest_completion()
    assert parses(python.parser, text.decode())
