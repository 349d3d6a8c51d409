"""The macros of xgrammar's EBNF, written as rules.

`TagDispatch`: free text in which the first tag hands over to its rule, again and again (`dispatched`).

`Token`: one token of the vocabulary, of several names or ids. `ExcludeToken`: one token of text but these.
`TokenTagDispatch`: free text in which tokens hand over to rules.

`Substring`: any run of chunks. Of single characters it is a substring of one text; of longer ones it is the suffix automaton of
their list, one rule for each state, at most twice as many as chunks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from schemagen.context_free.regular import dispatched, dispatched_tokens, text_of
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    Expression,
    Rule,
    Text,
    Token,
    TokenRun,
    alternatives,
    sequence,
)
from schemagen.errors import InvalidPatternError, UnsupportedPatternError
from schemagen.regex import ast
from schemagen.regex.dialects import parse_pattern
from schemagen.regex.substrings import suffix_automaton
from schemagen.regex.wildcards import text_up_to, text_without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from schemagen.context_free.scanner import Scanner

#: Literals of a `TagDispatch`, and chunks of a `Substring`.
MAX_TAGS = 200
MAX_CHUNKS = 10_000

#: The characters of a JSON string that are not escaped.
_PLAIN = ast.Chars(ast.invert_ranges(ast.normalise_ranges([(0, 0x1F), (ord('"'), ord('"')), (ord("\\"), ord("\\"))])))


class Name(NamedTuple):
    """The name of a rule as an argument.

    Attributes:
        text: The name.
        at: Its place.
    """

    text: str
    at: int


@dataclass(slots=True)
class Arguments:
    """The call of a macro.

    Attributes:
        macro: Its name.
        at: Its place.
        positional: Literals (str), integers, booleans, `Name` and tuples of them.
        named: The same, by name.
    """

    macro: str
    at: int
    positional: list[object] = field(default_factory=list)
    named: dict[str, object] = field(default_factory=dict)


class _Macro:
    """The common part of macros: their arguments, checked, and errors that name their place."""

    def __init__(self, scanner: Scanner, given: Arguments, prefix: str) -> None:
        self.scanner = scanner
        self.given = given
        self.prefix = prefix
        self.rules: dict[str, Expression] = {}
        self.left_out: list[Token] = []

    def error(self, fact: str, fix: str) -> Exception:
        return self.scanner.error(f"{self.given.macro}(...) {fact}", self.given.at, fix=fix)

    def check_names(self, *names: str) -> None:
        for name in self.given.named:
            if name not in names:
                known = f"give only {', '.join(names)}" if names else "give no named arguments"
                raise self.error(f"has no argument {name!r}", known)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.given.named.get(name, default)
        if not isinstance(value, bool):
            raise self.error(
                f"has the argument {name}, which is neither true nor false", f"write {name}=true or {name}=false"
            )
        return value

    def literals(self, name: str) -> list[str]:
        value = self.given.named.get(name, ())
        given = value if isinstance(value, tuple) else (value,)
        texts = [each for each in given if isinstance(each, str) and not isinstance(each, Name)]
        if len(texts) != len(given) or "" in texts:
            raise self.error(
                f"has the argument {name}, which is not a tuple of literals", f'write {name}=("one", "two")'
            )
        return texts


def _regex(macro: _Macro) -> Expression:
    """Texts that a pattern matches as a whole."""
    macro.check_names("json_string", "flags")
    if len(macro.given.positional) != 1 or not isinstance(macro.given.positional[0], str):
        raise macro.error("takes one pattern", 'write Regex("[0-9]+")')
    pattern = macro.given.positional[0]
    flags = macro.given.named.get("flags")
    if flags is not None and (not isinstance(flags, str) or set(flags) - set("isu")):
        raise macro.error("has flags that are not known", 'use some of "i", "s" and "u"')
    language = _language(macro, pattern, flags)
    if macro.flag("json_string", default=False):
        language = ast.conjunction(language, ast.star(_PLAIN))
    return text_of(language)


_LEADING_FLAGS = re.compile(r"\(\?([ims]+)\)")


def _language(macro: _Macro, pattern: str, flags: str | None) -> ast.Regex:
    """Return the language of a pattern. Without flags a dot is any character; with them letters and classes are ASCII."""
    try:
        if flags is None:
            return parse_pattern(f"(?s:{pattern})", "ecma-262", search=False)
        leading = _LEADING_FLAGS.match(pattern)
        letters = "".join(sorted({*flags, *(leading[1] if leading else "")} - {"u"}))
        body = pattern[leading.end() :] if leading else pattern
        return parse_pattern(f"(?a{letters}:{body})", "python", search=False)
    except InvalidPatternError as error:
        raise macro.error(f"has the pattern {pattern!r:.60}, which cannot be read: {error.fact}", error.fix) from error
    except UnsupportedPatternError as error:
        raise macro.scanner.unsupported(
            f"the pattern {pattern!r:.60}: {error.fact}", macro.given.at, why=error.why, fix=error.fix
        ) from error


def _substring(macro: _Macro) -> Expression:
    """Any run of the chunks, the empty one too."""
    macro.check_names()
    chunks = [chunk for chunk in macro.given.positional if isinstance(chunk, str)]
    if len(chunks) != len(macro.given.positional):
        raise macro.error("has a chunk that is not a literal", 'write Substring("one", "two")')
    if len(chunks) > MAX_CHUNKS:
        raise macro.scanner.limit(
            f"Substring(...) has {len(chunks):,} chunks, limit {MAX_CHUNKS:,}", macro.given.at, fix="take longer chunks"
        )
    if all(len(chunk) <= 1 for chunk in chunks):
        return text_of(ast.optional(ast.substring("".join(chunks))))
    names = [Rule(f"{macro.prefix}, state {state}") for state in range(2 * len(chunks) + 1)]
    for state, moves in enumerate(suffix_automaton([chunk for chunk in chunks if chunk])):
        ways = (sequence(Text(ast.literal(chunk)), names[to]) for chunk, to in moves.items())
        macro.rules[names[state].name] = alternatives(EMPTY_TEXT, *ways)
    return names[0]


def _tag_dispatch(macro: _Macro) -> Expression:
    """Free text, with a rule after each tag.

    A tag with an excluded text in it is never complete. ``stop_eos`` and ``stop_str`` are arguments of older versions: whether
    free text may end anywhere, and literals that end all of it.
    """
    macro.check_names("loop_after_dispatch", "excludes", "stop_eos", "stop_str")
    pairs = [_pair(macro, pair) for pair in macro.given.positional]
    stops, excludes = macro.literals("stop_str"), macro.literals("excludes")
    ends = [*(tag for tag, _ in pairs), *stops]
    if len(ends) + len(excludes) > MAX_TAGS:
        count = len(ends) + len(excludes)
        raise macro.scanner.limit(
            f"TagDispatch(...) has {count} literals, limit {MAX_TAGS}", macro.given.at, fix="give fewer tags"
        )
    for exclude in excludes:
        begun = [end for end in ends if end.startswith(exclude)]
        if begun:
            raise macro.error(
                f"excludes {exclude!r}, with which {begun[0]!r} begins", "exclude longer texts, or drop the tag"
            )
    literals = [*ends, *excludes]
    live = [end for end in ends if not any(exclude in end for exclude in excludes)]
    stopped = [Text(text_up_to(stop, literals)) for stop in stops if stop in live]
    last = alternatives(*stopped, *([Text(text_without(literals))] if macro.flag("stop_eos", default=True) else []))
    tags = [(tag, Rule(rule.text)) for tag, rule in pairs if tag in live]
    return dispatched(tags, literals, last, loop=macro.flag("loop_after_dispatch", default=True))


def _pair(macro: _Macro, pair: object) -> tuple[str, Name]:
    if isinstance(pair, tuple) and not isinstance(pair, Name) and len(pair) == 2:
        tag, rule = pair
        if isinstance(tag, str) and tag and isinstance(rule, Name):
            return tag, rule
    raise macro.error("has an argument that is not a pair of a tag and a rule", 'write ("<tag>", rule)')


def _token(macro: _Macro) -> Expression:
    macro.check_names()
    given = macro.given.positional
    names = [each for each in given if isinstance(each, str) and each]
    ids = [(each, each) for each in given if isinstance(each, int) and not isinstance(each, bool)]
    if not given or len(names) + len(ids) != len(given):
        raise macro.error("takes names and ids of tokens", 'write Token("<|python_tag|>") or Token(128010)')
    return Token((*names, *ids), *macro.scanner.place(macro.given.at), may_be_text=True)


def _tokens(macro: _Macro, values: Iterable[object], what: str) -> list[Token]:
    values = list(values)
    place = macro.scanner.place(macro.given.at)
    if not all(each if isinstance(each, str) else type(each) is int for each in values) or any(
        isinstance(each, Name) for each in values
    ):
        raise macro.error(f"takes names and ids of tokens{what}", 'write them as "<|python_tag|>" or 128010')
    return [Token((each if isinstance(each, str) else (each, each),), *place) for each in values]  # type: ignore[arg-type]


def _exclude_token(macro: _Macro) -> Expression:
    macro.check_names()
    if not macro.given.positional:
        raise macro.error("takes names and ids of tokens", "write ExcludeToken(128010)")
    return TokenRun(1, 1, but=tuple(_tokens(macro, macro.given.positional, "")))


def _token_tag_dispatch(macro: _Macro) -> Expression:
    """Free text, with a rule after each token. No text holds a named or excluded token."""
    macro.check_names("loop_after_dispatch", "excludes")
    taken = [_token_and_rule(macro, pair) for pair in macro.given.positional]
    given = macro.given.named.get("excludes", ())
    excluded = given if isinstance(given, tuple) else (given,)
    macro.left_out += _tokens(macro, excluded, " in excludes")
    for pair in macro.given.positional:
        if isinstance(pair, tuple) and pair[0] in excluded:
            raise macro.error(f"excludes the token {pair[0]!r}, which it names", "drop one of both")
    return dispatched_tokens(alternatives(*taken), loop=macro.flag("loop_after_dispatch", default=True))


def _token_and_rule(macro: _Macro, pair: object) -> Expression:
    if isinstance(pair, tuple) and not isinstance(pair, Name) and len(pair) == 2 and isinstance(pair[1], Name):
        return sequence(*_tokens(macro, pair[:1], ""), Rule(pair[1].text))
    raise macro.error("has an argument that is not a pair of a token and a rule", "write (128010, rule)")


MACROS: dict[str, Callable[[_Macro], Expression]] = {
    "Regex": _regex,
    "Substring": _substring,
    "TagDispatch": _tag_dispatch,
    "Token": _token,
    "ExcludeToken": _exclude_token,
    "TokenTagDispatch": _token_tag_dispatch,
}


def expand(scanner: Scanner, given: Arguments, *, prefix: str) -> tuple[Expression, dict[str, Expression], list[Token]]:
    """Return the expansion of a macro, its rules, whose names begin with ``prefix``, and tokens of no text.

    Raises:
        GrammarSyntaxError: Its arguments are not understood.
        UnsupportedGrammarError: Its pattern is not regular.
        LimitError: It has too many arguments.
    """
    macro = _Macro(scanner, given, prefix)
    return MACROS[given.macro](macro), macro.rules, macro.left_out
