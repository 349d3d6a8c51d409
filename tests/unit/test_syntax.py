"""Expressions of grammars."""

from itertools import product

import pytest

from schemagen.context_free.spans import spans_of
from schemagen.context_free.syntax import ContextFreeGrammar, Expression, Rule, Text, separated
from schemagen.regex import ast

ITEMS = ("a", "ba")
WORDS = ["".join(word) for length in range(7) for word in product("ab,", repeat=length)]
ITEM = Text(ast.union(*map(ast.literal, ITEMS)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("high", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("low", [0, 1, 2])
@pytest.mark.parametrize("separator", ["", ",", "b,"])
@pytest.mark.parametrize("item", [ITEM, Rule("item")], ids=["text", "rule"])
def test_separated(item: Expression, separator: str, low: int, high: int | None) -> None:
    """All short texts are those of items joined, as often as was said."""
    if high is not None and high < low:
        return
    longest = len(WORDS[-1])
    counts = range(low, (longest if high is None else high) + 1)
    joined = {separator.join(items) for count in counts for items in product(ITEMS, repeat=count)}
    body = separated(item, Text(ast.literal(separator)), low, high)
    grammar = ContextFreeGrammar("list", {"list": body, "item": ITEM})
    read = {word for word in WORDS if spans_of(grammar, word, lambda *_: []) is not None}
    assert read == {text for text in joined if len(text) <= longest}
