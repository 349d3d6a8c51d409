"""Ambiguous grammars read long texts, in memory that grows with what has to be told apart."""

import pytest

import schemagen
from schemagen import GBNF, Lark, LimitError

BYTES = schemagen.Vocabulary.byte_vocabulary()
LENGTH = 10_000

#: Grammars of which all ways to read a text go on alike, and a text that is repeated.
ALIKE = {
    "twice itself or nothing": (Lark('start: start start | "a" | '), b"a"),
    "three times itself or nothing": (GBNF('root ::= root root root | "a" | ""'), b"a"),
    "two rules that may be empty": (Lark('start: a\na: b? a? b? | "x"\nb: a? | "y"'), b"xy"),
    "operators without precedence": (GBNF('root ::= root "+" root | root "*" root | "a"'), b"a+a*"),
    "rules that call each other": (GBNF('root ::= t root | t\nt ::= root t | "a"'), b"a"),
    "words that may be cut in two": (Lark('start: w start | start w | w\nw: "a" | "b" | "ab"'), b"ab"),
}
#: Grammars that have to count, of which the ways to read a text differ in the count alone.
COUNTING = {
    "an else of any if": (GBNF('root ::= "i" root | "i" root "e" root | "x"'), b"i"),
    "brackets in a row": (GBNF('root ::= root root | "(" root ")" | ""'), b"("),
}


def grown(spec: GBNF | Lark, text: bytes) -> int:
    """The bytes that a grammar grows by while it reads a text."""
    grammar = schemagen.compile(spec, BYTES, cache=None)
    before = grammar.memory_bytes
    matcher = grammar.matcher()
    assert matcher.accept_bytes(text)
    assert matcher.allowed_tokens()
    return grammar.memory_bytes - before


def repeated(piece: bytes, length: int) -> bytes:
    """As many bytes of a piece again and again."""
    return (piece * length)[:length]


@pytest.mark.parametrize("name", ALIKE)
def test_ways_that_go_on_alike_are_one(name: str) -> None:
    """A text of 10,000 bytes needs no more memory than one of 100."""
    spec, piece = ALIKE[name]
    schemagen.clear_cache()
    assert grown(spec, repeated(piece, LENGTH)) <= grown(spec, repeated(piece, 100)) + 1024 < 20_000


@pytest.mark.parametrize("name", COUNTING)
def test_what_has_to_be_counted_needs_memory_for_each_byte_once(name: str) -> None:
    """Some hundred bytes of memory for each byte of the text, however long it is."""
    spec, piece = COUNTING[name]
    assert grown(spec, repeated(piece, LENGTH)) < 1000 * LENGTH


def test_an_else_belongs_to_any_if_that_is_open() -> None:
    """As many as there are, and not one more."""
    grammar = schemagen.compile(COUNTING["an else of any if"][0], BYTES, cache=None)
    for count in (1, 7, 300):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(b"i" * count + b"x" + b"ex" * count)
        assert matcher.is_accepting()
        assert not matcher.accept_bytes(b"ex")


def test_the_limit_that_remains_is_named() -> None:
    """Each letter of a palindrome may be its middle, and the rest of the text tells which one it was."""
    palindromes = GBNF('root ::= "a" root "a" | "b" root "b" | "a"')
    limits = schemagen.Limits(max_alternatives=64)
    matcher = schemagen.compile(palindromes, BYTES, cache=None, limits=limits).matcher()
    assert matcher.accept_bytes(b"a" * 60)
    with pytest.raises(
        LimitError, match=r"65 ways to read one text .*, the limit is 64 \(max_alternatives\)"
    ) as caught:
        matcher.accept_bytes(b"a" * 1000)
    assert "raise schemagen.Limits(max_alternatives=...)" in str(caught.value)
