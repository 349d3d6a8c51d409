"""The minimal automaton over bytes of a regular language, as the compiled core explores it.

Idea: over a vocabulary in which every byte is a token, the core's table over tokens is a deterministic automaton over bytes,
with live states only. Its states are merged by partition refinement (Hopcroft 1971), because a drawing should not have two
states with the same future.

Invariants: state 0 is the start; every state is reachable, and an end can be reached from it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.engine.native.lowering import compile_pattern
from schemagen.engine.options import Options
from schemagen.errors import LimitError
from schemagen.regex.graphs import blocks_of
from schemagen.threads.clock import Deadline
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.options import Limits
    from schemagen.regex import ast

#: Most states to build.
MAX_STATES = 20_000
#: Check the deadline every this many rows.
_AT_ONCE = 500
#: Numbers of `_core.TokenTable` that are not states: a dead end, and the end of the text.
_DEAD, _OVER, _FIRST = 0, 1, 3


@dataclass(frozen=True, slots=True)
class ByteAutomaton:
    """A deterministic automaton over bytes.

    Attributes:
        rows: The next state by byte, for each state; bytes that cannot follow are missing.
        finals: The states in which a text may end.
    """

    rows: list[dict[int, int]]
    finals: frozenset[int]

    def read(self, state: int, data: bytes) -> int | None:
        """Return the state after some bytes, None if they cannot follow."""
        for byte in data:
            following = self.rows[state].get(byte)
            if following is None:
                return None
            state = following
        return state


def byte_automaton(regex: ast.Regex, limits: Limits) -> ByteAutomaton:
    """Return the minimal automaton of a regular expression.

    Raises:
        LimitError: It has more than `MAX_STATES` states, or more than `Limits.max_states`, or takes too long.

    Cost: some 20 us a state.
    """
    from schemagen import _core

    deadline = Deadline(limits.max_seconds)
    try:
        table = _core.TokenTable(compile_pattern(regex, _bytes(), Options(limits=limits)))
        _close(table, min(MAX_STATES, limits.max_states), deadline)
    except LimitError as error:
        raise LimitError(
            error.fact,
            why="a finite automaton is built whole before it is drawn",
            fix="lower the bounds of repetitions and lengths, or draw 'mask', of a schema 'pushdown', instead",
        ) from error
    return _minimal(*_rows_of(table), deadline)


def _close(table: _core.TokenTable, most: int, deadline: Deadline) -> None:
    """Compute the rows of all states."""
    while not table.is_closed:
        deadline.check()
        table.expand(_AT_ONCE)
        if len(table) - _FIRST > most:
            raise LimitError(f"the automaton has more than {most:,} states")


@lru_cache(maxsize=1)
def _bytes() -> Vocabulary:
    return Vocabulary.byte_vocabulary()


def _rows_of(table: _core.TokenTable) -> tuple[list[dict[int, int]], set[int], int]:
    classes = table.classes()
    targets = table.transitions(range(_FIRST, len(table)))
    steps = targets[:, classes[:256]]
    rows = [{byte: int(row[byte]) - _FIRST for byte in (row >= _FIRST).nonzero()[0].tolist()} for row in steps]
    finals = set((targets[:, classes[256]] == _OVER).nonzero()[0].tolist())
    return rows, finals, table.start - _FIRST


def _minimal(rows: list[dict[int, int]], finals: set[int], start: int, deadline: Deadline) -> ByteAutomaton:
    """Return the automaton with one state for each block of equivalent states, in breadth-first order."""
    inverse: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in rows]
    for state, leaving in enumerate(rows):
        for byte, target in leaving.items():
            inverse[target][byte].append(state)
    block_of = blocks_of(inverse, set(range(len(rows))), finals, deadline.check)
    order = {block_of[start]: 0}
    members = [start]
    found: list[dict[int, int]] = []
    for state in members:  # the loop appends to it
        row: dict[int, int] = {}
        for byte, target in rows[state].items():
            block = block_of[target]
            if block not in order:
                order[block] = len(members)
                members.append(target)
            row[byte] = order[block]
        found.append(row)
    return ByteAutomaton(found, frozenset(at for at, state in enumerate(members) if state in finals))
