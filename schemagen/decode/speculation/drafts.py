"""The interface of drafters: the text so far (`Context`), the proposed tokens (`Draft`), and who proposes them (`Drafter`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import torch

    from schemagen.vocabulary import Vocabulary


class Context:
    """The text so far. Drafters read it; only the loop changes it.

    While a draft is built its tokens follow the chosen ones, so that a drafter sees them as if they had been chosen.

    Args:
        vocabulary: The vocabulary of the tokens.
        prompt: The tokens of the prompt.

    Attributes:
        vocabulary: As given.
        prompt: As given.
        source: The bytes of the prompt; special tokens have none.
        tokens: The tokens after the prompt.
        text: Their bytes.
    """

    def __init__(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> None:
        self.vocabulary = vocabulary
        self.prompt = tuple(prompt)
        self.source = b"".join(self._bytes_of(token) for token in self.prompt)
        self.tokens: list[int] = []
        self.text = bytearray()

    @cached_property
    def starts(self) -> dict[int, int]:
        """Where in the source a token of the prompt begins: byte -> index of the token."""
        starts, position = {}, 0
        for index, token in enumerate(self.prompt):
            if size := len(self._bytes_of(token)):
                starts[position] = index
                position += size
        return starts

    @cached_property
    def folded_source(self) -> bytes:
        """The source with ASCII letters in lower case, byte for byte."""
        return self.source.lower()

    def append(self, token: int) -> None:
        """Add a token."""
        self.tokens.append(token)
        self.text += self._bytes_of(token)

    def cut(self, length: int) -> None:
        """Remove the tokens after the first `length`."""
        for token in self.tokens[length:]:
            if size := len(self._bytes_of(token)):
                del self.text[-size:]
        del self.tokens[length:]

    def _bytes_of(self, token: int) -> bytes:
        tokens = self.vocabulary.tokens
        return tokens[token] if token < len(tokens) else b""


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
