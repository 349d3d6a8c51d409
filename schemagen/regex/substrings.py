"""All substrings of a text, as its suffix automaton.

Idea: substrings that end at the same places of the text can go on alike, so they are one state. A text of n characters has at
most 2n - 1 states, with 3n - 4 moves, and they are made character by character in linear time (Blumer, Blumer, Haussler,
Ehrenfeucht, Chen & Seiferas 1985). Each state has a suffix link, to the state of the longest suffix of its substrings that ends
at more places. A new character makes a state for the text so far; the states of its suffixes, along the links, get a move to it
until one already has a move by the character. Where the target of that move also stands for longer substrings, which do not
end here, a copy of it is made for the shorter ones.

Invariants: state 0 is the empty substring, and no move leads to it; the lengths of the substrings of a state are an interval,
which ends at ``lengths[state]`` and begins after the length of its link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class _Construction:
    """A suffix automaton that grows by symbols."""

    def __init__(self) -> None:
        self.moves: list[dict[str, int]] = [{}]
        self._lengths = [0]
        self._links = [-1]
        self._last = 0

    def append(self, symbol: str) -> None:
        """Add the substrings that end with one more symbol."""
        new = self._state({}, self._lengths[self._last] + 1, 0)
        at = self._last
        while at >= 0 and symbol not in self.moves[at]:
            self.moves[at][symbol] = new
            at = self._links[at]
        if at >= 0:
            target = self.moves[at][symbol]
            is_longer = self._lengths[target] != self._lengths[at] + 1
            self._links[new] = self._copy(at, symbol) if is_longer else target
        self._last = new

    def _state(self, moves: dict[str, int], length: int, link: int) -> int:
        self.moves.append(moves)
        self._lengths.append(length)
        self._links.append(link)
        return len(self.moves) - 1

    def _copy(self, at: int, symbol: str) -> int:
        """Make a copy of the target of a move for the substrings that are not longer than those of ``at`` and the symbol."""
        target = self.moves[at][symbol]
        copy = self._state(dict(self.moves[target]), self._lengths[at] + 1, self._links[target])
        self._links[target] = copy
        while at >= 0 and self.moves[at].get(symbol) == target:
            self.moves[at][symbol] = copy
            at = self._links[at]
        return copy


def suffix_automaton(symbols: Iterable[str]) -> list[Mapping[str, int]]:
    """Return the moves of the automaton of all runs of symbols; it starts in state 0, and may end in every state.

    Args:
        symbols: The characters of a text, or longer pieces, each of which is one symbol.
    """
    growing = _Construction()
    for symbol in symbols:
        growing.append(symbol)
    return list(growing.moves)
