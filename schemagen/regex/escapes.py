"""Everything after a backslash, and character classes, in both dialects.

ECMA-262 is read with the meaning of its `u` flag, but as leniently as Annex B where the text cannot mean anything
else: a backslash before a character that is neither a letter nor a digit stands for that character. A backslash
before a letter that the dialect does not know is an error, because other dialects give such letters a meaning.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from contextlib import suppress
from functools import lru_cache

from schemagen.errors import InvalidPatternError
from schemagen.regex.ast import MAX_CODE_POINT, Chars, Ranges, invert_ranges, normalise_ranges
from schemagen.regex.cursor import Cursor, Flags
from schemagen.regex.syntax import After, Before, Syntax, word_boundary
from schemagen.regex.unicode import ecma_property, fold_case, script_names

_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
#: A class without another bracket or a backslash in it.
_PLAIN_CLASS = re.compile(r"\[\^?[^\[\]\\^][^\[\]\\]*\]")
_POSIX = re.compile(r"\[:\^?[A-Za-z]+:\]")
#: Python's `\B` refused the empty text before 3.14.
_B_IN_EMPTY = sys.version_info >= (3, 14)
_HEX = "0123456789abcdefABCDEF"
_POSIX_FIX = "write the characters, for instance 'a-zA-Z', or use Rust's dialect, which has these classes"
_NOT_REGULAR = "the match of a group has to be remembered, which no finite automaton can do"


def folded(cursor: Cursor, ranges: Ranges) -> Ranges:
    """Return ``ranges`` as the flag ``i`` at this position widens them."""
    if not cursor.flags.ignore_case:
        return ranges
    return fold_case(ranges, ascii_only=cursor.python and cursor.flags.ascii, dotless=cursor.python)


def atom_escape(cursor: Cursor) -> Syntax:
    """Read an escape outside of a class; the cursor is at the backslash."""
    start = cursor.position
    letter = cursor.peek(1)
    if letter in {"b", "B"}:
        cursor.position += 2
        in_empty = not cursor.python or _B_IN_EMPTY
        return word_boundary(cursor.predefined("w"), negative=letter == "B", in_empty=in_empty)
    if letter == "A":
        cursor.position += 2
        return Before((), edge=True)
    if letter in {"z", "Z"}:
        cursor.position += 2
        return After((), edge=True)
    if letter == "k" or (letter in "123456789" and letter and not _is_octal(cursor)):
        raise cursor.unsupported(
            f"back-reference '\\{letter}' cannot be compiled",
            start,
            why=_NOT_REGULAR,
            fix="write out the alternatives, or check this rule on the result",
        )
    point = _character(cursor)
    return Chars(_escaped_set(cursor, start) if point is None else folded(cursor, ((point, point),)))


def _is_octal(cursor: Cursor) -> bool:
    """Return whether the three digits after the backslash are octal, which makes them a character in Python."""
    digits = cursor.pattern[cursor.position + 1 : cursor.position + 4]
    return cursor.python and len(digits) == 3 and all(digit in "01234567" for digit in digits)


def character_class(cursor: Cursor) -> Chars:
    """Read ``[...]``; the cursor is at the opening bracket."""
    found = _PLAIN_CLASS.match(cursor.pattern, cursor.position)
    if found is not None:
        with suppress(InvalidPatternError):  # it is read again below, with its position in the whole pattern
            chars = _plain_class(found.group(), cursor.flags, python=cursor.python)
            cursor.position = found.end()
            return chars
    return _read_class(cursor)


@lru_cache(maxsize=1024)
def _plain_class(text: str, flags: Flags, *, python: bool) -> Chars:
    """Return a class without escapes. Cached: a pattern mostly has the same few again and again."""
    return _read_class(Cursor(text, python, flags=flags))


def _read_class(cursor: Cursor) -> Chars:
    start = cursor.position
    cursor.position += 1
    negated = cursor.skip("^")
    ranges: list[tuple[int, int]] = []
    first = True
    while cursor.peek() != "]" or (first and cursor.python):
        if not cursor.peek():
            raise cursor.invalid("character class '[' is never closed", start, fix="add ']', or write '\\[' for '['")
        ranges.extend(_class_item(cursor))
        first = False
    cursor.position += 1
    found = normalise_ranges(ranges)
    return Chars(invert_ranges(found) if negated else found)


def _class_item(cursor: Cursor) -> Ranges:
    """Read a character, a set, or a range of characters inside a class."""
    start = cursor.position
    low = _class_atom(cursor)
    if cursor.peek() != "-" or cursor.peek(1) in {"]", ""}:
        return low if isinstance(low, tuple) else folded(cursor, ((low, low),))
    dash = cursor.position
    cursor.position += 1
    high = _class_atom(cursor)
    if isinstance(low, int) and isinstance(high, int):
        if low > high:
            text = cursor.pattern[start : cursor.position]
            raise cursor.invalid(f"character range {text!r} is out of order", start, fix="swap its ends")
        return folded(cursor, ((low, high),))
    if cursor.python:
        text = cursor.pattern[start : cursor.position]
        raise cursor.invalid(f"character range {text!r} ends in a set", dash, fix="write '\\-' for a hyphen")
    parts = [part if isinstance(part, tuple) else folded(cursor, ((part, part),)) for part in (low, high)]
    return normalise_ranges((*parts[0], (0x2D, 0x2D), *parts[1]))


def _class_atom(cursor: Cursor) -> int | Ranges:
    """Read one character (a code point) or one set (ranges) inside a class."""
    start = cursor.position
    if cursor.peek() == "\\":
        if cursor.peek(1) == "b":
            cursor.position += 2
            return 0x08
        point = _character(cursor)
        return _escaped_set(cursor, start) if point is None else point
    posix = _POSIX.match(cursor.pattern, start)
    if posix:
        raise cursor.unsupported(
            f"POSIX class {posix.group()!r} is not part of this dialect",
            start,
            why="the dialect would read it as a set of its letters",
            fix=_POSIX_FIX if cursor.python else "write the characters, for instance 'a-zA-Z' or '\\p{L}'",
        )
    return ord(cursor.take())


def _escaped_set(cursor: Cursor, start: int) -> Ranges:
    r"""Read ``\d \D \s \S \w \W \p{...} \P{...}``; the cursor is at the backslash."""
    letter = cursor.peek(1)
    if letter and letter in "dsw":
        cursor.position += 2
        return cursor.predefined(letter)
    if letter and letter in "DSW":
        cursor.position += 2
        return invert_ranges(cursor.predefined(letter.lower()))
    if letter in {"p", "P"} and not cursor.python:
        return _property(cursor, start)
    if not letter:
        raise cursor.invalid("a backslash ends the pattern", start, fix="write '\\\\' for a backslash")
    raise cursor.invalid(
        f"escape '\\{letter}' is not part of this dialect",
        start,
        why=f"'\\{letter}' means different things in different dialects",
        fix=f"write '{letter}' without the backslash, or the characters that are meant",
    )


def _property(cursor: Cursor, start: int) -> Ranges:
    r"""Read ``\p{...}`` or ``\P{...}``."""
    end = cursor.pattern.find("}", start)
    if cursor.peek(2) != "{" or end < 0:
        raise cursor.invalid("property escape without '{...}'", start, fix="write for instance '\\p{L}'")
    expression = cursor.pattern[start + 3 : end]
    ranges = ecma_property(expression)
    if ranges is None:
        raise cursor.unsupported(
            f"Unicode property {expression!r} is not known",
            start,
            why="the general categories, some binary properties and these scripts are: " + ", ".join(script_names()),
            fix="write the code points as a class such as [\\u{41}-\\u{5A}]",
        )
    negated = cursor.pattern[start + 1] == "P"
    cursor.position = end + 1
    return folded(cursor, invert_ranges(ranges) if negated else ranges)


def _character(cursor: Cursor) -> int | None:
    """Read an escape that stands for one character; return None, without moving, if it stands for a set."""
    start = cursor.position
    letter = cursor.peek(1)
    if letter in _CONTROLS:
        cursor.position += 2
        return _CONTROLS[letter]
    if letter == "x":
        return _hexadecimal(cursor, 2)
    if letter == "u":
        return _unicode_escape(cursor)
    if letter.isascii() and letter.isdigit():
        return _octal(cursor, start)
    if not cursor.python and letter == "c" and cursor.peek(2).isascii() and cursor.peek(2).isalpha():
        cursor.position += 3
        return ord(cursor.pattern[cursor.position - 1]) % 32
    if cursor.python and letter in {"a", "U", "N"}:
        return _python_character(cursor, letter)
    if not letter or (letter.isascii() and letter.isalpha()):
        return None
    cursor.position += 2
    return ord(letter)


def _hexadecimal(cursor: Cursor, count: int) -> int:
    """Read a backslash, a letter, and exactly ``count`` hexadecimal digits."""
    start = cursor.position
    digits = cursor.pattern[start + 2 : start + 2 + count]
    if len(digits) != count or any(digit not in _HEX for digit in digits) or int(digits, 16) > MAX_CODE_POINT:
        text = cursor.pattern[start : start + 2 + count]
        raise cursor.invalid(f"escape '{text}' needs {count} hexadecimal digits of a code point", start)
    cursor.position += 2 + count
    return int(digits, 16)


def _unicode_escape(cursor: Cursor) -> int:
    r"""Read ``\uXXXX``, in ECMA-262 also a surrogate pair of two of them (one code point) and ``\u{X...}``."""
    start = cursor.position
    if not cursor.python and cursor.peek(2) == "{":
        end = cursor.pattern.find("}", start)
        digits = cursor.pattern[start + 3 : max(end, 0)]
        if not digits or any(d not in _HEX for d in digits) or len(digits.lstrip("0")) > 6:
            raise cursor.invalid("escape '\\u{' needs hexadecimal digits and '}'", start)
        if int(digits, 16) > MAX_CODE_POINT:
            raise cursor.invalid(f"code point {digits} is above 10FFFF", start)
        cursor.position = end + 1
        return int(digits, 16)
    point = _hexadecimal(cursor, 4)
    low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(cursor.pattern, cursor.position)
    if cursor.python or low is None or not 0xD800 <= point <= 0xDBFF:
        return point
    cursor.position = low.end()
    return 0x10000 + ((point - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00


def _octal(cursor: Cursor, start: int) -> int:
    r"""Read ``\0``, and in Python an octal escape; inside a class nothing else can begin with a digit."""
    if not cursor.python:
        if cursor.peek(1) != "0" or (cursor.peek(2).isascii() and cursor.peek(2).isdigit()):
            raise cursor.unsupported(
                "octal escapes are not part of ECMA-262 with the u flag", start, fix="write '\\xHH'"
            )
        cursor.position += 2
        return 0
    found = re.compile(r"0[0-7]{0,2}|[0-7]{3}").match(cursor.pattern, start + 1)
    if found is None or int(found.group(), 8) > 0o377:
        raise cursor.invalid(f"bad octal escape '\\{cursor.peek(1)}'", start, fix="write '\\xHH'")
    cursor.position = found.end()
    return int(found.group(), 8)


def _python_character(cursor: Cursor, letter: str) -> int:
    r"""Read ``\a``, ``\UXXXXXXXX`` or ``\N{name}`` of Python's `re`."""
    start = cursor.position
    if letter == "U":
        return _hexadecimal(cursor, 8)
    if letter == "a":
        cursor.position += 2
        return 0x07
    name = re.compile(r"\{([^{}]+)\}").match(cursor.pattern, start + 2)
    try:
        point = ord(unicodedata.lookup(name.group(1) if name else ""))
    except (KeyError, TypeError):
        raise cursor.invalid("escape '\\N' needs the name of one Unicode character in braces", start) from None
    cursor.position = name.end() if name else start
    return point
