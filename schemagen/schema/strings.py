"""Disjuncts of strings as regular expressions over code points, and the formats by the names that disjuncts carry.

A format name in a disjunct is prefixed by the dialect where it is not the RFC's own: ``python:date-time``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.schema.formats.table import format_regex, format_superset_regex

if TYPE_CHECKING:
    from schemagen.schema.ir import StringDisjunct

PYTHON_PREFIX = "python:"


def is_asserted(format_name: str, dialect: str) -> bool:
    """Whether a value of the keyword `format` says anything; the others are annotations."""
    return format_regex(format_name, dialect="python" if dialect == "python" else "json-schema") is not None


def known_format(name: str) -> ast.Regex:
    """Return a language inside that of a format: every match is valid."""
    plain = name.removeprefix(PYTHON_PREFIX)
    regex = format_regex(plain, dialect="python" if plain != name else "json-schema")
    assert regex is not None, f"format {name!r} was checked when the keyword was read"
    return regex


def known_superset(name: str) -> ast.Regex:
    """Return a language around that of a format: every valid string matches."""
    regex = format_superset_regex(name.removeprefix(PYTHON_PREFIX))
    assert regex is not None, f"format {name!r} was checked when the keyword was read"
    return regex


def string_pattern(disjunct: StringDisjunct) -> ast.Regex:
    """Return the strings of a disjunct as one pattern over code points."""
    if disjunct.values is not None:  # not worth keeping: an enum may be large, and is seldom seen twice
        return ast.union(*(ast.literal(v) for v in sorted(disjunct.values)))
    return _constrained(disjunct)


@lru_cache(maxsize=1024)
def _constrained(disjunct: StringDisjunct) -> ast.Regex:
    parts = [disjunct.pattern, *(known_format(name) for name in sorted(disjunct.formats))]
    if disjunct.min_length > 0 or disjunct.max_length is not None:
        parts.append(ast.repeat(ast.ANY_CHAR, disjunct.min_length, disjunct.max_length))
    return ast.conjunction(*parts)
