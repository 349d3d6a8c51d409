"""The finite automaton of a regular language, as a drawing.

The core reads bytes. The drawing shows only the states between two characters, with an edge for all characters that lead from
one to another: the bytes of a character outside of ASCII are one step. A chain of states with one character each becomes one
edge with the whole text. So the drawing is an automaton over characters of the same language, with fewer states.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.draw.drawing import Drawing, Edge, Node, class_label, text_label
from schemagen.regex.ast import normalise_ranges

if TYPE_CHECKING:
    from schemagen.draw.byte_automaton import ByteAutomaton
    from schemagen.regex.ast import Ranges

#: Limit of the states to explore, far more than a picture can show.
MAX_EXPLORED = 4_000
#: Longest text at an edge, in characters; a longer one loses its middle.
MAX_LABEL = 48
_ASCII = 0x80
#: First byte of an encoding -> the number of bytes that follow, and its bits of the code point.
_LEADS = {
    **{byte: (1, byte & 0x1F) for byte in range(0xC2, 0xE0)},
    **{byte: (2, byte & 0x0F) for byte in range(0xE0, 0xF0)},
    **{byte: (3, byte & 0x07) for byte in range(0xF0, 0xF5)},
}


@dataclass(frozen=True, slots=True)
class Move:
    """A text that leads from one state to another: one character of a set, or several fixed ones."""

    label: str
    target: int


class Characters:
    """An automaton over bytes, read by characters.

    Args:
        machine: The automaton over bytes, of valid UTF-8.
    """

    def __init__(self, machine: ByteAutomaton) -> None:
        self._rows = machine.rows
        self._known: dict[tuple[int, int], dict[int, Ranges]] = {}

    def after(self, state: int) -> dict[int, Ranges]:
        """Return the next states between characters, each with the characters that lead to it."""
        found: dict[int, list[tuple[int, int]]] = {}
        for byte in range(_ASCII):
            target = self._step(state, byte)
            if target is not None:
                found.setdefault(target, []).append((byte, byte))
        for byte, (count, bits) in _LEADS.items():
            middle = self._step(state, byte)
            if middle is not None:
                _shift(found, self._rest(middle, count), bits << 6 * count)
        return {target: normalise_ranges(ranges) for target, ranges in found.items()}

    def _step(self, state: int, byte: int) -> int | None:
        return self._rows[state].get(byte)

    def _rest(self, state: int, count: int) -> dict[int, Ranges]:
        """Return the bits that the last ``count`` bytes of a character add to its code point, by the state after them."""
        if count == 0:
            return {state: ((0, 0),)}
        known = self._known.get((state, count))
        if known is None:
            found: dict[int, list[tuple[int, int]]] = {}
            for bits in range(0x40):
                following = self._step(state, 0x80 | bits)
                if following is not None:
                    _shift(found, self._rest(following, count - 1), bits << 6 * (count - 1))
            known = {target: normalise_ranges(ranges) for target, ranges in found.items()}
            self._known[state, count] = known
        return known


def _shift(found: dict[int, list[tuple[int, int]]], rest: dict[int, Ranges], by: int) -> None:
    for target, ranges in rest.items():
        found.setdefault(target, []).extend((low + by, high + by) for low, high in ranges)


def draw_automaton(machine: ByteAutomaton, *, max_states: int) -> Drawing:
    """Return the automaton over characters.

    Args:
        machine: The automaton over bytes.
        max_states: Most states to draw, those nearest to the start; one node replaces all others.

    Cost: about 0.2 ms a state, for at most `MAX_EXPLORED` states.
    """
    rows, finals = _explored(machine), machine.finals
    moves = _joined(rows, finals)
    order = list(moves)  # the nearest first
    names = {state: f"s{i}" for i, state in enumerate(order[:max_states])}
    nodes = [Node("start", "", "start")]
    nodes += [Node(name, name[1:], "accepting" if state in finals else "state") for state, name in names.items()]
    edges = [Edge("start", "s0")]
    for state, name in names.items():
        for move in moves[state]:
            if move.target in names:
                edges.append(Edge(name, names[move.target], _short(move.label)))
            else:
                edges.append(Edge(name, "more", _short(move.label), "more"))
    drawn = f"{len(names)} {'state' if len(names) == 1 else 'states'}, those that may end the text are double"
    left = len(order) - len(names)
    if not left:
        return Drawing(tuple(nodes), tuple(edges), drawn)
    is_whole = all(target in rows for row in rows.values() for target in row)
    more = f"{'' if is_whole else 'at least '}{left:,} more {'state' if left == 1 else 'states'}"
    return Drawing((*nodes, Node("more", f"… {more}", "more")), tuple(edges), f"{drawn}; {more} not drawn")


def _explored(machine: ByteAutomaton) -> dict[int, dict[int, Ranges]]:
    """Return the states between characters, the nearest first, and the characters between them."""
    characters = Characters(machine)
    found: dict[int, dict[int, Ranges]] = {}
    waiting = deque([0])
    seen = set(waiting)
    while waiting and len(found) < MAX_EXPLORED:
        state = waiting.popleft()
        found[state] = characters.after(state)
        new = [target for target in found[state] if target not in seen]
        seen.update(new)
        waiting.extend(new)
    return found


def _joined(rows: dict[int, dict[int, Ranges]], finals: frozenset[int]) -> dict[int, list[Move]]:
    """Join chains of single characters into one move; return the moves of the remaining states."""
    entered = Counter(target for row in rows.values() for target in row)
    start = next(iter(rows))

    def character(ranges: Ranges) -> str | None:
        return chr(ranges[0][0]) if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else None

    def link(state: int) -> tuple[str, int] | None:
        """Return the only character after a state that can be left out, and its target; None for other states."""
        row = rows.get(state, {})
        if state == start or state in finals or entered[state] != 1 or len(row) != 1:
            return None
        ((target, ranges),) = row.items()
        only = character(ranges)
        return None if only is None else (only, target)

    joined: dict[int, list[Move]] = {}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if state in joined:
            continue
        joined[state] = []
        for target, ranges in rows.get(state, {}).items():
            end, only = target, character(ranges)
            text = only or ""
            while only is not None and (following := link(end)) is not None:
                text, end = text + following[0], following[1]
            joined[state].append(Move(text_label(text) if text else class_label(ranges), end))
            waiting.append(end)
    return joined


def _short(label: str) -> str:
    if len(label) <= MAX_LABEL:
        return label
    return f"{label[: MAX_LABEL // 2]}…{label[-MAX_LABEL // 2 :]}"
