"""The texts of a language that has a few, one by one."""

from __future__ import annotations

from itertools import product

from schemagen.regex import ast
from schemagen.regex.derivatives import matches


def few_texts(regex: ast.Regex, most: int) -> list[str] | None:
    """Return the texts of a language; None if there are more than ``most``, or that is not plain to see.

    Args:
        regex: The language. Of an intersection one part has to be a list, and the others are asked for each text of it.
        most: How many texts there may be, also of a part.
    """
    if isinstance(regex, ast.Chars):
        size = sum(high - low + 1 for low, high in regex.ranges)
        return None if size > most else [chr(code) for low, high in regex.ranges for code in range(low, high + 1)]
    if isinstance(regex, ast.Concat):
        return _joined([few_texts(part, most) for part in regex.parts], most)
    if isinstance(regex, ast.Repeat):
        if regex.high is None or regex.high > most:
            return None
        inner = few_texts(regex.inner, most)
        counts = [_joined([inner] * count, most) for count in range(regex.low, regex.high + 1)]
        return _united(counts, most)
    if isinstance(regex, ast.Alternation):
        return _united([few_texts(part, most) for part in regex.parts], most)
    if isinstance(regex, ast.Conjunction):
        listed = next((texts for part in regex.parts if (texts := few_texts(part, most)) is not None), None)
        return None if listed is None else [text for text in listed if matches(regex, text)]
    return None


def _joined(parts: list[list[str] | None], most: int) -> list[str] | None:
    found = [""]
    for part in parts:
        if part is None or len(found) * len(part) > most:
            return None
        found = list(dict.fromkeys(map("".join, product(found, part))))
    return found


def _united(parts: list[list[str] | None], most: int) -> list[str] | None:
    if any(part is None for part in parts):
        return None
    found = list(dict.fromkeys(text for part in parts for text in part or ()))
    return None if len(found) > most else found
