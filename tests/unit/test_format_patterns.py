"""The format `regex`: ranges and counts whose ends are in order, and an expression that is cheap to make."""

import json
import random

import pytest

import schemagen
from schemagen.regex import ast
from schemagen.schema.formats.patterns import ecma_pattern_regex, pattern_regex


@pytest.fixture(scope="module")
def reads(byte_vocabulary):
    """Whether a text is of the format."""
    grammar = schemagen.compile({"type": "string", "format": "regex"}, byte_vocabulary, cache=None)

    def is_read(pattern):
        matcher = grammar.matcher()
        return matcher.accept_bytes(json.dumps(pattern, ensure_ascii=False).encode()) and matcher.is_accepting()

    return is_read


def test_ascii_ranges_are_in_order(reads):
    """Of all pairs of ASCII characters, those in order are ranges; brackets, dashes and backslashes need an escape."""
    characters = [chr(code) for code in range(0x20, 0x7F) if chr(code) not in "\\]-^"]
    wrong = [(a, b) for a in characters for b in characters if reads(f"[{a}-{b}]") != (a <= b)]
    assert wrong == []


@pytest.mark.parametrize(("prefix", "digits"), [(r"\x", 2), (r"\u00", 2)])
def test_codes_of_a_range_are_in_order(reads, prefix, digits):
    """Two hexadecimal digits are compared exactly, in either case."""
    rng = random.Random(prefix)
    for _ in range(3000):
        low, high = rng.randrange(0x100), rng.randrange(0x100)
        high = low + rng.randint(-1, 1) if rng.random() < 0.3 and 0 < low < 0xFF else high
        spelled = [rng.choice([str.upper, str.lower])(f"{code:0{digits}x}") for code in (low, high)]
        assert reads(f"[{prefix}{spelled[0]}-{prefix}{spelled[1]}]") == (low <= high), spelled


@pytest.mark.parametrize(
    ("low", "high"), [(0x1234, 0x2000), (0x1234, 0x1300), (0x1200, 0x12FF), (0x1300, 0x12FF), (0xFF00, 0x1200)]
)
def test_long_codes_of_a_range_are_in_order(reads, low, high):
    """Four digits are compared by the first two, and by all where the lower end is the first of its block."""
    assert reads(rf"[\u{low:04X}-\u{high:04x}]") == (low <= high)


def test_counts_are_in_order(reads):
    """A count with two ends has the lower one first; {n,m} of three digits that agree in two is left out."""
    counts = [*range(40), 99, 100, 101, 110, 200, 999]
    wrong = [
        (n, m)
        for n in counts
        for m in counts
        if not (n >= 100 and n // 10 == m // 10) and reads(f"a{{{n},{m}}}") != (n <= m)
    ]
    assert wrong == []


@pytest.mark.parametrize("make", [ecma_pattern_regex, pattern_regex])
def test_the_expression_is_small(make):
    """The first compilation makes each of its parts, so their number is what it costs."""
    seen = set()
    waiting = [make()]
    while waiting:
        regex = waiting.pop()
        if regex not in seen:
            seen.add(regex)
            waiting += getattr(regex, "parts", ())
            waiting += [regex.inner] if isinstance(regex, (ast.Repeat, ast.Complement)) else []
    assert len(seen) < 1000
