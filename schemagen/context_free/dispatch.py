"""Free text in which the first of some tags hands over: the regular languages of text without tags, and of text up to one.

Of tags within one another the one that begins first counts, and what has begun may go on as a longer one. Free text up to a
tag is regular: it holds no tag, and does not end with the beginning of one that would be complete by the end of this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Iterable


def text_without(literals: Iterable[str]) -> ast.Regex:
    """Return the texts in which none of some literals occurs."""
    found = ast.union(*map(ast.literal, literals))
    return ast.ANY_STRING if found == ast.EMPTY else ast.complement(ast.concat(ast.ANY_STRING, found, ast.ANY_STRING))


def text_up_to(tag: str, others: Iterable[str]) -> ast.Regex:
    """Return free text and a tag behind it, without another literal that begins before the tag and is complete by its end.

    Args:
        tag: The literal at the end.
        others: All literals that free text must not hold, the tag among them.
    """
    others = list(others)
    begun = {other[:cut] for other in others for cut in range(1, len(other)) if tag.startswith(other[cut:])}
    ending = ast.concat(ast.ANY_STRING, ast.union(*map(ast.literal, sorted(begun))))
    return ast.concat(ast.conjunction(text_without(others), ast.complement(ending)), ast.literal(tag))
