"""The cursor of one text over a `CountingEngine`: its threads after each step, and the masks that they add up to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.arguments import check_bytes, check_fill, check_steps, check_token_id, shown
from schemagen.engine.forced_tokens import MAX_FORCED, forced_by_masks, only_token
from schemagen.errors import DeadEndError, MatcherError, MatcherTerminatedError
from schemagen.masks.rows import ids_of, row_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from schemagen.engine.counting.engine import CountingEngine
    from schemagen.engine.counting.nodes import Thread
    from schemagen.masks.rows import Words


@dataclass(frozen=True, slots=True)
class _State:
    """The threads after some steps, and the state before."""

    threads: tuple[Thread, ...]
    before: _State | None = None
    steps: int = 0
    terminated: bool = False


class CountingMatcher:
    """The cursor of one text; see `schemagen.engine.protocol.Matcher`."""

    __slots__ = ("_engine", "_state")

    def __init__(self, engine: CountingEngine, state: _State | None = None) -> None:
        self._engine = engine
        self._state = state or _State(engine.start())

    def __repr__(self) -> str:
        """Show how far the text is."""
        return f"CountingMatcher(steps={self._state.steps}, terminated={self._state.terminated})"

    # --- reading -----------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        vocabulary, token_id = self._engine.vocabulary, check_token_id("accept_token", token_id)
        if self._state.terminated or not 0 <= token_id < vocabulary.size:
            return False
        if token_id in vocabulary.eos_token_ids:
            accepting = self.is_accepting()
            if accepting:
                self._go_on(self._state.threads, terminated=True)
            return accepting
        return self._move([thread.after(token_id) for thread in self._state.threads])

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`.

        Raises:
            MatcherError: Tokens may be counted here.
        """
        check_bytes(data)
        if self._state.terminated:
            return False
        if not data:
            self._go_on(self._state.threads)
            return True
        if any(thread.node.count is not None for thread in self._state.threads):
            raise MatcherError(
                "tokens are counted here, and bytes do not say where they end", fix="use accept_token(token_id)"
            )
        return self._move([thread.after_text(data) for thread in self._state.threads])

    def _move(self, threads: list[Thread | None]) -> bool:
        kept = [thread for thread in threads if thread is not None]
        if kept:
            self._go_on(self._engine.closed(kept))
        return bool(kept)

    def _go_on(self, threads: tuple[Thread, ...], *, terminated: bool = False) -> None:
        self._state = _State(threads, self._state, self._state.steps + 1, terminated)

    # --- the next token -----------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Raises:
            MatcherTerminatedError: EOS was already accepted.
            BitmaskShapeError: dtype, device or width are not those of the vocabulary, or ``row`` is out of range.
            OptionError: ``budget`` is negative, or one of both is no whole number.

        Cost: the masks of the threads, one or two, and some microseconds for each.
        """
        row, budget = check_fill(row, budget)
        target = row_of(bitmask, row, self._engine.vocabulary.size)
        words = self._words(budget)
        target[:] = words
        return not np.array_equal(words, self._engine.all_words)

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end)."""
        return ids_of(self._words())

    def forced_tokens(self) -> list[int]:
        """Return the tokens that follow here without any choice (each mask on the way allows a single token)."""
        return forced_by_masks(self)

    def forced_run(self, most: int = MAX_FORCED) -> list[int]:
        """Return tokens that are likely to follow because their text has no choice, all of them allowed; see `place`.

        Args:
            most: Bytes of text, at most.
        """
        if self.is_terminated() or len(self._state.threads) != 1:
            return []
        inside = self._state.threads[0].matcher
        run = [] if inside is None else inside.forced_run(most)
        return run or only_token(self)

    def place(self) -> int:
        """Return a number for where the text has come to, the same for texts that go on alike; 0 where that is not known."""
        places = [(thread.index, thread.place()) for thread in self._state.threads]
        return 0 if any(place == 0 for _, place in places) else hash(tuple(places)) | 1

    def explain(self, token_id: int) -> str:
        """Say in a sentence why a token is, or is not, allowed here."""
        vocabulary, token_id = self._engine.vocabulary, check_token_id("explain", token_id)
        if not 0 <= token_id < vocabulary.size:
            return f"token {shown(token_id)} is outside the vocabulary of {vocabulary.size} ids."
        name = f"token {token_id} ({vocabulary.tokens[token_id]!r})"
        if self.is_terminated():
            return f"{name} is not allowed: the text has ended."
        runs = any(thread.node.count is not None for thread in self._state.threads)
        where = "in a run of tokens" if runs else "in the text"
        return f"{name} is {'allowed' if self.fork().accept_token(token_id) else 'not allowed'} {where}."

    def tokens_to_finish(self) -> int:
        """Return how many tokens always suffice to end the text: each node by its shortest completion."""
        return 0 if self.is_terminated() else min(map(self._engine.needed, self._state.threads))

    def shortest_completion(self) -> bytes:
        """Return the shortest completion of the text that is being read; tokens of a run after it have no fixed bytes."""
        nearest = min(self._state.threads, key=self._engine.needed)
        return b"" if self.is_terminated() or nearest.matcher is None else nearest.matcher.shortest_completion()

    def _words(self, budget: int | None = None) -> Words:
        """Return the mask."""
        if self._state.terminated:
            raise MatcherTerminatedError(
                "the text has ended: EOS was accepted", fix="stop at is_terminated(), or call rollback() or reset()"
            )
        words = np.zeros(self._engine.width, dtype=np.int32)
        scratch = np.zeros((1, self._engine.width), dtype=np.int32)
        left = math.inf if budget is None else max(budget, self.tokens_to_finish())
        for thread in self._state.threads:
            if math.isinf(left) or self._engine.needed(thread) <= left:
                self._add_thread(thread, words, scratch, left)
        return words

    def _add_thread(self, thread: Thread, words: Words, scratch: npt.NDArray[np.int32], left: float) -> None:
        """Add the tokens of one thread, as far as a budget goes, and the end of the text."""
        rest, count = self._engine.rest(thread), thread.node.count
        scratch[0] = self._engine.text_words
        if thread.matcher is not None:
            try:
                least = min(left - rest, thread.tokens_left())
                budget = None if math.isinf(least) else int(least)
                thread.matcher.fill_next_token_bitmask(scratch, 0, budget=budget)
            except DeadEndError:  # its text is complete, and the vocabulary has no EOS
                scratch[:] = 0
            np.bitwise_and(scratch[0], self._engine.text_words, out=scratch[0])
        if count is not None:
            is_one_more = thread.goes_on() and max(thread.needed() - 1, 0) + rest < left
            np.bitwise_and(scratch[0], count.words if is_one_more else 0, out=scratch[0])
        if count is not None or thread.matcher is not None:
            np.bitwise_or(words, scratch[0], out=words)
        if thread.node.final and thread.may_end():
            np.bitwise_or(words, self._engine.eos_words, out=words)

    # --- where it stands ---------------------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return any(thread.node.final and thread.may_end() for thread in self._state.threads)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._engine.vocabulary.eos_token_ids

    @property
    def steps(self) -> int:
        """How many steps `rollback` can undo."""
        return self._state.steps

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._state.terminated

    # --- going back --------------------------------------------------------------------------------------------------

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps.

        Raises:
            MatcherError: There are fewer.
            OptionTypeError: ``count`` is no whole number.
        """
        for _ in range(check_steps(count, self._state.steps)):
            assert self._state.before is not None
            self._state = self._state.before

    def fork(self) -> CountingMatcher:
        """Return an independent copy, in O(1)."""
        return CountingMatcher(self._engine, self._state)

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> CountingMatcher:
        """Return what `fork` returns: the grammar never changes, and is shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        self._state = _State(self._engine.start())
