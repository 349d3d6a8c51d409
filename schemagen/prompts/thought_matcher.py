"""The cursor of thoughts and an answer: the thoughts take at most so many tokens.

How many tokens a text takes its characters do not say, so no automaton over bytes bounds it. Thoughts come first and are read
by two cursors, one of the whole text and one of the thoughts alone, up to what ends them. While the second one goes on, each
token is one of the thoughts, and is counted. When few are left, of the thoughts or of the budget, the second one says which
tokens still leave room to end them in time. A token in which the thoughts end is not one of its tokens, so nothing of the
answer is taken away.

Invariants: thoughts end behind a special token, or none of their texts begins with another one and goes on. So a token either
stays inside of them or leaves them. What `tokens_to_finish` promises in thoughts is their shortest end and the shortest answer,
which both bounds leave room for. After an interrupt the two cursors may stand at different steps; where they were last
together is noted in one assignment, and the next step begins there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.arguments import check_fill, check_token_id
from schemagen.engine.forced_tokens import MAX_FORCED, forced_by_masks, only_token
from schemagen.errors import DeadEndError
from schemagen.masks.rows import BITS, ids_of, row_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.engine.protocol import Matcher
    from schemagen.masks.rows import Words
    from schemagen.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class ThoughtBounds:
    """What is known of thoughts beforehand.

    Attributes:
        most: How many tokens they may take, with those of their end, 1 or more.
        reach: No end of thoughts takes more tokens than this, wherever they stand.
        behind: How many tokens are needed behind the thoughts.
        vocabulary: The tokens of the model.
    """

    most: int
    reach: int
    behind: int
    vocabulary: Vocabulary


class ThoughtMatcher:
    """The cursor of one text; see `schemagen.engine.protocol.Matcher`.

    Args:
        whole: Reads thoughts and answer; at the start.
        inside: Reads thoughts up to what ends them; at the start.
        bounds: Of the thoughts.
        at: Steps that were made, and how many of them inside of the thoughts.
    """

    __slots__ = ("_at", "_bounds", "_inside", "_whole")

    def __init__(self, whole: Matcher, inside: Matcher, bounds: ThoughtBounds, at: tuple[int, int] = (0, 0)) -> None:
        self._whole = whole
        self._inside = inside
        self._bounds = bounds
        self._at = at

    def __repr__(self) -> str:
        """Show how far the text is."""
        return f"ThoughtMatcher(steps={self.steps}, thinking={self._is_thinking})"

    @property
    def steps(self) -> int:
        """How many steps `rollback` can undo."""
        return self._at[0]

    @property
    def _is_thinking(self) -> bool:
        steps, thoughts = self._at
        return thoughts == steps

    @property
    def _left(self) -> int:
        """How many tokens are left for the thoughts and their end."""
        return self._bounds.most - self._at[1]

    def _is_bounded(self, budget: int | None = None) -> bool:
        """Whether so few tokens are left that not every token of the thoughts may come."""
        left = self._left if budget is None else min(self._left, budget - self._bounds.behind)
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
        """Let the whole read what the thoughts alone have read, or have not."""
        accepted = not (is_inside and self._is_too_late()) and accept()
        if is_inside and not accepted:
            self._settle()
        return self._read(accepted, int(is_inside))

    def _is_too_late(self) -> bool:
        """Whether the thoughts cannot be ended any more, behind one more token that is not counted yet."""
        return self._is_bounded() and (self._inside.tokens_to_finish() or 0) >= self._left

    def _read(self, accepted: bool, thoughts: int) -> bool:
        if accepted:
            self._at = (self._at[0] + 1, self._at[1] + thoughts)
        return accepted

    def _settle(self) -> None:
        """Put both cursors where they were together."""
        for cursor, steps in zip((self._whole, self._inside), self._at, strict=True):
            if cursor.steps > steps:
                cursor.rollback(cursor.steps - steps)

    # --- what may come -----------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Cost: that of the whole, and of two more masks for the last tokens of thoughts.
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
        """Return the tokens of text that stay inside of the thoughts, all and those behind which they can be ended."""
        size = self._bounds.vocabulary.size
        text = ~words_of(self._bounds.vocabulary.eos_token_ids, -(-size // BITS))
        left = self._left if budget is None else min(self._left, budget - self._bounds.behind)
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
        """Return the tokens that follow here without any choice (each mask on the way allows a single token)."""
        self._settle()
        if not self._is_bounded():
            return [] if self._is_thinking else self._whole.forced_tokens()
        return forced_by_masks(self)

    def forced_run(self, most: int = MAX_FORCED) -> list[int]:
        """Return tokens that are likely to follow because their text has no choice, all of them allowed; see `place`.

        Args:
            most: Bytes of text, at most.
        """
        self._settle()
        if self._is_bounded():
            return only_token(self)
        whole: Any = self._whole
        found: list[int] = whole.forced_run(most)
        return found

    def place(self) -> int:
        """Return a number for where the text has come to, the same for texts that go on alike; 0 where that is not known."""
        self._settle()
        whole: Any = self._whole
        return 0 if self._is_bounded() else int(whole.place())

    def explain(self, token_id: int) -> str:
        """Say in a sentence why a token is, or is not, allowed here."""
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
        """Return how many tokens suffice: in thoughts those of their shortest end, and of the shortest answer behind it."""
        self._settle()
        if not self._is_thinking or self.is_terminated():
            return self._whole.tokens_to_finish()
        return (self._inside.tokens_to_finish() or 0) + self._bounds.behind

    def shortest_completion(self) -> bytes:
        """Return the shortest completion; special tokens in it have no bytes."""
        self._settle()
        return self._whole.shortest_completion()

    # --- where it stands ---------------------------------------------------------------------------------------------

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
        """Return an independent copy. Cost: that of two forks."""
        self._settle()
        return ThoughtMatcher(self._whole.fork(), self._inside.fork(), self._bounds, self._at)

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> ThoughtMatcher:
        """Return what `fork` returns: the grammar never changes, and is shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        self._at = (0, 0)
        self._settle()
