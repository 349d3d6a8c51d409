"""The masks that an engine remembers are bounded in bytes; what it had to forget it makes again, and masks do not change."""

from __future__ import annotations

import random

import numpy as np
import pytest

import schemagen
from schemagen import _core

WORDS = [
    '{"',
    '":',
    '": ',
    '", "',
    '"}',
    '"}\n',
    "}}",
    '"name',
    '"age": 1',
    "12",
    'if "',
    "; ",
    "a = ",
    "} if",
    "1.5",
    "+ (",
    "];",
    "ab",
    "@gh.com",
]
VOCABULARY = schemagen.Vocabulary(
    [b"", *(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)], eos_token_ids=[0]
)
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,12}( [A-Z][a-z]+)*$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "tags": {"type": "array", "items": {"enum": ["a", "bb", "ccc"]}, "uniqueItems": True},
        "more": {"$ref": "#"},
    },
    "required": ["name", "age"],
    "additionalProperties": {"type": "string", "maxLength": 9},
}
STATEMENTS = r"""
start: statement+
statement: NAME "=" value ";" | "if" value "{" statement* "}"
?value: value "+" atom | atom
?atom: NUMBER | NAME | STRING | "(" value ")"
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"/
%ignore /[ \n]+/
"""
SPECS = {
    "schema": PERSON,
    "regex": schemagen.Regex(r"([0-9]{4}-[0-9]{2}|[a-f]+@[g-z]{2,8}\.(com|org))*"),
    "grammar": schemagen.Lark(STATEMENTS),
    "embedded": schemagen.Lark('start: (NAME "=" J ";")+\nNAME: /[a-z]+/\n%declare J', bind={"J": PERSON}),
}


@pytest.fixture(params=[0, 30_000], ids=["no room", "little room"])
def bound(request):
    """Bound the masks that each engine remembers."""
    before = _core.limit_mask_memory(request.param)
    yield
    _core.limit_mask_memory(before)


@pytest.mark.usefixtures("bound")
@pytest.mark.parametrize("name", list(SPECS))
def test_masks_do_not_depend_on_the_room_for_them(name):
    """At every step of random texts, with budgets now and then, the masks are those of an engine that forgets nothing."""
    cramped, roomy = (schemagen.compile(SPECS[name], VOCABULARY, cache=None) for _ in range(2))
    for grammar in (cramped, roomy):
        grammar._implementation.begin_anew()  # masks inside strings are shared otherwise
    masks = np.zeros((2, -(-VOCABULARY.size // 32)), dtype=np.int32)
    for seed in range(4):
        rng, pair = random.Random(seed), [cramped.matcher(), roomy.matcher()]
        for left in range(80, 0, -1):
            budget = left if seed % 2 else None
            pair[0].fill_next_token_bitmask(masks, 0, budget=budget)
            most = _core.limit_mask_memory(1 << 30)
            pair[1].fill_next_token_bitmask(masks, 1, budget=budget)
            _core.limit_mask_memory(most)
            assert (masks[0] == masks[1]).all()
            allowed = np.flatnonzero(np.unpackbits(masks[0].view(np.uint8), bitorder="little"))
            token = int(rng.choice(allowed))
            assert all(matcher.accept_token(token) for matcher in pair)
            if pair[0].is_terminated():
                break
