"""Tokens of the vocabulary as grammars write them: ``<name>``, ``<[12]>``, ``<[1,5-9]>``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schemagen.context_free.syntax import Token

if TYPE_CHECKING:
    from schemagen.context_free.scanner import Scanner
    from schemagen.errors import UnsupportedGrammarError

_RANGES = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*")


def token_of(scanner: Scanner, text: str, at: int) -> Token:
    """Return the token that is written between angle brackets.

    Args:
        scanner: The grammar, for errors.
        text: The source text, brackets included. A name is all of it: ``<|python_tag|>``.
        at: Where it begins.

    Raises:
        GrammarError: It is a list of ids that cannot be read, or that leaves ids out.
    """
    line, column = scanner.place(at)
    if not text.startswith("<["):
        return Token((text,), line, column)
    ids = text[2:-2] if text.endswith("]>") else ""
    if ids.startswith(("*", "^")):
        raise any_but(scanner, f"the token {text} in a grammar", at)
    if not _RANGES.fullmatch(ids):
        raise scanner.error(f"the token {text}, which is not a list of ids", at, fix="write <[12]> or <[1,5-9]>")
    ranges = []
    for each in ids.split(","):
        first, _, last = each.partition("-")
        ranges.append((int(first), int(last or first)))
        if ranges[-1][1] < ranges[-1][0]:
            raise scanner.error(
                f"the ids {each} of {text}", at, why="the lower one comes first", fix=f"write {last}-{first}"
            )
    return Token(tuple(ranges), line, column)


def any_but(scanner: Scanner, what: str, at: int) -> UnsupportedGrammarError:
    """Return the error of tokens that are all but some: tokens of text are among them."""
    return scanner.unsupported(
        what,
        at,
        why="a token of text is read as its characters, so it cannot be distinguished from the same characters in other tokens",
        fix="write the text as a pattern, and name the special tokens",
    )
