"""Regular languages as the texts of a grammar: their size, and free text around tags.

A lexeme is never empty, so a language is used without the empty text (`nonempty`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, Text, alternatives, repeat, sequence
from schemagen.regex import ast
from schemagen.regex.language import is_empty
from schemagen.regex.wildcards import text_up_to

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.context_free.syntax import Expression

#: Operators that a rule is written out with where it is called, and how many of them inside one another.
MAX_SIZE = 20_000
MAX_HEIGHT = 100

#: Parts of a concatenation from which the empty text is taken out without an intersection.
MAX_WAYS = 64

#: Any text but the empty one.
SOME_TEXT = ast.repeat(ast.ANY_CHAR, 1, None)


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
    if isinstance(regex, ast.Concat) and len(regex.parts) <= MAX_WAYS:  # each part has a way of its own
        return ast.union(*(ast.concat(nonempty(part), *regex.parts[at + 1 :]) for at, part in enumerate(regex.parts)))
    if isinstance(regex, ast.Alternation):
        return ast.union(*map(nonempty, regex.parts))
    return ast.conjunction(regex, SOME_TEXT)


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


def only_text(regex: ast.Regex) -> str | None:
    """Return the text of an expression that has only one, if that is clear from its shape."""
    parts = regex.parts if isinstance(regex, ast.Concat) else (regex,)
    text = ""
    for part in parts:
        if not isinstance(part, ast.Chars) or len(part.ranges) != 1 or part.ranges[0][0] != part.ranges[0][1]:
            return None
        text += chr(part.ranges[0][0])
    return text or None


def meet(one: ast.Regex, other: ast.Regex) -> bool:
    """Whether two languages have a text in common.

    Raises:
        LimitError: To find out would take too long.
    """
    return not is_empty(ast.conjunction(one, other))


def goes_on_as(text: ast.Regex, longer: ast.Regex) -> bool:
    """Whether some text of one language begins with a text of the other and is longer.

    Raises:
        LimitError: To find out would take too long.
    """
    return meet(ast.concat(text, SOME_TEXT), longer)


def dispatched_tokens(taken: Expression, *, loop: bool) -> Expression:
    """Return text in which expressions that begin with tokens may stand: tokens are no text, so it needs no search."""
    text = Text(ast.ANY_STRING)
    if loop:
        return sequence(repeat(sequence(text, taken), 0, None), text)
    return sequence(text, alternatives(taken, EMPTY_TEXT))


def text_of(regex: ast.Regex) -> Expression:
    """Return the texts of a language, which may have none.

    Raises:
        LimitError: To find out would take too long.
    """
    return NOTHING if is_empty(regex) else Text(regex)


def dispatched(
    tags: Iterable[tuple[str, Expression]], literals: list[str], last: Expression, *, loop: bool
) -> Expression:
    """Return free text in which each tag is followed by its expression, for `TagDispatch` of EBNF and structural tags.

    Of nested tags the one that begins first counts, and a tag that has begun may go on as a longer one.

    Args:
        tags: The tags, each with the expression after it.
        literals: All that free text must not hold, the tags among them.
        last: The free text at the end.
        loop: Whether free text goes on after the expression of a tag.
    """
    taken = [sequence(Text(text_up_to(tag, literals)), after) for tag, after in tags]
    if loop:
        return sequence(repeat(alternatives(*taken), 0, None), last)
    return alternatives(last, *taken)
