"""Random walks through a matcher, tools for the property tests of the engines."""

from __future__ import annotations

import random

import numpy as np

#: From best to worst when a text must come to an end; whatever is in none of them comes after.
_CLOSERS = (b"}", b"]", b'"', b",")
_OPENERS = frozenset(b"[{\\ \n\t")
#: Letters and digits, and the two bytes of "é", which patterns of these tests wait for.
_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789\xc3\xa9")


class NoEndError(AssertionError):
    """A walk did not come to an end in time."""


def mask_of(matcher, vocabulary):
    """Return the mask as int32 words of one row."""
    words = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    matcher.fill_next_token_bitmask(words)
    return words


def ids_in(words):
    """Return the ids of the bits that are set."""
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


def random_steps(matcher, vocabulary, rng, count):
    """Follow up to so many uniformly random allowed tokens, never the end; return their bytes."""
    text = bytearray()
    for _ in range(count):
        allowed = matcher.allowed_tokens()
        assert allowed, f"no token is allowed after {bytes(text)!r}"
        inside = [token for token in allowed if token not in vocabulary.eos_token_ids]
        if not inside:
            break
        token = rng.choice(inside)
        assert matcher.accept_token(token), f"{vocabulary.tokens[token]!r} is in the mask after {bytes(text)!r}"
        text += vocabulary.tokens[token]
    return bytes(text)


def equals_brute_force(matcher, vocabulary):
    """Whether a token is in the mask exactly if its bytes can follow, for all ids."""
    expected = {i for i, token in enumerate(vocabulary.tokens) if token and matcher.fork().accept_bytes(token)}
    expected |= set(vocabulary.eos_token_ids) if matcher.is_accepting() else set()
    return set(ids_in(mask_of(matcher, vocabulary))) == expected


def close(matcher, vocabulary, rng, limit=3000):
    """Bring a text to its end, preferring tokens that close; return the bytes.

    Raises:
        NoEndError: Too many tokens. What `contains` or a pattern waits for may be out of reach of chance.
    """
    text = bytearray()
    for _ in range(limit):
        allowed = matcher.allowed_tokens()
        assert allowed, f"no token is allowed after ...{bytes(text[-200:])!r}"
        token = _closing(matcher, allowed, vocabulary, rng)
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            return bytes(text)
        text += vocabulary.tokens[token]
    raise NoEndError(f"no end within {limit} tokens: {bytes(text[:200])!r}")


def _closing(matcher, allowed, vocabulary, rng):
    if matcher.is_accepting():
        return vocabulary.eos_token_ids[0]
    by_text = {vocabulary.tokens[token]: token for token in allowed}
    in_string = b"~" in by_text or b"z" in by_text
    # One step in six is free: otherwise the item that `contains` waits for might never be written.
    if rng.random() < 5 / 6:
        for closer in (b'"',) if in_string else _CLOSERS:
            if closer in by_text:
                return by_text[closer]
        words = [token for text, token in by_text.items() if _WORDS.issuperset(text)]
        if words or not in_string:
            return rng.choice(words or [t for text, t in by_text.items() if not _OPENERS.intersection(text)] or allowed)
    return rng.choice(allowed)


def random_text(grammar, seed, steps):
    """Return a text that the masks led through: random for some steps, then to the nearest end."""
    rng, matcher = random.Random(seed), grammar.matcher()
    text = random_steps(matcher, grammar.vocabulary, rng, steps)
    text += close(matcher, grammar.vocabulary, rng)
    return text.decode()
