"""A position in a grammar text, and errors that name its line and column.

Sizes are limited here, so that what reads the rules afterwards may recurse over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.errors import GrammarSyntaxError, LimitError, UnsupportedGrammarError
from schemagen.regex.ast import MAX_CODE_POINT
from schemagen.regex.parse import MAX_COUNT

if TYPE_CHECKING:
    import re

#: Characters of a grammar text.
MAX_LENGTH = 1_000_000
#: Groups inside one another. Python's own recursion limit is 1000 frames, and a group takes some of them in each stage.
MAX_NESTING = 60

_SURROGATES = range(0xD800, 0xE000)
_SHOWN = 40


def check_length(text: str) -> None:
    """Refuse a grammar text that is too long.

    Raises:
        LimitError: It is.
    """
    if len(text) > MAX_LENGTH:
        raise LimitError(
            f"a grammar of {len(text):,} characters, limit {MAX_LENGTH:,}",
            why="a grammar of strangers must not take the process down",
            fix="use repetitions, or split the grammar",
        )


class Scanner:
    """A grammar text and how far it has been read.

    Attributes:
        text: The grammar.
        at: The offset of the next character.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        check_length(text)

    @property
    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self.at >= len(self.text)

    def sees(self, expected: str) -> bool:
        """Whether the text goes on with ``expected``."""
        return self.text.startswith(expected, self.at)

    def take(self, expected: str) -> bool:
        """Read ``expected`` if it is next, and return whether it was."""
        found = self.sees(expected)
        if found:
            self.at += len(expected)
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read the match of the pattern here, if there is one."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1."""
        before = self.text[:at]
        return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1

    def where(self, at: int) -> str:
        """Return line and column of an offset as errors show them."""
        line, column = self.place(at)
        return f"line {line}, column {column}"

    def error(self, fact: str, at: int | None = None, *, why: str = "", fix: str = "") -> GrammarSyntaxError:
        """Return the error of a text that cannot be read at an offset."""
        line, column = self.place(self.at if at is None else at)
        return GrammarSyntaxError(fact, line=line, column=column, why=why, fix=fix)

    def unsupported(self, fact: str, at: int, *, why: str, fix: str) -> UnsupportedGrammarError:
        """Return the error of a construct at an offset that is read, but cannot be enforced."""
        line, column = self.place(at)
        return UnsupportedGrammarError(fact, line=line, column=column, why=why, fix=fix)

    def limit(self, fact: str, at: int, *, why: str = "", fix: str) -> LimitError:
        """Return the error of something too large at an offset."""
        return LimitError(fact, at=self.where(at), why=why, fix=fix)

    def unexpected(self, expected: str, fix: str = "") -> GrammarSyntaxError:
        """Return the error that ``expected`` was expected here."""
        rest = self.text[self.at : self.at + _SHOWN].split("\n", 1)[0]
        found = "the grammar ends" if self.at_end else f"{rest!r} stands" if rest else "the line ends"
        return self.error(f"{found} where {expected} is expected", fix=fix)

    def count(self, digits: str, at: int) -> int:
        """Return the count of a repetition.

        Raises:
            LimitError: It is too large.
        """
        significant = digits.lstrip("0") or "0"
        if len(significant) > 10 or int(significant) > MAX_COUNT:
            shown = significant[:20]
            raise self.limit(f"a repetition counts to {shown}, limit {MAX_COUNT}", at, fix="lower the bound")
        return int(significant)

    def code_point(self, digits: str, at: int) -> int:
        """Return the code point with these hexadecimal digits.

        Raises:
            GrammarSyntaxError: It is not a character.
        """
        point = int(digits, 16)
        if point > MAX_CODE_POINT or point in _SURROGATES:
            why = "half of a surrogate pair has no UTF-8" if point in _SURROGATES else "U+10FFFF is the last one"
            raise self.error(
                f"U+{digits.upper():.12} is not a character", at, why=why, fix="write the code point itself"
            )
        return point
