"""Context-free grammars in numbers, for the compiled core: symbols, lexemes as kernel nodes, rules as bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.items import Numbers, Symbol, renumbered, written
from schemagen.context_free.names import languages_of, rule_name, symbol_name
from schemagen.context_free.regular import nonempty
from schemagen.context_free.syntax import Lexeme, Rule, Terminal, Text, Token
from schemagen.engine.native.node_cache import NODE_CACHES
from schemagen.engine.tokens import ids_of
from schemagen.regex import ast
from schemagen.regex.lowering import EMPTY_NODE, UTF8, PatternLowering

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.vocabulary import Vocabulary

    _Indents = tuple[tuple[int, int, int], list[tuple[int, int]], list[int], list[int]]
    _Tables = tuple[list[list[tuple[int, bool, int]]], list[tuple[int, int]], list[list[int]], int, int]

#: Of line breaks between brackets, for the core.
ANY_WIDTH = 2**32 - 1


class GrammarLowering:
    """One grammar, its rules as items, over a vocabulary with marks for the tokens that it names."""

    def __init__(self, grammar: ContextFreeGrammar, builder: _core.Builder, vocabulary: Vocabulary) -> None:
        self._grammar = grammar
        self._builder = builder
        self._vocabulary = vocabulary
        self._nodes = PatternLowering(builder, NODE_CACHES.of(builder).patterns)
        self._named = Numbers()
        self._bodies = {name: self._named.body(body) for name, body in grammar.rules.items()}
        self._numbers: dict[Symbol, int] = {}
        for symbol in sorted((each for each in self._named.symbols if not isinstance(each, Rule)), key=written):
            self._numbers[symbol] = len(self._numbers)
        for name in sorted(grammar.ignored):
            self._numbers.setdefault(Terminal(name), len(self._numbers))
        if grammar.indentation is not None:
            for symbol in (grammar.indentation.indent, grammar.indentation.dedent, *grammar.indentation.widths):
                self._numbers.setdefault(symbol, len(self._numbers))
        self.terminals = list(self._numbers)
        for name in grammar.rules:
            self._numbers[Rule(name)] = len(self._numbers)
        self._lexemes: dict[tuple[Symbol, Lexeme], int] = {}
        self._expected = [] if grammar.tables is None else self._number_rows(grammar.tables.expected)
        for terminal in self.terminals if grammar.tables is None else ():
            for lexeme in self._ways_of(terminal):
                self._lexemes.setdefault((terminal, lexeme), len(self._lexemes))

    def _number_rows(self, rows: tuple[tuple[tuple[Terminal, Lexeme], ...], ...]) -> list[list[int]]:
        """Number the ways to read terminals; most rows, and the ways in them, are objects that were seen before."""
        ways: dict[int, int] = {}
        known: dict[int, list[int]] = {}
        for row in rows:
            if id(row) in known:
                continue
            for way in row:
                if id(way) not in ways:
                    ways[id(way)] = self._lexemes.setdefault(way, len(self._lexemes))
            known[id(row)] = [ways[id(way)] for way in row]
        return [known[id(row)] for row in rows]

    def _ways_of(self, symbol: Symbol) -> tuple[Lexeme, ...]:
        if isinstance(symbol, Text):
            return (Lexeme(symbol.regex),)
        return self._grammar.terminals.get(symbol.name, ()) if isinstance(symbol, Terminal) else ()

    def named_terminals(self) -> list[tuple[str, bool]]:
        """Return the name of each terminal, and whether it is ignored."""
        languages = languages_of(self._grammar)
        ignored = self._grammar.ignored
        return [
            (symbol_name(symbol, languages), isinstance(symbol, Terminal) and symbol.name in ignored)
            for symbol in self.terminals
        ]

    def lexemes(self) -> list[tuple[int, int, int, bool]]:
        """Return the ways to read each terminal: its number, its texts, what they must not go on as, and whether marked."""
        found = [(self._numbers[symbol], *self._lexeme(lexeme)) for symbol, lexeme in self._lexemes]
        for token in (symbol for symbol in self.terminals if isinstance(symbol, Token)):
            marks = [self._vocabulary.tokens[each] for each in ids_of(token, self._vocabulary)]
            found.append((self._numbers[token], self._builder.literals(marks), EMPTY_NODE, False))
        return found

    def _lexeme(self, lexeme: Lexeme) -> tuple[int, int, bool]:
        text = self._nodes.lower(nonempty(lexeme.text), UTF8)
        longer = EMPTY_NODE if lexeme.longer == ast.EMPTY else self._nodes.lower(nonempty(lexeme.longer), UTF8)
        return text, longer, lexeme.marked

    def tables(self) -> _Tables | None:
        """Return the tables of the parser in numbers; None without tables."""
        given = self._grammar.tables
        if given is None:
            return None
        columns = self._columns()
        actions = [
            sorted((column, *action) for symbol, action in row.items() if (column := columns.get(symbol)) is not None)
            for row in given.actions
        ]
        productions = [(self._numbers[rule], length) for rule, length in given.productions]
        return actions, productions, self._expected, given.start, given.end

    def indents(self) -> _Indents | None:
        """Return in numbers how lines make blocks; None if they do not."""
        given = self._grammar.indentation
        if given is None:
            return None
        numbers = self._numbers
        return (
            (numbers[given.newline], numbers[given.indent], numbers[given.dedent]),
            [(numbers[symbol], ANY_WIDTH if width is None else width) for symbol, width in given.widths.items()],
            [numbers[symbol] for symbol in given.opening if symbol in numbers],
            [numbers[symbol] for symbol in given.closing if symbol in numbers],
        )

    def _columns(self) -> dict[Symbol | None, int]:
        """Return the columns of the tables: the end of the text stands between terminals and rules."""
        columns: dict[Symbol | None, int] = {
            symbol: number + isinstance(symbol, Rule) for symbol, number in self._numbers.items()
        }
        columns[None] = len(self.terminals)
        return columns

    def rules(self) -> list[tuple[str, list[int]]]:
        """Return the rules: name, and body."""
        numbers = [self._numbers[symbol] for symbol in self._named.symbols]
        return [(rule_name(name), renumbered(body, numbers)) for name, body in self._bodies.items()]

    def number_of(self, symbol: Symbol) -> int:
        """Return the number of a symbol."""
        return self._numbers[symbol]
