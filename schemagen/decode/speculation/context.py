"""`Context`: the prompt and what was generated so far, as tokens and as bytes, for those that propose tokens."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.vocabulary import Vocabulary


class Context:
    """What a text has come to. Drafters read it; the loop alone changes it.

    While a draft is put together its tokens stand behind the chosen ones, so that a drafter sees them as if they had been
    chosen.

    Args:
        vocabulary: What the tokens are.
        prompt: The tokens of the prompt.

    Attributes:
        vocabulary: As given.
        prompt: As given.
        source: The bytes of the prompt; special tokens have none.
        tokens: The tokens behind the prompt.
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
        """The source in small letters, byte for byte."""
        return self.source.lower()

    def append(self, token: int) -> None:
        """Add a token."""
        self.tokens.append(token)
        self.text += self._bytes_of(token)

    def cut(self, length: int) -> None:
        """Take the tokens behind the first `length` off again."""
        for token in self.tokens[length:]:
            if size := len(self._bytes_of(token)):
                del self.text[-size:]
        del self.tokens[length:]

    def _bytes_of(self, token: int) -> bytes:
        tokens = self.vocabulary.tokens
        return tokens[token] if token < len(tokens) else b""
