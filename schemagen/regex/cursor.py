"""A position in a pattern, the flags in force there, and the errors that name it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemagen.errors import InvalidPatternError, UnsupportedPatternError
from schemagen.regex.unicode import ASCII_DIGIT, ASCII_SPACE, ASCII_WORD, ECMA_LINE_ENDS, ECMA_SPACE, python_class

if TYPE_CHECKING:
    from schemagen.regex.ast import Ranges

NEWLINE: Ranges = ((0x0A, 0x0A),)


@dataclass(frozen=True, slots=True)
class Flags:
    """The inline flags in force at a position: ``i``, ``m``, ``s``, ``x``, ``a``; in Rust ``R``, and ``a`` for ``-u``."""

    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii: bool = False
    crlf: bool = False


@dataclass(slots=True)
class Cursor:
    """A position in a pattern of one dialect (``python``, otherwise ECMA-262)."""

    pattern: str
    python: bool
    position: int = 0
    flags: Flags = field(default_factory=Flags)

    def peek(self, ahead: int = 0) -> str:
        """Return the character ``ahead`` of the position, or "" past the end."""
        return self.pattern[self.position + ahead : self.position + ahead + 1]

    def take(self) -> str:
        """Return the character at the position and step over it."""
        character = self.pattern[self.position : self.position + 1]
        self.position += 1
        return character

    def skip(self, text: str) -> bool:
        """Step over ``text`` if it is next; say whether it was."""
        if not self.pattern.startswith(text, self.position):
            return False
        self.position += len(text)
        return True

    @property
    def line_ends(self) -> Ranges:
        """The characters that `.` does not match, and that a multiline anchor is beside."""
        return NEWLINE if self.python else ECMA_LINE_ENDS

    def predefined(self, letter: str) -> Ranges:
        r"""Return the set of ``\d``, ``\s`` or ``\w``."""
        if self.python and not self.flags.ascii:
            return python_class(letter)
        space = ASCII_SPACE if self.python else ECMA_SPACE
        return {"d": ASCII_DIGIT, "s": space, "w": ASCII_WORD}[letter]

    def invalid(self, fact: str, position: int, *, why: str = "", fix: str = "") -> InvalidPatternError:
        """Return the error for text that is not a pattern of this dialect."""
        return InvalidPatternError(fact, pattern=self.pattern, position=position, why=why, fix=fix)

    def unsupported(self, fact: str, position: int, *, why: str = "", fix: str = "") -> UnsupportedPatternError:
        """Return the error for a construct that is understood, but cannot be compiled."""
        return UnsupportedPatternError(fact, pattern=self.pattern, position=position, why=why, fix=fix)
