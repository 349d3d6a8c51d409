"""The fields of one object of a structural tag, checked when they are read; errors name their place by a JSON pointer."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.checks import kind_of
from schemagen.context_free.syntax import Token
from schemagen.errors import GrammarSyntaxError, LimitError
from schemagen.errors.pointers import escape
from schemagen.regex.parse import MAX_COUNT

if TYPE_CHECKING:
    from collections.abc import Callable

#: Says that a field has to be there.
REQUIRED: Any = object()

T = TypeVar("T")


class Fields:
    """The fields of an object.

    Args:
        value: The object.
        at: A JSON pointer to it.

    Attributes:
        at: The pointer.
        whole: The object.

    Raises:
        GrammarSyntaxError: It is none.
    """

    def __init__(self, value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise GrammarSyntaxError(f"{shown(value)} is no object", at=at, fix='give an object: {"type": ...}')
        self.at = at
        self.whole: dict[str, Any] = value

    def __contains__(self, name: str) -> bool:
        """Whether a field is there."""
        return name in self.whole

    def place(self, name: str, *more: int) -> str:
        """Return the JSON pointer to a field, or to an element of it."""
        return "/".join([self.at, escape(name), *map(str, more)])

    def check_names(self, what: str, *known: str) -> None:
        """Refuse other fields than these: they would have no effect."""
        for name in self.whole:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                fix = f"did you mean {close[0]!r}?" if close else f"use only {', '.join(map(repr, known))}"
                raise GrammarSyntaxError(f"{what} has no field {name!r:.80}", at=self.place(name), fix=fix)

    def value(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a field as it is."""
        if name not in self.whole and default is REQUIRED:
            raise GrammarSyntaxError(f"the field {name!r} is missing", at=self.at, fix=f"add it: {{{name!r}: ...}}")
        return self.whole.get(name, default)

    def text(self, name: str, default: Any = REQUIRED, *, nonempty: bool = False) -> Any:
        """Return a field that is a text."""
        read = self.nonempty_text if nonempty else self.plain_text
        return read(self.value(name, default), self.place(name))

    def texts(self, name: str, default: Any = REQUIRED) -> list[str]:
        """Return a field that is a list of texts, none of them empty."""
        return self.each(name, self.nonempty_text, default)

    def each(self, name: str, read: Callable[[Any, str], T], default: Any = REQUIRED) -> list[T]:
        """Return what the elements of a list are read as.

        Args:
            name: The field.
            read: Reads one, from its value and place.
            default: The list of a field that is not there.
        """
        value = self.value(name, default)
        if not isinstance(value, list | tuple):
            raise GrammarSyntaxError(f"{shown(value)} is no list", at=self.place(name), fix="give a list")
        return [read(element, self.place(name, index)) for index, element in enumerate(value)]

    def some(self, name: str, read: Callable[[Any, str], T]) -> list[T]:
        """Return what the elements of a list are read as, which has one at least."""
        found = self.each(name, read)
        if not found:
            raise GrammarSyntaxError(
                f"the list {name!r} is empty", at=self.place(name), fix="give one element at least"
            )
        return found

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a field that is true or false."""
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise GrammarSyntaxError(
                f"{shown(value)} is neither true nor false", at=self.place(name), fix="give true or false"
            )
        return value

    def count(self, name: str, default: Any = REQUIRED, *, low: int = 0) -> int | None:
        """Return a field that is an integer, or null if that is its default.

        Raises:
            LimitError: It is too large to be counted.
        """
        value = self.value(name, default)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise GrammarSyntaxError(
                f"{shown(value)} is no integer from {low} on", at=self.place(name), fix="give an integer"
            )
        if value > MAX_COUNT:
            raise LimitError(f"{value} is more than can be counted, {MAX_COUNT}", at=self.place(name), fix="lower it")
        return value

    def token(self, value: Any, at: str) -> Token:
        """Return a token that is named, or given by its id."""
        if isinstance(value, str) and value:
            return Token((value,), None, None, at)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return Token(((value, value),), None, None, at)
        raise GrammarSyntaxError(f"{shown(value)} is no token", at=at, why="a token is a name or an id", fix="give one")

    def token_format(self, name: str) -> Token:
        """Return a field that is a format of type "token", which need not say its type."""
        fields = Fields(self.value(name), self.place(name))
        fields.check_names("a token", "type", "token")
        if fields.text("type", "token") != "token":
            raise GrammarSyntaxError(
                f"{shown(fields.value('type'))} where a text or a token is expected",
                at=fields.place("type"),
                fix='give a text, or {"type": "token", "token": ...}',
            )
        return fields.token(fields.value("token"), fields.place("token"))

    @staticmethod
    def plain_text(value: Any, at: str) -> str:
        """Return a value that is a text."""
        if not isinstance(value, str):
            raise GrammarSyntaxError(f"{shown(value)} is no text", at=at, fix="give a text")
        return value

    @staticmethod
    def nonempty_text(value: Any, at: str) -> str:
        """Return a value that is a text, and not the empty one."""
        if not Fields.plain_text(value, at):
            raise GrammarSyntaxError("an empty text", at=at, why="it would be found everywhere", fix="give a text")
        return str(value)


def shown(value: Any) -> str:
    """Return a value as errors show it."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return kind_of(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
