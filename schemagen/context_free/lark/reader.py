"""Grammars of lark: exactly the texts that a `lark.Lark` with the same options parses.

lark itself reads the grammar (imports, templates, priorities of terminals and all), which leaves plain rules over
terminals, and the terminals' patterns. The texts that a terminal matches depend on the lexer:

`dynamic`           (Earley) a terminal that the parser expects takes what `re` finds, for most patterns the longest match
`dynamic_complete`  (Earley) it takes any text of its pattern; ignored terminals still take the match of `re`
`basic`             terminals are tried in lark's order, whatever the parser expects, and the first that matches is taken
`contextual`        (LALR) the same among the terminals that the state of the parser expects

Priorities of rules are ignored: they choose between trees of a text, not between texts. A terminal that the grammar declares
can be bound to an expression, which the Earley parser reads character by character: no lexer looks for its end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemagen.context_free.lark.lexers import Scanners, ignored_terminals, lexer_of, pattern_of, reserved
from schemagen.context_free.lark.python_re import matched, matched_whole
from schemagen.context_free.lark.source import indents_of, place_of
from schemagen.context_free.regular import is_nullable, nonempty
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    NOTHING,
    ContextFreeGrammar,
    Expression,
    Guest,
    Indentation,
    Lexeme,
    LrTables,
    Rule,
    Terminal,
    Text,
    alternatives,
    sequence,
)
from schemagen.errors import GrammarSyntaxError, LimitError, OptionError, UnsupportedGrammarError
from schemagen.regex.language import is_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lark import Lark

    from schemagen.context_free.lark.lexers import Ways
    from schemagen.regex import ast

    Bound = Mapping[str, Callable[[], Expression]]


#: The furthest right that a line may begin in a language with indentation.
MAX_INDENTATION = 40


def grammar_of(parser: Lark, bound: Bound | None = None, *, reserve_words: bool = False) -> ContextFreeGrammar:
    """Return the grammar of a parser.

    Args:
        parser: The parser.
        bound: The expressions of terminals that the grammar declares; asked for if it uses them.
        reserve_words: Whether literals that other terminals match are reserved; see `reserved_words`.

    Raises:
        UnsupportedPatternError: A terminal cannot be read by an automaton.
        UnsupportedGrammarError: Its tokens are changed by something else than an `Indenter` before they are parsed, or
            something is bound that only an Earley parser can read.
        GrammarSyntaxError: A terminal is declared and nothing is bound to it.
        OptionError: A name is bound that the grammar does not declare.
    """
    options = parser.options
    indentation = _indentation(options.postlex)
    bound_symbols = _bound(parser, bound or {}, indentation)
    bodies: dict[str, list[Expression]] = defaultdict(list)
    known: dict[tuple[bool, str], Expression] = {}  # one object each: equal ones are found at once in dictionaries
    for rule in parser.rules:
        symbols = []
        for each in rule.expansion:
            key = each.is_term, each.name
            if key not in known:
                known[key] = _symbol_of(each, bound_symbols)
            symbols.append(known[key])
        bodies[str(rule.origin.name)].append(sequence(*symbols))
    rules = {name: alternatives(*alternative) for name, alternative in bodies.items()}
    ignored = frozenset(ignored_terminals(parser).values())
    start = options.start[0]
    if options.parser == "lalr":
        return ContextFreeGrammar(start, rules, {}, ignored, _tables(parser, indentation), indentation)
    if options.lexer == "basic":
        ways = Scanners(parser, indentation).ways(lexer_of(parser))
        return ContextFreeGrammar(start, rules, _grouped(ways), ignored, None, indentation)
    terminals = _dynamic(parser)
    if reserve_words:
        terminals.update(
            reserved({each.name: (pattern_of(each, parser), each.pattern.type == "str") for each in parser.terminals})
        )
    terminals.update((name, ways) for name, (_, ways) in bound_symbols.items() if ways)
    terminals.update(_ignored(parser, terminals))
    return ContextFreeGrammar(start, rules, terminals, ignored)


def _bound(
    parser: Any, bound: Bound, indentation: Indentation | None
) -> dict[str, tuple[Expression, tuple[Lexeme, ...]]]:
    """Return for each declared terminal that the rules use its expression, and how it is read."""
    defined = {terminal.name for terminal in parser.terminals}
    made = set() if indentation is None else {indentation.indent.name, indentation.dedent.name}
    used = dict.fromkeys(symbol.name for rule in parser.rules for symbol in rule.expansion if symbol.is_term)
    used.update(dict.fromkeys(parser.ignore_tokens))
    declared = {name for name, (tree, _) in parser.grammar.term_defs if tree is None} if bound else set()
    for name in bound:
        if name not in declared or name in defined:
            why = "it has a definition" if name not in declared else "lark gives a literal this name, too"
            raise OptionError(
                f"bind={{{name!r}: ...}}",
                why=why if name in defined else "the grammar does not declare it",
                fix=f"write %declare {name}" if name not in declared else "declare it under another name",
            )
    for name in used:
        if name not in defined and name not in made and name not in bound:
            line, column = place_of(name, getattr(parser, "source_grammar", ""))
            raise GrammarSyntaxError(
                f"the terminal {name!r} is declared and has no texts",
                why="%declare leaves them to the caller",
                fix=f"give bind={{{name!r}: ...}}, a pattern, a type or another spec",
                line=line,
                column=column,
            )
    if bound and (parser.options.parser != "earley" or not parser.options.lexer.startswith("dynamic")):
        raise UnsupportedGrammarError(
            f"bind= with parser={parser.options.parser!r} and lexer={parser.options.lexer!r}",
            why="their lexer looks for the end of each terminal, and a bound text is one wherever the parser takes it as such",
            fix="use parser='earley' with one of its dynamic lexers",
        )
    made_of = {name: _read_by_parser(name, bound[name]()) for name in used if name in bound}
    for name in parser.ignore_tokens:
        if name in made_of and not made_of[name][1]:
            line, column = place_of(name, getattr(parser, "source_grammar", ""))
            raise UnsupportedGrammarError(
                f"%ignore {name}, to which a type, a schema or a grammar is bound",
                why="ignored terminals are read as regular expressions",
                fix=f"bind {name} to a pattern, or name it in the rules",
                line=line,
                column=column,
            )
    return made_of


def _read_by_parser(name: str, expression: Expression) -> tuple[Expression, tuple[Lexeme, ...]]:
    """Return the symbol of a bound value, and how it is read: as a terminal, so that ignored texts may surround it."""
    if not isinstance(expression, Text):
        return replace(expression, name=name) if isinstance(expression, Guest) else expression, ()
    texts = nonempty(expression.regex)
    symbol = NOTHING if _has_none(texts) else Terminal(name)
    return alternatives(symbol, EMPTY_TEXT) if is_nullable(expression.regex) else symbol, (Lexeme(texts),)


def _has_none(regex: ast.Regex) -> bool:
    try:
        return is_empty(regex)
    except LimitError:
        return False  # something has too many states


def _indentation(indenter: Any) -> Indentation | None:
    """Return how an `Indenter` of lark makes blocks of lines; None for no indenter."""
    if indenter is None:
        return None
    indents = indents_of(indenter)
    newline = indents.newline
    return Indentation(
        Terminal(newline),
        Terminal(indents.indent),
        Terminal(indents.dedent),
        {
            Terminal(f"{newline} between brackets"): None,
            **{Terminal(f"{newline} at {width}"): width for width in range(MAX_INDENTATION + 1)},
        },
        tuple(map(Terminal, indents.opening)),
        tuple(map(Terminal, indents.closing)),
        indents.tab,
    )


def _symbol_of(symbol: Any, bound: Mapping[str, tuple[Expression, Any]]) -> Expression:
    if symbol.name in bound:
        return bound[symbol.name][0]
    return Terminal(symbol.name) if symbol.is_term else Rule(str(symbol.name))


def _dynamic(parser: Lark) -> dict[str, tuple[Lexeme, ...]]:
    """Return for each terminal its own match, whatever the others match."""
    read = matched_whole if parser.options.lexer == "dynamic_complete" else matched
    return {terminal.name: (read(pattern_of(terminal, parser)),) for terminal in parser.terminals}


def _ignored(parser: Lark, terminals: dict[str, tuple[Lexeme, ...]]) -> dict[str, tuple[Lexeme, ...]]:
    """Return how the terminals are read that are ignored, given how they are read where rules expect them."""
    if parser.options.lexer != "dynamic_complete":
        return {own: terminals[name] for name, own in ignored_terminals(parser).items()}
    patterns = {terminal.name: pattern_of(terminal, parser) for terminal in parser.terminals}
    return {
        own: (matched(patterns[name]),) if name in patterns else terminals[name]
        for name, own in ignored_terminals(parser).items()
    }


def _grouped(ways: Ways) -> dict[str, tuple[Lexeme, ...]]:
    terminals: dict[str, tuple[Lexeme, ...]] = defaultdict(tuple)
    for terminal, lexeme in ways:
        terminals[terminal.name] += (lexeme,)
    return terminals


def _tables(parser: Any, indentation: Indentation | None) -> LrTables:
    """Return the tables that lark has made of the grammar."""
    table = parser.parser.parser.parser.parse_table
    numbers = {state: number for number, state in enumerate(table.states)}
    symbols: dict[str, Terminal | Rule | None] = {
        name: Terminal(name) for name in frozenset().union(*table.states.values())
    }
    symbols.update((str(rule.origin.name), Rule(str(rule.origin.name))) for rule in parser.rules)
    symbols["$END"] = None
    productions: dict[int, tuple[int, tuple[Rule, int]]] = {}
    actions = []
    for row in table.states.values():
        out: dict[Terminal | Rule | None, tuple[bool, int]] = {}
        for name, (action, target) in row.items():
            if action.name == "Shift":
                out[symbols[name]] = (False, numbers[target])
                continue
            if id(target) not in productions:
                made = Rule(str(target.origin.name)), len(target.expansion)
                productions[id(target)] = len(productions), made
            out[symbols[name]] = (True, productions[id(target)][0])
        actions.append(out)
    start = parser.options.start[0]
    return LrTables(
        tuple(actions),
        tuple(made for _, made in productions.values()),
        _expected(parser, list(table.states), indentation),
        numbers[table.start_states[start]],
        numbers[table.end_states[start]],
    )


def _expected(parser: Any, states: list[Any], indentation: Indentation | None) -> tuple[Ways, ...]:
    """Return the ways of the lexer of each state; states with the same lexer share them."""
    scanners = Scanners(parser, indentation)
    lexer = lexer_of(parser)
    if parser.options.lexer != "contextual":
        return (scanners.ways(lexer),) * len(states)
    known: dict[int, Ways] = {}
    for state in states:
        own = lexer.lexers[state]
        if id(own) not in known:
            known[id(own)] = scanners.ways(own)
    return tuple(known[id(lexer.lexers[state])] for state in states)
