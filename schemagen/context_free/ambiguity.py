"""Whether a text has two derivations, as far as a search through short ones can tell.

A derivation is a tree of rules. The search counts, for each rule and each length, the trees of every sequence of that many
terminals: shortest sequences first, until one has two trees or enough was done. Whether any grammar is ambiguous cannot be
decided (Cantor 1962), so no pair found means no more than that.

A rule that derives itself alone (``a: a``, ``a: a a |``) gives its texts infinitely many trees; the counting meets it as a
count that asks for itself.

Invariants: the body of a rule is read by sets of items, so that a sequence of symbols is counted once, however it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from schemagen.context_free.items import items_of
from schemagen.context_free.simplify import nullable_rules, productive
from schemagen.context_free.syntax import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.context_free.items import Items, Readable, Symbol
    from schemagen.context_free.syntax import ContextFreeGrammar

#: Terminals of the longest sequence that is searched.
MAX_TERMINALS = 12
#: Sequences that are counted, of all rules together.
MAX_WORK = 40_000

_Sequence: TypeAlias = "tuple[Readable, ...]"
_Place: TypeAlias = "tuple[str, frozenset[int]]"


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search.

    Attributes:
        searched: The number of terminals up to which all sequences were searched.
        sequence: One with two derivations, or None if none of these has.
        cycle: A rule that derives itself alone, or None if none was found.
    """

    searched: int
    sequence: _Sequence | None = None
    cycle: str | None = None


class _TooMuchError(Exception):
    """More work than is allowed."""


class _CycleError(Exception):
    """A rule derives itself alone."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


class _Counter:
    """Counts derivations.

    Args:
        items: The rules, of those only that derive some text.
        alive: Their names.
        empty: The names of those that derive the empty text.
    """

    def __init__(self, items: dict[str, Items], alive: set[str], empty: set[str]) -> None:
        self._items = items
        self._alive = alive
        self._empty = empty
        self._known: dict[tuple[_Place, int], dict[_Sequence, int]] = {}
        self._open: set[tuple[_Place, int]] = set()
        self._work = 0

    def of_rule(self, rule: str, length: int) -> dict[_Sequence, int]:
        """Return the sequences of a length that a rule derives, with how many trees each has."""
        return self._after((rule, frozenset((0,))), length) if rule in self._alive else {}

    def _after(self, place: _Place, length: int) -> dict[_Sequence, int]:
        """Return the sequences of a length from a place in a rule to its end."""
        key = place, length
        if key in self._known:
            return self._known[key]
        if key in self._open:
            raise _CycleError(place[0])
        self._open.add(key)
        rule, at = place
        found: dict[_Sequence, int] = {}
        if length == 0 and at & self._items[rule].accepting:
            found[()] = 1
        for symbol, targets in self._moves(rule, at).items():
            self._extend(found, symbol, (rule, frozenset(targets)), length)
        self._open.remove(key)
        self._known[key] = found
        return found

    def _moves(self, rule: str, at: Iterable[int]) -> dict[Symbol, set[int]]:
        moves: dict[Symbol, set[int]] = {}
        for item in at:
            for symbol, target in self._items[rule].edges[item]:
                moves.setdefault(symbol, set()).add(target)
        return moves

    def _extend(self, found: dict[_Sequence, int], symbol: Symbol, place: _Place, length: int) -> None:
        """Add the sequences that go on with a symbol; where a side has none, the other is not asked."""
        if not isinstance(symbol, Rule):
            if length:
                for rest, count in self._after(place, length - 1).items():
                    self._add(found, (symbol, *rest), count)
            return
        shortest = 0 if symbol.name in self._empty else 1
        for own in range(shortest, length + 1 if symbol.name in self._alive else 0):
            rests = self._after(place, length - own)
            firsts = self.of_rule(symbol.name, own) if rests else {}
            for first, trees in firsts.items():
                for rest, count in rests.items():
                    self._add(found, first + rest, trees * count)

    def _add(self, found: dict[_Sequence, int], sequence: _Sequence, count: int) -> None:
        self._work += 1
        if self._work > MAX_WORK:
            raise _TooMuchError
        found[sequence] = found.get(sequence, 0) + count


def find_ambiguity(grammar: ContextFreeGrammar) -> Search:
    """Search for a sequence of terminals with two derivations from the start.

    Raises:
        LimitError: A rule is too long to be searched.

    Cost: up to `MAX_WORK` sequences, about 0.1 s.
    """
    rules = grammar.rules
    items = {name: items_of(body) for name, body in rules.items()}
    counter = _Counter(items, productive(rules), nullable_rules(rules))
    searched = -1
    try:
        for length in range(MAX_TERMINALS + 1):
            for sequence, count in counter.of_rule(grammar.start, length).items():
                if count > 1:
                    return Search(length, sequence)
            searched = length
    except _CycleError as error:
        return Search(max(searched, 0), cycle=error.rule)
    except (_TooMuchError, RecursionError):
        pass
    return Search(max(searched, 0))
