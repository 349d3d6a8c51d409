"""The reference engine: Willard & Louf (2023, arXiv:2307.09702v4) as an executable specification, in pure Python.

The expression becomes an FSM over bytes (`fsm.py`), and the index sigma from its states to the tokens that
may follow is the one of Algorithms 3 and 4. This engine is what the compiled one is compared with, what the
documentation explains, and what an installation without the compiled core runs on.

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
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from schemagen.arguments import check_bytes, check_fill, check_steps, check_token_id, shown
from schemagen.engine.reference.fsm import byte_fsm, rows_of, symbols_of
from schemagen.errors import (
    DeadEndError,
    MatcherTerminatedError,
    UnsatisfiableSchemaError,
)
from schemagen.masks.rows import row_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interegular.fsm import FSM

    from schemagen.regex.ast import Regex
    from schemagen.vocabulary import Vocabulary

#: Most tokens that `ReferenceMatcher.forced_tokens` follows: a regex like ``a*`` over one token forces without end.
MAX_FORCED = 1024


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
class ReferenceEngine:
    """A regular expression over a vocabulary, all states built beforehand; immutable, safe to share between threads.

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
        if not self.fsm.finals:
            raise UnsatisfiableSchemaError(
                "no text can match the pattern", why="its parts exclude each other", fix="correct the pattern"
            )
        self._rows, self._symbols = rows_of(self.fsm), symbols_of(self.fsm, range(256))
        self._masks: dict[int, _Mask] = {}
        self._tokens_to_end: dict[int, int | None] = {}

    @cached_property
    def token_index(self) -> dict[int, set[int]]:
        """The whole index of Algorithm 4: state -> token ids, EOS apart."""
        return map_states_to_vocab(self.fsm, self.vocabulary.tokens)

    @property
    def state_count(self) -> int:
        """Number of states of the automaton."""
        return len(self._rows)

    def matcher(self) -> ReferenceMatcher:
        """Return a cursor at the start."""
        return ReferenceMatcher(self)

    def step(self, state: int, data: bytes) -> int | None:
        """Return the state after some bytes, or None if they cannot follow."""
        return self.read(state, data)[1]

    def read(self, state: int, data: bytes) -> tuple[int, int | None]:
        """Return how many of the bytes can follow a state, and the state after them if all can."""
        rows, symbols = self._rows, self._symbols
        for i, byte in enumerate(data):
            following = rows[state].get(symbols[byte])
            if following is None:
                return i, None
            state = following
        return len(data), state

    def bytes_after(self, state: int) -> list[int]:
        """Return the bytes that can follow a state, ascending."""
        row = self._rows[state]
        return [byte for byte, symbol in enumerate(self._symbols) if symbol in row]

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        return state in self.fsm.finals

    def mask(self, state: int) -> _Mask:
        """Return the tokens allowed in a state, EOS ids included if the text may end there."""
        known = self._masks.get(state)
        if known is None:
            ids = [
                token_id
                for byte in self.bytes_after(state)
                for token_id, token in self._tokens_by_first_byte[byte]
                if self.step(state, token) is not None
            ]
            if self.is_final(state):
                ids.extend(self.vocabulary.eos_token_ids)
            known = self._masks[state] = _Mask.of(sorted(ids), self.vocabulary.size)
        return known

    def completion(self, state: int) -> bytes | None:
        """Return the text of the fewest bytes that leads to an end, the first in order; None without bytes as tokens."""
        if state not in self._bytes_to_end:
            return None
        text = bytearray()
        while left := self._bytes_to_end[state]:
            for byte in self.bytes_after(state):
                following = self._rows[state][self._symbols[byte]]
                if byte in self._token_ids_of_bytes and self._bytes_to_end.get(following) == left - 1:
                    text.append(byte)
                    state = following
                    break
        return bytes(text)

    def tokens_to_finish(self, state: int) -> int | None:
        """Return how many tokens spell the completion of a state at best; None if it has none."""
        if state not in self._tokens_to_end:
            text = self.completion(state)
            self._tokens_to_end[state] = None if text is None else self._fewest_tokens(text)
        return self._tokens_to_end[state]

    def _fewest_tokens(self, text: bytes) -> int:
        """Return the least number of tokens whose bytes are the text."""
        fewest = [0] * (len(text) + 1)
        for begin in range(len(text) - 1, -1, -1):
            ends = (
                begin + len(token)
                for _, token in self._tokens_by_first_byte[text[begin]]
                if text.startswith(token, begin)
            )
            fewest[begin] = 1 + min(fewest[end] for end in ends)
        return fewest[0]

    @cached_property
    def _token_ids_of_bytes(self) -> frozenset[int]:
        """The bytes that are tokens."""
        return frozenset(token[0] for token in self.vocabulary.tokens if len(token) == 1)

    @cached_property
    def _bytes_to_end(self) -> dict[int, int]:
        """How many bytes it takes from each state to the nearest end, in bytes that are tokens."""
        before: defaultdict[int, set[int]] = defaultdict(set)
        for state in self._rows:
            for byte in self.bytes_after(state):
                if byte in self._token_ids_of_bytes:
                    before[self._rows[state][self._symbols[byte]]].add(state)
        distances: dict[int, int] = dict.fromkeys(map(int, self.fsm.finals), 0)
        queue = deque(distances)
        while queue:
            at = queue.popleft()
            for state in before[at] - distances.keys():
                distances[state] = distances[at] + 1
                queue.append(state)
        return distances

    @cached_property
    def _tokens_by_first_byte(self) -> defaultdict[int, list[tuple[int, bytes]]]:
        """Ids and bytes of the tokens by what line 4 of Algorithm 3 asks for: their first symbol."""
        tokens: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for token_id, token in enumerate(self.vocabulary.tokens):
            if token:
                tokens[token[0]].append((token_id, token))
        return defaultdict(list, tokens)


@dataclass(frozen=True, slots=True)
class _Mask:
    """Allowed ids, ascending, and the same as little-endian int32 words."""

    ids: tuple[int, ...]
    words: bytes

    @classmethod
    def of(cls, ids: list[int], size: int) -> _Mask:
        """Set one bit for each id."""
        words = bytearray(4 * -(-size // 32))
        for token_id in ids:
            words[token_id >> 3] |= 1 << (token_id & 7)
        return cls(tuple(ids), bytes(words))


@dataclass(frozen=True, slots=True)
class _Step:
    """An accepted step; steps are shared between a matcher and its forks."""

    state: int
    count: int = 0
    terminated: bool = False
    previous: _Step | None = None


class ReferenceMatcher:
    """The cursor of one sequence over a `ReferenceEngine`; see `schemagen.engine.protocol.Matcher`."""

    __slots__ = ("_engine", "_step")

    def __init__(self, engine: ReferenceEngine, step: _Step | None = None) -> None:
        self._engine = engine
        self._step = step or _Step(engine.fsm.initial)

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Args:
            bitmask: int32 ``[B, ceil(V/32)]`` on the CPU (torch or numpy). Only ``row`` is written.
            row: ``0 <= row < B``.
            budget: How many tokens may still come; see `schemagen.engine.protocol.Matcher`.

        Raises:
            MatcherTerminatedError: EOS was already accepted.
            BitmaskShapeError: dtype, device or width differ from the above, or ``row`` is out of range.
            DeadEndError: The vocabulary has no token that continues the text.
            OptionError: ``budget`` is negative, or one of both is no whole number.

        Cost: O(V) when a state is asked for the first time, a copy of the mask afterwards; with a budget O(V).
        """
        import numpy as np

        row, budget = check_fill(row, budget)
        target = row_of(bitmask, row, self._engine.vocabulary.size)
        mask = self._mask() if budget is None else self._within(budget)
        if not mask.ids and not self._engine.vocabulary.eos_token_ids and self.is_accepting():
            raise DeadEndError(
                f"no token is allowed after {self._step.count} steps",
                why="the text is complete, and the vocabulary has no EOS id to end it with",
                fix="stop at matcher.is_accepting(), or build the vocabulary with eos_token_ids=[...]",
            )
        if not mask.ids:
            raise DeadEndError(
                f"no token is allowed after {self._step.count} steps",
                why="no token of the vocabulary continues the text and it may not end here",
                fix="use a vocabulary with every byte as a token",
            )
        target[:] = np.frombuffer(mask.words, dtype="<i4")
        return len(mask.ids) != self._engine.vocabulary.size

    def __repr__(self) -> str:
        """Show whether the text has ended."""
        return f"ReferenceMatcher(terminated={self._step.terminated})"

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed."""
        vocabulary, token_id = self._engine.vocabulary, check_token_id("accept_token", token_id)
        if self._step.terminated or not 0 <= token_id < vocabulary.size:
            return False
        if token_id in vocabulary.eos_token_ids:
            return self.is_accepting() and self._push(self._step.state, terminated=True)
        token = vocabulary.tokens[token_id]
        return bool(token) and self.accept_bytes(token)

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`."""
        check_bytes(data)
        if self._step.terminated:
            return False
        state = self._engine.step(self._step.state, data)
        return state is not None and self._push(state)

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        return self._engine.is_final(self._step.state)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._engine.vocabulary.eos_token_ids

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._step.terminated

    def tokens_to_finish(self) -> int | None:
        """Return how many tokens the shortest completion takes; None if the vocabulary lacks its bytes."""
        return 0 if self._step.terminated else self._engine.tokens_to_finish(self._step.state)

    def shortest_completion(self) -> bytes:
        """Return the completion of the fewest bytes, the first of them in order."""
        return b"" if self._step.terminated else self._engine.completion(self._step.state) or b""

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps.

        Raises:
            MatcherError: Fewer steps were accepted, or ``count`` is negative.
            OptionTypeError: It is no whole number.
        """
        for _ in range(check_steps(count, self._step.count)):
            self._step = self._step.previous or self._step

    def fork(self) -> ReferenceMatcher:
        """Return an independent copy, in O(1)."""
        return ReferenceMatcher(self._engine, self._step)

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> ReferenceMatcher:
        """Return what `fork` returns: the grammar never changes, and is shared."""
        return self.fork()

    def reset(self) -> None:
        """Go back to the start."""
        self._step = _Step(self._engine.fsm.initial)

    def forced_tokens(self) -> list[int]:
        """Return the tokens that follow here without any choice, at most `MAX_FORCED`; EOS is never among them."""
        forced: list[int] = []
        cursor = self.fork()
        while not cursor.is_terminated() and len(forced) < MAX_FORCED:
            ids = cursor.allowed_tokens()
            if len(ids) != 1 or ids[0] in self._engine.vocabulary.eos_token_ids:
                break
            cursor.accept_token(ids[0])
            forced.extend(ids)
        return forced

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end).

        Raises:
            MatcherTerminatedError: EOS was already accepted.
        """
        return list(self._mask().ids)

    def explain(self, token_id: int) -> str:
        """Say in a sentence why a token is, or is not, allowed here."""
        vocabulary, token_id = self._engine.vocabulary, check_token_id("explain", token_id)
        name = f"token {shown(token_id)}"
        if self._step.terminated:
            return f"{name} is not allowed: EOS was already accepted"
        if not 0 <= token_id < vocabulary.size:
            return f"{name} is not allowed: the vocabulary has {vocabulary.size} ids"
        if token_id in vocabulary.eos_token_ids:
            verdict = (
                "allowed: the text may end here" if self.is_accepting() else "not allowed: the text is not complete"
            )
            return f"{name} (EOS) is {verdict}"
        token = vocabulary.tokens[token_id]
        if not token:
            return f"{name} is not allowed: it is a special or padding id without text"
        read, state = self._engine.read(self._step.state, token)
        if state is not None:
            return f"{name} {token!r} is allowed"
        stopped = self._engine.step(self._step.state, token[:read])
        assert stopped is not None, "the bytes that were read lead to a state"
        expected = show_bytes(self._engine.bytes_after(stopped)) or "the end of the text"
        return f"{name} {token!r} is not allowed: after {read} of its {len(token)} bytes, {expected} is expected"

    def _mask(self) -> _Mask:
        """Return the mask of the current state."""
        if self._step.terminated:
            raise MatcherTerminatedError(
                "the matcher has accepted EOS",
                why="nothing can follow the end of the text",
                fix="call reset(), rollback() or take a new matcher",
            )
        return self._engine.mask(self._step.state)

    def _within(self, budget: int) -> _Mask:
        """Return the mask without the tokens behind which too many are needed."""
        mask, vocabulary = self._mask(), self._engine.vocabulary
        needed = self._engine.tokens_to_finish(self._step.state)
        if needed is None:
            return mask
        budget = max(budget, needed)
        kept = [
            token_id for token_id in mask.ids if token_id in vocabulary.eos_token_ids or self._fits(token_id, budget)
        ]
        return _Mask.of(kept, vocabulary.size)

    def _fits(self, token_id: int, budget: int) -> bool:
        """Whether the text can be finished within a budget if it goes on with an allowed token."""
        following = self._engine.step(self._step.state, self._engine.vocabulary.tokens[token_id])
        behind = None if following is None else self._engine.tokens_to_finish(following)
        return behind is not None and behind < budget

    def _push(self, state: int, *, terminated: bool = False) -> bool:
        """Take a step."""
        self._step = _Step(state, self._step.count + 1, terminated, self._step)
        return True


def show_bytes(values: Sequence[int]) -> str:
    """Return a short text for bytes in ascending order: characters and ranges, at most eight of them."""
    starts = [byte for byte in values if byte - 1 not in values]
    ends = [byte for byte in values if byte + 1 not in values]
    shown = [_show(a) if a == b else f"{_show(a)}-{_show(b)}" for a, b in zip(starts, ends, strict=True)]
    return " ".join([*shown[:8], *(["..."] if len(shown) > 8 else [])])


def _show(byte: int) -> str:
    """Return a byte as a quoted ASCII character or as a hexadecimal number."""
    return repr(chr(byte)) if 0x20 <= byte < 0x7F else f"0x{byte:02X}"
