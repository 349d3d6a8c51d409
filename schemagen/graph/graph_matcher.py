"""The cursor of one text over a `GrammarGraph`: its live threads after each step, and the masks that they add up to."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.arguments import check_bytes, check_fill, check_steps, check_token_id, shown
from schemagen.errors import DeadEndError, MatcherError, MatcherTerminatedError
from schemagen.graph.parts import Thread
from schemagen.masks.bitmask import ids_of, set_bit
from schemagen.masks.rows import row_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from schemagen.graph.grammar_graph import GrammarGraph
    from schemagen.graph.parts import Part, Span
    from schemagen.masks.bitmask import Words

#: A run of forced tokens longer than this is handed out in pieces.
_MAX_FORCED = 1024

_Live = tuple[tuple[Thread, int], ...]


@dataclass(frozen=True, slots=True)
class _State:
    """The live threads with their steps, and how many bytes were read."""

    live: _Live
    position: int
    terminated: bool = False


class GraphMatcher:
    """The cursor of one text over a `GrammarGraph`; see `schemagen.engine.protocol.Matcher`."""

    __slots__ = ("_graph", "_history", "_kept")

    def __init__(self, graph: GrammarGraph, history: list[_State] | None = None, *, kept: int = 0) -> None:
        self._graph = graph
        self._history = history or [_start_of(graph)]
        self._kept = kept  # steps that cannot be undone: the threads of those states belong to another cursor

    def __repr__(self) -> str:
        """Show how far the text is."""
        return f"GraphMatcher(steps={len(self._history) - 1}, terminated={self._history[-1].terminated})"

    # --- reading -----------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        vocabulary, token_id = self._graph.vocabulary, check_token_id("accept_token", token_id)
        state = self._history[-1]
        if state.terminated or not 0 <= token_id < vocabulary.size:
            return False
        if token_id in vocabulary.eos_token_ids:
            if self.is_accepting():
                self._history.append(_State(state.live, state.position, terminated=True))
                return True
            return False
        data = vocabulary.tokens[token_id]
        return self._read(data, token_id) if data else self._accept_special(token_id)

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`.

        Raises:
            MatcherError: A part may be read here in which tokens are counted.
        """
        check_bytes(data)
        if self._history[-1].terminated:
            return False
        if data and any(thread.count is not None for thread, _ in self._history[-1].live):
            raise MatcherError(
                "tokens are counted here, and bytes do not say where they end", fix="use accept_token(token_id)"
            )
        return self._read(data)

    def _read(self, data: bytes, token_id: int | None = None) -> bool:
        """Advance by text, which may be a token."""
        state = self._history[-1]
        position = state.position + len(data)
        counting = [] if token_id is None else [each for each, _ in state.live if each.take(token_id)]
        threads = self._graph.read([each for each, _ in state.live if each.count is None], data, state.position)
        for thread in counting:
            threads.append(thread)
            if thread.may_end():
                threads += self._graph.spawn(self._graph.parts[thread.span.part].following, position, thread.span)
        threads = [thread for thread in threads if self._is_in_time(thread, position)]
        if not threads:
            self._restore(state)
            return False
        self._history.append(_State(_live(threads), position))
        return True

    def _accept_special(self, token_id: int) -> bool:
        state = self._history[-1]
        threads: list[Thread] = []
        for thread, _ in state.live:
            behind = self._graph.parts[thread.span.part].special.get(token_id, ())
            if behind and thread.may_end():
                threads.extend(self._graph.spawn(behind, state.position, thread.span))
        if threads:
            self._history.append(_State(_live(threads), state.position))
        return bool(threads)

    def _is_in_time(self, thread: Thread, position: int) -> bool:
        """Whether the part that a thread is in can end within its tokens, if one more is read up to a position."""
        if self._graph.parts[thread.span.part].max_tokens is None or thread.span.start == position:
            return True
        return thread.needed() < self._left_in_part(thread)

    def _left_in_part(self, thread: Thread) -> float:
        """Return how many tokens the part that a thread is in may still take."""
        most = self._graph.parts[thread.span.part].max_tokens
        if most is None:
            return math.inf
        begun = bisect_right(self._history, thread.span.start, key=lambda state: state.position)
        return most + self._graph.entries[thread.span.part] - (len(self._history) - begun)

    # --- what may come -----------------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Args:
            bitmask: int32 ``[B, ceil(V/32)]`` on the CPU (torch or numpy). Only ``row`` is written.
            row: ``0 <= row < B``.
            budget: How many tokens may still come; see `schemagen.engine.protocol.Matcher`.

        Raises:
            MatcherTerminatedError: EOS was already accepted.
            BitmaskShapeError: dtype, device or width differ from the above, or ``row`` is out of range.
            OptionError: ``budget`` is negative, or one of both is no whole number.

        Cost: the masks of the live threads (two in free text, one inside of a call) and a walk over the crossing table.
        """
        row, budget = check_fill(row, budget)
        target = row_of(bitmask, row, self._graph.vocabulary.size)
        words = self._words(budget)
        target[:] = words
        return not np.array_equal(words, self._graph.all_words)

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end)."""
        return ids_of(self._words())

    def forced_tokens(self) -> list[int]:
        """Return the tokens that follow here without any choice (each mask on the way allows a single token)."""
        if self.is_terminated():
            return []
        probe = self.ahead()
        forced: list[int] = []
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
        live = self._history[-1].live
        if self.is_terminated() or len(live) != 1:
            return []
        inside: Any = live[0][0].matcher
        run: list[int] = [] if inside is None else inside.forced_run(most)
        if run:
            return run
        allowed = self.allowed_tokens()
        return allowed if len(allowed) == 1 else []

    def place(self) -> int:
        """Return a number for where the text has come to, the same for texts that go on alike; 0 where that is not known."""
        places: list[tuple[int, int]] = []
        for thread, _ in self._history[-1].live:
            inside: Any = thread.matcher
            place = 1 + thread.steps if inside is None else inside.place()
            if place == 0:
                return 0
            places.append((thread.span.part, place))
        return hash(tuple(places)) | 1

    def explain(self, token_id: int) -> str:
        """Say in a sentence why a token is, or is not, allowed here."""
        labels = sorted({str(self._graph.parts[thread.span.part].label) for thread, _ in self._history[-1].live})
        where = f"in {' or '.join(labels)}"
        vocabulary, token_id = self._graph.vocabulary, check_token_id("explain", token_id)
        if not 0 <= token_id < vocabulary.size:
            return f"token {shown(token_id)} is outside the vocabulary of {vocabulary.size} ids."
        name = f"token {token_id} ({vocabulary.tokens[token_id]!r})"
        if self.is_terminated():
            return f"{name} is not allowed: the text has ended."
        probe = self.ahead()
        return f"{name} is {'allowed' if probe.accept_token(token_id) else 'not allowed'} {where}."

    def tokens_to_finish(self) -> int:
        """Return how many tokens always suffice to end the text: each part by its shortest completion."""
        if self.is_terminated():
            return 0
        return self._graph.needed(thread for thread, _ in self._history[-1].live)

    def shortest_completion(self) -> bytes:
        """Return the shortest completion of the part that is being read; markers behind it may have no bytes."""
        live = [thread for thread, _ in self._history[-1].live]
        nearest = min(live, key=lambda thread: self._graph.needed([thread]))
        return b"" if self.is_terminated() or nearest.matcher is None else nearest.matcher.shortest_completion()

    def _words(self, budget: int | None = None) -> Words:
        """Return the mask."""
        state, graph = self._history[-1], self._graph
        if state.terminated:
            raise MatcherTerminatedError(
                "the text has ended: EOS was accepted", fix="stop at is_terminated(), or call rollback() or reset()"
            )
        words = np.zeros(graph.width, dtype=np.int32)
        scratch = np.zeros((1, graph.width), dtype=np.int32)
        left = math.inf if budget is None else max(budget, self.tokens_to_finish())
        for thread, _ in state.live:
            if math.isinf(left) or graph.needed([thread]) <= left:
                self._add_thread(thread, words, scratch, left)
        return words

    def _add_thread(self, thread: Thread, words: Words, scratch: npt.NDArray[np.int32], left: float) -> None:
        """Add the tokens of one thread, as far as a budget goes: inside of its part, across its end, behind it."""
        part = self._graph.parts[thread.span.part]
        needed = max(thread.needed() - 1, 0) + self._graph.rest(thread.span.part)
        if thread.count is not None and thread.goes_on() and needed < left:
            np.bitwise_or(words, thread.count.words, out=words)
        if thread.matcher is not None:
            inside = min(left - self._graph.rest(thread.span.part), self._left_in_part(thread))
            budget = None if math.isinf(inside) else int(inside)
            try:
                thread.matcher.fill_next_token_bitmask(scratch, 0, budget=budget)
            except DeadEndError:  # its text is complete, and the vocabulary has no EOS
                scratch[:] = 0
            np.bitwise_and(scratch[0], self._graph.text_words, out=scratch[0])
            np.bitwise_or(words, scratch[0], out=words)
            self._graph.crossing(thread.span.part).collect(thread.matcher, words, left)
        if (part.final or part.special) and thread.may_end():
            if part.final:
                np.bitwise_or(words, self._graph.eos_words, out=words)
            for token_id, behind in part.special.items():
                if (self._graph.needed_behind(behind, b"") or 0) < left:
                    set_bit(words, token_id)

    # --- where it stands ---------------------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return self._ending() is not None

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._graph.vocabulary.eos_token_ids

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._history[-1].terminated

    def spans(self) -> list[tuple[Part, int, int]]:
        """Return the parts of the text so far with the bytes where each begins and ends.

        Raises:
            MatcherError: The text may not end here.
        """
        thread = self._ending()
        if thread is None:
            raise MatcherError("the text is not complete", fix="read it to its end before its parts are asked for")
        return [
            (part, start, self._history[-1].position if end is None else end)
            for part, start, end in self._chain(thread)
        ]

    def readings(self) -> list[list[tuple[Part, int, int | None]]]:
        """Return every way to read the text so far: its parts with the bytes where each begins and ends.

        The end of the last one is None: that part is open. What all ways have in common is decided.
        """
        return [self._chain(thread) for thread, _ in self._history[-1].live]

    def _chain(self, thread: Thread) -> list[tuple[Part, int, int | None]]:
        """The parts that a thread has gone through, and the one that it is in."""
        chain: list[tuple[Part, int, int | None]] = []
        end: int | None = None
        span: Span | None = thread.span
        while span is not None:
            chain.append((self._graph.parts[span.part], span.start, end))
            end = span.start
            span = span.previous
        chain.reverse()
        return chain

    def _ending(self) -> Thread | None:
        """The thread with which the text may end here."""
        parts = self._graph.parts
        live = self._history[-1].live
        return next((t for t, _ in live if parts[t.span.part].final and t.may_end()), None)

    # --- going back --------------------------------------------------------------------------------------------------

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps.

        Raises:
            MatcherError: There are fewer.
            OptionTypeError: ``count`` is no whole number.
        """
        if undone := check_steps(count, len(self._history) - 1 - self._kept):
            del self._history[-undone:]
            self._restore(self._history[-1])

    def fork(self) -> GraphMatcher:
        """Return an independent copy. Cost: a look at each step, and a fork of each thread that was there; see `ahead`."""
        return self._copy(self._kept)

    def ahead(self) -> GraphMatcher:
        """Return a copy that goes on from here, and cannot be rolled back behind it. Cost: a fork of each live thread."""
        return self._copy(len(self._history) - 1)

    def _copy(self, kept: int) -> GraphMatcher:
        """Return a copy, with threads of its own from some state on."""
        copies: dict[Thread, Thread] = {}

        def copy(thread: Thread) -> Thread:
            if thread not in copies:
                copies[thread] = thread.fork()
            return copies[thread]

        own = [_State(tuple((copy(t), n) for t, n in s.live), s.position, s.terminated) for s in self._history[kept:]]
        return GraphMatcher(self._graph, self._history[:kept] + own, kept=kept)

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphMatcher:
        """Return what `fork` returns: the grammar never changes, and is shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        if self._kept:
            self._history, self._kept = [_start_of(self._graph)], 0
        del self._history[1:]
        self._restore(self._history[0])

    @staticmethod
    def _restore(state: _State) -> None:
        for thread, steps in state.live:
            thread.back_to(steps)


def _start_of(graph: GrammarGraph) -> _State:
    return _State(_live(graph.spawn(graph.starts, 0, None)), 0)


def _live(threads: list[Thread]) -> _Live:
    return tuple((thread, thread.steps) for thread in threads)
