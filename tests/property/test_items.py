"""Items with the same future are one, however the rounds are taken."""

from __future__ import annotations

import random

from schemagen.context_free.items import Items, Symbol, _merged
from schemagen.context_free.syntax import Rule


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
        found = _merged(symbols, list(follow), accepting)
        edges = [[(symbols[at], at + 1) for at in behind] for behind in follow]
        assert found == _merged_in_rounds(edges, accepting)
        fewer += len(found.edges) <= count
    assert fewer > 1000
