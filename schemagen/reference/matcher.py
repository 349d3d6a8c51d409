"""The cursor of one text over an engine in pure Python, whatever the states of that engine are.

An engine gives the state after a byte, and whether a text may end; masks, completions and budgets follow from that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_bytes, check_fill, check_steps, check_token_id, shown
from schemagen.engine.protocol import MAX_FORCED
from schemagen.errors import DeadEndError, MatcherError, MatcherTerminatedError
from schemagen.masks.rows import row_of
from schemagen.vocabulary.marks import DIGITS, is_marked, without_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.vocabulary import Vocabulary


class ByteEngine(ABC):
    """A language over bytes, and a vocabulary: what matchers walk.

    States are what the subclass says; from each a text comes to an end.

    Attributes:
        vocabulary: The tokens of the model.
        start: The state before the first byte.
    """

    vocabulary: Vocabulary
    start: Any

    @abstractmethod
    def after(self, state: Any, byte: int) -> Any:
        """Return the state after a byte; None if the byte cannot follow."""

    @abstractmethod
    def bytes_after(self, state: Any) -> list[int]:
        """Return the bytes that can follow a state, ascending."""

    @abstractmethod
    def is_final(self, state: Any) -> bool:
        """Whether the text may end in a state."""

    @abstractmethod
    def mask(self, state: Any) -> Mask:
        """Return the tokens allowed in a state, EOS ids included if the text may end there."""

    @abstractmethod
    def bytes_to_end(self, state: Any) -> int | None:
        """Return how many bytes that are tokens it takes to the nearest end; None if these do not suffice."""

    def matcher(self) -> ReferenceMatcher:
        """Return a cursor at the start."""
        return ReferenceMatcher(self)

    def step(self, state: Any, data: bytes) -> Any:
        """Return the state after some bytes, or None if they cannot follow."""
        return self.read(state, data)[1]

    def read(self, state: Any, data: bytes) -> tuple[int, Any]:
        """Return how many of the bytes can follow a state, and the state after them if all can."""
        for at, byte in enumerate(data):
            following = self.after(state, byte)
            if following is None:
                return at, None
            state = following
        return len(data), state

    def completion(self, state: Any) -> bytes | None:
        """Return the text of the fewest bytes that leads to an end, the first in order; None without bytes as tokens."""
        left = self.bytes_to_end(state)
        if left is None:
            return None
        text = bytearray()
        while left:
            for byte in self.bytes_after(state):
                following = self.after(state, byte)
                if byte in self.byte_tokens and self.bytes_to_end(following) == left - 1:
                    text.append(byte)
                    state, left = following, left - 1
                    break
        return bytes(text)

    def tokens_to_finish(self, state: Any) -> int | None:
        """Return how many tokens spell the completion of a state at best; None if it has none."""
        text = self.completion(state)
        return None if text is None else self._fewest_tokens(text)

    def _fewest_tokens(self, text: bytes) -> int:
        """Return the least number of tokens whose bytes are the text."""
        fewest = [0.0] * (len(text) + 1)
        for begin in range(len(text) - 1, -1, -1):
            ends = (
                begin + len(token)
                for _, token in self.tokens_by_first_byte[text[begin]]
                if text.startswith(token, begin)
            )
            fewest[begin] = 1 + min((fewest[end] for end in ends), default=math.inf)  # within a mark there are none
        return int(fewest[0])

    @cached_property
    def byte_tokens(self) -> frozenset[int]:
        """The bytes that are tokens, and those of marks: after the first byte of one all of it has to follow."""
        tokens = self.vocabulary.tokens
        return frozenset(byte for token in tokens if len(token) == 1 or not without_marks(token) for byte in token)

    @cached_property
    def tokens_by_first_byte(self) -> defaultdict[int, list[tuple[int, bytes]]]:
        """Ids and bytes of the tokens by what line 4 of Algorithm 3 asks for: their first symbol."""
        tokens: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for token_id, token in enumerate(self.vocabulary.tokens):
            if token:
                tokens[token[0]].append((token_id, token))
        return defaultdict(list, tokens)


@dataclass(frozen=True, slots=True)
class Mask:
    """Allowed ids, ascending, and the same as little-endian int32 words."""

    ids: tuple[int, ...]
    words: bytes

    @classmethod
    def of(cls, ids: list[int], size: int) -> Mask:
        """Set one bit for each id."""
        words = bytearray(4 * -(-size // 32))
        for token_id in ids:
            words[token_id >> 3] |= 1 << (token_id & 7)
        return cls(tuple(ids), bytes(words))


@dataclass(frozen=True, slots=True)
class _Step:
    """An accepted step; steps are shared between a matcher and its forks."""

    state: Any
    count: int = 0
    terminated: bool = False
    previous: _Step | None = None


class ReferenceMatcher:
    """The cursor of one sequence over a `ByteEngine`; see `schemagen.engine.protocol.Matcher`."""

    __slots__ = ("_engine", "_step")

    def __init__(self, engine: ByteEngine, step: _Step | None = None) -> None:
        self._engine = engine
        self._step = step or _Step(engine.start)

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
        ends, token = token_id in vocabulary.eos_token_ids, vocabulary.tokens[token_id]
        state = self._engine.step(self._step.state, token) if token else None
        if state is not None:
            return self._push(state, terminated=ends and self._engine.is_final(state))
        return ends and self.is_accepting() and self._push(self._step.state, terminated=True)

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`."""
        check_bytes(data)
        if self._step.terminated or (self._engine.vocabulary.has_marks and is_marked(data)):
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

    @property
    def steps(self) -> int:
        """How many steps `rollback` can undo."""
        return self._step.count

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._step.terminated

    def tokens_to_finish(self) -> int | None:
        """Return how many tokens the shortest completion takes; None if the vocabulary lacks its bytes."""
        return 0 if self._step.terminated else self._engine.tokens_to_finish(self._step.state)

    def shortest_completion(self) -> bytes:
        """Return the completion of the fewest bytes, the first of them in order."""
        return b"" if self._step.terminated else without_marks(self._engine.completion(self._step.state) or b"")

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
        self._step = _Step(self._engine.start)

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

    def forced_run(self, most: int = MAX_FORCED) -> list[int]:
        """Return the forced tokens, at most ``most`` of them."""
        return self.forced_tokens()[:most]

    def temperature(self) -> None:
        """Return None, because this engine reads no temperatures."""

    def place(self) -> int:
        """Return 0: two texts are not compared here."""
        return 0

    def captures(self, complete: bool | None = None) -> list[tuple[str, int, int | None]]:  # noqa: ARG002 - the protocol
        """Refuse, because this engine reads grammars without their labels.

        Raises:
            MatcherError: Always.
        """
        raise MatcherError("captures in the reference engine", fix="use the matcher of schemagen.compile")

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
        token = vocabulary.tokens[token_id]
        marked = vocabulary.has_marks and is_marked(token)
        if marked and self._engine.step(self._step.state, token) is not None:
            return f"{name} is allowed: the grammar names it here"
        if token_id in vocabulary.eos_token_ids:
            verdict = (
                "allowed: the text may end here" if self.is_accepting() else "not allowed: the text is not complete"
            )
            return f"{name} (EOS) is {verdict}"
        if not token:
            return f"{name} is not allowed: it is a special or padding id without text"
        read, state = self._engine.read(self._step.state, token)
        if state is not None:
            return f"{name} {token!r} is allowed"
        stopped = self._engine.step(self._step.state, token[:read])
        assert stopped is not None, "the bytes that were read lead to a state"
        expected = show_bytes(self._engine.bytes_after(stopped)) or "the end of the text"
        if marked:
            return f"{name} is not allowed: {expected} is expected"
        return f"{name} {token!r} is not allowed: after {read} of its {len(token)} bytes, {expected} is expected"

    def _mask(self) -> Mask:
        if self._step.terminated:
            raise MatcherTerminatedError(
                "the matcher has accepted EOS",
                why="nothing can follow the end of the text",
                fix="call reset(), rollback() or take a new matcher",
            )
        return self._engine.mask(self._step.state)

    def _within(self, budget: int) -> Mask:
        """Return the mask without the tokens after which too many are needed."""
        mask, vocabulary = self._mask(), self._engine.vocabulary
        needed = self._engine.tokens_to_finish(self._step.state)
        if needed is None:
            return mask
        budget = max(budget, needed)
        kept = [
            token_id
            for token_id in mask.ids
            if (token_id in vocabulary.eos_token_ids and self.is_accepting()) or self._fits(token_id, budget)
        ]
        return Mask.of(kept, vocabulary.size)

    def _fits(self, token_id: int, budget: int) -> bool:
        """Whether the text can be finished within a budget if it goes on with an allowed token."""
        following = self._engine.step(self._step.state, self._engine.vocabulary.tokens[token_id])
        beyond = None if following is None else self._engine.tokens_to_finish(following)
        return beyond is not None and beyond < budget

    def _push(self, state: Any, *, terminated: bool = False) -> bool:
        self._step = _Step(state, self._step.count + 1, terminated, self._step)
        return True


def show_bytes(values: Sequence[int]) -> str:
    """Return a short text for bytes in ascending order: characters and ranges, at most eight of them, and what marks are."""
    texts = [byte for byte in values if byte not in DIGITS]
    if len(texts) < len(values):
        return " ".join(filter(None, [show_bytes(texts), "a token that the grammar names"]))
    starts = [byte for byte in values if byte - 1 not in values]
    ends = [byte for byte in values if byte + 1 not in values]
    shown = [_show(a) if a == b else f"{_show(a)}-{_show(b)}" for a, b in zip(starts, ends, strict=True)]
    return " ".join([*shown[:8], *(["..."] if len(shown) > 8 else [])])


def _show(byte: int) -> str:
    return repr(chr(byte)) if 0x20 <= byte < 0x7F else f"0x{byte:02X}"
