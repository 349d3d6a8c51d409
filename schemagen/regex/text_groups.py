r"""The text groups of a `Regex`: named groups that stand for a kind of text, such as ``(?P<QUOTED_TEXT>)``.

Their names are those of Koo, Liu & He 2024, Table 1. The paper shows two of them, ``(?P<SUBSTRING_OF>abc)`` and
``(?P<PARAGRAPH_TOKEN>)+``; the notation of the others' arguments is ours. The arguments are separated by ``|``:

    (?P<QUOTED_TEXT>)                                no argument
    (?P<TEXT_UNTIL>stop), (?P<SUBSTRING_OF>text)     a fixed text, with the escapes of patterns: \.
    (?P<DELIMITED_LIST>, |[0-9]+)                    the delimiter, then the item: the rest, alternatives or not
    (?P<DELIMITED_SUBSEQUENCE_OF>, |bold|italic)     the delimiter, then the items in their order

A list has one item at least; ``(?P<DELIMITED_LIST>...)?`` may be empty. A group of any other name is an ordinary one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from schemagen.errors import LimitError
from schemagen.regex.ast import (
    ANY_CHAR,
    Alternation,
    Chars,
    Complement,
    Concat,
    Conjunction,
    Regex,
    Repeat,
    repeat,
    union,
)
from schemagen.regex.syntax import PLAIN
from schemagen.regex.wildcards import (
    delimited_list,
    delimited_subsequence,
    paragraph_text,
    quoted_text,
    substring_text,
    text_before,
    unquoted_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.regex.cursor import Cursor
    from schemagen.regex.syntax import Syntax

#: Operators and sets of characters in the expression of a group, written out: a list within a list doubles them.
MAX_SIZE = 300_000

_KIND = "a group of this name stands for a kind of text"


class TextGroup(NamedTuple):
    """A text group at its place in a pattern.

    Attributes:
        name: Its name.
        alternatives: Its parts, separated by ``|``.
        position: Where it begins.
        cursor: The pattern.
        is_named: Whether the result tells the place of the group.
    """

    name: str
    alternatives: Sequence[Syntax]
    position: int
    cursor: Cursor
    is_named: bool = False

    def language(self) -> tuple[Regex, int]:
        """Return the language of the group, and how many operators are nested in it.

        Raises:
            InvalidPatternError: Its argument is missing, one too many, or no fixed text where that is needed.
            UnsupportedPatternError: Its language cannot be compiled.
            LimitError: A text is too long, or lists are nested too deep.
        """
        language = _LANGUAGES[self.name](self)
        height, size = extent_of(language)
        if size > MAX_SIZE:
            raise LimitError(
                f"the text group {self.name} stands for an expression of {size:,} operators, limit {MAX_SIZE:,}",
                at=f"position {self.position} of a pattern of {len(self.cursor.pattern)} characters",
                fix="nest fewer lists in one another",
            )
        return language, height

    def nothing(self) -> None:
        """Refuse an argument."""
        if list(self.alternatives) != [Concat(())]:
            self._refuse("takes no argument", f"write '(?P<{self.name}>)', or give an ordinary group another name")

    def fixed_text(self) -> str:
        """Return the argument, which is one fixed text."""
        node = self.alternatives[0] if len(self.alternatives) == 1 else None
        parts = node.parts if isinstance(node, Concat) else (node,)
        points = [_point(part) for part in parts]
        if None in points:
            self._refuse("takes one fixed text", "escape it as re.escape does: '\\.' for a full stop")
        return "".join(chr(point) for point in points if point is not None)

    def delimiter_and_items(self) -> tuple[Regex, list[Regex]]:
        """Return the first alternative, and the others."""
        parts = [part for part in self.alternatives if isinstance(part, PLAIN)]
        if len(parts) < len(self.alternatives):
            raise self.cursor.unsupported(
                f"an anchor or a look-around in the group {self.name}",
                self.position,
                why="the text around a part of a list is not known",
                fix="state the rule without it, or put it outside of the group",
            )
        if len(parts) == 1:
            self._refuse("has no item", f"write the delimiter, '|', and the item: '(?P<{self.name}>, |[a-z]+)'")
        return parts[0], parts[1:]

    def _refuse(self, fact: str, fix: str) -> NoReturn:
        raise self.cursor.invalid(f"the text group {self.name} {fact}", self.position, why=_KIND, fix=fix)


def _point(part: Syntax | None) -> int | None:
    """Return the code point of an expression that is one character."""
    if isinstance(part, Chars) and len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]:
        return part.ranges[0][0]
    return None


def _without_argument(build: Callable[[], Regex]) -> Callable[[TextGroup], Regex]:
    def language(group: TextGroup) -> Regex:
        group.nothing()
        return build()

    return language


def _until(group: TextGroup) -> Regex:
    stop = group.fixed_text()
    if not stop:
        group._refuse("has no stop", "write the text that ends it: '(?P<TEXT_UNTIL>stop)'")  # noqa: SLF001 - one module
    return text_before(stop)


def _substring(group: TextGroup) -> Regex:
    return substring_text(group.fixed_text())


def _list(group: TextGroup) -> Regex:
    delimiter, items = group.delimiter_and_items()
    return delimited_list(delimiter, union(*items))


def _subsequence(group: TextGroup) -> Regex:
    return delimited_subsequence(*group.delimiter_and_items())


def _token(group: TextGroup) -> Regex:
    """Return the texts of tokens. An expression over characters cannot count them: code that does reads the groups by name.

    Raises:
        UnsupportedPatternError: An expression is needed, and not the groups.
    """
    group.nothing()
    if group.is_named:
        return paragraph_text() if group.name == "PARAGRAPH_TOKEN" else repeat(ANY_CHAR, 1, None)
    line = "[^\\n]" if group.name == "PARAGRAPH_TOKEN" else "(?s:.)"
    raise group.cursor.unsupported(
        f"the text group {group.name} cannot be compiled",
        group.position,
        why="it counts tokens, which is only done in the pattern of a Regex by itself, outside of lists",
        fix=f"for any number of them write '{line}+', and bound the answer by max_new_tokens",
    )


def _image(group: TextGroup) -> NoReturn:
    raise group.cursor.unsupported(
        "the text group IMAGE cannot be compiled",
        group.position,
        why="the tokens of a language model's vocabulary are text, and no model here writes images with them",
        fix="leave it out",
    )


_LANGUAGES: dict[str, Callable[[TextGroup], Regex]] = {
    "QUOTED_TEXT": _without_argument(quoted_text),
    "UNQUOTED_TEXT": _without_argument(unquoted_text),
    "IMAGE": _image,
    "TEXT_TOKEN": _token,
    "PARAGRAPH_TOKEN": _token,
    "TEXT_UNTIL": _until,
    "SUBSTRING_OF": _substring,
    "DELIMITED_LIST": _list,
    "DELIMITED_SUBSEQUENCE_OF": _subsequence,
}

#: Those that count tokens.
TOKEN_GROUPS = frozenset({"TEXT_TOKEN", "PARAGRAPH_TOKEN"})

#: The names of the groups.
TEXT_GROUPS = frozenset(_LANGUAGES)


class Extent(NamedTuple):
    """How large an expression is.

    Attributes:
        height: How many operators are nested.
        size: How many operators and sets of characters there are when it is written out.
    """

    height: int
    size: int


def extent_of(regex: Regex) -> Extent:
    """Return the size of an expression; repeated parts are visited once."""
    known: dict[int, Extent] = {}

    def extent(node: Regex) -> Extent:
        if id(node) not in known:
            parts = [extent(part) for part in _parts(node)]
            height = 0 if isinstance(node, Chars) else 1 + max((part.height for part in parts), default=-1)
            known[id(node)] = Extent(height, 1 + sum(part.size for part in parts))
        return known[id(node)]

    return extent(regex)


def _parts(node: Regex) -> tuple[Regex, ...]:
    if isinstance(node, Concat | Alternation | Conjunction):
        return node.parts
    return (node.inner,) if isinstance(node, Repeat | Complement) else ()
