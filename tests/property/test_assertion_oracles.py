"""What makes patterns with assertions and many alternatives fast leaves their languages as they are: the slow ways are oracles."""

from __future__ import annotations

import random

import pytest

from schemagen.context_free.lark import python_re
from schemagen.context_free.syntax import MARK
from schemagen.regex import ast, parse_python
from schemagen.regex.assertions import NotAlgebraicError, Translator
from schemagen.regex.automaton import pattern_language
from schemagen.regex.edges import restrict_first, restrict_last
from schemagen.regex.language import is_subset
from schemagen.regex.parse import parse_syntax

_ATOMS = [
    r"\b",
    r"\B",
    r"\w+",
    r"\w",
    ".*",
    "a",
    "-",
    r"\W*",
    "(?=a)",
    "(?!b)",
    "(?<=a)",
    "(?<!-)",
    "^",
    "$",
    "a?",
    "[a-]*",
]


def same(one: ast.Regex, other: ast.Regex) -> bool:
    """Whether two languages are one."""
    return is_subset(one, other) and is_subset(other, one)


def sequences(seed: int, count: int) -> list[str]:
    """Return patterns of a few parts each."""
    generator = random.Random(seed)
    return ["".join(generator.choices(_ATOMS, k=generator.randint(2, 6))) for _ in range(count)]


@pytest.mark.parametrize("pattern", [r"\b\w+\b.*" * 3, *sequences(1, 60)])
def test_translation_is_what_the_automaton_says(pattern: str) -> None:
    """The algebraic translation and the automaton, which runs all ways at once, agree."""
    syntax = parse_syntax(pattern, python=True, text_groups=False)
    translator = Translator(syntax)
    try:
        translated = translator.translate(syntax, translator.same(ast.EPSILON))[0]
    except NotAlgebraicError:
        pytest.skip("the automaton alone reads it")
    assert same(translated, pattern_language(syntax, ast.EPSILON)), pattern


@pytest.mark.parametrize(
    "pattern", ["a*b", "a?b?c?d", "a*[ab]*b*", "(?:a|bc)*c", "(?:ab)?(?:a|b*)c*", "a?b?c?d?", "a*b*c*d*e*f"]
)
@pytest.mark.parametrize("allowed", ["a", "b", "ac", "d", "x"])
def test_restrictions_are_intersections(pattern: str, allowed: str) -> None:
    """The matches that begin, or end, with some characters are an intersection, written shorter."""
    regex, some = parse_python(pattern), ast.char_set(allowed)
    first = restrict_first(regex, some.ranges, edge=False)
    assert same(first, ast.conjunction(regex, ast.concat(some, ast.ANY_STRING)))
    last = restrict_last(regex, some.ranges, edge=False)
    assert same(last, ast.conjunction(regex, ast.concat(ast.ANY_STRING, some)))


def test_boundaries_in_a_row_take_room_in_proportion() -> None:
    """A word boundary does not repeat what stands behind it."""
    sizes = []
    for count in (10, 20, 40):
        syntax = parse_syntax(r"\b\w+\b.*" * count, python=True, text_groups=False)
        translator = Translator(syntax)
        (language, *_) = translator.translate(syntax, translator.same(ast.EPSILON))
        assert isinstance(language, ast.Concat)
        sizes.append(len(language.parts))
    assert sizes == [20, 40, 80]


_BRANCHES = [
    "a",
    "ab",
    "abc",
    "b",
    "ba",
    "a*",
    "a?b",
    "",
    "(?:ab|a)c",
    "[ab]b",
    "(?i:a)b",
    "aa",
    "a+?b",
    "(?!ab)a",
    MARK,
    f"a{MARK}b",
]


def branches(seed: int, count: int) -> list[str]:
    """Return choices, some of them followed by a part that another branch may need."""
    generator = random.Random(seed)
    drawn = []
    for _ in range(count):
        inner = "|".join(generator.choices(_BRANCHES, k=generator.randint(2, 5)))
        drawn.append(f"(?:{inner}){generator.choice(['', 'c', 'b?', '(?:b|bc)'])}")
    return drawn


@pytest.mark.parametrize("pattern", branches(2, 60))
def test_branches_that_cannot_match_where_another_does_matter_to_none(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all branches before each as rivals the language is the same."""
    taken = python_re._taken.__wrapped__
    fast = taken(pattern)
    monkeypatch.setattr(python_re, "_rivals", lambda beginnings: [list(range(at)) for at in range(len(beginnings))])
    assert same(fast, taken(pattern)), pattern


def test_most_keywords_are_no_rivals() -> None:
    """A branch has as rivals those before it that it begins with, or that begin with it."""
    assert list(python_re._rivals(["ab", "b", "abc", "a", "", "b", "c"])) == [
        [],
        [],
        [0],
        [0, 2],
        [0, 1, 2, 3],
        [1, 4],
        [4],
    ]
