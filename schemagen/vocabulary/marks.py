"""Marks: bytes for tokens that grammars name, so that one token reads as a text that nothing else is.

A special token has no text, and a grammar that names it (``<|python_tag|>``) means the token and not its characters. Texts are
UTF-8, in which 13 bytes never occur (RFC 3629: 0xC0, 0xC1 and from 0xF5 on). So a named token is spelled by a number in these
digits, its mark, and the grammar has the mark as a literal: automata, masks, budgets and rollback are those of other texts.

Invariants: all marks of a vocabulary are equally long, so that none begins with another; no other token has such a byte, for
one that does (``<0xFF>``) is never part of a text, and could be taken for the beginning of a mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

#: The bytes that no text has.
DIGITS = bytes((0xC0, 0xC1, *range(0xF5, 0x100)))


def marked_tokens(tokens: Sequence[bytes], token_ids: Collection[int]) -> tuple[bytes, ...]:
    """Return tokens some of which are their marks, and the others without those that cannot be part of a text."""
    length = 1
    while len(DIGITS) ** length < len(token_ids):
        length += 1
    found = [token if token.isascii() or not is_marked(token) else b"" for token in tokens]
    for number, token_id in enumerate(sorted(token_ids)):
        found[token_id] = bytes(
            DIGITS[number // len(DIGITS) ** place % len(DIGITS)] for place in reversed(range(length))
        )
    return tuple(found)


def is_marked(data: bytes) -> bool:
    """Whether there is a byte of a mark in some bytes."""
    return len(data.translate(None, DIGITS)) < len(data)


def without_marks(data: bytes) -> bytes:
    """Return the text of some bytes: marks are none."""
    return data.translate(None, DIGITS)
