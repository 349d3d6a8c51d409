"""A deterministic automaton -> a regular expression: minimise, then eliminate the states one by one.

Moore's partition refinement merges the states of equal languages; then the state with the fewest and shortest paths
through it is replaced by these paths, until only the start and the end are left (Brzozowski & McCluskey 1963).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.regex.ast import (
    EMPTY,
    EPSILON,
    Alternation,
    Chars,
    Concat,
    Conjunction,
    Regex,
    Substring,
    concat,
    repeat,
    star,
    union,
)
from schemagen.regex.edges import optional_of
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from schemagen.regex.alphabet import Alphabet

MAX_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Automaton:
    """States are numbers, 0 is the start; ``edges[s]`` maps a target to the set of classes that lead there."""

    edges: list[dict[int, int]]
    accepting: set[int]


def automaton_regex(automaton: Automaton, alphabet: Alphabet) -> Regex:
    """Return the language of an automaton as an expression without intersection and complement.

    Raises:
        LimitError: The expression would have more than `MAX_NODES` nodes.
    """
    small = minimise(_live(automaton))
    count = len(small.edges)
    start, end = count, count + 1
    paths: dict[int, dict[int, Regex]] = {state: {} for state in range(count + 2)}
    for source, targets in enumerate(small.edges):
        for target, bits in targets.items():
            paths[source][target] = Chars(alphabet.ranges(bits))
    for state in small.accepting:
        paths[state][end] = EPSILON
    if not small.accepting:
        return EMPTY
    paths[start][0] = EPSILON
    todo = set(range(count))
    while todo:
        poll()
        state = min(todo, key=lambda s: (_cost(paths, s), s))
        todo.discard(state)
        _eliminate(paths, state)
    return paths[start].get(end, EMPTY)


def _eliminate(paths: dict[int, dict[int, Regex]], state: int) -> None:
    """Replace a state by the paths through it."""
    outgoing = paths.pop(state)
    around = star(outgoing.pop(state, EMPTY))
    for targets in paths.values():
        into = targets.pop(state, None)
        if into is None:
            continue
        for target, out in outgoing.items():
            poll()
            through = _join(into, around, out)
            known = targets.get(target)
            if known is None:
                targets[target] = through
            elif EPSILON in (known, through):
                targets[target] = optional_of(through if known == EPSILON else known)
            else:
                targets[target] = union(known, through)
            _check_size(targets[target])


def _join(into: Regex, around: Regex, out: Regex) -> Regex:
    """Return ``into around out``, with ``x x*`` written as ``x+``."""
    if around not in (EPSILON, EMPTY):
        assert not isinstance(around, (Chars, Concat, Substring)), "star gives a repetition"
        inner = around.inner if not isinstance(around, (Alternation, Conjunction)) else None
        if inner is not None and into == inner:
            return concat(repeat(inner, 1, None), out)
        if inner is not None and out == inner:
            return concat(into, repeat(inner, 1, None))
    return concat(into, around, out)


def _cost(paths: dict[int, dict[int, Regex]], state: int) -> int:
    """Return how much longer all expressions become when ``state`` is eliminated."""
    poll()
    incoming = [targets[state] for source, targets in paths.items() if source != state and state in targets]
    outgoing = [path for target, path in paths[state].items() if target != state]
    sizes_in, sizes_out = sum(map(size, incoming)), sum(map(size, outgoing))
    own = size(paths[state][state]) if state in paths[state] else 0
    return (
        sizes_in * max(len(outgoing) - 1, 0)
        + sizes_out * max(len(incoming) - 1, 0)
        + own * (len(incoming) * len(outgoing) - 1)
    )


def size(regex: Regex) -> int:
    """Return the number of nodes of an expression."""
    count = 0
    stack = [regex]
    while stack:
        node = stack.pop()
        count += 1
        if isinstance(node, (Concat, Alternation, Conjunction)):
            stack.extend(node.parts)
        elif not isinstance(node, (Chars, Substring)):
            stack.append(node.inner)
    return count


def _check_size(regex: Regex) -> None:
    count = size(regex)
    if count > MAX_NODES:
        raise LimitError(
            f"{count} nodes are needed to write a pattern without look-arounds or intersections, limit {MAX_NODES}",
            fix="state the rule without look-arounds inside repetitions, or with smaller counters",
        )


def _live(automaton: Automaton) -> Automaton:
    """Leave out the states from which no accepting state can be reached; the start stays."""
    before: dict[int, set[int]] = {}
    for source, targets in enumerate(automaton.edges):
        for target in targets:
            before.setdefault(target, set()).add(source)
    live, stack = set(automaton.accepting), list(automaton.accepting)
    while stack:
        fresh = before.get(stack.pop(), set()) - live
        live |= fresh
        stack.extend(fresh)
    order = sorted(live | {0})
    number = {state: index for index, state in enumerate(order)}
    edges = [{number[t]: bits for t, bits in automaton.edges[s].items() if t in live} for s in order]
    return Automaton(edges, {number[state] for state in automaton.accepting})


def minimise(automaton: Automaton) -> Automaton:
    """Merge the states that accept the same texts (Moore 1956); a missing edge leads to the dead state."""
    count = len(automaton.edges)
    block = [int(state in automaton.accepting) for state in range(count)]
    blocks = len(set(block))
    while True:
        signatures: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
        refined = []
        for state in range(count):
            poll()
            merged = _merge_targets(automaton.edges[state], block)
            refined.append(signatures.setdefault((block[state], frozenset(merged.items())), len(signatures)))
        block = refined
        if len(signatures) == blocks:
            break
        blocks = len(signatures)
    edges: list[dict[int, int]] = [{} for _ in range(blocks)]
    for state in range(count):
        edges[block[state]] = _merge_targets(automaton.edges[state], block)
    return Automaton(edges, {block[state] for state in automaton.accepting})


def _merge_targets(edges: dict[int, int], block: list[int]) -> dict[int, int]:
    """Return the edges of a state with blocks for targets."""
    merged: dict[int, int] = {}
    for target, bits in edges.items():
        merged[block[target]] = merged.get(block[target], 0) | bits
    return merged
