"""Quotations: any passage of a given text, word for word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.arguments import kind_of
from schemagen.context_free.syntax import Text
from schemagen.errors import LimitError, OptionError, OptionTypeError
from schemagen.regex import ast
from schemagen.text.base import TextGroup

if TYPE_CHECKING:
    from schemagen.context_free.syntax import Expression

#: Bytes in UTF-8 of a text; the compiled core has the same limit.
MAX_BYTES = 8 * 2**20
#: Characters of a text that a prompt repeats, and of the two ends of a longer one.
_SHOWN = 2000
_ENDS = 80


@dataclass(frozen=True, repr=False)
class SubstringOf(TextGroup[str]):
    """Any passage of a text, at least one character long; made by `substring_of`.

    Args:
        text: The quoted text.
    """

    text: str

    instruction = "Answer only with a passage of this text, copied character by character:"

    def expression(self) -> Expression:
        """Return the passages as an expression of a grammar."""
        return Text(ast.substring(self.text))

    def value_of(self, text: str) -> str:
        """Return the passage."""
        return text

    def shown(self) -> str:
        """Return the text, or of a long one, which the conversation has to hold elsewhere, how it begins and ends."""
        if len(self.text) <= _SHOWN:
            return self.text
        begin, end = self.text[:_ENDS], self.text[-_ENDS:]
        return f"the text of {len(self.text):,} characters above, which begins with {begin!r} and ends with {end!r}"

    def __repr__(self) -> str:
        """Return the call, with the beginning of a long text."""
        shown = repr(self.text) if len(self.text) <= _ENDS else f"{self.text[:_ENDS]!r}..."
        return f"substring_of({shown})"


def substring_of(text: str) -> SubstringOf:
    """Return a spec of any passage of a text, word for word: a quotation that is one.

    The passage is a run of whole characters, at least one. A prompt repeats a text of up to 2,000 characters; a longer one has
    to stand in the conversation anyway, and is named there by how it begins and ends.

    Cost: linear in the text (Blumer et al. 1985): 1 MB of English compiles in 0.2 to 0.5 s, takes 65 MB meanwhile and 13 MB
    from then on. A mask takes some microseconds; the first ones of a passage, where thousands of tokens may follow, 0.1 us for
    each of these when they are asked for the first time. The reference engine is for texts of a few thousand characters.

    Args:
        text: The quoted text, up to 8 MiB in UTF-8.

    Raises:
        OptionTypeError: It is no str.
        OptionError: It is empty, or has half of a surrogate pair, which no tokenizer writes.
        LimitError: It is too long.
    """
    if not isinstance(text, str):
        raise OptionTypeError(
            f"substring_of() was given {kind_of(text)}",
            why="a passage is quoted from a str",
            fix="read a file first: Path(file).read_text()",
        )
    if not text:
        raise OptionError(
            "substring_of() was given an empty text",
            why="it has no passage",
            fix="leave the call out where nothing is quoted",
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the text of substring_of() has {text[error.start]!r} at {error.start}",
            why="that is half of a surrogate pair, which UTF-8 text cannot contain",
            fix="read the text with the encoding that it has",
        ) from None
    if size > MAX_BYTES:
        raise LimitError(
            f"the text of substring_of() has {size:,} bytes, limit {MAX_BYTES:,}",
            why="every place in it where a passage may begin is kept in memory",
            fix="split it, and let one call choose the part",
        )
    return SubstringOf(text)
