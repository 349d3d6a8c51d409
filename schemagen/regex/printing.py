r"""A regular expression as text for Python's `re`, and matching without it.

`to_python_re` writes the operators of `schemagen.regex.ast` that `re` has. Intersection and complement become
look-aheads that run to the end of the text, ``(?=(?:x)\Z)y`` and ``(?!(?:x)\Z)``, which is right only where the end of
the expression is the end of the text. Elsewhere (followed by something, or in a repetition) they are first written
without these operators, by way of the minimal automaton.

Python's `re` backtracks: the text denotes the right language, but `re` may need exponential time on it. `matches` does
not.
"""

from __future__ import annotations

from schemagen.errors import LimitError, UnsupportedPatternError
from schemagen.regex.ast import (
    ANY_CHAR,
    ANY_STRING,
    EMPTY,
    EPSILON,
    MAX_CODE_POINT,
    Alternation,
    Chars,
    Complement,
    Concat,
    Conjunction,
    Ranges,
    Regex,
    Substring,
    invert_ranges,
)
from schemagen.regex.automaton import eliminate_booleans

_ESCAPED = frozenset("\\^$.|?*+()[]{}-&~# ")
_COUNTS = {(0, None): "*", (1, None): "+", (0, 1): "?"}
#: Characters of a text whose substrings are written out.
MAX_SUBSTRING = 60
#: Sets of more ranges than this are written as their complement if that is shorter.
_FEW = 2


def to_python_re(regex: Regex) -> str:
    """Return text with which `re.fullmatch` accepts exactly the texts that ``regex`` matches.

    Raises:
        UnsupportedPatternError: An intersection or complement that is not at the end of the text and would need too
            large an expression to be written without these operators.
    """
    return _at_end(regex)


def _at_end(regex: Regex) -> str:
    """Write an expression whose end is the end of the text."""
    if regex == ANY_STRING:
        return r"[\s\S]*"
    if isinstance(regex, Conjunction):
        *claims, last = sorted(regex.parts, key=lambda part: isinstance(part, Complement), reverse=True)
        return "".join(map(_claim, claims)) + _grouped_alternation(last, at_end=True)
    if isinstance(regex, Complement):
        return _claim(regex) + r"[\s\S]*"
    if isinstance(regex, Alternation):
        return _alternation(regex, at_end=True)
    if isinstance(regex, Concat) and regex.parts:
        *before, last = regex.parts
        return "".join(_grouped_alternation(part, at_end=False) for part in before) + _grouped_alternation(
            last, at_end=True
        )
    return _inside(regex)


def _claim(regex: Regex) -> str:
    """Write a look-ahead for ``regex`` as the rest of the text."""
    if isinstance(regex, Complement):
        return rf"(?!(?:{_at_end(regex.inner)})\Z)"
    return rf"(?=(?:{_at_end(regex)})\Z)"


def _inside(regex: Regex) -> str:
    """Write an expression that other text may follow."""
    if isinstance(regex, Chars):
        return write_class(regex.ranges)
    if isinstance(regex, Concat):
        return "".join(_grouped_alternation(part, at_end=False) for part in regex.parts)
    if isinstance(regex, Alternation):
        return _alternation(regex, at_end=False)
    if isinstance(regex, (Conjunction, Complement)):
        return _inside(_without_booleans(regex))
    if isinstance(regex, Substring):
        return _substring(regex.text)
    inner = _inside(regex.inner)
    atom = inner if isinstance(regex.inner, Chars) else f"(?:{inner})"
    low, high = regex.low, regex.high
    exact = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    return atom + _COUNTS.get((low, high), exact)


def _substring(text: str) -> str:
    """Write the substrings of a short text: from each place on, as far as one likes."""
    if len(text) > MAX_SUBSTRING:
        raise UnsupportedPatternError(
            f"the substrings of a text of {len(text):,} characters have no pattern of Python's `re`",
            why=f"each place where one begins is written out, which is done for {MAX_SUBSTRING} characters at most",
            fix="use `schemagen.compile`, which needs no text, or `substring in text` to check one",
        )
    ways: dict[str, None] = {}
    for at in range(len(text)):
        way = ""
        for character in reversed(text[at:]):
            way = _escape(ord(character)) + (f"(?:{way})?" if way else "")
        ways[way] = None
    return f"(?:{'|'.join(ways)})"


def _without_booleans(regex: Regex) -> Regex:
    try:
        return eliminate_booleans(regex)
    except LimitError as error:
        raise UnsupportedPatternError(
            "an intersection or complement is followed by other text, and Python's `re` cannot express that",
            why=f"written without these operators it is too large: {error.fact}",
            fix="use `schemagen.compile`, which needs no text, or move the look-around to the end",
        ) from error


def _alternation(regex: Alternation, *, at_end: bool) -> str:
    """Write alternatives; an empty one becomes `?` where there is only one other."""
    others = [part for part in regex.parts if part != EPSILON]
    texts = [_at_end(part) if at_end else _inside(part) for part in others]
    if len(others) == len(regex.parts):
        return "|".join(texts)
    return f"(?:{'|'.join(texts)})?"


def _grouped_alternation(regex: Regex, *, at_end: bool) -> str:
    text = _at_end(regex) if at_end else _inside(regex)
    # Eliminating booleans can turn any operator into an alternation.
    if isinstance(regex, (Alternation, Conjunction, Complement)):
        return f"(?:{text})"
    return text


def write_class(ranges: Ranges) -> str:
    """Write a set of code points."""
    if ranges == EMPTY.ranges:
        return r"[^\s\S]"
    if ranges == ANY_CHAR.ranges:
        return r"[\s\S]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escape(ranges[0][0])
    rest = invert_ranges(ranges)
    if ranges[-1][1] == MAX_CODE_POINT and len(rest) <= max(len(ranges), _FEW):
        return f"[^{_members(rest)}]"
    return f"[{_members(ranges)}]"


def _members(ranges: Ranges) -> str:
    texts = []
    for low, high in ranges:
        dash = "-" if high > low + 1 else ""
        texts.append(_escape(low) if low == high else _escape(low) + dash + _escape(high))
    return "".join(texts)


def _escape(point: int) -> str:
    """Write one code point so that it stands for itself inside and outside of a class."""
    character = chr(point)
    if character in _ESCAPED:
        return "\\" + character
    if 0x20 < point < 0x7F or (character.isalnum() and 0xA0 < point < 0xD800):
        return character
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
