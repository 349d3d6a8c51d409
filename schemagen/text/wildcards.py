"""Free text of a kind: quoted, unquoted, up to a stop, a paragraph, and one line of a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.arguments import check_flag, kind_of
from schemagen.errors import OptionError, OptionTypeError
from schemagen.grammar.specs import Choice
from schemagen.regex import ast, wildcards
from schemagen.text.base import Wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Quoted(Wildcard):
    """What `quoted` returns."""

    def language(self) -> ast.Regex:
        """Return the texts."""
        return wildcards.quoted_text()

    def value_of(self, text: str) -> str:
        """Return the text between the quotes, its escapes read.

        Raises:
            ValidationFailed: It is no quoted text.
        """
        return str(json.loads(super().value_of(text)))

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        return "a text in double quotes, with the escapes of JSON"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return "quoted()"


@dataclass(frozen=True)
class Unquoted(Wildcard):
    """What `unquoted` returns."""

    def language(self) -> ast.Regex:
        """Return the texts."""
        return wildcards.unquoted_text()

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        return "a plain string of YAML on one line, without quotes"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return "unquoted()"


@dataclass(frozen=True)
class Paragraph(Wildcard):
    """What `paragraph` returns."""

    def language(self) -> ast.Regex:
        """Return the texts."""
        return wildcards.paragraph_text()

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        return "a text on one line"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return "paragraph()"


@dataclass(frozen=True)
class Until(Wildcard):
    """What `until` returns.

    Attributes:
        stop: What ends the text.
        include: Whether the text has it.
        greedy: Whether it may stand in the text before.
    """

    stop: str
    include: bool = False
    greedy: bool = False

    def __post_init__(self) -> None:
        """Refuse a value that is not a stop."""
        if not isinstance(self.stop, str):
            raise OptionTypeError(f"stop={self.stop!r:.80}", why=f"it is {kind_of(self.stop)}", fix="give a str")
        if not self.stop:
            raise OptionError("stop=''", why="it would end every text at once", fix="give the text that ends it")
        check_flag("include", self.include)
        check_flag("greedy", self.greedy)

    def language(self) -> ast.Regex:
        """Return the texts."""
        before = ast.ANY_STRING if self.greedy else wildcards.text_before(self.stop)
        return ast.concat(before, ast.literal(self.stop)) if self.include else before

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        stop = json.dumps(self.stop, ensure_ascii=False)
        if self.greedy:
            return f"a text that ends with {stop}" if self.include else "any text"
        return f"a text that ends with the first {stop}" if self.include else f"a text without {stop}"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        said = [f"{name}=True" for name in ("include", "greedy") if getattr(self, name)]
        return f"until({', '.join([repr(self.stop), *said])})"


def quoted() -> Quoted:
    r"""Return the spec of a text in double quotes with backslash escapes, as JSON has it; its value is what it denotes.

    ``"say \"hi\""`` has the value ``say "hi"``. Line breaks and other control characters are escaped, and half of a surrogate
    pair has no escape. It is what ``str`` as a spec writes.
    """
    return Quoted()


def unquoted() -> Unquoted:
    r"""Return the spec of a text without quotes that YAML reads as the same text: a plain scalar on one line.

    It has a character or more, all of them printable, and blanks only within. It does not begin with an indicator (any of
    ``-?:,[]{}#&*!|>'"%@`` and the backtick), has no ``": "`` and no ``" #"``, and does not end with a colon. Words that
    YAML 1.1 or 1.2 takes for something else are left out: ``null``, ``yes``, ``off``, ``y``, numbers, dates, ``~``, ``<<``.
    It may stand alone, in a list, as a value and as a key (of up to 1,024 characters), but not within brackets, where commas
    and brackets end it.
    """
    return Unquoted()


def until(stop: str, include: bool = False, greedy: bool = False) -> Until:
    r"""Return the spec of a text that ends before the first occurrence of another one, or with it.

    The texts of ``until(stop)`` are those after which ``stop`` is its first occurrence: they do not hold it, and do not end
    with the beginning of one that ``stop`` would complete. Any characters may stand in them, line breaks too, or none.

    Args:
        stop: What ends it.
        include: Whether the text, and so the value, ends with it.
        greedy: Whether the last occurrence counts, and not the first: ``stop`` may then occur in the text before. What makes
            an occurrence the last one is after it, so ``until(stop, greedy=True)`` alone is any text.
    """
    return Until(stop, include, greedy)


def paragraph() -> Paragraph:
    r"""Return the spec of a text on one line, of one character or more.

    All characters but those at which `str.splitlines` ends a line: ``\n``, ``\r``, ``\v``, ``\f``, U+001C to U+001E, U+0085,
    U+2028 and U+2029.
    """
    return Paragraph()


def one_of_lines(text: str | Iterable[str]) -> Choice[str]:
    """Return the choice of one line of a text, as `str.splitlines` has them, without the line break.

    Lines of whitespace alone are left out; others are taken as they are, with blanks at their ends.

    Args:
        text: The text, or its lines.

    Raises:
        OptionError: There is no line, or something given as a line has a line break.
        OptionTypeError: It is no text, and holds something else than texts.
    """
    lines = _lines(text)
    for line in lines:
        if not isinstance(line, str):
            raise OptionTypeError(f"the line {line!r:.80} is {kind_of(line)}", why="lines are texts", fix="give a str")
        if len(line.splitlines()) > 1 or line.splitlines() not in ([line], []):
            raise OptionError(
                f"the line {line!r:.80} has a line break", why="a line is one", fix="give the whole text as one str"
            )
    kept = tuple(dict.fromkeys(line for line in lines if line.strip()))
    if not kept:
        raise OptionError("the text has no line", why="there is nothing to choose", fix="give a text that is not blank")
    return Choice(kept)


def _lines(text: str | Iterable[str]) -> list[str]:
    if isinstance(text, str):
        return text.splitlines()
    try:
        return list(text)
    except TypeError:
        raise OptionTypeError(
            f"the text of one_of_lines is {kind_of(text)}", why="it has lines", fix="give a str, or a list of lines"
        ) from None
