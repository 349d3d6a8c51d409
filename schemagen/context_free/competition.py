"""Terminals that compete for the longest match where the parser expects several of them at once.

A lexer that knows what the parser expects runs these terminals side by side. A lazy one ends all of them at its first match;
otherwise the longest match of any of them is taken, as each terminal that has it. So what a terminal may match depends on
which others are expected beside it. The others that always are, wherever it stands, are found from the rules:

- beside an item stand those that the rules called there begin with, and what follows if they may be empty;
- at the start of a rule, what stood beside in every case where it is called;
- behind a symbol, where the same symbol leads from the items that stood beside; and behind a rule, what the rule could go on
  with instead, or be followed by.

These are equations over sets of items, whose greatest solution holds for every text. Where what stands beside depends on
the text before, only what always does competes: then more texts are accepted than by such a lexer, never fewer.

Source: of this project; the items are those of Earley 1970, the solution is that of Knaster and Tarski.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from schemagen.context_free.determinism import first_characters, only_text
from schemagen.context_free.items import items_of, nullable_rules
from schemagen.context_free.simplify import called
from schemagen.context_free.syntax import (
    NOTHING,
    Alternatives,
    Expression,
    Lexeme,
    Repeat,
    Rule,
    Sequence,
    Terminal,
    Text,
    alternatives,
    repeat,
    sequence,
)
from schemagen.context_free.texts import nonempty
from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.derivatives import is_empty
from schemagen.regex.prefixes import Prefixes

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from schemagen.context_free.items import Items

#: Items of a grammar, squared.
MAX_CELLS = 400_000_000

#: Terminals that begin alike of which each is asked whether it can be longer.
MAX_TESTED = 16

_ANYTHING_MORE = ast.repeat(ast.ANY_CHAR, 1, None)


@dataclass(frozen=True, slots=True)
class Kind:
    """A terminal, wherever it stands.

    Attributes:
        text: Its texts, but the empty one.
        lazy: Whether its first match ends it.
    """

    text: ast.Regex
    lazy: bool = False


@dataclass(slots=True)
class Places:
    """The places of terminals in rules: each is a symbol of its own there.

    Attributes:
        kinds: The kind of each place, by the name of its symbol.
        labels: What the kinds are called in messages.
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    labels: dict[Kind, str] = field(default_factory=dict)

    def add(self, regex: ast.Regex, label: str, *, lazy: bool = False) -> Expression:
        """Return a terminal at a new place."""
        kind = Kind(nonempty(regex), lazy)
        self.labels.setdefault(kind, label)
        name = f"place {len(self.kinds)}"
        self.kinds[name] = kind
        return Terminal(name)


# --- which terminals are expected at once ----------------------------------------------------------------------------


class _Solver:
    """Equations ``value = base | (source & source & ...) | moved(other)`` over bit sets, solved for the greatest values."""

    def __init__(self, moves: Mapping[Hashable, Mapping[int, int]]) -> None:
        self._moves = {symbol: (reduce(int.__or__, (1 << at for at in row)), row) for symbol, row in moves.items()}
        self._moved: dict[tuple[Hashable, int], int] = {}  # most unknowns see the same sets again and again
        self.base: list[int] = []
        self.sources: list[list[int]] = []
        self.moved: list[tuple[int, Hashable] | None] = []

    def add(self, base: int = 0, moved: tuple[int, Hashable] | None = None) -> int:
        """Return a new unknown."""
        self.base.append(base)
        self.sources.append([])
        self.moved.append(moved)
        return len(self.base) - 1

    def solved(self, everything: int) -> list[int]:
        """Return the values."""
        values = [everything] * len(self.base)
        users: list[list[int]] = [[] for _ in values]
        for unknown, (sources, moved) in enumerate(zip(self.sources, self.moved, strict=True)):
            for source in sources if moved is None else (*sources, moved[0]):
                users[source].append(unknown)
        todo = deque(range(len(values)))  # the first ones first: the others follow from them
        waiting = [True] * len(values)
        while todo:
            unknown = todo.popleft()
            waiting[unknown] = False
            value = self._value(unknown, values)
            if value == values[unknown]:
                continue
            values[unknown] = value
            for user in users[unknown]:
                if not waiting[user]:
                    waiting[user] = True
                    todo.append(user)
        return values

    def _value(self, unknown: int, values: list[int]) -> int:
        value, moved = self.base[unknown], self.moved[unknown]
        sources = self.sources[unknown]
        if sources:
            common = values[sources[0]]
            for each in sources:
                common &= values[each]
            value |= common
        if moved is not None:
            value |= self._moved_by(moved[1], values[moved[0]])
        return value

    def _moved_by(self, symbol: Hashable, items: int) -> int:
        """Return where a symbol leads from a set of items."""
        begins, moves = self._moves[symbol]
        key = symbol, items & begins
        known = self._moved.get(key)
        if known is None:
            known = 0
            for at in _bits(key[1]):
                known |= moves[at]
            self._moved[key] = known
        return known


class _Expected:
    """The items that stand beside each item.

    Args:
        start: The rule whose texts are meant.
        rules: The bodies.
        kinds: The numbers of the kinds of terminals, by place.
    """

    def __init__(self, start: str, rules: dict[str, Expression], kinds: dict[str, int]) -> None:
        self._kinds = kinds
        self._items: dict[str, Items] = {name: items_of(body) for name, body in rules.items()}
        self._numbers = {
            place: number
            for number, place in enumerate(
                (name, at) for name, items in self._items.items() for at in range(len(items.edges))
            )
        }
        if len(self._numbers) ** 2 > MAX_CELLS:
            raise LimitError(
                f"a grammar of {len(self._numbers):,} items, limit {int(MAX_CELLS**0.5):,}",
                why="which terminals compete is worked out for each of them",
                fix="use terminals for parts of the grammar that are regular",
            )
        self._everything = (1 << len(self._numbers)) - 1
        self._start = start
        self._edges = [
            (name, self._numbers[name, at], symbol, self._numbers[name, to])
            for name, items in self._items.items()
            for at, edges in enumerate(items.edges)
            for symbol, to in edges
        ]
        self._accepting = {
            self._numbers[name, at]: name for name, items in self._items.items() for at in items.accepting
        }
        self._nullable = nullable_rules(self._items)
        self._rows = self._find_rows()
        self._follow = self._find_follow()
        for at, name in self._accepting.items():
            self._rows[at] |= self._follow[name]

    def by_place(self) -> dict[str, int]:
        """Return for each place the kinds that always stand beside the terminal there, itself included."""
        beside = self._beside()
        kinds = [0] * len(self._numbers)
        for _, at, symbol, _ in self._edges:
            if isinstance(symbol, Terminal):
                kinds[at] |= 1 << self._kinds[symbol.name]
        known: dict[int, int] = {}
        found: dict[str, int] = {}
        for _, at, symbol, _ in self._edges:
            if isinstance(symbol, Terminal):
                if at not in known:
                    known[at] = reduce(int.__or__, (kinds[each] for each in _bits(beside[at])))
                found[symbol.name] = found.get(symbol.name, known[at]) & known[at]
        return found

    def _key(self, symbol: Expression) -> Hashable:
        """Return what moves of all items are the same: places of one kind are."""
        return self._kinds[symbol.name] if isinstance(symbol, Terminal) else symbol

    def _beside(self) -> list[int]:
        """Return for each item the items that always stand beside it."""
        moves: dict[Hashable, dict[int, int]] = {}
        for _, at, symbol, to in self._edges:
            row = moves.setdefault(self._key(symbol), {})
            row[at] = row.get(at, 0) | self._rows[to]
        solver = _Solver(moves)
        beside = [solver.add(row) for row in self._rows]
        nothing = solver.add()
        solver.sources[beside[self._numbers[self._start, 0]]].append(nothing)
        reached = {to for _, _, _, to in self._edges}
        ends: dict[str, list[int]] = {}
        for at, name in self._accepting.items():
            if at != self._numbers[name, 0] or at in reached:
                ends.setdefault(name, []).append(beside[at])
        for _, at, symbol, to in self._edges:
            behind = solver.add(moved=(beside[at], self._key(symbol)))
            solver.sources[beside[to]].append(behind)
            if isinstance(symbol, Rule):
                solver.sources[behind].extend(ends.get(symbol.name, ()))
                solver.sources[beside[self._numbers[symbol.name, 0]]].append(beside[at])
                if symbol.name in self._nullable:
                    solver.sources[beside[to]].append(beside[at])
        return solver.solved(self._everything)

    def _find_follow(self) -> dict[str, int]:
        """Return for each rule the items that always stand where it ends, as it is within others."""
        solver = _Solver({})
        nothing = solver.add()
        follow = {name: solver.add() for name in self._items}
        solver.sources[follow[self._start]].append(nothing)
        for name, _, symbol, to in self._edges:
            if isinstance(symbol, Rule):
                behind = solver.add(self._rows[to])
                solver.sources[behind].append(follow[name] if to in self._accepting else nothing)
                solver.sources[follow[symbol.name]].append(behind)
        values = solver.solved(self._everything)
        return {name: values[unknown] for name, unknown in follow.items()}

    def _find_rows(self) -> list[int]:
        """Return for each item those that stand beside it because of what it goes on with."""
        rows = [1 << at for at in range(len(self._numbers))]
        users: dict[int, list[int]] = {}
        for _, at, symbol, to in self._edges:
            if isinstance(symbol, Rule):
                users.setdefault(self._numbers[symbol.name, 0], []).append(at)
                if symbol.name in self._nullable:
                    users.setdefault(to, []).append(at)
        todo = list(users)
        while todo:
            used = todo.pop()
            for at in users.get(used, ()):
                if rows[at] | rows[used] != rows[at]:
                    rows[at] |= rows[used]
                    todo.append(at)
        return rows


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


# --- what a terminal matches beside others ---------------------------------------------------------------------------


@lru_cache(maxsize=65536)
def _may_share(one: ast.Regex, other: ast.Regex) -> bool:
    """Whether texts of two languages may begin alike; True where that is not seen at once."""
    first, second = _text(one), _text(other)
    if first is not None and second is not None:
        return first.startswith(second) or second.startswith(first)
    starts = _first(one), _first(other)
    return None in starts or bool(ast.intersect_ranges(starts[0] or (), starts[1] or ()))


@lru_cache(maxsize=65536)
def _text(regex: ast.Regex) -> str | None:
    return only_text(regex)


@lru_cache(maxsize=4096)
def _first(regex: ast.Regex) -> ast.Ranges | None:
    return first_characters(regex)


@lru_cache(maxsize=4096)
def _goes_on_as(text: ast.Regex, longer: ast.Regex) -> bool:
    """Whether some text of the one language is longer than one of the other that it begins with, in general."""
    return _meet(ast.concat(text, _ANYTHING_MORE), longer)


def _meet(one: ast.Regex, other: ast.Regex) -> bool:
    try:
        return not is_empty(ast.conjunction(one, other))
    except LimitError:
        return True  # what could be left out is kept


class _Matches:
    """What the kinds match beside others."""

    def __init__(self, kinds: list[Kind], *, longest: bool) -> None:
        self._kinds = kinds
        self._longest = longest
        self._prefixes = Prefixes()
        self._known: dict[tuple[int, int], Lexeme] = {}
        texts = [(None if kind.lazy else only_text(kind.text), number) for number, kind in enumerate(kinds)]
        self._words = sorted((text, number) for text, number in texts if text is not None)
        self._patterns = sum(1 << number for text, number in texts if text is None)

    def lexeme(self, number: int, mask: int) -> Lexeme:
        """Return how a kind is read beside those of a mask."""
        key = number, mask
        if key not in self._known:
            kind = self._kinds[number]
            mask &= self._patterns | self._longer_words(kind)
            self._known[key] = self._lexeme(kind, [self._kinds[each] for each in _bits(mask)])
        return self._known[key]

    def _longer_words(self, kind: Kind) -> int:
        """Return the words that may be longer than a kind: for a word those that begin with it, itself included."""
        text = only_text(kind.text)
        if text is None:
            return sum(1 << number for _, number in self._words)
        begin = bisect_left(self._words, (text, 0))
        found = itertools.takewhile(lambda word: word[0].startswith(text), itertools.islice(self._words, begin, None))
        return reduce(int.__or__, (1 << number for _, number in found), 0)

    def _lexeme(self, kind: Kind, beside: list[Kind]) -> Lexeme:
        lazy = [each for each in beside if each.lazy]
        text = _before_first(kind, lazy)
        if kind.lazy or not self._longest:
            return Lexeme(text)
        rivals = [each for each in beside if _may_share(kind.text, each.text)]
        if len(rivals) <= MAX_TESTED:  # one that never is longer makes no difference, but for the time that it takes
            rivals = [each for each in rivals if self._goes_on_as(kind.text, each.text)]
        return Lexeme(text, ast.union(*(_before_first(each, lazy) for each in rivals)))

    def _goes_on_as(self, text: ast.Regex, longer: ast.Regex) -> bool:
        """Whether some text of the one language is longer than one of the other that it begins with."""
        try:
            seen = self._prefixes.go_on(text, longer)
        except LimitError:
            return True  # what could be left out is kept
        return _goes_on_as(text, longer) if seen is None else seen


def _before_first(kind: Kind, lazy: list[Kind]) -> ast.Regex:
    """Return the texts of a kind during which no lazy one has a match that ends before."""
    rest = _ANYTHING_MORE if kind.lazy else ast.ANY_STRING
    cuts = [each for each in lazy if _may_share(each.text, kind.text)]
    ended = [each for each in cuts if _meet(ast.concat(each.text, rest), kind.text)]
    return ast.conjunction(kind.text, *(ast.complement(ast.concat(each.text, rest)) for each in ended))


def _compete(kinds: list[Kind], *, longest: bool) -> bool:
    """Whether some terminal matters to another, wherever they stand."""
    return any(
        _may_share(one.text, other.text)
        for at, one in enumerate(kinds)
        for other in kinds[:at]
        if longest or one.lazy or other.lazy
    )


def resolved(
    start: str, rules: dict[str, Expression], places: Places, *, longest: bool
) -> tuple[dict[str, Expression], dict[str, tuple[Lexeme, ...]]]:
    """Return rules whose terminals match what they do beside the others, and these terminals.

    Args:
        start: The rule whose texts are meant.
        rules: Rules with a symbol of its own for each place of a terminal.
        places: These symbols.
        longest: Whether the longest match is taken; otherwise any.

    Raises:
        LimitError: There are too many terminals and items.
    """
    rules = _reachable(start, rules)
    numbers: dict[Kind, int] = {kind: number for number, kind in enumerate(dict.fromkeys(places.kinds.values()))}
    by_place = {name: numbers[kind] for name, kind in places.kinds.items()}
    masks: dict[str, int] = {}
    if _compete(list(numbers), longest=longest):
        masks = _Expected(start, rules, by_place).by_place()
    matches = _Matches(list(numbers), longest=longest)
    symbols: dict[tuple[Kind, Lexeme], Expression] = {}
    terminals: dict[str, tuple[Lexeme, ...]] = {}
    replaced: dict[str, Expression] = {}
    for name, kind in places.kinds.items():
        lexeme = matches.lexeme(numbers[kind], masks.get(name, 0) | 1 << numbers[kind])
        if (kind, lexeme) not in symbols:
            symbols[kind, lexeme] = _symbol(lexeme, places.labels[kind], terminals)
        replaced[name] = symbols[kind, lexeme]
    return {name: _with(body, replaced) for name, body in rules.items()}, terminals


def _symbol(lexeme: Lexeme, label: str, terminals: dict[str, tuple[Lexeme, ...]]) -> Expression:
    """Return what stands for a terminal in rules: a text if it may end anywhere, or a new terminal."""
    if lexeme.text == ast.EMPTY or not _meet(lexeme.text, ast.ANY_STRING):
        return NOTHING
    if lexeme.longer == ast.EMPTY:
        return Text(lexeme.text)
    name, number = label, 1
    while name in terminals:
        number += 1
        name = f"{label} ({number})"
    terminals[name] = (lexeme,)
    return Terminal(name)


def _reachable(start: str, rules: dict[str, Expression]) -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = rules[name]
            todo.extend(called(rules[name]))
    return found


def _with(expression: Expression, replaced: dict[str, Expression]) -> Expression:
    """Return an expression with the places of terminals replaced."""
    if isinstance(expression, Terminal):
        return replaced.get(expression.name, expression)
    if isinstance(expression, Sequence):
        return sequence(*_each(expression.parts, replaced))
    if isinstance(expression, Alternatives):
        return alternatives(*_each(expression.parts, replaced))
    if isinstance(expression, Repeat):
        return repeat(_with(expression.inner, replaced), expression.low, expression.high)
    return expression


def _each(parts: Iterable[Expression], replaced: dict[str, Expression]) -> Iterator[Expression]:
    return (_with(part, replaced) for part in parts)
