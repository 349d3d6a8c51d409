"""The report of a grammar text: its size, its parser, the rules that are left, and whether it is ambiguous.

A grammar that cannot be enforced is refused, so all entries after the first are facts. They are read off the rules as they were
written, and off those that the engine was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.context_free.ambiguity import find_ambiguity
from schemagen.context_free.items import items_of
from schemagen.context_free.names import is_made, languages_of, rule_name, symbol_name
from schemagen.context_free.simplify import productive, reachable, recursion_of, simplified
from schemagen.context_free.syntax import EMPTY_TEXT, Rule, Terminal, Text, guests_in, tokens_in
from schemagen.errors import LimitError
from schemagen.grammar.lark_spec import Lark
from schemagen.schema.report import Entry, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.protocol import Engine
    from schemagen.grammar.context_free_specs import ContextFree

#: Names that are listed in one note.
_SHOWN = 12
_DIALECTS = {"llguidance": "a terminal takes its longest match", "xgrammar": "character by character, without a lexer"}
_LEXERS = {
    "dynamic": "what `re` matches of a terminal, wherever the parser expects it",
    "dynamic_complete": "any text of a terminal, wherever the parser expects it",
    "basic": "the longest terminal that there is, wherever the parser is",
    "contextual": "the longest terminal that the parser's state expects",
}


def report_of_rules(spec: ContextFree[Any], engine: Engine) -> Report:
    """Return the report of a grammar text.

    Args:
        spec: The grammar.
        engine: The compiled engine.

    Cost: that of reading the grammar, and a search for an ambiguous text, about 0.1 s.
    """
    return Report(tuple(_RulesReport(spec, engine).entries()))


def _fact(about: str, note: str) -> Entry:
    return Entry("", about, "fact", note)


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def _names(names: Iterable[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - _SHOWN:,} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


class _RulesReport:
    """The entries of one grammar.

    Args:
        spec: The grammar.
        engine: The compiled engine.
    """

    def __init__(self, spec: ContextFree[Any], engine: Engine) -> None:
        self._spec = spec
        self._engine = engine
        self._read = spec.rules()
        self._run = self._read if self._read.tables is not None else simplified(self._read)
        body = self._run.rules[self._run.start]
        self._is_regular = isinstance(body, Text) or body == EMPTY_TEXT

    def entries(self) -> Iterator[Entry]:
        """Yield the facts, the size first."""
        yield Entry("", getattr(self._spec, "format", type(self._spec).__name__.lower()), "enforced")
        for at, what in self._spec.checked():
            yield Entry(at, what, "checked_after", "by pydantic, on the finished value")
        yield from self._size()
        yield from self._way()
        yield from self._dropped()
        yield from self._recursion()
        yield self._ambiguity()
        yield from self._embedded()

    def _size(self) -> Iterator[Entry]:
        rules = len(self._read.rules)
        made = sum(map(is_made, self._read.rules))
        if self._is_regular:
            yield _fact("rules", f"{_counted(rules, 'rule')}, written out as one regular expression")
            return
        items = [items_of(body) for body in self._run.rules.values()]
        symbols = {symbol for each in items for edges in each.edges for symbol, _ in edges}
        terminals = {symbol for symbol in symbols if not isinstance(symbol, Rule)}
        terminals |= {Terminal(name) for name in self._run.ignored}
        count = sum(len(each.edges) for each in items)
        of_lark = f" and {made:,} that lark made of repetitions" if made else ""
        compiled = "" if len(items) == rules else f", {len(items):,} of them compiled"
        yield _fact("rules", f"{_counted(rules - made, 'rule')}{of_lark}{compiled}; {_counted(count, 'item')}")
        lexemes = sum(isinstance(each, Text) for each in terminals) + _ways(self._run)
        yield _fact("terminals", f"{_counted(len(terminals), 'terminal')}, read as {_counted(lexemes, 'lexeme')}")
        if self._run.ignored:
            languages = languages_of(self._run)
            names = (symbol_name(Terminal(name), languages) for name in sorted(self._run.ignored))
            yield _fact("ignored", _names(names))

    def _way(self) -> Iterator[Entry]:
        if self._is_regular:
            yield _fact("parser", "none: a finite automaton")
            return
        lalr = self._read.tables is not None
        yield _fact("parser", "LALR(1), by the tables of lark" if lalr else "every text that the rules derive (Earley)")
        yield _fact("lexer", self._lexer())
        given = self._read.indentation
        if given is not None:
            widths = [width for width in given.widths.values() if width is not None]
            yield _fact(
                "indentation", f"lines open and close blocks, up to {max(widths)} columns; a tab is {given.tab}"
            )
        if not getattr(self._engine, "is_lively", True):
            yield _fact(
                "liveness", "a text may lead into a dead end: each is searched for an end, and masked if it has none"
            )

    def _lexer(self) -> str:
        if not isinstance(self._spec, Lark):
            return "none: character by character"
        if self._spec.dialect in _DIALECTS:
            return _DIALECTS[self._spec.dialect]
        words = ", keywords reserved" if self._spec.keywords else ""
        return f"{self._spec.lexer}: {_LEXERS[self._spec.lexer]}{words}"

    def _dropped(self) -> Iterator[Entry]:
        """Yield which rules are not there any more, and why."""
        rules = self._read.rules
        alive = productive(rules)
        reached = reachable(rules, self._read.start)
        lists = {
            "unreachable": [name for name in rules if name not in reached],
            "without texts": [name for name in rules if name not in alive],
            "folded": [name for name in rules if name in reached.keys() & alive and name not in self._run.rules],
        }
        notes = {"folded": ": written out where they are called"}
        for about, names in lists.items():
            if names and not (about == "folded" and self._is_regular):
                yield _fact(about, _names(map(rule_name, names)) + notes.get(about, ""))

    def _recursion(self) -> Iterator[Entry]:
        recursion = recursion_of(self._read.rules)
        direct = [name for name in recursion.left if name not in recursion.hidden]
        lists = {"left recursion": direct, "hidden left recursion": recursion.hidden, "recursion": recursion.other}
        for about, names in lists.items():
            own = [name for name in names if not is_made(name)]
            if own:
                yield _fact(about, _names(own))

    def _ambiguity(self) -> Entry:
        if self._read.tables is not None and isinstance(self._spec, Lark) and not self._spec.has_conflicts:
            return _fact("ambiguity", "none: LALR(1) without conflicts")
        try:
            found = find_ambiguity(self._read)
        except LimitError as error:
            return _fact("ambiguity", f"not searched: {error.fact}")
        if found.cycle is not None:
            return _fact(
                "ambiguity", f"the rule {rule_name(found.cycle)} derives itself alone: texts have any number of trees"
            )
        if found.sequence is not None:
            languages = languages_of(self._read)
            shown = " ".join(symbol_name(symbol, languages) for symbol in found.sequence) or "the empty text"
            taken = "" if self._read.tables is None else "; the tables take one at most"
            return _fact("ambiguity", f"two derivations of {shown}{taken}")
        sequences = f"no sequence of up to {_counted(found.searched, 'terminal')} has two derivations"
        return _fact("ambiguity", f"{sequences}; longer ones, and texts of several sequences, were not looked at")

    def _embedded(self) -> Iterator[Entry]:
        for guest in guests_in(self._read):
            yield _fact("embedded", f"{symbol_name(guest, {})}: an automaton of its own")
        for token in tokens_in(self._read):
            yield _fact("named token", symbol_name(token, {}))


def _ways(grammar: ContextFreeGrammar) -> int:
    if grammar.tables is None:
        return sum(map(len, grammar.terminals.values()))
    rows = {id(row): row for row in grammar.tables.expected}
    return len({way for row in rows.values() for way in row})
