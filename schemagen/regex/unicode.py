r"""Sets of code points: what `\d`, `\s`, `\w`, `\p{...}` and case-insensitivity mean.

General categories and the derived properties come from the standard library's `unicodedata` and `str` methods, hence in
the Unicode version of the running Python; scripts and the rest of Alphabetic are not in there and come from
`unicode_tables.py`. Scanning all code points takes about 0.1 s, is done at most once per property, and only on demand;
what `re` itself can look for, and letters that have a case, are found in `_PLANES`, in a fifth of that.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.regex.ast import MAX_CODE_POINT, Ranges, invert_ranges, normalise_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ASCII_DIGIT: Ranges = ((0x30, 0x39),)
ASCII_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
#: ECMA-262 LineTerminator.
ECMA_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
#: ECMA-262 WhiteSpace (with all of Zs) and LineTerminator.
ECMA_SPACE: Ranges = normalise_ranges(
    (
        *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
        *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
    )
)

#: UAX #44, table 12: the long names of the general categories; one letter stands for all that begin with it.
_CATEGORY_NAMES = {
    "Letter": "L",
    "Cased_Letter": "LC",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Combining_Mark": "M",
    "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me",
    "Number": "N",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Punctuation": "P",
    "punct": "P",
    "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe",
    "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po",
    "Symbol": "S",
    "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk",
    "Other_Symbol": "So",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp",
    "Other": "C",
    "Control": "Cc",
    "cntrl": "Cc",
    "Format": "Cf",
    "Surrogate": "Cs",
    "Private_Use": "Co",
    "Unassigned": "Cn",
}
_CATEGORIES = frozenset(_CATEGORY_NAMES.values())

_BINARY_ALIASES = {
    "Alpha": "Alphabetic",
    "Upper": "Uppercase",
    "Lower": "Lowercase",
    "AHex": "ASCII_Hex_Digit",
    "space": "White_Space",
    "XIDS": "XID_Start",
    "XIDC": "XID_Continue",
}
#: PropList.txt, White_Space.
_WHITE_SPACE: Ranges = normalise_ranges(
    (
        *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
    )
)


#: The planes that may have characters with properties; the others are unassigned or private in each version of Unicode.
_PLANES = (0, 1, 2, 3, 14)
_PLANE, _BLOCK = 0x10000, 0x100


def _planes() -> Iterator[tuple[int, str]]:
    """Yield the texts of all characters of each plane, and where it begins."""
    for plane in _PLANES:
        start = plane * _PLANE
        points = array("I", range(start, start + _PLANE))
        yield start, points.tobytes().decode(f"utf-32-{'le' if sys.byteorder == 'little' else 'be'}", "surrogatepass")


def _where(predicate: Callable[[str], bool]) -> Ranges:
    """Return the code points whose character satisfies ``predicate``."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for point in range(sys.maxunicode + 1):
        if predicate(chr(point)):
            start = point if start is None else start
        elif start is not None:
            found.append((start, point - 1))
            start = None
    if start is not None:
        found.append((start, MAX_CODE_POINT))
    return tuple(found)


@lru_cache(maxsize=1)
def _two_letter_categories() -> dict[str, Ranges]:
    """Return the ranges of each two-letter general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for point in range(1, MAX_CODE_POINT + 1):
        category = unicodedata.category(chr(point))
        if category != current:
            found.setdefault(current, []).append((start, point - 1))
            start, current = point, category
    found.setdefault(current, []).append((start, MAX_CODE_POINT))
    return {name: tuple(ranges) for name, ranges in found.items()}


def general_category(name: str) -> Ranges | None:
    """Return the code points of a general category by its short or long name, or None if there is no such category."""
    short = _CATEGORY_NAMES.get(name, name)
    if short not in _CATEGORIES:
        return None
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
    table = _two_letter_categories()
    return normalise_ranges(pair for key, ranges in table.items() if key.startswith(wanted) for pair in ranges)


@lru_cache(maxsize=32)
def binary_property(name: str) -> Ranges | None:
    """Return the code points of a binary property, or None if it is not one of those known here."""
    name = _BINARY_ALIASES.get(name, name)
    if name == "Any":
        return ((0, MAX_CODE_POINT),)
    if name == "ASCII":
        return ((0, 0x7F),)
    if name == "ASCII_Hex_Digit":
        return ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
    if name == "White_Space":
        return _WHITE_SPACE
    if name == "Assigned":
        return invert_ranges(_two_letter_categories()["Cn"])
    if name == "Alphabetic":
        return _alphabetic()
    predicate = {
        "Uppercase": str.isupper,
        "Lowercase": str.islower,
        "XID_Start": lambda c: c != "_" and c.isidentifier(),
        "XID_Continue": lambda c: ("a" + c).isidentifier(),
    }.get(name)
    return _where(predicate) if predicate else None


def _alphabetic() -> Ranges:
    """Return L, Nl and Other_Alphabetic (the derivation in DerivedCoreProperties)."""
    from schemagen.regex.unicode_tables import OTHER_ALPHABETIC

    table = _two_letter_categories()
    letters = (pair for key, ranges in table.items() if key[0] == "L" or key == "Nl" for pair in ranges)
    return normalise_ranges((*letters, *parse_table(OTHER_ALPHABETIC)))


@lru_cache(maxsize=32)
def script(name: str) -> Ranges | None:
    """Return the code points of a script by its name or four-letter code, or None if it is not in the tables."""
    from schemagen.regex.unicode_tables import SCRIPT_CODES, SCRIPTS

    table = SCRIPTS.get(SCRIPT_CODES.get(name, name))
    return None if table is None else normalise_ranges(parse_table(table))


def script_names() -> list[str]:
    """Return the scripts of the tables, sorted."""
    from schemagen.regex.unicode_tables import SCRIPTS

    return sorted(SCRIPTS)


def parse_table(table: str) -> Iterable[tuple[int, int]]:
    """Read ``"41-5A AA"`` as inclusive ranges of hexadecimal code points."""
    for entry in table.split():
        low, _, high = entry.partition("-")
        yield int(low, 16), int(high or low, 16)


@lru_cache(maxsize=3)
def python_class(letter: str) -> Ranges:
    r"""Return `\d`, `\s` or `\w` of Python's `re` for `str` patterns."""
    if letter == "s":
        return normalise_ranges((*_WHITE_SPACE, (0x1C, 0x1F)))  # in each version of Unicode
    found = re.compile(rf"\{letter}+").finditer
    return normalise_ranges(
        (start + run.start(), start + run.end() - 1) for start, text in _planes() for run in found(text)
    )


def _cased() -> Iterator[int]:
    """Yield the code points whose upper or lower case is another text; most blocks have none."""
    for start, text in _planes():
        for at in range(0, _PLANE, _BLOCK):
            block = text[at : at + _BLOCK]
            if not block.lower() == block == block.upper():
                yield from (start + at + n for n, c in enumerate(block) if not c.lower() == c == c.upper())


@lru_cache(maxsize=2)
def _case_variants(*, dotless: bool) -> dict[int, tuple[int, ...]]:
    """Map each cased code point to all those that differ from it in case only.

    Two code points are variants when one is the lower case of the other, or when they have the same upper case (which
    adds the final sigma, the long s, the Kelvin sign, ...). With ``dotless`` the Turkish i are variants of i, as in
    Python's `re`; simple case folding (CaseFolding.txt, status C and S), which ECMA-262 uses, leaves them out.
    """
    roots: dict[str, str] = {}
    cased: list[tuple[int, str]] = []
    for point in _cased():
        if point in {0x130, 0x131} and not dotless:
            continue
        character = chr(point)
        lower = "i" if point == 0x130 else character.lower()
        upper = character.upper()
        cased.append((point, upper))
        roots[_root(roots, upper)] = _root(roots, lower.upper())
    groups: dict[str, list[int]] = {}
    for point, upper in cased:
        groups.setdefault(_root(roots, upper), []).append(point)
    return {point: tuple(group) for group in groups.values() for point in group if len(group) > 1}


def _root(parents: dict[str, str], key: str) -> str:
    """Return the representative of ``key`` in a union-find forest."""
    while parents.setdefault(key, key) != key:
        key = parents[key]
    return key


def fold_case(ranges: Ranges, *, ascii_only: bool, dotless: bool) -> Ranges:
    """Return ``ranges`` with every case variant of their members."""
    if ascii_only:
        swapped = [
            (max(low, a) + shift, min(high, b) + shift)
            for low, high in ranges
            for a, b, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32))
            if max(low, a) <= min(high, b)
        ]
        return normalise_ranges((*ranges, *swapped))
    if not ranges or ranges[-1][1] < ord("A"):
        return ranges
    variants = _case_variants(dotless=dotless)
    if sum(high - low + 1 for low, high in ranges) < len(variants):
        members: Iterable[int] = (point for low, high in ranges for point in range(low, high + 1))
    else:
        members = (point for point in variants if any(low <= point <= high for low, high in ranges))
    extra = ((other, other) for point in members for other in variants.get(point, ()))
    return normalise_ranges((*ranges, *extra))


def ecma_property(expression: str) -> Ranges | None:
    r"""Return the set of ``\p{expression}`` in ECMA-262, or None if it is not known here."""
    match = re.fullmatch(r"(?:(\w+)=)?(\w+)", expression, re.ASCII)
    if match is None:
        return None
    name, value = match.groups()
    if name in {"General_Category", "gc"}:
        return general_category(value)
    if name in {"Script", "sc"}:
        return script(value)
    if name is not None:
        return None
    found = general_category(value)
    return binary_property(value) if found is None else found
