"""The core makes trees, and answers about them, as `schemagen.regex.ast` has expressions: the same calls for both."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from schemagen import _core
from schemagen.context_free import regular
from schemagen.context_free.names import language_name
from schemagen.context_free.regular_rules import shortest
from schemagen.regex import ast
from schemagen.regex.edges import first_characters

_LETTERS = "abcd-\u00e9\ud83d\udc00\U0001f600"
_RANGES = ((97, 99), (98, 98), (100, 100), (0, 0x10FFFF), (0xD800, 0xDFFF), (45, 47), (48, 96))
_COUNTS = (0, 0, 1, 1, 2, 3, 70, 2**32 - 1, 2**40)

_Pair = tuple[int, ast.Regex]
_CONSTANTS = (ast.EMPTY, ast.EPSILON, ast.ANY_CHAR, ast.ANY_STRING, regular.SOME_TEXT)


def _text(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.choice((0, 1, 1, 2, 5))))


def _leaf(rng: random.Random, trees: _core.RegexTrees) -> _Pair:
    kind = rng.randrange(3)
    if kind == 0:
        ranges = rng.choices(_RANGES, k=rng.randrange(4))
        return trees.chars(ranges), ast.chars(*ranges)
    text = _text(rng)
    return (trees.literal(text), ast.literal(text)) if kind == 1 else (trees.substring(text), ast.substring(text))


def _joined(rng: random.Random, trees: _core.RegexTrees, known: list[_Pair]) -> _Pair:
    """A call with parts, a few of them or so many that they are looked up in another way."""
    pool = known if rng.random() < 0.5 else known[-8:]
    picked = rng.choices(pool, k=rng.choice((0, 1, 2, 2, 3, 4, 40)))
    ids, parts = [each for each, _ in picked], [each for _, each in picked]
    native, python = rng.choice(
        ((trees.concat, ast.concat), (trees.alternation, ast.union), (trees.conjunction, ast.conjunction))
    )
    return native(ids), python(*parts)


def _step(rng: random.Random, trees: _core.RegexTrees, known: list[_Pair]) -> _Pair:
    """The next call, by the core and in Python."""
    kind = rng.choice(("leaf", "leaf", "joined", "joined", "joined", "repeat", "repeat", "complement"))
    if kind == "leaf":
        return _leaf(rng, trees)
    if kind == "joined":
        return _joined(rng, trees, known)
    native, python = rng.choice(known)
    if kind == "complement":
        return trees.complement(native), ast.complement(python)
    low = rng.choice(_COUNTS)
    high = rng.choice((None, low, low + 1, low + 2))
    return trees.repeat(native, low, high), ast.repeat(python, low, high)


def _program(seed: int, steps: int = 60) -> tuple[_core.RegexTrees, list[_Pair]]:
    rng = random.Random(seed)
    trees = _core.RegexTrees()
    known: list[_Pair] = list(enumerate(_CONSTANTS))
    for _ in range(steps):
        pair = _step(rng, trees, known)
        if regular.size_of(pair[1])[0] < 2_000:
            known.append(pair)
    return trees, known


def _check(trees: _core.RegexTrees, native: int, python: ast.Regex) -> None:
    assert trees.ast_of(native) == python
    assert trees.tree_of(python) == native
    assert trees.nullable(native) == regular.is_nullable(python)
    assert trees.size_of(native) == regular.size_of(python)
    assert trees.only_text(native) == regular.only_text(python)


@pytest.mark.parametrize("seed", range(150))
def test_the_same_calls_make_the_same_expressions(seed: int) -> None:
    """A tree and the expression of the same calls are equal, and so is all that is said about them."""
    trees, known = _program(seed)
    for native, python in known:
        _check(trees, native, python)
        assert trees.ast_of(trees.shortest(native)) == shortest(python)
        nonempty = regular.nonempty(python)
        _check(trees, trees.nonempty(native), nonempty)
        assert trees.tree_of(nonempty) == trees.nonempty(native)


@pytest.mark.parametrize("seed", range(50))
def test_other_trees_take_expressions_as_they_are(seed: int) -> None:
    """Trees that were not made by the same calls get an expression as it is, and have it once."""
    _, known = _program(seed)
    trees = _core.RegexTrees()
    for _, python in reversed(known):
        assert trees.ast_of(trees.tree_of(python)) == python
    before = len(trees)
    for _, python in known:
        trees.tree_of(python)
    assert len(trees) == before


@pytest.mark.parametrize("seed", range(20))
def test_patterns_in_messages(seed: int) -> None:
    """The core writes most of them itself, in the same way."""
    trees, known = _program(seed)
    written = 0
    for native, python in known:
        pattern = trees.pattern_text(native, 10**6)
        if pattern is None or regular.only_text(python) is not None:
            continue
        assert f"/{pattern}/" == language_name(python, shorten=False)
        assert (trees.pattern_text(native, 10) or "")[:10] == pattern[:10]
        written += 1
    assert written > 5


def _has_operators(regex: ast.Regex) -> bool:
    if isinstance(regex, ast.Conjunction | ast.Complement):
        return True
    if isinstance(regex, ast.Repeat):
        return _has_operators(regex.inner)
    return isinstance(regex, ast.Concat | ast.Alternation) and any(map(_has_operators, regex.parts))


def test_first_characters() -> None:
    """Plain expressions begin with the same characters as their counterparts."""
    compared = 0
    for seed in range(150):
        trees, known = _program(seed)
        for native, python in known:
            if _has_operators(python):
                continue
            found = trees.first_characters(native)
            assert found is not None
            compared += 1
            assert tuple(found) == first_characters(python), python
    assert compared > 1_000


def test_first_characters_of_operators() -> None:
    """What comes before the first intersection or complement may tell the characters."""
    trees = _core.RegexTrees()
    a, text = trees.literal("a"), trees.substring("bac")
    other = trees.complement(a)
    assert trees.first_characters(other) is None
    assert trees.first_characters(trees.concat([a, other])) == [(97, 97)]
    assert trees.first_characters(trees.concat([trees.repeat(a, 0, 1), other])) is None
    assert trees.first_characters(trees.concat([trees.repeat(text, 0, 1), trees.literal("-")])) == [(45, 45), (97, 99)]


def test_operators_are_counted_up_to_a_bound() -> None:
    """Shared parts make trees whose operators 64 bits cannot count, and nothing walks through them all."""
    trees = _core.RegexTrees()
    tree = trees.literal("ab")
    for _ in range(100):
        tree = trees.concat([trees.repeat(tree, 0, 2), trees.repeat(tree, 3, 4)])
    assert trees.size_of(tree) == (2**62, 202)
    assert trees.first_characters(tree) == [(97, 97)]
    assert trees.nullable(trees.nonempty(trees.repeat(tree, 0, None))) is False


def _nested(step: Callable[[ast.Regex, int], ast.Regex], depth: int) -> ast.Regex:
    regex: ast.Regex = ast.char_set("a")
    for number in range(depth):
        regex = step(regex, number)
    return regex


@pytest.mark.parametrize(
    "step",
    [
        lambda inner, _: ast.Repeat(inner, 0, 3),
        lambda inner, k: ast.Repeat(inner, 1, 3) if k % 2 else ast.Concat((ast.char_set("b"), inner)),
        lambda inner, k: ast.Repeat(inner, 0, 3) if k % 2 else ast.Complement(inner),
    ],
)
def test_deep_expressions(step: Callable[[ast.Regex, int], ast.Regex]) -> None:
    """Depth takes no stack."""
    depth = 20_000
    trees = _core.RegexTrees()
    tree = trees.tree_of(_nested(step, depth))
    assert trees.size_of(tree)[1] == depth + 1
    made = trees.ast_of(tree)
    fresh = _core.RegexTrees()
    assert fresh.size_of(fresh.tree_of(made)) == trees.size_of(tree)
    trees.first_characters(tree)
    less_deep = trees.tree_of(_nested(step, 500))  # without the empty text an expression may be as long as it is deep
    assert not trees.nullable(trees.nonempty(less_deep))


def test_refused() -> None:
    """Ids, counts and objects that mean nothing are errors; a count beyond 63 bits is the highest one."""
    trees = _core.RegexTrees()
    with pytest.raises(ValueError, match="there is no such tree"):
        trees.complement(len(trees))
    with pytest.raises(ValueError, match="negative"):
        trees.repeat(2, -1, None)
    with pytest.raises(TypeError, match="no regular expression"):
        trees.tree_of(ast.Concat(("a",)))  # type: ignore[arg-type]
    assert trees.ast_of(trees.repeat(2, 2**70, None)) == ast.Repeat(ast.ANY_CHAR, 2**64 - 2, None)
