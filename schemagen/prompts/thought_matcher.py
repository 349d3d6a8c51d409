"""The cursor of thoughts and an answer, with a limit of tokens for the thoughts.

An automaton over bytes cannot count tokens, so the limit is enforced here. Two cursors read the thoughts: one of the whole
text, and one of the thoughts alone, up to their end. While the second cursor accepts tokens, they are tokens of the thoughts
and are counted. When few tokens are left, of the thoughts or of the budget, its masks allow only tokens that leave room to end
the thoughts in time. It does not accept a token that ends the thoughts and goes on, so the limit never removes a token of the
answer.

Invariants: a special token ends the thoughts, or no text of thoughts is a proper prefix of another. So a token either stays
inside the thoughts or leaves them. In thoughts, `tokens_to_finish` is the sum of their shortest end and the shortest answer,
for which both bounds leave room. An interrupt may leave the two cursors at different steps; one assignment records their last
common step, and the next step begins there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.checks import check_fill, check_token_id
from schemagen.engine.protocol import MAX_FORCED, forced_by_masks, only_token
from schemagen.errors import DeadEndError
from schemagen.masks.rows import BITS, ids_of, row_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.engine.protocol import Matcher
    from schemagen.masks.rows import Words
    from schemagen.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class ThoughtBounds:
    """The bounds of thoughts.

    Attributes:
        most: Most tokens of the thoughts, including their end, 1 or more.
        reach: Most tokens that the end of the thoughts can take from any state.
        after: The number of tokens needed after the thoughts.
        vocabulary: The tokens of the model.
    """

    most: int
    reach: int
    after: int
    vocabulary: Vocabulary


class ThoughtMatcher:
    """The cursor of one text; see `schemagen.engine.protocol.Matcher`.

    Args:
        whole: A cursor of thoughts and answer, at the start.
        inside: A cursor of the thoughts up to their end, at the start.
        bounds: The bounds of the thoughts.
        at: The number of steps, and the number of steps inside the thoughts.
    """

    __slots__ = ("_at", "_bounds", "_inside", "_whole")

    def __init__(self, whole: Matcher, inside: Matcher, bounds: ThoughtBounds, at: tuple[int, int] = (0, 0)) -> None:
        self._whole = whole
        self._inside = inside
        self._bounds = bounds
        self._at = at

    def __repr__(self) -> str:
        """Show the number of steps, and whether they are all thoughts."""
        return f"ThoughtMatcher(steps={self.steps}, thinking={self._is_thinking})"

    @property
    def steps(self) -> int:
        """The number of steps that `rollback` can undo."""
        return self._at[0]

    @property
    def _is_thinking(self) -> bool:
        steps, thoughts = self._at
        return thoughts == steps

    @property
    def _left(self) -> int:
        return self._bounds.most - self._at[1]

    def _is_bounded(self, budget: int | None = None) -> bool:
        """Whether too few tokens are left to allow every token of the thoughts."""
        left = self._left if budget is None else min(self._left, budget - self._bounds.after)
        return self._is_thinking and left <= self._bounds.reach

    # --- reading -----------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        self._settle()
        if not self._is_thinking or token_id in self._bounds.vocabulary.eos_token_ids:
            return self._read(self._whole.accept_token(token_id), 0)
        return self._think(self._inside.accept_token(token_id), lambda: self._whole.accept_token(token_id))

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`, and as one token of thoughts."""
        self._settle()
        if not self._is_thinking:
            return self._read(self._whole.accept_bytes(data), 0)
        return self._think(self._inside.accept_bytes(data), lambda: self._whole.accept_bytes(data))

    def _think(self, is_inside: bool, accept: Callable[[], bool]) -> bool:
        """Let the cursor of the whole text read the same, and count the step."""
        accepted = not (is_inside and self._is_too_late()) and accept()
        if is_inside and not accepted:
            self._settle()
        return self._read(accepted, int(is_inside))

    def _is_too_late(self) -> bool:
        """Whether the thoughts could not end in time after the last token, which is not counted yet."""
        return self._is_bounded() and (self._inside.tokens_to_finish() or 0) >= self._left

    def _read(self, accepted: bool, thoughts: int) -> bool:
        if accepted:
            self._at = (self._at[0] + 1, self._at[1] + thoughts)
        return accepted

    def _settle(self) -> None:
        """Return both cursors to their last common step."""
        for cursor, steps in zip((self._whole, self._inside), self._at, strict=True):
            if cursor.steps > steps:
                cursor.rollback(cursor.steps - steps)

    # --- next tokens -------------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Cost: one mask of the whole grammar, and two more masks near the limit of the thoughts.
        """
        row, budget = check_fill(row, budget)
        self._settle()
        if budget is not None and self._is_thinking:
            budget = max(budget, self.tokens_to_finish() or 0)
        is_restricted = self._whole.fill_next_token_bitmask(bitmask, row, budget=budget)
        if not self._is_bounded(budget):
            return is_restricted
        free, in_time = self._inside_words(budget)
        target = row_of(bitmask, row, self._bounds.vocabulary.size)
        target[:] = (target & ~free) | in_time
        return True

    def _inside_words(self, budget: int | None = None) -> tuple[Words, Words]:
        """Return the tokens of text that stay inside the thoughts: all, and those after which they can end in time."""
        size = self._bounds.vocabulary.size
        text = ~words_of(self._bounds.vocabulary.eos_token_ids, -(-size // BITS))
        left = self._left if budget is None else min(self._left, budget - self._bounds.after)
        found = []
        for most in (None, left):
            mask = np.zeros((1, -(-size // BITS)), dtype=np.int32)
            try:
                if most is None or most > 0:
                    self._inside.fill_next_token_bitmask(mask, 0, budget=most)
            except DeadEndError:  # nothing stays inside, and the vocabulary has no EOS
                mask[:] = 0
            found.append(mask[0] & text)
        return found[0], found[1]

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end)."""
        mask = np.zeros((1, -(-self._bounds.vocabulary.size // BITS)), dtype=np.int32)
        self.fill_next_token_bitmask(mask)
        return ids_of(mask[0])

    def forced_tokens(self) -> list[int]:
        """Return the tokens that follow without any choice: each mask on the way allows a single token."""
        self._settle()
        if not self._is_bounded():
            return [] if self._is_thinking else self._whole.forced_tokens()
        return forced_by_masks(self)

    def forced_run(self, most: int = MAX_FORCED) -> list[int]:
        """Return likely next tokens, all allowed, whose text has no alternative; see `place`.

        Args:
            most: Most bytes of text.
        """
        self._settle()
        if self._is_bounded():
            return only_token(self)
        whole: Any = self._whole
        found: list[int] = whole.forced_run(most)
        return found

    def place(self) -> int:
        """Return a number for the state, equal for texts with the same continuations; 0 if it is not known."""
        self._settle()
        whole: Any = self._whole
        return 0 if self._is_bounded() else int(whole.place())

    def explain(self, token_id: int) -> str:
        """Explain in a sentence why a token is, or is not, allowed here."""
        token_id = check_token_id("explain", token_id)
        self._settle()
        vocabulary = self._bounds.vocabulary
        if self._is_bounded() and 0 <= token_id < vocabulary.size:
            free, in_time = self._inside_words()
            if token_id in ids_of(free & ~in_time):
                name = f"token {token_id} ({vocabulary.tokens[token_id]!r})"
                return f"{name} is not allowed: {max(self._left, 0)} tokens of thoughts are left, which end them."
        return self._whole.explain(token_id)

    def tokens_to_finish(self) -> int | None:
        """Return a number of tokens that suffices: in thoughts, for their shortest end and the shortest answer after it."""
        self._settle()
        if not self._is_thinking or self.is_terminated():
            return self._whole.tokens_to_finish()
        return (self._inside.tokens_to_finish() or 0) + self._bounds.after

    def shortest_completion(self) -> bytes:
        """Return the shortest completion; special tokens in it have no bytes."""
        self._settle()
        return self._whole.shortest_completion()

    # --- the position ------------------------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        self._settle()
        return self._whole.is_accepting()

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        self._settle()
        return self._whole.is_terminated()

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._whole.eos_token_ids

    # --- going back --------------------------------------------------------------------------------------------------

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps."""
        self._settle()
        steps, thoughts = self._at
        self._whole.rollback(count)
        left = steps - count
        self._at = (left, min(thoughts, left))
        self._settle()

    def fork(self) -> ThoughtMatcher:
        """Return an independent copy. Cost: two forks."""
        self._settle()
        return ThoughtMatcher(self._whole.fork(), self._inside.fork(), self._bounds, self._at)

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> ThoughtMatcher:
        """Return a fork; the grammar is immutable and shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        self._at = (0, 0)
        self._settle()
