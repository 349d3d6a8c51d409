"""The usual mistakes in JSON, as other ways to write parts of a text: what `nearest_text` may do besides single characters.

| mistake | cost |
|---|---|
| a string in single or curly quotes, with line breaks in it or without its end | 0.01 |
| a bare word; a comment; a comma too many | 0.01 |
| a quote in a string that is not escaped | 0.6 |
| ``True``, ``None`` and the like; a number or constant as a string, a string as a number or constant | 0.01 |
| a number with words around it, such as "36 years"; yes and no | 1 |
| text before or after the value, such as prose and code fences; all of a text without brackets | 1 each |
| a string, number or word in place of another value: it is deleted as a whole | 1, a key 3 |
| an object around the value, or a list | 2.5, and its end |
| a member that is too many | 3.5 |

The costs are in this order for a reason. Mistakes that lose nothing occur throughout a text, and must not add up to a reason to
give it up. A member whose value is replaced (up to 3) stays a member, and its value does not go to another member (at least 4).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from schemagen.grammar.lenient_json import CLOSING, WORD, Reader, skipped
from schemagen.grammar.nearest_text import Respelling

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Most unescaped quotes in a string, and characters of a bare text and of a text with a number: so that reading takes no longer
#: than the search.
_MAX_INNER_QUOTES, _MAX_BARE, _MAX_NUMBER = 20, 200, 80
_LOSSLESS, _INNER_QUOTE, _KEY, _AROUND, _MEMBER = 0.01, 0.6, 3.0, 2.5, 3.5
#: The number in a text that has one.
_NUMBER = re.compile(r"[^\d+-]*?([-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\D*")
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "none": "null", "undefined": "null"}
_ANSWERS = {"yes": "true", "no": "false"}
#: The beginning of a value that is around another.
_WRAPPER = re.compile(r"""[{\[]\s*(?:["']?[\w -]+["']?\s*:\s*)?(?=[{\[])""")
_QUOTES_AND_BRACKETS = frozenset("\"'}])0123456789")
_OPENING = re.compile(r"[{\[]")
#: The quote that ends a string is followed by something that may follow one.
_ENDS_STRING = re.compile(r"\s*(?:[,:}\]]|$)")
#: A line with one of these is more than a bare text.
_NOT_BARE = re.compile(r'["{\[]|:\s')
_ENDS_LIST = re.compile(r"\s*(?:[}\]]|$)")
_ENDS_KEY = re.compile(r"""["']?\s*:""")
_BEFORE_WORD = re.compile(r"[\w$]")


def respellings(text: str) -> dict[int, list[Respelling]]:
    """Return other ways to write the parts of a text that was meant to be JSON, by the place where each begins.

    Cost: the text is read from each quote, word and number on.
    """
    found: dict[int, list[Respelling]] = {}
    for start, other in _around(text):
        found.setdefault(start, []).append(other)
    for start in range(len(text)):
        if text[start] in " \t\n\r":
            continue
        others = [other for other in _at(text, start) if other.text != text[start : other.end]]
        if others:
            found.setdefault(start, []).extend(dict.fromkeys(others))
    return found


def _around(text: str) -> Iterator[tuple[int, Respelling]]:
    """Yield the text before and after each value that stands outside of others; without any, the text as a whole."""
    ends = set[int]()
    start = 0
    if _OPENING.search(text) is None:
        yield 0, Respelling(len(text), "")
    while (opening := _OPENING.search(text, start)) is not None:
        if opening.start():
            yield 0, Respelling(opening.start(), "")
        wrapper = _WRAPPER.match(text, opening.start())
        if wrapper is not None:
            yield opening.start(), Respelling(wrapper.end(), "", _AROUND)
        end = _value_end(text, opening.start())
        start = opening.end() if end is None else end
        ends |= set() if end is None else {end}
    if not ends:
        ends = {text.rfind(bracket) + 1 for bracket in "}]"}
    for end in sorted(ends):
        if 0 < end < len(text):
            yield end, Respelling(len(text), "")


def _at(text: str, start: int) -> Iterator[Respelling]:
    """Yield other ways to write a part that begins at a place."""
    if (after := skipped(text, start)) > start:
        yield Respelling(after, "", _LOSSLESS)
    if text[start] == "," and _ENDS_LIST.match(text, start + 1):
        yield Respelling(start + 1, "", _LOSSLESS)
    last = _member_end(text, skipped(text, start + 1)) if text[start] == "," else None
    if last is not None:
        yield Respelling(last, "", _MEMBER)
    if text[start] in CLOSING and _may_open(text, start):
        for inner, (value, closed) in enumerate(_strings(text, start)):
            yield from _as_json(text, value, closed, _LOSSLESS + inner * _INNER_QUOTE)
    elif _begins_word(text, start):
        yield from _bare(text, start)
    else:
        return
    end = _member_end(text, start)
    if end is not None:
        comma = skipped(text, end)
        yield Respelling(skipped(text, comma + 1) if text[comma : comma + 1] == "," else end, "", _MEMBER)


def _may_open(text: str, start: int) -> bool:
    """Whether a quote may be the first one of a string, by the text before it."""
    before = text[:start].rstrip()
    between = text[len(before) : start]
    if not before or before[-1] in "{[(,:=" or "\n" in between:
        return True
    return bool(between) and before[-1] in _QUOTES_AND_BRACKETS


def _begins_word(text: str, start: int) -> bool:
    if start and _BEFORE_WORD.match(text[start - 1]):
        return False
    return text[start].isalnum() or text[start] in "+-.$_"


def _strings(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the ways to read a string in quotes, each with its end: by the next quote, and by the next that may end it."""
    reader = Reader(text, start)
    value = reader.string()
    end = min(reader.at, len(text))
    yield value, end
    closing = CLOSING[text[start]]
    parts = [value]
    while end < len(text) and len(parts) <= _MAX_INNER_QUOTES and not _ENDS_STRING.match(text, end):
        if closing not in CLOSING:  # curly quotes are not the same at both ends
            return
        again = Reader(text, end - 1)
        parts.append(closing + again.string())
        end = min(again.at, len(text))
        yield "".join(parts), end


def _bare(text: str, start: int) -> Iterator[Respelling]:
    """Yield other ways to write a bare word, number or line."""
    word = WORD.match(text, start)
    if word is not None:
        yield from _as_json(text, word.group(), word.end())
    reader = Reader(text, start)
    try:
        value = reader.scalar()
    except ValueError:
        return
    line = text[start : reader.at].rstrip()
    if not isinstance(value, bool) and isinstance(value, int | float):
        yield Respelling(start + len(line), json.dumps(value), _LOSSLESS)
    if len(line) <= _MAX_BARE and not _NOT_BARE.search(line):
        yield from _as_json(text, line, start + len(line))


def _as_json(text: str, value: str, end: int, cost: float = _LOSSLESS) -> Iterator[Respelling]:
    """Yield a part of a text as a string, as the constant or the number that it names, and nothing in its place.

    Args:
        text: The text.
        value: The part, without quotes.
        end: The index after it.
        cost: That of the string.
    """
    yield Respelling(end, json.dumps(value, ensure_ascii=False), cost)
    word = value.strip().lower()
    if word in _CONSTANTS:
        yield Respelling(end, _CONSTANTS[word], _LOSSLESS)
    if word in _ANSWERS:
        yield Respelling(end, _ANSWERS[word])
    number = _NUMBER.fullmatch(value) if len(value) <= _MAX_NUMBER else None
    if number is not None:
        cost = _LOSSLESS if number.group(1) == value.strip() else 1
        yield from (Respelling(end, written, cost) for written in _numbers(number.group(1)))
    is_key = _ENDS_KEY.match(text, end) is not None
    yield Respelling(end, "", _KEY if is_key else 1)


def _numbers(text: str) -> Iterator[str]:
    """Yield a number as JSON writes it, first with its own digits."""
    digits = re.sub(r"[_,](?=\d{3}\b|\d{3}[_,])|^\+|[_,]$", "", text)
    try:
        value: Any = json.loads(digits)
    except ValueError:
        try:
            value = int(digits)
        except ValueError:
            return
        digits = str(value)
    yield digits
    if isinstance(value, float) and value.is_integer():
        yield str(int(value))


def _member_end(text: str, start: int) -> int | None:
    """Return the end of a member; None if no member begins there."""
    reader = Reader(text, start)
    try:
        reader.key()
        colon = skipped(text, reader.at)
        if text[colon : colon + 1] not in (":", "="):
            return None
        reader.at = skipped(text, colon + 1)
        reader.value(0)
    except ValueError:
        return None
    return min(reader.at, len(text))


def _value_end(text: str, start: int) -> int | None:
    reader = Reader(text, start)
    try:
        reader.value(0)
    except (ValueError, RecursionError):
        return None
    return min(reader.at, len(text))
