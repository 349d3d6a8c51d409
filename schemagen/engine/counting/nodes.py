"""What a `CountingEngine` is made of, and where a text stands in it: nodes, and the threads that read them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.masks.rows import Words


@dataclass(frozen=True, slots=True, eq=False)
class TokenCount:
    """A run of tokens: how many, and which.

    Attributes:
        low: At least so many.
        high: The most; None if there is no bound.
        words: The tokens, as a mask.
    """

    low: int
    high: int | None
    words: Words

    def has(self, token_id: int) -> bool:
        """Whether a token is one of them."""
        return bool(self.words.view(np.uint8)[token_id >> 3] >> (token_id & 7) & 1)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A run of tokens, or the text between two of them; both begin and end where tokens do.

    Attributes:
        engine: The engine of the text; None for the empty text, and for a run that only its tokens describe.
        count: The run; None for text.
        following: Indices of the nodes that may come next.
        final: Whether the whole text may end here.
    """

    engine: Engine | None = None
    count: TokenCount | None = None
    following: tuple[int, ...] = ()
    final: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Thread:
    """One way to read a text: the node that it is in, and how far.

    Attributes:
        index: Of the node.
        node: It.
        matcher: In its text, which is never moved; None if there is no text.
        tokens: Of the run.
    """

    index: int
    node: Node
    matcher: Matcher | None = None
    tokens: int = 0

    def after(self, token_id: int) -> Thread | None:
        """Return the thread after one more token of the node; None if it is none."""
        count = self.node.count
        if (count is None and self.matcher is None) or (count is not None and not self._takes(count, token_id)):
            return None
        matcher = None if self.matcher is None else self.matcher.fork()
        if matcher is not None and not matcher.accept_token(token_id):
            return None
        thread = Thread(self.index, self.node, matcher, self.tokens + (count is not None))
        return thread if thread.needed() <= thread.tokens_left() else None

    def _takes(self, count: TokenCount, token_id: int) -> bool:
        return self.goes_on() and count.has(token_id)

    def tokens_left(self) -> float:
        """Return how many tokens the node may still take."""
        count = self.node.count
        return math.inf if count is None or count.high is None else count.high - self.tokens

    def after_text(self, data: bytes) -> Thread | None:
        """Return the thread after some text of the node; None if it is none."""
        matcher = None if self.matcher is None else self.matcher.fork()
        return Thread(self.index, self.node, matcher) if matcher is not None and matcher.accept_bytes(data) else None

    def goes_on(self) -> bool:
        """Whether one more token may be counted."""
        return self.node.count is not None and self.tokens_left() > 0

    def may_end(self) -> bool:
        """Whether the node may end here."""
        count = self.node.count
        enough = count is None or self.tokens >= count.low
        return enough and (self.matcher is None or self.matcher.is_accepting())

    def needed(self) -> int:
        """Return how many tokens the node takes to its end; 0 also where that is not known."""
        count = self.node.count
        least = 0 if count is None else max(count.low - self.tokens, 0)
        return max(least, 0 if self.matcher is None else self.matcher.tokens_to_finish() or 0)

    def place(self) -> int:
        """Return a number, the same for threads of a node that go on alike; 0 where that is not known."""
        count, matcher = self.node.count, self.matcher
        tokens = 0 if count is None else min(self.tokens, count.low) if count.high is None else self.tokens
        inside = 1 if matcher is None else matcher.place()
        return inside and hash((tokens, inside)) | 1
