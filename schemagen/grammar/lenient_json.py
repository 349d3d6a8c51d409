"""A lenient reader for the JSON that a model meant.

It is used where a text was not constrained: to measure such answers (`first_object`), for which a strict reader would make them
look worse than they are, and to repair them (`Reader`, in `schemagen.grammar.misspelt_json`). It also reads an answer in a code
fence, after a sentence, with single quotes, with a comma too many or without its last bracket. `first_object` is the first
object that it can read from any ``{`` on.

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
WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_BARE = re.compile(r"[^,}\]\n]+")
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "undefined": None, "nan": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
CLOSING = {"'": "'", '"': '"', "\N{LEFT DOUBLE QUOTATION MARK}": "\N{RIGHT DOUBLE QUOTATION MARK}"}
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
        found = Reader(text, start).value(0)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found else None


class Reader:
    """Reads one value.

    Args:
        text: The text.
        start: Where the value begins.

    Attributes:
        at: The place after the last character that was read.
    """

    def __init__(self, text: str, start: int) -> None:
        self._text, self.at = text, start

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
        if next_one in CLOSING:
            return self.string()
        return self.scalar()

    def _peek(self) -> str:
        """Skip whitespace and comments; return the next character, or an empty text at the end."""
        self.at = skipped(self._text, self.at)
        return self._text[self.at : self.at + 1]

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while (next_one := self._peek()) not in ("}", ""):
            if next_one == ",":
                self.at += 1
                continue
            key = self.key()
            if self._peek() not in (":", "="):
                if not self._peek():
                    break
                raise ValueError(f"no colon at {self.at}")
            self.at += 1
            if not self._peek():
                break
            found[key] = None if self._peek() in (",", "}") else self.value(depth)
        self.at += 1
        return found

    def key(self) -> str:
        """Read a key, in quotes or without.

        Raises:
            ValueError: None starts here.
        """
        if self._peek() in CLOSING:
            return self.string()
        match = WORD.match(self._text, self.at)
        if match is None:
            raise ValueError(f"no key at {self.at}")
        self.at = match.end()
        return match.group()

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while (next_one := self._peek()) not in ("]", ""):
            if next_one == ",":
                self.at += 1
                continue
            if next_one == "}":
                break
            found.append(self.value(depth))
        self.at += next_one == "]"
        return found

    def string(self) -> str:
        """Read a string in quotes of either kind, up to the end of the text if they are not closed."""
        closing = CLOSING[self._text[self.at]]
        self.at += 1
        found: list[str] = []
        while self.at < len(self._text) and self._text[self.at] != closing:
            found.append(self._character())
        self.at += 1
        return "".join(found)

    def _character(self) -> str:
        character = self._text[self.at]
        self.at += 1
        if character != "\\" or self.at >= len(self._text):
            return character
        escaped = self._text[self.at]
        self.at += 1
        digits = self._text[self.at : self.at + 4]
        if escaped == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", digits):
            self.at += 4
            return chr(int(digits, 16))
        return _ESCAPES.get(escaped, escaped)

    def scalar(self) -> Any:
        """Read a number, a constant, or a bare word up to the next separator.

        Raises:
            ValueError: None starts here.
        """
        match = _NUMBER.match(self._text, self.at)
        if match and any(map(str.isdigit, match.group())) and _ENDED.match(self._text, match.end()):
            self.at = match.end()
            digits = re.sub(r"[_,](?=\d)", "", match.group())
            # A comma that is not a thousands separator ends the number.
            if "," in match.group() and not re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", match.group()):
                digits = match.group().partition(",")[0]
                self.at = match.start() + len(digits)
            return float(digits) if re.search(r"[.eE]", digits) else int(digits)
        match = _BARE.match(self._text, self.at)
        if match is None:
            raise ValueError(f"no value at {self.at}")
        self.at = match.end()
        word = match.group().strip()
        return _CONSTANTS.get(word.lower(), word)


def skipped(text: str, at: int) -> int:
    """Return the place after whitespace and comments."""
    match = _SKIPPED.match(text, at)
    return at if match is None else match.end()
