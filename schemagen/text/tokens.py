"""Runs of tokens: free text that is measured in what the model writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.arguments import check_bounds
from schemagen.context_free.syntax import TokenRun, repeat
from schemagen.text.base import TextGroup

if TYPE_CHECKING:
    from schemagen.context_free.syntax import Expression


@dataclass(frozen=True, repr=False)
class Tokens(TextGroup[str]):
    """So many tokens of text; made by `text_tokens` and `paragraph_tokens`.

    Args:
        min: At least so many.
        max: The most; None if there is no bound.
        has_lines: Whether there may be line breaks.
    """

    min: int
    max: int | None
    has_lines: bool

    def __post_init__(self) -> None:
        """Refuse values that are not numbers.

        Raises:
            OptionError: One is none, or they are in the wrong order.
        """
        check_bounds(self.min, self.max, least_high=1)

    def expression(self) -> Expression:
        """Return the run as an expression of a grammar."""
        return repeat(TokenRun(1, 1, self.has_lines), self.min, self.max)

    def value_of(self, text: str) -> str:
        """Return the text, whose tokens are not known any more."""
        return text

    def shown(self) -> str:
        """Return how long it is."""
        often = f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"
        return f"{'a text' if self.has_lines else 'one line'} of {often} tokens"

    def __repr__(self) -> str:
        """Return the call."""
        return f"{'text' if self.has_lines else 'paragraph'}_tokens(min={self.min}, max={self.max})"


def text_tokens(min: int = 1, max: int | None = None) -> Tokens:  # noqa: A002 - as list_of has them
    """Return a spec of free text that takes so many tokens.

    It begins and ends where tokens do, and each of its tokens is text of whole characters. It goes into a `Template`, into
    `schemagen.concat` and `schemagen.union`, and stands by itself; a matcher of it is fed with tokens, not with bytes.

    Args:
        min: At least so many.
        max: The most; None if there is no bound.

    Raises:
        OptionError: One is no number, or they are in the wrong order.
    """
    return Tokens(min, max, has_lines=True)


def paragraph_tokens(min: int = 1, max: int | None = None) -> Tokens:  # noqa: A002 - the same
    """Return a spec of free text on one line that takes so many tokens; see `text_tokens`."""
    return Tokens(min, max, has_lines=False)
