"""Reserved words for lark's dynamic lexer, which has none. Where a name is allowed it reads ``if`` as one.

A keyword is a literal of the grammar that a terminal given by a pattern matches as a whole, and could continue: ``if``,
where there is ``NAME: /[a-z]+/``; of ``"if"i`` one way to write it suffices. No text of such a terminal has blanks: one that
takes any line makes no literal a keyword. With reserved words

- the terminal never takes a keyword, neither as the longest match nor by stopping before it;
- a keyword is not read where a longer text of the terminal begins: ``ifx`` is a name, not ``if`` and ``x``.

A lexer with one set of terminals treats keywords and names in this way. Nothing else of such a lexer is imitated.

Source: of this project; `basic` of lark has the same rule for literals that a pattern matches as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.python_re import language_of, matched
from schemagen.context_free.syntax import Lexeme
from schemagen.regex import ast, parse_python
from schemagen.regex.language import is_empty, is_subset

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Texts without blanks.
_WORD = ast.star(parse_python(r"\S"))


def reserved(patterns: Mapping[str, tuple[str, bool]]) -> dict[str, tuple[Lexeme, ...]]:
    """Return how keywords, and the terminals that match them, are read; all others are read as before.

    Args:
        patterns: The pattern of each terminal, as for `re`, and whether it is a literal.

    Raises:
        PatternError: A pattern is invalid, or has no regular language.
        LimitError: It is too large to be compared with a keyword.
    """
    literals = {name: language_of(pattern) for name, (pattern, is_literal) in patterns.items() if is_literal}
    words = {name: parse_python(pattern) for name, (pattern, is_literal) in patterns.items() if not is_literal}
    words = {name: regex for name, regex in words.items() if is_subset(regex, _WORD)}
    matching = {
        keyword: [name for name, word in words.items() if _is_keyword(literal, word)]
        for keyword, literal in literals.items()
    }
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


def _is_keyword(literal: ast.Regex, word: ast.Regex) -> bool:
    """Whether a pattern matches a literal in one of its cases, and longer texts that begin with it."""
    longer = ast.concat(literal, ast.ANY_CHAR, ast.ANY_STRING)
    return not any(is_empty(ast.conjunction(word, texts)) for texts in (literal, longer))
