"""Half of a surrogate pair: Python's `str` can hold one, no UTF-8 text can."""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def surrogate_words(*texts: str) -> str:
    """Return in words that a text has half of a surrogate pair; empty if none has."""
    found = next((half.group() for text in texts if (half := _HALF.search(text))), None)
    return "" if found is None else f"U+{ord(found):04X} is half of a surrogate pair, which UTF-8 text cannot contain"


def has_surrogates(text: str) -> bool:
    """Whether a text has half of a surrogate pair."""
    return _HALF.search(text) is not None
