"""The reference engine: Willard & Louf (2023, arXiv:2307.09702v4) as an executable specification, in pure Python.

The expression becomes an FSM over bytes (`fsm.py`), and the index sigma from its states to the tokens that
may follow is the one of Algorithms 3 and 4. The compiled engine is compared with this one, and the documentation
explains it.

Where the printed algorithms need care:

- Algorithm 3 starts its walk at ``i = 1``, so that ``v_0`` would never be read from ``r``. Section 4 gives the
  sequences that are meant, ``(0, 1), (1, 2), (2, 2)`` for the token "f": the state before each symbol and the state
  after the last, ``|v| + 1`` states. The walk here therefore starts at ``i = 0``.
- Line 14 of Algorithm 3 appends the empty sequence of a walk that failed, for which ``z_0`` in line 7 of Algorithm 4
  does not exist. Failed walks are not appended here.
- The paper's FSM has no dead states. With one, a token could be accepted that no text can complete; the FSM of
  `byte_fsm` has live states only.
- A token without symbols has no ``v_0``. Such tokens (special ids, padding) are in no set of the index.

The paper builds the whole index before generation, O(|Q| V). `token_index` does the same; matchers ask for one state at
a time, which gives the same sets and lets large vocabularies start at once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import cached_property
from typing import TYPE_CHECKING

from schemagen.errors import UnsatisfiableSchemaError
from schemagen.reference.fsm import byte_fsm, rows_of, start_of, symbols_of
from schemagen.reference.matcher import ByteEngine, Mask
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interegular.fsm import FSM

    from schemagen.regex.ast import Regex
    from schemagen.vocabulary import Vocabulary


def find_sub_sequences(fsm: FSM, token: bytes) -> list[tuple[int, ...]]:
    """Return the state sequences through which the FSM accepts a token, one for each state it can start in.

    This is Algorithm 3 (see the notes at the top of this module).

    Args:
        fsm: A machine over bytes as latin-1 characters, with live states only.
        token: At least one byte; a token without bytes has no sequences.

    Cost: O(|Q| |token|).
    """
    rows, symbols = rows_of(fsm), symbols_of(fsm, token)
    sequences = []
    for start in sorted(rows) if symbols else ():
        sequence = _walk(rows, start, symbols)
        if sequence:
            sequences.append(sequence)
    return sequences


def _walk(rows: dict[int, dict[int, int]], state: int, symbols: Sequence[int]) -> tuple[int, ...]:
    """Return the states that the FSM goes through from `state`, or nothing if it stops reading on the way."""
    sequence = [state]
    for symbol in symbols:
        following = rows.get(sequence[-1], {}).get(symbol)
        if following is None:
            return ()
        sequence.append(following)
    return tuple(sequence)


def map_states_to_vocab(fsm: FSM, vocabulary: Sequence[bytes]) -> dict[int, set[int]]:
    """Return sigma: for each state of the FSM the ids of the tokens that it accepts there.

    This is Algorithm 4. The elements are ids where the paper writes strings, because two ids may have equal bytes.

    Args:
        fsm: A machine over bytes as latin-1 characters, with live states only.
        vocabulary: Bytes of each token id.

    Cost: O(|Q| V), times the length of a token.
    """
    sigma: dict[int, set[int]] = {state: set() for state in fsm.states}
    for token_id, token in enumerate(vocabulary):
        for sequence in find_sub_sequences(fsm, token):
            sigma[sequence[0]].add(token_id)
    return sigma


@without_property_locks
class ReferenceEngine(ByteEngine):
    """A regular expression over a vocabulary, all states built in advance; immutable, safe to share between threads.

    Args:
        regex: The language of the whole text, over code points.
        vocabulary: The tokens of the model.
        max_states: Most states of the automaton. One character of any kind takes 8 states, one of all letters 300.
        max_seconds: Most wall-clock seconds for building it; 1,000 states take about 0.2 s.

    Raises:
        UnsatisfiableSchemaError: The expression matches no text.
        LimitError: A limit stopped the work.
    """

    def __init__(
        self, regex: Regex, vocabulary: Vocabulary, *, max_states: int = 20_000, max_seconds: float = 30.0
    ) -> None:
        self.vocabulary = vocabulary
        self.fsm = byte_fsm(regex, max_states=max_states, max_seconds=max_seconds)
        self.start = start_of(self.fsm)
        if not self.fsm.finals:
            raise UnsatisfiableSchemaError(
                "no text can match the pattern", why="its parts exclude each other", fix="correct the pattern"
            )
        self._rows, self._symbols = rows_of(self.fsm), symbols_of(self.fsm, range(256))
        self._masks: dict[int, Mask] = {}
        self._tokens_to_end: dict[int, int | None] = {}

    @cached_property
    def token_index(self) -> dict[int, set[int]]:
        """The whole index of Algorithm 4: state -> token ids, EOS apart."""
        return map_states_to_vocab(self.fsm, self.vocabulary.tokens)

    @property
    def state_count(self) -> int:
        """Number of states of the automaton."""
        return len(self._rows)

    def after(self, state: int, byte: int) -> int | None:
        """Return the state after a byte; None if the byte cannot follow."""
        return self._rows[state].get(self._symbols[byte])

    def bytes_after(self, state: int) -> list[int]:
        """Return the bytes that can follow a state, ascending."""
        row = self._rows[state]
        return [byte for byte, symbol in enumerate(self._symbols) if symbol in row]

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        return state in self.fsm.finals

    def mask(self, state: int) -> Mask:
        """Return the tokens allowed in a state, EOS ids included if the text may end there."""
        known = self._masks.get(state)
        if known is None:
            ids = [
                token_id
                for byte in self.bytes_after(state)
                for token_id, token in self.tokens_by_first_byte[byte]
                if self.step(state, token) is not None
            ]
            if self.is_final(state):
                ids.extend(self.vocabulary.eos_token_ids)
            known = self._masks[state] = Mask.of(sorted(ids), self.vocabulary.size)
        return known

    def bytes_to_end(self, state: int) -> int | None:
        """Return how many bytes that are tokens it takes to the nearest end; None if these do not suffice."""
        return self._bytes_to_end.get(state)

    def tokens_to_finish(self, state: int) -> int | None:
        """Return how many tokens spell the completion of a state at best; None if it has none."""
        if state not in self._tokens_to_end:
            self._tokens_to_end[state] = super().tokens_to_finish(state)
        return self._tokens_to_end[state]

    @cached_property
    def _bytes_to_end(self) -> dict[int, int]:
        """How many bytes it takes from each state to the nearest end, in bytes that are tokens."""
        before: defaultdict[int, set[int]] = defaultdict(set)
        for state in self._rows:
            for byte in self.bytes_after(state):
                if byte in self.byte_tokens:
                    before[self._rows[state][self._symbols[byte]]].add(state)
        distances: dict[int, int] = dict.fromkeys(map(int, self.fsm.finals), 0)
        queue = deque(distances)
        while queue:
            at = queue.popleft()
            for state in before[at] - distances.keys():
                distances[state] = distances[at] + 1
                queue.append(state)
        return distances
