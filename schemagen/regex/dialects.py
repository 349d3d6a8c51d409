r"""The pattern dialects: ECMA-262 for the keyword `pattern`, Rust's `regex` crate and Python's `re` for types.

They are read by `parse.py` and `rust.py`, and freed of their assertions by `assertions.py`.

Leniency of `parse_ecma` beyond ECMA-262 with the `u` flag, for patterns as they are found in real schemas: identity
escapes of any character that is neither letter nor digit, lone ``{`` ``}`` ``]``, ``{,n}``, ``(?P<name>...)``, ``(?i)`` and
``(?i:...)`` with the flags i, m and s (without a group they reach to the end of the enclosing group), and ``\A`` ``\z``
``\Z`` as the two ends of the text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.errors import LimitError, SchemagenError, UnsupportedPatternError
from schemagen.regex.assertions import NotAlgebraicError, Translator, join, top_level_look_behinds
from schemagen.regex.ast import ANY_STRING, EPSILON, Regex, union
from schemagen.regex.automaton import pattern_language
from schemagen.regex.edges import absorb_right
from schemagen.regex.parse import parse_syntax
from schemagen.regex.syntax import PLAIN, Choice, Syntax, sequence

if TYPE_CHECKING:
    from schemagen.checks import PatternDialect


def parse_pattern(pattern: str, dialect: PatternDialect, *, search: bool, text_groups: bool = False) -> Regex:
    """Return the language of a pattern of any dialect; see `parse_ecma`, `parse_python` and `parse_rust`.

    Args:
        pattern: The pattern.
        dialect: Whose syntax it is in.
        search: Whether it may match anywhere in a text.
        text_groups: Whether groups in Python's dialect with the names of text groups are read as these (`text_groups.py`).
            Off where `re` checks the text, since `re` does not know them.
    """
    return _language(pattern, dialect=dialect, search=search, text_groups=text_groups and dialect == "python")


def parse_ecma(pattern: str, *, search: bool = True) -> Regex:
    """Return the language of an ECMA-262 pattern with the meaning of its `u` flag.

    Args:
        pattern: The pattern, without slashes around it.
        search: If True, the texts in which the pattern matches somewhere (JSON Schema 2020-12 validation, section
            6.3.3); if False, the texts that it matches as a whole.

    Raises:
        InvalidPatternError: Not a pattern of this dialect; ``position`` says where.
        UnsupportedPatternError: Not regular (back-references), or a construct of another dialect.
        LimitError: Nested too deep, counters too large, or assertions that multiply beyond the limits.
    """
    return _language(pattern, dialect="ecma-262", search=search)


def parse_python(pattern: str, *, search: bool = False) -> Regex:
    r"""Return the language of a pattern of Python's `re` for `str`, as `re.fullmatch` (or `re.search`) has it.

    Tables of Unicode, and whether `\B` matches in the empty text (since 3.14), are those of the running Python.

    Args:
        pattern: The pattern, inline flags i, m, s, x, a, u included.
        search: If False, the texts that `re.fullmatch` accepts; if True, those that `re.search` accepts.

    Raises:
        InvalidPatternError: Not a pattern of this dialect; ``position`` says where.
        UnsupportedPatternError: Not regular (back-references, conditional groups), atomic or possessive.
        LimitError: Nested too deep, counters too large, or assertions that multiply beyond the limits.
    """
    return _language(pattern, dialect="python", search=search)


def parse_rust(pattern: str, *, search: bool = True) -> Regex:
    """Return the language of a pattern of Rust's `regex` crate, with the tables of the crate inside pydantic-core.

    Args:
        pattern: The pattern, inline flags included.
        search: If True, the texts in which it matches somewhere (`Regex::is_match`, and so pydantic); if False, the texts
            that it matches as a whole.

    Raises:
        InvalidPatternError: The crate refuses the pattern; ``position`` says where.
        UnsupportedPatternError: A construct of other dialects: look-arounds, back-references.
        LimitError: Too large for the crate, nested too deep, counters too large, or assertions that multiply.

    Cost: The crate checks the pattern, about 20 us. It is asked about a class that is not ASCII once in a
    process, 5 to 50 ms.
    """
    return _language(pattern, dialect="rust", search=search)


@lru_cache(maxsize=1024)
def _language(pattern: str, *, dialect: PatternDialect, search: bool, text_groups: bool = False) -> Regex:
    """Return the language of a pattern.

    Cached: the same few patterns (identifiers, dates, versions) return in many schemas, and parsing takes 0.1 ms. The core
    reads plain ones (core/regex/plain_patterns.hpp), as the parsers here would.
    """
    plain = None if text_groups else _plain(pattern, dialect, search=search)
    return parse_any(pattern, dialect, search=search, text_groups=text_groups) if plain is None else plain


def _plain(pattern: str, dialect: PatternDialect, *, search: bool) -> Regex | None:
    try:
        from schemagen import _core
    except (ImportError, SchemagenError):  # the reference engine needs no core
        return None
    return _core.plain_regex(pattern, dialect, search)


def parse_any(pattern: str, dialect: PatternDialect, *, search: bool, text_groups: bool = False) -> Regex:
    """Return the language of a pattern, plain or not; arguments and errors as for `parse_pattern`."""
    syntax = _syntax(pattern, dialect, text_groups=text_groups)
    try:
        return denote(syntax, search=search)
    except UnsupportedPatternError as error:
        raise UnsupportedPatternError(
            error.fact, pattern=pattern, position=error.position, why=error.why, fix=error.fix
        ) from error
    except LimitError as error:
        raise LimitError(error.fact, at=f"pattern {pattern[:200]!r}", why=error.why, fix=error.fix) from error


def _syntax(pattern: str, dialect: PatternDialect, *, text_groups: bool) -> Syntax:
    if dialect == "rust":
        from schemagen.regex.rust import parse_rust_syntax  # only here: few patterns need it

        return parse_rust_syntax(pattern)
    return parse_syntax(pattern, python=dialect == "python", text_groups=text_groups)


def denote(syntax: Syntax, *, search: bool) -> Regex:
    """Return the language of the texts in which a pattern matches: somewhere (``search``), or as a whole.

    Raises:
        UnsupportedPatternError: A look-behind whose inside looks at the text after it.
        LimitError: The assertions of the pattern multiply beyond the limits.
    """
    if isinstance(syntax, PLAIN):
        return join(ANY_STRING, absorb_right(syntax)) if search else syntax
    alternatives = syntax.parts if isinstance(syntax, Choice) else (syntax,)
    whole = [sequence((ANY_STRING, part)) if search else part for part in alternatives]
    end = ANY_STRING if search else EPSILON
    return union(*(_denote_one(part, end) for part in whole))


def _denote_one(syntax: Syntax, end: Regex) -> Regex:
    """Return the language of one top-level alternative followed by ``end``."""
    try:
        translator = Translator(syntax)
        return translator.translate(top_level_look_behinds(syntax), translator.same(end))[0]
    except NotAlgebraicError:
        return pattern_language(syntax, end)
