"""Random patterns in the syntax of Rust's `regex` crate and of Python's `re`, and texts in and near their languages."""

# ruff: noqa: RUF001, SIM905 - letters that look alike are the point, and lists of backslashes are hard to read
from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.regex.alphabet import character_sets
from schemagen.regex.language import States
from schemagen.regex.lowering import EMPTY_NODE

if TYPE_CHECKING:
    import random

    from schemagen.regex import ast

_LITERALS = [*"abckszABKSZ019_- ,:%#~&", "é", "ß", "ſ", "K", "σ", "ς", "Σ", "ǅ", "я", "中", "😀", "٣", "\n", "\r"]
_ESCAPES = r"\. \* \[ \] \- \& \~ \^ \\ \/ \# \n \r \t \x41 \x6b \u0061 \u212A".split(" ")
_SETS = r"\d \D \w \W \s \S".split(" ")
_RUST_ESCAPES = r"\x{41} \x{1F600} \u{3b1} \U0001F600 \a \f \v".split(" ")
_PROPERTIES = (
    r"\pL \PN \p{Lu} \p{Ll} \P{Lu} \p{Greek} \p{sc=Cyrillic} \p{Script=Han} \p{scx=Greek} \p{gc=Nd} \p{Letter} \P{Letter} \p{Alphabetic} "
    r"\p{White_Space} \p{Uppercase} \p{emoji} \p{any} \p{ascii} \p{sc!=Latin} \p{XID_Start} \p{age=6.0}"
).split(" ")
_POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split(" ")
_RUST_ASSERTIONS = [
    *("^", "$", r"\A", r"\z", r"\b", r"\B", r"\<", r"\>"),
    *(r"\b{start}", r"\b{end}", r"\b{start-half}", r"\b{end-half}"),
]
_QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{1,3}?"]
_RUST_QUANTIFIERS = [*_QUANTIFIERS, "**", "+*", "{ 1 , 2 }", "{2}{2}"]
_RUST_FLAGS = ["i", "m", "s", "x", "U", "R", "-i", "i-s", "mR", "im", "s-m", "-u", "u", "ix"]
_NEAR = [
    *_LITERALS,
    "\u0ece",
    "\u05c8",
    "\u2028",
    "\u0085",
    "\u200c",
    "\U00010ef3",
    "\U000105c0",
    "i",
    "İ",
    "ı",
    "]",
    "[",
    "z",
]


class RustPatterns:
    """Draws patterns of the `regex` crate; a few of them it refuses."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def draw(self, depth: int = 3) -> str:
        """Return a pattern."""
        rng = self._rng
        parts = [self._part(depth) for _ in range(rng.randint(1, 3))]
        text = "".join(parts)
        if depth == 3 and rng.random() < 0.4:
            text = f"^(?:{text})$"
        return f"{text}|{self.draw(depth - 1)}" if depth and rng.random() < 0.15 else text

    def _part(self, depth: int) -> str:
        rng = self._rng
        atom = self._atom(depth)
        return atom + rng.choice(_RUST_QUANTIFIERS) if rng.random() < 0.3 else atom

    def _atom(self, depth: int) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.25:
            return rng.choice(_LITERALS[:16])
        if kind < 0.4:
            return rng.choice(_ESCAPES + _RUST_ESCAPES + _SETS + _PROPERTIES + _LITERALS)
        if kind < 0.45:
            return "."
        if kind < 0.55:
            return rng.choice(_RUST_ASSERTIONS)
        if kind < 0.8 or not depth:
            return self.set()
        if kind < 0.9:
            return f"{rng.choice(['(', '(?:', '(?:'])}{self.draw(depth - 1)})"
        flags = rng.choice(_RUST_FLAGS)
        return f"(?{flags}:{self.draw(depth - 1)})" if rng.random() < 0.7 else f"(?{flags})"

    def set(self, depth: int = 2) -> str:
        """Return a class in brackets."""
        rng = self._rng
        text = "".join(self._item(depth) for _ in range(rng.randint(1, 3)))
        if depth and rng.random() < 0.35:
            text += rng.choice(["&&", "--", "~~"]) + "".join(self._item(depth - 1) for _ in range(rng.randint(1, 2)))
        if depth and rng.random() < 0.1:
            text += rng.choice(["&&", "--", "~~"]) + self._item(depth - 1)
        start = rng.choice(["", "", "", "", "^", "^", "]", "-", "^]", "^-", "--"])
        return f"[{start}{text}{rng.choice(['', '', '', '', '-'])}]"

    def _item(self, depth: int) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.25:
            return rng.choice(_LITERALS)
        if kind < 0.5:
            return rng.choice(["a-z", "A-K", "0-5", "b-h", "à-ÿ", r"\x{41}-\u{5a}", "!-~", "я-я", r"\--a", " -/"])
        if kind < 0.65:
            return rng.choice(_SETS + _ESCAPES + _RUST_ESCAPES)
        if kind < 0.75:
            return rng.choice(_PROPERTIES)
        if kind < 0.85:
            return f"[:{rng.choice(['', '^'])}{rng.choice(_POSIX)}:]"
        return self.set(depth - 1) if depth else rng.choice(_LITERALS)


class PythonPatterns:
    """Draws patterns of Python's `re`; a few of them it refuses."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def draw(self, depth: int = 3) -> str:
        """Return a pattern."""
        rng = self._rng
        text = "".join(self._part(depth) for _ in range(rng.randint(1, 3)))
        if depth == 3 and rng.random() < 0.4:
            text = f"^(?:{text})$"
        if depth == 3 and rng.random() < 0.2:
            text = f"(?{rng.choice('imsxa')}){text}"
        return f"{text}|{self.draw(depth - 1)}" if depth and rng.random() < 0.15 else text

    def _part(self, depth: int) -> str:
        rng = self._rng
        atom = self._atom(depth)
        return atom + rng.choice(_QUANTIFIERS) if rng.random() < 0.3 else atom

    def _atom(self, depth: int) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.3:
            return rng.choice(_LITERALS)
        if kind < 0.45:
            return rng.choice(_ESCAPES + _SETS)
        if kind < 0.5:
            return "."
        if kind < 0.6:
            return rng.choice(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
        if kind < 0.8 or not depth:
            items = (rng.choice([*_LITERALS, *_SETS, *_ESCAPES, "a-z", "0-9", "à-ÿ"]) for _ in range(rng.randint(1, 3)))
            return f"[{rng.choice(['', '^'])}{''.join(items)}]"
        opening = rng.choice(["(", "(?:", "(?=", "(?!", "(?i:", "(?s-i:", "(?m:"])
        return f"{opening}{self.draw(depth - 1)})"


def members(rng: random.Random, language: ast.Regex, count: int, longest: int = 12, stop: float = 0.35) -> list[str]:
    """Return up to ``count`` texts of a language, drawn by walking through its automaton.

    The ends of ranges are drawn as often as what lies between, for it is there that tables differ.
    """
    states = States(character_sets(language))
    start = states.build(language)
    found = []
    for _ in range(count):
        state, text = start, ""
        best = text if states.is_nullable(state) else None
        for _ in range(longest):
            options = [(bits, after) for bits, after in states.successors(state) if after != EMPTY_NODE]
            if not options or (best is not None and rng.random() < stop):
                break
            bits, state = rng.choice(options)
            text += _member(rng, states.alphabet.ranges(bits))
            best = text if states.is_nullable(state) else best
        if best is not None:
            found.append(best)
    return found


def _member(rng: random.Random, ranges: ast.Ranges) -> str:
    for _ in range(20):
        low, high = rng.choice(ranges[: rng.choice([1, 3, len(ranges)])])
        point = rng.choice([low, high, rng.randint(low, high), rng.randint(low, min(high, low + 90))])
        if not 0xD800 <= point <= 0xDFFF:
            return chr(point)
    return "\0"


def _next(character: str, step: int) -> str:
    point = ord(character) + step
    return character if point < 0 or point > 0x10FFFF or 0xD800 <= point <= 0xDFFF else chr(point)


def neighbours(rng: random.Random, texts: list[str], count: int) -> list[str]:
    """Return texts that differ from the given ones in a few characters."""
    found = []
    for _ in range(count):
        text = list(rng.choice(texts) if texts else "")
        for _ in range(rng.randint(1, 2)):
            place = rng.randint(0, len(text))
            change = rng.random()
            if change < 0.3:
                text.insert(place, rng.choice(_NEAR))
            elif change < 0.5:
                text[place : place + 1] = [rng.choice(_NEAR)]
            elif change < 0.7:
                text[place : place + 1] = [*"".join(text[place : place + 1]).swapcase()]
            elif change < 0.85:
                del text[place : place + 1]
            else:
                text[place : place + 1] = [_next(c, rng.choice([-1, 1])) for c in text[place : place + 1]]
        found.append("".join(text))
    return found
