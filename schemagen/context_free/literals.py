"""Literals with escapes, and sets of characters in brackets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemagen.regex import ast

if TYPE_CHECKING:
    from schemagen.context_free.scanner import Scanner

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
        scanner.at += 1
        character = scanner.text[at]
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
        characters.append(_character(scanner, escapes))
    return "".join(characters)


def _character(scanner: Scanner, escapes: Escapes | None) -> str:
    if escapes is not None:
        return escapes.read(scanner)
    scanner.at += 1
    return scanner.text[scanner.at - 1]


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
