"""International host names: RFC 5890 (labels), 5891 (protocol), 5892 (code points), 5893 (bidirectional).

What a label may contain is a matter of tables, which are derived here from `unicodedata` by the rules of RFC 5892
section 3 the first time they are asked for. A label is a sequence of items: a code point that is always valid, or one
that is valid in a context (RFC 5892 appendix A) together with that context. Single hyphens stand between items only.

A subset, chosen so that every match is valid whatever the Unicode version of the validator:

- characters that normalisation to NFC could change or compose are left out, of combining marks at most one stands
  after a character;
- a name is either free of right-to-left characters, or each of its labels is wholly right-to-left or plain ASCII
  starting with a letter;
- a label with non-ASCII characters is short enough that its ``xn--`` form surely fits into 63 characters: what counts
  is how far its code points lie apart (RFC 3492), so labels within one block may be longer than mixed ones;
- ``xn--`` labels themselves are left out, see `hosts`.
"""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from schemagen.regex import ast
from schemagen.schema.formats import emails_and_hosts
from schemagen.schema.formats.parts import ALPHA, LDH

_SEPARATOR = ast.char_set(".\u3002\uff0e\uff61")
#: RFC 5892 section 2.6 and appendix A; code points that are valid in a context only are handled as items.
_EXCEPTIONALLY_VALID = frozenset("\u00df\u03c2\u06fd\u06fe\u0f0b\u3007")
_EXCEPTIONALLY_INVALID = frozenset("\u0640\u07fa\u302e\u302f\u3031\u3032\u3033\u3034\u3035\u303b")
_CONTEXTUAL = frozenset("\u00b7\u0375\u05f3\u05f4\u30fb\u200c\u200d")
#: Default ignorable letters and marks, old Hangul jamo, ignorable blocks (sections 2.3, 2.4 and 2.9).
_IGNORED = (
    *((0x34F, 0x34F), (0x1100, 0x11FF), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x20D0, 0x20FF), (0x3164, 0x3164)),
    *((0xA960, 0xA97C), (0xD7B0, 0xD7FB), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1D100, 0x1D24F), (0xE0000, 0xE0FFF)),
)
_LETTER_DIGITS = frozenset(("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"))
_LOWER = ast.chars((0x30, 0x39), (0x61, 0x7A))
_VIRAMA_CLASS = 9
#: Most code points of a label whose non-ASCII characters come from anywhere.
_MIXED_LENGTH = 12
#: Most code points of a label whose non-ASCII characters come from one of these ranges. The worst case that a search
#: found in each range outgrows 63 characters two code points later at the earliest.
_BLOCKS = (
    *((0xDF, 0x17F, 24), (0x370, 0x3FF, 24), (0x3AC, 0x3CE, 30), (0x400, 0x4FF, 22), (0x531, 0x58F, 24)),
    *((0x900, 0x97F, 24), (0x980, 0x9FF, 24), (0xB80, 0xBFF, 24), (0xE00, 0xE7F, 24), (0x10D0, 0x10FF, 24)),
    *((0x3041, 0x30FF, 22), (0x4E00, 0x9FFF, 14), (0xAC00, 0xD7A3, 14)),
)
_RIGHT_BLOCKS = ((0x590, 0x5FF, 24), (0x600, 0x6FF, 22))
#: Arabic letters that join on both sides, and those that join to the letter before only (Unicode ArabicShaping).
_JOINING_BOTH = ast.chars(
    *((0x626, 0x626), (0x628, 0x628), (0x62A, 0x62E), (0x633, 0x63F), (0x641, 0x647), (0x649, 0x64A)),
    *((0x66E, 0x66F), (0x679, 0x687), (0x69A, 0x6BF), (0x6CC, 0x6CC)),
)
_JOINING_RIGHT = ast.chars((0x627, 0x627), (0x629, 0x629), (0x62F, 0x632), (0x648, 0x648), (0x688, 0x699))


@dataclass(frozen=True, slots=True)
class _Table:
    """Valid code points by what the label rules have to know about them.

    Attributes:
        letters: Left-to-right or neutral, no marks.
        marks: Combining marks that may follow any of them.
        right: Right-to-left letters.
        viramas: Marks after which joiners are legal.
    """

    letters: ast.Ranges
    marks: ast.Ranges
    right: ast.Ranges
    viramas: ast.Ranges


def idn_hostname_regex() -> ast.Regex:
    """Host names with international labels, at most 253 code points.

    Returns:
        The language; its tables take about a second once per process.
    """
    plain = emails_and_hosts.unreserved_label_regex()
    left = _separated(ast.union(plain, _left_labels()))
    plain_in_right = ast.conjunction(plain, ast.concat(ALPHA, ast.ANY_STRING))
    right = _separated(ast.union(plain_in_right, _right_labels()))
    return emails_and_hosts.at_most(ast.union(left, right), 253)


def _separated(label: ast.Regex) -> ast.Regex:
    return ast.concat(label, ast.star(ast.concat(_SEPARATOR, label)))


# 1) Code points.


@lru_cache(maxsize=1)
def _table() -> _Table:
    letters, marks, right, viramas = [], [], [], []
    composing = _composing()
    for code_point in range(0x80, sys.maxunicode + 1):
        char = chr(code_point)
        if not _is_valid(char) or char in composing:
            continue
        if unicodedata.category(char)[0] == "M":
            marks.append(code_point)
            if unicodedata.combining(char) == _VIRAMA_CLASS:
                viramas.append(code_point)
        elif unicodedata.bidirectional(char) in {"R", "AL"}:
            right.append(code_point)
        elif unicodedata.bidirectional(char) != "AN":
            letters.append(code_point)
    return _Table(*(ast.normalise_ranges((c, c) for c in group) for group in (letters, marks, right, viramas)))


def _is_valid(char: str) -> bool:
    """PVALID by RFC 5892 section 3, for a code point above ASCII."""
    if char in _EXCEPTIONALLY_VALID:
        return True
    if unicodedata.category(char) not in _LETTER_DIGITS or char in _EXCEPTIONALLY_INVALID or char in _CONTEXTUAL:
        return False
    if any(low <= ord(char) <= high for low, high in _IGNORED):
        return False
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    return folded == char


def _composing() -> frozenset[str]:
    """Second halves of canonical decompositions: NFC may fuse them with the characters before."""
    pairs = (unicodedata.decomposition(chr(code_point)).split() for code_point in range(0x80, sys.maxunicode + 1))
    return frozenset(chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<"))


# 2) Labels.


def _label(item: ast.Regex, length: int) -> ast.Regex:
    """Items with single hyphens between them, at most ``length`` code points, at least one of them above ASCII."""
    shape = ast.concat(item, ast.star(ast.concat(ast.optional(ast.char_set("-")), item)))
    foreign = ast.concat(ast.star(LDH), ast.chars((0x80, ast.MAX_CODE_POINT)), ast.ANY_STRING)
    return ast.conjunction(shape, foreign, ast.repeat(ast.ANY_CHAR, 1, length))


def _left_labels() -> ast.Regex:
    """Labels without right-to-left characters."""
    table = _table()
    everywhere = ((0x80, ast.MAX_CODE_POINT),)
    labels = [_left_label(table, everywhere, _MIXED_LENGTH)]
    labels += [_left_label(table, ((low, high),), length) for low, high, length in _BLOCKS]
    return ast.union(*labels, _katakana_labels(table))


def _left_label(table: _Table, block: ast.Ranges, length: int) -> ast.Regex:
    def within(ranges: ast.Ranges) -> ast.Chars:
        return ast.chars(*ast.intersect_ranges(ranges, block))

    base = ast.union(_LOWER, within(table.letters))
    virama = within(table.viramas)
    joined = ast.concat(virama, ast.chars((0x200C, 0x200D)))
    marked = ast.concat(base, ast.optional(ast.union(within(table.marks), joined)))
    catalan = ast.concat(ast.char_set("l"), ast.repeat(ast.literal("\u00b7l"), 1, None))
    greek = within(ast.intersect_ranges(table.letters, ((0x370, 0x3E1), (0x3F0, 0x3FF), (0x1F00, 0x1FFF))))
    keraia = ast.concat(ast.char_set("\u0375"), greek)
    items = ast.union(marked, catalan, keraia)
    return _label(items, length)


def _katakana_labels(table: _Table) -> ast.Regex:
    """Labels with a katakana middle dot, which needs a kana or a Han character somewhere (appendix A.7)."""
    kana = ast.chars(*ast.intersect_ranges(table.letters, ((0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FFF))))
    base = ast.union(_LOWER, kana, ast.char_set("\u30fb"))
    needed = ast.concat(ast.ANY_STRING, kana, ast.ANY_STRING)
    return ast.conjunction(_label(base, _MIXED_LENGTH), needed)


def _right_labels() -> ast.Regex:
    """Labels of right-to-left letters (RFC 5893 section 2): a letter first, European or Arabic digits but not both."""
    table = _table()
    spans = ((0x590, 0x8FF, _MIXED_LENGTH), *_RIGHT_BLOCKS)
    european = ast.chars((0x30, 0x39), (0x6F0, 0x6F9))
    arabic = ast.chars((0x660, 0x669))
    return ast.union(*(_right_label(table, span, digits) for span in spans for digits in (european, arabic)))


def _right_label(table: _Table, span: tuple[int, int, int], digits: ast.Regex) -> ast.Regex:
    low, high, length = span
    letter = ast.chars(*ast.intersect_ranges(table.right, ((low, high),)))
    mark = ast.chars(*ast.intersect_ranges(table.marks, ((low, high),)))
    hebrew = ast.chars(*ast.intersect_ranges(table.right, ((0x5D0, 0x5EA),)))
    geresh = ast.concat(hebrew, ast.chars((0x5F3, 0x5F4)))
    non_joiner = ast.char_set("\u200c")
    followed = ast.concat(non_joiner, ast.union(_JOINING_BOTH, _JOINING_RIGHT))
    parted = ast.concat(_JOINING_BOTH, ast.star(ast.concat(non_joiner, _JOINING_BOTH)), followed)
    opening = ast.union(ast.concat(letter, ast.optional(mark)), geresh, parted)
    item = ast.concat(ast.optional(ast.char_set("-")), ast.union(opening, digits))
    return ast.conjunction(ast.concat(opening, ast.star(item)), ast.repeat(ast.ANY_CHAR, 1, length))
