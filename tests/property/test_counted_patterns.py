"""A pattern beside a maxLength that is counted: near the limit the mask lets through what can still be finished, and nothing else."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import schemagen

pytest.importorskip("schemagen._core", reason="the compiled core counts beside the pattern")

ALPHABET = "ab c"
TOKENS = ["a", "b", " ", "c", "ab", "a ", " b", "ca", "bc ", "aab", '"', 'a"', 'b"', ' "', "\\u0061", "\\u0063a"]
PATTERNS = [
    r"(?:\S+\s+){0,9}\S+",
    r"(ab|c)*a?",
    r"a*b(ca)*",
    r"([abc]{2} )*abc",
    r"(a|b|c| )*",
    r"(abc|a b)*",
]


def finishable(pattern: str, text: str, room: int) -> bool:
    """Whether some continuation of at most `room` characters matches."""
    if room < 0:
        return False
    return any(
        re.fullmatch(pattern, text + "".join(rest))
        for length in range(room + 1)
        for rest in itertools.product(ALPHABET, repeat=length)
    )


@pytest.mark.parametrize("limit", [12, 13, 50, 51])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_near_the_limit(pattern, limit):
    """For prefixes that leave up to four characters, tokens are allowed exactly if a short enough continuation matches."""
    tokens = [token.encode() for token in TOKENS] + [b""]
    vocabulary = schemagen.Vocabulary.from_tokens(
        [bytes([byte]) for byte in range(256)] + tokens, eos_token_ids=[256 + len(tokens) - 1]
    )
    schema = {"type": "string", "pattern": f"^(?:{pattern})$", "maxLength": limit}
    grammar = schemagen.compile(schema, vocabulary, cache=None)
    bitmask = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    seeds = ["ab", "c", "a", "ab ", "abc", "a b", "ca", " ", "aab ", "b"]
    checked = 0
    for unit, left in itertools.product(seeds, range(5)):
        for start in ("", "a", "ab "):
            text = (start + unit * limit)[: limit - left]
            matcher = grammar.matcher()
            if not matcher.accept_bytes(b'"' + text.encode()):
                assert not finishable(pattern, text, left), text
                continue
            assert finishable(pattern, text, left), text
            matcher.fill_next_token_bitmask(bitmask, 0)
            for k, token in enumerate(TOKENS):
                allowed = bool(bitmask[0, (256 + k) // 32] >> ((256 + k) % 32) & 1)
                read = token.encode().decode("unicode_escape").rstrip('"')
                if token.endswith('"'):
                    expected = len(text + read) <= limit and bool(re.fullmatch(pattern, text + read))
                else:
                    expected = finishable(pattern, text + read, left - len(read))
                assert allowed == expected, (text, token)
                checked += 1
    assert checked
