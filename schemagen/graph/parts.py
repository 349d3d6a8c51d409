"""What a `GrammarGraph` is made of, and where a text stands in it: parts, and the threads that read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.masks.bitmask import Words


@dataclass(frozen=True, slots=True, eq=False)
class TokenCount:
    """Whole tokens as a part: how many, and which.

    Attributes:
        low: At least so many.
        high: At most; None: any number.
        words: The tokens, as a mask.
    """

    low: int
    high: int | None
    words: Words

    def has(self, token_id: int) -> bool:
        """Whether a token is one of them."""
        return bool(self.words.view(np.uint8)[token_id >> 3] >> (token_id & 7) & 1)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A grammar and what may follow its texts.

    Attributes:
        grammar: Of the text of this part; None: the empty text alone, or whole tokens.
        ends: The bytes that a text of this part can end with; None: any. Fewer bytes make smaller tables.
        following: Indices of the parts that may come next, directly behind.
        special: Special token id -> indices of the parts that may come behind that token.
        final: Whether the whole text may end with this part.
        max_tokens: How many tokens its text may take, those of its shortest end not counted, 1 or more; None: any number.
        count: Of a part that is whole tokens, how many and which.
        label: What the caller knows it by.
    """

    grammar: Engine | None
    ends: frozenset[int] | None = None
    following: tuple[int, ...] = ()
    special: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    final: bool = False
    max_tokens: int | None = None
    count: TokenCount | None = None
    label: Any = "the text"


@dataclass(frozen=True, slots=True)
class Span:
    """Where the text of a part begins; spans are linked to the part before."""

    part: int
    start: int
    previous: Span | None


@dataclass(slots=True, eq=False)
class Thread:
    """A part that is being read: its matcher, or what it counts, and how many steps that has made."""

    span: Span
    matcher: Matcher | None
    steps: int = 0
    count: TokenCount | None = None

    def read(self, data: bytes) -> bool:
        """Advance by some bytes, all of them or nothing."""
        if self.matcher is None or not self.matcher.accept_bytes(data):
            return False
        self.steps += 1
        return True

    def take(self, token_id: int) -> bool:
        """Advance by a whole token, if it is one of those that are counted."""
        if self.count is None or not self.goes_on() or not self.count.has(token_id):
            return False
        self.steps += 1
        return True

    def goes_on(self) -> bool:
        """Whether one more token may be counted."""
        return self.count is not None and (self.count.high is None or self.steps < self.count.high)

    def may_end(self) -> bool:
        """Whether the text of the part may end here."""
        if self.count is not None:
            return self.steps >= self.count.low
        return self.matcher is None or self.matcher.is_accepting()

    def needed(self) -> int:
        """Return how many tokens the text of the part takes to its end; 0 also where that is not known."""
        if self.count is not None:
            return max(self.count.low - self.steps, 0)
        return 0 if self.matcher is None else self.matcher.tokens_to_finish() or 0

    def back_to(self, steps: int) -> None:
        """Undo all steps but some."""
        if self.matcher is not None and self.steps > steps:
            self.matcher.rollback(self.steps - steps)
        self.steps = min(self.steps, steps)

    def fork(self) -> Thread:
        """Return an independent copy."""
        return Thread(self.span, None if self.matcher is None else self.matcher.fork(), self.steps, self.count)
