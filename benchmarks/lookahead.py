"""The look-ahead k of DOMINO for JSON: a grammar whose masks leave out tokens that cross more than k borders of terminals.

Beurer-Kellner et al. 2024, section 3.5: a token may hold the rest of the terminal that the text is in, and k
terminals more. With k = 0 every token ends where a terminal ends: naive constraining and templates do this to
a model that would write ``",`` as one token. With k = infinity nothing is left out: these are the masks of this
package. The terminals of JSON are its punctuation, strings, numbers and literals, and blanks.

    grammar = LookaheadGrammar(lm.compile(Person), k=0)
    model.generate(..., logits_processor=[schemagen.LogitsProcessor(grammar)])
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.masks.rows import row_of

if TYPE_CHECKING:
    from schemagen import Grammar, Vocabulary

BETWEEN, STRING, ESCAPE, SCALAR, BLANK = range(5)
_PUNCTUATION = frozenset(b"{}[],:")
_BLANKS = frozenset(b" \t\r\n")


def step(mode: int, byte: int) -> tuple[int, bool]:
    """Return where a byte leads, and whether a terminal begins with it."""
    if mode == ESCAPE:
        return STRING, False
    if mode == STRING:
        return {ord("\\"): ESCAPE, ord('"'): BETWEEN}.get(byte, STRING), False
    if byte in _PUNCTUATION:
        return BETWEEN, True
    if byte in _BLANKS:
        return BLANK, mode != BLANK
    if byte == ord('"'):
        return STRING, True
    return SCALAR, mode != SCALAR


def terminals(mode: int, data: bytes) -> int:
    """Return how many terminals the bytes of a token are of."""
    count = 0
    for place, byte in enumerate(data):
        mode, begins = step(mode, byte)
        count += begins or place == 0
    return count


@lru_cache(maxsize=16)
def _allowed(vocabulary: Vocabulary, mode: int, k: int) -> np.ndarray[Any, Any]:
    """Return the tokens that cross at most k borders as the words of a mask; EOS ids are never left out."""
    bits = [not data or terminals(mode, data) <= k + 1 for data in vocabulary.tokens]
    padded = np.zeros(-(-len(bits) // 32) * 32, dtype=np.uint8)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little").view(np.int32)


class LookaheadGrammar:
    """A grammar of JSON with a bounded look-ahead; a constraint as `schemagen.LogitsProcessor` takes it.

    Args:
        grammar: Of a type or a schema.
        k: How many borders a token may cross.
    """

    def __init__(self, grammar: Grammar, k: int) -> None:
        self._grammar, self.k = grammar, k

    def matcher(self) -> LookaheadMatcher:
        """Return a cursor at the start."""
        return LookaheadMatcher(self._grammar.matcher(), self._grammar.vocabulary, self.k, [BETWEEN])

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that the look-ahead does not change."""
        return None if name == "token_table" else getattr(self._grammar, name)


class LookaheadMatcher:
    """A matcher whose masks are smaller.

    Args:
        inner: The exact one.
        vocabulary: Of both.
        k: How many borders a token may cross.
        modes: Where the lexer of JSON stood after each step.
    """

    def __init__(self, inner: Any, vocabulary: Vocabulary, k: int, modes: list[int]) -> None:
        self._inner, self._vocabulary, self._k, self._modes = inner, vocabulary, k, modes

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the exact mask without the tokens that cross too many borders; where nothing else is left they stay."""
        self._inner.fill_next_token_bitmask(bitmask, row, budget=budget)
        words = row_of(bitmask, row, self._vocabulary.size)
        fewer = words & _allowed(self._vocabulary, self._modes[-1], self._k)
        if fewer.any():
            words[:] = fewer
        return True

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; see `schemagen.engine.protocol.Matcher`."""
        if not self._inner.accept_token(token_id):
            return False
        mode = self._modes[-1]
        for byte in self._vocabulary.tokens[token_id]:
            mode, _ = step(mode, byte)
        self._modes.append(mode)
        return True

    def rollback(self, count: int = 1) -> None:
        """Undo the last steps."""
        self._inner.rollback(count)
        del self._modes[len(self._modes) - count :]

    def fork(self) -> LookaheadMatcher:
        """Return a copy."""
        return LookaheadMatcher(self._inner.fork(), self._vocabulary, self._k, list(self._modes))

    def reset(self) -> None:
        """Go back to the start."""
        self._inner.reset()
        self._modes = [BETWEEN]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that the look-ahead does not change."""
        return getattr(self._inner, name)
