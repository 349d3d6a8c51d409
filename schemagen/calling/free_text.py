"""The regular languages around a call: free text, markers, and fixed words with optional whitespace.

Free text is any text of whole characters. It ends at its *trigger*, the first occurrence of a marker; the text that never gets
there, and the one that ends with it, are in `schemagen.regex.wildcards`. An anchored format has no marker, its calls begin like
any JSON value or list; `text_not_opening` is the text that does not begin like that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Longest run of whitespace where a format has some, or could: a soft cap against runaways.
MAX_WHITESPACE = 16
_SPACES = ast.char_set(" \t\n\r")
_GAP = ast.repeat(_SPACES, 0, MAX_WHITESPACE)
_OPENING, _CLOSING = frozenset("{[,:"), frozenset("}],:")


def text_not_opening(openings: str) -> ast.Regex:
    """Return the texts whose first character, whitespace apart, is none of some characters."""
    opened = ast.concat(ast.star(_SPACES), ast.char_set(openings), ast.ANY_STRING)
    return ast.complement(opened)


def words(text: str, markers: Sequence[str] = (), *, is_json: bool = False, quoted: bool = False) -> ast.Regex:
    """Return a fixed text with some freedom in its whitespace.

    Every run of whitespace may be any other one, or none; in JSON it may also stand inside brackets and around
    commas and colons. Markers are taken as they are.

    Args:
        text: The text as the format writes it.
        markers: What of it is atomic.
        is_json: Whether brackets, commas and colons outside of quotes are those of JSON.
        quoted: Whether it begins inside of quotes.
    """
    parts: list[ast.Regex] = []
    index = 0
    while index < len(text):
        marker = next((m for m in markers if text.startswith(m, index)), "")
        char = marker or text[index]
        quoted ^= char == '"'
        if not marker and not quoted and char in " \t\n\r":
            _append_gap(parts)
        else:
            loose = is_json and not marker and not quoted
            if loose and char in _CLOSING:
                _append_gap(parts)
            parts.append(ast.literal(char))
            if loose and char in _OPENING:
                _append_gap(parts)
        index += len(char)
    return ast.concat(*parts)


def _append_gap(parts: list[ast.Regex]) -> None:
    """Add optional whitespace, once."""
    if not parts or parts[-1] is not _GAP:
        parts.append(_GAP)
