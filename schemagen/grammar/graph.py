"""Grammars one after another, with hand-over at any byte: the machine under text, markers and calls.

A tool call in a model's answer is not one language but several: free text, a marker, the name, JSON arguments, a closing
marker, perhaps the next call. Each of them is a *part* with a grammar of its own, compiled by an engine; a `GrammarGraph` is a
graph of parts, and this module is the nondeterministic automaton over that graph. Its states are sets of *threads*,
a part and a matcher in it. Where the text of a part may end, the threads of the parts that may follow stand beside it;
a thread whose part cannot read a byte is gone. Nothing else is needed:

- A token may end the text, hold a whole marker and begin the JSON: tokens are read byte by byte.
- An end marker inside of a JSON string ends nothing: the thread of the JSON part reads it, and no other thread is there.
- A marker that is a special token has no bytes. It is an edge of the graph, allowed where the text of its part may
  end, and never inside of a part, because the vocabulary gives special tokens no bytes.

Masks are exact. A token t is allowed if a thread can read all of it (the mask of its part, which the engine knows),
or if t = u v, u completes the part and v can be read by what may follow. For the second kind each part has a *crossing table*:
all splits of all tokens with a u that ends like every text of the part (JSON objects in ``}``, a marker in its last
byte) and a v that can follow, as a trie over u. It is made once per part and walked along the matcher; in free text
that is one step, because no u but those that complete the marker is there.

Invariants: every text of a part with `Segment.ends` set ends in one of these bytes; matchers of threads only move forward
between two calls of `rollback`; a thread that is gone stays where it was, so that `rollback` can bring it back.

Alternatives rejected. One JSON Schema for the envelope (``anyOf`` over tools) covers only formats that are JSON from end to
end, and neither names outside of the JSON (DeepSeek, newer Mistral) nor Python syntax. One pushdown automaton in the core
would be faster in the JSON part by its crossing tokens (some tens of microseconds), and ties wire formats to C++.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.arguments import check_bytes, check_fill, check_steps, check_token_id, shown
from schemagen.errors import DeadEndError, MatcherError, MatcherTerminatedError, UnsupportedGrammarError
from schemagen.masks.bitmask import BITS, words_of
from schemagen.masks.rows import row_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.vocabulary import Vocabulary

    Words = npt.NDArray[np.int32]

#: A run of forced tokens longer than this is handed out in pieces.
_MAX_FORCED = 1024


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
class Segment:
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
class _Branch:
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

    def fork(self) -> _Branch:
        """Return an independent copy."""
        return _Branch(self.span, None if self.matcher is None else self.matcher.fork(), self.steps, self.count)


_Live = tuple[tuple[_Branch, int], ...]


@dataclass(frozen=True, slots=True)
class _State:
    """The live threads with their steps, and how many bytes were read."""

    live: _Live
    position: int
    terminated: bool = False


class _Crossing:
    """The tokens that complete a part and go on behind it, as a trie over the bytes that complete it.

    Behind such a token nothing is left of the part, so what is needed to finish does not depend on where it stood: the tokens
    of a node are sorted by that.
    """

    __slots__ = ("children", "words")

    def __init__(self) -> None:
        self.children: dict[int, _Crossing] = {}
        self.words: dict[int, Words] = {}

    def add(self, head: bytes, token_id: int, needed: int, width: int) -> None:
        """Add a token by its first half, and by how many tokens are needed behind it."""
        node = self
        for byte in head:
            node = node.children.setdefault(byte, _Crossing())
        if needed not in node.words:
            node.words[needed] = np.zeros(width, dtype=np.int32)
        _set_bit(node.words[needed], token_id)

    def collect(self, matcher: Matcher, into: Words, budget: float) -> None:
        """Add the tokens whose first half completes the part from where the matcher stands, as far as a budget goes."""
        for byte, child in self.children.items():
            if matcher.accept_bytes(bytes((byte,))):
                if child.words and matcher.is_accepting():
                    for needed, words in child.words.items():
                        if needed < budget:
                            np.bitwise_or(into, words, out=into)
                child.collect(matcher, into, budget)
                matcher.rollback(1)


@without_property_locks
class GrammarGraph:
    """Parts in the order that their edges allow; immutable but for its tables, shared between threads of a program.

    It is a `Constraint`, as a `Grammar` is: it is decoded with in the same ways, but for the tables of devices.

    Args:
        parts: The graph.
        starts: Indices of the parts that a text may begin with.
        vocabulary: The tokens of the model; the grammars of the parts are over the same one.
    """

    token_table = None
    thought_tokens = 0
    forces_text = False

    def __init__(self, parts: Iterable[Segment], starts: Iterable[int], vocabulary: Vocabulary) -> None:
        self.parts = tuple(parts)
        _refuse_named_tokens(self.parts)
        self.starts = tuple(starts)
        self.vocabulary = vocabulary
        self.width = -(-vocabulary.size // BITS)
        #: Masks of the EOS ids, of every other id, and of all ids.
        self.eos_words = words_of(vocabulary.eos_token_ids, self.width)
        self.all_words = words_of(slice(vocabulary.size), self.width)
        self.text_words = self.all_words & ~self.eos_words
        self._tables: dict[tuple[frozenset[int] | None, tuple[int, ...]], _Crossing] = {}
        self._behind: dict[tuple[tuple[int, ...], bytes], int | None] = {}

    @property
    def counts_tokens(self) -> bool:
        """Whether a part takes whole tokens, which bytes do not tell apart."""
        return any(part.count is not None for part in self.parts)

    @property
    def reads_ahead(self) -> bool:
        """Whether the matchers of all parts can tell what comes next."""
        return self._reads_ahead

    @cached_property
    def _reads_ahead(self) -> bool:
        made = [part.grammar.matcher() for part in self.parts if part.grammar is not None]
        return all(hasattr(matcher, "forced_run") for matcher in made)

    def matcher(self) -> GraphMatcher:
        """Return a cursor at the start of a text."""
        return GraphMatcher(self)

    @property
    def least_new_tokens(self) -> int:
        """The same as `min_new_tokens`, which is always known."""
        return self.min_new_tokens

    @property
    def min_new_tokens(self) -> int:
        """The smallest budget of tokens that always suffices for a whole text: see `schemagen.Grammar.min_new_tokens`."""
        return self._min_new_tokens

    @cached_property
    def _min_new_tokens(self) -> int:
        return self.needed(self.spawn(self.starts, 0, None))

    @cached_property
    def entries(self) -> list[int]:
        """How many tokens the shortest text of each part takes; 0 also where that is not known."""
        return [
            (0 if part.count is None else part.count.low)
            if part.grammar is None
            else part.grammar.matcher().tokens_to_finish() or 0
            for part in self.parts
        ]

    @cached_property
    def _rests(self) -> list[float]:
        """How many tokens are needed behind each part: shortest ways over the graph to a part that may be the last."""
        entries = self.entries
        rests = [0 if part.final else math.inf for part in self.parts]
        for _ in self.parts:  # Bellman and Ford: no way is longer than all parts
            for index, part in enumerate(self.parts):
                ways = [entries[after] + rests[after] for after in part.following]
                ways += [1 + entries[after] + rests[after] for behind in part.special.values() for after in behind]
                rests[index] = min([rests[index], *ways])
        return rests

    def rest(self, index: int) -> int:
        """Return how many tokens are needed behind a part."""
        rest = self._rests[index]
        return 0 if math.isinf(rest) else int(rest)  # from such a part no text ends, and nothing can be promised

    def needed(self, threads: Iterable[_Branch]) -> int:
        """Return how many tokens the nearest end takes from some threads: each part by its shortest completion.

        Tokens that cross the border of parts could take fewer; what is returned always suffices.
        """
        return min(thread.needed() + self.rest(thread.span.part) for thread in threads)

    def spawn(self, indices: Iterable[int], position: int, previous: Span | None) -> list[_Branch]:
        """Return threads at the start of some parts, and of those behind them where a part may be empty."""
        threads: list[_Branch] = []
        for index in indices:
            grammar = self.parts[index].grammar
            span = Span(index, position, previous)
            thread = _Branch(span, None if grammar is None else grammar.matcher(), count=self.parts[index].count)
            threads.append(thread)
            if thread.may_end():
                threads.extend(self.spawn(self.parts[index].following, position, span))
        return threads

    def crossing(self, index: int) -> _Crossing:
        """Return the tokens that complete a part and go on behind it.

        Cost: once, a pass over the bytes of the vocabulary (some milliseconds for 128,000 tokens), and some microseconds for
        each token that holds an end and a byte that can follow it.
        """
        part = self.parts[index]
        key = (part.ends, part.following)
        table = self._tables.get(key)
        if table is None:
            table = _Crossing()
            if part.following:
                begins = [byte for byte in range(256) if self.needed_behind(part.following, bytes((byte,))) is not None]
                for token_id, cut in _cuts(self.vocabulary, part.ends, begins):
                    token = self.vocabulary.tokens[token_id]
                    needed = self.needed_behind(part.following, token[cut:])
                    if needed is not None:
                        table.add(token[:cut], token_id, needed, self.width)
            self._tables[key] = table
        return table

    def needed_behind(self, indices: tuple[int, ...], data: bytes) -> int | None:
        """Return how many tokens are needed behind some bytes read by the parts of some indices; None if they cannot be."""
        if (indices, data) not in self._behind:
            threads = self.read(self.spawn(indices, 0, None), data, 0)
            self._behind[indices, data] = self.needed(threads) if threads else None
        return self._behind[indices, data]

    def read(self, threads: list[_Branch], data: bytes, position: int) -> list[_Branch]:
        """Return the threads after some bytes, none if they cannot be read; threads that are gone stay behind."""
        for offset in range(len(data)):
            byte = data[offset : offset + 1]
            kept = [thread for thread in threads if thread.read(byte)]
            threads = list(kept)
            for thread in kept:
                if self.parts[thread.span.part].following and thread.may_end():
                    following = self.parts[thread.span.part].following
                    threads.extend(self.spawn(following, position + offset + 1, thread.span))
            if not threads:
                return []
        return threads


class GraphMatcher:
    """The cursor of one text over a `GrammarGraph`; see `schemagen.engine.protocol.Matcher`."""

    __slots__ = ("_history", "_kept", "_sequence")

    def __init__(self, sequence: GrammarGraph, history: list[_State] | None = None, *, kept: int = 0) -> None:
        self._sequence = sequence
        self._history = history or [_start_of(sequence)]
        self._kept = kept  # steps that cannot be undone: the threads of those states belong to another cursor

    def __repr__(self) -> str:
        """Show how far the text is."""
        return f"SequenceMatcher(steps={len(self._history) - 1}, terminated={self._history[-1].terminated})"

    # --- reading -----------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        vocabulary, token_id = self._sequence.vocabulary, check_token_id("accept_token", token_id)
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
        threads = self._sequence.read([each for each, _ in state.live if each.count is None], data, state.position)
        for thread in counting:
            threads.append(thread)
            if thread.may_end():
                threads += self._sequence.spawn(self._sequence.parts[thread.span.part].following, position, thread.span)
        threads = [thread for thread in threads if self._is_in_time(thread, position)]
        if not threads:
            self._restore(state)
            return False
        self._history.append(_State(_live(threads), position))
        return True

    def _accept_special(self, token_id: int) -> bool:
        state = self._history[-1]
        threads: list[_Branch] = []
        for thread, _ in state.live:
            behind = self._sequence.parts[thread.span.part].special.get(token_id, ())
            if behind and thread.may_end():
                threads.extend(self._sequence.spawn(behind, state.position, thread.span))
        if threads:
            self._history.append(_State(_live(threads), state.position))
        return bool(threads)

    def _is_in_time(self, thread: _Branch, position: int) -> bool:
        """Whether the part that a thread is in can end within its tokens, if one more is read up to a position."""
        if self._sequence.parts[thread.span.part].max_tokens is None or thread.span.start == position:
            return True
        return thread.needed() < self._left_in_part(thread)

    def _left_in_part(self, thread: _Branch) -> float:
        """Return how many tokens the part that a thread is in may still take."""
        most = self._sequence.parts[thread.span.part].max_tokens
        if most is None:
            return math.inf
        begun = bisect_right(self._history, thread.span.start, key=lambda state: state.position)
        return most + self._sequence.entries[thread.span.part] - (len(self._history) - begun)

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
        target = row_of(bitmask, row, self._sequence.vocabulary.size)
        words = self._words(budget)
        target[:] = words
        return not np.array_equal(words, self._sequence.all_words)

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end)."""
        return _ids_of(self._words())

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
        labels = sorted({str(self._sequence.parts[thread.span.part].label) for thread, _ in self._history[-1].live})
        where = f"in {' or '.join(labels)}"
        vocabulary, token_id = self._sequence.vocabulary, check_token_id("explain", token_id)
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
        return self._sequence.needed(thread for thread, _ in self._history[-1].live)

    def shortest_completion(self) -> bytes:
        """Return the shortest completion of the part that is being read; markers behind it may have no bytes."""
        live = [thread for thread, _ in self._history[-1].live]
        nearest = min(live, key=lambda thread: self._sequence.needed([thread]))
        return b"" if self.is_terminated() or nearest.matcher is None else nearest.matcher.shortest_completion()

    def _words(self, budget: int | None = None) -> Words:
        """Return the mask."""
        state, sequence = self._history[-1], self._sequence
        if state.terminated:
            raise MatcherTerminatedError(
                "the text has ended: EOS was accepted", fix="stop at is_terminated(), or call rollback() or reset()"
            )
        words = np.zeros(sequence.width, dtype=np.int32)
        scratch = np.zeros((1, sequence.width), dtype=np.int32)
        left = math.inf if budget is None else max(budget, self.tokens_to_finish())
        for thread, _ in state.live:
            if math.isinf(left) or sequence.needed([thread]) <= left:
                self._add_thread(thread, words, scratch, left)
        return words

    def _add_thread(self, thread: _Branch, words: Words, scratch: npt.NDArray[np.int32], left: float) -> None:
        """Add the tokens of one thread, as far as a budget goes: inside of its part, across its end, behind it."""
        part = self._sequence.parts[thread.span.part]
        needed = max(thread.needed() - 1, 0) + self._sequence.rest(thread.span.part)
        if thread.count is not None and thread.goes_on() and needed < left:
            np.bitwise_or(words, thread.count.words, out=words)
        if thread.matcher is not None:
            inside = min(left - self._sequence.rest(thread.span.part), self._left_in_part(thread))
            budget = None if math.isinf(inside) else int(inside)
            try:
                thread.matcher.fill_next_token_bitmask(scratch, 0, budget=budget)
            except DeadEndError:  # its text is complete, and the vocabulary has no EOS
                scratch[:] = 0
            np.bitwise_and(scratch[0], self._sequence.text_words, out=scratch[0])
            np.bitwise_or(words, scratch[0], out=words)
            self._sequence.crossing(thread.span.part).collect(thread.matcher, words, left)
        if (part.final or part.special) and thread.may_end():
            if part.final:
                np.bitwise_or(words, self._sequence.eos_words, out=words)
            for token_id, behind in part.special.items():
                if (self._sequence.needed_behind(behind, b"") or 0) < left:
                    _set_bit(words, token_id)

    # --- where it stands ---------------------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return self._ending() is not None

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._sequence.vocabulary.eos_token_ids

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._history[-1].terminated

    def spans(self) -> list[tuple[Segment, int, int]]:
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

    def readings(self) -> list[list[tuple[Segment, int, int | None]]]:
        """Return every way to read the text so far: its parts with the bytes where each begins and ends.

        The end of the last one is None: that part is open. What all ways have in common is decided.
        """
        return [self._chain(thread) for thread, _ in self._history[-1].live]

    def _chain(self, thread: _Branch) -> list[tuple[Segment, int, int | None]]:
        """The parts that a thread has gone through, and the one that it is in."""
        chain: list[tuple[Segment, int, int | None]] = []
        end: int | None = None
        span: Span | None = thread.span
        while span is not None:
            chain.append((self._sequence.parts[span.part], span.start, end))
            end = span.start
            span = span.previous
        chain.reverse()
        return chain

    def _ending(self) -> _Branch | None:
        """The thread with which the text may end here."""
        parts = self._sequence.parts
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
        copies: dict[_Branch, _Branch] = {}

        def copy(thread: _Branch) -> _Branch:
            if thread not in copies:
                copies[thread] = thread.fork()
            return copies[thread]

        own = [_State(tuple((copy(t), n) for t, n in s.live), s.position, s.terminated) for s in self._history[kept:]]
        return GraphMatcher(self._sequence, self._history[:kept] + own, kept=kept)

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphMatcher:
        """Return what `fork` returns: the grammar never changes, and is shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        if self._kept:
            self._history, self._kept = [_start_of(self._sequence)], 0
        del self._history[1:]
        self._restore(self._history[0])

    @staticmethod
    def _restore(state: _State) -> None:
        for thread, steps in state.live:
            thread.back_to(steps)


def _refuse_named_tokens(parts: Iterable[Segment]) -> None:
    """Refuse grammars that name or count tokens.

    Raises:
        UnsupportedGrammarError: There is one.
    """
    if any(getattr(part.grammar, "counts_tokens", False) for part in parts):
        raise UnsupportedGrammarError(
            "a grammar that counts tokens, among thoughts or tools",
            why="the parts of such an answer are read byte by byte, and bytes do not say where tokens end",
            fix="use the grammar by itself",
        )
    if any(getattr(part.grammar, "names_tokens", False) for part in parts):
        raise UnsupportedGrammarError(
            "a grammar that names tokens, among thoughts or tools",
            why="the parts of such an answer are told apart by their texts",
            fix="use the grammar by itself, and write in it what stands around the answer: the thoughts and their markers",
        )


def _start_of(graph: GrammarGraph) -> _State:
    return _State(_live(graph.spawn(graph.starts, 0, None)), 0)


def _live(threads: list[_Branch]) -> _Live:
    return tuple((thread, thread.steps) for thread in threads)


def _cuts(vocabulary: Vocabulary, ends: Iterable[int] | None, begins: Iterable[int]) -> list[tuple[int, int]]:
    """Return where tokens can be cut in two between some bytes: id, and length of the first half."""
    data, owners, starts = _flat(vocabulary)
    may_end, may_begin = np.zeros(256, dtype=bool), np.zeros(256, dtype=bool)
    may_end[list(range(256) if ends is None else ends)] = True
    may_begin[list(begins)] = True
    places = np.flatnonzero(may_end[data[:-1]] & may_begin[data[1:]] & (owners[:-1] == owners[1:]))
    ids = owners[places]
    return list(zip(ids.tolist(), (places + 1 - starts[ids]).tolist(), strict=True))


@lru_cache(maxsize=4)
def _flat(vocabulary: Vocabulary) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the bytes of all tokens, the token that each belongs to, and where each token starts."""
    lengths = np.fromiter(map(len, vocabulary.tokens), dtype=np.int64, count=vocabulary.size)
    data = np.frombuffer(b"".join(vocabulary.tokens), dtype=np.uint8)
    return data, np.repeat(np.arange(vocabulary.size), lengths), np.cumsum(lengths) - lengths


def _set_bit(words: Words, token_id: int) -> None:
    """Set one bit of an int32 mask, whose bytes are little-endian; bit 31 is the sign."""
    words.view(np.uint8)[token_id >> 3] |= np.uint8(1 << (token_id & 7))


def _ids_of(words: Words) -> list[int]:
    return [int(i) for i in np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))]
