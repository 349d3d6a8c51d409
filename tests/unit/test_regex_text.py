"""Matching, emptiness, and Python text of expressions that no pattern syntax has."""

from __future__ import annotations

import random
import re
import sys

import pytest

from schemagen.errors import LimitError, UnsupportedPatternError
from schemagen.regex import Language, is_empty, is_subset, matches, parse_ecma, parse_python, to_python_re
from schemagen.regex.ast import (
    ANY_CHAR,
    ANY_STRING,
    EMPTY,
    EPSILON,
    Regex,
    char_set,
    complement,
    concat,
    conjunction,
    literal,
    optional,
    repeat,
    star,
    union,
)
from schemagen.regex.automaton import eliminate_booleans
from schemagen.regex.edges import nullable, restrict_first, restrict_last
from schemagen.regex.language import has_longest_text
from schemagen.regex.unicode import _cased, binary_property, fold_case, general_category, python_class, script

AB = char_set("ab")
HAS_A = concat(ANY_STRING, literal("a"), ANY_STRING)
HAS_B = concat(ANY_STRING, literal("b"), ANY_STRING)
TEXTS = ["", "a", "b", "ab", "ba", "aab", "abb", "abab", "c", "ac", "bca", "aaaa", "\n", "a\n", "cab"]


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (conjunction(HAS_A, HAS_B), lambda s: "a" in s and "b" in s),
        (complement(HAS_A), lambda s: "a" not in s),
        (conjunction(star(AB), complement(literal("ab"))), lambda s: set(s) <= set("ab") and s != "ab"),
        (concat(conjunction(repeat(AB, 2, 2), HAS_A), literal("b")), lambda s: s in {"aab", "abb", "bab"}),
        (star(conjunction(repeat(AB, 2, 2), HAS_A)), lambda s: re.fullmatch("(?:aa|ab|ba)*", s)),
        (concat(complement(HAS_A), literal("a")), lambda s: s.count("a") == 1 and s.endswith("a")),
        (repeat(optional(literal("a")), 3, 5), lambda s: re.fullmatch("a{0,5}", s)),
        (repeat(union(literal("a"), literal("ab")), 2, 3), lambda s: re.fullmatch("(?:ab?){2,3}", s)),
        (concat(star(literal("a")), conjunction(HAS_B, ANY_STRING)), lambda s: "b" in s),
        (union(EPSILON, conjunction(HAS_A, complement(HAS_B))), lambda s: not s or ("a" in s and "b" not in s)),
        (EMPTY, lambda _: False),
        (ANY_CHAR, lambda s: len(s) == 1),
        (complement(EPSILON), bool),
        (conjunction(ANY_CHAR, complement(literal("a"))), lambda s: len(s) == 1 and s != "a"),
    ],
)
def test_boolean_operators_match_and_print(regex: Regex, expected: object) -> None:
    """Derivatives, the Python text, and the expression without booleans all denote the same language."""
    assert callable(expected)
    text, plain = re.compile(to_python_re(regex)), eliminate_booleans(regex)
    for sample in TEXTS:
        wanted = bool(expected(sample))
        assert matches(regex, sample) == wanted, sample
        assert bool(text.fullmatch(sample)) == wanted, (sample, text.pattern)
        assert matches(plain, sample) == wanted, sample


def test_counters_are_not_unrolled() -> None:
    """A repetition of a hundred million characters costs a state per character read, not per character possible."""
    recogniser = Language(repeat(AB, 3, 100_000_000))
    nodes = recogniser.place.core.size
    assert recogniser.matches("ab" * 50)
    assert not recogniser.matches("ab")
    assert not recogniser.matches("abc")
    assert recogniser.place.core.size - nodes < 300


@pytest.mark.parametrize(
    ("regex", "empty"),
    [
        (EMPTY, True),
        (EPSILON, False),
        (ANY_STRING, False),
        (repeat(AB, 100_000_000, None), False),
        (conjunction(literal("a"), literal("b")), True),
        (conjunction(HAS_A, complement(HAS_A)), True),
        (conjunction(star(literal("a")), HAS_B), True),
        (conjunction(parse_ecma("^x-"), parse_ecma("^y-")), True),
        (conjunction(parse_ecma("^\\w+$"), parse_ecma("-")), True),
        (conjunction(parse_ecma("a$"), parse_ecma("^b")), False),
        (complement(union(HAS_A, complement(HAS_A))), True),
    ],
)
def test_is_empty(regex: Regex, empty: bool) -> None:
    """Emptiness is decided exactly, and without counting where nothing is intersected."""
    assert is_empty(regex) is empty


def test_is_empty_stops_at_its_limit() -> None:
    """A question that needs too many states is refused with both numbers."""
    deep = conjunction(repeat(AB, 100_000, 100_000), complement(HAS_A))
    with pytest.raises(LimitError, match="unknown after 50 derivatives"):
        is_empty(deep, max_states=50)


def test_is_subset() -> None:
    """Inclusion of languages is decided."""
    assert is_subset(literal("a"), AB)
    assert not is_subset(AB, literal("a"))
    assert not is_subset(star(AB), repeat(AB, 1, None))
    assert is_subset(parse_ecma("^\\d{4}$"), parse_ecma("^\\d+$"))


def drawn(rng: random.Random, depth: int, *, plain: bool) -> Regex:
    """Return a random expression of at most 27 characters, but for repetitions without a bound."""
    kind = rng.randrange(4 if plain else 6) if depth else 0
    inner = [drawn(rng, depth - 1, plain=plain) for _ in range(rng.randint(1, 2))] if kind else []
    if kind == 1:
        return concat(*inner)
    if kind == 2:
        return union(*inner)
    if kind == 3:
        return repeat(inner[0], rng.randint(0, 1), rng.choice([1, 2, 3, None]))
    if kind == 4:
        return conjunction(*inner)
    return complement(inner[0]) if kind == 5 else rng.choice([literal("a"), AB, EPSILON])


@pytest.mark.parametrize("plain", [True, False])
def test_longest_texts(plain: bool) -> None:
    """Whether there is one is what inclusion says; with intersections and complements, a yes is certain."""
    rng, seen = random.Random(7), set()
    for _ in range(400):
        regex = drawn(rng, 3, plain=plain)
        bounded = is_subset(regex, repeat(ANY_CHAR, 0, 27))
        assert has_longest_text(regex) <= bounded
        assert not plain or has_longest_text(regex) == bounded
        seen.add(bounded)
    assert seen == {True, False}


def test_text_that_python_cannot_express_is_refused() -> None:
    """An intersection that is followed by text, and too large to be written out, is an error that says so."""
    wide = parse_ecma("^(?=.*a.{12}$).*$")
    assert re.fullmatch(to_python_re(wide), "a" + "x" * 12)
    with pytest.raises(UnsupportedPatternError, match="followed by other text"):
        to_python_re(concat(wide, literal("\n")))


def test_restrictions_are_exact() -> None:
    """Restricting the first or last character intersects with exactly that condition."""
    for pattern in ["a*b?", "(?:a|bc)*", "a?b?c?a?b?c?a", "[ab]{2,3}", "(?:a?|b){2}", "abc|", "(?:a|b)*a"]:
        regex = parse_python(pattern)
        for edge in (False, True):
            first = restrict_first(regex, AB.ranges[:1], edge=edge)
            last = restrict_last(regex, char_set("b").ranges, edge=edge)
            for text in ["", "a", "b", "ab", "c", "ba", "aab", "bc", "cb", "abca", "bca"]:
                inside = matches(regex, text)
                assert matches(first, text) == (inside and (text[:1] in {"a", "b"} or (edge and not text)))
                assert matches(last, text) == (inside and (text[-1:] == "b" or (edge and not text)))
    assert nullable(conjunction(star(AB), complement(literal("a"))))


def test_case_variants_are_those_of_re() -> None:
    """Folding with the Turkish i is what Python's `re` does under IGNORECASE, checked over a sample of cased letters."""
    cased = [point for point in range(sys.maxunicode) if chr(point).lower() != chr(point).upper()]
    everything = "".join(map(chr, cased))
    for point in cased[::23]:
        found = {ord(c) for c in re.findall("(?i)" + re.escape(chr(point)), everything)}
        ranges = fold_case(((point, point),), ascii_only=False, dotless=True)
        assert {p for low, high in ranges for p in range(low, high + 1)} == found, hex(point)


def test_classes_of_re_and_cased_letters_are_found_in_all_planes() -> None:
    """The planes that are not searched have no character with a case, and none of a class."""
    classes = {"d": str.isdecimal, "s": str.isspace, "w": lambda c: c.isalnum() or c == "_"}
    points = {
        letter: {point for low, high in python_class(letter) for point in range(low, high + 1)} for letter in classes
    }
    cased = set(_cased())
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        assert (point in cased) == (character.lower() != character or character.upper() != character), hex(point)
        for letter, belongs in classes.items():
            assert (point in points[letter]) == belongs(character), (letter, hex(point))


def test_unicode_sets() -> None:
    """Categories partition the code points; scripts and properties hold what they should."""
    names = ["L", "M", "N", "P", "S", "Z", "C"]
    total = sum(high - low + 1 for name in names for low, high in general_category(name) or ())
    assert total == sys.maxunicode + 1
    assert general_category("Lx") is None
    assert binary_property("Emoji_Nonsense") is None
    assert script("Latn") == script("Latin")
    assert script("Elvish") is None
