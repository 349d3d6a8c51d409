"""Grammars of lark: exactly the texts that a `lark.Lark` with the same options parses.

lark itself reads the grammar (imports, templates, priorities of terminals and all), so what is left are plain rules over
terminals, and the terminals' patterns. What a terminal matches depends on the lexer:

`dynamic`           (Earley) a terminal that the parser expects takes what `re` finds, for most patterns the longest match
`dynamic_complete`  (Earley) it takes any text of its pattern; what is ignored still takes what `re` finds
`basic`             terminals are tried in lark's order, whatever the parser expects, and the first that matches is taken
`contextual`        (LALR) the same among the terminals that the state of the parser expects

Rules have no priorities here: they choose between trees of a text, not between texts. A terminal that the grammar declares
can be bound to an expression, which the Earley parser reads character by character: no lexer looks for its end.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.context_free.lark_source import indents_of, place_of
from schemagen.context_free.matching import matched, matched_whole
from schemagen.context_free.reserved_words import reserved
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    MARK,
    NOTHING,
    ContextFreeGrammar,
    Expression,
    Indentation,
    Lexeme,
    LrTables,
    Rule,
    Terminal,
    Text,
    alternatives,
    sequence,
)
from schemagen.context_free.texts import is_nullable, nonempty
from schemagen.errors import GrammarSyntaxError, LimitError, OptionError, UnsupportedGrammarError
from schemagen.regex import ast
from schemagen.regex.derivatives import is_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lark import Lark

    Bound = Mapping[str, Callable[[], Expression]]


#: Flags of `re` that can be written into a pattern.
_LETTERS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.ASCII: "a"}
#: The furthest right that a line may begin in a language with indentation.
MAX_INDENTATION = 40


def grammar_of(parser: Lark, bound: Bound | None = None, *, reserve_words: bool = False) -> ContextFreeGrammar:
    """Return the grammar of a parser.

    Args:
        parser: The parser.
        bound: What terminals that the grammar declares are texts of; asked for if it uses them.
        reserve_words: Whether literals that other terminals match are reserved; see `reserved_words`.

    Raises:
        UnsupportedPatternError: A terminal cannot be read by an automaton.
        UnsupportedGrammarError: Its tokens are changed by something else than an `Indenter` before they are parsed, or
            there is no Earley parser for what is bound.
        GrammarSyntaxError: A terminal is declared and nothing is bound to it.
        OptionError: A name is bound that the grammar does not declare.
    """
    options = parser.options
    indentation = _indentation(options.postlex)
    bound_symbols = _bound(parser, bound or {}, indentation)
    bodies: dict[str, list[Expression]] = defaultdict(list)
    for rule in parser.rules:
        symbols = (
            bound_symbols[each.name][0] if each.name in bound_symbols else _symbol(each) for each in rule.expansion
        )
        bodies[str(rule.origin.name)].append(sequence(*symbols))
    rules = {name: alternatives(*alternative) for name, alternative in bodies.items()}
    ignored = frozenset(parser.ignore_tokens)
    start = options.start[0]
    if options.parser == "lalr":
        return ContextFreeGrammar(start, rules, {}, ignored, _tables(parser, indentation), indentation)
    if options.lexer == "basic":
        ways = _by_width(_scanned(_lexer(parser), parser), indentation)
        return ContextFreeGrammar(start, rules, _grouped(ways), ignored, None, indentation)
    terminals = _dynamic(parser, ignored)
    if reserve_words:
        terminals.update(
            reserved({each.name: (_pattern(each, parser), each.pattern.type == "str") for each in parser.terminals})
        )
    terminals.update((name, ways) for name, (_, ways) in bound_symbols.items() if ways)
    return ContextFreeGrammar(start, rules, terminals, ignored)


def _bound(
    parser: Any, bound: Bound, indentation: Indentation | None
) -> dict[str, tuple[Expression, tuple[Lexeme, ...]]]:
    """Return what stands in rules for each declared terminal that they use, and how it is read."""
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
                why="%declare leaves them to whoever uses the grammar",
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
    return {name: _read_by_parser(name, bound[name]()) for name in used if name in bound}


def _read_by_parser(name: str, expression: Expression) -> tuple[Expression, tuple[Lexeme, ...]]:
    """Return the symbol of something bound, and how it is read: as a terminal, so that what is ignored may stand around it."""
    if not isinstance(expression, Text):
        return expression, ()
    texts = nonempty(expression.regex)
    symbol = NOTHING if _has_none(texts) else Terminal(name)
    return alternatives(symbol, EMPTY_TEXT) if is_nullable(expression.regex) else symbol, (Lexeme(texts),)


def _has_none(regex: ast.Regex) -> bool:
    try:
        return is_empty(regex)
    except LimitError:
        return False  # so many states are made of something


def _lexer(parser: Any) -> Any:
    """Return the lexer of a parser, without what changes its tokens afterwards."""
    lexer = parser.parser.lexer
    return lexer if parser.options.postlex is None else lexer.lexer


def _indentation(indenter: Any) -> Indentation | None:
    """Return how an `Indenter` of lark makes blocks of lines; None for no indenter.

    Raises:
        UnsupportedGrammarError: It is something else, or does more.
    """
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


def _pattern(terminal: Any, parser: Any) -> str:
    """Return the pattern of a terminal, the flags of the parser written into it.

    Raises:
        UnsupportedGrammarError: A flag cannot be written into it.
    """
    pattern: str = terminal.pattern.to_regexp()
    flags = parser.options.g_regex_flags
    if not flags:
        return pattern
    letters = "".join(letter for flag, letter in _LETTERS.items() if flags & flag)
    if flags & ~(sum(_LETTERS) | re.UNICODE):
        raise UnsupportedGrammarError(
            f"g_regex_flags={re.RegexFlag(flags)!r}",
            why="they cannot be written into the patterns of terminals",
            fix="use IGNORECASE, MULTILINE, DOTALL or ASCII, or write the patterns as they are meant",
        )
    return f"(?{letters}:{pattern})" if letters else pattern


def _dynamic(parser: Lark, ignored: frozenset[str]) -> dict[str, tuple[Lexeme, ...]]:
    """Each terminal takes what it matches, whatever the others do."""
    complete = parser.options.lexer == "dynamic_complete"
    terminals: dict[str, tuple[Lexeme, ...]] = {}
    for terminal in parser.terminals:
        pattern = _pattern(terminal, parser)
        any_text = complete and terminal.name not in ignored
        terminals[terminal.name] = (matched_whole(pattern) if any_text else matched(pattern),)
    return terminals


def _scanned(lexer: Any, parser: Any) -> list[tuple[Terminal, Lexeme]]:
    """Return the terminals of a lexer that takes the first one in its order, with the texts that make another one of it."""
    ways: list[tuple[Terminal, Lexeme]] = []
    earlier: list[str] = []
    for terminal in lexer.scanner.terminals:
        pattern = _pattern(terminal, parser)
        # What is ignored stays so, also where it is a literal that other terminals make a token of its own.
        callback = None if terminal.name in lexer.ignore_types else lexer.callback.get(terminal.name)
        words: list[str] = []
        for word in () if callback is None else callback.scanner.terminals:
            only = _pattern(word, parser)
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
            known[id(own)] = tuple(_by_width(_scanned(own, parser), indentation))
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
