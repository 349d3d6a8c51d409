"""Grammars of lark: exactly the texts that a `lark.Lark` with the same options parses.

Read as lark reads it (core/notation), a grammar is plain rules over terminals, and the terminals' patterns; of a parser
of lark they are taken from it. The texts that a terminal matches depend on the lexer:

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

from schemagen import _core
from schemagen.context_free.lark.lexers import Scanners, ignored_terminals, lexer_of, pattern_of, reserved
from schemagen.context_free.lark.python_re import matched, matched_whole
from schemagen.context_free.lark.source import LarkRules, indents_of, place_of
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
    """Return the grammar of a parser of lark.

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
    options: Any = parser.options
    read = _rules_of(parser)
    if options.parser == "earley" and options.lexer.startswith("dynamic"):
        return grammar_of_rules(read, bound, reserve_words=reserve_words)
    indentation = _indentation(options.postlex)
    made = set() if indentation is None else {indentation.indent.name, indentation.dedent.name}
    _check_bound(read, bound or {}, made)
    if bound:
        raise UnsupportedGrammarError(
            f"bind= with parser={options.parser!r} and lexer={options.lexer!r}",
            why="their lexer looks for the end of each terminal, and a bound text is one wherever the parser takes it as such",
            fix="use parser='earley' with one of its dynamic lexers",
        )
    rules, ignored = read.rules.bodies(), frozenset(ignored_terminals(read).values())
    scanners = Scanners(parser, read, indentation)
    if options.parser == "lalr":
        tables = _tables(parser, scanners)
        return ContextFreeGrammar(read.start, rules, {}, ignored, tables, indentation, written=read.written)
    ways = scanners.ways(lexer_of(parser))
    return ContextFreeGrammar(read.start, rules, _grouped(ways), ignored, None, indentation, written=read.written)


def core_rules_of(parser: Lark, *, reserve_words: bool = False) -> _core.Rules | None:
    """Return the rules of a parser, or None if its lexer or tables decide about texts, too; errors as for `grammar_of`."""
    options: Any = parser.options
    if options.parser != "earley" or not options.lexer.startswith("dynamic"):
        return None
    return read_dynamic(_rules_of(parser), reserve_words=reserve_words)


def grammar_of_rules(read: LarkRules, bound: Bound | None = None, *, reserve_words: bool = False) -> ContextFreeGrammar:
    """Return the grammar of rules that Earley with a dynamic lexer reads; arguments and errors as for `read_dynamic`."""
    rules = read_dynamic(read, bound, reserve_words=reserve_words)
    ignored = frozenset(ignored_terminals(read).values())
    return ContextFreeGrammar(read.start, rules.bodies(), rules.terminals(), ignored, written=read.written)


def read_dynamic(read: LarkRules, bound: Bound | None = None, *, reserve_words: bool = False) -> _core.Rules:
    """Return rules with terminals as Earley with a dynamic lexer reads them.

    Args:
        read: The rules, which are changed.
        bound: As for `grammar_of`.
        reserve_words: As for `grammar_of`.

    Raises:
        UnsupportedPatternError: A terminal cannot be read by an automaton.
        UnsupportedGrammarError: A terminal is ignored, and something else than a regular expression is bound to it.
        GrammarSyntaxError: A terminal is declared and nothing is bound to it.
        OptionError: A name is bound that the grammar does not declare.
    """
    bound = bound or {}
    used = _check_bound(read, bound, set())
    bound_symbols = _bound(read, {name: bound[name] for name in used if name in bound})
    terminals = _dynamic(read)
    if reserve_words:
        terminals.update(reserved({name: (pattern, is_literal) for name, pattern, is_literal in read.terminals}))
    terminals.update((name, ways) for name, (_, ways) in bound_symbols.items() if ways)
    terminals.update(_ignored(read, terminals))
    read.rules.replace({name: expression for name, (expression, _) in bound_symbols.items()})
    read.rules.read_as(terminals, list(ignored_terminals(read).values()))
    return read.rules


def _rules_of(parser: Any) -> LarkRules:
    """Return the rules of a parser."""
    numbers: dict[tuple[str, bool], int] = {}
    rules = [
        (
            numbers.setdefault((str(rule.origin.name), False), len(numbers)),
            [numbers.setdefault((str(each.name), each.is_term), len(numbers)) for each in rule.expansion],
        )
        for rule in parser.rules
    ]
    start = parser.options.start[0]
    terminals = [(each.name, pattern_of(each, parser), each.pattern.type == "str") for each in parser.terminals]
    made = _core.Rules(start, list(numbers), rules)
    made.show_as({name: pattern for name, pattern, _ in terminals})
    return LarkRules(
        start,
        parser.options.lexer,
        getattr(parser, "source_grammar", ""),
        terminals,
        [name for name, is_terminal in numbers if is_terminal],
        made,
        parser.ignore_tokens,
        [str(name) for name, (tree, _) in parser.grammar.term_defs if tree is None],
    )


def _check_bound(read: LarkRules, bound: Bound, made: set[str]) -> dict[str, None]:
    """Return the terminals that are used, each of which is defined, bound, or made while lines are read."""
    defined, declared = {name for name, _, _ in read.terminals}, set(read.declared)
    for name in bound:
        if name not in declared or name in defined:
            why = "it has a definition" if name not in declared else "lark gives a literal this name, too"
            raise OptionError(
                f"bind={{{name!r}: ...}}",
                why=why if name in defined else "the grammar does not declare it",
                fix=f"write %declare {name}" if name not in declared else "declare it under another name",
            )
    used = dict.fromkeys([*read.used, *read.ignored])
    for name in used:
        if name not in defined and name not in made and name not in bound:
            line, column = place_of(name, read.text)
            raise GrammarSyntaxError(
                f"the terminal {name!r} is declared and has no texts",
                why="%declare leaves them to the caller",
                fix=f"give bind={{{name!r}: ...}}, a pattern, a type or another spec",
                line=line,
                column=column,
            )
    return used


def _bound(read: LarkRules, bound: Bound) -> dict[str, tuple[Expression, tuple[Lexeme, ...]]]:
    """Return for each terminal that is bound and used its expression, and how it is read."""
    made_of = {name: _read_by_parser(name, make()) for name, make in bound.items()}
    for name in read.ignored:
        if name in made_of and not made_of[name][1]:
            line, column = place_of(name, read.text)
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


def _dynamic(read: LarkRules) -> dict[str, tuple[Lexeme, ...]]:
    """Return for each terminal its own match, whatever the others match; those are left out that the rules know how to read."""
    match = matched_whole if read.lexer == "dynamic_complete" else matched
    return {name: (match(pattern),) for name, pattern, _ in read.terminals if not read.rules.is_read(name)}


def _ignored(read: LarkRules, terminals: dict[str, tuple[Lexeme, ...]]) -> dict[str, tuple[Lexeme, ...]]:
    """Return how the terminals are read that are ignored, given how they are read where rules expect them.

    Those that the rules know how to read are ignored as such.
    """
    patterns = {name: pattern for name, pattern, _ in read.terminals}
    found: dict[str, tuple[Lexeme, ...]] = {}
    for name, new in ignored_terminals(read).items():
        if read.lexer == "dynamic_complete" and name in patterns:
            found[new] = (matched(patterns[name]),)
        elif name in terminals:
            found[new] = terminals[name]
        else:
            read.rules.read_alike(new, name)
    return found


def _grouped(ways: Ways) -> dict[str, tuple[Lexeme, ...]]:
    terminals: dict[str, tuple[Lexeme, ...]] = defaultdict(tuple)
    for terminal, lexeme in ways:
        terminals[terminal.name] += (lexeme,)
    return terminals


def _tables(parser: Any, scanners: Scanners) -> LrTables:
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
        _expected(parser, list(table.states), scanners),
        numbers[table.start_states[start]],
        numbers[table.end_states[start]],
    )


def _expected(parser: Any, states: list[Any], scanners: Scanners) -> tuple[Ways, ...]:
    """Return the ways of the lexer of each state; states with the same lexer share them."""
    lexer = lexer_of(parser)
    if parser.options.lexer != "contextual":
        return (scanners.ways(lexer),) * len(states)
    known: dict[int, Ways] = {}
    for state in states:
        own = lexer.lexers[state]
        if id(own) not in known:
            known[id(own)] = scanners.ways(own)
    return tuple(known[id(lexer.lexers[state])] for state in states)
