"""Tools for tests: the mask as a set, the slow way to the same set, and random texts of a grammar.

    from schemagen.testing import brute_force_mask, check_masks, mask_of, random_text

    grammar = schemagen.compile(Person, vocabulary)
    assert Person.model_validate_json(random_text(grammar, seed=1))
    check_masks(grammar)

schemagen's own tests use these tools. With them you can check whether a type of yours has the intended texts,
and whether an engine of yours agrees with this one.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from schemagen.engine.protocol import Matcher
    from schemagen.grammar.grammar import Grammar
    from schemagen.vocabulary import Vocabulary

__all__ = ["brute_force_mask", "check_masks", "mask_of", "random_text", "random_token_ids"]


def mask_of(matcher: Matcher, vocabulary: Vocabulary, *, budget: int | None = None) -> set[int]:
    """Return the ids that the mask allows.

    Args:
        matcher: A matcher over ``vocabulary``.
        vocabulary: The vocabulary, V ids.
        budget: As in `Matcher.fill_next_token_bitmask`.

    Raises:
        AssertionError: The mask has a bit beyond V, or filling it does not return whether a token is missing.

    Cost: one mask, and O(V) for the set.
    """
    words = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    is_partial = matcher.fill_next_token_bitmask(words, 0, budget=budget)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    if bits[vocabulary.size :].any():
        raise AssertionError(f"the mask has bits beyond the {vocabulary.size} ids of the vocabulary")
    allowed = set(np.flatnonzero(bits).tolist())
    if is_partial != (len(allowed) < vocabulary.size):
        raise AssertionError(f"filling the mask returned {is_partial}; {len(allowed)} of {vocabulary.size} are allowed")
    return allowed


def brute_force_mask(matcher: Matcher, vocabulary: Vocabulary) -> set[int]:
    """Return the ids that can follow, by trying each of them; every mask has to equal this set.

    Args:
        matcher: A matcher over ``vocabulary``; it is left as it was.
        vocabulary: The vocabulary.

    Cost: each token of the vocabulary is read byte by byte.
    """
    allowed = set[int]()
    for token_id in range(vocabulary.size):
        if matcher.accept_token(token_id):
            matcher.rollback()
            allowed.add(token_id)
    return allowed


def random_token_ids(grammar: Grammar, *, seed: int = 0, max_tokens: int = 100) -> list[int]:
    """Return the tokens of a random text of a grammar, without the EOS token.

    At each step half of the choices are among the tokens that do not begin with a letter or digit, if there are any:
    otherwise the letters of strings would hide everything else. The text ends within ``max_tokens``, or within
    `Grammar.min_new_tokens` if that is more.

    Args:
        grammar: The grammar.
        seed: Equal seeds give equal texts.
        max_tokens: The maximum number of tokens of the text.

    Raises:
        AssertionError: Nothing is allowed though the text may not end, or an allowed token is refused.
        ValueError: The grammar has no known shortest text, and this one was not at an end after ``max_tokens``.

    Cost: a mask with a budget for each token.
    """
    choose = random.Random(seed)  # noqa: S311 - seeded on purpose
    matcher, vocabulary = grammar.matcher(), grammar.vocabulary
    left, written = max(max_tokens, matcher.tokens_to_finish() or 0), list[int]()
    while True:
        if left == 0 and not matcher.is_accepting():
            raise ValueError(f"no end within {len(written)} tokens: {_text(vocabulary, written)[-200:]!r}")
        allowed = sorted(mask_of(matcher, vocabulary, budget=left)) if left else [vocabulary.eos_token_ids[0]]
        if not allowed:
            raise AssertionError(f"a dead end after {_text(vocabulary, written)!r}")
        token_id = _drawn(allowed, vocabulary, choose)
        if token_id in vocabulary.eos_token_ids:
            return written
        if not matcher.accept_token(token_id):
            raise AssertionError(f"{vocabulary.tokens[token_id]!r} is in the mask after {_text(vocabulary, written)!r}")
        written.append(token_id)
        left -= 1


def random_text(grammar: Grammar, *, seed: int = 0, max_tokens: int = 100) -> str:
    """Return a random text of a grammar; see `random_token_ids`."""
    return _text(grammar.vocabulary, random_token_ids(grammar, seed=seed, max_tokens=max_tokens)).decode()


def check_masks(grammar: Grammar, *, walks: int = 5, seed: int = 0, max_tokens: int = 40) -> int:
    """Compare the mask at every step of random texts with brute force, and return the number of masks.

    Args:
        grammar: The grammar. Use a small vocabulary (`Vocabulary.byte_vocabulary()`): each token is tried at each step.
        walks: The number of texts.
        seed: The seed of the first text; the others have the next seeds.
        max_tokens: The maximum number of tokens of each text.

    Raises:
        AssertionError: A mask is wrong: the text so far, and the tokens by which they differ.

    Cost: `brute_force_mask` for each token of each text.
    """
    vocabulary, count = grammar.vocabulary, 0
    for walk in range(walks):
        matcher = grammar.matcher()
        written = random_token_ids(grammar, seed=seed + walk, max_tokens=max_tokens)
        for at in range(len(written) + 1):
            mask, expected = mask_of(matcher, vocabulary), brute_force_mask(matcher, vocabulary)
            if mask != expected:
                wrong = {vocabulary.tokens[token_id] for token_id in sorted(mask ^ expected)[:10]}
                raise AssertionError(f"after {_text(vocabulary, written[:at])!r} the mask is wrong for {wrong}")
            count += 1
            if at < len(written) and not matcher.accept_token(written[at]):
                raise AssertionError(f"{vocabulary.tokens[written[at]]!r} is in the mask, and refused")
    return count


def _text(vocabulary: Vocabulary, token_ids: list[int]) -> bytes:
    return b"".join(vocabulary.tokens[token_id] for token_id in token_ids)


def _drawn(allowed: list[int], vocabulary: Vocabulary, choose: random.Random) -> int:
    signs = [token_id for token_id in allowed if not vocabulary.tokens[token_id][:1].isalnum()]
    return choose.choice(signs if signs and choose.random() < 1 / 2 else allowed)
