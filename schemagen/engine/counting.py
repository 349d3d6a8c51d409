"""Texts in which runs of tokens are counted, as an automaton over tokens.

A text says nothing of its tokens, so no automaton over bytes can count them. But a run begins and ends where tokens do, and so
does what stands between two runs: that has an automaton over bytes each (a *stretch*), over which tokens move as in any other
grammar, and no token crosses a border. The automaton of the whole is nondeterministic: a token may be a member of a run and
text of a stretch. Its states are sets of threads, a node and where the text stands in it.

Source: labels of edges with a mask of tokens, in Koo, Liu & He 2024, section 2.5.1.

Invariants: matchers in threads are never moved, so a state is a value; of threads that go on alike one is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.checks import check_bytes, check_fill, check_steps, check_token_id, shown
from schemagen.engine.protocol import MAX_FORCED, forced_by_masks, only_token
from schemagen.errors import DeadEndError, MatcherError, MatcherTerminatedError
from schemagen.masks.rows import BITS, ids_of, row_of, words_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.masks.rows import Words
    from schemagen.vocabulary import Vocabulary


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
        if (count is None and self.matcher is None) or (
            count is not None and not (self.goes_on() and count.has(token_id))
        ):
            return None
        matcher = None if self.matcher is None else self.matcher.fork()
        if matcher is not None and not matcher.accept_token(token_id):
            return None
        thread = Thread(self.index, self.node, matcher, self.tokens + (count is not None))
        return thread if thread.needed() <= thread.tokens_left() else None

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


@without_property_locks
class CountingEngine:
    """Runs of tokens and the text between them; immutable but for its tables, shared between threads of a program.

    Args:
        nodes: The graph; a text begins in the first one.
        vocabulary: The tokens of the model.
    """

    counts_tokens = True

    def __init__(self, nodes: Sequence[Node], vocabulary: Vocabulary) -> None:
        self.nodes = tuple(nodes)
        self.vocabulary = vocabulary
        self.width = -(-vocabulary.size // BITS)
        #: Masks of the EOS ids, of every other id, and of all ids.
        self.eos_words = words_of(vocabulary.eos_token_ids, self.width)
        self.all_words = words_of(slice(vocabulary.size), self.width)
        self.text_words = self.all_words & ~self.eos_words

    def matcher(self) -> CountingMatcher:
        """Return a cursor at the start of a text."""
        return CountingMatcher(self)

    def start(self) -> tuple[Thread, ...]:
        """Return the threads at the start of a text."""
        return self.closed([self._begun(0)])

    def closed(self, threads: Iterable[Thread]) -> tuple[Thread, ...]:
        """Return some threads with those at the start of the nodes that may follow, each place once."""
        found: list[Thread] = []
        known: set[tuple[int, int]] = set()
        waiting = list(threads)
        while waiting:
            thread = waiting.pop()
            place = thread.place()
            if place and (thread.index, place) in known:
                continue
            known.add((thread.index, place))
            found.append(thread)
            if thread.may_end():
                waiting.extend(map(self._begun, thread.node.following))
        return tuple(found)

    def _begun(self, index: int) -> Thread:
        engine = self.nodes[index].engine
        return Thread(index, self.nodes[index], None if engine is None else engine.matcher())

    @cached_property
    def _entries(self) -> list[int]:
        """How many tokens the shortest text of each node takes; 0 also where that is not known."""
        return [self._begun(index).needed() for index in range(len(self.nodes))]

    @cached_property
    def _rests(self) -> list[float]:
        """How many tokens are needed after each node: shortest ways over the graph to one that may be the last."""
        rests = [0 if node.final else math.inf for node in self.nodes]
        known: list[float] = []
        while rests != known:  # Bellman and Ford: as many rounds as the longest of these ways has nodes
            known = list(rests)
            for index, node in enumerate(self.nodes):
                rests[index] = min([rests[index], *(self._entries[after] + rests[after] for after in node.following)])
        return rests

    def rest(self, thread: Thread) -> int:
        """Return how many tokens are needed after the node of a thread."""
        rest = self._rests[thread.index]
        return 0 if math.isinf(rest) else int(rest)  # from such a node no text ends, and nothing can be promised

    def needed(self, thread: Thread) -> int:
        """Return how many tokens always suffice from a thread to the nearest end: each node by its shortest completion."""
        return thread.needed() + self.rest(thread)


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
