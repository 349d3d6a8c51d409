"""Rules as automata over symbols, whose states are the dotted items of a parser (Earley 1970).

The body of a rule is turned into its position automaton (Glushkov 1961): a state for each symbol in it, no empty moves. States
with the same future are made one, so that alternatives that end alike are followed once.

Invariants: state 0 is the start; every state is reached from it, and every one comes to an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import TypeAlias

from schemagen.context_free.regular import is_nullable, nonempty
from schemagen.context_free.syntax import (
    Alternatives,
    Expression,
    Guest,
    Mark,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    Text,
    Token,
    TokenBound,
    TokenRun,
)
from schemagen.errors import LimitError
from schemagen.regex import ast

Readable: TypeAlias = "Terminal | Text | Guest | Token | TokenRun | TokenBound | Mark"
Symbol: TypeAlias = "Rule | Readable"

#: Symbols of one rule, repetitions written out.
MAX_POSITIONS = 50_000

#: Pairs of neighbours in one rule: each of n optional symbols in a row has all those after it as neighbours.
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
    """A part of a body: the positions it may begin and end with, each once, and whether it may be empty."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    nullable: bool


@dataclass(slots=True)
class _Automaton:
    """The position automaton of a body; item 0 is the start, and item n + 1 is the place after position n.

    Attributes:
        symbols: The symbol of each position.
        kinds: The kind of each item, numbered as they come: items of one kind have the same future, as far as the shape tells.
        follow: For each kind the positions after it.
        accepting: The kinds at which the body may end.
    """

    symbols: list[Symbol]
    kinds: list[int]
    follow: list[set[int]]
    accepting: set[int]


class _Positions:
    """The position automaton of one body, built bottom up.

    Args:
        most: Most positions.

    Attributes:
        symbols: The symbol of each position.
        links: For each position those of `firsts` that follow it: where many positions have the same neighbours, as at the end
            of a choice in a loop, these are not written out for each of them.
        firsts: Positions that follow others.
    """

    def __init__(self, most: int = MAX_POSITIONS) -> None:
        self._most = most
        self.symbols: list[Symbol] = []
        self.links: list[list[int]] = []
        self.firsts: list[tuple[int, ...]] = []
        self._neighbours = 0

    def automaton(self, whole: _Part) -> _Automaton:
        self.firsts.append(whole.first)
        ends = {at + 1 for at in whole.last} | ({0} if whole.nullable else set())
        known: dict[tuple[bool, tuple[int, ...]], int] = {}
        kinds = [
            known.setdefault((item in ends, tuple(links)), len(known))
            for item, links in enumerate([[len(self.firsts) - 1], *self.links])
        ]
        follow = [set[int]().union(*(self.firsts[link] for link in links)) for _, links in known]
        return _Automaton(self.symbols, kinds, follow, {kind for (ends, _), kind in known.items() if ends})

    def part(self, expression: Expression) -> _Part:
        if isinstance(expression, Sequence):
            return self.join([self.part(each) for each in expression.parts])
        if isinstance(expression, Alternatives):
            parts = [self.part(each) for each in expression.parts]
            first = tuple(chain.from_iterable(part.first for part in parts))
            last = tuple(chain.from_iterable(part.last for part in parts))
            return _Part(first, last, any(part.nullable for part in parts))
        if isinstance(expression, Repeat):
            return self.repeated(expression)
        if isinstance(expression, Text):
            return self.text(expression)
        return self.symbol(expression)

    def text(self, expression: Text) -> _Part:
        if not is_nullable(expression.regex):
            return _Part((), (), nullable=False) if expression.regex == ast.EMPTY else self.symbol(expression)
        regex = nonempty(expression.regex)
        part = _Part((), (), nullable=True) if regex == ast.EMPTY else self.symbol(Text(regex))
        part.nullable = True
        return part

    def symbol(self, symbol: Symbol) -> _Part:
        if len(self.symbols) == self._most:
            raise _too_long()
        here = (len(self.symbols),)
        self.symbols.append(symbol)
        self.links.append([])
        return _Part(here, here, nullable=False)

    def link(self, last: tuple[int, ...], first: tuple[int, ...]) -> None:
        """Let every position of ``first`` follow every one of ``last``."""
        if not last or not first:
            return
        self._neighbours += len(last) * len(first)
        if self._neighbours > MAX_NEIGHBOURS:
            raise LimitError(
                f"a rule in which more than {MAX_NEIGHBOURS:,} pairs of symbols may be neighbours",
                why="many optional symbols in a row, or large alternatives one after the other",
                fix="use rules for parts of it",
            )
        for position in last:
            self.links[position].append(len(self.firsts))
        self.firsts.append(first)

    def join(self, parts: list[_Part]) -> _Part:
        first: tuple[int, ...] = ()
        last: tuple[int, ...] = ()
        nullable = True
        for part in parts:
            self.link(last, part.first)
            if nullable:
                first += part.first
            last = last + part.last if part.nullable else part.last
            nullable = nullable and part.nullable
        return _Part(first, last, nullable)

    def repeated(self, expression: Repeat) -> _Part:
        """The inner part ``low`` times, then as a loop or ``high - low`` times inside each other: x (x (x)?)?."""
        low, high = expression.low, expression.high
        rounds = low if high is None else high
        if rounds > 1 and _count(expression.inner) * rounds > self._most:  # before they are written out
            raise _too_long()
        if high is None:
            parts = [self.part(expression.inner) for _ in range(max(low, 1))]
            self.link(parts[-1].last, parts[-1].first)
            if low == 0:
                parts[-1].nullable = True
            return parts[0] if len(parts) == 1 else self.join(parts)
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
    return _merged(_read(body))


def positions_of(body: Expression) -> Items:
    """Return an item for each symbol of a body, in the order in which they are written.

    Raises:
        LimitError: Its repetitions are too long to be written out.
    """
    read = _read(body)
    leaving = [[(read.symbols[at], at + 1) for at in sorted(following)] for following in read.follow]
    return Items(
        [list(leaving[kind]) for kind in read.kinds],
        {item for item, kind in enumerate(read.kinds) if kind in read.accepting},
    )


def _read(body: Expression) -> _Automaton:
    positions = _Positions()
    return positions.automaton(positions.part(body))


def _merged(read: _Automaton) -> Items:
    """Make items with the same future one, beginning with those that have none.

    Most edges lead to later items, so the kinds are seen from the last to the first; those that lead to what became one with
    another kind since are seen again.
    """
    count = len(read.follow)
    symbols, ranks = _ranked(read.symbols)
    bases = [rank * count for rank in ranks]
    # By position: the rank of its symbol, and the kind of the item after it, as one number.
    edges = [base + kind for base, kind in zip(bases, read.kinds[1:], strict=True)]
    users, entering = _neighbours(read)
    same = list(range(count))
    members = [[kind] for kind in same]
    futures: dict[tuple[bool, frozenset[int]], int] = {}  # those with edges of before are met no more
    todo = list(range(count))
    unseen = count  # kinds in front of this one will be seen
    while todo:
        kind = todo.pop()
        unseen = min(unseen, kind)
        future = kind in read.accepting, frozenset(map(edges.__getitem__, read.follow[kind]))
        one, other = same[futures.setdefault(future, kind)], same[kind]
        if one == other:
            continue
        members[one] += members[other]
        for each in members[other]:
            same[each] = one
            todo += [user for user in users[each] if user >= unseen]
            for at in entering[each]:
                edges[at] = bases[at] + one
    return _numbered(read, symbols, same, edges)


def _ranked(symbols: list[Symbol]) -> tuple[list[Symbol], list[int]]:
    """Return the different ones of some symbols in the order of their texts, and for each of all its place among them."""
    numbers: dict[Symbol, int] = {}
    numbered = [numbers.setdefault(symbol, len(numbers)) for symbol in symbols]
    ordered = sorted(numbers, key=written)
    ranks = [0] * len(ordered)
    for rank, symbol in enumerate(ordered):
        ranks[numbers[symbol]] = rank
    return ordered, [ranks[number] for number in numbered]


def _neighbours(read: _Automaton) -> tuple[list[set[int]], list[list[int]]]:
    """Return for each kind the kinds that lead to it, and the positions."""
    users: list[set[int]] = [set() for _ in read.follow]
    entering: list[list[int]] = [[] for _ in read.follow]
    for at, kind in enumerate(read.kinds[1:]):
        entering[kind].append(at)
    for user, following in enumerate(read.follow):
        for at in following:
            users[read.kinds[at + 1]].add(user)
    return users, entering


def _numbered(read: _Automaton, symbols: list[Symbol], same: list[int], edges: list[int]) -> Items:
    """Return an item for each kind that represents itself: kinds come in the order of their first items."""
    count = len(same)
    numbers: dict[int, int] = {}
    first: list[int] = []
    for kind, one in enumerate(same):
        if one not in numbers:
            numbers[one] = len(numbers)
            first.append(kind)
    leaving = [{edges[at] for at in read.follow[kind]} for kind in first]
    return Items(
        [
            [(symbols[rank], to) for rank, to in sorted((edge // count, numbers[edge % count]) for edge in own)]
            for own in leaving
        ],
        {number for number, kind in enumerate(first) if kind in read.accepting},
    )


#: Cached, for the text of a long pattern takes time.
_written = lru_cache(maxsize=1024)(repr)


def written(symbol: Symbol) -> str:
    """Return what symbols are sorted by."""
    if isinstance(symbol, Rule | Terminal):  # most are; `repr` of a dataclass takes much longer
        return f"{type(symbol).__name__}(name={symbol.name!r})"
    return _written(symbol)


# --- regular languages ---------------------------------------------------------------------------------------------------

#: Positions of a regular expression, repetitions written out; a longer one counts as not deterministic.
MAX_CHARACTERS = 400


def _positions_of_regex(regex: ast.Regex) -> tuple[list[ast.Ranges], _Automaton] | None:
    """Return the characters of each position, and the automaton; None if there are too many positions."""
    positions = _Positions(MAX_CHARACTERS)
    try:
        made = positions.automaton(positions.part(_expression_of(regex)))
    except LimitError:
        return None
    return [symbol.regex.ranges for symbol in made.symbols], made  # type: ignore[union-attr]


def _expression_of(regex: ast.Regex) -> Expression:
    """Return a regular expression with a text for each of its characters, and a few rounds of each repetition."""
    if isinstance(regex, ast.Chars):
        return Text(regex)
    if isinstance(regex, ast.Concat):
        return Sequence(tuple(map(_expression_of, regex.parts)))
    if isinstance(regex, ast.Alternation):
        return Alternatives(tuple(map(_expression_of, regex.parts)))
    if isinstance(regex, ast.Repeat):
        low = min(regex.low, MAX_CHARACTERS)
        high = None if regex.high is None else low + min(regex.high - regex.low, MAX_CHARACTERS)
        return Repeat(_expression_of(regex.inner), low, high)
    raise _too_long()  # intersections and complements have no positions, and substrings too many


def is_deterministic(regex: ast.Regex) -> bool:
    """Whether the next character alone tells which position of an expression it belongs to.

    Such an expression is one-unambiguous (Brüggemann-Klein and Wood 1998). If all its repetitions are greedy, too, a
    backtracking matcher never has to backtrack: `re` finds the longest match.

    Cost: O(positions squared) at worst; an expression of more than `MAX_CHARACTERS` is taken for not deterministic.
    """
    read = _positions_of_regex(regex)
    return read is not None and all(_are_disjoint([read[0][at] for at in after]) for after in read[1].follow)


def _are_disjoint(sets: list[ast.Ranges]) -> bool:
    ranges = sorted(each for ranges in sets for each in ranges)
    return all(left[1] < right[0] for left, right in pairwise(ranges))


def first_characters(regex: ast.Regex) -> ast.Ranges | None:
    """Return the characters that the texts of an expression begin with; None where it has too many positions."""
    parts = regex.parts if isinstance(regex, ast.Concat) else (regex,)
    places = [part.ranges for part in parts if isinstance(part, ast.Chars)]
    if places and len(places) == len(parts) <= MAX_CHARACTERS:
        return places[0]  # a keyword, or the like
    read = _positions_of_regex(regex)
    return None if read is None else ast.normalise_ranges(each for at in read[1].follow[0] for each in read[0][at])
