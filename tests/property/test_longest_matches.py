"""Which patterns `re` takes the longest match of: `is_simple` says so of none where that is wrong."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from schemagen import _core
from schemagen.context_free.lark.python_re import branches_of, is_simple
from schemagen.regex.dialects import parse_any

CHARACTERS, LONGEST = "abcA|", 4
TEXTS = ["".join(text) for length in range(LONGEST + 1) for text in itertools.product(CHARACTERS, repeat=length)]


def _pattern(generator: random.Random, depth: int) -> str:
    kind = generator.random()
    if not depth or kind < 0.25:
        return generator.choice(["a", "b", "[ab]", "c", "[^a]", "ab", r"\|", "[|]"])
    if kind < 0.45:
        return f"(?:{'|'.join(_pattern(generator, depth - 1) for _ in range(generator.randint(2, 3)))})"
    if kind < 0.6:
        return f"(?:{_pattern(generator, depth - 1)}){generator.choice(['*', '+', '?', '*?', '+?', '??', '{1,2}'])}"
    return _pattern(generator, depth - 1) + _pattern(generator, depth - 1)


def test_where_it_says_so_re_takes_the_longest_match() -> None:
    """Of every text of some characters; branches, lazy repetitions and parts that may be empty among the patterns."""
    generator, simple, branched = random.Random(5), 0, 0
    for _ in range(700):
        pattern = "|".join(_pattern(generator, 2) for _ in range(generator.randint(1, 3)))
        if generator.random() < 0.2:
            pattern = f"(?i:{pattern})"
        if not is_simple(pattern):
            continue
        simple += 1
        branched += len(branches_of(pattern)) > 1
        compiled = re.compile(pattern)
        for text in TEXTS:
            found = compiled.match(text)
            longest = max((end for end in range(len(text) + 1) if compiled.fullmatch(text, 0, end)), default=None)
            assert (found and found.end()) == longest, (pattern, text)
    assert simple > 150
    assert branched > 50


def _rounds(generator: random.Random) -> str:
    """A repetition between characters, or a choice of texts."""
    texts = ["a", "b", "ab", "ba", "aab", "[ab]", "[^a]", "c", "aa", "bb"]
    if generator.random() < 0.3:
        return (
            f"(?:{'|'.join(generator.choices(['a', 'b', 'ab', 'ba', 'aab', 'abc', 'c'], k=generator.randint(2, 4)))})"
        )
    inner = "|".join(generator.choices(texts, k=generator.randint(1, 3)))
    sign = generator.choice(["*", "+", "?", "{1,2}", "{2}"])
    begin, end = ("".join(generator.choices(["a", "b", "[ab]"], k=generator.randint(0, 2))) for _ in range(2))
    return f"{begin}({inner}){sign}{end}"


def test_where_the_core_says_so_re_takes_the_longest_match() -> None:
    """Of repetitions between characters, and of choices of texts."""
    generator, longest = random.Random(6), 0
    for _ in range(1_500):
        pattern = _rounds(generator)
        regex = _core.longest_match(pattern)
        if regex is None:
            continue
        longest += 1
        assert regex == parse_any(pattern, "python", search=False)
        compiled = re.compile(pattern)
        for text in TEXTS:
            found = compiled.match(text)
            ends = [end for end in range(len(text) + 1) if compiled.fullmatch(text, 0, end)]
            assert (found and found.end()) == max(ends, default=None), (pattern, text)
    assert longest > 500


@pytest.mark.parametrize(
    ("pattern", "simple"),
    [
        (r"0[xX][0-9a-f]+|[0-9]+(\.[0-9]*)?", True),  # two branches begin alike, and neither goes on as the other
        (r"/\*([^*]|\*+[^*/])*\*+/", True),  # ambiguous, but no comment begins another one
        (r"'([^']|'')*'", True),  # the text tells where each round ends
        (r"'([^']|'')*''?", False),
        ("(?:<>|<=|<)", True),
        ("(?:<|<=)", False),
        (r"a*?b", True),
        (r"ab|a", True),
        (r"a|ab", False),
        (r"a(b*|c)", False),
        (r"a(c|b*)", True),
        (r"a(?=b)", False),
        (r"(a|ab)(c|bcd)", False),
    ],
)
def test_simple_patterns(pattern: str, simple: bool) -> None:
    """Of the kinds that grammars have."""
    assert is_simple(pattern) is simple


@pytest.mark.parametrize(
    ("pattern", "branches"),
    [
        ("a|b", ["(?:a)", "(?:b)"]),
        ("(?i:a|b)", ["(?i:a)", "(?i:b)"]),
        ("(?i:a)|(?i:b)", ["(?:(?i:a))", "(?:(?i:b))"]),
        (r"[|]\|(a|b)", [r"[|]\|(a|b)"]),
        (r"[]|]|[^]|]|[\]|]", ["(?:[]|])", "(?:[^]|])", r"(?:[\]|])"]),
    ],
)
def test_branches(pattern: str, branches: list[str]) -> None:
    """Bars in sets, in brackets and after a backslash part nothing."""
    assert branches_of(pattern) == branches
