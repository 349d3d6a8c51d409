"""Grammars as tensors: a text is followed, and its mask applied, by index operations where the scores are.

Idea: a grammar is exported as a table over tokens (core/runtime/token_table.hpp). A state contains everything that is
open in a text, so that a step is one lookup: ``next[state, class of token]``; tokens that no state distinguishes are
one class. The tables of several grammars are concatenated in flat tensors, and a row of a batch is a pair (grammar,
state), so one batch mixes many grammars without a branch. No step synchronises with the device: no ``.item()``, no
``nonzero``, no copy to the host, so that a step can be captured in a CUDA graph. (STATIC, 2026, arXiv:2602.22647, keeps
tries on the accelerator in this way; stack and registers are part of the state here.)

A grammar is *closed* when each of its states has a row. If recursion or wide bounds leave it open, a row may come to a
state without one, or to `HOST`, where the future depends on the text (keys that must not be repeated): `faults` finds
these rows, `page_in` computes the missing entries. Both wait for the device; closed grammars need neither.

Invariants: local states 0, 1 and 2 are `DEAD`, `OVER` and `HOST` in every grammar; local ids never change when a table
grows; grammar 0 of the tensors is the one of rows without a constraint. How the tensors grow:
`schemagen.device.regions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from schemagen.device.kernels import advance, allowed_tokens
from schemagen.device.regions import FREE, HOST, Regions
from schemagen.errors import LimitError, MatcherError, VocabularyError
from schemagen.masks.rows import BITS, words_of
from schemagen.threads.forking import long_lock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.engine.protocol import Constraint

#: Default number of states of a grammar that are computed in advance.
MAX_STATES = 2048
_PAGE = 128
#: As in core/masks/budget_masks.cpp: by how much one token may raise the tokens needed, where these are not computed.
_SLACK = 64
_lock = long_lock()


class DeviceTables:
    """The tables of some grammars on one device.

    Args:
        grammars: Over one vocabulary, by the compiled engine.
        device: Where the tables live.
        width: The width of the logits; tokens beyond the vocabulary are never allowed. By default the size of the
            vocabulary.
        pad_token_id: Allowed, besides EOS, in rows that have ended.
        max_states: How many states of each grammar are computed in advance; others follow when a text reaches them.

    Attributes:
        tensors: The tables, see `schemagen.device.kernels.Tables`.
        is_closed: Whether every state of every grammar has its row, so that `faults` never finds anything.
        farthest: Most tokens that any state with a row needs to finish; a budget above it constrains nothing.

    Raises:
        MatcherError: A grammar has no table.
        VocabularyError: The vocabularies differ, or the list is empty.

    Cost: for a vocabulary of 128,000 tokens about 0.1 ms a state, 9 ms for one inside a string; memory for each state some
    hundred entries of four bytes, for each distinct mask V/8 bytes.
    """

    def __init__(
        self,
        grammars: Sequence[Constraint],
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
        ending = words_of(self._ends, -(-self._width // BITS))
        with _lock:
            #: Grammars whose tables have come to their limits.
            self._full = set[int]()
            for index, table in enumerate(self._tables):
                self._expand(index, (), max(0, max_states - int(table.ready().sum())))
            self._regions = Regions(self._tables, self.device, self._width, ending)
            self._publish()

    def starts(self, rows: Sequence[int | None]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return for each row of a batch its grammar (an index into `grammars`, None if unconstrained) and first state.

        Returns:
            Two int64 tensors [B]: as `advance` and `mask` take them.
        """
        owners = [0 if index is None else index + 1 for index in rows]
        states = [FREE if index is None else self._tables[index].start for index in rows]
        return self._tensor(owners, torch.int64), self._tensor(states, torch.int64)

    def advance(self, owners: torch.Tensor, states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return the states int64 [B] after one token each; `DEAD` if the grammar forbids the token."""
        return advance(self.tensors, owners, states, tokens)

    def mask(
        self, owners: torch.Tensor, states: torch.Tensor, scores: torch.Tensor, budgets: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the scores [B, V] with ``-inf`` where a token is not allowed.

        Args:
            owners: int64 [B], from `starts`.
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
        """Compute the rows of some states, each given with its grammar, and load them; `HOST` has none.

        It also computes one more page of states, those found first, which texts will reach next. A table that comes to the
        limits of its grammar stays as it is: states without a row are masked on the host from then on.
        """
        with _lock:
            for index in {index for index, _ in places}:
                self._expand(index, [state for of, state in places if of == index and state > HOST], _PAGE)
                self._regions.refresh(index + 1, self._tables[index])
            self._publish()

    def _expand(self, index: int, states: Sequence[int], more: int) -> None:
        """Compute the rows of some states of a grammar, and of some more, as far as its limits go."""
        if index in self._full:
            return
        try:
            for state in states:
                self._tables[index].expand_state(state)
            self._tables[index].expand(more)
        except LimitError:
            self._full.add(index)

    def has_row(self, index: int, state: int) -> bool:
        """Whether a state of a grammar has a row in the tables."""
        return state != HOST and self._regions.has_row(index + 1, state)

    def state_of(self, index: int, matcher: Any) -> int:
        """Return the state of a matcher of a grammar, `HOST` if it has none."""
        if index in self._full:
            return HOST
        with _lock:
            try:
                state = int(self._tables[index].state_of(matcher))
            except LimitError:
                self._full.add(index)
                return HOST
        if not self.has_row(index, state):
            self.page_in([(index, state)])
        return state if self.has_row(index, state) else HOST

    def _publish(self) -> None:
        self.tensors = self._regions.tables()
        leads_out = any(table.leads_out for table in self._tables)
        self.is_closed = not leads_out and all(table.is_closed for table in self._tables)
        # The number of tokens needed is unknown for entries without a state.
        self.farthest = self._regions.most_needed() + 1 + (_SLACK if leads_out else 0)

    def _tensor(self, values: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.asarray(values)).to(self.device, dtype)


def _table_of(grammar: Constraint) -> Any:
    table = grammar.token_table
    if table is None:
        raise MatcherError(
            f"{grammar!r} has no table over tokens",
            why="a grammar that counts tokens, such as that of thoughts, has no table",
            fix="decode with schemagen.LogitsProcessor",
            code="no-table",
        )
    return table
