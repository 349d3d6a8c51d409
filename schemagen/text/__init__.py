"""Kinds of text as specs: quoted and unquoted texts, text up to a stop, lines and passages of a text, delimited lists.

    schemagen.text.list_of(schemagen.text.quoted(), sep=" | ")

They are the extensions of Koo, Liu & He 2024, Table 1, which are named groups of a `Regex`, too. Each of them is a spec, and a
part of others: an item of a list, what a terminal of a `Lark` is bound to.
"""

from schemagen.text.lists import list_of, subsequence_of
from schemagen.text.wildcards import (
    one_of_lines,
    paragraph,
    paragraph_tokens,
    quoted,
    substring_of,
    text_tokens,
    unquoted,
    until,
)

__all__ = [
    "list_of",
    "one_of_lines",
    "paragraph",
    "paragraph_tokens",
    "quoted",
    "subsequence_of",
    "substring_of",
    "text_tokens",
    "unquoted",
    "until",
]
