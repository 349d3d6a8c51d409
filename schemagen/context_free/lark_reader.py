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
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.context_free.matching import matched, matched_whole
from schemagen.context_free.syntax import (
    MARK,
    ContextFreeGrammar,
    Expression,
    Indentation,
    Lexeme,
    LrTables,
    Rule,
    Terminal,
    alternatives,
    sequence,
)
from schemagen.errors import UnsupportedGrammarError
from schemagen.regex import ast

if TYPE_CHECKING:
    from lark import Lark


#: The furthest right that a line may begin in a language with indentation.
MAX_INDENTATION = 40


def grammar_of(parser: Lark) -> ContextFreeGrammar:
    """Return the grammar of a parser.

    Raises:
        UnsupportedPatternError: A terminal cannot be read by an automaton.
        UnsupportedGrammarError: Its tokens are changed by something else than an `Indenter` before they are parsed.
    """
    bodies: dict[str, list[Expression]] = defaultdict(list)
    for rule in parser.rules:
        bodies[str(rule.origin.name)].append(sequence(*map(_symbol, rule.expansion)))
    rules = {name: alternatives(*alternative) for name, alternative in bodies.items()}
    ignored = frozenset(parser.ignore_tokens)
    start = parser.options.start[0]
    indentation = _indentation(parser.options.postlex)
    if parser.options.parser == "lalr":
        return ContextFreeGrammar(start, rules, {}, ignored, _tables(parser, indentation), indentation)
    if parser.options.lexer == "basic":
        ways = _by_width(_scanned(_lexer(parser)), indentation)
        return ContextFreeGrammar(start, rules, _grouped(ways), ignored, None, indentation)
    return ContextFreeGrammar(start, rules, _dynamic(parser, ignored), ignored)


def _lexer(parser: Any) -> Any:
    """Return the lexer of a parser, without what changes its tokens afterwards."""
    lexer = parser.parser.lexer
    return lexer if parser.options.postlex is None else lexer.lexer


def _indentation(indenter: Any) -> Indentation | None:
    """Return how an `Indenter` of lark makes blocks of lines; None for no indenter.

    Raises:
        UnsupportedGrammarError: It is something else.
    """
    if indenter is None:
        return None
    from lark.indenter import Indenter

    if not isinstance(indenter, Indenter):
        raise UnsupportedGrammarError(
            f"postlex={indenter!r:.80}",
            why="what it makes of the tokens is known to it alone",
            fix="use an Indenter of lark, or write the grammar without postlex",
        )
    newline = indenter.NL_type
    return Indentation(
        Terminal(newline),
        Terminal(indenter.INDENT_type),
        Terminal(indenter.DEDENT_type),
        {
            Terminal(f"{newline} between brackets"): None,
            **{Terminal(f"{newline} at {width}"): width for width in range(MAX_INDENTATION + 1)},
        },
        tuple(map(Terminal, indenter.OPEN_PAREN_types)),
        tuple(map(Terminal, indenter.CLOSE_PAREN_types)),
        indenter.tab_len,
    )


def _by_width(ways: list[tuple[Terminal, Lexeme]], indentation: Indentation | None) -> list[tuple[Terminal, Lexeme]]:
    """Read line breaks as one terminal for each width of what is behind the last of them."""
    if indentation is None:
        return ways
    out = []
    for terminal, lexeme in ways:
        if terminal != indentation.newline:
            out.append((terminal, lexeme))
            continue
        for at, width in indentation.widths.items():
            if width is None:
                out.append((at, lexeme))
                continue
            ends = ast.concat(ast.ANY_STRING, ast.literal("\n"), _blanks(width, indentation.tab))
            text = ast.conjunction(lexeme.text, _before_mark(ends) if lexeme.marked else ends)
            out.append((at, Lexeme(text, lexeme.longer, lexeme.marked)))
    return out


def _before_mark(text: ast.Regex) -> ast.Regex:
    return ast.concat(text, ast.literal(MARK), ast.ANY_STRING)


@lru_cache(maxsize=1024)
def _blanks(width: int, tab: int) -> ast.Regex:
    """Return blanks and tabulators that are so wide, without a line break."""
    ways: list[ast.Regex] = [ast.concat(ast.literal(" "), _blanks(width - 1, tab))] if width else [ast.EPSILON]
    if width >= tab:
        ways.append(ast.concat(ast.literal("\t"), _blanks(width - tab, tab)))
    return ast.union(*ways)


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


def _tables(parser: Any, indentation: Indentation | None) -> LrTables:
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
    lexer = _lexer(parser)
    lexers = lexer.lexers if parser.options.lexer == "contextual" else defaultdict(lambda: lexer)
    known: dict[int, tuple[tuple[Terminal, Lexeme], ...]] = {}
    expected = []
    for state in table["states"]:
        own = lexers[state]
        if id(own) not in known:
            known[id(own)] = tuple(_by_width(_scanned(own), indentation))
        expected.append(known[id(own)])
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
    return Rule(name) if any(rule.origin.name == name for rule in parser.rules) else Terminal(name)
