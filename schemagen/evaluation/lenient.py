"""A lenient reader for the JSON object that a model meant.

A strict reader would make unconstrained answers look worse than they are. This one also reads an answer in a code fence, after
a sentence, with single quotes, with a comma too many or without its last bracket. It returns the first object that it can read
from any ``{`` on.

It is a recursive descent over JSON, extended by comments, quotes of both kinds, bare words as keys and values, Python's and
JavaScript's constants, trailing and missing commas, line breaks in strings, and an end of the text at any place.
"""

from __future__ import annotations

import json
import re
from typing import Any

_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_,]*\d|\d)?(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
#: The text after a number, if it is one and not the start of "42 dollars".
_ENDED = re.compile(r"[ \t]*(?:[,}\]\n:/#]|$)")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_BARE = re.compile(r"[^,}\]\n]+")
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "undefined": None, "nan": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSING = {"'": "'", '"': '"', "\N{LEFT DOUBLE QUOTATION MARK}": "\N{RIGHT DOUBLE QUOTATION MARK}"}
_MOST_DEPTH = 50


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first object in a text that has a key; None if there is none."""
    decoder = json.JSONDecoder()
    starts = [match.start() for match in re.finditer(r"\{", text)]
    for start in starts:
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found:
            # A complete object may still be a part of a broken one.
            outer = next((repaired for other in starts if other < start and (repaired := _read(text, other))), None)
            return outer or found
    return next((found for start in starts if (found := _read(text, start))), None)


def _read(text: str, start: int) -> dict[str, Any] | None:
    try:
        found = _Reader(text, start).value(0)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found else None


class _Reader:
    """Reads one value."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._at = text, start

    def value(self, depth: int) -> Any:
        """Read a value.

        Raises:
            ValueError: No value starts here.
        """
        if depth > _MOST_DEPTH:
            raise ValueError("nested too deeply")
        next_one = self._peek()
        if next_one == "{":
            return self._object(depth + 1)
        if next_one == "[":
            return self._array(depth + 1)
        if next_one in _CLOSING:
            return self._string()
        return self._scalar()

    def _peek(self) -> str:
        """Skip whitespace and comments; return the next character, or an empty text at the end."""
        self._at = _skipped(self._text, self._at)
        return self._text[self._at : self._at + 1]

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while (next_one := self._peek()) not in ("}", ""):
            if next_one == ",":
                self._at += 1
                continue
            key = self._key()
            if self._peek() not in (":", "="):
                if not self._peek():
                    break
                raise ValueError(f"no colon at {self._at}")
            self._at += 1
            if not self._peek():
                break
            found[key] = None if self._peek() in (",", "}") else self.value(depth)
        self._at += 1
        return found

    def _key(self) -> str:
        if self._peek() in _CLOSING:
            return self._string()
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise ValueError(f"no key at {self._at}")
        self._at = match.end()
        return match.group()

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        while (next_one := self._peek()) not in ("]", ""):
            if next_one == ",":
                self._at += 1
                continue
            if next_one == "}":
                break
            found.append(self.value(depth))
        self._at += next_one == "]"
        return found

    def _string(self) -> str:
        closing = _CLOSING[self._text[self._at]]
        self._at += 1
        found: list[str] = []
        while self._at < len(self._text) and self._text[self._at] != closing:
            found.append(self._character())
        self._at += 1
        return "".join(found)

    def _character(self) -> str:
        character = self._text[self._at]
        self._at += 1
        if character != "\\" or self._at >= len(self._text):
            return character
        escaped = self._text[self._at]
        self._at += 1
        digits = self._text[self._at : self._at + 4]
        if escaped == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", digits):
            self._at += 4
            return chr(int(digits, 16))
        return _ESCAPES.get(escaped, escaped)

    def _scalar(self) -> Any:
        match = _NUMBER.match(self._text, self._at)
        if match and any(map(str.isdigit, match.group())) and _ENDED.match(self._text, match.end()):
            self._at = match.end()
            digits = re.sub(r"[_,](?=\d)", "", match.group())
            # A comma that is not a thousands separator ends the number.
            if "," in match.group() and not re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", match.group()):
                digits = match.group().partition(",")[0]
                self._at = match.start() + len(digits)
            return float(digits) if re.search(r"[.eE]", digits) else int(digits)
        match = _BARE.match(self._text, self._at)
        if match is None:
            raise ValueError(f"no value at {self._at}")
        self._at = match.end()
        word = match.group().strip()
        return _CONSTANTS.get(word.lower(), word)


def _skipped(text: str, at: int) -> int:
    match = _SKIPPED.match(text, at)
    return at if match is None else match.end()
