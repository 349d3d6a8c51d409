"""Rules as automata over symbols, whose states are the dotted items of a parser (Earley 1970).

The core makes them (core/context_free/items.hpp): the position automaton of a body (Glushkov 1961), in which items with the
same future are one. Here bodies are written as the numbers that it reads, and its answers get their symbols back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
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
