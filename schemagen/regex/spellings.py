"""Languages whose characters are written in another way: escaped, as in a string of JSON, Python, YAML or XML.

Idea: where each character has its own spellings, and no text is a spelling of two strings, a language is spelled by spelling
the characters of its expression. That keeps intersections and complements exact, the latter within all that can be spelled.

Invariant: `spellings` gives disjoint sets of characters languages without a common text, none of them a prefix of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.regex.automaton import eliminate_booleans

if TYPE_CHECKING:
    from collections.abc import Callable

#: Code points that are not characters: halves of surrogate pairs.
SURROGATES: ast.Ranges = ((0xD800, 0xDFFF),)
_BMP: ast.Ranges = ((0, 0xD7FF), (0xE000, 0xFFFF))
#: Escapes of one letter that JSON, Python and YAML read alike.
_SHARED_ESCAPES = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}

_COMBINATIONS = {ast.Concat: ast.concat, ast.Alternation: ast.union, ast.Conjunction: ast.conjunction}


def spelled(regex: ast.Regex, spellings: Callable[[ast.Ranges], ast.Regex]) -> ast.Regex:
    """Return every spelling of the strings of a language.

    Args:
        regex: The language.
        spellings: The texts that a set of characters is written as; the empty language for those that cannot be written.

    Cost: linear in the different parts of the expression.
    """
    known: dict[ast.Regex, ast.Regex] = {}

    def written(node: ast.Regex) -> ast.Regex:
        found = known.get(node)
        if found is not None:
            return found
        if isinstance(node, ast.Chars):
            found = spellings(node.ranges)
        elif isinstance(node, ast.Repeat):
            found = ast.repeat(written(node.inner), node.low, node.high)
        elif isinstance(node, ast.Complement):
            found = ast.conjunction(written(ast.ANY_STRING), ast.complement(written(node.inner)))
        elif isinstance(node, ast.Substring):
            found = written(eliminate_booleans(node))
        else:
            combine: Callable[..., ast.Regex] = _COMBINATIONS[type(node)]
            found = combine(*[written(part) for part in node.parts])
        known[node] = found
        return found

    return written(regex)


def quoted(regex: ast.Regex, raw: ast.Ranges) -> ast.Regex:
    r"""Return strings in double quotes, with the escapes that JSON, Python and YAML read alike: no ``\/``, no surrogate pairs.

    Args:
        regex: The strings.
        raw: The characters that may stand for themselves.
    """

    def spellings(ranges: ast.Ranges) -> ast.Regex:
        short = ast.char_set("".join(_SHARED_ESCAPES[c] for c in _SHARED_ESCAPES if contains(ranges, ord(c))))
        coded = ast.union(*(hex_range(low, high, 4) for low, high in ast.intersect_ranges(ranges, _BMP)))
        escape = ast.union(short, ast.concat(ast.literal("u"), coded))
        return ast.union(ast.Chars(ast.intersect_ranges(ranges, raw)), ast.concat(ast.literal("\\"), escape))

    return ast.concat(ast.literal('"'), spelled(regex, spellings), ast.literal('"'))


def quoted_text(text: str, raw: ast.Ranges) -> str | None:
    r"""Return one string in double quotes, escaped only where it must be; None if it has half of a surrogate pair.

    Args:
        text: The string.
        raw: As for `quoted`; it must include everything above U+FFFF.
    """
    if any(contains(SURROGATES, ord(c)) for c in text):
        return None
    escaped = (
        c if contains(raw, ord(c)) else f"\\{_SHARED_ESCAPES[c]}" if c in _SHARED_ESCAPES else f"\\u{ord(c):04x}"
        for c in text
    )
    return f'"{"".join(escaped)}"'


def contains(ranges: ast.Ranges, code: int) -> bool:
    """Whether a code point is in some ranges."""
    return any(low <= code <= high for low, high in ranges)


def hex_range(low: int, high: int, width: int) -> ast.Regex:
    """Return the hexadecimal numbers of ``width`` digits in a range, either case."""
    if width == 1:
        return _digit(low, high)
    size = 16 ** (width - 1)
    first, last = low // size, high // size
    if first == last:
        return ast.concat(_digit(first, first), hex_range(low % size, high % size, width - 1))
    parts: list[ast.Regex] = []
    if low % size:
        parts.append(ast.concat(_digit(first, first), hex_range(low % size, size - 1, width - 1)))
        first += 1
    if high % size != size - 1:
        parts.append(ast.concat(_digit(last, last), hex_range(0, high % size, width - 1)))
        last -= 1
    if first <= last:
        parts.append(ast.concat(_digit(first, last), ast.repeat(_digit(0, 15), width - 1, width - 1)))
    return ast.union(*parts)


def _digit(low: int, high: int) -> ast.Regex:
    digits = "0123456789abcdef"[low : high + 1]
    return ast.char_set(digits + digits.upper())
