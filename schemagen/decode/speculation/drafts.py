"""The interface `Drafter` for proposing tokens before the model is asked, and the `Draft` that it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import torch

    from schemagen.decode.speculation.context import Context


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that a drafter expects next.

    Attributes:
        tokens: In order. A token that the grammar forbids is dropped, with all tokens after it.
        evidence: A key for the kind of guess. How often guesses with the same key were right decides whether the next
            one is tried, so the key should separate good guesses from bad ones, and have few values.
        mask: int32 [1, W], the tokens that the grammar allows at the first one, if the drafter computed it; the loop
            reuses it.
        probabilities: float64 [V], from which the first token was drawn at random; None if it was not drawn.
    """

    tokens: Sequence[int]
    evidence: Hashable = None
    mask: torch.Tensor | None = None
    probabilities: torch.Tensor | None = None


class Drafter(Protocol):
    """Proposes tokens that may come next. Proposals never change the text; they only make it faster."""

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:
        """Return tokens that may come next; None if the drafter has no guess.

        Args:
            context: The prompt and the text so far.
            matcher: The matcher of the text so far, read-only: ``place()``, ``forced_run()``, ``fork()``.
            n: The most tokens that are useful.
        """
        ...

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn which token the model chose.

        Args:
            context: The text before the token.
            matcher: The matcher before the token, read-only.
            token: The chosen token.
        """
        ...
