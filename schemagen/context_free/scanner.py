"""A position in a grammar text, errors that name its line and column, and the literals, sets and tokens of all notations.

Sizes are limited here, so that what reads the rules afterwards may recurse over them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemagen.context_free.syntax import Token, TokenRun
from schemagen.errors import GrammarSyntaxError, LimitError, UnsupportedGrammarError
from schemagen.regex import ast
from schemagen.regex.ast import MAX_CODE_POINT
from schemagen.regex.parse import MAX_COUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        name: Its name in errors, if it is one of several.
        at: The offset of the next character.
    """

    def __init__(self, text: str, name: str = "") -> None:
        self.text = text
        self.name = name
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

    def character(self) -> str:
        """Read the next character; there has to be one."""
        self.at += 1
        return self.text[self.at - 1]

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
        return GrammarSyntaxError(self._told(fact), line=line, column=column, why=why, fix=fix)

    def unsupported(self, fact: str, at: int, *, why: str, fix: str) -> UnsupportedGrammarError:
        """Return the error of a construct at an offset that is read, but cannot be enforced."""
        line, column = self.place(at)
        return UnsupportedGrammarError(self._told(fact), line=line, column=column, why=why, fix=fix)

    def limit(self, fact: str, at: int, *, why: str = "", fix: str) -> LimitError:
        """Return the error of something too large at an offset."""
        return LimitError(self._told(fact), at=self.where(at), why=why, fix=fix)

    def _told(self, fact: str) -> str:
        return f"{fact}, in the grammar {self.name}" if self.name else fact

    def unexpected(self, expected: str, fix: str = "") -> GrammarSyntaxError:
        """Return the error that ``expected`` was expected here."""
        rest = self.text[self.at : self.at + _SHOWN].split("\n", 1)[0]
        found = "the grammar ends" if self.at_end else f"{rest!r} stands" if rest else "the line ends"
        return self.error(f"{found} where {expected} is expected", fix=fix)

    def defined_twice(self, what: str, at: int, before: int) -> GrammarSyntaxError:
        """Return the error of a second definition at an offset."""
        why = f"the other one is at {self.where(before)}"
        return self.error(f"{what} is defined twice", at, why=why, fix="rename one")

    def no_start(self, start: str, known: Iterable[str], at: int, otherwise: str) -> GrammarSyntaxError:
        """Return the error of a grammar without its start rule.

        Args:
            start: The name of the rule.
            known: The rules that there are.
            at: The place of the error.
            otherwise: The way out if there are none.
        """
        fix = fix_of_start(start, known, otherwise)
        return self.error(f"the grammar has no rule {start!r} to start from", at, fix=fix)

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

    def bounds(self, least: str, most: str, at: int) -> tuple[int, int | None]:
        """Return the counts of a repetition, whose upper one may be empty for no bound.

        Raises:
            GrammarSyntaxError: They are the wrong way round.
            LimitError: One is too large.
        """
        low = self.count(least, at)
        high = self.count(most, at) if most else None
        if high is not None and high < low:
            raise self.error(f"a repetition of at least {low} and at most {high}", at, fix=f"write {{{high},{low}}}")
        return low, high

    def check_depth(self, at: int, depth: int, fix: str = "give the inner ones names") -> None:
        """Refuse a group that is inside too many others.

        Raises:
            LimitError: It is.
        """
        if depth == MAX_NESTING:
            raise self.limit(f"groups are nested {depth + 1} deep, limit {MAX_NESTING}", at, fix=fix)

    def listed(self, closing: str, blank: re.Pattern[str], fix: str = "") -> Iterator[None]:
        """Yield before each element of a list up to its closing sign, with commas between them and perhaps after the last.

        Raises:
            GrammarSyntaxError: There is no comma between two of them.
        """
        self.match(blank)
        while not self.take(closing):
            yield
            self.match(blank)
            if not self.take(",") and not self.sees(closing):
                raise self.unexpected(f"',' or {closing!r}", fix)
            self.match(blank)

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


def fix_of_start(start: str, known: Iterable[str], otherwise: str) -> str:
    """Return the way out of a grammar without its start rule; arguments as for `Scanner.no_start`."""
    names = ", ".join(list(known)[:8])
    return f"rename one of its rules to {start}, or give its name as start=: {names}" if names else otherwise


_RANGES = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*")


def token_of(scanner: Scanner, text: str, at: int, *, may_be_text: bool = False) -> Token:
    """Return the token that is written between angle brackets.

    Args:
        scanner: The grammar, for errors.
        text: The source text, brackets included. A name is all of it: ``<|python_tag|>``.
        at: Where it begins.
        may_be_text: Whether ids of ordinary tokens may be among them.

    Raises:
        GrammarSyntaxError: It is a list of ids that cannot be read.
    """
    line, column = scanner.place(at)
    if not text.startswith("<["):
        return Token((text,), line, column)
    ids = text[2:-2] if text.endswith("]>") else ""
    if not _RANGES.fullmatch(ids):
        raise scanner.error(f"the token {text}, which is not a list of ids", at, fix="write <[12]> or <[1,5-9]>")
    ranges = []
    for each in ids.split(","):
        first, _, last = each.partition("-")
        ranges.append((int(first), int(last or first)))
        if ranges[-1][1] < ranges[-1][0]:
            raise scanner.error(
                f"the ids {each} of {text}", at, why="the lower one comes first", fix=f"write {last}-{first}"
            )
    return Token(tuple(ranges), line, column, may_be_text=may_be_text)


def any_token_of(scanner: Scanner, text: str, at: int) -> Token | TokenRun:
    """Return the token in angle brackets: one by name or id, any one of text (``<[*]>``), or any but some (``<[^1-3]>``).

    Raises:
        GrammarSyntaxError: It is a list of ids that cannot be read.
    """
    if text == "<[*]>":
        return TokenRun(1, 1)
    if text.startswith("<[^"):
        return TokenRun(1, 1, but=(token_of(scanner, f"<[{text[3:]}", at),))
    return token_of(scanner, text, at, may_be_text=True)


_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class Escapes:
    """The escapes after a backslash.

    Attributes:
        characters: The meaning of each letter or sign.
        hexadecimal: How many digits each letter takes, or None for as many as there are.
    """

    characters: dict[str, str]
    hexadecimal: dict[str, int | None] = field(default_factory=dict)

    def read(self, scanner: Scanner) -> str:
        """Read a character, which may be written as an escape."""
        at = scanner.at
        character = scanner.character()
        if character != "\\":
            return character
        letter = scanner.text[scanner.at : scanner.at + 1]
        scanner.at += 1
        if letter in self.hexadecimal:
            return chr(scanner.code_point(self._digits(scanner, self.hexadecimal[letter], at), at))
        if letter not in self.characters or not letter:
            known = " ".join(f"\\{each}" for each in (*self.characters, *self.hexadecimal))
            raise scanner.error(f"the escape '\\{letter}' is not known here", at, fix=f"use one of {known}")
        return self.characters[letter]

    def _digits(self, scanner: Scanner, count: int | None, at: int) -> str:
        begin = scanner.at
        most = len(scanner.text) if count is None else begin + count
        while scanner.at < most and scanner.text[scanner.at : scanner.at + 1] in _HEXADECIMAL and not scanner.at_end:
            scanner.at += 1
        digits = scanner.text[begin : scanner.at]
        if not digits or (count is not None and len(digits) < count):
            wanted = f"{count} hexadecimal digits" if count else "hexadecimal digits"
            raise scanner.error(
                f"the escape {scanner.text[at : scanner.at]!r} has too few digits", at, fix=f"write {wanted}"
            )
        return digits


def quoted(scanner: Scanner, quote: str, at: int, escapes: Escapes | None) -> str:
    """Read the rest of a literal that began at ``at``, up to its quote.

    Args:
        scanner: After the first quote.
        quote: The quote that ends it.
        at: Where it began, for errors.
        escapes: The escapes, or None if a backslash is an ordinary character.

    Raises:
        GrammarSyntaxError: It has no end, or an escape that is not known.
    """
    characters: list[str] = []
    while not scanner.take(quote):
        if scanner.at_end or scanner.text[scanner.at] in "\r\n":
            fix = (
                f"write {quote} at its end"
                if escapes is None
                else f"write {quote} at its end; a line break in it is \\n"
            )
            raise scanner.error("a literal is never closed", at, fix=fix)
        characters.append(scanner.character() if escapes is None else escapes.read(scanner))
    return "".join(characters)


class CharacterSet:
    """A reader of sets in brackets.

    Args:
        escapes: The escapes after a backslash.
        has_anything: Whether ``[^]`` is any character.
    """

    def __init__(self, escapes: Escapes, *, has_anything: bool = False) -> None:
        self._escapes = escapes
        self._has_anything = has_anything

    def member(self, scanner: Scanner) -> str:
        """Read one character of a set."""
        return self._escapes.read(scanner)

    def read(self, scanner: Scanner, at: int) -> ast.Chars:
        """Read the rest of a set that began at ``at``.

        Raises:
            GrammarSyntaxError: It has no end, no character, or a range that runs backwards.
        """
        negated = scanner.take("^")
        ranges: list[tuple[int, int]] = []
        while not scanner.take("]"):
            begin = scanner.at
            if scanner.at_end or scanner.text[scanner.at] in "\r\n":
                raise scanner.error("a set of characters is never closed", at, fix="write ']' at its end")
            low = high = ord(self.member(scanner))
            if scanner.sees("-") and not scanner.sees("-]"):
                scanner.at += 1
                if scanner.at_end:
                    raise scanner.error("a set of characters is never closed", at, fix="write ']' at its end")
                high = ord(self.member(scanner))
            if high < low:
                shown = scanner.text[begin : scanner.at]
                raise scanner.error(f"the range {shown!r} runs backwards", begin, fix="write the lower end first")
            ranges.append((low, high))
        if not ranges and not (negated and self._has_anything):
            raise scanner.error("a set without characters", at, why="no text matches it", fix="write the characters")
        found = ast.normalise_ranges(ranges)
        return ast.Chars(ast.invert_ranges(found) if negated else found)
