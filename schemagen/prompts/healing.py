"""Token healing: the last tokens of a prompt are opened again, so that the answer may share a token with them.

Idea: a prompt that ends within a word, or in front of a space, ends in tokens that the model would not have written there:
``http:`` is one token and ``http://`` another, so behind the first one the second can no longer come. The last tokens are
taken off the prompt, and the model writes their text again, as a constraint, with the answer behind it (Lundberg 2023, "The art
of prompt design: prompt boundaries and token healing"; Koo et al. 2024, section 2.4, give the same by composing automata).

Invariants: what is opened is text, and so short that some token begins with all of it and goes on; special tokens stay.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.parts import Part
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.grammar.grammar import Grammar
    from schemagen.vocabulary import Vocabulary

#: Tokens that are opened again, at most.
MOST = 8


@dataclass(frozen=True, slots=True)
class Healed:
    """A prompt without its last tokens.

    Attributes:
        token_ids: What is left of the prompt.
        text: Of the tokens that were taken off.
        constraint: That text, and the answer directly behind it.
    """

    token_ids: tuple[int, ...]
    text: str
    constraint: GrammarGraph


def heal(token_ids: tuple[int, ...], grammar: Grammar) -> Healed | None:
    """Return a prompt whose end is open; None if no token could reach from it into the answer.

    Cost: a look into the sorted vocabulary for each token that is opened, and a small automaton.
    """
    count = _to_open(token_ids, grammar.vocabulary)
    if not count:
        return None
    kept, opened = token_ids[:-count], token_ids[-count:]
    text = b"".join(grammar.vocabulary.tokens[token] for token in opened).decode()
    return Healed(kept, text, behind(text, grammar))


def _to_open(token_ids: Sequence[int], vocabulary: Vocabulary) -> int:
    """Return how many of the last tokens are opened: the most whose text is text, and the beginning of another token."""
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
    """Whether some token begins with the bytes and is longer."""
    tokens = _sorted_tokens(vocabulary)
    place = bisect_right(tokens, data)
    return place < len(tokens) and tokens[place].startswith(data)


@lru_cache(maxsize=64)
def behind(text: str, grammar: Grammar) -> GrammarGraph:
    """Return the grammar of a fixed text with an answer directly behind it."""
    answer = Part(grammar, final=True, label="the answer")
    opened = Part(ast.literal(text), (0,), label="the end of the prompt")
    return GrammarGraph([answer, opened], [1], grammar.vocabulary)
