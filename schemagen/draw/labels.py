r"""The labels of edges and nodes: text in the syntax of Python's `re`, made for reading.

A space is written `␣` to be visible. Apart from that, a label is an expression that matches the text or characters it shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.regex.ast import MAX_CODE_POINT, invert_ranges, normalise_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.regex.ast import Ranges

SPACE = "␣"
#: Most ranges written for one class of characters; the digits of all scripts are 70.
MAX_RANGES = 8
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", " ": SPACE}
_SPECIAL = frozenset(r"\.^$*+?()[|")
_SPECIAL_IN_CLASS = frozenset(r"\]^-")
_STARTS_COUNT = frozenset("0123456789,")
_SURROGATES = ((0xD800, 0xDFFF),)


def class_label(ranges: Ranges) -> str:
    """Return a set of characters as one of them, or as a class such as ``[0-9]`` or ``[^"]``."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return text_label(chr(ranges[0][0]))
    # No text has surrogates, so either side of the class may have them.
    rest = invert_ranges(normalise_ranges((*ranges, *_SURROGATES)))
    if ranges[-1][1] == MAX_CODE_POINT and len(rest) <= len(ranges):
        return f"[^{_members(rest)}]" if rest else r"[\s\S]"
    return f"[{_members(ranges)}]"


def text_label(text: str) -> str:
    """Return an expression for a text."""
    parts = []
    for i, character in enumerate(text):
        starts_count = character == "{" and text[i + 1 : i + 2] in _STARTS_COUNT
        escaped = character in _SPECIAL or starts_count
        parts.append("\\" + character if escaped else visible(character))
    return "".join(parts)


def visible(character: str) -> str:
    """Return a character, or a visible name or escape for it."""
    if character in _SHORT:
        return _SHORT[character]
    if character.isalnum() or (character.isascii() and character.isprintable()):
        return character
    point = ord(character)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def token_label(token: bytes) -> str:
    """Return the text of a token, not as an expression; bytes that are not valid UTF-8 as hexadecimal escapes."""
    text = token.decode("utf-8", "surrogateescape")
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text)


def token_list(tokens: Sequence[bytes], most: int, per_line: int = 4) -> str:
    """Return the first ``most`` tokens in short lines, followed by the number of all tokens if some are missing."""
    shown = [token_label(token) for token in tokens[:most]]
    lines = ["  ".join(shown[i : i + per_line]) for i in range(0, len(shown), per_line)]
    if len(tokens) > most:
        lines.append(f"… {len(tokens):,} tokens")
    return "\n".join(lines)


def _members(ranges: Ranges) -> str:
    texts = []
    for low, high in ranges[:MAX_RANGES]:
        dash = "-" if high > low + 1 else ""
        texts.append(_member(low) if low == high else _member(low) + dash + _member(high))
    return "".join(texts) + ("…" if len(ranges) > MAX_RANGES else "")


def _member(point: int) -> str:
    character = chr(point)
    return "\\" + character if character in _SPECIAL_IN_CLASS else visible(character)
