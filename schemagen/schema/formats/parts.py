"""Character classes and small constructions that the formats share."""

from __future__ import annotations

from schemagen.regex import ast

DIGIT = ast.chars((0x30, 0x39))
ALPHA = ast.chars((0x41, 0x5A), (0x61, 0x7A))
ALNUM = ast.union(ALPHA, DIGIT)
HEX = ast.union(DIGIT, ast.char_set("abcdefABCDEF"))
LDH = ast.union(ALNUM, ast.char_set("-"))


def any_case(text: str) -> ast.Regex:
    """``text`` with ASCII letters in either case (ABNF literals, RFC 5234 section 2.3)."""
    return ast.concat(*(ast.char_set(char.lower() + char.upper()) for char in text))


def without(base: ast.Regex, excluded: str) -> ast.Regex:
    """The characters of a class that are not in ``excluded``."""
    if not isinstance(base, ast.Chars):
        raise TypeError(f"expected one character class, got {base!r}")
    keep = ast.invert_ranges(ast.normalise_ranges((ord(char), ord(char)) for char in excluded))
    return ast.chars(*ast.intersect_ranges(base.ranges, keep))


def some(inner: ast.Regex, low: int = 1, high: int | None = None) -> ast.Regex:
    """``inner`` from ``low`` to ``high`` times; without arguments once or more."""
    return ast.repeat(inner, low, high)


def two_digits(low: int, high: int) -> ast.Regex:
    """Integers from ``low`` to ``high`` (at most 99), written with two digits."""
    groups: dict[str, str] = {}
    for value in range(low, high + 1):
        tens, units = str(value // 10), str(value % 10)
        groups[tens] = groups.get(tens, "") + units
    by_units: dict[str, str] = {}
    for tens, units in groups.items():
        by_units[units] = by_units.get(units, "") + tens
    return ast.union(*(ast.concat(ast.char_set(tens), ast.char_set(units)) for units, tens in by_units.items()))


def words(texts: list[str], index: int = 0) -> ast.Regex:
    """Exactly the given texts, common prefixes and equal rests shared. Depth is the length of the longest text."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        if len(text) > index:
            groups.setdefault(text[index], []).append(text)
    by_rest: dict[ast.Regex, str] = {}
    for char, group in groups.items():
        rest = words(group, index + 1)
        by_rest[rest] = by_rest.get(rest, "") + char
    here = ast.EPSILON if any(len(text) == index for text in texts) else ast.EMPTY
    return ast.union(here, *(ast.concat(ast.char_set(heads), rest) for rest, heads in by_rest.items()))
