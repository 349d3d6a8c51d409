"""Grammars of lark: exactly the texts that a `lark.Lark` with the same options parses.

lark itself reads the grammar (imports, templates, priorities of terminals and all), so what is left are plain rules over
terminals, and the terminals' patterns. What a terminal matches depends on the lexer:

`dynamic`           (Earley) a terminal that the parser expects takes what `re` finds, for most patterns the longest match
`dynamic_complete`  (Earley) it takes any text of its pattern; what is ignored still takes what `re` finds
`basic`             terminals are tried in lark's order, whatever the parser expects, and the first that matches is taken
`contextual`        (LALR) the same among the terminals that the state of the parser expects

Rules have no priorities here: they choose between trees of a text, not between texts.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from schemagen.context_free.matching import matched, matched_whole
from schemagen.context_free.syntax import (
    ContextFreeGrammar,
    Expression,
    Lexeme,
    LrTables,
    Rule,
    Terminal,
    alternatives,
    sequence,
)
from schemagen.regex import ast

if TYPE_CHECKING:
    from lark import Lark


def grammar_of(parser: Lark) -> ContextFreeGrammar:
    """Return the grammar of a parser.

    Raises:
        UnsupportedPatternError: A terminal cannot be read by an automaton.
    """
    bodies: dict[str, list[Expression]] = defaultdict(list)
    for rule in parser.rules:
        bodies[str(rule.origin.name)].append(sequence(*map(_symbol, rule.expansion)))
    rules = {name: alternatives(*alternative) for name, alternative in bodies.items()}
    ignored = frozenset(parser.ignore_tokens)
    start = parser.options.start[0]
    if parser.options.parser == "lalr":
        return ContextFreeGrammar(start, rules, {}, ignored, _tables(parser))
    if parser.options.lexer == "basic":
        return ContextFreeGrammar(start, rules, _grouped(_scanned(parser.parser.lexer)), ignored)
    return ContextFreeGrammar(start, rules, _dynamic(parser, ignored), ignored)


def _symbol(symbol: Any) -> Terminal | Rule:
    return Terminal(symbol.name) if symbol.is_term else Rule(str(symbol.name))


def _dynamic(parser: Lark, ignored: frozenset[str]) -> dict[str, tuple[Lexeme, ...]]:
    """Each terminal takes what it matches, whatever the others do."""
    complete = parser.options.lexer == "dynamic_complete"
    terminals: dict[str, tuple[Lexeme, ...]] = {}
    for terminal in parser.terminals:
        pattern = terminal.pattern.to_regexp()
        any_text = complete and terminal.name not in ignored
        terminals[terminal.name] = (matched_whole(pattern) if any_text else matched(pattern),)
    return terminals


def _scanned(lexer: Any) -> list[tuple[Terminal, Lexeme]]:
    """Return the terminals of a lexer that takes the first one in its order, with the texts that make another one of it."""
    ways: list[tuple[Terminal, Lexeme]] = []
    earlier: list[str] = []
    for terminal in lexer.scanner.terminals:
        pattern = terminal.pattern.to_regexp()
        callback = lexer.callback.get(terminal.name)
        words: list[str] = []
        for word in () if callback is None else callback.scanner.terminals:
            only = word.pattern.to_regexp()
            ways.append((Terminal(word.name), matched(pattern, before=earlier, only=only, but_not=tuple(words))))
            words.append(only)
        ways.append((Terminal(terminal.name), matched(pattern, before=earlier, but_not=words)))
        earlier.append(pattern)
    return [(terminal, lexeme) for terminal, lexeme in ways if lexeme.text != ast.EMPTY]


def _grouped(ways: list[tuple[Terminal, Lexeme]]) -> dict[str, tuple[Lexeme, ...]]:
    terminals: dict[str, tuple[Lexeme, ...]] = defaultdict(tuple)
    for terminal, lexeme in ways:
        terminals[terminal.name] += (lexeme,)
    return terminals


def _tables(parser: Any) -> LrTables:
    """Return the tables that lark has made of the grammar."""
    from lark.grammar import Rule as LarkRule
    from lark.lexer import TerminalDef

    data, memo = parser.memo_serialize([TerminalDef, LarkRule])
    table = data["parser"]["parser"]
    numbers = {state: number for number, state in enumerate(table["states"])}
    productions: dict[int, tuple[Rule, int]] = {}
    names = {index: _table_symbol(name, parser) for index, name in table["tokens"].items()}
    actions = []
    for row in table["states"].values():
        out: dict[Terminal | Rule | None, tuple[bool, int]] = {}
        for token, (reduces, target) in row.items():
            if reduces:
                rule = memo[target["@"]]
                productions.setdefault(target["@"], (Rule(rule["origin"]["name"]), len(rule["expansion"])))
                out[names[token]] = (True, list(productions).index(target["@"]))
            else:
                out[names[token]] = (False, numbers[target])
        actions.append(out)
    start = parser.options.start[0]
    lexers = (
        parser.parser.lexer.lexers if parser.options.lexer == "contextual" else defaultdict(lambda: parser.parser.lexer)
    )
    known: dict[int, tuple[tuple[Terminal, Lexeme], ...]] = {}
    expected = []
    for state in table["states"]:
        lexer = lexers[state]
        if id(lexer) not in known:
            known[id(lexer)] = tuple(_scanned(lexer))
        expected.append(known[id(lexer)])
    return LrTables(
        tuple(actions),
        tuple(productions.values()),
        tuple(expected),
        numbers[table["start_states"][start]],
        numbers[table["end_states"][start]],
    )


def _table_symbol(name: str, parser: Any) -> Terminal | Rule | None:
    if name == "$END":
        return None
    return Terminal(name) if any(terminal.name == name for terminal in parser.terminals) else Rule(name)
