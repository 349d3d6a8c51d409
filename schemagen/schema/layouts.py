"""Where whitespace stands in a JSON text: the policies by name, and layouts like those of `json.dumps`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from schemagen.checks import kind_of
from schemagen.errors import OptionError

_SPACES = " \t\n\r"
_SEPARATOR = {mark: re.compile(f"([{_SPACES}]*){mark}([{_SPACES}]*)") for mark in ",:"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The one layout that `json.dumps(value, indent=..., separators=...)` writes; nothing else is accepted.

    Args:
        indent: What each level is indented by: a number of spaces, or whitespace as a text. With it each member and item stands
            on a line of its own, but for empty objects and lists. None puts everything on one line.
        separators: The texts between items, and between a key and its value: a comma and a colon, each with whitespace
            around it if any. None: ``(", ", ": ")``, with an indent ``(",", ": ")``.

    Raises:
        OptionError: An argument is no indent, or no pair of separators.

    Examples:
        `Layout()` is the same as "spaced", and `Layout(separators=(",", ":"))` the same as "compact".
    """

    indent: int | str | None = None
    separators: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse values that are not a layout of JSON, and keep hashable ones."""
        _check_indent(self.indent)
        if self.separators is not None:
            object.__setattr__(self, "separators", _checked_separators(self.separators))

    @property
    def step(self) -> str | None:
        """The indentation of one level; None where everything is on one line."""
        return " " * self.indent if isinstance(self.indent, int) else self.indent

    @property
    def gaps(self) -> tuple[str, str, str, str]:
        """The whitespace before and after a comma, and before and after a colon."""
        comma, colon = self.separators or (", " if self.indent is None else ",", ": ")
        (before_comma, after_comma), (before_colon, after_colon) = comma.split(","), colon.split(":")
        return before_comma, after_comma, before_colon, after_colon

    def __str__(self) -> str:
        """Return the arguments that were given, as they are written in a call."""
        given = (("indent", self.indent), ("separators", self.separators))
        return f"Layout({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


WhitespacePolicy: TypeAlias = Literal["flexible", "compact", "spaced", "any"] | Layout
POLICIES = ("flexible", "compact", "spaced", "any")


def _check_indent(indent: Any) -> None:
    if indent is None:
        return
    why = ""
    if isinstance(indent, bool) or not isinstance(indent, int | str):
        why = f"it is {kind_of(indent)}"
    elif isinstance(indent, int) and indent < 0:
        why = "fewer than no spaces cannot be written"
    elif isinstance(indent, str) and not set(indent) <= set(_SPACES):
        why = "JSON has only space, tab, line feed and carriage return there"
    if why:
        raise OptionError(
            f"Layout(indent={indent!r})", why=why, fix="give a number of spaces, a text of whitespace, or None"
        )


def _checked_separators(separators: Any) -> tuple[str, str]:
    """Return a pair of separators.

    Raises:
        OptionError: They are none.
    """
    fact, fix = f"Layout(separators={separators!r})", 'give a pair like (", ", ": ")'
    is_pair = isinstance(separators, tuple | list) and len(separators) == 2
    if not is_pair or not all(isinstance(each, str) for each in separators):
        raise OptionError(fact, why="they are no pair of texts", fix=fix)
    for mark, separator in zip(",:", separators, strict=True):
        if _SEPARATOR[mark].fullmatch(separator) is None:
            raise OptionError(
                fact, why=f"{separator!r} is not one {mark!r} with nothing but JSON's whitespace around it", fix=fix
            )
    return (separators[0], separators[1])
