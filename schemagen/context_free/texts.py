"""Regular languages as the texts of a grammar: their size, and without the empty text, for a lexeme is never empty."""

from __future__ import annotations

from functools import lru_cache

from schemagen.regex import ast

#: Operators that a rule is written out with where it is called, and how many of them inside one another.
MAX_SIZE = 20_000
MAX_HEIGHT = 100


@lru_cache(maxsize=4096)
def is_nullable(regex: ast.Regex) -> bool:
    """Whether a language has the empty text."""
    if isinstance(regex, ast.Chars | ast.Substring):
        return False
    if isinstance(regex, ast.Repeat):
        return regex.low == 0 or is_nullable(regex.inner)
    if isinstance(regex, ast.Complement):
        return not is_nullable(regex.inner)
    some = any if isinstance(regex, ast.Alternation) else all
    return some(map(is_nullable, regex.parts))


@lru_cache(maxsize=4096)
def nonempty(regex: ast.Regex) -> ast.Regex:
    """Return the texts of a language except the empty one."""
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


@lru_cache(maxsize=4096)
def size_of(regex: ast.Regex) -> tuple[int, int]:
    """Return how many operators a language is written with, and how many of them inside one another."""
    if isinstance(regex, ast.Chars | ast.Substring):
        return 1, 1
    parts = (regex.inner,) if isinstance(regex, ast.Repeat | ast.Complement) else regex.parts
    sizes = [size_of(part) for part in parts]
    return 1 + sum(size for size, _ in sizes), 1 + max((height for _, height in sizes), default=0)


@lru_cache(maxsize=4096)
def is_plain(regex: ast.Regex) -> bool:
    """Whether a language is written without intersections, complements, and substrings of a text."""
    if isinstance(regex, ast.Conjunction | ast.Complement | ast.Substring):
        return False
    if isinstance(regex, ast.Repeat):
        return is_plain(regex.inner)
    return isinstance(regex, ast.Chars) or all(map(is_plain, regex.parts))
