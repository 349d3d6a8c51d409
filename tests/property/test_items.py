"""The items of a body read its symbols, and items with the same future are one."""

from __future__ import annotations

import random

import pytest

from schemagen.context_free.items import Items, Symbol, items_of, positions_of
from schemagen.context_free.syntax import (
    NOTHING,
    Alternatives,
    Expression,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    alternatives,
    repeat,
    sequence,
)
from schemagen.errors import LimitError


def _merged_in_rounds(edges: list[list[tuple[Symbol, int]]], accepting: set[int]) -> Items:
    """The definition, all items at once in each round."""
    same = list(range(len(edges)))
    while True:
        futures: dict[object, int] = {}
        new = [
            futures.setdefault((item in accepting, frozenset((symbol, same[to]) for symbol, to in leaving)), item)
            for item, leaving in enumerate(edges)
        ]
        if new == same:
            break
        same = new
    numbers = {item: number for number, item in enumerate(dict.fromkeys(same))}
    return Items(
        [
            sorted(
                {(symbol, numbers[same[to]]) for symbol, to in edges[item]}, key=lambda edge: (repr(edge[0]), edge[1])
            )
            for item in numbers
        ],
        {numbers[item] for item in numbers if item in accepting},
    )


def _body(generator: random.Random, depth: int) -> Expression:
    kind = generator.choice(["rule", "terminal", "sequence", "alternatives", "repeat"][: 5 if depth else 2])
    if kind in ("rule", "terminal"):
        return (Rule if kind == "rule" else Terminal)(generator.choice("abc"))
    if kind == "repeat":
        return repeat(_body(generator, depth - 1), *generator.choice([(0, 1), (0, None), (1, None), (2, 3), (0, 2)]))
    parts = [_body(generator, depth - 1) for _ in range(generator.randint(1, 3))]
    return sequence(*parts) if kind == "sequence" else alternatives(*parts)


def test_items_of_a_body_are_its_positions_merged_in_rounds() -> None:
    """Positions that share what follows them are told to be alike before any are merged; it makes no difference."""
    generator, fewer = random.Random(2), 0
    for _ in range(2000):
        body = _body(generator, 4)
        positions = positions_of(body)
        found = items_of(body)
        assert found == _merged_in_rounds(positions.edges, positions.accepting)
        fewer += len(found.edges) < len(positions.edges) and isinstance(body, Repeat)
    assert fewer > 50


#: Symbols of the texts that are compared.
LENGTH = 4
_Texts = frozenset[tuple[Symbol, ...]]


def _texts(body: Expression) -> _Texts:
    """Return the short texts of a body, by the definition of each operator."""
    if isinstance(body, Alternatives):
        return frozenset().union(*map(_texts, body.parts))
    if isinstance(body, Sequence):
        return _joined([_texts(part) for part in body.parts])
    if isinstance(body, Repeat):
        inner = _texts(body.inner)
        rounds = range(body.low, (LENGTH + body.low if body.high is None else body.high) + 1)
        return frozenset().union(*(_joined([inner] * count) for count in rounds))
    assert isinstance(body, Rule | Terminal)
    return frozenset({(body,)})


def _joined(parts: list[_Texts]) -> _Texts:
    out: _Texts = frozenset({()})
    for part in parts:
        out = frozenset((*left, *right) for left in out for right in part if len(left) + len(right) <= LENGTH)
    return out


def _read(items: Items) -> _Texts:
    """Return the short texts of items."""
    found, reached = set(), {((), 0)}
    for _ in range(LENGTH + 1):
        found |= {text for text, item in reached if item in items.accepting}
        reached = {((*text, symbol), to) for text, item in reached for symbol, to in items.edges[item]}
    return frozenset(found)


def test_items_read_the_texts_of_their_body() -> None:
    """Merged or not, they are automata of the language that the operators define."""
    generator = random.Random(3)
    for _ in range(1500):
        body = _body(generator, 4)
        assert _read(items_of(body)) == _read(positions_of(body)) == _texts(body)


def test_a_body_without_texts_has_no_end() -> None:
    """Its only item is the start."""
    assert items_of(NOTHING) == Items([[]], set())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (repeat(sequence(Rule("a"), Rule("b")), 40_000, None), "a rule of more than 50,000 symbols"),
        (repeat(repeat(Rule("a"), 1000, 1000), 1000, 1000), "a rule of more than 50,000 symbols"),
        (repeat(Rule("a"), 2**40, None), "a rule of more than 50,000 symbols"),
        (repeat(repeat(Rule("a"), 0, 1), 3000, 3000), "more than 1,000,000 pairs of symbols"),
    ],
)
def test_too_large_a_body_is_refused_at_once(body: Expression, said: str) -> None:
    """Before its repetitions are written out."""
    with pytest.raises(LimitError, match=said):
        items_of(body)
