"""Drafts that copy from the prompt, and drafts for the token that ends a copy.

Idea: answers repeat the prompt: names, numbers and places of a text that they extract from. Search the prompt for the
end of the text so far, and propose the text after it (prompt lookup decoding, Saxena 2023, there with runs of tokens).
The search is by bytes, not tokens, and ignores case: a word after a quote has other tokens than one after a space.

The grammar decides how a copy ends: with a quote and a comma, with a brace. So the token at which the text left a copy
is counted by the place in the grammar and by the kind of byte that followed in the prompt.

Invariants: only counts are kept of a text; a match is the longest one of at most `LONGEST` bytes, and begins at a word
in the prompt if it begins at one in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.drafts import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.decode.speculation.context import Context
    from schemagen.decode.speculation.counts import Counts

#: Maximum number of bytes to search for; longer matches are not told apart.
LONGEST = 32
#: A match of at least this many bytes may begin inside a word of the prompt.
_SURE = 4
#: Maximum number of places in the prompt to check for a match that begins at a word.
_MOST_PLACES = 16
#: Maximum number of bytes of a prompt to search.
_MOST_SOURCE = 1 << 17


@dataclass(frozen=True, slots=True)
class Match:
    """Where the prompt contains the end of the text.

    Attributes:
        position: The position of the byte after the match.
        length: The length of the match in bytes.
        following: The kind of the byte that follows in the prompt.
    """

    position: int
    length: int
    following: str


class PromptMatches:
    """Finds the end of a text in its prompt, once for each text."""

    def __init__(self) -> None:
        self._known: tuple[Any, bytes, Match | None] | None = None

    def of(self, context: Context) -> Match | None:
        """Return the longest match; None if none is useful.

        Cost: some searches of the prompt, 10 us for 2,000 bytes.
        """
        end = bytes(context.text[-LONGEST - 1 :]).lower()
        if self._known is None or self._known[0] is not context or self._known[1] != end:
            self._known = (context, end, _find(context.folded_source[:_MOST_SOURCE], end))
        return self._known[2]


def _find(source: bytes, end: bytes) -> Match | None:
    """Return the longest match of the end of a text; its first byte only tells whether a word begins."""
    low, high = 0, min(LONGEST, len(end))
    while low < high:  # if a text occurs, so do its suffixes
        middle = (low + high + 1) // 2
        low, high = (middle, high) if end[len(end) - middle :] in source else (low, middle - 1)
    if not low:
        return None
    suffix = end[len(end) - low :]
    at_word = not _is_word(end[len(end) - low - 1 : len(end) - low]) or not _is_word(suffix[:1])
    start = -1
    for _ in range(_MOST_PLACES):
        start = source.find(suffix, start + 1)
        if start < 0:
            break
        if low >= _SURE or not at_word or not _is_word(source[max(start - 1, 0) : start]):
            position = start + low
            return Match(position, low, _kind(source[position : position + 1]))
    return None


def _is_word(byte: bytes) -> bool:
    return byte.isalnum() or byte >= b"\x80"


def _kind(byte: bytes) -> str:
    """Return the kind of a byte: a letter, a digit, or itself."""
    if byte.isdigit():
        return "0"
    return "a" if _is_word(byte) else byte.decode()


class PromptLookup:
    """Proposes the token that continues a copy of the prompt.

    Args:
        matches: Finds the copies.
        ids: The bytes of a token -> its id.
    """

    def __init__(self, matches: PromptMatches, ids: Mapping[bytes, int]) -> None:
        self._matches, self._ids = matches, ids

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the next token of the copy; see `Drafter`."""
        match = self._matches.of(context)
        token = None if match is None else self._continuation(context, match.position)
        if match is None or token is None:
            return None
        return Draft((token,), evidence=("copy", match.following, min(match.length, 6)))

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn nothing."""

    def _continuation(self, context: Context, position: int) -> int | None:
        """Return the token of the prompt at a byte; within a token, the token of its remaining bytes."""
        index = context.starts.get(position)
        if index is not None:
            return context.prompt[index]
        end = next((start for start in range(position + 1, position + LONGEST) if start in context.starts), None)
        return None if end is None else self._ids.get(context.source[position:end])


class CopyEnds:
    """Proposes the token that ends a copy.

    Args:
        matches: Finds the copies.
        counts: The tokens that ended copies before.
    """

    def __init__(self, matches: PromptMatches, counts: Counts) -> None:
        self._matches, self._counts = matches, counts

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the token that ended copies here; see `Drafter`."""
        match = self._matches.of(context)
        if match is None:
            return None
        for view, key in enumerate(self._views(match, matcher)):
            found = self._counts.commonest(key)
            if found is not None:
                return Draft((found[0],), evidence=("end", view, match.following, min(match.length, 3)))
        return None

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Count the token that ends a copy; see `Drafter`."""
        match = self._matches.of(context)
        if match is None:
            return
        data = context.vocabulary.tokens[token].lower()
        if not data or not context.folded_source.startswith(data, match.position):
            for key in self._views(match, matcher):
                self._counts.learn(key, token)

    def _views(self, match: Match, matcher: Any) -> tuple[tuple[Any, ...], ...]:
        return (("end", matcher.place(), match.following), ("end", match.following))
