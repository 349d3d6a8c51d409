"""`Guide`: narrows a text further than its grammar, token by token, and takes tokens back.

A mask knows the grammar. A guide knows what no grammar says: which value a validator refused, which name is not declared, how
the tokens of a field are drawn. The loops ask it at every token (`Guide.take`); where it refuses one, the loop goes back to
where the guide says, and chooses again without the banned tokens. A token that is banned after it was drawn is drawn again from
the rest, so an accepted token has the model's law among those that are not banned (adaptive rejection; Lipkin et al. 2025,
arXiv:2504.05410).

Random numbers: token *i* of a text takes the *i*-th number of its generator. When it is drawn again, it takes a number that
depends on the seed, on *i* and on how often it was drawn. So the text after a field that was written again has the numbers that
it would have had without that, and repeating a number that led to a refusal does not favour its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemagen.decode.token_records import TokenRecord
    from schemagen.engine.protocol import Matcher
    from schemagen.events import FieldTakenBack
    from schemagen.generation import Refused
    from schemagen.options.sampling import Sampling


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Tokens of a text were taken back.

    Attributes:
        length: How many tokens are left.
        start: Offset in the answer of the first character that is written again; those of it that are left come again.
        event: What streams say about it; None if no token that they have seen is affected.
    """

    length: int
    start: int = 0
    event: FieldTakenBack | None = None


class Guide(Protocol):
    """Follows one text."""

    @property
    def draws(self) -> bool:
        """Whether tokens may be drawn at random although the call takes the likeliest ones."""
        ...

    @property
    def refused(self) -> Sequence[Refused]:
        """The values that were refused and written again, so far."""
        ...

    def sampling(self, default: Sampling | None) -> Sampling | None:
        """Return how the next token is drawn; None to take the likeliest.

        Args:
            default: As the call has it.
        """
        ...

    def discounts(self) -> Mapping[int, float]:
        """Return what to add to the scores of some tokens: ``-inf`` to those that may not come next."""
        ...

    def wanted(self) -> int | None:
        """Return the token that has to come next, which the grammar allows; None if the model chooses."""
        ...

    def take(self, token_id: int, record: TokenRecord | None) -> TakenBack | None:
        """Read the next token; return the tokens to take back, if it may not stand there.

        Args:
            token_id: The token.
            record: What the model expected there.

        Raises:
            ValidationFailed: Nothing that may be tried is left.
        """
        ...

    def close(self) -> TakenBack | None:
        """Judge the text, which is complete and ends here because its budget does; return the tokens to take back.

        Raises:
            ValidationFailed: As `take`.
        """
        ...

    def exhausted(self) -> TakenBack:
        """Return the tokens to take back because all that the grammar allows here are banned.

        Raises:
            ValidationFailed: As `take`.
        """
        ...


def judged(
    guide: Guide | None, token_id: int, record: TokenRecord | None, matcher: Matcher | None, left: int
) -> TakenBack | None:
    """Return what a guide takes back with a token, or with the end of the text, if that comes by the budget.

    Args:
        guide: The guide; None for none.
        token_id: The token.
        record: As for `Guide.take`.
        matcher: The matcher of the text with the token; None for a free text.
        left: How many tokens may still come.

    Raises:
        ValidationFailed: As `Guide.take`.
    """
    taken = None if guide is None else guide.take(token_id, record)
    if guide is None or taken is not None or left > 0 or matcher is None:
        return taken
    return guide.close() if matcher.is_accepting() and not matcher.is_terminated() else None


def refused_in(guide: Guide | None) -> tuple[Refused, ...]:
    """Return the values that a guide has refused."""
    return () if guide is None else tuple(guide.refused)


def leave_out(masked: torch.Tensor, guide: Guide) -> bool:
    """Discount the scores of one position, float [V], as a guide says; return whether a token is left that is allowed."""
    discounts = guide.discounts()
    if not discounts:
        return True
    masked[list(discounts)] += masked.new_tensor(list(discounts.values()))
    return bool(masked.amax() > float("-inf"))


class Numbers:
    """The random numbers of a text of which tokens may be taken back; they come from its generator, which is moved.

    Invariant: between two tokens, `_states` has the state of the main sequence before each token, and after the last one.

    Args:
        generator: That of the text, at its first token.
    """

    def __init__(self, generator: torch.Generator) -> None:
        self._generator, self._seed = generator, generator.initial_seed()
        self._states = [generator.get_state()]
        self._drawn: list[int] = []  # how often each place was drawn
        self._fresh: torch.Tensor | None = None  # the state for a place that is drawn again

    def begin(self) -> None:
        """Prepare the number of the next token."""
        place = len(self._states) - 1
        if place == len(self._drawn):
            self._drawn.append(0)
        times, self._fresh = self._drawn[place], None
        self._drawn[place] += 1
        if times:
            digest = blake2b(f"{self._seed} {place} {times}".encode(), digest_size=7).digest()
            self._fresh = self._generator.manual_seed(int.from_bytes(digest, "big")).get_state()
        else:
            self._generator.set_state(self._states[place])

    def end(self) -> None:
        """Note that a token was chosen."""
        state = self._generator.get_state()
        if self._fresh is not None:
            was_drawn = not state.equal(self._fresh)
            self._generator.set_state(self._states[-1])
            if was_drawn:
                torch.rand(1, dtype=torch.float64, generator=self._generator)
            state = self._generator.get_state()
        self._states.append(state)

    def cut(self, length: int) -> None:
        """Take back the numbers of the tokens from an index on."""
        del self._states[length + 1 :]
        self._generator.set_state(self._states[-1])
