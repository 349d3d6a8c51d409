"""`Context`: the prompt and the generated text, as tokens and as bytes, for drafters."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
