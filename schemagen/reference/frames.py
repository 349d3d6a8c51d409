"""A parser of any context-free grammar, written to be read: Earley's sets of dotted rules as frames of a shared stack.

A frame is made after each symbol that was read. It holds places: a rule, the item at which it is read, and the frame
that it was called from, which is the return address. A rule that may end goes on in the frame that called it, at every
place there that waited for it; so the frames are a stack that is shared by all ways to parse, however many there are.

    read a symbol     every place that waited for it moves on, into a new frame
    a place calls     the rule begins at its first item, called from this frame
    a place may end   what waited for the rule in the frame that called it moves on, into this frame

Sources: Earley, "An efficient context-free parsing algorithm" (1970); rules that derive the empty text as in Aycock &
Horspool, "Practical Earley Parsing" (2002): a place that calls one also moves on at once. The engine of the compiled core
has the same frames and other work lists; this one is kept simple, because that one is compared with it.

Invariants: each frame has a place; from each place the rule comes to an end, and its caller after it, so a text that was
read has an end (the viable prefix property). That holds because rules that derive nothing are dropped first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from schemagen.context_free.items import Items, Readable, Symbol, items_of
from schemagen.context_free.regular import nonempty
from schemagen.context_free.simplify import live_rules, nullable_rules, reachable
from schemagen.context_free.syntax import ContextFreeGrammar, Guest, Rule, Terminal, Text, Token
from schemagen.errors import UnsatisfiableSchemaError, UnsupportedGrammarError
from schemagen.reference.fsm import byte_fsm
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from interegular.fsm import FSM


@dataclass(frozen=True, slots=True)
class Place:
    """Where a parser is in one rule: the item, and the frame to which the rule returns."""

    rule: str
    item: int
    caller: Frame


class Frame:
    """The symbols that may be read after those so far; compared by identity, and equal ones of a parser are one.

    Attributes:
        places: Every place at which a rule is here.
        waiting: For each symbol that may be read here, and each rule that is called here, the places after it.
        is_complete: Whether the symbols so far are a whole text.
    """

    __slots__ = ("__weakref__", "is_complete", "places", "waiting")

    def __init__(self) -> None:
        self.places: set[Place] = set()
        self.waiting: dict[Symbol, list[Place]] = {}
        self.is_complete = False

    def expected(self) -> Iterator[Readable]:
        """Yield the terminals and texts that may be read here."""
        return (symbol for symbol in self.waiting if not isinstance(symbol, Rule))


class Parser:
    """The parser of one grammar; frames are made as symbols are read.

    Args:
        grammar: Rules over terminals and texts.

    Raises:
        UnsatisfiableSchemaError: It derives no text.
        UnsupportedGrammarError: It is read by tables or by indentation, which frames do not know.
    """

    def __init__(self, grammar: ContextFreeGrammar) -> None:
        self.grammar = without_dead_rules(grammar)
        self.items: dict[str, Items] = {name: items_of(body) for name, body in self.grammar.rules.items()}
        self._nullable = nullable_rules(self.grammar.rules)
        self._known: WeakValueDictionary[frozenset[Place], Frame] = WeakValueDictionary()
        self.outside = Frame()
        self.start = self._frame(frozenset([Place(grammar.start, 0, self.outside)]))

    def advance(self, reads: Iterable[tuple[Frame, Symbol]]) -> Frame | None:
        """Return the frame after symbols that end at the same place of the text; None if none of them may be read.

        Args:
            reads: Symbols, each with the frame in front of it.
        """
        places = frozenset(place for frame, symbol in reads for place in frame.waiting.get(symbol, ()))
        if not places:
            return None
        known = self._known.get(places)
        return self._known.setdefault(places, self._frame(places)) if known is None else known

    def _frame(self, places: frozenset[Place]) -> Frame:
        """Return the frame of these places, of the rules that they call, and of the callers where they may end."""
        frame = Frame()
        todo = list(places)
        while todo:
            place = todo.pop()
            if place in frame.places:
                continue
            frame.places.add(place)
            items = self.items[place.rule]
            if place.item in items.accepting:
                frame.is_complete = frame.is_complete or place.caller is self.outside
                todo.extend(place.caller.waiting.get(Rule(place.rule), ()))
            for symbol, item in items.edges[place.item]:
                after = replace(place, item=item)
                frame.waiting.setdefault(symbol, []).append(after)
                if isinstance(symbol, Rule):
                    todo.append(Place(symbol.name, 0, frame))
                    if symbol.name in self._nullable:
                        todo.append(after)
        return frame


def without_dead_rules(grammar: ContextFreeGrammar) -> ContextFreeGrammar:
    """Return a grammar without the rules that derive no text and those that are never called.

    Raises:
        UnsatisfiableSchemaError: The start rule is one of them.
        UnsupportedGrammarError: The grammar is more than rules.
    """
    if grammar.tables is not None or grammar.indentation is not None:
        raise UnsupportedGrammarError(
            "a grammar that is read by LR tables or by indentation",
            why="the constructions in pure Python know rules and terminals only",
            fix="compile the grammar with schemagen.compile",
        )
    rules = live_rules(grammar.rules)
    if grammar.start not in rules:
        raise UnsatisfiableSchemaError(
            f"no text can be derived from {grammar.start!r}",
            why="each of its alternatives needs a rule that derives none either",
            fix="give the rule an alternative that ends",
        )
    return replace(grammar, rules=reachable(rules, grammar.start))


def fsms_of(
    grammar: ContextFreeGrammar,
    items: Mapping[str, Items],
    *,
    but: Collection[Readable] = (),
    max_states: int = 20_000,
    max_seconds: float = 30.0,
) -> dict[Readable, FSM]:
    """Return the machine over bytes of each terminal and text of a grammar, live states only.

    Args:
        grammar: The grammar.
        items: The items of its rules.
        but: Symbols that are left out.
        max_states: Most states of a machine, as in `byte_fsm`.
        max_seconds: Most seconds for a machine.

    Raises:
        UnsupportedGrammarError: A terminal is read by the longest match, or by the text after it, or is a token.
        LimitError: A limit stopped the work.
    """
    symbols = {symbol for rule in items.values() for edges in rule.edges for symbol, _ in edges}
    symbols |= {Terminal(name) for name in grammar.ignored}
    return {
        symbol: byte_fsm(_language(grammar, symbol), max_states=max_states, max_seconds=max_seconds)
        for symbol in sorted((each for each in symbols if not isinstance(each, Rule) and each not in but), key=repr)
    }


def _language(grammar: ContextFreeGrammar, symbol: Readable) -> ast.Regex:
    """Return the texts of a terminal, which may end wherever one of them does."""
    if isinstance(symbol, Text):
        return symbol.regex
    if isinstance(symbol, Guest):
        raise UnsupportedGrammarError(
            f"{symbol.spec!r:.80} inside a grammar",
            why="the constructions in pure Python read one grammar at a time",
            fix="compile the grammar with schemagen.compile",
        )
    if isinstance(symbol, Token):
        raise UnsupportedGrammarError(
            f"the token {symbol} inside a grammar",
            line=symbol.line,
            column=symbol.column,
            why="this construction reads texts",
            fix="compile the grammar with schemagen.compile, or with schemagen.reference.compile",
        )
    if not isinstance(symbol, Terminal):
        raise UnsupportedGrammarError(
            "tokens that are counted, or labelled parts, inside a grammar",
            why="this construction reads texts",
            fix="compile the grammar with schemagen.compile",
        )
    lexemes = grammar.terminals.get(symbol.name, ())
    if any(lexeme.marked or lexeme.longer != ast.EMPTY for lexeme in lexemes):
        raise UnsupportedGrammarError(
            f"the terminal {symbol.name!r} ends where a lexer says, not wherever one of its texts does",
            why="the constructions in pure Python have no lexer beside the parser",
            fix="compile the grammar with schemagen.compile",
        )
    return ast.union(*(nonempty(lexeme.text) for lexeme in lexemes))
