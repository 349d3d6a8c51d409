"""Token healing: the model generates the last tokens of a prompt again, so that the answer may share a token with them.

Idea: a prompt that ends within a word, or before a space, ends in tokens that the model would not have chosen there: ``http:``
is one token and ``http://`` another, so after the first token the model can no longer write the second. The last tokens are
removed from the prompt, and the model writes their text again under a constraint, followed by the answer (Lundberg 2023, "The
art of prompt design: prompt boundaries and token healing"; Koo et al. 2024, section 2.4, achieve the same by composing
automata).

Invariants: the removed tokens are text, and so short that some token begins with all of it and is longer; special tokens stay.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.grammar.grammar import Grammar
    from schemagen.vocabulary import Vocabulary

#: Most tokens to generate again.
MOST = 8


@dataclass(frozen=True, slots=True)
class Healed:
    """A prompt without its last tokens.

    Attributes:
        token_ids: The remaining tokens of the prompt.
        text: The text of the removed tokens.
        constraint: That text, directly followed by the answer.
    """

    token_ids: tuple[int, ...]
    text: str
    constraint: GrammarGraph


def heal(token_ids: tuple[int, ...], grammar: Grammar) -> Healed | None:
    """Return a prompt without its last tokens; None if no token could span its end and the answer.

    Cost: a binary search in the sorted vocabulary for each of the last tokens, and a small automaton.
    """
    count = _to_open(token_ids, grammar.vocabulary)
    if not count:
        return None
    kept, opened = token_ids[:-count], token_ids[-count:]
    text = b"".join(grammar.vocabulary.tokens[token] for token in opened).decode()
    return Healed(kept, text, after_text(text, grammar))


def _to_open(token_ids: Sequence[int], vocabulary: Vocabulary) -> int:
    """Return how many trailing tokens to generate again: the most that are valid text and a proper prefix of a token."""
    best, data = 0, b""
    for count, token in enumerate(reversed(token_ids[-MOST:]), start=1):
        piece = vocabulary.tokens[token] if token < len(vocabulary.tokens) else b""
        if not piece or count == len(token_ids):
            break
        data = piece + data
        if _begins_another(data, vocabulary) and _is_text(data):
            best = count
    return best


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@lru_cache(maxsize=8)
def _sorted_tokens(vocabulary: Vocabulary) -> list[bytes]:
    return sorted(data for data in vocabulary.tokens if data)


def _begins_another(data: bytes, vocabulary: Vocabulary) -> bool:
    tokens = _sorted_tokens(vocabulary)
    place = bisect_right(tokens, data)
    return place < len(tokens) and tokens[place].startswith(data)


@lru_cache(maxsize=64)
def after_text(text: str, grammar: Grammar) -> GrammarGraph:
    """Return the grammar of a fixed text that is directly followed by an answer."""
    answer = Part(grammar, final=True, label="the answer")
    opened = Part(ast.literal(text), (0,), label="the end of the prompt")
    return GrammarGraph([answer, opened], [1], grammar.vocabulary)
