"""The oracle of answers with calls: the nondeterministic automaton of a `GrammarGraph`, over engines of its parts alone.

*Threads* read a text, byte by byte. Each thread is a part and a matcher in it. Where the text of a part may end, threads begin
for the parts that may follow; a thread whose part cannot read a byte is dropped. It shares with the package the engines of the
parts, and neither their grammar nor its captures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.engine.native.lowering import compile_language
from schemagen.errors import MatcherError
from schemagen.grammar.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.engine.protocol import Matcher
    from schemagen.graph.grammar_graph import GrammarGraph
    from schemagen.graph.reader import Part


@dataclass(frozen=True, slots=True)
class Span:
    """Where the text of a part begins, linked to the span of the part before."""

    part: int
    start: int
    previous: Span | None


@dataclass(slots=True, eq=False)
class Thread:
    """A part that is being read: its matcher, and the number of steps the matcher has made."""

    span: Span
    matcher: Matcher | None
    steps: int = 0

    def read(self, data: bytes) -> bool:
        """Advance by some bytes, all of them or nothing."""
        if self.matcher is None or not self.matcher.accept_bytes(data):
            return False
        self.steps += 1
        return True

    def may_end(self) -> bool:
        """Whether the text of the part may end here."""
        return self.matcher is None or self.matcher.is_accepting()

    def back_to(self, steps: int) -> None:
        """Undo all but the first ``steps`` steps."""
        if self.matcher is not None and self.steps > steps:
            self.matcher.rollback(self.steps - steps)
        self.steps = min(self.steps, steps)


_Live = tuple[tuple[Thread, int], ...]


@dataclass(frozen=True, slots=True)
class _State:
    """The live threads with their steps, and the number of bytes read."""

    live: _Live
    position: int
    terminated: bool = False


class GraphReader:
    """A cursor in one text of a graph."""

    def __init__(self, graph: GrammarGraph) -> None:
        self._parts = graph.parts
        languages = (part.language for part in graph.parts)
        self._engines = [
            each if each is None or isinstance(each, Grammar) else compile_language(each, graph.vocabulary)
            for each in languages
        ]
        self._vocabulary = graph.vocabulary
        self._history = [_State(_live(self._spawn(graph.starts, 0, None)), 0)]

    # --- reading -----------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        vocabulary = self._vocabulary
        state = self._history[-1]
        if state.terminated or not 0 <= token_id < vocabulary.size:
            return False
        if token_id in vocabulary.eos_token_ids:
            return self._accept_special(token_id, ends=True) or self._end()
        data = vocabulary.tokens[token_id]
        return self.accept_bytes(data) if data else self._accept_special(token_id)

    def _end(self) -> bool:
        state, accepting = self._history[-1], self.is_accepting()
        if accepting:
            self._history.append(_State(state.live, state.position, terminated=True))
        return accepting

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`."""
        state = self._history[-1]
        if state.terminated:
            return False
        threads = self._read([thread for thread, _ in state.live], data, state.position)
        if not threads:
            self._restore(state)
            return False
        self._history.append(_State(_live(threads), state.position + len(data)))
        return True

    def _accept_special(self, token_id: int, *, ends: bool = False) -> bool:
        """Advance by a token without bytes. If it ends a text (``ends``), terminate where the text may end."""
        state = self._history[-1]
        threads: list[Thread] = []
        for thread, _ in state.live:
            following = self._parts[thread.span.part].special.get(token_id, ())
            if following and thread.may_end():
                threads.extend(self._spawn(following, state.position, thread.span))
        if threads:
            over = ends and any(self._parts[each.span.part].final and each.may_end() for each in threads)
            self._history.append(_State(_live(threads), state.position, over))
        return bool(threads)

    def _read(self, threads: list[Thread], data: bytes, position: int) -> list[Thread]:
        """Return the threads after some bytes, none if no thread can read them; dropped threads keep their positions."""
        for offset in range(len(data)):
            byte = data[offset : offset + 1]
            kept = [thread for thread in threads if thread.read(byte)]
            threads = list(kept)
            for thread in kept:
                following = self._parts[thread.span.part].following
                if following and thread.may_end():
                    threads.extend(self._spawn(following, position + offset + 1, thread.span))
            if not threads:
                return []
        return threads

    def _spawn(self, indices: Iterable[int], position: int, previous: Span | None) -> list[Thread]:
        """Return threads at the start of some parts, and of the parts that follow one whose text may be empty."""
        threads: list[Thread] = []
        for index in indices:
            engine = self._engines[index]
            span = Span(index, position, previous)
            thread = Thread(span, None if engine is None else engine.matcher())
            threads.append(thread)
            if thread.may_end():
                threads.extend(self._spawn(self._parts[index].following, position, span))
        return threads

    # --- the position ------------------------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return self._ending() is not None

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
            raise MatcherError("the text is not complete")
        return [
            (part, start, self._history[-1].position if end is None else end)
            for part, start, end in self._chain(thread)
        ]

    def readings(self) -> list[list[tuple[Part, int, int | None]]]:
        """Return every way to read the text so far: its parts with the bytes where each begins and ends.

        The end of the last part is None, because that part is open. The common start of all ways is decided.
        """
        return [self._chain(thread) for thread, _ in self._history[-1].live]

    def _chain(self, thread: Thread) -> list[tuple[Part, int, int | None]]:
        """The parts that a thread has passed, and its current one."""
        chain: list[tuple[Part, int, int | None]] = []
        end: int | None = None
        span: Span | None = thread.span
        while span is not None:
            chain.append((self._parts[span.part], span.start, end))
            end = span.start
            span = span.previous
        chain.reverse()
        return chain

    def _ending(self) -> Thread | None:
        """The thread with which the text may end here."""
        live = self._history[-1].live
        return next((t for t, _ in live if self._parts[t.span.part].final and t.may_end()), None)

    # --- going back --------------------------------------------------------------------------------------------------

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps."""
        del self._history[-count:]
        self._restore(self._history[-1])

    @staticmethod
    def _restore(state: _State) -> None:
        for thread, steps in state.live:
            thread.back_to(steps)


def _live(threads: list[Thread]) -> _Live:
    return tuple((thread, thread.steps) for thread in threads)
