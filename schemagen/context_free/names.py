"""The names of symbols in messages, reports and diagrams: those that the author of the grammar knows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from schemagen.context_free.regular import is_plain, only_text
from schemagen.context_free.syntax import Guest, Mark, Text, Token, TokenBound, TokenRun
from schemagen.regex import ast
from schemagen.regex.printing import to_python_re

if TYPE_CHECKING:
    from schemagen.context_free.items import Symbol
    from schemagen.context_free.syntax import ContextFreeGrammar

_SHOWN = 40
#: Rules that lark makes of a repetition in another rule.
_REPETITION = re.compile(r"__(?P<rule>.+)_(?:star|plus)_\d+")
#: Characters that `to_python_re` escapes for the sake of a flag, and numbers that have a letter.
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|.)")
_WRITTEN = {"x09": r"\t", "x0a": r"\n", "x0d": r"\r", " ": " ", "#": "#"}
#: Terminals that lark has no name for.
_NAMELESS = re.compile(r"__(?:ANON|IGNORE)_\d+")


def is_made(name: str) -> bool:
    """Whether lark made a rule, of a repetition in another one."""
    return rule_name(name) != name


def rule_name(name: str) -> str:
    """Return the name of a rule in messages."""
    made = _REPETITION.fullmatch(name)
    return made["rule"] if made else name


def symbol_name(symbol: Symbol, languages: dict[str, set[ast.Regex]]) -> str:
    """Return the name of a terminal in messages: its text if it has only one, else its name if it has one."""
    if isinstance(symbol, Guest):
        return _guest_name(symbol)
    if isinstance(symbol, Token):
        return _shortened(str(symbol))
    if isinstance(symbol, Text):
        return language_name(symbol.regex)
    if isinstance(symbol, TokenRun):
        return "tokens of text" if symbol.only is None else _shortened(str(symbol.only))
    if isinstance(symbol, Mark):
        return f"the mark {symbol.label!r}"
    if isinstance(symbol, TokenBound):
        return symbol.name or f"a text of at most {symbol.most} tokens"
    own = languages.get(symbol.name, set())
    if len(own) != 1:
        return symbol.name
    (language,) = own
    is_named = only_text(language) is None and not _NAMELESS.fullmatch(symbol.name)
    return symbol.name if is_named else language_name(language)


def languages_of(grammar: ContextFreeGrammar) -> dict[str, set[ast.Regex]]:
    """Return the texts of each terminal, of some several ways to read them."""
    found: dict[str, set[ast.Regex]] = {}
    for name, ways in grammar.terminals.items():
        found.setdefault(name, set()).update(each.text for each in ways if not each.marked)
    rows = {id(row): row for row in ([] if grammar.tables is None else grammar.tables.expected)}
    for terminal, lexeme in (way for row in rows.values() for way in row):
        if not lexeme.marked:
            found.setdefault(terminal.name, set()).add(lexeme.text)
    return found


def language_name(regex: ast.Regex, *, shorten: bool = True) -> str:
    """Return a text in quotes, or a pattern; a long one cut."""
    shortened = _shortened if shorten else str
    text = only_text(regex)
    if text is not None:
        return shortened(json.dumps(text, ensure_ascii=False))
    if isinstance(regex, ast.Substring):
        return f"a substring of {shortened(json.dumps(regex.text[: _SHOWN + 1], ensure_ascii=False))}"
    if not is_plain(regex):
        return "a text"  # to write it as a pattern would take an automaton
    pattern = to_python_re(regex)
    return shortened(f"/{_ESCAPED.sub(lambda found: _WRITTEN.get(found[1], found[0]), pattern)}/")


def _guest_name(guest: Guest) -> str:
    if isinstance(guest.spec, TokenRun | TokenBound):
        return symbol_name(guest.spec, {})
    spec = getattr(guest.spec, "spec", guest.spec)  # that of a compiled spec
    words = spec.__name__ if isinstance(spec, type) else repr(spec)
    is_json = not (hasattr(spec, "rules") or hasattr(spec, "options"))
    words = _shortened(f"JSON of {words}" if is_json else words)
    return f"{guest.name} ({words})" if guest.name else words


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
