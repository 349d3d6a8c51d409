"""`AnswerText`: the text of an answer, token by token, with a way back."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemagen.prompts.reasoning_grammar import ThoughtReader
    from schemagen.vocabulary import Vocabulary


class AnswerText:
    """The characters that the tokens of a generation add to its answer.

    Thoughts, the end of a healed prompt and EOS add none.

    Args:
        vocabulary: The bytes of the tokens.
        thoughts: The reader of the thoughts before the answer; None if there are none.
        skipped: Bytes before the answer that are part of the prompt.

    Attributes:
        text: The answer so far, whole characters only.
        first: How many tokens cannot be taken back: those before the answer, and the one in which it begins after them.
    """

    def __init__(self, vocabulary: Vocabulary, thoughts: ThoughtReader | None = None, skipped: int = 0) -> None:
        self._vocabulary, self._thoughts, self._skipped = vocabulary, thoughts, skipped
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._states = [self._decoder.getstate()]
        self._ends = [0]  # length of the text after each token
        self.text = ""
        self.first = 0

    @property
    def is_begun(self) -> bool:
        """Whether the answer has begun, or may begin with the next token: the thoughts are over."""
        return self._thoughts is None or self._thoughts.is_over

    def append(self, token_id: int) -> str:
        """Add a token; return the characters that it completes."""
        data = self._bytes_of(token_id)
        if self._skipped:
            data, self._skipped = data[self._skipped :], max(0, self._skipped - len(data))
            self.first = len(self._ends)
        piece = self._decoder.decode(data)
        self.text += piece
        self._states.append(self._decoder.getstate())
        self._ends.append(len(self.text))
        return piece

    def _bytes_of(self, token_id: int) -> bytes:
        if self._thoughts is None or self._thoughts.is_over:
            return b"" if token_id in self._vocabulary.eos_token_ids else self._vocabulary.decode([token_id])
        data = self._thoughts.feed([token_id])[1]
        self.first = len(self._ends)
        return data

    def cut(self, length: int) -> None:
        """Keep the first tokens, at least those of `first`."""
        del self._states[length + 1 :], self._ends[length + 1 :]
        self._decoder.setstate(self._states[-1])
        self.text = self.text[: self._ends[-1]]

    def token_at(self, offset: int) -> int:
        """Return the index of the token with the character at an offset of the text."""
        return bisect_right(self._ends, offset) - 1
