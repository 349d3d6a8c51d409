"""Searches in automata of any kind: the states that are reached, and those with the same future."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence


State = TypeVar("State", bound="Hashable")


def reached(starts: Iterable[State], after: Callable[[State], Iterable[State]]) -> set[State]:
    """Return the states that can be reached from some states, these included.

    Args:
        starts: The states to begin with.
        after: The states directly after one.
    """
    found = set(starts)
    waiting = list(found)
    while waiting:
        for state in after(waiting.pop()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found


def blocks_of(
    inverse: Sequence[Mapping[int, Iterable[int]]],
    states: set[int],
    finals: set[int],
    check: Callable[[], object],
) -> dict[int, int]:
    """Return the block of each state, in the coarsest partition of equivalent states (Hopcroft 1971).

    Args:
        inverse: For each state the states that lead to it, by symbol.
        states: The states that matter; others are left out.
        finals: Those of them in which a text may end.
        check: Called for each block; raises when the time is over.
    """
    blocks = [block for block in (set(finals), states - finals) if block]
    block_of = {state: number for number, block in enumerate(blocks) for state in block}
    waiting = set(range(len(blocks)))
    while waiting:
        check()
        sources: defaultdict[int, set[int]] = defaultdict(set)
        for state in blocks[waiting.pop()]:
            for symbol, before in inverse[state].items():
                sources[symbol].update(before)
        for before in set(map(frozenset, sources.values())):
            _split(before & states, blocks, block_of, waiting)
    return block_of


def _split(
    states: set[int] | frozenset[int], blocks: list[set[int]], block_of: dict[int, int], waiting: set[int]
) -> None:
    """Split each block into its members in ``states`` and the others; the smaller part, at least, splits others later."""
    touched: defaultdict[int, set[int]] = defaultdict(set)
    for state in states:
        touched[block_of[state]].add(state)
    for number, inside in touched.items():
        if len(inside) == len(blocks[number]):
            continue
        blocks[number] -= inside
        new = len(blocks)
        blocks.append(inside)
        block_of.update(dict.fromkeys(inside, new))
        waiting.add(new if number in waiting or len(inside) <= len(blocks[number]) else number)
