"""Layouts: what json.dumps writes is accepted, other layouts are refused, masks are exact and budgets hold."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import schemagen
from schemagen import Layout, Vocabulary
from schemagen.testing import brute_force_mask, mask_of
from tests.grammars import compiled_by

BYTES = Vocabulary.byte_vocabulary()
#: Bytes, and tokens that cross gaps, brackets and the ends of lines.
_PIECES = [
    *(bytes([i]) for i in range(256)),
    *(
        b'{"',
        b'": ',
        b'":',
        b"},",
        b"],",
        b"}\n",
        b"[\n",
        b"{\n",
        b"[]",
        b"{}",
        b", ",
        b" ,",
        b" :",
        b"null",
        b"12",
        b"1,\n",
    ),
    *(b"\n" + b" " * n for n in range(1, 9)),
    *(
        b"\n\t",
        b"\n\t\t",
        b"\r\n",
        b"\r\n  ",
        b"  ",
        b"    ",
        b"\t\t",
        b" \n",
        b"\n\n",
        b'"\n}',
        b"]\n}",
        b"\n]",
        b"\n  ]",
        b"}\n}",
        b'",\n  "',
    ),
]
PIECES = Vocabulary.from_tokens([*_PIECES, None], eos_token_ids=[len(_PIECES)])

SCHEMAS = {
    "flat": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "nested": {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "array", "items": {"type": "null"}}, "maxItems": 3},
            "b": {"type": "object", "properties": {"c": {"enum": [[], {}, {"d": [1]}]}}, "additionalProperties": False},
        },
        "additionalProperties": False,
    },
    "tuple": {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "array"}], "minItems": 1, "items": False},
    "number": {"type": "number"},
    "union": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "array", "items": {"type": "integer"}, "minItems": 2}]},
    "recursive": {
        "$ref": "#/$defs/t",
        "$defs": {
            "t": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "l": {"type": "array", "items": {"$ref": "#/$defs/t"}}},
                "required": ["v"],
                "additionalProperties": False,
            }
        },
    },
    "open": {"type": "object", "properties": {"a": {"type": "null"}}, "minProperties": 1},
    "unique": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "array", "items": {"type": "integer"}},
    },
    "contains": {"type": "array", "items": {"enum": [1, 2, [3]]}, "contains": {"const": [3]}},
    "patterns": {"type": "object", "patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False},
}  # fmt: skip
#: Of those a regular expression can have.
REGULAR = ("flat", "number", "union")
LAYOUTS = (
    Layout(),
    Layout(indent=2),
    Layout(indent=0),
    Layout(indent="\t"),
    Layout(separators=(",", ":")),
    Layout(separators=(" ,\r", "\t:")),
    Layout(indent=1, separators=("\n ,", " :  ")),
    Layout(indent=3, separators=(", ", ":")),
)
POLICIES = ("any", *LAYOUTS)
ids = {"ids": str}


def dumped(value, layout):
    """Return the text that json.dumps writes in a layout."""
    return json.dumps(value, ensure_ascii=False, indent=layout.indent, separators=layout.separators)


def accepts(grammar, text):
    """Whether a text is one of the grammar."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def drawn(matcher, vocabulary, rng):
    """Return one of the allowed tokens: a class of bytes first, so that letters do not crowd out the rest."""
    allowed = sorted(mask_of(matcher, vocabulary))
    assert allowed, "a dead end"
    spaces = [i for i in allowed if (vocabulary.tokens[i] or b"x").strip() == b""]
    marks = [i for i in allowed if set(vocabulary.tokens[i] or b"x") & set(b'{}[]",:')]
    return rng.choice(rng.choice([group for group in (allowed, spaces, marks) if group]))


def instances(name, rng):
    """Return a value of a schema."""
    small = {
        "flat": lambda: {"a": rng.randint(-3, 30), **({"b": rng.choice(["", "x y", "é"])} if rng.random() < 0.5 else {})},
        "nested": lambda: {
            **({"a": [[None] * rng.randint(0, 2) for _ in range(rng.randint(0, 3))]} if rng.random() < 0.7 else {}),
            **({"b": {"c": rng.choice([[], {}, {"d": [1]}])}} if rng.random() < 0.7 else {"b": {}}),
        },
        "tuple": lambda: [True, [{"q": [1, {}]}, [], "s"]][: rng.randint(1, 2)],
        "number": lambda: rng.choice([0, -1.5, 12]),
        "union": lambda: rng.choice(["x", [1, 2], [0, 0, 7]]),
        "open": lambda: {"a": None, "k": [{}, {"l": {"m": []}}]},
        "unique": lambda: rng.choice([[], [[]], [[0], [1], [0, 1]], [[], [1, 0]]]),
        "contains": lambda: rng.choice([[[3]], [1, [3], 2]]),
        "patterns": lambda: rng.choice([{}, {"x": None}, {"x": None, "xy": None}]),
    }  # fmt: skip

    def tree(depth):
        below = [tree(depth - 1) for _ in range(rng.randint(0, 2))] if depth else []
        return {"v": rng.randint(0, 9), **({"l": below} if below or rng.random() < 0.3 else {})}

    return tree(4) if name == "recursive" else small[name]()


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("layout", LAYOUTS, **ids)
def test_a_layout_takes_what_json_dumps_writes_and_nothing_else(name, layout):
    """Of a value in all layouts, exactly the texts that are the same as in this one are accepted; "any" takes them all."""
    rng = random.Random(f"{name}{layout}")
    grammar = schemagen.compile(SCHEMAS[name], BYTES, whitespace=layout)
    free = schemagen.compile(SCHEMAS[name], BYTES, whitespace="any")
    for _ in range(6):
        value = instances(name, rng)
        for other in LAYOUTS:
            text = dumped(value, other)
            assert accepts(grammar, text) == (text == dumped(value, layout)), text
            assert accepts(free, text), text


@pytest.mark.parametrize("vocabulary", [BYTES, PIECES], ids=["bytes", "pieces"])
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("policy", POLICIES, **ids)
def test_masks_equal_brute_force_and_never_end_dead(name, policy, vocabulary):
    """Along random walks each mask has exactly the tokens that can follow, and at least one; what ends is in the layout."""
    grammar = schemagen.compile(SCHEMAS[name], vocabulary, whitespace=policy, cache=None)
    for seed in range(3):
        rng, matcher = random.Random(f"{seed}{name}{policy}"), grammar.matcher()
        for _ in range(30):
            assert mask_of(matcher, vocabulary) == brute_force_mask(matcher, vocabulary)
            token = drawn(matcher, vocabulary, rng)
            assert matcher.accept_token(token)
            if matcher.is_terminated():
                break
        if matcher.is_terminated():
            continue
        assert matcher.accept_bytes(matcher.shortest_completion())
        assert matcher.is_accepting()


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("policy", POLICIES, **ids)
def test_a_text_that_a_mask_led_through_is_laid_out_like_json_dumps(name, policy):
    """Random texts under a budget parse, and are byte by byte what json.dumps writes, keys and spellings of scalars apart."""
    grammar = schemagen.compile(SCHEMAS[name], PIECES, whitespace=policy, cache=None)
    least = grammar.min_new_tokens
    for seed in range(6):
        rng, matcher, text = random.Random(f"{seed}{name}{policy}"), grammar.matcher(), b""
        for left in range(least + 4 * seed + 1, 0, -1):
            allowed = sorted(mask_of(matcher, PIECES, budget=left))
            assert allowed, (text, left)
            token = rng.choice(allowed)
            assert matcher.accept_token(token), (text, PIECES.tokens[token])
            if matcher.is_terminated():
                break
            text += PIECES.tokens[token]
        assert matcher.is_terminated() or matcher.is_accepting(), text
        value = json.loads(text)
        if policy != "any":
            assert gaps(text.decode()) == gaps(dumped(value, policy))


def gaps(text):
    """Return a text without its scalars."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|true|false|null', "_", text)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("layout", LAYOUTS, **ids)
def test_the_bound_of_what_is_left_is_never_too_high(name, layout):
    """Along a text the least number of bytes to an end is at most what the text, and the shortest completion, really have."""
    grammar, rng = schemagen.compile(SCHEMAS[name], BYTES, whitespace=layout, cache=None), random.Random(5)
    value = instances(name, rng)
    text, matcher = dumped(value, layout).encode(), grammar.matcher()
    for at in range(len(text)):
        shortest = matcher.shortest_completion()
        assert matcher.least_bytes() <= len(shortest) <= len(text) - at, text[:at]
        assert matcher.fork().accept_bytes(shortest)
        assert matcher.accept_bytes(text[at : at + 1])


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("policy", POLICIES, **ids)
def test_both_engines_have_the_same_masks(name, policy):
    """Where there is a regular expression, the reference engine gives the same masks, completions and budgets.

    Only the compiled engine has every spelling of a number with an exponent: its masks may have more tokens with digits.
    """
    pair = [compiled_by(engine, SCHEMAS[name], PIECES, whitespace=policy) for engine in ("native", "reference")]
    assert pair[0].min_new_tokens == pair[1].matcher().tokens_to_finish()
    for seed in range(2):
        rng, one, other, taken = random.Random(seed), pair[0].matcher(), pair[1].matcher(), []
        for _ in range(25):
            more = mask_of(one, PIECES) - mask_of(other, PIECES)
            assert mask_of(other, PIECES) <= mask_of(one, PIECES)
            text = b"".join(PIECES.tokens[token] or b"" for token in taken)
            assert (
                not more
                or set(text[-1:]) & set(b"0123456789+-.eE")
                or all(set(PIECES.tokens[token] or b"") & set(b"0123456789+-.eE") for token in more)
            )
            assert len(one.shortest_completion()) <= len(other.shortest_completion())
            token = drawn(other, PIECES, rng)
            taken.append(token)
            assert one.accept_token(token)
            assert other.accept_token(token)
            if one.is_terminated():
                break


SCALARS = st.sampled_from([None, True, 0, -2.5, "", "a b", "é", "x,:[]{}"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", ""]), inner, max_size=3),
    max_leaves=8,
)
SPACE = st.text(" \t\r\n", max_size=4)
SEPARATORS = st.tuples(st.builds("{},{}".format, SPACE, SPACE), st.builds("{}:{}".format, SPACE, SPACE))
ANY_LAYOUT = st.builds(Layout, indent=SPACE | st.integers(0, 4) | st.none(), separators=SEPARATORS | st.none())


@settings(
    max_examples=120,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(VALUES, ANY_LAYOUT)
def test_any_layout_of_any_value(value, layout):
    """Any value in any layout is taken by the grammar of all values in it and by "any", and its regular expression agrees."""
    text = dumped(value, layout)
    assert accepts(schemagen.compile(True, BYTES, whitespace=layout, cache=None), text)
    assert accepts(schemagen.compile(True, BYTES, whitespace="any"), text)
    assert accepts(schemagen.compile({"const": value}, BYTES, whitespace=layout, cache=None), text)
    closed = {"enum": [value]} if not has_number(value) else None
    if closed is not None:
        assert re.fullmatch(schemagen.to_regex(closed, whitespace=layout), dumped(value, layout))


def has_number(value):
    """Whether a value holds a number, which has many spellings."""
    if isinstance(value, list):
        return any(map(has_number, value))
    if isinstance(value, dict):
        return has_number(list(value.values()))
    return isinstance(value, float | int)
