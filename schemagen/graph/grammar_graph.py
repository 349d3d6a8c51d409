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
or if t = u v, u completes the part and v can be read by what may follow: those are in `crossings`.

Invariants: every text of a part with `Part.ends` set ends in one of these bytes; matchers of threads only move forward
between two calls of `rollback`; a thread that is gone stays where it was, so that `rollback` can bring it back.

Alternatives rejected. One JSON Schema for the envelope (``anyOf`` over tools) covers only formats that are JSON from end to
end, and neither names outside of the JSON (DeepSeek, newer Mistral) nor Python syntax. One pushdown automaton in the core
would be faster in the JSON part by its crossing tokens (some tens of microseconds), and ties wire formats to C++.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from schemagen.errors import UnsupportedGrammarError
from schemagen.graph.crossings import Crossing, cuts
from schemagen.graph.graph_matcher import GraphMatcher
from schemagen.graph.parts import Part, Span, Thread
from schemagen.masks.bitmask import BITS, words_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.vocabulary import Vocabulary


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

    def __init__(self, parts: Iterable[Part], starts: Iterable[int], vocabulary: Vocabulary) -> None:
        self.parts = tuple(parts)
        _refuse_named_tokens(self.parts)
        self.starts = tuple(starts)
        self.vocabulary = vocabulary
        self.width = -(-vocabulary.size // BITS)
        #: Masks of the EOS ids, of every other id, and of all ids.
        self.eos_words = words_of(vocabulary.eos_token_ids, self.width)
        self.all_words = words_of(slice(vocabulary.size), self.width)
        self.text_words = self.all_words & ~self.eos_words
        self._tables: dict[tuple[frozenset[int] | None, tuple[int, ...]], Crossing] = {}
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

    def needed(self, threads: Iterable[Thread]) -> int:
        """Return how many tokens the nearest end takes from some threads: each part by its shortest completion.

        Tokens that cross the border of parts could take fewer; what is returned always suffices.
        """
        return min(thread.needed() + self.rest(thread.span.part) for thread in threads)

    def spawn(self, indices: Iterable[int], position: int, previous: Span | None) -> list[Thread]:
        """Return threads at the start of some parts, and of those behind them where a part may be empty."""
        threads: list[Thread] = []
        for index in indices:
            grammar = self.parts[index].grammar
            span = Span(index, position, previous)
            thread = Thread(span, None if grammar is None else grammar.matcher(), count=self.parts[index].count)
            threads.append(thread)
            if thread.may_end():
                threads.extend(self.spawn(self.parts[index].following, position, span))
        return threads

    def crossing(self, index: int) -> Crossing:
        """Return the tokens that complete a part and go on behind it.

        Cost: once, a pass over the bytes of the vocabulary (some milliseconds for 128,000 tokens), and some microseconds for
        each token that holds an end and a byte that can follow it.
        """
        part = self.parts[index]
        key = (part.ends, part.following)
        table = self._tables.get(key)
        if table is None:
            table = Crossing()
            if part.following:
                begins = [byte for byte in range(256) if self.needed_behind(part.following, bytes((byte,))) is not None]
                for token_id, cut in cuts(self.vocabulary, part.ends, begins):
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

    def read(self, threads: list[Thread], data: bytes, position: int) -> list[Thread]:
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


def _refuse_named_tokens(parts: Iterable[Part]) -> None:
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
