"""Which texts of one language begin with texts of another, where one of the two is fixed: one set of characters for each place.

Keywords and operators are such languages, and most questions that a lexer asks about its terminals are about them. They are
answered by the derivatives (`derivatives`) of the other language along the places: a set of states, since a place may have
several characters, and no product automaton. A class of characters that shares one with a place is followed as a whole: all of
its characters lead to the same state, so what is reached is reached by a text.

Invariants: answers are exact; None says that neither language is fixed, or that a state has to be looked into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from schemagen.regex import ast
from schemagen.regex.derivatives import Algebra, character_sets

if TYPE_CHECKING:
    from schemagen.regex.derivatives import State

#: The characters of each place.
Places: TypeAlias = tuple[ast.Ranges, ...]
#: States that are followed at once.
MAX_AT_ONCE = 32


def places_of(regex: ast.Regex) -> Places | None:
    """Return the characters of each place of a language whose texts all are of one length, as far as that is seen at once."""
    parts = regex.parts if isinstance(regex, ast.Concat) else (regex,)
    return tuple(part.ranges for part in parts if isinstance(part, ast.Chars)) if _are_chars(parts) else None


def _are_chars(parts: tuple[ast.Regex, ...]) -> bool:
    return all(isinstance(part, ast.Chars) and part.ranges for part in parts)


def _overlap(places: Places, others: Places) -> bool:
    """Whether some text of the places is a text of the others, as far as both go."""
    return all(one == other or ast.intersect_ranges(one, other) for one, other in zip(places, others, strict=False))


class _Walker:
    """The states of one language along places."""

    def __init__(self, regex: ast.Regex) -> None:
        self.algebra = Algebra(character_sets(regex))
        self.start = self.algebra.build(regex)
        self._classes: dict[ast.Ranges, tuple[int, ...]] = {}

    def step(self, states: set[State], ranges: ast.Ranges) -> set[State]:
        """Return the states after one more place, but the dead one."""
        algebra = self.algebra
        found = {algebra.derivative(state, number) for state in states for number in self._classes_of(ranges)}
        found.discard(algebra.bottom)
        return found

    def _classes_of(self, ranges: ast.Ranges) -> tuple[int, ...]:
        """Return the classes that share a character with a set."""
        known = self._classes.get(ranges)
        if known is None:
            alphabet = self.algebra.alphabet
            if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                known = (alphabet.class_of(ranges[0][0]),)
            else:
                known = tuple(
                    number
                    for number in range(alphabet.size)
                    if ast.intersect_ranges(alphabet.ranges(1 << number), ranges)
                )
            self._classes[ranges] = known
        return known


class Prefixes:
    """Answers about languages, the derivatives of each of which are worked out once."""

    def __init__(self) -> None:
        self._walkers: dict[ast.Regex, _Walker] = {}

    def share(self, places: Places, regex: ast.Regex) -> bool | None:
        """Return whether some text of the places is one of a language; None where that is not told."""
        others = places_of(regex)
        if others is not None:
            return len(places) == len(others) and _overlap(places, others)
        found = self._behind(places, regex)
        return None if found is None else any(state.nullable for state in found)

    def go_on(self, text: ast.Regex, longer: ast.Regex) -> bool | None:
        """Return whether some text of ``longer`` begins with one of ``text`` and is longer; None where that is not told."""
        places, others = places_of(text), places_of(longer)
        if places is not None and others is not None:
            return len(places) < len(others) and _overlap(places, others)
        if places is not None:
            found = self._behind(places, longer)
            return None if found is None else self._go_on(found, longer)
        return None if others is None else self._ends_within(text, others)

    def _walker(self, regex: ast.Regex) -> _Walker:
        known = self._walkers.get(regex)
        if known is None:
            known = self._walkers[regex] = _Walker(regex)
        return known

    def _behind(self, places: Places, regex: ast.Regex) -> set[State] | None:
        """Return the states of a language after all places; None where they are many."""
        walker = self._walker(regex)
        states = {walker.start}
        for ranges in places:
            states = walker.step(states, ranges)
            if len(states) > MAX_AT_ONCE:
                return None
        return states

    def _go_on(self, states: set[State], regex: ast.Regex) -> bool | None:
        """Return whether some of these states have a text that is not empty; None where they have to be looked into."""
        algebra = self._walker(regex).algebra
        unknown = False
        for state in states:
            for _, after in algebra.successors(state):
                if after is algebra.bottom:
                    continue
                if after.obvious or after.nullable:
                    return True
                unknown = True
        return None if unknown else False

    def _ends_within(self, text: ast.Regex, places: Places) -> bool | None:
        """Return whether a text of a language ends before the last of the places."""
        walker = self._walker(text)
        states = {walker.start}
        for ranges in places:
            if any(state.nullable for state in states):
                return True
            states = walker.step(states, ranges)
            if len(states) > MAX_AT_ONCE:
                return None
        return False
