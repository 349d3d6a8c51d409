"""Grammars as tensors: a text is followed, and its mask applied, by index operations where the scores are.

Idea: a grammar is exported as a table over tokens (core/token_table.hpp). A state is everything that is open in a text,
so that a step is one lookup: ``next[state, class of token]``; tokens that no state tells apart are one class. The
tables of several grammars lie behind one another in flat tensors, and a row of a batch is a pair (grammar, state), so
one batch mixes many grammars without a branch. Nothing here asks the device for a value: no ``.item()``, no ``nonzero``,
no copy to the host, so that a step can be captured in a CUDA graph. (STATIC, 2026, arXiv:2602.22647, keeps tries on the
accelerator in this way; stack and registers are part of the state here.)

A grammar is *closed* when each of its states has a row. Where recursion or wide bounds leave it open, a row may come to a
state without one, or to `HOST`, where the future depends on the text (keys that must not be repeated): `faults` tells
which rows these are, `page_in` makes their rows. Both wait for the device; for closed grammars neither is needed.

Invariants: local states 0, 1 and 2 are `DEAD`, `OVER` and `HOST` in every grammar; local ids never change when a table
grows; grammar 0 of the tensors is the one of rows without a constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from schemagen.device.kernels import Tables, advance, allowed_tokens
from schemagen.errors import MatcherError, VocabularyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.compiler import Grammar

#: The text went against its grammar / has ended / depends on more than a state.
DEAD, OVER, HOST = 0, 1, 2
#: The state of rows without a constraint.
FREE = 3
#: States of a grammar that are worked out beforehand, by default.
MAX_STATES = 2048
_BITS = 32
_PAGE = 128
#: As in core/completion.cpp: by how much one token may raise what is needed, where that is not worked out.
_SLACK = 64
_lock = Lock()


class DeviceTables:
    """The tables of some grammars on one device.

    Args:
        grammars: Over one vocabulary, by the compiled engine.
        device: Where the tables live.
        width: Of the logits; tokens beyond the vocabulary are never allowed. By default the size of the vocabulary.
        pad_token_id: Allowed, besides EOS, in rows that have ended.
        max_states: How many states of each grammar are worked out beforehand; others follow when a text comes to them.

    Attributes:
        tensors: The tables, see `schemagen.device.kernels.Tables`.
        is_closed: Whether every state of every grammar has its row, so that `faults` never finds anything.
        farthest: Most tokens that any state with a row needs to finish; a budget above it constrains nothing.

    Raises:
        MatcherError: A grammar has no table.
        VocabularyError: The vocabularies differ, or there is no grammar.

    Cost: for a vocabulary of 128,000 tokens about 0.1 ms a state, 9 ms for one inside a string; memory for each state some
    hundred entries of four bytes, for each distinct mask V/8 bytes.
    """

    def __init__(
        self,
        grammars: Sequence[Grammar],
        device: torch.device | str = "cpu",
        *,
        width: int | None = None,
        pad_token_id: int | None = None,
        max_states: int = MAX_STATES,
    ) -> None:
        self._grammars = list(grammars)
        self._tables = [_table_of(grammar) for grammar in self._grammars]
        vocabularies = {grammar.vocabulary.fingerprint: grammar.vocabulary for grammar in self._grammars}
        if len(vocabularies) != 1:
            raise VocabularyError(
                f"{len(vocabularies)} vocabularies for one set of tables",
                why="all rows of a batch have the logits of one model",
                fix="compile all grammars with the same vocabulary",
            )
        self.vocabulary = next(iter(vocabularies.values()))
        self.device = torch.device(device)
        self._width = self.vocabulary.size if width is None else width
        ends = {*self.vocabulary.eos_token_ids, *(() if pad_token_id is None else (pad_token_id,))}
        self._ends = sorted(token_id for token_id in ends if token_id < self._width)
        with _lock:
            for table in self._tables:
                table.expand(max(0, max_states - len(table)))
                while not table.is_closed and len(table) < max_states and table.expand(256):
                    pass
        self._load()

    def starts(self, rows: Sequence[int | None]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return for each row of a batch its grammar (an index into `grammars`, None: no constraint) and first state.

        Returns:
            Two int64 tensors [B]: as `advance` and `mask` take them.
        """
        owners = [0 if index is None else index + 1 for index in rows]
        states = [FREE if index is None else self._tables[index].start for index in rows]
        return self._tensor(owners, torch.int64), self._tensor(states, torch.int64)

    def advance(self, owners: torch.Tensor, states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return the states int64 [B] behind a token each; `DEAD` where the grammar forbids it."""
        return advance(self.tensors, owners, states, tokens)

    def mask(
        self, owners: torch.Tensor, states: torch.Tensor, scores: torch.Tensor, budgets: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the scores [B, V] with ``-inf`` where a token is not allowed.

        Args:
            owners: int64 [B], of `starts`.
            states: int64 [B].
            scores: float [B, V] on the device of the tables.
            budgets: int64 [B]: how many tokens may still come; see `Matcher.fill_next_token_bitmask`.
        """
        return scores.masked_fill(~allowed_tokens(self.tensors, owners, states, budgets), float("-inf"))

    def faults(self, owners: torch.Tensor, states: torch.Tensor) -> list[int]:
        """Return the rows whose state has no row in the tables. Waits for the device."""
        missing = ~self.tensors.ready[self.tensors.bases[owners] + states]
        return [int(row) for row in missing.nonzero().flatten().tolist()]

    def page_in(self, places: Sequence[tuple[int, int]]) -> None:
        """Work out the rows of some states, each given with its grammar, and load them; `HOST` has none.

        As many states again as a page holds are worked out with them, those found first: texts come there next.
        """
        with _lock:
            for index, state in places:
                if state > HOST:
                    self._tables[index].expand_state(state)
            for index in {index for index, _ in places}:
                self._tables[index].expand(_PAGE)
        self._load()

    def state_of(self, index: int, matcher: Any) -> int:
        """Return the state in which a matcher of a grammar is, `HOST` if there is none."""
        with _lock:
            state = int(self._tables[index].state_of(matcher))
        if state != HOST and not self._has_row(index, state):
            self.page_in([(index, state)])
        return state

    def _has_row(self, index: int, state: int) -> bool:
        """Whether a state is worked out in the tensors, not only in the table that they were made of."""
        return state < self._sizes[index + 1] and bool(self._ready[index + 1][state])

    def _load(self) -> None:
        """Put the tables behind one another, and on the device."""
        words = -(-self._width // _BITS)
        ending = _words_of(self._ends, words)
        parts = [_free_part(self._width, words, ending)]
        with _lock:
            parts += [_part_of(table, self._width, words, ending) for table in self._tables]
            leads_out = any(table.leads_out for table in self._tables)
            self.is_closed = not leads_out and all(table.is_closed for table in self._tables)
        self._sizes = [part.states for part in parts]
        self._ready = [part.ready for part in parts]
        masks = np.concatenate([part.masks for part in parts])
        firsts = np.cumsum([0, *(len(part.masks) for part in parts[:-1])])
        needed = np.concatenate([part.needed for part in parts])
        self.farthest = int(needed[needed < np.iinfo(np.int32).max].max(initial=0)) + 1
        if leads_out:  # what is needed in places without a state is not known
            self.farthest += _SLACK
        self.tensors = Tables(
            classes=self._tensor(np.stack([part.classes for part in parts]), torch.int32),
            transitions=self._tensor(np.concatenate([part.transitions.ravel() for part in parts]), torch.int32),
            firsts=self._tensor(np.cumsum([0, *(part.transitions.size for part in parts[:-1])]), torch.int64),
            widths=self._tensor([part.transitions.shape[1] for part in parts], torch.int64),
            bases=self._tensor(np.cumsum([0, *self._sizes[:-1]]), torch.int64),
            mask_ids=self._tensor(
                np.concatenate([part.mask_ids + first for part, first in zip(parts, firsts, strict=True)]), torch.int64
            ),
            masks=self._tensor(masks, torch.int32),
            needed=self._tensor(needed, torch.int32),
            ready=self._tensor(np.concatenate([part.ready for part in parts]), torch.bool),
            ends=self._tensor(_bits_of(ending, self._width), torch.bool),
            width=self._width,
        )

    def _tensor(self, values: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.asarray(values)).to(self.device, dtype)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one grammar adds to the tensors; see `schemagen.device.kernels.Tables`."""

    classes: Any
    transitions: Any
    mask_ids: Any
    masks: Any
    needed: Any
    ready: Any

    @property
    def states(self) -> int:
        """How many states it has, the special ones included."""
        return len(self.mask_ids)


def _part_of(table: Any, width: int, words: int, ending: Any) -> _Part:
    """The part of a grammar; ended and dead rows have the mask of what may follow an end."""
    masks = np.concatenate([_fitted(table.masks().T, words).T, ending[None]])
    mask_ids = table.mask_ids().astype(np.int64)
    ready = table.ready().astype(bool)
    mask_ids[[DEAD, OVER]] = len(masks) - 1
    ready[[DEAD, OVER]] = True
    return _Part(_fitted(table.classes(), width), table.transitions(), mask_ids, masks, table.needed(), ready)


def _free_part(width: int, words: int, ending: Any) -> _Part:
    """The part of rows without a constraint: state `FREE` leads to itself and allows all."""
    count = FREE + 1
    return _Part(
        classes=np.zeros(width, dtype=np.int32),
        transitions=np.arange(count, dtype=np.int32)[:, None],
        mask_ids=np.array([0] * FREE + [1], dtype=np.int64),
        masks=np.stack([ending, np.full(words, -1, dtype=np.int32)]),
        needed=np.zeros(count, dtype=np.int32),
        ready=np.ones(count, dtype=bool),
    )


def _table_of(grammar: Grammar) -> Any:
    table = getattr(grammar, "token_table", None)
    if table is None:
        raise MatcherError(
            f"{grammar!r} has no table over tokens",
            why="only grammars of the compiled engine are exported",
            fix='compile it with engine="native", or decode with schemagen.LogitsProcessor',
            code="no-table",
        )
    return table


def _fitted(values: Any, length: int) -> Any:
    """Cut or pad an array with zeros at its first axis."""
    missing = length - len(values)
    return values[:length] if missing <= 0 else np.pad(values, [(0, missing)] + [(0, 0)] * (values.ndim - 1))


def _words_of(token_ids: Sequence[int], words: int) -> Any:
    bits = np.zeros(words * _BITS, dtype=bool)
    bits[list(token_ids)] = True
    return np.packbits(bits, bitorder="little").view(np.int32)


def _bits_of(words: Any, width: int) -> Any:
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:width].astype(bool)
