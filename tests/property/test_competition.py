"""Which terminals may begin alike, told by bit sets, against each pair by itself."""

from __future__ import annotations

import random

from schemagen.context_free.dialect.competition import Kind, _Alike
from schemagen.context_free.items import first_characters
from schemagen.context_free.regular import only_text
from schemagen.regex import ast

LONG = ast.literal("ab" * 300)  # too many positions: what it begins with is not seen at once


def _may_share(one: ast.Regex, other: ast.Regex) -> bool:
    """The definition."""
    first, second = only_text(one), only_text(other)
    if first is not None and second is not None:
        return first.startswith(second) or second.startswith(first)
    starts = first_characters(one), first_characters(other)
    return None in starts or bool(ast.intersect_ranges(starts[0] or (), starts[1] or ()))


def _language(generator: random.Random) -> ast.Regex:
    letters = generator.choice(["a", "b", "ab", "bc", "cd"])
    word = ast.literal("".join(generator.choices("abc", k=generator.randint(1, 3))))
    return generator.choice(
        [
            word,
            word,
            ast.concat(ast.char_set(letters), ast.star(ast.char_set("abc"))),
            ast.concat(ast.optional(ast.char_set(letters)), word),
            ast.conjunction(word, ast.complement(ast.literal("a"))),
            LONG,
            ast.union(word, ast.repeat(ast.char_set(letters), 2, 3)),
        ]
    )


def test_kinds_that_may_begin_alike_are_those_of_which_each_pair_says_so() -> None:
    """Words, patterns, and what is too long or too mixed to be seen at once; some of them lazy."""
    generator, alike = random.Random(1), 0
    for _ in range(500):
        texts = list(dict.fromkeys(_language(generator) for _ in range(generator.randint(1, 8))))
        found = _Alike([Kind(text, lazy=generator.random() < 0.2) for text in texts])
        for number, text in enumerate(texts):
            expected = [other for other, its in enumerate(texts) if _may_share(text, its)]
            assert [other for other in range(len(texts)) if found.to(number) >> other & 1] == expected
            alike += len(expected) < len(texts)
    assert alike > 500
