"""`LogitsProcessor`: grammars as an ordinary processor of `transformers.generate`.

At each step every row is masked with exactly the tokens that its grammar allows; all others get ``-inf``, including the
padding of the logits beyond the vocabulary. Logits from which no token can be chosen are an error (`LogitsError`):
masking them would turn noise into a valid instance.

The token limit is read from the call of ``generate`` (`schemagen.decode.generate_call`), unless it is an argument.

The object is reusable and needs no reset: rows are recognised by their tokens (see `schemagen.decode.sequences`), which
covers beam search, `num_return_sequences`, assisted decoding, left padding, and the next call of `generate`.

Several threads may use one object. A generation runs in one thread, so its state (`Sequences`) is kept per thread; only
the measurements are shared, under a lock. Rejected: a lock around the whole step, and a search for the generation among
all threads, because the first tokens do not distinguish two generations of the same prompt.

Continuous batching calls processors in another way; see `schemagen.decode.continuous`.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from transformers import LogitsProcessor as TransformersLogitsProcessor

from schemagen.checks import check_grammars
from schemagen.decode.broken_logits import logits_error
from schemagen.decode.finish_reason import left_out
from schemagen.decode.generate_call import TokenLimit, temperature_of_call
from schemagen.decode.row_sampling import sampling_at
from schemagen.decode.sequences import Cursor, Sequences
from schemagen.errors import BitmaskShapeError, DeadEndError, LogitsError, MatcherError
from schemagen.masks.bitmask import allocate_token_bitmask, fill_rows, is_native
from schemagen.masks.logits import allows, mask_and_check, removed_mass
from schemagen.masks.rows import BITS
from schemagen.threads.forking import long_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from schemagen.decode.brevity import Brevity
    from schemagen.engine.protocol import Constraint, Matcher


class LogitsProcessor(TransformersLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Masks logits so that every row can continue only within its grammar.

    Pass it to ``model.generate(..., logits_processor=[processor])``, and the EOS ids of the vocabulary as
    ``eos_token_id``. It may be reused, and shared by several threads, each with its own generation.

    Args:
        grammar: One grammar for all rows, or one (or None, unconstrained) per prompt of the batch. With beams or
            several returned sequences the rows of a prompt share its grammar. None if requests of continuous batching
            bring their grammars (`attach_to`).
        max_new_tokens: The budget of each row, as in ``generate``: the mask makes the text complete within it, if it is
            at least `Grammar.min_new_tokens`. "auto" for the budget of the call of ``generate``, or of the request of
            continuous batching; a loop of your own has none. None for no budget, so that ``generate`` may cut a text
            off.
        measure_mass: Whether to sum the probability that the mask removes (a softmax per step).
        pad_token_id: Allowed, besides EOS, in rows that are already complete.
        inplace: Whether the scores may be overwritten, which is faster on a CPU. Not with ``output_logits=True``, whose
            raw logits would be masked, too, nor with ``prompt_lookup_num_tokens``, which uses a tensor again.

    Attributes:
        has_temperatures: Whether a rule of a grammar has a temperature. Where ``generate`` samples, it goes before that of the
            call.
        has_inner_ends: Whether an EOS token may stand inside a text of a grammar.
        has_drafts: Whether one does, because a draft comes before an answer.
        brevity: The penalties against loops and length, for rows without their own; None for none.
        observe: Called at each step with the scores before the mask, float [B, V], the mask, int32 [B, W], how many of its bits
            count, and the rows that are not over.
        constrained_steps: Rows masked since construction or `reset`, summed over steps and threads.

    A copy, pickled or not, is like a new object with the same arguments.

    Raises:
        MatcherError: The list of grammars is empty.
        OptionTypeError: A grammar has the wrong type.
        OptionError: ``max_new_tokens`` is negative, or not a whole number.
    """

    supports_continuous_batching = True

    def __init__(
        self,
        grammar: Constraint | Sequence[Constraint | None] | None,
        *,
        max_new_tokens: int | Literal["auto"] | None = "auto",
        measure_mass: bool = False,
        pad_token_id: int | None = None,
        inplace: bool = False,
    ) -> None:
        if isinstance(grammar, (list, tuple)) and not grammar:
            raise MatcherError("no grammar for any row", fix="give a grammar, or a list with one per prompt")
        several = grammar if isinstance(grammar, (list, tuple)) else [cast("Constraint | None", grammar)]
        check_grammars(type(self).__name__, several)
        self.has_temperatures = any(each is not None and each.has_temperatures for each in several)
        ending = [each for each in several if each is not None and each.has_inner_ends]
        self.has_inner_ends = bool(ending)
        self.has_drafts = any(each.thought_tokens for each in ending)
        self.brevity: Brevity | None = None
        self.observe: Callable[[torch.Tensor, torch.Tensor, int, list[int]], object] | None = None
        self._grammars = grammar
        self._token_limit = TokenLimit(max_new_tokens)
        self._pad_token_id = pad_token_id
        self._measure_mass = self._notes_left_out = measure_mass
        self._inplace = inplace
        self._begin()

    def _begin(self) -> None:
        """Set the state that is not copied or pickled."""
        self._generation = threading.local()
        self._lock = long_lock()
        self._removed: list[torch.Tensor] = []
        self._left_out: list[tuple[int, list[int]]] = []  # each prompt and its text before such a token
        self.constrained_steps = 0

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the arguments of the processor, without its generations and measurements."""
        own = {"_generation", "_lock", "_removed", "_left_out", "constrained_steps"}
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin anew with the same arguments."""
        self.__dict__.update(state)
        self._begin()

    def __repr__(self) -> str:
        """Show the grammar, or how many there are, and the budget."""
        several = isinstance(self._grammars, (list, tuple))
        shown = f"{len(self._grammars)} grammars" if several else repr(self._grammars)  # type: ignore[arg-type]
        return f"{type(self).__name__}({shown}, max_new_tokens={self._token_limit})"

    @property
    def grammars(self) -> Constraint | Sequence[Constraint | None] | None:
        """The argument ``grammar``."""
        return self._grammars

    @property
    def masked_mass(self) -> float | None:
        """Mean probability that the model gave to tokens the mask removed.

        None if it was not measured.
        """
        measured = torch.cat(self._removed) if self._removed else torch.empty(0)
        return float(measured.mean()) if measured.numel() else None

    def temperatures(self) -> list[float | None]:
        """Return the temperature that the grammar of each row asks for after the last call; None where it asks for none.

        Raises:
            LimitError: As `Matcher.temperature`.
        """
        sequences: Sequences = self._generation.sequences
        return [None if cursor is None else cursor.temperature() for cursor in sequences.cursors]

    def ended(self, input_ids: torch.Tensor) -> list[bool]:
        """Return which rows are over, given the last call's rows with a token more each."""
        sequences: Sequences = self._generation.sequences
        return [
            cursor is not None
            and (cursor.is_over or (last in cursor.grammar.vocabulary.eos_token_ids and cursor.matcher.is_accepting()))
            for cursor, last in zip(sequences.cursors, input_ids[:, -1].tolist(), strict=True)
        ]

    def reset(self) -> None:
        """Forget the last generation of this thread, and the measurements.

        Needed only to continue, with the same object, an unfinished text of the previous generation.
        """
        self._generation.__dict__.clear()
        with self._lock:
            self._removed = []
            self._left_out = []
            self.constrained_steps = 0

    def has_left_out(self, token_ids: Sequence[int], prompt: int = 0) -> bool:
        """Whether the budget left out the likeliest token that the grammar allows, at one of the tokens of a text.

        It is recorded where masses are measured, and in batches.

        Args:
            token_ids: The text.
            prompt: The index of the prompt in the batch; 0 if all rows have one grammar.
        """
        found = list(token_ids)
        return any(prompt == of and found[: len(before)] == before for of, before in self._left_out)

    @contextmanager
    def continuous_batching(self, model: Any) -> Iterator[None]:
        """Constrain ``model.generate_batch`` and the other ways into continuous batching, as long as the block lasts.

        With a list of grammars the first prompt gets the first one, and so on. With
        ``model.continuous_batching_context_manager`` each request may bring its own: ``add_request(ids, grammar=...)``.

        Args:
            model: With the continuous batching of transformers 5.

        Raises:
            GenerationError: The continuous batching of this version of transformers cannot be constrained, or the
                manager batches asynchronously or by CUDA graphs, which need a mask before the last token is known.
        """
        from schemagen.decode.continuous import attached

        with attached(self, model):
            yield

    def attach_to(self, manager: Any) -> None:
        """Constrain the requests of a manager that has not been started yet.

        Args:
            manager: From ``model.init_continuous_batching``. Its requests may bring their grammar:
                ``manager.add_request(ids, grammar=...)``.

        Raises:
            GenerationError: As `continuous_batching`.
        """
        from schemagen.decode.continuous import attach

        attach(self, manager)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores with every forbidden token at ``-inf``.

        Args:
            input_ids: int64 [B, T]: prompts and generated tokens.
            scores: float [B, V]; V may exceed the vocabulary, the surplus is masked. Not changed unless `inplace`.

        Raises:
            BitmaskShapeError: V is smaller than the vocabulary.
            DeadEndError: A grammar allows no token; nothing is sampled from an empty mask.
            LogitsError: A logit is NaN or ``inf``, or those of all tokens that a grammar allows are ``-inf``.
            MatcherError: A row holds a token that its grammar forbids, or continuous batching called a processor that
                is not attached.

        Cost: the last column of ``input_ids`` to the CPU, one call that fills the masks of all unfinished rows, and
        `schemagen.masks.logits.mask_and_check`.
        """
        if input_ids.dim() != 2:
            raise MatcherError(
                f"input_ids of shape {tuple(input_ids.shape)}: only the last tokens",
                why="continuous batching does not tell a processor which texts they belong to",
                fix="`with processor.continuous_batching(model):` around it, or processor.attach_to(manager)",
                code="not-attached",
            )
        if not len(input_ids):
            return scores
        sequences: Sequences | None = getattr(self._generation, "sequences", None)
        if sequences is None:
            sequences = self._generation.sequences = Sequences(self._grammars)
        cursors = sequences.update(input_ids)
        if sequences.has_begun:
            grammars = [cursor.grammar for cursor in cursors if cursor is not None]
            self._generation.limit = self._token_limit.of_call(self, input_ids.shape[1], grammars)
            self._generation.temperature = temperature_of_call(self) if self.has_temperatures else None
        masked = self.mask(scores, cursors)
        divisor: float | None = self._generation.temperature
        return masked if divisor is None else tempered(masked, self.temperatures(), divisor)

    def mask(self, scores: torch.Tensor, cursors: Sequence[Cursor | None]) -> torch.Tensor:
        """Return the scores of rows whose cursors are known; errors and cost are those of a call.

        Args:
            scores: float [B, V].
            cursors: One per row; None leaves it as it is.
        """
        constrained = [row for row, cursor in enumerate(cursors) if cursor is not None]
        if not constrained:
            return scores
        covered = self._covered(cursors, scores.shape[-1])
        bitmask = self._bitmask(len(cursors), covered)
        live = self._fill(cursors, bitmask)
        if live:
            removed = removed_mass(scores, bitmask, live, covered) if self._measure_mass else None
            if self._notes_left_out:
                self._note_left_out(scores, bitmask, cursors, live)
            with self._lock:
                self.constrained_steps += len(live)
                if removed is not None:
                    self._removed.append(removed)
        ends = sorted(
            {end for cursor in cursors if cursor is not None for end in cursor.grammar.vocabulary.eos_token_ids}
        )
        masked, broken = mask_and_check(scores, bitmask, constrained, covered, inplace=self._inplace, ends=ends)
        for row in sorted(set(live).intersection(broken)):
            self._refuse(self._error_of(row, cursors[row], scores, masked), masked, cursors)
        if self.observe is not None:
            self.observe(scores, bitmask, covered, live)
        for row in live:
            if row not in broken and (cursor := cursors[row]) is not None and (own := cursor.brevity or self.brevity):
                own.penalise(masked[row], cursor.generated, cursor.matcher, cursor.grammar.vocabulary.size)
        return masked

    def _note_left_out(
        self, scores: torch.Tensor, bitmask: torch.Tensor, cursors: Sequence[Cursor | None], live: list[int]
    ) -> None:
        """Record the rows in which the budget leaves out the likeliest token that the grammar allows."""
        if self._budgets(cursors, live) is None:
            return
        per_prompt = len(cursors) // (len(self._grammars) if isinstance(self._grammars, (list, tuple)) else 1)
        for row, likeliest in zip(live, scores[live].argmax(dim=-1).tolist(), strict=True):
            cursor, prompt = cursors[row], row // per_prompt
            assert cursor is not None, "live rows have a grammar"
            words = bitmask[row, : -(-cursor.grammar.vocabulary.size // BITS)]
            if allows(words, likeliest) or self.has_left_out(cursor.generated, prompt):
                continue
            if left_out(cursor.matcher, scores[row], words):
                with self._lock:
                    self._left_out.append((prompt, list(cursor.generated)))

    def limit_of_request(self, stated: int | None) -> int | None:
        """Return how many tokens a request of continuous batching may have, given its own limit."""
        return self._token_limit.of_request(stated)

    def _error_of(self, row: int, cursor: Cursor | None, scores: torch.Tensor, masked: torch.Tensor) -> LogitsError:
        """Say why no token can be chosen in a row."""
        assert cursor is not None, "only rows with a grammar are looked at"
        allowed = int((masked[row] > float("-inf")).sum())
        before = None if masked is scores else scores[row]
        vocabulary = cursor.grammar.vocabulary
        return logits_error(before, allowed=allowed, row=row, generated=cursor.generated, vocabulary=vocabulary)

    def _refuse(self, error: LogitsError, masked: torch.Tensor, cursors: Sequence[Cursor | None]) -> None:
        """Handle a row from which no token can be chosen: end the generation.

        Args:
            error: The error of the row.
            masked: float [B, V], the scores that will be returned.
            cursors: The cursors of all rows.
        """
        del masked, cursors
        raise error

    def _covered(self, cursors: Sequence[Cursor | None], width: int) -> int:
        """How many tokens the mask covers: those of the widest vocabulary, and the padding token."""
        widest = max(cursor.grammar.vocabulary.size for cursor in cursors if cursor is not None)
        if width < widest:
            raise BitmaskShapeError(
                f"logits of width {width} for a vocabulary of {widest} tokens",
                why="the grammar was compiled for a wider vocabulary than the model's",
                fix="build the Vocabulary with vocab_size set to the width of the logits",
            )
        padding = -1 if self._pad_token_id is None else self._pad_token_id
        return max(widest, padding + 1) if padding < width else int(widest)

    def _bitmask(self, rows: int, covered: int) -> torch.Tensor:
        """The bitmask of this thread with this shape; it holds the bits of the last step."""
        shape = (rows, -(-covered // BITS))
        bitmask: torch.Tensor | None = getattr(self._generation, "bitmask", None)
        if bitmask is None or bitmask.shape != shape:
            bitmask = self._generation.bitmask = allocate_token_bitmask(rows, covered)
        return bitmask

    def _fill(self, cursors: Sequence[Cursor | None], bitmask: torch.Tensor) -> list[int]:
        """Write the masks of all constrained rows; return the rows whose matchers were called.

        A complete row costs a few bits: its matcher is not called.
        """
        words = bitmask.numpy()
        live: list[int] = []
        foreign: list[int] = []  # rows of matchers that may leave a mask empty without saying so
        asked: dict[int, tuple[list[Matcher], list[int]]] = {}
        for row, cursor in enumerate(cursors):
            if cursor is None:
                continue
            vocabulary = cursor.grammar.vocabulary
            if cursor.is_over:
                words[row] = 0
                for token_id in (*vocabulary.eos_token_ids, self._pad_token_id):
                    _allow(words, row, token_id)
            else:
                matchers, rows = asked.setdefault(-(-vocabulary.size // BITS), ([], []))
                matchers.append(cursor.matcher)
                rows.append(row)
                live.append(row)
                if not is_native(cursor.matcher):
                    foreign.append(row)
        for width, (matchers, rows) in asked.items():
            whole = width == words.shape[1]
            if not whole:
                words[rows, width:] = 0
            try:
                fill_rows(matchers, words if whole else words[:, :width], rows, budgets=self._budgets(cursors, rows))
            except DeadEndError:
                _refuse_dead_ends(cursors, rows)
                raise
        if foreign and not words[foreign].any(axis=1).all():
            _refuse_dead_ends(cursors, foreign)
        return live

    def _budgets(self, cursors: Sequence[Cursor | None], rows: list[int]) -> list[int | None] | None:
        """How many tokens some rows may still write."""
        shared: int | None = getattr(self._generation, "limit", None)
        chosen = [cursor for row in rows if (cursor := cursors[row]) is not None]
        limits = [shared if cursor.limit is None else cursor.limit for cursor in chosen]
        if all(limit is None for limit in limits):
            return None
        return [
            None if limit is None else max(0, limit - len(cursor.generated))
            for cursor, limit in zip(chosen, limits, strict=True)
        ]


class BatchProcessor(LogitsProcessor):
    """A mask that gives up the rows whose logits are broken, and lets the others go on.

    Args:
        grammars: One per row; beams are not supported.
        max_new_tokens: As for `LogitsProcessor`.
        pad_token_id: As for `LogitsProcessor`.

    Attributes:
        errors: The error of each failed row, by row.
    """

    def __init__(
        self, grammars: Sequence[Constraint], *, max_new_tokens: int | None = None, pad_token_id: int | None = None
    ) -> None:
        super().__init__(grammars, max_new_tokens=max_new_tokens, pad_token_id=pad_token_id)
        self._notes_left_out = True
        self._count = len(grammars)
        self.errors: dict[int, LogitsError] = {}

    def _refuse(self, error: LogitsError, masked: torch.Tensor, cursors: Sequence[Cursor | None]) -> None:
        """End a row; raise the error for beams, which are not separate rows."""
        cursor = cursors[error.row]
        if len(masked) != self._count or cursor is None:
            raise error
        self.errors[error.row] = error
        cursor.is_over = True
        masked[error.row] = float("-inf")
        masked[error.row, list(cursor.grammar.vocabulary.eos_token_ids)] = 0


def tempered(scores: torch.Tensor, temperatures: Sequence[float | None], divisor: float) -> torch.Tensor:
    """Return scores that have the temperature of their rows once they are divided by that of the call.

    Args:
        scores: float [B, V].
        temperatures: One per row; None to leave the row as it is, 0 for the likeliest token alone.
        divisor: The temperature of the call.
    """
    ways = [sampling_at(None, each) for each in temperatures]
    factors = [1.0 if way is None else divisor / way.temperature for way in ways]
    out = scores * scores.new_tensor(factors).unsqueeze(-1)
    for row in [row for row, each in enumerate(temperatures) if each == 0]:
        likeliest = int(scores[row].argmax())
        out[row] = float("-inf")
        out[row, likeliest] = scores[row, likeliest]
    return out


def _refuse_dead_ends(cursors: Sequence[Cursor | None], rows: list[int]) -> None:
    """Raise an error that names the row in which nothing is allowed."""
    for row in rows:
        cursor = cursors[row]
        if cursor is None or _has_tokens(cursor):
            continue
        if not cursor.grammar.vocabulary.eos_token_ids and cursor.matcher.is_accepting():
            raise DeadEndError(
                f"the text of row {row} is complete after {len(cursor.generated)} tokens, and cannot be ended",
                at=f"generated token {len(cursor.generated)}",
                why="the vocabulary has no EOS id, so that generate does not know that it is over",
                fix="build the vocabulary with eos_token_ids=[...], those at which the model stops",
            )
        raise DeadEndError(
            f"no token can follow the {len(cursor.generated)} generated ones in row {row}",
            at=f"generated token {len(cursor.generated)}",
            why="the vocabulary has no token for any text that the grammar allows here",
        )


def _has_tokens(cursor: Cursor) -> bool:
    bitmask = allocate_token_bitmask(1, cursor.grammar.vocabulary.size)
    try:
        cursor.matcher.fill_next_token_bitmask(bitmask, 0)
    except DeadEndError:
        return False
    return bool(bitmask.any())


def _allow(words: Any, row: int, token_id: int | None) -> None:
    """Set one bit of an int32 mask, if it has it; bit 31 is the sign."""
    if token_id is None or not 0 <= token_id < words.shape[1] * BITS:
        return
    word, bit = divmod(token_id, BITS)
    words[row, word] |= -(2**31) if bit == BITS - 1 else 1 << bit
