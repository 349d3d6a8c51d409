"""Terminals that compete for the longest match where the parser expects several of them at once.

A lexer that knows what the parser expects runs these terminals side by side. A lazy one ends all of them at its first match;
otherwise the longest match of any of them is taken, as each terminal that has it. So what a terminal may match depends on
which others are expected beside it. The others that always are, wherever it stands, are found from the rules:

- beside an item stand those that the rules called there begin with, and what follows if they may be empty;
- at the start of a rule, and behind a rule within another, what stood beside in every case: what the rule could go on with
  instead, or be followed by.

These are equations over sets of terminals, whose greatest solution holds for every text. Where what stands beside depends on
the text before, only what always does competes: then more texts are accepted than by such a lexer, never fewer.

Source: of this project; the items are those of Earley 1970, the solution is that of Knaster and Tarski.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from schemagen.context_free.determinism import first_characters, only_text
from schemagen.context_free.items import items_of
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from schemagen.context_free.items import Items

#: Terminals times items of a grammar.
MAX_CELLS = 400_000_000

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
    """Equations ``value = base | (source & source & ...)`` over bit sets, solved for the greatest values."""

    def __init__(self) -> None:
        self.base: list[int] = []
        self.sources: list[list[int]] = []

    def add(self, base: int = 0) -> int:
        """Return a new unknown."""
        self.base.append(base)
        self.sources.append([])
        return len(self.base) - 1

    def solved(self, everything: int) -> list[int]:
        """Return the values; an unknown without sources is its base."""
        values = [everything if sources else base for base, sources in zip(self.base, self.sources, strict=True)]
        users: list[list[int]] = [[] for _ in values]
        for unknown, sources in enumerate(self.sources):
            for source in sources:
                users[source].append(unknown)
        todo = [unknown for unknown, sources in enumerate(self.sources) if sources]
        while todo:
            unknown = todo.pop()
            value = self.base[unknown] | reduce(int.__and__, (values[each] for each in self.sources[unknown]))
            if value != values[unknown]:
                values[unknown] = value
                todo.extend(users[unknown])
        return values


class _Expected:
    """The sets of terminals that stand beside each item."""

    def __init__(self, start: str, rules: dict[str, Expression], bits: dict[str, int]) -> None:
        self._items: dict[str, Items] = {name: items_of(body) for name, body in rules.items()}
        self._bits = bits
        self._start = start
        self._everything = reduce(int.__or__, bits.values(), 0)
        count = sum(len(items.edges) for items in self._items.values())
        if count * self._everything.bit_length() > MAX_CELLS:
            raise LimitError(
                f"{self._everything.bit_length():,} terminals at {count:,} places, limit {MAX_CELLS:,} of both together",
                why="which of them compete is worked out for each place",
                fix="use terminals for parts of the grammar that are regular",
            )
        self._nullable = self._find_nullable()
        self._begins = self._find_begins()

    def by_place(self) -> dict[str, int]:
        """Return for each place what always stands beside the terminal there, itself included."""
        follow = self._follow()
        solver = _Solver()
        nothing = solver.add()
        beside = {
            (name, at): solver.add(begins | (follow[name] if at in self._items[name].accepting else 0))
            for name, row in self._begins.items()
            for at, begins in enumerate(row)
        }
        solver.sources[beside[self._start, 0]].append(nothing)
        reached = {(name, to) for name, _, _, to in self._edges()}
        for name, at, symbol, to in self._edges():
            if not isinstance(symbol, Rule):
                solver.sources[beside[name, to]].append(nothing)
                continue
            callee = symbol.name
            solver.sources[beside[callee, 0]].append(beside[name, at])
            ends = [end for end in self._items[callee].accepting if end or (callee, 0) in reached]
            solver.sources[beside[name, to]].extend(beside[callee, end] for end in ends)
            if callee in self._nullable:
                solver.sources[beside[name, to]].append(beside[name, at])
        values = solver.solved(self._everything)
        found: dict[str, int] = {}
        for name, at, symbol, _ in self._edges():
            if isinstance(symbol, Terminal):
                mask = values[beside[name, at]]
                found[symbol.name] = found.get(symbol.name, mask) & mask
        return found

    def _follow(self) -> dict[str, int]:
        """Return for each rule the terminals that always may follow it."""
        solver = _Solver()
        nothing = solver.add()
        follow = {name: solver.add() for name in self._items}
        solver.sources[follow[self._start]].append(nothing)
        for name, _, symbol, to in self._edges():
            if isinstance(symbol, Rule):
                behind = solver.add(self._begins[name][to])
                solver.sources[behind].append(follow[name] if to in self._items[name].accepting else nothing)
                solver.sources[follow[symbol.name]].append(behind)
        values = solver.solved(self._everything)
        return {name: values[unknown] for name, unknown in follow.items()}

    def _edges(self) -> Iterator[tuple[str, int, Expression, int]]:
        for name, items in self._items.items():
            for at, edges in enumerate(items.edges):
                for symbol, to in edges:
                    yield name, at, symbol, to

    def _find_nullable(self) -> set[str]:
        """Return the rules that may be empty."""
        callers: dict[str, list[str]] = {}
        for name, _, symbol, _ in self._edges():
            if isinstance(symbol, Rule):
                callers.setdefault(symbol.name, []).append(name)
        found = {name for name, items in self._items.items() if 0 in items.accepting}
        todo = [caller for name in list(found) for caller in callers.get(name, ())]
        while todo:
            name = todo.pop()
            if name not in found and self._ends_within(name, found):
                found.add(name)
                todo.extend(callers.get(name, ()))
        return found

    def _ends_within(self, name: str, nullable: set[str]) -> bool:
        items = self._items[name]
        reached, todo = {0}, [0]
        while todo:
            at = todo.pop()
            if at in items.accepting:
                return True
            for symbol, to in items.edges[at]:
                if isinstance(symbol, Rule) and symbol.name in nullable and to not in reached:
                    reached.add(to)
                    todo.append(to)
        return False

    def _find_begins(self) -> dict[str, list[int]]:
        """Return for each item the terminals that the rest of its rule may begin with."""
        begins = {name: [0] * len(items.edges) for name, items in self._items.items()}
        users: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for name, at, symbol, to in self._edges():
            if isinstance(symbol, Terminal):
                begins[name][at] |= self._bits[symbol.name]
            elif isinstance(symbol, Rule):
                users.setdefault((symbol.name, 0), []).append((name, at))
                if symbol.name in self._nullable:
                    users.setdefault((name, to), []).append((name, at))
        todo = [(name, at) for name, row in begins.items() for at, mask in enumerate(row) if mask]
        while todo:
            name, at = todo.pop()
            mask = begins[name][at]
            for user, place in users.get((name, at), ()):
                if begins[user][place] | mask != begins[user][place]:
                    begins[user][place] |= mask
                    todo.append((user, place))
        return begins


# --- what a terminal matches beside others ---------------------------------------------------------------------------


@lru_cache(maxsize=65536)
def _may_share(one: ast.Regex, other: ast.Regex) -> bool:
    """Whether texts of two languages may begin alike; True where that is not seen at once."""
    first, second = only_text(one), only_text(other)
    if first is not None and second is not None:
        return first.startswith(second) or second.startswith(first)
    starts = _first(one), _first(other)
    return None in starts or bool(ast.intersect_ranges(starts[0] or (), starts[1] or ()))


@lru_cache(maxsize=4096)
def _first(regex: ast.Regex) -> ast.Ranges | None:
    return first_characters(regex)


@lru_cache(maxsize=65536)
def _goes_on_as(text: ast.Regex, longer: ast.Regex) -> bool:
    """Whether some text of the one language is longer than one of the other that it begins with."""
    first, second = only_text(text), only_text(longer)
    if first is not None and second is not None:
        return second.startswith(first) and first != second
    return _may_share(text, longer) and _meet(ast.concat(text, _ANYTHING_MORE), longer)


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
        self._known: dict[tuple[int, int], Lexeme] = {}

    def lexeme(self, number: int, mask: int) -> Lexeme:
        """Return how a kind is read beside those of a mask."""
        key = number, mask
        if key not in self._known:
            beside = [kind for at, kind in enumerate(self._kinds) if mask >> at & 1]
            self._known[key] = self._lexeme(self._kinds[number], beside)
        return self._known[key]

    def _lexeme(self, kind: Kind, beside: list[Kind]) -> Lexeme:
        lazy = [each for each in beside if each.lazy]
        text = _before_first(kind, lazy)
        if kind.lazy or not self._longest:
            return Lexeme(text)
        longer = [_before_first(each, lazy) for each in beside if _goes_on_as(kind.text, each.text)]
        return Lexeme(text, ast.union(*longer))


def _before_first(kind: Kind, lazy: list[Kind]) -> ast.Regex:
    """Return the texts of a kind during which no lazy one has a match that ends before."""
    rest = _ANYTHING_MORE if kind.lazy else ast.ANY_STRING
    cuts = [each for each in lazy if _may_share(each.text, kind.text)]
    ended = [each for each in cuts if _meet(ast.concat(each.text, rest), kind.text)]
    return ast.conjunction(kind.text, *(ast.complement(ast.concat(each.text, rest)) for each in ended))


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
    bits = {name: 1 << numbers[kind] for name, kind in places.kinds.items()}
    masks: dict[str, int] = {}
    if longest or any(kind.lazy for kind in numbers):
        masks = _Expected(start, rules, bits).by_place()
    matches = _Matches(list(numbers), longest=longest)
    symbols: dict[tuple[Kind, Lexeme], Expression] = {}
    terminals: dict[str, tuple[Lexeme, ...]] = {}
    replaced: dict[str, Expression] = {}
    for name, kind in places.kinds.items():
        lexeme = matches.lexeme(numbers[kind], masks.get(name, 0) | bits[name])
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
