"""Rules as automata over symbols, whose states are the dotted items of a parser (Earley 1970).

The core makes them (core/context_free/items.hpp): the position automaton of a body (Glushkov 1961), in which items with the
same future are one. Here bodies are written as the numbers that it reads, and its answers get their symbols back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

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

if TYPE_CHECKING:
    from collections.abc import Callable

Readable: TypeAlias = "Terminal | Text | Guest | Token | TokenRun | TokenBound | Mark"
Symbol: TypeAlias = "Rule | Readable"

#: Operators of a body in numbers, and the rounds of a repetition without an end.
_SEQUENCE, _ALTERNATIVES, _REPEAT, _ENDLESS = -1, -2, -3, 2**31 - 1


@dataclass(slots=True)
class Items:
    """The items of one rule.

    Attributes:
        edges: For each item, which symbol leads to which item.
        accepting: The items at which the rule may end.
    """

    edges: list[list[tuple[Symbol, int]]]
    accepting: set[int]


class Numbers:
    """Symbols by number, in the order in which bodies name them."""

    def __init__(self) -> None:
        self._known: dict[Symbol, int] = {}

    @property
    def symbols(self) -> list[Symbol]:
        """The symbols."""
        return list(self._known)

    def body(self, expression: Expression) -> list[int]:
        """Return an expression as the numbers that the core reads: see `BodyOperator` there."""
        out: list[int] = []
        self._add(expression, out)
        return out

    def _add(self, expression: Expression, out: list[int]) -> None:
        if isinstance(expression, Sequence | Alternatives):
            out += (_SEQUENCE if isinstance(expression, Sequence) else _ALTERNATIVES, ~len(expression.parts))
            for part in expression.parts:
                self._add(part, out)
        elif isinstance(expression, Repeat):
            high = _ENDLESS if expression.high is None else min(expression.high, _ENDLESS - 1)
            out += (_REPEAT, ~min(expression.low, _ENDLESS - 1), ~high)
            self._add(expression.inner, out)
        elif isinstance(expression, Text):
            self._add_text(expression, out)
        else:
            out.append(self._known.setdefault(expression, len(self._known)))

    def _add_text(self, text: Text, out: list[int]) -> None:
        """Add a text, or nothing in its place where it may be empty: symbols are never empty."""
        regex = text.regex
        if is_nullable(regex):
            regex = nonempty(regex)
            out += (_ALTERNATIVES, ~2, _SEQUENCE, ~0)
        if regex == ast.EMPTY:
            out += (_ALTERNATIVES, ~0)
        else:
            symbol = text if regex is text.regex else Text(regex)
            out.append(self._known.setdefault(symbol, len(self._known)))


def renumbered(body: list[int], numbers: list[int]) -> list[int]:
    """Return a body with other numbers for its symbols."""
    return [numbers[each] if each >= 0 else each for each in body]


def items_of(body: Expression) -> Items:
    """Return the items of a rule with this body, those with the same future made one.

    Raises:
        LimitError: Its repetitions are too long to be written out.
    """
    from schemagen import _core

    return _items(body, _core.items_of)


def positions_of(body: Expression) -> Items:
    """Return an item for each symbol of a body, in the order in which they are written.

    Raises:
        LimitError: Its repetitions are too long to be written out.
    """
    from schemagen import _core

    return _items(body, _core.positions_of)


def _items(body: Expression, made: Callable[[list[int]], tuple[list[list[tuple[int, int]]], list[int]]]) -> Items:
    """Return the items that the core makes, their edges in the order of the texts of their symbols."""
    numbers = Numbers()
    named = numbers.body(body)
    symbols = sorted(numbers.symbols, key=written)
    ranks = {symbol: rank for rank, symbol in enumerate(symbols)}
    edges, accepting = made(renumbered(named, [ranks[each] for each in numbers.symbols]))
    return Items([[(symbols[rank], to) for rank, to in own] for own in edges], set(accepting))


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


def _positions_of_regex(regex: ast.Regex) -> list[list[ast.Ranges]] | None:
    """Return the characters of the positions after each item, the start first; None if there are too many positions."""
    from schemagen import _core

    numbers = Numbers()
    try:
        edges, _ = _core.positions_of(numbers.body(_expression_of(regex)), MAX_CHARACTERS)
    except LimitError:
        return None
    ranges = [symbol.regex.ranges for symbol in numbers.symbols]  # type: ignore[union-attr]
    return [[ranges[symbol] for symbol, _ in own] for own in edges]


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
    # Intersections and complements have none, and substrings too many.
    raise LimitError("a regular expression without positions")


def is_deterministic(regex: ast.Regex) -> bool:
    """Whether the next character alone tells which position of an expression it belongs to.

    Such an expression is one-unambiguous (Brüggemann-Klein and Wood 1998). If all its repetitions are greedy, too, a
    backtracking matcher never has to backtrack: `re` finds the longest match.

    Cost: O(positions squared) at worst; an expression of more than `MAX_CHARACTERS` is taken for not deterministic.
    """
    after = _positions_of_regex(regex)
    return after is not None and all(map(_are_disjoint, after))


def _are_disjoint(sets: list[ast.Ranges]) -> bool:
    ranges = sorted(each for ranges in sets for each in ranges)
    return all(left[1] < right[0] for left, right in pairwise(ranges))


def first_characters(regex: ast.Regex) -> ast.Ranges | None:
    """Return the characters that the texts of an expression begin with; None where it has too many positions."""
    parts = regex.parts if isinstance(regex, ast.Concat) else (regex,)
    places = [part.ranges for part in parts if isinstance(part, ast.Chars)]
    if places and len(places) == len(parts) <= MAX_CHARACTERS:
        return places[0]  # a keyword, or the like
    after = _positions_of_regex(regex)
    return None if after is None else ast.normalise_ranges(each for ranges in after[0] for each in ranges)
