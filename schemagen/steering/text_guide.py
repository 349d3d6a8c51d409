"""`TextGuide`: shows every proposed token to a checker, and bans the ones that it refuses, or that are not canonical."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from schemagen.decode.guide import TakenBack
from schemagen.errors import ValidationFailed
from schemagen.steering.bans import Bans
from schemagen.types.checks import refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from schemagen.decode.token_records import TokenRecord
    from schemagen.generation import Refused
    from schemagen.options.sampling import Sampling
    from schemagen.streaming.answer_text import AnswerText
    from schemagen.types.checks import Checker
    from schemagen.vocabulary.canonical import CanonicalText


#: Dead ends of a text: beginnings after which everything is refused, and texts that are refused at their end.
_DEAD_ENDS = 256
#: And one more for so many tokens.
_TOKENS_OF_ONE = 4
#: The largest probability of a token beside which another one is allowed.
_LIKELIEST = 1 - 1e-9


class TextGuide:
    """Follows the text of an answer; see `schemagen.decode.guide.Guide`.

    Args:
        text: The text, empty so far.
        ends: The EOS ids.
        checker: Judges the whole text; None for none.
        canonical: The same tokens, if they are to be those that the tokenizer writes; None if any will do.

    Attributes:
        text: As given.
        bans: The tokens that may not come next.
        draws: As in `Guide`.
        refused: As in `Guide`.
    """

    draws: bool = False
    refused: Sequence[Refused] = ()

    def __init__(
        self,
        text: AnswerText,
        ends: Collection[int],
        checker: Checker | None = None,
        canonical: CanonicalText | None = None,
    ) -> None:
        self.text, self._ends, self._checker, self._canonical = text, frozenset(ends), checker, canonical
        self.bans = Bans()
        self._way: Sampling | None = None  # of the next token
        self._told = ""  # by the checker, at its last refusal
        self._dead_ends = 0

    def sampling(self, default: Sampling | None) -> Sampling | None:
        """Return how the next token is drawn: as the call has it."""
        self._way = default
        return default

    def discounts(self) -> Mapping[int, float]:
        """Return what to add to the scores of some tokens; see `Guide`."""
        return self.bans.discounts(None if self._way is None else self._way.temperature)

    def wanted(self) -> int | None:
        """Return the token that has to come next: none in particular."""
        return None

    def take(self, token_id: int, record: TokenRecord | None = None) -> TakenBack | None:
        """Read the next token; see `Guide`."""
        if record is None or record.is_forced:
            self.bans.append(token_id)
        else:
            self.bans.append(token_id, min(exp(record.log_probability), _LIKELIEST))
        is_end = self.is_end(token_id)
        piece = self.text.append(token_id)
        if self._canonical is not None:
            if not self._canonical.allows(token_id):
                return self.veto("the tokenizer writes them in other tokens")
            self._canonical.append(token_id)
        if self._checker is None or not (piece or is_end):
            return None
        return self._ended() if is_end else self.veto(self._checker.next(self.text.text))

    def close(self) -> TakenBack | None:
        """Judge the text, which ends here; see `Guide`."""
        return None if self._checker is None else self._ended()

    def _ended(self) -> TakenBack | None:
        """Take the last token back if a checker refuses the whole text."""
        assert self._checker is not None, "it is asked"
        taken = self.veto(self._checker.end(self.text.text))
        if taken is not None:
            self.count_dead_end()
        return taken

    def is_end(self, token_id: int) -> bool:
        """Whether a token ends the answer; EOS may end a draft before it."""
        return token_id in self._ends and self.text.is_begun

    def veto(self, told: str | bool | None) -> TakenBack | None:
        """Take the last token back if a checker refuses the text with it."""
        reason = refusal(told)
        if reason is None:
            return None
        self._told = reason
        return self.ban(len(self.bans.tokens) - 1)

    def exhausted(self) -> TakenBack:
        """Ban the token that led to a place where all are banned; see `Guide`."""
        self.count_dead_end()
        place = len(self.bans.tokens) - 1
        if place < self.text.first:
            raise ValidationFailed(
                f"a checker refuses every text that the grammar allows: {self._told}",
                text=self.text.text,
                why="all tokens that could begin the text were tried",
                fix="let Checker.next return None for every beginning of an acceptable text",
            )
        return self.ban(place)

    def count_dead_end(self) -> None:
        """Note that nothing acceptable can begin with the tokens so far.

        Raises:
            ValidationFailed: That happened too often: the search for a text could go on for ever.
        """
        self._dead_ends += 1
        if self._dead_ends > self._most_dead_ends + len(self.bans.tokens) // _TOKENS_OF_ONE:
            raise self._given_up()

    @property
    def _most_dead_ends(self) -> int:
        return _DEAD_ENDS

    def _given_up(self) -> ValidationFailed:
        return ValidationFailed(
            f"no text was accepted after {self._dead_ends} dead ends: {self._told}",
            text=self.text.text,
            why="a checker found out too late that a text cannot be accepted: it refused all tokens that could follow",
            fix="let Checker.next refuse a beginning as soon as nothing acceptable begins with it",
        )

    def ban(self, place: int) -> TakenBack:
        """Ban the token at an index after those before it, and go back to these."""
        self.bans.ban(place)
        self.cut(place)
        return TakenBack(place)

    def cut(self, length: int) -> None:
        """Go back to the first tokens."""
        self.bans.cut(length)
        self.text.cut(length)
        if self._canonical is not None:
            self._canonical.cut(length)
