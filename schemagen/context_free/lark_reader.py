"""Grammars of lark: exactly the texts that a `lark.Lark` with the same options parses.

lark itself reads the grammar (imports, templates, priorities of terminals and all), so what is left are plain rules over
terminals, and the terminals' patterns. What a terminal matches depends on the lexer:

`dynamic`           (Earley) a terminal that the parser expects takes what `re` finds, which for most patterns is the longest match
`dynamic_complete`  (Earley) it takes any text of its pattern; what is ignored still takes what `re` finds
`basic`             terminals are tried in lark's order, whatever the parser expects, and the first that matches is taken
`contextual`        (LALR) the same among the terminals that the state of the parser expects

Rules have no priorities here: they choose between trees of a text, not between texts.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from schemagen.context_free.determinism import is_deterministic
from schemagen.context_free.syntax import (
    ContextFreeGrammar,
    Expression,
    Lexeme,
    Rule,
    Terminal,
    alternatives,
    sequence,
)
from schemagen.regex import ast, parse_python

if TYPE_CHECKING:
    from lark import Lark


def grammar_of(parser: Lark) -> ContextFreeGrammar:
    """Return the grammar of a parser."""
    bodies: dict[str, list[Expression]] = defaultdict(list)
    for rule in parser.rules:
        parts = [Terminal(symbol.name) if symbol.is_term else Rule(symbol.name) for symbol in rule.expansion]
        bodies[str(rule.origin.name)].append(sequence(*parts))
    rules = {name: alternatives(*alternative) for name, alternative in bodies.items()}
    ignored = frozenset(parser.ignore_tokens)
    terminals = _dynamic(parser, ignored)
    return ContextFreeGrammar(parser.options.start[0], rules, terminals, ignored)


def _dynamic(parser: Lark, ignored: frozenset[str]) -> dict[str, tuple[Lexeme, ...]]:
    complete = parser.options.lexer == "dynamic_complete"
    return {
        terminal.name: (_any(terminal) if complete and terminal.name not in ignored else _matched(terminal),)
        for terminal in parser.terminals
    }


def _any(terminal: Any) -> Lexeme:
    """Any text of a pattern."""
    return Lexeme(parse_python(terminal.pattern.to_regexp()))


def _matched(terminal: Any) -> Lexeme:
    """What `re` finds."""
    regex: ast.Regex = parse_python(terminal.pattern.to_regexp())
    if not is_deterministic(regex):
        raise NotImplementedError(terminal)
    return Lexeme(regex, longer=regex)
