"""The cursor of thoughts and an answer: the thoughts take at most so many tokens.

How many tokens a text takes its characters do not say, so no automaton over bytes bounds it. Thoughts come first and are read
by two cursors, one of the whole text and one of the thoughts alone, up to what ends them. While the second one goes on, each
token is one of the thoughts, and is counted. When few are left, the second one's budget says which tokens still leave room to
end them in time. A token in which the thoughts end is not one of its tokens, so nothing of the answer is taken away.

Invariant: thoughts end behind a special token, or none of their texts begins with another one and goes on. So a token either
stays inside of them or leaves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.errors import DeadEndError
from schemagen.masks.bitmask import BITS, ids_of, words_of
from schemagen.masks.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.engine.protocol import Matcher
    from schemagen.masks.bitmask import Words
    from schemagen.vocabulary import Vocabulary

#: A run of forced tokens longer than this is handed out in pieces.
_MAX_FORCED = 1024


class ThoughtMatcher:
    """The cursor of one text; see `schemagen.engine.protocol.Matcher`.

    Args:
        whole: Reads thoughts and answer; at the start.
        inside: Reads thoughts up to what ends them; at the start.
        most: How many tokens the thoughts may take, with those of their end, 1 or more.
        reach: No end of thoughts takes more tokens than this, wherever they stand.
        vocabulary: The tokens of the model.
    """

    __slots__ = ("_inside", "_most", "_reach", "_steps", "_thought", "_vocabulary", "_whole")

    def __init__(self, whole: Matcher, inside: Matcher, most: int, reach: int, vocabulary: Vocabulary) -> None:
        self._whole = whole
        self._inside = inside
        self._most = most
        self._reach = reach
        self._vocabulary = vocabulary
        self._steps = 0
        self._thought = 0  # of these, the ones inside of the thoughts

    def __repr__(self) -> str:
        """Show how far the text is."""
        return f"ThoughtMatcher(steps={self._steps}, thinking={self._is_thinking})"

    @property
    def _is_thinking(self) -> bool:
        return self._thought == self._steps

    @property
    def _left(self) -> int:
        """How many tokens are left for the thoughts and their end."""
        return self._most - self._thought

    @property
    def _is_bounded(self) -> bool:
        """Whether so few tokens are left that not every token of the thoughts may come."""
        return self._is_thinking and self._left <= self._reach

    # --- reading -----------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        if not self._is_thinking or token_id in self._vocabulary.eos_token_ids:
            return self._read(self._whole.accept_token(token_id))
        if not self._inside.accept_token(token_id):
            return self._read(self._whole.accept_token(token_id))
        return self._think(lambda: self._whole.accept_token(token_id))

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`, and as one token of thoughts."""
        if not self._is_thinking or not self._inside.accept_bytes(data):
            return self._read(self._whole.accept_bytes(data))
        return self._think(lambda: self._whole.accept_bytes(data))

    def _read(self, accepted: bool) -> bool:
        self._steps += accepted
        return accepted

    def _think(self, accept: Callable[[], bool]) -> bool:
        """Let the whole read what the thoughts alone have read; whatever comes of it, both stand at the same place then."""
        accepted = False
        try:
            accepted = self._read(self._is_in_time() and accept())
        finally:
            if accepted:
                self._thought += 1
            else:
                self._inside.rollback()
        return accepted

    def _is_in_time(self) -> bool:
        """Whether the thoughts can still be ended, behind one more token that is not counted yet."""
        return not self._is_bounded or (self._inside.tokens_to_finish() or 0) < self._left

    # --- what may come -----------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Cost: that of the whole, and of two more masks for the last tokens of thoughts.
        """
        is_restricted = self._whole.fill_next_token_bitmask(bitmask, row, budget=budget)
        if not self._is_bounded:
            return is_restricted
        target = row_of(bitmask, row, self._vocabulary.size)
        np.bitwise_and(target, ~self._too_late(), out=target)
        return True

    def _too_late(self) -> Words:
        """Return the tokens after which the thoughts could not be ended any more."""
        masks = np.zeros((2, -(-self._vocabulary.size // BITS)), dtype=np.int32)
        try:
            self._inside.fill_next_token_bitmask(masks, 0)
            self._inside.fill_next_token_bitmask(masks, 1, budget=self._left)
        except DeadEndError:  # their text is complete, and the vocabulary has no EOS
            masks[:] = 0
        ends = words_of(self._vocabulary.eos_token_ids, masks.shape[1])
        found: Words = masks[0] & ~masks[1] & ~ends
        return found

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end)."""
        mask = np.zeros((1, -(-self._vocabulary.size // BITS)), dtype=np.int32)
        self.fill_next_token_bitmask(mask)
        return ids_of(mask[0])

    def forced_tokens(self) -> list[int]:
        """Return the tokens that follow here without any choice (each mask on the way allows a single token)."""
        if not self._is_thinking:
            return self._whole.forced_tokens()
        forced: list[int] = []
        probe = self.fork()
        while len(forced) < _MAX_FORCED and not probe.is_terminated():
            allowed = probe.allowed_tokens()
            if len(allowed) != 1 or not probe.accept_token(allowed[0]):
                break
            forced.append(allowed[0])
        return forced

    def forced_run(self, most: int = _MAX_FORCED) -> list[int]:
        """Return tokens that are likely to follow because their text has no choice, all of them allowed; see `place`.

        Args:
            most: Bytes of text, at most.
        """
        if self._is_bounded:
            allowed = self.allowed_tokens()
            return allowed if len(allowed) == 1 else []
        whole: Any = self._whole
        found: list[int] = whole.forced_run(most)
        return found

    def place(self) -> int:
        """Return a number for where the text has come to, the same for texts that go on alike; 0 where that is not known."""
        whole: Any = self._whole
        return int(whole.place())

    def explain(self, token_id: int) -> str:
        """Say in a sentence why a token is, or is not, allowed here."""
        if self._is_bounded and 0 <= token_id < self._vocabulary.size and self._is_too_late(token_id):
            name = f"token {token_id} ({self._vocabulary.tokens[token_id]!r})"
            return f"{name} is not allowed: {max(self._left, 0)} tokens of thoughts are left, which end them."
        return self._whole.explain(token_id)

    def _is_too_late(self, token_id: int) -> bool:
        return token_id in ids_of(self._too_late())

    def tokens_to_finish(self) -> int | None:
        """Return how many tokens the shortest completion takes."""
        return self._whole.tokens_to_finish()

    def shortest_completion(self) -> bytes:
        """Return the shortest completion; special tokens in it have no bytes."""
        return self._whole.shortest_completion()

    # --- where it stands ---------------------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return self._whole.is_accepting()

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._whole.is_terminated()

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._whole.eos_token_ids

    # --- going back --------------------------------------------------------------------------------------------------

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps."""
        self._whole.rollback(count)
        self._steps -= count
        if self._thought > self._steps:
            self._inside.rollback(self._thought - self._steps)
            self._thought = self._steps

    def fork(self) -> ThoughtMatcher:
        """Return an independent copy. Cost: that of two forks."""
        copy = ThoughtMatcher(self._whole.fork(), self._inside.fork(), self._most, self._reach, self._vocabulary)
        copy._steps, copy._thought = self._steps, self._thought
        return copy

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> ThoughtMatcher:
        """Return what `fork` returns: the grammar never changes, and is shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        self._whole.reset()
        self._inside.reset()
        self._steps = self._thought = 0
