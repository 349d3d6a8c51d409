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
from functools import cached_property
from typing import TYPE_CHECKING

from schemagen.engine.counting.matcher import CountingMatcher
from schemagen.engine.counting.nodes import Thread
from schemagen.masks.rows import BITS, words_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from schemagen.engine.counting.nodes import Node
    from schemagen.vocabulary import Vocabulary


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
