"""Regular languages without the empty text: a lexeme is never empty."""

from __future__ import annotations

from functools import lru_cache

from schemagen.regex import ast


@lru_cache(maxsize=4096)
def is_nullable(regex: ast.Regex) -> bool:
    """Whether a language has the empty text."""
    if isinstance(regex, ast.Chars):
        return False
    if isinstance(regex, ast.Repeat):
        return regex.low == 0 or is_nullable(regex.inner)
    if isinstance(regex, ast.Complement):
        return not is_nullable(regex.inner)
    some = any if isinstance(regex, ast.Alternation) else all
    return some(map(is_nullable, regex.parts))


@lru_cache(maxsize=4096)
def nonempty(regex: ast.Regex) -> ast.Regex:
    """Return the texts of a language but for the empty one."""
    if not is_nullable(regex):
        return regex
    if isinstance(regex, ast.Repeat):
        rest = None if regex.high is None else regex.high - 1
        return ast.concat(nonempty(regex.inner), ast.repeat(regex.inner, max(regex.low - 1, 0), rest))
    if isinstance(regex, ast.Concat):
        return ast.union(*(ast.concat(nonempty(part), *regex.parts[at + 1 :]) for at, part in enumerate(regex.parts)))
    if isinstance(regex, ast.Alternation):
        return ast.union(*map(nonempty, regex.parts))
    return ast.conjunction(regex, ast.repeat(ast.ANY_CHAR, 1, None))
