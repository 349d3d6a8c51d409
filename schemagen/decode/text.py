"""`Text`: one text that is written in a batch, from its prompt to its last token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemagen.decode.guide import Numbers, judged
from schemagen.decode.row_sampling import sampling_at
from schemagen.decode.sequences import Cursor
from schemagen.decode.speculation.drafters import forced_next

if TYPE_CHECKING:
    import torch

    from schemagen.decode.brevity import Brevity
    from schemagen.decode.guide import Guide, TakenBack
    from schemagen.decode.token_records import Records
    from schemagen.engine.protocol import Constraint
    from schemagen.options.sampling import Sampling
    from schemagen.vocabulary import Vocabulary


def is_drawn(sampling: Sampling | None, constraint: Constraint | None, guide: Guide | None = None) -> bool:
    """Whether tokens of a text may be drawn at random: by the call, a rule of its grammar, or a field of its type."""
    by_grammar = constraint is not None and constraint.has_temperatures
    return sampling is not None or by_grammar or (guide is not None and guide.draws)


@dataclass(eq=False, slots=True)
class Text:
    """A text to write.

    Attributes:
        token_ids: The prompt.
        constraint: The constraint of the text; None if it is free.
        vocabulary: The tokens, and which of them end a text.
        max_new_tokens: Most tokens of the text.
        sampling: How tokens are drawn; None to take the likeliest.
        generator: The random numbers of this text alone; None only if no token `is_drawn`.
        brevity: The penalties against loops and length; None for none.
        records: Records the distribution at each token; None to record nothing.
        guide: Takes tokens back; None for none.
        generated: The tokens so far.
        cursor: The place in the constraint, where there is one.
        was_left_out: Whether its budget left out a token, as `schemagen.decode.finish_reason` has it.
        is_over: Whether it was ended.
        error: Why it ended without a result.
    """

    token_ids: tuple[int, ...]
    constraint: Constraint | None
    vocabulary: Vocabulary
    max_new_tokens: int
    sampling: Sampling | None = None
    generator: torch.Generator | None = None
    brevity: Brevity | None = None
    records: Records | None = None
    guide: Guide | None = None
    generated: list[int] = field(default_factory=list)
    cursor: Cursor | None = None
    was_left_out: bool = False
    is_over: bool = False
    error: Exception | None = None
    _forced: list[int | None] = field(default_factory=list)
    _numbers: Numbers | None = None

    def __post_init__(self) -> None:
        """Make random numbers that can be taken back."""
        if self.guide is not None and self.generator is not None:
            self._numbers = Numbers(self.generator)

    @property
    def is_wanted(self) -> bool:
        """Whether it is still to be written."""
        return not self.is_over

    def stand(self) -> Cursor | None:
        """Return the cursor after the generated tokens, made where there is none yet."""
        if self.constraint is not None and self.cursor is None:
            self.cursor = Cursor.start(self.constraint)
            self.cursor.limit, self.cursor.brevity = self.max_new_tokens, self.brevity
            self.cursor.advance(self.generated)
        return self.cursor

    def way(self) -> Sampling | None:
        """Return how the next token is drawn; None to take the likeliest."""
        way = self.sampling if self.cursor is None else sampling_at(self.sampling, self.cursor.temperature())
        return way if self.guide is None else self.guide.sampling(way)

    def begin(self) -> None:
        """Prepare the random number of the next token."""
        if self._numbers is not None:
            self._numbers.begin()

    def forced_token(self) -> int | None:
        """Return the next token of text that the grammar forces and writes itself; None if the model is to be asked.

        After a run of forced tokens the model is asked once, as in the loop that reads ahead.
        """
        if self.constraint is None or self.cursor is None or self.cursor.is_over:
            return None
        if self.guide is not None and (wanted := self.guide.wanted()) is not None:
            return wanted
        if not self._forced:
            left = self.max_new_tokens - len(self.generated)
            self._forced = [*forced_next(self.constraint, self.cursor.matcher, left), None]
        return self._forced.pop(0)

    def take(self, token_id: int) -> TakenBack | None:
        """Add a token that was chosen, and end the text if it is over; return what the guide takes back instead.

        Raises:
            LimitError: A limit of the constraint stopped the work.
            ValidationFailed: Of the guide.
        """
        place, expected = len(self.generated), None if self.records is None else self.records.expected
        self.generated.append(token_id)
        if self.cursor is not None:
            self.cursor.advance([token_id])
        if self._numbers is not None:
            self._numbers.end()
        record = None if self.records is None else self.records.take(token_id)
        matcher = None if self.cursor is None else self.cursor.matcher
        taken = judged(self.guide, token_id, record, matcher, self.max_new_tokens - len(self.generated))
        if taken is None:
            self.check_end()
            return None
        self.cut(taken.length)
        if self.records is not None and taken.length == place:  # another token is chosen by the same scores
            self.records.expected = expected
        return taken

    def cut(self, length: int) -> None:
        """Take back the tokens from an index on."""
        if self.cursor is not None:
            self.cursor.rewind(length)
        del self.generated[length:]
        self._forced.clear()
        if self._numbers is not None:
            self._numbers.cut(length)
        if self.records is not None:
            self.records.cut(length)

    def check_end(self) -> None:
        """End the text if it is over."""
        ended = self.cursor.is_over if self.cursor else self.generated[-1] in self.vocabulary.eos_token_ids
        self.is_over = self.is_over or ended or len(self.generated) >= self.max_new_tokens

    def fail(self, error: Exception) -> None:
        """End the text without a result."""
        if not self.is_over:
            self.is_over, self.error = True, error
