"""Which matcher belongs to which row: found from the tokens themselves, never by counting calls.

Idea: a `transformers` processor sees only ``input_ids``. Beam search permutes the rows between two calls, assisted
decoding goes back, `num_return_sequences` repeats them, and the same object may serve many generations. The tokens of a
row are
sufficient: the first call of a generation shows its prompt, the other tokens were generated, and the state of a matcher
is a function of the generated tokens.

Between two ordinary steps each row grows by one token and its matcher just advances. Otherwise a row takes over the
cursor with the longest common text, by fork and rollback, so a permuted beam costs O(1) matcher steps.

Invariants: at most one cursor per row is kept, so memory is bounded by the batch; ``Cursor.generated`` are exactly the
tokens its matcher accepted, then EOS and padding once it has terminated.

Alternative rejected: a dictionary from token prefixes to matchers. It needs a bound, an eviction rule, and hashing the
whole text at every step, and finds nothing that the rows of the last call do not already hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from schemagen.errors import MatcherError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from schemagen.decode.brevity import Brevity
    from schemagen.engine.protocol import Constraint, Matcher


@dataclass(slots=True)
class Cursor:
    """One row: its matcher and the tokens it has accepted.

    Attributes:
        matcher: The cursor over the grammar.
        grammar: The grammar of the matcher.
        generated: Token ids after the prompt.
        dead: Whether a token came that the grammar forbids (a beam of probability zero, kept only as filling).
        is_over: Whether the row is no longer constrained: it generated EOS, is filling, or was given up.
        limit: The maximum number of tokens, if each row has its own limit; None if the row has none of its own.
        brevity: The penalties against loops and length, if each row has its own; None if the row has none of its own.
    """

    matcher: Matcher
    grammar: Constraint
    generated: list[int] = field(default_factory=list)
    dead: bool = False
    is_over: bool = False
    limit: int | None = None
    brevity: Brevity | None = None

    @classmethod
    def start(cls, grammar: Constraint) -> Cursor:
        """Return a cursor at the start of a text."""
        return cls(grammar.matcher(), grammar)

    def advance(self, token_ids: Sequence[int]) -> None:
        """Accept tokens; those after EOS are padding."""
        for token_id in token_ids:
            if not self.is_over:
                self.dead = not self.matcher.accept_token(token_id)
                self.is_over = self.dead or self.matcher.is_terminated()
            self.generated.append(token_id)

    def temperature(self) -> float | None:
        """Return the temperature that the grammar asks for at the next token; None if it asks for none.

        Raises:
            LimitError: As `Matcher.temperature`.
        """
        return None if self.is_over or not self.grammar.has_temperatures else self.matcher.temperature()

    def rewind(self, length: int) -> None:
        """Go back to the first `length` tokens; replay them if some of the later ones were padding."""
        surplus = len(self.generated) - length
        if not surplus:
            return
        kept = self.generated[:length]
        if self.is_over:
            self.matcher.reset()
            self.generated, self.dead, self.is_over = [], False, False
            self.advance(kept)
            return
        self.matcher.rollback(surplus)
        self.generated = kept

    def fork(self) -> Cursor:
        """Return an independent copy."""
        return replace(self, matcher=self.matcher.fork(), generated=list(self.generated))


class Sequences:
    """The cursors of the rows of one generation at a time.

    Args:
        grammars: One for all rows, or one per prompt of the batch; None leaves a row unconstrained.

    Attributes:
        has_begun: Whether the last call was the first one of a generation.
    """

    def __init__(self, grammars: Constraint | Sequence[Constraint | None] | None) -> None:
        self._grammars: Sequence[Constraint | None] = ()
        self._shared: Constraint | None = None
        if isinstance(grammars, (list, tuple)):
            self._grammars = grammars
        else:
            self._shared = cast("Constraint | None", grammars)
        self.forget()

    def forget(self) -> None:
        """Treat the next call as the first one of a generation."""
        self.has_begun = False
        self._seen: torch.Tensor | None = None  # int64 [B, T], the rows of the last call
        self._prompts: list[list[int]] = []
        self._rows: list[list[int]] = []
        self._cursors: list[Cursor | None] = []

    @property
    def cursors(self) -> Sequence[Cursor | None]:
        """The cursors that the last call of `update` returned."""
        return self._cursors

    def update(self, input_ids: torch.Tensor) -> list[Cursor | None]:
        """Return the cursor of every row; None for rows without a grammar.

        Args:
            input_ids: int64 [B, T]: prompts (padded on the left), then generated tokens.

        Raises:
            MatcherError: A row holds a token that its grammar forbids, or the number of rows is not a multiple of the
                grammars.

        Cost: one comparison of the rows with those of the last call, and O(1) matcher steps per row between two steps
        of greedy search, sampling or beam search.
        """
        self.has_begun = False
        if self._is_next_step(input_ids):
            for cursor, token_id in zip(self._cursors, input_ids[:, -1].tolist(), strict=True):
                if cursor is not None:
                    cursor.advance([token_id])
        else:
            self._look_up(input_ids.tolist())
        self._refuse_foreign(input_ids)
        # The caller may keep writing into its buffer.
        self._seen = input_ids.clone()
        return self._cursors

    def _is_next_step(self, input_ids: torch.Tensor) -> bool:
        """Whether every row is the row of the last call plus one token."""
        seen = self._seen
        if seen is None or seen.shape[0] != input_ids.shape[0] or seen.shape[1] + 1 != input_ids.shape[1]:
            return False
        return seen.device == input_ids.device and seen.equal(input_ids[:, :-1])

    def _look_up(self, rows: list[list[int]]) -> None:
        """Find the cursors of rows that are not a simple next step, or begin a generation."""
        self._rows = [] if self._seen is None else self._seen.tolist()
        if not self._may_continue(rows) or not self._follow(rows):
            self._prompts, self.has_begun = rows, True
            grammars = [self._grammar(row, len(rows)) for row in range(len(rows))]
            self._cursors = [None if grammar is None else Cursor.start(grammar) for grammar in grammars]

    def _may_continue(self, rows: list[list[int]]) -> bool:
        """Whether these rows can continue those of the last call.

        Within a generation every row keeps its prompt, and is a row of the last call with one token more; in assisted
        decoding a row may be cut before that.
        """
        if len(rows) != len(self._rows) or len(rows[0]) > len(self._rows[0]) + 1:
            return False
        known = len(rows[0]) - 1
        for ids, prompt, last in zip(rows, self._prompts, self._rows, strict=True):
            if ids[: len(prompt)] != prompt:
                return False
            before = ids[:known]
            if last[:known] != before and not any(other[:known] == before for other in self._rows):
                return False
        return True

    def _follow(self, rows: list[list[int]]) -> bool:
        """Move every cursor to its row; False if the rows turn out to belong to another generation.

        A row that was cut and now holds a forbidden token does not belong to this generation.
        """
        cursors = [self._followed(row, len(rows), ids) for row, ids in enumerate(rows)]
        was_cut = len(rows[0]) <= len(self._rows[0])
        if was_cut and self._rows_per_prompt(len(rows)) == 1 and any(c is not None and c.dead for c in cursors):
            return False
        self._cursors = cursors
        return True

    def _refuse_foreign(self, input_ids: torch.Tensor) -> None:
        """Raise if a token came that the mask had forbidden and beam search does not explain it."""
        lost = [row for row, cursor in enumerate(self._cursors) if cursor is not None and cursor.dead]
        if not lost or self._rows_per_prompt(len(self._cursors)) > 1:
            return
        raise MatcherError(
            f"row {lost[0]} contains token {int(input_ids[lost[0], -1])}, which its grammar forbids there",
            why="something else wrote it, or this is a new generation that goes on from the last",
            fix="put this processor last, or call reset() between two generations",
            code="foreign-token",
        )

    def _grammar(self, row: int, count: int) -> Constraint | None:
        """The grammar of a row; the rows of one prompt (beams, returned sequences) are neighbours."""
        if not self._grammars:
            return self._shared
        if count % len(self._grammars):
            raise MatcherError(
                f"{count} rows and {len(self._grammars)} grammars",
                why="each grammar belongs to one prompt, and every prompt has the same number of rows",
                fix="give one grammar (or None) per prompt of the batch",
                code="rows-and-grammars",
            )
        return self._grammars[row // (count // len(self._grammars))]

    def _followed(self, row: int, count: int, ids: list[int]) -> Cursor | None:
        """The cursor of a row: its own one step further, else taken over from the nearest one."""
        grammar = self._grammar(row, count)
        if grammar is None:
            return None
        generated = ids[len(self._prompts[row]) :]
        cursor = self._nearest(row, grammar, count, generated)
        cursor.advance(generated[len(cursor.generated) :])
        return cursor

    def _rows_per_prompt(self, count: int) -> int:
        """How many rows a prompt has; with a single grammar equal prompts are taken for one."""
        if self._grammars:
            return count // len(self._grammars)
        return count // len({tuple(prompt) for prompt in self._prompts})

    def _nearest(self, row: int, grammar: Constraint, count: int, generated: list[int]) -> Cursor:
        """A cursor of the last call at the longest prefix of ``generated``."""
        own = self._cursors[row]
        if own is not None and len(own.generated) + 1 == len(generated) and own.generated == generated[:-1]:
            # Another row may take over this cursor in the same call, so only a copy is advanced.
            return own.fork() if self._rows_per_prompt(count) > 1 else own
        best, shared = None, 0
        for other, cursor in enumerate(self._cursors):
            if cursor is None or cursor.dead or self._grammar(other, count) is not grammar:
                continue
            common = _common_prefix(cursor.generated, generated)
            if common > shared:
                best, shared = cursor, common
        if best is None:
            return Cursor.start(grammar)
        copy = best.fork()
        copy.rewind(shared)
        return copy


def _common_prefix(left: list[int], right: list[int]) -> int:
    """How many tokens two lists share at their start."""
    length = min(len(left), len(right))
    if left[:length] == right[:length]:
        return length
    return next(index for index in range(length) if left[index] != right[index])
