"""What proposes tokens before the model is asked: the interface `Drafter`, and the `Draft` that it returns."""

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
        tokens: In order. Those that the grammar forbids are dropped, with all behind them.
        evidence: What the guess rests on. How often guesses of the same evidence were right decides whether the next one is
            tried, so that it should tell good guesses from bad ones, and have few values.
        mask: int32 [1, W], the tokens that the grammar allows at the first one, where the drafter has worked it out; the loop
            uses it again.
        probabilities: float64 [V], from which the first token was drawn at random; None: it was not drawn.
    """

    tokens: Sequence[int]
    evidence: Hashable = None
    mask: torch.Tensor | None = None
    probabilities: torch.Tensor | None = None


class Drafter(Protocol):
    """Proposes what may come next. Whatever it proposes, the text is the one that the model would have written without it."""

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:
        """Return tokens that may come next; None where nothing is known.

        Args:
            context: The prompt and the text so far.
            matcher: Where the text stands in its grammar, for reading alone: ``place()``, ``forced_run()``, ``fork()``.
            n: How many tokens are of use.
        """
        ...

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn which token the model chose.

        Args:
            context: Before the token.
            matcher: Before the token, for reading alone.
            token: What was chosen.
        """
        ...
