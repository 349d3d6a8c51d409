"""Items with the same future are one, however the rounds are taken."""

from __future__ import annotations

import random

from schemagen.context_free.items import Items, Symbol, _Automaton, _merged, items_of, positions_of
from schemagen.context_free.syntax import Expression, Repeat, Rule, Terminal, alternatives, repeat, sequence


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


def test_items_are_merged_as_in_rounds_over_all_of_them() -> None:
    """Small random automata, loops among them."""
    generator, fewer = random.Random(1), 0
    for _ in range(4000):
        count = generator.randint(0, 8)
        symbols: list[Symbol] = [Rule(generator.choice("abc"[: generator.randint(1, 3)])) for _ in range(count)]
        follow = [
            set(generator.choices(range(count), k=generator.choice([0, 1, 1, 2]))) if count else set()
            for _ in range(count + 1)
        ]
        accepting = {item for item in range(count + 1) if generator.random() < 0.5}
        known: dict[tuple[bool, frozenset[int]], int] = {}
        kinds = [
            known.setdefault((item in accepting, frozenset(behind)), len(known)) for item, behind in enumerate(follow)
        ]
        ending = {kind for (ends, _), kind in known.items() if ends}
        found = _merged(_Automaton(symbols, kinds, [set(behind) for _, behind in known], ending))
        edges = [[(symbols[at], at + 1) for at in behind] for behind in follow]
        assert found == _merged_in_rounds(edges, accepting)
        fewer += len(found.edges) <= count
    assert fewer > 1000


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
