"""The texts that the lexers of a `lark.Lark` take: for each terminal, those that no earlier terminal claims.

A lexer of lark tries terminals in an order of their own (priority, width, length, name), and the first that matches is
taken. A literal that a pattern matches as a whole is left to that pattern, and becomes the literal afterwards. Ignored
terminals are left out before that: a literal in one is not recognised, and no rule sees an ignored terminal. A contextual
lexer has one such lexer for each set of terminals that states of the parser expect: hundreds, over the same terminals.

So the effect of terminals on each other is found once for each pair, and kept as bit sets; a terminal depends only on those of
its rivals that are there.

Lark's dynamic lexer has no reserved words: where a name is allowed it reads ``if`` as one. `reserved` gives it some. A keyword
is a literal of the grammar that a terminal given by a pattern matches as a whole, and could continue: ``if``, where there is
``NAME: /[a-z]+/``; of ``"if"i`` one way to write it suffices. No text of such a terminal has blanks: one that takes any line
makes no literal a keyword. Then the terminal never takes a keyword, neither as the longest match nor by stopping before it, and
a keyword is not read where a longer text of the terminal begins: ``ifx`` is a name, not ``if`` and ``x``. A lexer with one set
of terminals treats keywords and names in this way; nothing else of such a lexer is imitated.

Invariants: a terminal that several lexers read in the same way is one object; terminals have the same order in all lexers of a
parser.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.context_free.lark.python_re import alike, before_assertion, language_of, matched
from schemagen.context_free.regular import goes_on_as, meet, only_text
from schemagen.context_free.syntax import MARK, Indentation, Lexeme, Terminal
from schemagen.errors import UnsupportedGrammarError
from schemagen.regex import ast, parse_python
from schemagen.regex.alphabet import bits_of
from schemagen.regex.edges import first_characters
from schemagen.regex.language import Language, is_subset
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.context_free.lark.source import LarkRules

    Ways = tuple[tuple[Terminal, Lexeme], ...]

#: Flags of `re` that can be written into a pattern.
_LETTERS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.ASCII: "a"}


def pattern_of(terminal: Any, parser: Any) -> str:
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


def ignored_terminals(read: LarkRules) -> dict[str, str]:
    """Return the terminals that are ignored, each with the name of the one that replaces it where it is ignored.

    A terminal that rules use, too, is two: where a rule expects it, it is a part of the text like any other.
    """
    used = set(read.used)
    return {name: f"{name} ignored" if name in used else name for name in read.ignored}


def lexer_of(parser: Any) -> Any:
    """Return the lexer of a parser, without what changes its tokens afterwards."""
    lexer = parser.parser.lexer
    return lexer if parser.options.postlex is None else lexer.lexer


class Scanners:
    """The lexers of one parser.

    Args:
        parser: The parser; its lexer is "basic" or "contextual".
        read: Its rules.
        indentation: How lines make blocks, or None if they do not.
    """

    def __init__(self, parser: Any, read: LarkRules, indentation: Indentation | None) -> None:
        terminals = parser.terminals
        self._indentation = indentation
        self._names = [name for name, _, _ in read.terminals]
        self._patterns = [pattern for _, pattern, _ in read.terminals]
        self._ignored = ignored_terminals(read)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._alike = alike(self._patterns)
        self._words = [0] * len(terminals)
        self._left_to = [0] * len(terminals)
        self._find_words(terminals, parser.options.g_regex_flags, frozenset(parser.ignore_tokens))
        self._known: dict[tuple[int, int, int], Ways] = {}

    def ways(self, lexer: Any) -> Ways:
        """Return how a lexer reads its terminals, in its order. A parser may have many lexers."""
        order = [self._numbers[terminal.name] for terminal in lexer.terminals]
        place = {number: at for at, number in enumerate(order)}
        present = left = earlier = 0
        for number in order:
            present |= 1 << number
            left |= self._left_to[number]
        ways: list[tuple[Terminal, Lexeme]] = []
        for number in order:
            if left >> number & 1:
                continue
            key = number, earlier & self._alike[number], self._words[number] & present
            if key not in self._known:
                poll()
                rivals = sorted(bits_of(key[1]), key=place.__getitem__)
                words = sorted(bits_of(key[2]), key=place.__getitem__)
                self._known[key] = tuple(self._ways_of(number, rivals, words))
            ways += self._known[key]
            earlier |= 1 << number
        return tuple(ways)

    def _find_words(self, terminals: Any, flags: int, ignored: frozenset[str]) -> None:
        """Find for each pattern the literals that it matches as a whole, and those that are left to it."""
        literals = [(number, each) for number, each in enumerate(terminals) if each.pattern.type == "str"]
        for number, terminal in enumerate(terminals):
            if terminal.pattern.type == "str":
                continue
            poll()
            match = re.compile(terminal.pattern.to_regexp(), flags).match
            for word, literal in literals:
                text = literal.pattern.value
                found = match(text) if literal.priority == terminal.priority else None
                if found is not None and found.group() == text:
                    # An ignored terminal stays ignored, even if it is a literal that others make a token of its own.
                    if terminal.name not in ignored:
                        self._words[number] |= 1 << word
                    if literal.pattern.flags <= terminal.pattern.flags:
                        self._left_to[number] |= 1 << word

    def _ways_of(self, number: int, rivals: list[int], words: list[int]) -> list[tuple[Terminal, Lexeme]]:
        """Return how a terminal, and literals that are found by it, are read where it has these rivals."""
        pattern, before = self._patterns[number], [self._patterns[each] for each in rivals]
        ignored = self._ignored.get(self._names[number])
        if ignored is not None:
            lexeme = matched(pattern, before=before)
            return [] if lexeme.text == ast.EMPTY else [(Terminal(ignored), lexeme)]
        ways = []
        earlier: list[str] = []
        for word in words:
            only = self._patterns[word]
            ways.append((self._names[word], matched(pattern, before=before, only=only, but_not=tuple(earlier))))
            earlier.append(only)
        ways.append((self._names[number], matched(pattern, before=before, but_not=tuple(earlier))))
        unexpected = {name for name, own in self._ignored.items() if name == own}  # no rule has them
        ways = [(name, lexeme) for name, lexeme in ways if lexeme.text != ast.EMPTY and name not in unexpected]
        return _by_width([(Terminal(name), lexeme) for name, lexeme in ways], self._indentation)


def _by_width(ways: list[tuple[Terminal, Lexeme]], indentation: Indentation | None) -> list[tuple[Terminal, Lexeme]]:
    """Read line breaks as one terminal for each width of the indentation after the last of them."""
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
            if lexeme.marked:
                ends = ast.concat(ends, ast.literal(MARK), ast.ANY_STRING)
            text = ast.conjunction(lexeme.text, ends)
            out.append((at, Lexeme(text, lexeme.longer, lexeme.marked)))
    return out


@lru_cache(maxsize=1024)
def _blanks(width: int, tab: int) -> ast.Regex:
    """Return blanks and tabulators of a width, without a line break."""
    ways: list[ast.Regex] = [ast.concat(ast.literal(" "), _blanks(width - 1, tab))] if width else [ast.EPSILON]
    if width >= tab:
        ways.append(ast.concat(ast.literal("\t"), _blanks(width - tab, tab)))
    return ast.union(*ways)


@lru_cache(maxsize=1)
def _without_blanks() -> ast.Regex:
    return ast.star(parse_python(r"\S"))


def reserved(patterns: Mapping[str, tuple[str, bool]]) -> dict[str, tuple[Lexeme, ...]]:
    """Return how keywords, and the terminals that match them, are read; all others are read as before.

    Args:
        patterns: The pattern of each terminal, as for `re`, and whether it is a literal.

    Raises:
        PatternError: A pattern is invalid, or has no regular language.
        LimitError: It is too large to be compared with a keyword.
    """
    literals = {name: language_of(pattern) for name, (pattern, is_literal) in patterns.items() if is_literal}
    others = {name: pattern for name, (pattern, is_literal) in patterns.items() if not is_literal}
    beginnings = {name: first_characters(literal) for name, literal in literals.items()}
    any_beginning = ast.normalise_ranges(each for ranges in beginnings.values() for each in ranges)
    words: dict[str, ast.Regex] = {}
    firsts: dict[str, ast.Ranges] = {}
    for name, pattern in others.items():
        first = first_characters(before_assertion(pattern))
        if not ast.intersect_ranges(first, any_beginning):
            continue  # most such terminals take numbers and strings
        regex = parse_python(pattern)
        if is_subset(regex, _without_blanks()):
            words[name], firsts[name] = regex, first
    languages = {name: Language(word) for name, word in words.items()}
    matching: dict[str, list[str]] = {}
    for keyword, literal in literals.items():
        alike_words = (name for name in words if ast.intersect_ranges(beginnings[keyword], firsts[name]))
        matching[keyword] = [name for name in alike_words if _is_keyword(literal, words[name], languages[name])]
    out: dict[str, tuple[Lexeme, ...]] = {}
    for keyword, names in matching.items():
        if names:
            longer = ast.union(literals[keyword], *(words[name] for name in names))
            out[keyword] = (Lexeme(literals[keyword], longer),)
    for name in words:
        keywords = [patterns[keyword][0] for keyword, names in matching.items() if name in names]
        if keywords:
            out[name] = (matched(patterns[name][0], but_not=keywords),)
    return out


def _is_keyword(literal: ast.Regex, word: ast.Regex, language: Language) -> bool:
    """Whether a pattern matches a literal in one of its cases, and longer texts that begin with it."""
    text = only_text(literal)
    if text is None:
        return meet(literal, word) and goes_on_as(literal, word)
    return all(language.matches_and_goes_on(text))
