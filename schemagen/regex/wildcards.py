r"""Languages of free text as regular expressions: quoted and plain strings, text up to a stop, substrings, delimited lists.

Source: the extensions of Koo, Liu & He 2024 (*Automata-based constraints for language model decoding*, Table 1), which
are named groups of patterns (`text_groups.py`) and specs (`schemagen.text`). There a wildcard is an edge of its own, and
where it meets another one an order of precedence decides; here it is a language like any other.

Invariant: operators nest no deeper than the logarithm of the number of characters or items: texts and lists are halved.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The characters at which `str.splitlines` ends a line.
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

_HEX_DIGIT = ast.chars((ord("0"), ord("9")), (ord("a"), ord("f")), (ord("A"), ord("F")))
_DIGIT = ast.chars((ord("0"), ord("9")))
_DIGIT_OR_LINE = ast.union(_DIGIT, ast.char_set("_"))
_BLANK = ast.char_set(" ")


def containing(text: str) -> ast.Regex:
    """Return the texts that hold another one."""
    return ast.concat(ast.ANY_STRING, ast.literal(text), ast.ANY_STRING)


def ending_with(text: str) -> ast.Regex:
    """Return the texts that end with another one."""
    return ast.concat(ast.ANY_STRING, ast.literal(text))


@lru_cache(maxsize=1)
def quoted_text() -> ast.Regex:
    """Return the strings of JSON with their quotes (RFC 8259, section 7), without escapes of half a surrogate pair."""
    plain = ast.Chars(
        ast.invert_ranges(ast.normalise_ranges([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0xD800, 0xDFFF)]))
    )
    digit = _HEX_DIGIT
    other = ast.union(
        ast.concat(ast.char_set("0123456789abcefABCEF"), digit),
        ast.concat(ast.char_set("dD"), ast.char_set("01234567")),
    )
    high = ast.concat(ast.char_set("dD"), ast.char_set("89abAB"), digit, digit)
    low = ast.concat(ast.char_set("dD"), ast.char_set("cdefCDEF"), digit, digit)
    point = ast.union(ast.concat(other, digit, digit), ast.concat(high, ast.literal("\\u"), low))
    escape = ast.concat(ast.literal("\\"), ast.union(ast.char_set('"\\/bfnrt'), ast.concat(ast.literal("u"), point)))
    quote = ast.literal('"')
    return ast.concat(quote, ast.star(ast.union(plain, escape)), quote)


@lru_cache(maxsize=1)
def unquoted_text() -> ast.Regex:
    """Return the plain scalars of YAML on one line that every reader takes for a string.

    They are plain in a block, not within brackets, in YAML 1.1 and in 1.2: the characters are printable, blanks among them;
    the first is not an indicator; there is no ``": "``, no ``" #"``, no colon at the end and no blank at either end; and the
    whole is not a text that one of the versions resolves to a number, a boolean, null, a timestamp or a mark of its own.

    Source: YAML 1.2.2, sections 7.3.3 and 10.3; the types of YAML 1.1.
    """
    in_plane_0 = ((0x20, 0x7E), (0xA0, 0x2027), (0x202A, 0xD7FF), (0xE000, 0xFEFE), (0xFF00, 0xFFFD))
    printable = ast.chars(*in_plane_0, (0x10000, 0x10FFFF))
    no_indicator = ast.invert_ranges(ast.char_set(" -?:,[]{}#&*!|>'\"%@`").ranges)
    first = ast.Chars(ast.intersect_ranges(printable.ranges, no_indicator))
    marker = ast.concat(ast.literal("..."), ast.optional(ast.concat(_BLANK, ast.ANY_STRING)))
    return ast.conjunction(
        ast.concat(first, ast.star(printable)),
        *(ast.complement(containing(text)) for text in (": ", " #")),
        *(ast.complement(ending_with(text)) for text in (":", " ")),
        ast.complement(ast.union(marker, _resolved_by_yaml())),
    )


def _resolved_by_yaml() -> ast.Regex:
    """Return the plain scalars that YAML 1.1 or 1.2 resolves to something else than a string, and some more numbers.

    None begins with a minus, which is an indicator. ``.`` is a number by the expression that YAML 1.1 gives for them.
    """
    words = ("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "=", ".")
    spellings = {spelt for word in words for spelt in (word, word.capitalize(), word.upper())}
    plus, digits = ast.optional(ast.literal("+")), ast.star(_DIGIT_OR_LINE)
    number = ast.union(ast.concat(plus, _DIGIT, digits), ast.concat(ast.literal("+_"), digits))
    sexagesimal = ast.concat(ast.literal(":"), ast.repeat(_DIGIT, 1, 2))
    exponent = ast.optional(ast.concat(ast.char_set("eE"), ast.optional(ast.char_set("+-")), _DIGIT, digits))
    fraction = ast.concat(ast.literal("."), digits)
    special = (".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN")
    numbers = ast.union(
        ast.concat(number, ast.star(sexagesimal), ast.optional(fraction), exponent),
        ast.concat(plus, fraction, exponent),
        ast.concat(plus, ast.literal("0b"), ast.star(ast.char_set("01_"))),
        ast.concat(plus, ast.literal("0o"), ast.star(ast.char_set("01234567_"))),
        ast.concat(plus, ast.literal("0x"), ast.star(ast.union(_HEX_DIGIT, _DIGIT_OR_LINE))),
        *(ast.concat(plus, ast.literal(word)) for word in special),
    )
    return ast.union(*map(ast.literal, sorted(spellings)), numbers, _timestamp())


def _timestamp() -> ast.Regex:
    """Return the dates and times of YAML 1.1, with optional fractions of seconds, and optional blanks before the zone."""
    few = ast.repeat(_DIGIT, 1, 2)
    date = ast.concat(ast.repeat(_DIGIT, 4, 4), ast.literal("-"), few, ast.literal("-"), few)
    colon, blanks = ast.literal(":"), ast.star(_BLANK)
    fraction = ast.optional(ast.concat(ast.literal("."), ast.star(_DIGIT)))
    offset = ast.concat(
        ast.char_set("+-"), few, ast.optional(ast.concat(ast.optional(colon), ast.repeat(_DIGIT, 2, 2)))
    )
    zone = ast.optional(ast.concat(blanks, ast.union(ast.char_set("Z"), offset)))
    between = ast.union(ast.char_set("Tt"), ast.repeat(_BLANK, 1, None))
    time = ast.concat(few, colon, few, colon, few, fraction, zone)
    return ast.concat(date, ast.optional(ast.concat(between, time)))


@lru_cache(maxsize=1)
def paragraph_text() -> ast.Regex:
    """Return the texts of one line, of one character or more."""
    return ast.repeat(ast.Chars(ast.invert_ranges(ast.char_set(LINE_ENDS).ranges)), 1, None)


def text_without(literals: Iterable[str]) -> ast.Regex:
    """Return the texts in which none of some literals occurs."""
    found = ast.union(*map(ast.literal, literals))
    return ast.ANY_STRING if found == ast.EMPTY else ast.complement(ast.concat(ast.ANY_STRING, found, ast.ANY_STRING))


def text_before(stop: str, others: Iterable[str] = ()) -> ast.Regex:
    """Return the texts after which ``stop`` is the first occurrence of a literal.

    Such a text holds no literal, and does not end with the beginning of one that would be complete by the end of ``stop``:
    before ``aa`` no text ends with ``a``.

    Args:
        stop: The literal that comes next.
        others: Literals that the text must not hold either.
    """
    literals = list(dict.fromkeys([*others, stop]))
    begun = {literal[:cut] for literal in literals for cut in range(1, len(literal)) if stop.startswith(literal[cut:])}
    ending = ast.concat(ast.ANY_STRING, ast.union(*map(ast.literal, sorted(begun))))
    return ast.conjunction(text_without(literals), ast.complement(ending))


def text_up_to(stop: str, others: Iterable[str] = ()) -> ast.Regex:
    """Return such a text and ``stop``; arguments as for `text_before`."""
    return ast.concat(text_before(stop, others), ast.literal(stop))


def substring_text(text: str) -> ast.Regex:
    """Return the substrings of a text, the empty one among them."""
    return ast.optional(ast.substring(text))


def delimited_list(delimiter: ast.Regex, item: ast.Regex) -> ast.Regex:
    """Return one item or more with a delimiter between each two."""
    return ast.concat(item, ast.star(ast.concat(delimiter, item)))


def delimited_subsequence(delimiter: ast.Regex, items: Sequence[ast.Regex]) -> ast.Regex:
    """Return one or more of some items in their order, some of them left out, with a delimiter between each two.

    After its first item each later one may come with a delimiter before it, or not. So a subsequence begins in the
    first half of the items and goes on over the second, or lies in the second.
    """
    if len(items) == 1:
        return items[0]
    left, right = items[: len(items) // 2], items[len(items) // 2 :]
    tail = ast.concat(*(ast.optional(ast.concat(delimiter, item)) for item in right))
    return ast.union(ast.concat(delimited_subsequence(delimiter, left), tail), delimited_subsequence(delimiter, right))
