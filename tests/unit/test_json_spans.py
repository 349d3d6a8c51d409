"""`read_spans` finds every value of a JSON text."""

import json
import random

import pytest

from schemagen.streaming.json_spans import Span, read_spans


def check(text, span, value):
    """Check that the text of a span, and those of its parts, denote a value and its parts."""
    assert json.loads(text[span.start : span.end]) == value
    if not isinstance(value, dict | list):
        assert span.parts is None
        return
    parts = value if isinstance(value, dict) else dict(enumerate(value))
    assert list(span.parts) == list(parts)
    for step, part in parts.items():
        check(text, span.parts[step], part)


def random_value(rng, depth):
    """Return JSON data, with texts that look like punctuation."""
    if depth and rng.random() < 0.6:
        parts = [random_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        return (
            parts
            if rng.random() < 0.5
            else {rng.choice('a"{\\é') * (index + 1): part for index, part in enumerate(parts)}
        )
    return rng.choice([None, True, -1.5e9, 0, "", 'a "b" {[,:]}', "\\", "\\\\", "\u20ac\n"])


@pytest.mark.parametrize("seed", range(60))
def test_every_value_has_its_place(seed):
    """In any layout, and whatever is in strings."""
    rng = random.Random(seed)
    value = random_value(rng, 4)
    text = json.dumps(value, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5)
    check(text, read_spans(f" {text} "[1:]), value)


def test_the_last_of_two_members_counts():
    """As for every reader of JSON."""
    assert read_spans('{"a": 1, "a": [2]}').parts == {"a": Span(14, 17, {0: Span(15, 16)})}


def test_depth_is_read_without_recursion():
    """Nested arrays have their spans however deep they are."""
    span, depth = read_spans("[" * 5000 + "]" * 5000), 0
    while span.parts:
        span, depth = span.parts[0], depth + 1
        assert (span.start, span.end) == (depth, 10_000 - depth)
    assert depth == 4999
