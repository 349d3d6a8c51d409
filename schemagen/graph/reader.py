"""`Part`, and `PartReader`, which tells which part of a `GrammarGraph` is where in a text.

The rules of the parts are labelled, so the matcher of the graph finds them (core/context_free/captures.hpp): the events of a
reading are the places where its parts begin and end. While a text is open it may have several readings:

- A token may end the text, hold a whole marker and begin the JSON.
- An end marker inside a JSON string ends nothing: the only reading is that of the JSON part.
- A marker that is a special token has no bytes of text. Its mark stands between two parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.errors import MatcherError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemagen import _core
    from schemagen.grammar.grammar import Grammar
    from schemagen.regex import ast
    from schemagen.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A language and the parts that may follow its texts.

    Attributes:
        language: The texts of this part, as a regular expression or compiled; only the empty text if None.
        following: Indices of the parts that may follow directly.
        special: Special token id -> indices of the parts that may follow after that token.
        final: Whether the whole text may end with this part.
        label: The caller's name for the part.
        most_tokens: How many tokens its text has at most; None for any number.
        temperature: The temperature of its tokens; None for that of the call.
    """

    language: ast.Regex | Grammar | None
    following: tuple[int, ...] = ()
    special: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    final: bool = False
    label: Any = "the text"
    most_tokens: int | None = None
    temperature: float | None = None


class Span(NamedTuple):
    """A part in a text.

    Attributes:
        part: The part.
        start: Offset of its first byte in `PartReader.data`.
        end: Offset after its last byte; None while it is open.
    """

    part: Part
    start: int
    end: int | None


class PartReader:
    """A cursor in one text, which reads tokens and finds the parts.

    Args:
        matcher: A matcher of the labelled graph, at the start.
        parts: The part of each label.
        vocabulary: The vocabulary that the graph is compiled over.

    Attributes:
        data: The bytes of the tokens so far; special tokens that the graph names have marks in the place of a text.
    """

    def __init__(self, matcher: _core.Matcher, parts: Sequence[Part], vocabulary: Vocabulary) -> None:
        self.data = bytearray()
        self._matcher = matcher
        self._parts = parts
        self._vocabulary = vocabulary

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        if not self._matcher.accept_token(token_id):
            return False
        if not self._matcher.is_terminated():
            self.data += self._vocabulary.tokens[token_id]
        return True

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return self._matcher.is_accepting()

    def spans(self) -> list[tuple[Part, int, int]]:
        """Return the parts of the text so far, which is complete, with the bytes where each begins and ends.

        Of several readings it is the one whose first different part begins earlier, or ends later, or is the first of those
        that may follow.

        Raises:
            MatcherError: The text may not end here.
        """
        events = self._matcher.whole_reading()
        if events is None:
            raise MatcherError("the text is not complete", fix="read the text to its end before you ask for its parts")
        return [(part, start, end or start) for part, start, end in self._spans(events)]

    def readings(self, skip: int = 0) -> list[list[Span]]:
        """Return every way to read the text so far, without its first ``skip`` parts; the last part is open."""
        found: dict[tuple[tuple[int, bool, int], ...], None] = {}
        for events in self._matcher.readings(2 * skip):
            is_closed = events and not events[-1][1]
            found[tuple(events[:-1] if is_closed else events)] = None
        return [self._spans(events) for events in found]

    def _spans(self, events: Sequence[tuple[int, bool, int]]) -> list[Span]:
        found: list[Span] = []
        for label, opens, at in events:
            if opens:
                found.append(Span(self._parts[label], at, None))
            else:
                found[-1] = found[-1]._replace(end=at)
        return found
