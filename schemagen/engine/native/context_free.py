"""Context-free grammars handed to the compiled core: symbols become numbers, languages kernel nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.items import Symbol, items_of
from schemagen.context_free.simplify import simplified
from schemagen.context_free.syntax import NOTHING, Lexeme, Rule, Terminal, Text
from schemagen.context_free.texts import is_plain, nonempty
from schemagen.engine.native.lowering import compile_pattern
from schemagen.engine.native.node_cache import PatternLowering
from schemagen.engine.native.program import EMPTY_NODE, UTF8, builder_of
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.regex import ast
from schemagen.regex.text import to_python_re

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.options import Options
    from schemagen.vocabulary import Vocabulary

_SHOWN = 40


class _Lowering:
    """One grammar, its rules as items."""

    def __init__(self, grammar: ContextFreeGrammar, builder: _core.Builder) -> None:
        self._grammar = grammar
        self._nodes = PatternLowering(builder)
        self.items = {name: items_of(body) for name, body in grammar.rules.items()}
        self._numbers: dict[Symbol, int] = {}
        symbols = {symbol for items in self.items.values() for edges in items.edges for symbol, _ in edges}
        for symbol in sorted((each for each in symbols if not isinstance(each, Rule)), key=repr):
            self._numbers[symbol] = len(self._numbers)
        for name in sorted(grammar.ignored):
            self._numbers.setdefault(Terminal(name), len(self._numbers))
        self.terminals = list(self._numbers)
        for name in grammar.rules:
            self._numbers[Rule(name)] = len(self._numbers)

    def lexemes(self) -> list[tuple[int, int, int]]:
        """Return how each terminal is read: its number, its texts, and what it must not go on as."""
        return [(self._numbers[symbol], *self._lexeme(symbol)) for symbol in self.terminals]

    def _lexeme(self, symbol: Symbol) -> tuple[int, int]:
        lexeme = Lexeme(symbol.regex) if isinstance(symbol, Text) else self._grammar.terminals[symbol.name]
        text = self._nodes.lower(nonempty(lexeme.text), UTF8)
        longer = EMPTY_NODE if lexeme.longer == ast.EMPTY else self._nodes.lower(nonempty(lexeme.longer), UTF8)
        return text, longer

    def rules(self) -> list[tuple[str, int, list[tuple[int, int, int]], list[int]]]:
        """Return the rules: name, number of items, edges and accepting items."""
        return [
            (
                name,
                len(items.edges),
                [(at, self._numbers[symbol], to) for at, edges in enumerate(items.edges) for symbol, to in edges],
                sorted(items.accepting),
            )
            for name, items in self.items.items()
        ]

    def number_of(self, symbol: Symbol) -> int:
        """Return the number of a symbol."""
        return self._numbers[symbol]


def _name(symbol: Symbol) -> str:
    """Return what a terminal is called in messages."""
    if not isinstance(symbol, Text):
        return symbol.name
    if not is_plain(symbol.regex):
        return "a text"  # to write it as a pattern would take its minimal automaton
    text = f"/{to_python_re(symbol.regex)}/"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def compile_context_free(grammar: ContextFreeGrammar, vocabulary: Vocabulary, options: Options) -> _core.Constraint:
    """Return the constraint of a context-free grammar.

    Raises:
        UnsatisfiableSchemaError: It derives no text.
    """
    grammar = simplified(grammar)
    body = grammar.rules[grammar.start]
    if body == NOTHING:
        raise UnsatisfiableSchemaError(
            f"no text can be derived from {grammar.start!r}",
            why="each of its alternatives needs a rule that derives none either",
            fix="give the rule an alternative that ends",
        )
    if isinstance(body, Text):
        return compile_pattern(body.regex, vocabulary, options)
    builder = builder_of(options)
    lowering = _Lowering(grammar, builder)
    return builder.context_free(
        [(_name(symbol), getattr(symbol, "name", None) in grammar.ignored) for symbol in lowering.terminals],
        lowering.lexemes(),
        lowering.rules(),
        lowering.number_of(Rule(grammar.start)),
        options.limits.max_alternatives,
        vocabulary.tables,
    )
