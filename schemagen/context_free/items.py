"""Rules as automata over symbols, whose states are the dotted items of a parser (Earley 1970).

The body of a rule is turned into its position automaton (Glushkov 1961): a state for each symbol in it, no empty moves. States
with the same future are made one, so that alternatives that end alike are followed once.

Invariants: state 0 is the start; every state is reached from it, and every one comes to an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeAlias

from schemagen.context_free.syntax import (
    Alternatives,
    Expression,
    Guest,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    Text,
    Token,
    TokenRun,
)
from schemagen.context_free.texts import is_nullable, nonempty
from schemagen.errors import LimitError
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Readable: TypeAlias = "Terminal | Text | Guest | Token | TokenRun"
Symbol: TypeAlias = "Rule | Readable"

#: Symbols of one rule, repetitions written out.
MAX_POSITIONS = 50_000

#: Pairs of neighbours in one rule: each of n optional symbols in a row has all those behind it as neighbours.
MAX_NEIGHBOURS = 1_000_000


@dataclass(slots=True)
class Items:
    """The items of one rule.

    Attributes:
        edges: For each item, which symbol leads to which item.
        accepting: The items at which the rule may end.
    """

    edges: list[list[tuple[Symbol, int]]]
    accepting: set[int]


@dataclass(slots=True)
class _Part:
    """Of a part of a body: the positions it may begin and end with, each once, and whether it may be empty."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    nullable: bool


class _Positions:
    """The position automaton of one body, built bottom up."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.follow: list[set[int]] = []
        self._neighbours = 0

    def part(self, expression: Expression) -> _Part:
        if isinstance(expression, Sequence):
            return self.join([self.part(each) for each in expression.parts])
        if isinstance(expression, Alternatives):
            return _either([self.part(each) for each in expression.parts])
        if isinstance(expression, Repeat):
            return self.repeated(expression)
        if isinstance(expression, Text):
            return self.text(expression)
        return self.symbol(expression)

    def text(self, expression: Text) -> _Part:
        regex = nonempty(expression.regex)
        part = _Part((), (), nullable=False) if regex == ast.EMPTY else self.symbol(Text(regex))
        part.nullable = is_nullable(expression.regex)
        return part

    def symbol(self, symbol: Symbol) -> _Part:
        if len(self.symbols) == MAX_POSITIONS:
            raise _too_long()
        here = (len(self.symbols),)
        self.symbols.append(symbol)
        self.follow.append(set())
        return _Part(here, here, nullable=False)

    def link(self, last: tuple[int, ...], first: tuple[int, ...]) -> None:
        """Let every position of ``first`` follow every one of ``last``."""
        self._neighbours += len(last) * len(first)
        if self._neighbours > MAX_NEIGHBOURS:
            raise LimitError(
                f"a rule in which more than {MAX_NEIGHBOURS:,} pairs of symbols may be neighbours",
                why="many optional symbols in a row, or large alternatives one after the other",
                fix="use rules for parts of it",
            )
        for position in last:
            self.follow[position].update(first)

    def join(self, parts: list[_Part]) -> _Part:
        """The parts one after the other."""
        out = _Part((), (), nullable=True)
        for part in parts:
            self.link(out.last, part.first)
            out = _Part(
                out.first + part.first if out.nullable else out.first,
                out.last + part.last if part.nullable else part.last,
                out.nullable and part.nullable,
            )
        return out

    def repeated(self, expression: Repeat) -> _Part:
        """The inner part ``low`` times, then as a loop or ``high - low`` times inside each other: x (x (x)?)?."""
        low, high = expression.low, expression.high
        if high is None:
            parts = [self.part(expression.inner) for _ in range(max(low, 1))]
            self.link(parts[-1].last, parts[-1].first)
            if low == 0:
                parts[-1].nullable = True
            return self.join(parts)
        required = [self.part(expression.inner) for _ in range(low)]
        rest = self.nested([self.part(expression.inner) for _ in range(high - low)])
        return self.join([*required, rest])

    def nested(self, parts: list[_Part]) -> _Part:
        """The parts inside each other, the innermost first: each is optional, and the next one comes before it."""
        if not any(part.nullable for part in parts):  # each has its neighbour only, and together they take linear time
            for inner, outer in pairwise(parts):
                self.link(outer.last, inner.first)
            last = tuple(chain.from_iterable(part.last for part in parts))
            return _Part(parts[-1].first if parts else (), last, nullable=True)
        rest = _Part((), (), nullable=True)
        for part in parts:
            rest = self.join([part, rest])
            rest.nullable = True
        return rest


def _either(parts: list[_Part]) -> _Part:
    return _Part(
        tuple(chain.from_iterable(part.first for part in parts)),
        tuple(chain.from_iterable(part.last for part in parts)),
        any(part.nullable for part in parts),
    )


def _too_long() -> LimitError:
    return LimitError(
        f"a rule of more than {MAX_POSITIONS:,} symbols",
        why="repetitions are written out",
        fix="lower their bounds, or use rules for their parts",
    )


def _count(expression: Expression) -> int:
    """Return how many symbols an expression has at least, repetitions written out."""
    if isinstance(expression, Sequence | Alternatives):
        return sum(map(_count, expression.parts))
    if isinstance(expression, Repeat):
        return _count(expression.inner) * max(expression.low if expression.high is None else expression.high, 1)
    return int(not isinstance(expression, Text))  # a text may be empty, and no symbol then


def items_of(body: Expression) -> Items:
    """Return the items of a rule with this body, those with the same future made one.

    Raises:
        LimitError: Its repetitions are too long to be written out.
    """
    return _merged(*_read(body))


def positions_of(body: Expression) -> Items:
    """Return an item for each symbol of a body, in the order in which they are written.

    Raises:
        LimitError: Its repetitions are too long to be written out.
    """
    symbols, follow, accepting = _read(body)
    return Items([[(symbols[at], at + 1) for at in sorted(behind)] for behind in follow], accepting)


def _read(body: Expression) -> tuple[list[Symbol], list[Collection[int]], set[int]]:
    """Return the symbols of the positions, the positions behind each item, and the items at which the body may end."""
    if _count(body) > MAX_POSITIONS:
        raise _too_long()
    positions = _Positions()
    whole = positions.part(body)
    accepting = {at + 1 for at in whole.last} | ({0} if whole.nullable else set())
    return positions.symbols, [whole.first, *positions.follow], accepting


def _merged(positions: list[Symbol], follow: list[Collection[int]], accepting: set[int]) -> Items:
    """Make items with the same future one, beginning with those that have none.

    Most edges lead to later items, so they are seen from the last to the first; those that lead to what became one
    with another item since are seen again.

    Args:
        positions: The symbol of each position; the item behind it is the next number.
        follow: For each item the positions behind it.
        accepting: The items at which the rule may end.
    """
    count = len(follow)
    symbols = sorted(set(positions), key=_written)
    ranks = {symbol: rank for rank, symbol in enumerate(symbols)}
    rank_of = [ranks[symbol] for symbol in positions]
    # By position: the rank of its symbol, and the item behind it, as one number.
    edges = [rank * count + at + 1 for at, rank in enumerate(rank_of)]
    users: list[list[int]] = [[] for _ in positions]
    for item, behind in enumerate(follow):
        for at in behind:
            users[at].append(item)
    same = list(range(count))
    members = [[item] for item in same]
    futures: dict[tuple[bool, frozenset[int]], int] = {}  # those with edges of before are met no more
    todo = list(range(count))
    unseen = count  # items in front of this one will be seen
    while todo:
        item = todo.pop()
        unseen = min(unseen, item)
        future = item in accepting, frozenset(map(edges.__getitem__, follow[item]))
        one, other = same[futures.setdefault(future, item)], same[item]
        if one == other:
            continue
        members[one] += members[other]
        for each in members[other]:
            same[each] = one
            if each:
                edges[each - 1] = rank_of[each - 1] * count + one
                todo += [user for user in users[each - 1] if user >= unseen]
    numbers: dict[int, int] = {}
    first: list[int] = []
    for item, one in enumerate(same):
        if one not in numbers:
            numbers[one] = len(numbers)
            first.append(item)
    leaving = [{edges[at] for at in follow[item]} for item in first]
    return Items(
        [
            [(symbols[rank], to) for rank, to in sorted((edge // count, numbers[edge % count]) for edge in own)]
            for own in leaving
        ],
        {number for number, item in enumerate(first) if item in accepting},
    )


@lru_cache(maxsize=1024)
def _written(symbol: Symbol) -> str:
    """Return what symbols are sorted by; that of a long pattern takes time."""
    return repr(symbol)


def nullable_rules(items: Mapping[str, Items]) -> set[str]:
    """Return the rules that derive the empty text: those whose items come to an end over such rules alone."""
    callers: dict[str, set[str]] = {}
    for name, rule in items.items():
        for symbol in {symbol for edges in rule.edges for symbol, _ in edges}:
            if isinstance(symbol, Rule):
                callers.setdefault(symbol.name, set()).add(name)
    found: set[str] = set()
    todo = list(items)
    while todo:
        name = todo.pop()
        if name not in found and _ends_over(items[name], found):
            found.add(name)
            todo.extend(callers.get(name, ()))
    return found


def _ends_over(items: Items, nullable: set[str]) -> bool:
    seen, todo = {0}, [0]
    while todo:
        at = todo.pop()
        if at in items.accepting:
            return True
        for symbol, to in items.edges[at]:
            if isinstance(symbol, Rule) and symbol.name in nullable and to not in seen:
                seen.add(to)
                todo.append(to)
    return False
