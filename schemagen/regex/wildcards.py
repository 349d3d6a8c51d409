r"""Languages of free text as regular expressions: quoted and plain strings, text up to a stop, substrings, delimited lists.

Source: the extensions of Koo, Liu & He 2024 (*Automata-based constraints for language model decoding*, Table 1), which
are named groups of patterns (`text_groups.py`) and specs (`schemagen.text`). There a wildcard is an edge of its own, and
where it meets another one an order of precedence decides; here it is a language like any other.

Invariant: operators nest no deeper than the logarithm of the number of characters or items: texts and lists are halved.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.regex.ast import (
    ANY_STRING,
    EMPTY,
    Chars,
    Regex,
    char_set,
    chars,
    complement,
    concat,
    conjunction,
    intersect_ranges,
    invert_ranges,
    literal,
    normalise_ranges,
    optional,
    repeat,
    star,
    substring,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The characters at which `str.splitlines` ends a line.
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

_HEX_DIGIT = chars((ord("0"), ord("9")), (ord("a"), ord("f")), (ord("A"), ord("F")))
_DIGIT = chars((ord("0"), ord("9")))
_DIGIT_OR_LINE = union(_DIGIT, char_set("_"))
_BLANK = char_set(" ")


def containing(text: str) -> Regex:
    """Return the texts that hold another one."""
    return concat(ANY_STRING, literal(text), ANY_STRING)


def ending_with(text: str) -> Regex:
    """Return the texts that end with another one."""
    return concat(ANY_STRING, literal(text))


@lru_cache(maxsize=1)
def quoted_text() -> Regex:
    """Return the strings of JSON with their quotes (RFC 8259, section 7), without escapes of half a surrogate pair."""
    plain = Chars(invert_ranges(normalise_ranges([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0xD800, 0xDFFF)])))
    digit = _HEX_DIGIT
    other = union(
        concat(char_set("0123456789abcefABCEF"), digit),
        concat(char_set("dD"), char_set("01234567")),
    )
    high = concat(char_set("dD"), char_set("89abAB"), digit, digit)
    low = concat(char_set("dD"), char_set("cdefCDEF"), digit, digit)
    point = union(concat(other, digit, digit), concat(high, literal("\\u"), low))
    escape = concat(literal("\\"), union(char_set('"\\/bfnrt'), concat(literal("u"), point)))
    quote = literal('"')
    return concat(quote, star(union(plain, escape)), quote)


@lru_cache(maxsize=1)
def unquoted_text() -> Regex:
    """Return the plain scalars of YAML on one line that every reader takes for a string.

    They are plain in a block, not within brackets, in YAML 1.1 and in 1.2: the characters are printable, blanks among them;
    the first is not an indicator; there is no ``": "``, no ``" #"``, no colon at the end and no blank at either end; and the
    whole is not a text that one of the versions resolves to a number, a boolean, null, a timestamp or a mark of its own.

    Source: YAML 1.2.2, sections 7.3.3 and 10.3; the types of YAML 1.1.
    """
    in_plane_0 = ((0x20, 0x7E), (0xA0, 0x2027), (0x202A, 0xD7FF), (0xE000, 0xFEFE), (0xFF00, 0xFFFD))
    printable = chars(*in_plane_0, (0x10000, 0x10FFFF))
    no_indicator = invert_ranges(char_set(" -?:,[]{}#&*!|>'\"%@`").ranges)
    first = Chars(intersect_ranges(printable.ranges, no_indicator))
    marker = concat(literal("..."), optional(concat(_BLANK, ANY_STRING)))
    return conjunction(
        concat(first, star(printable)),
        *(complement(containing(text)) for text in (": ", " #")),
        *(complement(ending_with(text)) for text in (":", " ")),
        complement(union(marker, _resolved_by_yaml())),
    )


def _resolved_by_yaml() -> Regex:
    """Return the plain scalars that YAML 1.1 or 1.2 resolves to something else than a string, and some more numbers.

    None begins with a minus, which is an indicator. ``.`` is a number by the expression that YAML 1.1 gives for them.
    """
    words = ("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "=", ".")
    spellings = {spelt for word in words for spelt in (word, word.capitalize(), word.upper())}
    plus, digits = optional(literal("+")), star(_DIGIT_OR_LINE)
    number = union(concat(plus, _DIGIT, digits), concat(literal("+_"), digits))
    sexagesimal = concat(literal(":"), repeat(_DIGIT, 1, 2))
    exponent = optional(concat(char_set("eE"), optional(char_set("+-")), _DIGIT, digits))
    fraction = concat(literal("."), digits)
    special = (".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN")
    numbers = union(
        concat(number, star(sexagesimal), optional(fraction), exponent),
        concat(plus, fraction, exponent),
        concat(plus, literal("0b"), star(char_set("01_"))),
        concat(plus, literal("0o"), star(char_set("01234567_"))),
        concat(plus, literal("0x"), star(union(_HEX_DIGIT, _DIGIT_OR_LINE))),
        *(concat(plus, literal(word)) for word in special),
    )
    return union(*map(literal, sorted(spellings)), numbers, _timestamp())


def _timestamp() -> Regex:
    """Return the dates and times of YAML 1.1, with optional fractions of seconds, and optional blanks before the zone."""
    few = repeat(_DIGIT, 1, 2)
    date = concat(repeat(_DIGIT, 4, 4), literal("-"), few, literal("-"), few)
    colon, blanks = literal(":"), star(_BLANK)
    fraction = optional(concat(literal("."), star(_DIGIT)))
    offset = concat(char_set("+-"), few, optional(concat(optional(colon), repeat(_DIGIT, 2, 2))))
    zone = optional(concat(blanks, union(char_set("Z"), offset)))
    between = union(char_set("Tt"), repeat(_BLANK, 1, None))
    time = concat(few, colon, few, colon, few, fraction, zone)
    return concat(date, optional(concat(between, time)))


@lru_cache(maxsize=1)
def paragraph_text() -> Regex:
    """Return the texts of one line, of one character or more."""
    return repeat(Chars(invert_ranges(char_set(LINE_ENDS).ranges)), 1, None)


def text_without(literals: Iterable[str]) -> Regex:
    """Return the texts in which none of some literals occurs."""
    found = union(*map(literal, literals))
    return ANY_STRING if found == EMPTY else complement(concat(ANY_STRING, found, ANY_STRING))


def text_before(stop: str, others: Iterable[str] = ()) -> Regex:
    """Return the texts after which ``stop`` is the first occurrence of a literal.

    Such a text holds no literal, and does not end with the beginning of one that would be complete by the end of ``stop``:
    before ``aa`` no text ends with ``a``.

    Args:
        stop: The literal that comes next.
        others: Literals that the text must not hold either.
    """
    literals = list(dict.fromkeys([*others, stop]))
    begun = {literal[:cut] for literal in literals for cut in range(1, len(literal)) if stop.startswith(literal[cut:])}
    ending = concat(ANY_STRING, union(*map(literal, sorted(begun))))
    return conjunction(text_without(literals), complement(ending))


def text_up_to(stop: str, others: Iterable[str] = ()) -> Regex:
    """Return such a text and ``stop``; arguments as for `text_before`."""
    return concat(text_before(stop, others), literal(stop))


def substring_text(text: str) -> Regex:
    """Return the substrings of a text, the empty one among them."""
    return optional(substring(text))


def delimited_list(delimiter: Regex, item: Regex) -> Regex:
    """Return one item or more with a delimiter between each two."""
    return concat(item, star(concat(delimiter, item)))


def delimited_subsequence(delimiter: Regex, items: Sequence[Regex]) -> Regex:
    """Return one or more of some items in their order, some of them left out, with a delimiter between each two.

    After its first item each later one may come with a delimiter before it, or not. So a subsequence begins in the
    first half of the items and goes on over the second, or lies in the second.
    """
    if len(items) == 1:
        return items[0]
    left, right = items[: len(items) // 2], items[len(items) // 2 :]
    tail = concat(*(optional(concat(delimiter, item)) for item in right))
    return union(concat(delimited_subsequence(delimiter, left), tail), delimited_subsequence(delimiter, right))
