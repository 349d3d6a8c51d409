"""The core's answers about languages are those of Brzozowski's derivatives, taken of the expressions themselves."""

from __future__ import annotations

import random

import pytest

from schemagen.errors import LimitError
from schemagen.regex import Language, ast, is_empty, is_subset, matches
from schemagen.regex.automaton import eliminate_booleans
from schemagen.regex.edges import nullable

#: Characters of one to four bytes, their neighbours, and half of a surrogate pair, which is a character of `str`.
_LETTERS = "ab\x7f\x80é€\ud800\ue000\U0001f600"
_SETS = [
    *(((ord(letter), ord(letter)),) for letter in _LETTERS),
    ((97, 98),),
    ((0, 96), (98, ast.MAX_CODE_POINT)),
    ((0xE8, 0x20AC),),
    ((0xD7FF, 0xE000),),
    ((0x10000, ast.MAX_CODE_POINT),),
    (),
]
#: Derivatives of an expression that are looked at.
_MOST = 150


def derivative(regex: ast.Regex, character: str) -> ast.Regex:
    """Return the rests of the texts of an expression that begin with a character, by the definition of each operator."""
    if isinstance(regex, ast.Chars):
        return ast.EPSILON if any(low <= ord(character) <= high for low, high in regex.ranges) else ast.EMPTY
    if isinstance(regex, ast.Substring):
        places = [at + 1 for at, other in enumerate(regex.text) if other == character]
        return ast.union(*(ast.literal(regex.text[at:end]) for at in places for end in range(at, len(regex.text) + 1)))
    if isinstance(regex, ast.Concat):
        ways: list[ast.Regex] = []
        for at, part in enumerate(regex.parts):
            ways.append(ast.concat(derivative(part, character), *regex.parts[at + 1 :]))
            if not nullable(part):
                break
        return ast.union(*ways)
    if isinstance(regex, ast.Complement):
        return ast.complement(derivative(regex.inner, character))
    if isinstance(regex, ast.Repeat):
        low, high = max(regex.low - 1, 0), None if regex.high is None else regex.high - 1
        rest = ast.repeat(regex.inner, 0 if nullable(regex.inner) else low, high)
        return ast.concat(derivative(regex.inner, character), rest)
    parts = [derivative(part, character) for part in regex.parts]
    return ast.union(*parts) if isinstance(regex, ast.Alternation) else ast.conjunction(*parts)


def has_text(regex: ast.Regex) -> bool | None:
    """Whether an expression has a text of the letters; None if it has too many derivatives."""
    seen, found = {regex}, [regex]
    for state in found:
        if nullable(state):
            return True
        after = dict.fromkeys(derivative(state, letter) for letter in _LETTERS)
        found += [each for each in after if each not in seen]
        seen |= after.keys()
        if len(seen) > _MOST:
            return None
    return False


def drawn(rng: random.Random, depth: int) -> ast.Regex:
    """Return an expression with every operator."""
    kind = rng.randrange(8) if depth else 0
    if kind < 2:
        return ast.Chars(rng.choice(_SETS))
    if kind == 2:
        return ast.complement(drawn(rng, depth - 1))
    if kind == 3:
        low = rng.randrange(4)
        return ast.repeat(drawn(rng, depth - 1), low, rng.choice([None, low, low + rng.randrange(4)]))
    if kind == 4:
        return ast.substring("".join(rng.choices(_LETTERS, k=rng.randrange(5))))
    parts = [drawn(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
    return {5: ast.concat, 6: ast.union, 7: ast.conjunction}[kind](*parts)


def ends(regex: ast.Regex, text: str, start: int) -> list[int]:
    """Return where texts of an expression end that begin at a place."""
    found = []
    for at in range(start, len(text) + 1):
        if nullable(regex):
            found.append(at)
        if at < len(text):
            regex = derivative(regex, text[at])
    return found


@pytest.mark.parametrize("seed", range(300))
def test_answers_are_those_of_the_derivatives(seed: int) -> None:
    """Matching, emptiness, inclusion, and the expression without intersection and complement."""
    rng = random.Random(seed)
    regex, other = drawn(rng, 3), drawn(rng, 2)
    # The letters stand for all characters: no set tells more of them apart within the texts that are looked for.
    only = ast.star(ast.char_set(_LETTERS))
    language = Language(regex)
    try:
        plain = eliminate_booleans(regex)
    except LimitError:
        plain = regex
    for _ in range(20):
        text = "".join(rng.choices(_LETTERS, k=rng.randrange(6)))
        start = rng.randrange(len(text) + 1)
        expected = ends(regex, text, start)
        assert language.ends(text, start) == expected, (regex, text)
        assert language.matches(text[start:]) == matches(plain, text[start:]) == (len(text) in expected), (regex, text)
    both = ast.conjunction(regex, only)
    some = has_text(both)
    assert some is None or is_empty(both) is not some, regex
    beyond = has_text(ast.conjunction(both, ast.complement(other)))
    assert beyond is None or is_subset(both, other) is not beyond, (regex, other)


def test_emptiness_that_is_seen_at_once_is_that_of_the_derivatives() -> None:
    """Expressions with empty parts anywhere are empty if and only if no text matches."""
    generator = random.Random(5)

    def made(depth: int) -> ast.Regex:
        kind = generator.randrange(6) if depth else generator.randrange(2)
        if kind < 2:
            return ast.Chars(((97, 98),) if kind else ())
        parts = tuple(made(depth - 1) for _ in range(generator.randrange(3)))
        if kind < 4:
            return ast.Concat(parts) if kind == 2 else ast.Alternation(parts)
        low = generator.randrange(2)
        return ast.Repeat(made(depth - 1), low, None)

    empty = 0
    for _ in range(2000):
        regex = made(3)
        # The conjunction with itself is not seen at once, and has to be worked out.
        expected = is_empty(ast.Conjunction((regex, ast.ANY_STRING)))
        assert is_empty(regex) == expected, regex
        empty += expected
    assert 200 < empty < 1800


@pytest.mark.parametrize(("low", "high"), [(1, 2**32 - 1), (0, 2**32), (1, 2**40)])
def test_an_upper_count_beyond_the_core_is_no_end(low: int, high: int) -> None:
    """Counters of the core have 32 bits; a number that was cut off would be another language."""
    many = ast.Repeat(ast.literal("a"), low, high)
    assert matches(many, "aaa")
    assert not is_empty(ast.conjunction(many, ast.literal("aa")))


def test_a_lower_count_beyond_the_core_is_a_limit() -> None:
    """No text of this language fits into a memory."""
    with pytest.raises(LimitError, match="4294967296 times"):
        is_empty(ast.conjunction(ast.Repeat(ast.literal("a"), 2**32, None), ast.literal("aa")))
