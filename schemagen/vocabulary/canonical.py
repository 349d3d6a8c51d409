"""`CanonicalTokens`: the one sequence of tokens, of all that spell a text, that the tokenizer itself writes.

Models are trained on canonical tokens alone, but a mask allows every sequence that spells a valid text. So a part of the
probability goes to sequences that training never shows. With canonical tokens each text has one sequence, and one
probability (Vieira et al. 2025, arXiv:2506.06446).

Idea: a token may come next if *some* longer text has these tokens first. The tokenizer itself is asked: it encodes the text of
the last tokens alone, and with each of `_PROBES` after it, because the next characters may move a boundary (GPT-2 writes two
blanks before a word in one way, and at the end in another). After a token that ends within a character, the characters that
complete it are tried. This works for every tokenizer that encodes text from left to right, whatever its rules.

The last tokens are those after a *final* boundary, before which no character has an influence. Regular expressions that
split a text into words look ahead by one character, so a boundary of words is final when three more words follow. Without
such words, a place is final if its two bytes stand side by side in no token.

Invariant: a text that may end has exactly the tokens of ``encode(text)``, which is checked over the whole text.
"""

from __future__ import annotations

from codecs import utf_8_decode
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.errors import OptionError
from schemagen.vocabulary.adapters import parts_of, plain_backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.vocabulary.vocabulary import Vocabulary

#: Texts that may follow a token, one for each kind of character that splitting into words tells apart.
_PROBES = ("", "a", " a", "\n", "1", ".", "A", "'")
#: More such texts, with letters, digits and signs of rare scripts. One script is used: the one whose first byte follows the
#: fewest other bytes within tokens, so that a token before it ends where it begins.
_RARE = (
    ("\u07ca", " \u07ca", "\u07c0", "\u07f7"),
    ("\ua500", " \ua500", "\ua620", "\ua60d"),
    ("\U00010480", " \U00010480", "\U000104a0", "\U00010b3a"),
)
#: Words after a boundary that make it final.
_FINAL = 3
#: Characters that are tried to complete one that a token ends in.
_MOST = 4096
#: Before every text, if the tokenizer adds a space to the first word.
_ANCHOR = "\n"


class CanonicalTokens:
    """Which sequences of tokens a tokenizer writes.

    Args:
        tokenizer: A fast tokenizer of transformers, or one of `tokenizers`.
        vocabulary: Its vocabulary.

    Raises:
        OptionError: There is no fast tokenizer.

    Thread safety: one object serves any number of threads.
    """

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        backend, _ = parts_of(tokenizer)
        if backend is None:
            raise OptionError(
                'tokenization="canonical" with a tokenizer written in Python',
                why="each step encodes a few words, and only fast tokenizers say where words end",
                fix="load it with AutoTokenizer.from_pretrained(..., use_fast=True), or leave tokenization out",
            )
        self._backend, self._vocabulary = plain_backend(backend), vocabulary
        self._ends = frozenset(vocabulary.eos_token_ids)
        self._has_words = len(set(self._encode("a b c").word_ids)) > 1
        follows = _meetings(vocabulary).sum(axis=0)  # of each byte: how many bytes it follows within a token
        self._probes = (*_PROBES, *min(_RARE, key=lambda texts: follows[texts[0].encode()[0]]))
        self._anchor: list[int] = self._encode(_ANCHOR).ids if vocabulary.adds_prefix_space else []

    def text(self) -> CanonicalText:
        """Return an empty text."""
        return CanonicalText(self)

    def encode(self, text: str) -> list[int]:
        """Return the canonical tokens of a text."""
        return self._ids_of(text)[len(self._anchor) :]

    def is_text(self, token_id: int) -> bool:
        """Whether a token is a part of a text: it is neither EOS nor a control token."""
        return token_id not in self._ends and bool(self._vocabulary.tokens[token_id])

    def may_follow(self, last: Sequence[int], token_id: int) -> bool:
        """Whether the tokenizer writes some text that begins with tokens and another one.

        Args:
            last: Tokens of a text from a final boundary on.
            token_id: A token of text.

        Cost: one call of the tokenizer for the text of a few words; for a token that may not follow, a dozen; for one that
            ends within a character, up to 8,192.
        """
        wanted = [*last, token_id]
        return any(self._ids_of(text)[len(self._anchor) :][: len(wanted)] == wanted for text in self._texts(wanted))

    def may_end(self, tokens: Sequence[int]) -> bool:
        """Whether tokens are those that the tokenizer writes for their text."""
        try:
            text = self._vocabulary.decode(tokens).decode()
        except UnicodeDecodeError:
            return False
        return self.encode(text) == list(tokens)

    def final(self, tokens: Sequence[int], start: int) -> int:
        """Return the index from which on tokens depend on no token before it, at least `start`."""
        last = tokens[start:]
        if self._has_words:
            return start + self._final_word(last)
        joined, edges = self._vocabulary.decode(last), np.cumsum([len(self._vocabulary.tokens[each]) for each in last])
        meets = _meetings(self._vocabulary)
        for place in range(len(last) - 2, -1, -1):
            edge = int(edges[place])
            if not 0 < edge < len(joined) or joined[edge] & 0xC0 == 0x80:  # nothing before it, or within a character
                continue
            if not meets[joined[edge - 1], joined[edge]]:
                return start + place + 1
        return start

    def _final_word(self, tokens: Sequence[int]) -> int:
        """Return the index of the first token after the last final boundary of words; 0 if it is not known."""
        try:
            encoding = self._encode(self._anchored(self._vocabulary.decode(tokens).decode()))
        except UnicodeDecodeError:
            return 0
        first, words = len(self._anchor), encoding.word_ids
        if encoding.ids[first:] != list(tokens) or None in words[first:]:
            return 0
        starts = [place for place in range(first, len(words)) if place == first or words[place] != words[place - 1]]
        return max(0, starts[-1 - _FINAL] - first) if len(starts) > _FINAL else 0

    def _texts(self, tokens: Sequence[int]) -> Iterator[str]:
        """Yield texts that begin with tokens."""
        data = self._vocabulary.decode(tokens)
        try:
            whole, consumed = utf_8_decode(data, "strict", False)  # noqa: FBT003 - the text goes on
        except UnicodeDecodeError:
            return
        rest = data[consumed:]
        for end, probe in product(_completions(rest) if rest else ("",), self._probes[:2] if rest else self._probes):
            yield whole + end + probe

    def _anchored(self, text: str) -> str:
        return _ANCHOR + text if self._anchor else text

    def _ids_of(self, text: str) -> list[int]:
        found: list[int] = self._encode(self._anchored(text)).ids
        return found

    def _encode(self, text: str) -> Any:
        return self._backend.encode(text, add_special_tokens=False)


class CanonicalText:
    """A text of canonical tokens that grows token by token; control tokens stand between texts of their own.

    Args:
        canonical: Which tokens are canonical.

    Attributes:
        tokens: The tokens so far.
    """

    def __init__(self, canonical: CanonicalTokens) -> None:
        self._canonical = canonical
        self.tokens: list[int] = []
        self._starts = [(0, 0)]  # after each token: where the text begins, and its last final boundary

    def allows(self, token_id: int) -> bool:
        """Whether the tokenizer writes some text that begins with the tokens and another one; for EOS, the text itself.

        Cost: as `CanonicalTokens.may_follow`; for EOS, one call of the tokenizer for the whole text.
        """
        begin, start = self._starts[-1]
        if self._canonical.is_text(token_id):
            return self._canonical.may_follow(self.tokens[start:], token_id)
        return self._canonical.may_end(self.tokens[begin:])

    def append(self, token_id: int) -> None:
        """Add a token that is allowed."""
        self.tokens.append(token_id)
        begin, start = self._starts[-1]
        if self._canonical.is_text(token_id):
            self._starts.append((begin, self._canonical.final(self.tokens, start)))
        else:
            self._starts.append((len(self.tokens), len(self.tokens)))

    def cut(self, length: int) -> None:
        """Keep the first tokens."""
        del self.tokens[length:], self._starts[length + 1 :]

    def copy(self) -> CanonicalText:
        """Return a text that grows by itself."""
        made = CanonicalText(self._canonical)
        made.tokens, made._starts = self.tokens.copy(), self._starts.copy()
        return made


@lru_cache(maxsize=4)
def _meetings(vocabulary: Vocabulary) -> np.ndarray[Any, Any]:
    """Return which pairs of bytes stand side by side in some token, bool [256, 256]."""
    found = np.zeros((256, 256), dtype=bool)
    for token in vocabulary.tokens:
        if len(token) > 1:
            data = np.frombuffer(token, dtype=np.uint8)
            found[data[:-1], data[1:]] = True
    return found


def _completions(rest: bytes) -> Iterator[str]:
    """Yield the characters that begin with some bytes, evenly chosen if there are too many."""
    length = 2 if rest[0] < 0xE0 else 3 if rest[0] < 0xF0 else 4
    missing = length - len(rest)
    count = 64**missing
    for number in range(0, count, max(1, count // _MOST)):
        end = bytes(0x80 + (number >> 6 * place) % 64 for place in reversed(range(missing)))
        yield from (rest + end).decode("utf-8", "ignore")[:1]  # none: a surrogate, or too large
