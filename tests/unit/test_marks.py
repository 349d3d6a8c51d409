"""Marks: each named token has bytes of its own that no text has and no other token begins with."""

import pytest

from schemagen.vocabulary import Vocabulary
from schemagen.vocabulary.marks import DIGITS, is_marked, marked_tokens, without_marks
from schemagen.vocabulary.vocabulary import MOST_MARKED


def test_the_digits_are_the_bytes_that_no_text_has():
    """Of UTF-8, by what Python writes for characters of each length and at their borders."""
    samples = [*range(0x3000), *range(0xF000, 0x12000), *range(0x10F000, 0x110000), *range(0, 0x110000, 0x3F)]
    written = {byte for code in samples if not 0xD800 <= code < 0xE000 for byte in chr(code).encode()}
    assert written == set(range(256)) - set(DIGITS)


@pytest.mark.parametrize("count", [0, 1, 13, 14, 169, 170, 2198])
def test_marks_are_equally_long_and_differ(count):
    """As many digits as it takes, and not one more."""
    tokens = marked_tokens([b"a", *[b""] * count], range(1, count + 1))
    marks = tokens[1:]
    assert tokens[0] == b"a"
    assert len(set(marks)) == count
    assert {len(mark) for mark in marks} <= {next(n for n in range(1, 9) if 13**n >= count)}
    assert all(set(mark) <= set(DIGITS) for mark in marks)


def test_tokens_with_such_bytes_are_left_out():
    """A byte token such as <0xFF> could be taken for the beginning of a mark; whole and half characters stay."""
    tokens = [b"\xff", b"a\xf5", "\u00e9".encode(), b"\xc3", b"\xf4\x8f", b"\xc0", b"", b""]
    assert marked_tokens(tokens, [6]) == (b"", b"", "\u00e9".encode(), b"\xc3", b"\xf4\x8f", b"", b"\xc0", b"")


def test_text_has_no_marks():
    """What is left of bytes without marks is the text."""
    assert without_marks(b"a\xff\xc0b\xc3\xa9") == "ab\u00e9".encode()
    assert is_marked(b"a\xff")
    assert not is_marked("a\u00e9\U0010ffff".encode())


def test_a_vocabulary_with_marks():
    """Special tokens and named tokens without text have them, text that is taken too; the vocabulary itself stays as it is."""
    vocabulary = Vocabulary.from_tokens(
        ["a", None, None, "<t>", None], eos_token_ids=[1], token_names={2: "<|x|>", 3: "<t>"}
    )
    assert vocabulary.marked().tokens == (b"a", DIGITS[:1], DIGITS[1:2], b"<t>", b"")
    assert vocabulary.marked(frozenset({3})).tokens == (b"a", DIGITS[:1], DIGITS[1:2], DIGITS[2:3], b"")
    assert vocabulary.tokens == (b"a", b"", b"", b"<t>", b"")
    assert vocabulary.marked() is vocabulary.marked()
    assert vocabulary.marked().tables is not vocabulary.tables


def test_few_vocabularies_with_marks_are_kept():
    """The oldest one goes first."""
    vocabulary = Vocabulary.byte_vocabulary()
    first = vocabulary.marked(frozenset({0}))
    for token_id in range(1, MOST_MARKED):
        vocabulary.marked(frozenset({token_id}))
    assert vocabulary.marked(frozenset({0})) is first
    vocabulary.marked(frozenset({MOST_MARKED}))
    assert vocabulary.marked(frozenset({0})) is not first
