"""`DeviceLogitsProcessor`: grammars as a processor of `transformers.generate` that never waits for the device.

Idea: `schemagen.decode.sequences` uses lists on the host; this module does the same with tensors on the device of the
scores. It keeps the states of all rows at every position beside the tokens that led to them. A call compares tokens to
find the row of the last call that each row continues, copies its states, and advances by the last token. So beams may
be permuted, rows repeated, candidates of assisted decoding cut off, and the object reused, without a synchronisation. A
row that continues no earlier row begins a new text.

Closed grammars (see `schemagen.device`) never wait. Other grammars wait once a step: states without a row in the tables
are paged in, and a matcher on the host masks rows whose future depends on the text.

`LogitsProcessor` allows the same tokens. But unusable logits, and a token that the grammar forbids, cannot raise at
once, because that would need a synchronisation: they end their row. So a row with broken logits is never complete, and
`DeviceLogitsProcessor.check` says why: its flags stay on the device until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from transformers import LogitsProcessor as TransformersLogitsProcessor

from schemagen.checks import check_grammars
from schemagen.decode.broken_logits import logits_error
from schemagen.decode.generate_call import TokenLimit
from schemagen.device import DeviceTables
from schemagen.device.regions import DEAD, HOST, OVER
from schemagen.device.tables import MAX_STATES
from schemagen.errors import BitmaskShapeError, MatcherError
from schemagen.masks.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from schemagen.masks.logits import has_overflow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.engine.protocol import Constraint, Matcher

#: Marks a row whose logits were never broken; larger than any number of steps.
_FINE = 2**62


class DeviceLogitsProcessor(TransformersLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Masks logits on their own device, without a copy or a wait where the grammars are closed.

    Pass it to ``model.generate(..., logits_processor=[processor])``, and the EOS ids of the vocabulary as
    ``eos_token_id``; then call `check`. Not safe for concurrent use by two threads.

    Args:
        grammar: One grammar for all rows, or one (or None, unconstrained) per prompt of the batch.
        max_new_tokens: The budget of each row: the mask makes the text complete within it. "auto" for the budget of the
            call of ``generate``, if there is one. None for no budget.
        pad_token_id: Allowed, besides EOS, in rows that are complete.
        max_states: How many states of each grammar are computed in advance.

    Raises:
        MatcherError: A grammar has no table.
        VocabularyError: The grammars have different vocabularies.
        OptionTypeError: A grammar has the wrong type.
        OptionError: ``max_new_tokens`` is negative, or not a whole number.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        grammar: Constraint | Sequence[Constraint | None],
        *,
        max_new_tokens: int | Literal["auto"] | None = "auto",
        pad_token_id: int | None = None,
        max_states: int = MAX_STATES,
    ) -> None:
        several: list[Any] = list(grammar) if isinstance(grammar, (list, tuple)) else [grammar]
        check_grammars(type(self).__name__, several)
        if not any(entry is not None for entry in several):
            raise MatcherError("no grammar for any row", fix="give a grammar, or a list with one per prompt")
        self._grammars = list(dict.fromkeys(entry for entry in several if entry is not None))
        self._of_prompt = [None if entry is None else self._grammars.index(entry) for entry in several]
        self._one_for_all = not isinstance(grammar, (list, tuple))
        self._token_limit = TokenLimit(max_new_tokens)
        self._pad_token_id = pad_token_id
        self._max_states = max_states
        self._start()

    def _start(self) -> None:
        """Set the state that is not copied or pickled."""
        self._tables: DeviceTables | None = None
        self._ended: torch.Tensor | None = None  # float [V]: the scores of a row that was given up
        self._budget: int | None = None
        self._first = 0  # tokens of the prompts
        self._rows: list[int | None] = []  # grammar of each row
        nothing = torch.empty(0, dtype=torch.int64)
        self._owners = self._starts = nothing  # int64 [B]
        self._states = nothing  # int64 [B, 1 + generated]
        self._begun = nothing  # int64 [B]: where the text of each row begins
        self._broken = nothing  # int64 [B]: see `_give_up`
        self.reset()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the arguments of the processor, without the tables and the generation."""
        made_of = ("_grammars", "_of_prompt", "_one_for_all", "_token_limit", "_pad_token_id", "_max_states")
        return {name: getattr(self, name) for name in made_of}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin anew with the same arguments."""
        self.__dict__.update(state)
        self._start()

    def reset(self) -> None:
        """Forget the last generation, to free its memory. A new generation is recognised without it."""
        self._ids: torch.Tensor | None = None
        self._texts: dict[int, tuple[list[int], Matcher]] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores with every forbidden token at ``-inf``.

        Args:
            input_ids: int64 [B, T].
            scores: float [B, V].

        Cost: a comparison of the tokens of all rows, some gathers of B entries, V/8 bytes a row of mask, one pass over
            the
        scores; no synchronisation if all grammars are closed.
        """
        tables = self._tables_for(scores)
        self._follow(tables, input_ids)
        states = self._states[:, -1]
        left, on_host = self._left(tables, input_ids), []
        if not tables.is_closed:
            on_host = self._page(tables, input_ids, states, near=left is not None)
            left = self._left(tables, input_ids)  # states that were paged in may need more tokens
        masked = tables.mask(self._owners, states, scores, left)
        for row in on_host:
            masked[row] = self._mask_on_host(row, input_ids, scores[row])
        return self._give_up(tables, input_ids, scores, masked)

    def check(self) -> None:
        """Raise if the model gave logits from which no token could be chosen; the text of such a row ends there.

        Raises:
            LogitsError: A logit was NaN or ``inf``, or those of all tokens that a grammar allowed were ``-inf``.

        Cost: one wait for the device.
        """
        for row, found in enumerate(self._broken.tolist()):
            if found == _FINE:
                continue
            step, overflows = divmod(found, 2)
            assert self._ids is not None, "rows come from a call"
            begun = int(self._begun[row])
            generated = self._ids[row, begun : begun + step].tolist()
            raise logits_error(
                None, overflows=bool(overflows), row=row, generated=generated, vocabulary=self._grammars[0].vocabulary
            )

    def _give_up(
        self, tables: DeviceTables, input_ids: torch.Tensor, scores: torch.Tensor, masked: torch.Tensor
    ) -> torch.Tensor:
        """Return the masked scores [B, V]; a row from which no token can be chosen gets the scores of an ended row.

        ``_broken`` records the step: twice the number of tokens generated before, plus one if a logit is NaN or
        ``inf``.

        Cost: two maxima and a copy of the scores; no synchronisation.
        """
        states = self._states[:, -1]
        overflows = has_overflow(scores[:, : tables.vocabulary.size], tables.vocabulary.eos_token_ids)
        broken = (overflows | (masked.amax(dim=-1) == float("-inf"))) & (self._owners > 0)
        is_live = states > OVER  # after the end of a text, logits are made fit for sampling and not recorded
        now = 2 * (input_ids.shape[1] - self._begun) + overflows.long()
        self._broken = torch.where(broken & is_live, now, _FINE).minimum(self._broken)
        self._states[:, -1] = states.masked_fill(broken & is_live, DEAD)
        return torch.where(broken.unsqueeze(-1), self._ended_like(masked), masked)

    def _ended_like(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores of a row that ends here, float [V], of the same dtype and device: EOS alone."""
        if self._ended is None or self._ended.dtype != scores.dtype or self._ended.device != scores.device:
            self._ended = torch.full_like(scores[0], float("-inf"))
            self._ended[list(self._grammars[0].vocabulary.eos_token_ids)] = 0
        return self._ended

    def _tables_for(self, scores: torch.Tensor) -> DeviceTables:
        """Make the tables when device and width of the scores are known."""
        tables = self._tables
        if tables is not None and tables.device == scores.device and tables.tensors.width == scores.shape[-1]:
            return tables
        size = self._grammars[0].vocabulary.size
        if scores.shape[-1] < size:
            raise BitmaskShapeError(
                f"logits of width {scores.shape[-1]} for a vocabulary of {size} tokens",
                why="the grammar was compiled for a wider vocabulary than the model's",
                fix="build the Vocabulary with vocab_size set to the width of the logits",
            )
        self._tables = DeviceTables(
            self._grammars,
            scores.device,
            width=scores.shape[-1],
            pad_token_id=self._pad_token_id,
            max_states=self._max_states,
        )
        self.reset()
        return self._tables

    def _follow(self, tables: DeviceTables, input_ids: torch.Tensor) -> None:
        """Update the states to the last position of the rows.

        ``_states[b, k]`` is the state after the first ``_length - k`` tokens from the end: one column for the prompt,
        then one for each token after it.
        """
        batch, length = input_ids.shape
        if self._ids is None or self._ids.shape[0] != batch or not self._first < length <= self._ids.shape[1] + 1:
            self._begin(tables, input_ids)
            return
        known = length - 1  # tokens whose states are known, of rows of the last call
        same = (input_ids[:, None, :known] == self._ids[None, :, :known]).all(-1)  # [B, B]: row b goes on from row c
        own = torch.eye(batch, dtype=torch.int8, device=same.device)
        source = (same.to(torch.int8) * 2 + own * same).argmax(-1)
        is_new = ~same.any(-1)
        history = self._states[source, : known - self._first + 1]
        starts = self._starts.unsqueeze(-1)
        after = tables.advance(self._owners, history[:, -1], input_ids[:, -1])
        # A row that continues no earlier row begins here: all of its tokens are its prompt.
        after = torch.where(is_new, self._starts, after)
        self._begun = torch.where(is_new, length, self._begun[source])
        self._states = torch.cat([torch.where(is_new.unsqueeze(-1), starts, history), after.unsqueeze(-1)], dim=-1)
        # The caller may keep writing into its buffer.
        self._ids = input_ids.clone()

    def _begin(self, tables: DeviceTables, input_ids: torch.Tensor) -> None:
        """Take the rows as prompts."""
        batch, self._first = input_ids.shape
        prompts = len(self._of_prompt)
        if self._one_for_all:
            rows = self._of_prompt * batch
        elif batch % prompts == 0:
            rows = [index for index in self._of_prompt for _ in range(batch // prompts)]
        else:
            raise MatcherError(
                f"{batch} rows and {prompts} grammars",
                why="each grammar belongs to one prompt, and every prompt has the same number of rows",
                fix="give one grammar (or None) per prompt of the batch",
                code="rows-and-grammars",
            )
        self._rows = rows
        self._owners, self._starts = tables.starts(rows)
        self._states = self._starts.unsqueeze(-1)
        self._begun = torch.full_like(self._owners, self._first)
        self._broken = torch.full_like(self._owners, _FINE)
        self._budget = self._token_limit.of_call(self, self._first, self._grammars)
        self._ids = input_ids.clone()
        self._texts = {}

    def _left(self, tables: DeviceTables, input_ids: torch.Tensor) -> torch.Tensor | None:
        """How many tokens each row may still write, int64 [B]; None if that constrains nothing."""
        if self._budget is None or self._budget - (input_ids.shape[1] - self._first) >= tables.farthest:
            return None
        return (self._budget - (input_ids.shape[1] - self._begun)).clamp_min(0)

    def _page(self, tables: DeviceTables, input_ids: torch.Tensor, states: torch.Tensor, *, near: bool) -> list[int]:
        """Compute the missing rows of states; return the rows that have to be masked on the host.

        Args:
            tables: Not closed.
            input_ids: int64 [B, T].
            states: int64 [B]; changed if the text itself determines the state.
            near: Whether budgets leave tokens out.
        """
        rows = range(len(self._rows)) if near else tables.faults(self._owners, states)
        constrained = [(row, index) for row in rows if (index := self._rows[row]) is not None]
        missing = set(tables.faults(self._owners, states)) if near else set(rows)
        places = [
            (index, int(states[row])) for row, index in constrained if row in missing and int(states[row]) != HOST
        ]
        if places:
            tables.page_in(places)
        on_host = []
        for row, index in constrained:
            if row in missing and not tables.has_row(index, int(states[row])):
                states[row] = HOST
            if int(states[row]) == HOST:
                states[row] = tables.state_of(index, self._matcher(row, input_ids))
            # After `HOST` the tokens still needed are unknown: near the end of a budget the matcher decides.
            if int(states[row]) == HOST or (near and int(states[row]) > HOST):
                on_host.append(row)
        return on_host

    def _matcher(self, row: int, input_ids: torch.Tensor) -> Matcher:
        """Return a matcher at the end of a row."""
        index = self._rows[row]
        assert index is not None, "rows without a grammar are never masked on the host"
        tokens = input_ids[row, int(self._begun[row]) :].tolist()
        read, matcher = self._texts.get(row, ([], None))
        if matcher is None or tokens[: len(read)] != read:
            read, matcher = [], self._grammars[index].matcher()
        for token in tokens[len(read) :]:
            if not matcher.is_terminated() and not matcher.accept_token(token):
                raise MatcherError(
                    f"row {row} contains token {token}, which its grammar forbids there",
                    why="something else wrote it",
                    fix="put this processor last",
                    code="foreign-token",
                )
        self._texts[row] = (tokens, matcher)
        return matcher

    def _mask_on_host(self, row: int, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores of a row [V], masked by its matcher."""
        matcher = self._matcher(row, input_ids)
        if matcher.is_terminated():
            assert self._tables is not None, "made by the first call"
            return scores.masked_fill(~self._tables.tensors.ends, float("-inf"))
        size = self._grammars[0].vocabulary.size
        bitmask = allocate_token_bitmask(1, size)
        written = input_ids.shape[1] - int(self._begun[row])
        budget = None if self._budget is None else max(0, self._budget - written)
        matcher.fill_next_token_bitmask(bitmask, 0, budget=budget)
        masked = scores.clone()
        apply_token_bitmask_inplace(masked, bitmask[0], vocab_size=size)
        return masked
