"""Whitespace between the parts of a JSON text, where the suite has no word for it."""

from __future__ import annotations

import schemagen

UNIQUE_LISTS = {
    "type": "array",
    "uniqueItems": True,
    "items": {"type": "array", "items": {"type": "integer"}},
}


def test_no_line_break_leads_into_a_dead_end(byte_vocabulary):
    """Where a bracket would repeat an item, no whitespace is offered that only this bracket could follow."""
    matcher = schemagen.compile(UNIQUE_LISTS, byte_vocabulary, cache=None).matcher()
    assert matcher.accept_bytes(b"[[1],[1")
    assert {byte_vocabulary.tokens[i] for i in matcher.allowed_tokens()}.isdisjoint({b"\n", b" ", b"]"})
    assert not matcher.accept_bytes(b"\n")
