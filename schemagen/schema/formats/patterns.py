r"""Regular expressions about regular expressions: the format `regex`.

Two languages: of the patterns that ECMA-262 compiles with the `u` flag (section 22.2.1, without annex B), and of those that
this grammar has in common with Python's `re`.

Every text of either is a valid pattern. Not every valid pattern is a text, because some rules are beyond a finite automaton;
what is left out is: groups deeper than `_DEPTH`, more than one named group, back-references, and the few ranges and counted
repetitions whose ends agree in so many characters that telling them apart would take thousands of states:

    {n,m}            both of three digits, the first two alike (n = m is {n})
    \uHHHH-\uHHHH    the first two digits alike, unless they are 00 or the last two of the lower end are
    à-ÿ              both ends from one block of characters, the upper end not the last of it, apart from ASCII

Counts have at most three digits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.schema.formats.parts import ALNUM, ALPHA, DIGIT, some

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEPTH = 3
_CLOSE = ast.char_set(")")
_DASH = ast.char_set("-")
_SYNTAX = "^$\\.*+?()[]{}|/"
_DIGITS = "0123456789"
_HEX_DIGITS = tuple(f"{digit:x}{digit:X}" if digit > 9 else str(digit) for digit in range(16))
_HEX = ast.char_set("".join(_HEX_DIGITS))
_SCALARS: ast.Ranges = ((0, 0xD7FF), (0xE000, ast.MAX_CODE_POINT))
#: Sizes of the blocks that the ends of a range are told apart by, from a code point on.
_BLOCKS = (
    *(
        (0x80, 0x600, 0x40),
        (0x600, 0x1000, 0x80),
        (0x1000, 0x3000, 0x400),
        (0x3000, 0x3200, 0x40),
        (0x3200, 0x3400, 0x200),
    ),
    *((0x3400, 0xD800, 0x1A00), (0xE000, 0x10000, 0x1000), (0x10000, 0x110000, 0x10000)),
)
#: Values of `\p{...}` that every engine of ECMA-262 has.
_CATEGORIES = (
    "L|Lu|Ll|Lt|LC|Lm|Lo|M|Mn|Mc|Me|N|Nd|Nl|No|P|Pc|Pd|Ps|Pe|Pi|Pf|Po|S|Sm|Sc|Sk|So|Z|Zs|Zl|Zp|C|Cc|Cf|Cs|Co|Cn"
)
_SCRIPTS = (
    "Latin|Greek|Cyrillic|Armenian|Hebrew|Arabic|Devanagari|Bengali|Tamil|Telugu|Thai|Georgian|Hangul|Hiragana"
    "|Katakana|Han"
)
_PROPERTIES = (
    "Any|ASCII|Alphabetic|Alpha|Lowercase|Lower|Uppercase|Upper|White_Space|space|Letter|Uppercase_Letter|Lowercase_Letter"
    "|Mark|Number|Decimal_Number|Punctuation|Symbol|Separator|ASCII_Hex_Digit|Hex_Digit|ID_Start|ID_Continue|XID_Start"
    "|XID_Continue|Emoji|Math|Dash"
)


def pattern_regex(depth: int = _DEPTH) -> ast.Regex:
    """Patterns that ECMA-262 and Python's `re` both compile.

    Args:
        depth: Most groups inside each other.

    Returns:
        The language.
    """
    return _disjunction(depth, ecma=False)


def ecma_pattern_regex(depth: int = _DEPTH) -> ast.Regex:
    r"""Patterns that ECMA-262 compiles in Unicode mode: also assertions, ``[]``, ``\cA``, ``\p{L}`` and one named group.

    Args:
        depth: Most groups inside each other.

    Returns:
        The language.
    """
    plain = _disjunction(depth, ecma=True)
    name = ast.concat(ast.union(ALPHA, ast.char_set("_$")), ast.star(ast.union(ALNUM, ast.char_set("_$"))))
    opening = ast.concat(ast.literal("(?<"), name, ast.char_set(">"))
    named = ast.concat(opening, _disjunction(depth - 1, ecma=True), _CLOSE, _quantifier())
    # Names must differ, so there is at most one.
    return ast.concat(plain, ast.optional(ast.concat(named, plain)))


@lru_cache(maxsize=16)
def _disjunction(depth: int, *, ecma: bool) -> ast.Regex:
    """Quantified atoms, and what takes no quantifier: ``^``, ``$``, ``|`` and the assertions."""
    atoms = [_characters_without(_SYNTAX.replace("/", "")), ast.char_set("."), _escape(ecma=ecma), _set(ecma=ecma)]
    others: list[ast.Regex] = [ast.char_set("^$|"), ast.concat(ast.char_set("\\"), ast.char_set("bB"))]
    if depth > 0:
        inner = _disjunction(depth - 1, ecma=ecma)
        atoms.append(ast.concat(ast.char_set("("), ast.optional(ast.literal("?:")), inner, _CLOSE))
        # A look-behind of Python's has a fixed width.
        kind = ast.concat(ast.optional(ast.char_set("<")), ast.char_set("=!")) if ecma else ast.char_set("=!")
        others.append(ast.concat(ast.literal("(?"), kind, inner, _CLOSE))
    return ast.star(ast.union(ast.concat(ast.union(*atoms), _quantifier()), *others))


def _characters_without(excluded: str) -> ast.Chars:
    """Every character that is not listed."""
    listed = ast.normalise_ranges((ord(character), ord(character)) for character in excluded)
    return ast.Chars(ast.intersect_ranges(_SCALARS, ast.invert_ranges(listed)))


# --- quantifiers -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _quantifier() -> ast.Regex:
    """Nothing, ``*``, ``+``, ``?``, ``{n}``, ``{n,}`` or ``{n,m}`` with n <= m, perhaps lazy."""
    open_ended = ast.concat(some(DIGIT, 1, 3), ast.optional(ast.char_set(",")))
    braces = ast.concat(ast.char_set("{"), ast.union(open_ended, *_ordered_counts()), ast.char_set("}"))
    return ast.optional(ast.concat(ast.union(ast.char_set("*+?"), braces), ast.optional(ast.char_set("?"))))


def _ordered_counts() -> list[ast.Regex]:
    """``n,m`` with n <= m: fewer digits without a leading zero in m, or as many and a larger one first."""
    comma, leading = ast.char_set(","), ast.char_set("123456789")
    shorter = [
        ast.concat(some(DIGIT, 1, digits - 1), comma, leading, some(DIGIT, digits - 1, digits - 1)) for digits in (2, 3)
    ]
    return [*shorter, *(_ordered(_DIGITS, rest, comma, exact=rest < 2) for rest in (0, 1, 2))]


def _ordered(digits: Sequence[str], rest: int, between: ast.Regex, *, exact: bool) -> ast.Regex:
    """Two numbers of ``1 + rest`` digits, the first at most the second.

    Two digits are compared by two conditions, each with an alternative for each digit: the first digit does not fall, and it
    differs or the second one does not fall either. One alternative for each pair of digits would be the same language.

    Args:
        digits: The digits, smallest first, each with all its spellings.
        rest: Digits after the first one.
        between: The text between the numbers.
        exact: Compare all digits, two at most; otherwise numbers that agree in their first two digits are left out.
    """
    any_digit = ast.char_set("".join(digits))
    same = [ast.char_set(digit) for digit in digits]
    others = [ast.char_set("".join(other for other in digits if other != digit)) for digit in digits]
    at_least = [ast.char_set("".join(digits[place:])) for place in range(len(digits))] + [ast.EMPTY]
    if not rest:
        return ast.union(*(ast.concat(low, between, high) for low, high in zip(same, at_least, strict=False)))
    last = some(any_digit, rest - 1, rest - 1)
    after, middle = ast.concat(any_digit, last), ast.concat(last, between)
    differ = [ast.concat(low, after, between, other, after) for low, other in zip(same, others, strict=True)]
    above = at_least[0 if exact else 1 :]
    rise = [ast.concat(any_digit, low, middle, any_digit, high, last) for low, high in zip(same, above, strict=False)]
    first = [ast.concat(low, after, between, high, after) for low, high in zip(same, at_least, strict=False)]
    return ast.conjunction(ast.union(*first), ast.union(*differ, *rise))


# --- characters and sets -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _escape(*, ecma: bool) -> ast.Regex:
    r"""An escape that stands for a character or a set, inside and outside of brackets."""
    parts: list[ast.Regex] = [ast.char_set("dDwWsSntrfv" + _SYNTAX), _code("x", 2), _code("u", 4)]
    if ecma:
        parts.append(ast.concat(ast.char_set("c"), ALPHA))
        top = ast.concat(ast.literal("10"), some(_HEX, 4, 4))
        number = ast.concat(ast.star(ast.char_set("0")), ast.union(some(_HEX, 1, 5), top))
        parts.append(ast.concat(ast.literal("u{"), number, ast.char_set("}")))
        parts.append(_property())
    return ast.concat(ast.char_set("\\"), ast.union(*parts))


def _code(letter: str, digits: int) -> ast.Regex:
    return ast.concat(ast.literal(letter), some(_HEX, digits, digits))


def _property() -> ast.Regex:
    r"""``p{...}`` and ``P{...}`` of the general categories, some scripts and some binary properties."""
    category = ast.concat(_any_of("gc|General_Category"), ast.char_set("="), _any_of(_CATEGORIES))
    script = ast.concat(_any_of("sc|Script|scx|Script_Extensions"), ast.char_set("="), _any_of(_SCRIPTS))
    value = ast.union(_any_of(_CATEGORIES), _any_of(_PROPERTIES), category, script)
    return ast.concat(ast.char_set("pP"), ast.char_set("{"), value, ast.char_set("}"))


def _any_of(names: str) -> ast.Regex:
    return ast.union(*map(ast.literal, names.split("|")))


@lru_cache(maxsize=2)
def _set(*, ecma: bool) -> ast.Regex:
    """A character set of characters, escapes and ranges; ECMA-262 also has empty ones.

    Python warns of a second ``[`` and of doubled ``&``, ``|`` and ``~``, so its sets have these as escapes only.
    """
    excluded = "\\]-^" if ecma else "\\]-^[&|~"
    single = _characters_without(excluded)
    escape = ast.union(_escape(ecma=ecma), ast.literal("\\-"), ast.literal("\\b"))
    item = ast.union(single, escape, *_literal_ranges(single), *_code_ranges())
    items = ast.star(item) if ecma else some(item)
    caret = ast.optional(ast.char_set("^"))
    return ast.concat(ast.char_set("["), caret, items, ast.optional(_DASH), ast.char_set("]"))


def _literal_ranges(single: ast.Chars) -> list[ast.Regex]:
    """``a-z`` with its ends in order: exact for ASCII, by blocks for the rest."""
    ascii_part, rest = ast.intersect_ranges(single.ranges, ((0, 0x7F),)), ((0x80, ast.MAX_CODE_POINT),)
    found = [ast.concat(ast.Chars(ascii_part), _DASH, ast.Chars(ast.intersect_ranges(single.ranges, rest)))]
    found.append(_ordered_ascii(single))
    for start, end, size in _BLOCKS:
        for low in range(start, end, size):
            upper = ast.intersect_ranges(single.ranges, ((low + size - 1, ast.MAX_CODE_POINT),))
            found.append(ast.concat(ast.chars((low, low + size - 1)), _DASH, ast.Chars(upper)))
    return found


def _ordered_ascii(single: ast.Chars) -> ast.Regex:
    """``a-z`` in ASCII, compared by the two hexadecimal digits of a character as in `_ordered`."""

    def those(*ranges: tuple[int, int]) -> ast.Chars:
        return ast.Chars(ast.intersect_ranges(single.ranges, ast.normalise_ranges(ranges)))

    def column(first: int, last: int) -> ast.Chars:
        return those(*((row + first, row + last) for row in range(0, 0x80, 0x10)))

    rows = range(0, 0x80, 0x10)
    first = [ast.concat(those((row, row + 0xF)), _DASH, those((row, 0x7F))) for row in rows]
    differ = [ast.concat(those((row, row + 0xF)), _DASH, those((0, row - 1), (row + 0x10, 0x7F))) for row in rows]
    rise = [ast.concat(column(k, k), _DASH, column(k, 0xF)) for k in range(0x10)]
    return ast.conjunction(ast.union(*first), ast.union(*differ, *rise))


@lru_cache(maxsize=1)
def _code_ranges() -> list[ast.Regex]:
    r"""``\x41-\x5A`` and ``\u0041-\u005A`` with their ends in order."""
    opening_x, opening_u = ast.literal("\\x"), ast.literal("\\u")
    between_x, between_u = ast.concat(_DASH, opening_x), ast.concat(_DASH, opening_u)
    zeros = ast.literal("00")
    same = [ast.char_set(digit) for digit in _HEX_DIGITS]
    alike = [
        [ast.concat(digit, _HEX, zeros, between_u, digit, _HEX, _HEX, _HEX) for digit in same],
        [ast.concat(_HEX, digit, zeros, between_u, _HEX, digit, _HEX, _HEX) for digit in same],
    ]
    return [
        ast.concat(opening_x, _ordered(_HEX_DIGITS, 1, between_x, exact=True)),
        ast.concat(opening_u, zeros, _ordered(_HEX_DIGITS, 1, ast.concat(between_u, zeros), exact=True)),
        ast.concat(opening_u, _ordered(_HEX_DIGITS, 3, between_u, exact=False)),
        ast.concat(opening_u, ast.conjunction(*(ast.union(*part) for part in alike))),
    ]
