"""The patterns of Lark grammars as regular languages, in the syntax of Rust's `regex` crate or that of ECMA-262."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from schemagen.errors import InvalidPatternError, LimitError, UnsupportedPatternError
from schemagen.regex import parse_rust
from schemagen.regex.dialects import parse_pattern

if TYPE_CHECKING:
    from schemagen.checks import PatternDialect
    from schemagen.context_free.scanner import Scanner
    from schemagen.regex import ast

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~\-\s]")
#: By dialect: llguidance has patterns of Rust, xgrammar those of ECMA-262.
_FLAGS: dict[PatternDialect, str] = {"rust": "imsxu", "ecma-262": "imsu"}
#: The pieces of a pattern that matter here: an escape, a class, a lazy repetition.
_PIECES = re.compile(r"\\b|\\B|\\.|\[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\]|(?:[*+?]|\{[0-9, ]*\})\?|.", re.DOTALL)
_ECMA_PIECES = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|.", re.DOTALL)


def language_of(pattern: str, flags: str, scanner: Scanner, at: int, dialect: PatternDialect) -> ast.Regex:
    """Return the texts of a pattern between slashes.

    Lazy repetitions of ECMA-262 are read like greedy ones: for a lexer that takes any text of a pattern they are the same.

    Args:
        pattern: The text between the slashes.
        flags: The letters after them.
        scanner: The grammar, for errors.
        at: The place of the first slash.
        dialect: "rust" or "ecma-262".

    Raises:
        GrammarError: It cannot be read, or depends on the text around it.
        LimitError: It is too large.
    """
    unknown = sorted(set(flags) - set(_FLAGS[dialect]))
    if unknown:
        known = ", ".join(_FLAGS[dialect])
        raise scanner.error(f"the flag {unknown[0]!r} of a pattern", at, fix=f"use some of {known}")
    _check_pieces(pattern, scanner, at, dialect)
    written = f"(?{''.join(sorted(set(flags)))})" if flags and dialect == "rust" else ""
    try:
        return parse_rust(written + pattern, search=False) if dialect == "rust" else _ecma(pattern, flags)
    except InvalidPatternError as error:
        place = at + 1 + max(0, (error.position or 0) - len(written))
        raise scanner.error(f"a pattern that cannot be read: {error.fact}", place, fix=error.fix) from error
    except UnsupportedPatternError as error:
        place = at + 1 + max(0, (error.position or 0) - len(written))
        raise scanner.unsupported(f"a pattern: {error.fact}", place, why=error.why, fix=error.fix) from error
    except LimitError as error:
        raise scanner.limit(f"a pattern: {error.fact}", at, why=error.why, fix=error.fix) from error


@lru_cache(maxsize=1024)
def in_any_case(text: str) -> ast.Regex:
    """Return the texts that differ from one in upper and lower case only."""
    escaped = _SPECIAL.sub(lambda found: f"\\x{{{ord(found[0]):x}}}", text)
    return parse_rust(f"(?i){escaped}", search=False)


def _check_pieces(pattern: str, scanner: Scanner, at: int, dialect: PatternDialect) -> None:
    """Refuse assertions about the text around the terminal, and pieces that would be read against their meaning."""
    is_rust = dialect == "rust"

    def refuse(piece: re.Match[str], what: str, why: str) -> NoReturn:
        fix = "write the terminal without it; a rule with [lazy] takes the shortest match"
        raise scanner.unsupported(f"{what} {piece[0]!r}", at + 1 + piece.start(), why=why, fix=fix)

    for piece in (_PIECES if is_rust else _ECMA_PIECES).finditer(pattern):
        if piece[0] in (r"\b", r"\B"):
            refuse(piece, "a word boundary", "it depends on the text around the terminal")
        if piece[0].startswith("(?"):
            refuse(piece, "a look-around", "it depends on the text around the terminal")
        if is_rust and piece[0].endswith("?") and len(piece[0]) > 1 and piece[0][0] in "*+?{":
            refuse(piece, "a lazy repetition", "a terminal takes the longest match, whatever its repetitions say")


def _ecma(pattern: str, flags: str) -> ast.Regex:
    """Return the language of a pattern of xgrammar, where a dot is any character but a line feed."""
    whole = parse_pattern(pattern, "ecma-262", search=False)  # by itself: a bracket too many must not close ours
    kept = "".join(sorted(set(flags) - {"u"}))
    dot = "." if "s" in kept else r"[^\n]"
    body = "".join(dot if piece == "." else piece for piece in _ECMA_PIECES.findall(pattern))
    return parse_pattern(f"(?{kept}:{body})", "ecma-262", search=False) if kept or body != pattern else whole
