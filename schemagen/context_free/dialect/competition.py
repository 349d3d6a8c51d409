"""Terminals that compete for the longest match where the parser expects several of them at once.

A lexer that knows what the parser expects runs these terminals side by side. A lazy one ends all of them at its first match;
otherwise the longest match of any of them is taken, as each terminal that has it. So the matches of a terminal depend on
which others are expected beside it. Those that are always beside it, in every place, are found from the rules:

- beside an item, those that the rules called there begin with, and those that follow if these rules may be empty;
- at the start of a rule, those beside it in every place where it is called;
- after a symbol, the items that the same symbol leads to from those beside it; and after a rule, those that the rule could
  go on with instead, or be followed by.

These are equations over sets of items, whose greatest solution holds for every text. Where the items beside another depend
on the text before, only those that are always there compete: then more texts are accepted than by such a lexer, never fewer.

Source: of this project; the items are those of Earley 1970, the solution is that of Knaster and Tarski.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from schemagen.context_free.items import first_characters, items_of
from schemagen.context_free.regular import SOME_TEXT, goes_on_as, meet, nonempty, only_text
from schemagen.context_free.regular_rules import shortest
from schemagen.context_free.simplify import called, nullable_rules
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
    TokenBound,
    alternatives,
    bounded,
    repeat,
    sequence,
    without_bounds,
)
from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.alphabet import Alphabet, bits_of
from schemagen.regex.ast import HashedOnce, hashed_once

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from schemagen.context_free.items import Items

#: Items of a grammar, squared.
MAX_CELLS = 400_000_000

#: The most terminals with a common beginning that are each tested for longer texts.
MAX_TESTED = 16


@hashed_once
@dataclass(frozen=True, slots=True)
class Kind(HashedOnce):
    """A terminal, in any place.

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
        kinds: The terminals that may be read at each place, by the name of its symbol: one kind, or several, as in a list
            of keywords.
        labels: The names of the kinds in messages.
        dispatched: Free text and the lazy terminals that interrupt it; see `resolved`.
    """

    kinds: dict[str, tuple[Kind, ...]] = field(default_factory=dict)
    labels: dict[Kind, str] = field(default_factory=dict)
    dispatched: set[Kind] = field(default_factory=set)

    def kind(self, regex: ast.Regex, label: str, *, lazy: bool = False) -> Kind:
        """Return the kind of a terminal."""
        kind = Kind(nonempty(regex), lazy)
        self.labels.setdefault(kind, label)
        return kind

    def languages(self) -> dict[str, ast.Regex]:
        """Return the texts that each place may be, where nothing competes; a lazy terminal ends at its first match."""
        return {
            name: ast.union(*(shortest(kind.text) if kind.lazy else kind.text for kind in kinds))
            for name, kinds in self.kinds.items()
        }

    def add(self, *kinds: Kind) -> Expression:
        """Return any of some terminals at a new place."""
        if not kinds:
            return NOTHING
        name = f"place {len(self.kinds)}"
        self.kinds[name] = kinds
        return Terminal(name)


# --- which terminals are expected at once ----------------------------------------------------------------------------


class _Solver:
    """Equations ``value = base | (source & source & ...) | moved(other)`` over bit sets, solved for the greatest values.

    Args:
        moves: For each symbol where it leads from an item.
    """

    def __init__(self, moves: Mapping[Hashable, Mapping[int, int]]) -> None:
        self._moves = {symbol: (_union(1 << at for at in row), row) for symbol, row in moves.items()}
        self._moved: dict[tuple[Hashable, int], int] = {}  # most unknowns see the same sets again and again
        self.base: list[int] = []
        self.sources: list[list[int]] = []
        self.moved: list[tuple[int, Hashable] | None] = []

    def add(self, base: int = 0, moved: tuple[int, Hashable] | None = None) -> int:
        self.base.append(base)
        self.sources.append([])
        self.moved.append(moved)
        return len(self.base) - 1

    def solved(self, everything: int) -> list[int]:
        values = [everything] * len(self.base)
        users: list[list[int]] = [[] for _ in values]
        for unknown, (sources, moved) in enumerate(zip(self.sources, self.moved, strict=True)):
            for source in sources if moved is None else (*sources, moved[0]):
                users[source].append(unknown)
        # First the unknowns with a value of their own; the others follow when a source of theirs gets one.
        todo = deque(
            unknown
            for unknown, (sources, moved) in enumerate(zip(self.sources, self.moved, strict=True))
            if not sources and moved is None
        )
        waiting = [False] * len(values)
        is_known = [False] * len(values)
        while todo:
            unknown = todo.popleft()
            waiting[unknown] = False
            value = self._value(unknown, values)
            if value == values[unknown] and is_known[unknown]:
                continue
            values[unknown], is_known[unknown] = value, True
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
            for at in bits_of(key[1]):
                known |= moves[at]
            self._moved[key] = known
        return known


class _Expected:
    """The items that are beside each item.

    Args:
        start: The start rule.
        rules: The bodies.
        kinds: The numbers of the kinds of terminals, by place.
    """

    def __init__(self, start: str, rules: dict[str, Expression], kinds: dict[str, tuple[int, ...]]) -> None:
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
                why="the competing terminals are computed for each of them",
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
        self._nullable = nullable_rules(rules)
        self._rows = self._find_rows()
        self._follow = self._find_follow()
        for at, name in self._accepting.items():
            self._rows[at] |= self._follow[name]

    def by_place(self) -> dict[str, int]:
        """Return for each place the kinds that are always beside the terminal there, itself included."""
        beside = self._beside()
        kinds = [0] * len(self._numbers)
        for _, at, symbol, _ in self._edges:
            if isinstance(symbol, Terminal):
                kinds[at] |= _union(1 << kind for kind in self._kinds[symbol.name])
        known: dict[int, int] = {}
        found: dict[str, int] = {}
        for _, at, symbol, _ in self._edges:
            if isinstance(symbol, Terminal):
                if at not in known:
                    known[at] = _union(kinds[each] for each in bits_of(beside[at]))
                found[symbol.name] = found.get(symbol.name, known[at]) & known[at]
        return found

    def _keys(self, symbol: Expression) -> tuple[Hashable, ...]:
        """Return the classes of items with equal moves: places of one kind have the same."""
        return self._kinds[symbol.name] if isinstance(symbol, Terminal) else (symbol,)

    def _moves(self) -> dict[Hashable, dict[int, int]]:
        """Return for each kind and rule the items after it, by the item where it is read."""
        moves: dict[Hashable, dict[int, int]] = {}
        for _, at, symbol, to in self._edges:
            for key in self._keys(symbol):
                row = moves.setdefault(key, {})
                row[at] = row.get(at, 0) | self._rows[to]
        return moves

    def _beside(self) -> list[int]:
        """Return for each item the items that are always beside it."""
        moves = self._moves()
        alike: dict[frozenset[tuple[int, int]], Hashable] = {}  # kinds that only occur together lead to the same items
        leading = {key: alike.setdefault(frozenset(row.items()), key) for key, row in moves.items()}
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
            keys = dict.fromkeys(leading[each] for each in self._keys(symbol))
            moved = [solver.add(moved=(beside[at], key)) for key in keys]
            solver.sources[beside[to]] += moved
            if isinstance(symbol, Rule):
                solver.sources[moved[0]].extend(ends.get(symbol.name, ()))
                solver.sources[beside[self._numbers[symbol.name, 0]]].append(beside[at])
                if symbol.name in self._nullable:
                    solver.sources[beside[to]].append(beside[at])
        return solver.solved(self._everything)

    def _find_follow(self) -> dict[str, int]:
        """Return for each rule the items that are always at its end, as it is within others."""
        solver = _Solver({})
        nothing = solver.add()
        follow = {name: solver.add() for name in self._items}
        solver.sources[follow[self._start]].append(nothing)
        for name, _, symbol, to in self._edges:
            if isinstance(symbol, Rule):
                after = solver.add(self._rows[to])
                solver.sources[after].append(follow[name] if to in self._accepting else nothing)
                solver.sources[follow[symbol.name]].append(after)
        values = solver.solved(self._everything)
        return {name: values[unknown] for name, unknown in follow.items()}

    def _find_rows(self) -> list[int]:
        """Return for each item those that are beside it because of its own continuation."""
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


def _union(masks: Iterable[int]) -> int:
    return reduce(int.__or__, masks, 0)


# --- the matches of a terminal beside others --------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _may_go_on_as(text: ast.Regex, longer: ast.Regex) -> bool:
    return _unless_shown(goes_on_as, text, longer)


def _may_meet(one: ast.Regex, other: ast.Regex) -> bool:
    return _unless_shown(meet, one, other)


def _unless_shown(related: Callable[[ast.Regex, ast.Regex], bool], one: ast.Regex, other: ast.Regex) -> bool:
    try:
        return related(one, other)
    except LimitError:
        return True  # what could be left out is kept


@lru_cache(maxsize=4096)
def _first(regex: ast.Regex) -> ast.Ranges | None:
    return first_characters(regex)


class _Alike:
    """Which kinds have texts that may begin alike; a pair that is not decided at once counts as alike."""

    def __init__(self, kinds: list[Kind]) -> None:
        self._everything = (1 << len(kinds)) - 1
        self._texts = [only_text(kind.text) for kind in kinds]
        self._words = sorted((text, number) for number, text in enumerate(self._texts) if text is not None)
        self._by_text: dict[str, int] = {}
        for text, number in self._words:
            self._by_text[text] = self._by_text.get(text, 0) | 1 << number
        self._patterns = self._everything & ~sum(self._by_text.values())
        firsts = [_first(kind.text) for kind in kinds]
        alphabet = Alphabet(first for first in firsts if first is not None)
        self._classes = [None if first is None else alphabet.bits(first) for first in firsts]
        unknown = sum(1 << number for number, first in enumerate(firsts) if first is None)
        self._beginning = [unknown] * alphabet.size  # by class the kinds that may begin with a character of it
        for number, classes in enumerate(self._classes):
            for each in bits_of(classes or 0):
                self._beginning[each] |= 1 << number
        self._known: dict[int, int] = {}

    def to(self, number: int) -> int:
        """Return the kinds that may begin like a kind, as a bit set."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._to(number)
        return known

    def _to(self, number: int) -> int:
        classes, text = self._classes[number], self._texts[number]
        alike = self._everything if classes is None else _union(self._beginning[each] for each in bits_of(classes))
        if text is None:
            return alike
        shorter = _union(self._by_text.get(text[:length], 0) for length in range(1, len(text)))
        return alike & self._patterns | self.longer_words(number) | shorter

    def longer_words(self, number: int) -> int:
        """Return the words that may be longer than a kind: for a word those that begin with it, itself included."""
        text = self._texts[number]
        if text is None:
            return self._everything & ~self._patterns
        begin = bisect_left(self._words, (text, 0))
        found = itertools.takewhile(lambda word: word[0].startswith(text), itertools.islice(self._words, begin, None))
        return _union(1 << other for _, other in found)


class _Matches:
    """The matches of the kinds beside others.

    Args:
        kinds: The terminals.
        longest: Whether the longest match is taken; otherwise any.
        dispatched: Of any match, the kinds among which a lazy one ends the others, too.
    """

    def __init__(self, kinds: list[Kind], *, longest: bool, dispatched: set[Kind]) -> None:
        self._kinds = kinds
        self._longest = longest
        everyone = (1 << len(kinds)) - 1
        self._together = everyone if longest else _union(1 << at for at, kind in enumerate(kinds) if kind in dispatched)
        self._alike = _Alike(kinds)
        self._lazy = _union(1 << number for number, kind in enumerate(kinds) if kind.lazy)
        words = _union(1 << number for number, kind in enumerate(kinds) if only_text(kind.text) is not None)
        self._patterns = ~words | self._lazy
        self._rivals = [self._may_be_longer(number) for number in range(len(kinds))]

    def compete(self) -> bool:
        """Whether some terminal matters to another, in any place."""
        return any(self._alike.to(number) & self._together & ~(1 << number) for number in bits_of(self._together))

    def lexeme(self, number: int, mask: int) -> Lexeme:
        """Return how a kind is read beside those of a mask, itself among them."""
        kind = self._kinds[number]
        text = self._before_first(number, mask)
        if kind.lazy or not self._longest:
            return Lexeme(text)
        rivals = list(bits_of(mask & self._rivals[number]))
        if len(rivals) <= MAX_TESTED:  # a kind that is never longer only costs time
            rivals = [each for each in rivals if _may_go_on_as(kind.text, self._kinds[each].text)]
        return Lexeme(text, ast.union(*(self._before_first(each, mask) for each in rivals)))

    def key(self, number: int, mask: int) -> tuple[int, int]:
        """Return what `lexeme` depends on."""
        return number, mask & (self._rivals[number] | self._lazy)

    def _may_be_longer(self, number: int) -> int:
        """Return the kinds that may begin like one, except words that are never longer."""
        return self._alike.to(number) & (self._patterns | self._alike.longer_words(number))

    def _before_first(self, number: int, mask: int) -> ast.Regex:
        """Return the texts of a kind during which no lazy one of a mask that may end it has a match that ends before."""
        kind = self._kinds[number]
        ends_it = self._together if self._together >> number & 1 else 1 << number
        cuts = [self._kinds[each].text for each in bits_of(mask & ends_it & self._lazy & self._alike.to(number))]
        if not cuts:
            return kind.text
        rest = SOME_TEXT if kind.lazy else ast.ANY_STRING
        ended = [each for each in cuts if _may_meet(ast.concat(each, rest), kind.text)]
        return ast.conjunction(kind.text, *(ast.complement(ast.concat(each, rest)) for each in ended))


class _Symbols:
    """The symbols of rules for the kinds of terminals.

    Attributes:
        terminals: Those that are not fixed texts.
    """

    def __init__(self, kinds: list[Kind], labels: Mapping[Kind, str], matches: _Matches) -> None:
        self.terminals: dict[str, tuple[Lexeme, ...]] = {}
        self._labels = [labels[kind] for kind in kinds]
        self._matches = matches
        self._by_lexeme: dict[tuple[int, Lexeme], Expression] = {}
        self._known: dict[tuple[int, int], Expression] = {}  # most places have the same rivals as others

    def of(self, number: int, beside: int) -> Expression:
        """Return the expression for a kind beside others."""
        key = self._matches.key(number, beside | 1 << number)
        if key not in self._known:
            lexeme = self._matches.lexeme(*key)
            if (number, lexeme) not in self._by_lexeme:
                self._by_lexeme[number, lexeme] = self._made(self._labels[number], lexeme)
            self._known[key] = self._by_lexeme[number, lexeme]
        return self._known[key]

    def _made(self, label: str, lexeme: Lexeme) -> Expression:
        """Return a text if a lexeme may end anywhere, or a new terminal."""
        if lexeme.text == ast.EMPTY or not _may_meet(lexeme.text, ast.ANY_STRING):
            return NOTHING
        if lexeme.longer == ast.EMPTY:
            return Text(lexeme.text)
        name, number = label, 1
        while name in self.terminals:
            number += 1
            name = f"{label} ({number})"
        self.terminals[name] = (lexeme,)
        return Terminal(name)


def resolved(
    start: str, rules: dict[str, Expression], places: Places, *, longest: bool
) -> tuple[dict[str, Expression], dict[str, tuple[Lexeme, ...]]]:
    """Return rules whose terminals match as they do beside the others, and these terminals.

    Args:
        start: The start rule.
        rules: Rules with a symbol of its own for each place of a terminal.
        places: These symbols.
        longest: Whether the longest match is taken, and a lazy terminal ends all those beside it; otherwise any match is, and a
            lazy terminal ends itself alone, except those that are `Places.dispatched`.

    Raises:
        LimitError: There are too many terminals and items.
    """
    rules = _reachable(start, rules)
    kinds = dict.fromkeys(itertools.chain.from_iterable(places.kinds.values()))
    numbers: dict[Kind, int] = {kind: number for number, kind in enumerate(kinds)}
    by_place = {name: tuple(numbers[kind] for kind in kinds) for name, kinds in places.kinds.items()}
    matches = _Matches(list(numbers), longest=longest, dispatched=places.dispatched)
    masks = _Expected(start, without_bounds(rules), by_place).by_place() if matches.compete() else {}
    symbols = _Symbols(list(kinds), places.labels, matches)
    replaced: dict[str, Expression] = {}
    known: dict[tuple[tuple[int, ...], int], Expression] = {}
    for name, choice in by_place.items():
        key = choice, masks.get(name, 0)
        if key not in known:
            ways = [symbols.of(number, key[1]) for number in choice]
            known[key] = ways[0] if len(ways) == 1 else alternatives(*ways)
        replaced[name] = known[key]
    return {name: _with(body, replaced) for name, body in rules.items()}, symbols.terminals


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
    if isinstance(expression, TokenBound):
        return bounded(_with(expression.inner, replaced), expression.most, expression.name)
    return expression


def _each(parts: Iterable[Expression], replaced: dict[str, Expression]) -> Iterator[Expression]:
    return (_with(part, replaced) for part in parts)
