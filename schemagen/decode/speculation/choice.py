"""`Choices`: the token that a model chooses at a position, under the mask of that position.

The mask is computed first, and the model chooses among the allowed tokens; or, opportunistically, the model chooses
first and the mask is computed only if the grammar refuses (DOMINO, Beurer-Kellner et al. 2024, algorithm 1). Greedily
both give the same token: the likeliest of all tokens, if allowed, is the likeliest allowed token. Sampling gives the
same distribution: a token drawn from p is kept if it is allowed, else drawn again from p restricted to the allowed
tokens; a token y comes up with p(y) + (1 - Z) p(y) / Z = p(y) / Z, where Z is the probability of all allowed tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log1p
from typing import TYPE_CHECKING, Any

from schemagen.decode.broken_logits import logits_error
from schemagen.decode.finish_reason import left_out
from schemagen.decode.guide import leave_out
from schemagen.decode.token_records import expectation
from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.masks.logits import allows, has_overflow, mask_and_check, removed_mass
from schemagen.masks.rows import BITS

if TYPE_CHECKING:
    import torch

    from schemagen.decode.brevity import Brevity
    from schemagen.decode.guide import Guide
    from schemagen.decode.row_sampling import RowSampler
    from schemagen.decode.speculation.drafts import Context, Draft
    from schemagen.decode.token_records import Records


#: float32 tells no larger probability from 1.
_ALL = 1 - 1e-7


@dataclass(slots=True)
class Tally:
    """The effect of the masks on the tokens of a text.

    Attributes:
        removed: Index of a token -> the probability that its mask removed; of those that were measured.
        overruled: Tokens where the likeliest of all was forbidden.
        cut_short: Tokens where the budget left out the likeliest one that the grammar allows.
    """

    removed: dict[int, float] = field(default_factory=dict)
    overruled: set[int] = field(default_factory=set)
    cut_short: set[int] = field(default_factory=set)

    @property
    def masked_mass(self) -> float | None:
        """The mean probability that was removed; None if not measured."""
        return sum(self.removed.values()) / len(self.removed) if self.removed else None

    @property
    def log_kept(self) -> float | None:
        """The logarithm of the probability that was left of all tokens together; None if not measured."""
        return sum(log1p(-min(removed, _ALL)) for removed in self.removed.values()) if self.removed else None

    def cut(self, length: int) -> None:
        """Forget the tokens from an index on."""
        self.removed = {place: removed for place, removed in self.removed.items() if place < length}
        for places in (self.overruled, self.cut_short):
            places -= {place for place in places if place >= length}


class Choices:
    """Chooses tokens for one text.

    Args:
        context: The text so far.
        tally: Collects the effect of the masks.
        sampler: Draws tokens at random, at the temperature of the grammar where it has one; None for the likeliest ones.
        opportunistic: Whether the model chooses before the mask is computed.
        brevity: The penalties against loops and length; None for none.
        records: Records the distribution; None to record nothing.
        guide: Bans tokens beyond the grammar; None for none.
    """

    def __init__(
        self,
        context: Context,
        tally: Tally,
        sampler: RowSampler | None = None,
        *,
        opportunistic: bool = False,
        brevity: Brevity | None = None,
        records: Records | None = None,
        guide: Guide | None = None,
    ) -> None:
        self._context, self._sampler, self._brevity = context, sampler, brevity
        self._records, self._guide = records, guide
        plain = records is None and guide is None and (sampler is None or sampler.is_plain)
        self._opportunistic = opportunistic and plain
        self._words = allocate_token_bitmask(1, context.vocabulary.size)
        self.tally = tally

    def choose(self, matcher: Any, scores: torch.Tensor, rest: int | None, draft: Draft | None) -> int | None:
        """Return the token at a position; None if the guide bans all that are allowed.

        Args:
            matcher: The matcher of the text so far; it is not advanced.
            scores: float [1, V], on the CPU.
            rest: How many tokens may still come, this one included; None if unlimited.
            draft: The draft that begins at this position. Its mask is reused, and a token drawn for it is accepted with
                the right probability.

        Raises:
            LogitsError: No token can be chosen.
        """
        likeliest = int(scores.argmax())
        sampler = None if self._sampler is None else self._sampler.at(matcher.temperature(), self._guide)
        brevity = self._brevity if self._brevity is not None and self._brevity.applies(self._context.tokens) else None
        is_free = self._opportunistic and brevity is None
        if is_free and (token := self._unmasked(matcher, scores, rest, likeliest, sampler)) is not None:
            return token
        masked = self._masked(matcher, scores, rest, draft)
        if self._records is not None:
            covered = min(self._words.shape[1] * BITS, scores.shape[1])
            self._records.expected = expectation(scores[0], self._words[0], covered, self._records.alternatives)
        if brevity is not None:
            brevity.penalise(masked[0], self._context.tokens, matcher, self._context.vocabulary.size)
        wanted = None if self._guide is None else self._guide.wanted()
        if wanted is not None:
            return wanted
        if self._guide is not None and not leave_out(masked[0], self._guide):
            return None
        token = int(masked.argmax()) if sampler is None else self._drawn(sampler, masked, draft)
        if not allows(self._words[0], likeliest):
            self.tally.overruled.add(len(self._context.tokens))
            self._note_left_out(matcher, scores, rest)
        return token

    def _note_left_out(self, matcher: Any, scores: torch.Tensor, rest: int | None) -> None:
        if rest is not None and left_out(matcher, scores[0], self._words[0]):
            self.tally.cut_short.add(len(self._context.tokens))

    def _unmasked(
        self, matcher: Any, scores: torch.Tensor, rest: int | None, likeliest: int, sampler: RowSampler | None
    ) -> int | None:
        """Return the token chosen without a mask; None if it is forbidden, or the scores are broken."""
        if has_overflow(scores, self._context.vocabulary.eos_token_ids)[0]:
            return None
        token = likeliest if sampler is None else sampler.draw(sampler.probabilities(scores))
        if not self._fits(matcher, token, rest):
            return None
        if token != likeliest and rest is not None and not self._fits(matcher, likeliest, rest):
            matcher.fill_next_token_bitmask(self._words, 0, budget=rest)
            self._note_left_out(matcher, scores, rest)
        return token

    @staticmethod
    def _fits(matcher: Any, token: int, rest: int | None) -> bool:
        """Whether a token is allowed and the text can be completed within the budget after it."""
        if not matcher.accept_token(token):
            return False
        needed = None if rest is None or matcher.is_terminated() else matcher.tokens_to_finish()
        matcher.rollback(1)
        return needed is None or rest is None or needed < rest

    def _masked(self, matcher: Any, scores: torch.Tensor, rest: int | None, draft: Draft | None) -> torch.Tensor:
        """Return the scores under the mask, float [1, V], and measure the probability that it removes."""
        if draft is not None and draft.mask is not None:
            self._words.copy_(draft.mask)
        else:
            matcher.fill_next_token_bitmask(self._words, 0, budget=rest)
        ends = self._context.vocabulary.eos_token_ids
        covered = min(self._words.shape[1] * BITS, scores.shape[1])
        if not self._opportunistic:
            removed = float(removed_mass(scores, self._words, [0], covered).sum())
            self.tally.removed[len(self._context.tokens)] = removed
        masked, broken = mask_and_check(scores, self._words, [0], covered, ends=ends)
        if broken:
            allowed = int((masked > float("-inf")).sum())
            raise logits_error(
                scores[0], allowed=allowed, row=0, generated=self._context.tokens, vocabulary=self._context.vocabulary
            )
        return masked

    def _drawn(self, sampler: RowSampler, masked: torch.Tensor, draft: Draft | None) -> int:
        """Draw a token; one that a draft drew is accepted with the probability min(1, p / q)."""
        wanted = sampler.probabilities(masked)
        if draft is None or draft.probabilities is None:
            return sampler.draw(wanted)
        return verified(wanted, draft.probabilities, draft.tokens[0], sampler)


def verified(wanted: torch.Tensor, proposed: torch.Tensor, token: int, sampler: RowSampler) -> int:
    """Return a token distributed as `wanted`; as often as possible it is the one drawn from `proposed`.

    Args:
        wanted: float64 [V], adding up to 1.
        proposed: float64 [V], adding up to 1.
        token: Drawn from `proposed`.
        sampler: The source of random numbers.
    """
    if sampler.uniform() * float(proposed[token]) < float(wanted[token]):
        return token
    rest = (wanted - proposed).clamp(min=0)
    return sampler.draw(rest if float(rest.sum()) > 0 else wanted)
