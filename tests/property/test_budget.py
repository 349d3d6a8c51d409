"""Budgets: the shortest completion is the shortest, masks leave out exactly what would not fit, and every text is finished."""

import contextlib
import json
import random
import re
import time

import jsonschema
import numpy as np
import pytest

import schemagen
from schemagen import reference
from schemagen.testing import mask_of
from schemagen.vocabulary import Vocabulary
from tests.suite.cases import load_cases

pytestmark = pytest.mark.sampled(3)

#: A toy vocabulary whose texts can be enumerated: some bytes, and tokens across the borders of JSON.
_PIECES = [bytes((byte,)) for byte in b'{}[]":,01ab- \n'] + [
    b'{"',
    b'":',
    b'"a',
    b"ab",
    b"aba",
    b'"}',
    b"],",
    b"0]",
    b'":[',
    b"10",
    b'""',
    b"}}",
]
TOY = Vocabulary.from_tokens([*_PIECES, b""], eos_token_ids=[len(_PIECES)])

_SPECS = [
    schemagen.Regex("a{2,5}b?"),
    schemagen.Regex("(ab|ba)(0|1){1,3}"),
    schemagen.Regex("a*b(a|1)*"),
    schemagen.Choice(["abab", "b0", "a1"]),
    {"type": "integer"},
    {"type": "array", "items": {"enum": [0, 1, 10]}, "minItems": 2},
    {"type": "array", "items": {"enum": [0, 1, 10]}, "minItems": 2, "uniqueItems": True},
    {"type": "array", "contains": {"const": "b"}, "items": {"enum": ["a", "b"]}},
    {"type": "string", "minLength": 3},
    {"type": "string", "pattern": "^(a|bb)+$", "minLength": 2, "maxLength": 4},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {
        "type": "object",
        "properties": {"a": {"enum": [0]}, "b": {"enum": [1]}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    {"type": "object", "additionalProperties": {"enum": [0]}, "minProperties": 1},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}}},
    {"not": {"enum": [0, 1, ""]}, "type": ["integer", "string"]},
]
#: Where the text matters the mask keeps to the shortest completion instead.
_COMPARABLE = [spec for spec in _SPECS if "uniqueItems" not in str(spec)]


def shortest(matcher, bytes_, limit=9):
    """Return the first shortest completion, found by trying every text."""
    level = [(b"", matcher.fork())]
    for _ in range(limit):
        for text, at in level:
            if at.is_accepting():
                return text
        following = []
        for text, at in level:
            for byte in bytes_:
                further = at.fork()
                if further.accept_bytes(byte):
                    following.append((text + byte, further))
        level = following
    return None


def fewest_tokens(text, pieces):
    """Return the least number of pieces that spell a text."""
    best = [0] + [10**6] * len(text)
    for end in range(1, len(text) + 1):
        for piece in pieces:
            if text[:end].endswith(piece):
                best[end] = min(best[end], best[end - len(piece)] + 1)
    return best[len(text)]


def compare_shortest(grammar, pieces, rng, walks, steps, limit=9):
    """Compare completions along random walks with the first of the shortest; how many were compared."""
    bytes_, compared = sorted(piece for piece in pieces if len(piece) == 1), 0
    for _ in range(walks):
        matcher = grammar.matcher()
        for _ in range(steps):
            expected = shortest(matcher, bytes_, limit)
            if expected is not None:
                assert matcher.shortest_completion() == expected
                assert matcher.tokens_to_finish() == fewest_tokens(expected, pieces)
                compared += 1
            going_on = [token for token in matcher.allowed_tokens() if token not in grammar.vocabulary.eos_token_ids]
            if not going_on:
                break
            assert matcher.accept_token(rng.choice(going_on))
    return compared


@pytest.mark.parametrize("spec", _SPECS, ids=[str(spec)[:60] for spec in _SPECS])
def test_the_shortest_completion_is_the_first_of_the_shortest(spec):
    """From wherever a text stands, no other completion is shorter, nor as short and before it in order."""
    grammar = schemagen.compile(spec, TOY, cache=None, whitespace="compact")
    assert compare_shortest(grammar, _PIECES, random.Random(1), walks=8, steps=6) >= 8


@pytest.mark.parametrize("spec", _COMPARABLE, ids=[str(spec)[:60] for spec in _COMPARABLE])
def test_a_mask_with_a_budget_leaves_out_what_would_not_fit(spec):
    """A token is in the mask exactly if it is allowed and the rest fits into what is left behind it.

    The toy vocabulary has no `e`, so behind a 0 that would need an exponent there is no end at all.
    """
    grammar = schemagen.compile(spec, TOY, cache=None)
    rng = random.Random(2)
    for _ in range(6):
        matcher = grammar.matcher()
        for _ in range(8):
            needed = matcher.tokens_to_finish()
            if needed is None:
                break
            for budget in range(needed, needed + 5):
                expected = set()
                for token in mask_of(matcher, TOY):
                    behind = matcher.fork()
                    behind.accept_token(token)
                    left = behind.tokens_to_finish()
                    if token in TOY.eos_token_ids or (left is not None and left < budget):
                        expected.add(token)
                if expected:
                    assert mask_of(matcher, TOY, budget=budget) == expected
            going_on = [token for token in matcher.allowed_tokens() if token not in TOY.eos_token_ids]
            if not going_on:
                break
            matcher.accept_token(rng.choice(going_on))


@pytest.mark.parametrize("spec", [spec for spec in _SPECS if isinstance(spec, schemagen.Regex)], ids=str)
def test_both_engines_have_the_same_budgets(spec):
    """Completions and tightened masks of the reference engine are those of the compiled one."""
    rng = random.Random(3)
    for _ in range(5):
        ours = schemagen.compile(spec, TOY, cache=None).matcher()
        theirs = reference.engine(spec, TOY).matcher()
        for _ in range(6):
            assert ours.shortest_completion() == theirs.shortest_completion()
            needed = ours.tokens_to_finish()
            assert needed == theirs.tokens_to_finish()
            for budget in (needed or 1, needed + 1, needed + 3):
                assert mask_of(ours, TOY, budget=budget) == mask_of(theirs, TOY, budget=budget)
            going_on = [token for token in ours.allowed_tokens() if token not in TOY.eos_token_ids]
            if not going_on:
                break
            token = rng.choice(going_on)
            assert ours.accept_token(token)
            assert theirs.accept_token(token)


def run_out(grammar, budget, rng):
    """Write a text as a model would that never wants to end: brackets first, never EOS; return its bytes."""
    matcher, vocabulary, text = grammar.matcher(), grammar.vocabulary, b""
    for left in range(budget, 0, -1):
        allowed = mask_of(matcher, vocabulary, budget=left)
        assert allowed, f"no token is left with a budget of {left} after {text!r}"
        going_on = sorted(allowed - set(vocabulary.eos_token_ids))
        if not going_on:
            break
        openers = [token for token in going_on if set(vocabulary.tokens[token]) & set(b"[{,")]
        token = rng.choice(openers if openers and rng.random() < 0.7 else going_on)
        assert matcher.accept_token(token)
        text += vocabulary.tokens[token]
    assert matcher.is_accepting(), f"{text!r} is not complete after {budget} tokens"
    return text


def _native_cases():
    cases = [case for case in load_cases() if "native" in case.engines and case.accepted and not case.xfail]
    return [
        pytest.param(case, id=case.id, marks=() if k % 4 == 0 else pytest.mark.slow) for k, case in enumerate(cases)
    ]


@pytest.mark.parametrize("case", _native_cases())
def test_every_text_is_complete_within_its_budget(case, bundled_vocabulary):
    """With the least budget, and some tokens more, a model that never ends still writes a valid text."""
    grammar = case.compile(bundled_vocabulary, "native")
    needed = grammar.min_new_tokens
    assert needed is not None
    rng = random.Random(case.id)
    for budget in (needed, needed + 1, needed + 2, needed + 7, needed + 30):
        run_out(grammar, budget, rng)


_LONG = {
    "type": "object",
    "properties": {f"a rather long key {k}": {"type": "integer"} for k in range(10)},
    "required": [f"a rather long key {k}" for k in range(10)],
}
_LONG_ITEMS = {
    "objects": {"type": "array", "uniqueItems": True, "items": _LONG},
    "objects in an object": {
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": True, "items": _LONG}, "b": _LONG},
    },
    "arrays": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "array", "items": {"type": "integer"}, "minItems": 70},
    },
    "a few long strings": {"type": "array", "uniqueItems": True, "items": {"enum": ["x" * 100, "y" * 300, "a", "b"]}},
    "long keys of any name": {"type": "object", "minProperties": 2, "additionalProperties": _LONG},
    "a set": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "string", "pattern": "^[a-z]{2,9}$"},
        "minItems": 3,
    },
}


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("schema", _LONG_ITEMS.values(), ids=_LONG_ITEMS)
@pytest.mark.parametrize("more", [0, 30, 100, 300])
def test_an_item_that_needs_much_begins_in_time(schema, order, more):
    """Where the shortest text depends on the text, a mask went by what is needed now, and not after the token."""
    grammar = schemagen.compile(schema, Vocabulary.byte_vocabulary(), cache=None, property_order=order)
    for seed in range(3):
        text = run_out(grammar, grammar.min_new_tokens + more, random.Random(seed))
        jsonschema.validate(json.loads(text), schema)


def test_a_set_may_go_on_near_the_end_of_its_budget():
    """Of strings that must differ, the rest is told as soon as one does."""
    vocabulary = Vocabulary.byte_vocabulary()
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    matcher = schemagen.compile(schema, vocabulary, cache=None).matcher()

    def allowed(budget):
        return {vocabulary.tokens[token] for token in mask_of(matcher, vocabulary, budget=budget)}

    assert matcher.accept_bytes(b'["","b')
    assert matcher.tokens_to_finish() == 2
    assert allowed(2) == {b'"'}
    assert {b'"', b"a", b"z"} <= allowed(3)
    assert matcher.accept_bytes(b'"')
    assert b"," not in allowed(4)
    assert b"," in allowed(5)
    assert matcher.accept_bytes(b',"')
    assert matcher.shortest_completion() == b' "]'
    assert b'"' not in allowed(100)


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("asked", ["tokens", "text", "nothing"])
def test_the_text_that_was_counted_is_the_one_to_follow(order, asked):
    """A search that was cut off found one text, and a later one another of as many bytes and more tokens."""
    pieces = [bytes((byte,)) for byte in b'{}[]":,01.ab ']
    pieces += [b"0,1", b"],", b'"a', b'":[', b'{"']
    vocabulary = Vocabulary.from_tokens([*pieces, b""], eos_token_ids=[len(pieces)])
    items = {"type": "array", "items": {"enum": [0, 1, 0.1]}, "uniqueItems": True, "minItems": 3, "maxItems": 3}
    schema = {"type": "object", "minProperties": 2, "additionalProperties": items}
    grammar = schemagen.compile(schema, vocabulary, cache=None, property_order=order)
    matcher = grammar.matcher()
    if asked == "text":
        assert matcher.shortest_completion() == matcher.shortest_completion()
    if asked == "tokens":
        assert matcher.tokens_to_finish() == grammar.min_new_tokens
    for seed in range(5):
        text = run_out(grammar, grammar.min_new_tokens, random.Random(seed))
        jsonschema.validate(json.loads(text), schema)


@pytest.mark.parametrize(
    ("items", "begun", "rest"),
    [
        ({"enum": ["a", "bcdefghi"]}, '["a"', ',"bcdefghi"]'),
        ({"type": "string"}, '[""', '," "]'),
        ({"type": "integer"}, "[0", ",1]"),
    ],
    ids=str,
)
def test_an_item_follows_where_the_shortest_other_one_fits(items, begun, rest):
    """Strings and numbers are told without those that were used."""
    vocabulary = Vocabulary.byte_vocabulary()
    schema = {"type": "array", "uniqueItems": True, "items": items}
    matcher = schemagen.compile(schema, vocabulary, cache=None, whitespace="compact").matcher()
    assert matcher.accept_bytes(begun.encode())
    comma = vocabulary.tokens.index(b",")
    assert comma in mask_of(matcher, vocabulary, budget=len(rest))
    assert comma not in mask_of(matcher, vocabulary, budget=len(rest) - 1)
    assert matcher.accept_bytes(b",")
    assert matcher.shortest_completion().decode() == rest[1:]


@pytest.mark.parametrize("pattern", ["^(xxxp|xxxzabcde|yzabcde)$", "^(xxxp|(xxx|y)zabcde(v|w)*)$"])
def test_the_shortest_string_that_was_not_used(pattern):
    """Two ways of different lengths lead to one place, and the longer one looks shorter at first."""
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": pattern}}
    matcher = schemagen.compile(schema, Vocabulary.byte_vocabulary(), cache=None).matcher()
    assert matcher.accept_bytes(b'["xxxp",')
    assert matcher.shortest_completion() == b'"yzabcde"]'


def test_a_vocabulary_without_bytes_has_no_guarantee():
    """Where no text can be written byte by byte there is no minimum, and masks are those without a budget."""
    vocabulary = Vocabulary.from_tokens([b'{"', b'a"', b":0}", b""], eos_token_ids=[3])
    schema = {"type": "object", "properties": {"a": {"const": 0}}, "required": ["a"], "additionalProperties": False}
    grammar = schemagen.compile(schema, vocabulary, cache=None)
    assert grammar.min_new_tokens is None
    assert mask_of(grammar.matcher(), vocabulary, budget=1) == {0}


def test_a_budget_that_is_too_small_counts_as_what_is_needed():
    """Too late, the mask leads to the end by the shortest way."""
    grammar = schemagen.compile({"type": "array", "minItems": 3}, TOY, cache=None)
    matcher = grammar.matcher()
    assert mask_of(matcher, TOY, budget=0) == mask_of(matcher, TOY, budget=grammar.min_new_tokens)
    text = b""
    while not matcher.is_accepting():
        token = min(mask_of(matcher, TOY, budget=1))
        assert matcher.accept_token(token)
        text += TOY.tokens[token]
    assert len(json.loads(text)) == 3


def test_a_negative_budget_is_refused():
    """The error names the value."""
    matcher = schemagen.compile(True, TOY, cache=None).matcher()
    with pytest.raises(ValueError, match="budget=-1"):
        matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32), 0, budget=-1)


BYTES = Vocabulary.byte_vocabulary()
_SIZE = {"type": "string", "pattern": "^\\d+([KMGT]i?B|B)$"}
_SWAP = {"type": "object", "properties": {"size": _SIZE}, "required": ["size"]}
_PART = {
    "type": "object",
    "properties": {"kind": {"enum": ["ext2", "xfs"]}, "size": _SIZE},
    "required": ["size", "kind"],
}


def _table(kind, **properties):
    """An object with a root and other parts."""
    properties = (
        {"boot": _PART, "root": _PART, **properties, "type": {"enum": kind}}
        if properties
        else {"root": _PART, "type": {"enum": kind}}
    )
    return {"type": "object", "properties": properties, "required": ["root"], "additionalProperties": False}


#: `oneOf` of objects that overlap: the bound on what is left is too low there, and the search gives up.
_HARD = {
    "type": "object",
    "properties": {
        **{key: {"type": "string"} for key in "abcdefgh"},
        "volume": {
            "type": "object",
            "properties": {
                "backing": {"type": "string"},
                "partitions": {"oneOf": [_table(["none"]), _table(["msdos", "gpt"], swap=_SWAP)]},
            },
            "required": ["partitions"],
        },
    },
    "required": ["volume", *"abcdefgh"],
}


def test_where_the_search_gives_up_the_text_has_nothing_that_is_not_needed():
    """The way around what the bound does not see is searched for; whitespace, more members or more digits do not help."""
    matcher = schemagen.compile(_HARD, BYTES, cache=None).matcher()
    members = "".join(f'"{key}":"",' for key in "abcdefgh")
    parts = r'"root":\{"kind":"\w+","size":"0B"\},"type":"(none|gpt)"'
    assert re.fullmatch(
        rf'\{{{members}"volume":\{{"partitions":\{{{parts}\}}\}}\}}', matcher.shortest_completion().decode()
    )


def test_what_is_needed_does_not_depend_on_what_was_asked_before():
    """Searches remember ways to the end, and these are those that another order of questions finds."""
    fresh = schemagen.compile(_HARD, BYTES, cache=None).min_new_tokens
    grammar = schemagen.compile(_HARD, BYTES, cache=None)
    text = b'{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","volume":{"partitions":{"root":{"kind":"ext2","size":"0B"'
    for size in (len(text), 70, 30):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(text[:size])
        assert matcher.shortest_completion()
    assert grammar.min_new_tokens == fresh


_PATTERN_KEYS = {
    "type": "object",
    "patternProperties": {"^a": {"type": "boolean"}},
    "minProperties": 1,
    "additionalProperties": False,
}


@pytest.mark.parametrize("spec", [_PATTERN_KEYS, {"type": "object"}, {"type": "object", "minProperties": 2}], ids=str)
def test_the_key_behind_a_comma_is_none_that_was_used(spec):
    """Though as many members are needed, the shortest text is another one than where other keys were used."""
    keys = ["a", "ab", "aa", "", "a b"] if "patternProperties" not in spec else ["a", "ab", "aa", "a b"]
    for seed in range(30):
        rng, grammar = random.Random(seed), schemagen.compile(spec, BYTES, cache=None)
        for _ in range(3):
            members = [f'"{key}":true' for key in rng.sample(keys, 3)]
            matcher = grammar.matcher()
            for byte in f"{{{','.join(members)},".encode():
                assert matcher.accept_bytes(bytes([byte]))
                end = matcher.shortest_completion() if rng.random() < 0.3 else b"-"
                assert end or matcher.is_accepting()
            alone = schemagen.compile(spec, BYTES, cache=None).matcher()
            assert alone.accept_bytes(f"{{{','.join(members)},".encode())
            assert alone.shortest_completion() == matcher.shortest_completion() != b""


def test_a_completion_that_was_found_greedily_is_kept_to(bundled_vocabulary):
    """Its text stays what it was counted with, so that there always is a token that brings the end nearer."""
    grammar = schemagen.compile(_HARD, bundled_vocabulary, cache=None)
    for seed in range(12):
        rng, matcher, budget = random.Random(seed), grammar.matcher(), grammar.min_new_tokens + seed % 4 * 3
        for left in range(budget, 0, -1):
            if matcher.is_terminated():
                break
            matcher.accept_token(rng.choice(sorted(mask_of(matcher, bundled_vocabulary, budget=left))))
        assert matcher.is_terminated() or matcher.is_accepting(), f"seed {seed}"


# ---- what is told of a text without a search -------------------------------------------------------------------------

_DELETE = BYTES.tokens.index(b"\x7f")
#: Where a byte of JSON is no token, every shortest text is searched for: an oracle for the texts that are told by the schema.
SEARCHED = Vocabulary.from_tokens(
    [b"" if token == b"\x7f" else token for token in BYTES.tokens], eos_token_ids=BYTES.eos_token_ids
)
_TREE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "required": ["v", "c"],
    "additionalProperties": False,
}
_VALUES = [
    {"type": "integer"},
    {"type": "number", "minimum": 120},
    {"type": ["boolean", "null"]},
    {"type": "string", "minLength": 3},
    {"type": "string", "pattern": "^[b-d]{2,4}$"},
    {"type": "string", "pattern": "^(a|bb)+$", "minLength": 2, "maxLength": 4},
    {"type": "string", "format": "date"},
    {"enum": ["xyz", 1, None, ""]},
    {"const": {"a": [1, {}]}},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2},
    {"type": "array", "prefixItems": [{"type": "string"}, {"const": "b"}], "items": {"type": "null"}, "minItems": 3},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True},
    {"type": "object", "properties": {"k": {"type": "string"}}, "minProperties": 1},
    {"anyOf": [{"type": "object", "properties": {"k": {"const": n}}, "required": ["k"]} for n in ("x", "yy")]},
    {"$ref": "#/$defs/tree"},
]


def record(rng, width):
    """Return an object of some values, most of them required, with keys that begin alike."""
    names = [f"{name}{k or ''}" for k in range(width) for name in ("a", "a b", "ab", 'q"', "ke", "key")][:width]
    return {
        "$defs": {"tree": _TREE},
        "type": "object",
        "properties": {name: rng.choice(_VALUES) for name in names},
        "required": [name for name in names if rng.random() < 0.8],
        "additionalProperties": rng.choice([False, True]),
    }


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 80))])
def test_what_is_told_of_a_text_is_what_a_search_finds(seed):
    """Shortest texts, their tokens and masks are those of a search, whatever is required and however much."""
    rng = random.Random(seed)
    spec = record(rng, 6 if seed % 2 else 80)
    options = {"property_order": rng.choice(["any", "schema"]), "whitespace": rng.choice(["compact", "spaced"])}
    told = schemagen.compile(spec, BYTES, cache=None, **options).matcher()
    searched = schemagen.compile(spec, SEARCHED, cache=None, **options).matcher()
    for _ in range(12):
        assert told.shortest_completion() == searched.shortest_completion()
        needed = told.tokens_to_finish()
        assert needed == searched.tokens_to_finish()
        for more in (0, 1, 4, 30, 300):
            assert mask_of(told, BYTES, budget=needed + more) - {_DELETE} == mask_of(
                searched, SEARCHED, budget=needed + more
            )
        going_on = [token for token in searched.allowed_tokens() if token not in BYTES.eos_token_ids]
        if not going_on:
            break
        marks = [token for token in going_on if BYTES.tokens[token] in b'{}[]",:']
        token = rng.choice(marks if marks and rng.random() < 0.7 else going_on)
        assert told.accept_token(token)
        assert searched.accept_token(token)


def nested(depth):
    """Return objects in objects."""
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


def wide(count):
    """Return an object of required integers and one member that may be long."""
    names = [f"p{k}" for k in range(count)]
    properties = {**{name: {"type": "integer"} for name in names}, "z": {"type": "array", "items": {"type": "integer"}}}
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize(
    "spec", [wide(90), nested(120), {**_TREE, "$defs": {"tree": _TREE}}], ids=["wide", "nested", "tree"]
)
@pytest.mark.parametrize("vocabulary", ["bytes", "bundled"])
def test_much_that_is_required_fits_as_well(spec, order, vocabulary, bundled_vocabulary):
    """A text with many members or levels open is complete within the least budget, and within more."""
    vocabulary = BYTES if vocabulary == "bytes" else bundled_vocabulary
    grammar = schemagen.compile(spec, vocabulary, cache=None, property_order=order)
    rng = random.Random(order)
    for more in (0, 3, 40):
        run_out(grammar, grammar.min_new_tokens + more, rng)


def test_the_least_budget_of_a_large_schema_is_known():
    """It is the length of the shortest text, for 10,000 levels and for 3,000 members in any order."""
    assert schemagen.compile(nested(10_000), BYTES, cache=None).min_new_tokens == 6 * 10_000 + 1
    many = schemagen.compile(wide(3000), BYTES, cache=None, property_order="any")
    assert many.min_new_tokens == len("{" + ",".join(f'"p{k}":0' for k in range(3000)) + "}")


@pytest.mark.parametrize(
    ("bounds", "needed"),
    [
        ({"minimum": 100_000}, len("[1e5,1e6,1e7]")),
        ({"minimum": 10**18}, len("[1e18,1e19]")),
        ({"minimum": 100_000, "maximum": 999_999}, len("[1e5,100001,100002]")),
    ],
)
def test_unique_numbers_after_the_first_have_exponents_where_they_need_them(bounds, needed):
    """Where all values are usually written without an exponent they are, after the first one; tokens are counted so."""
    spec = {"type": "array", "items": {"type": "integer", **bounds}, "uniqueItems": True}
    items = 3 if bounds["minimum"] < 10**6 else 2
    grammar = schemagen.compile({**spec, "minItems": items}, BYTES, cache=None)
    assert grammar.min_new_tokens == needed
    assert len(grammar.matcher().shortest_completion()) == needed


_STRING = {"type": "string"}
#: Schemas whose masks near the end of a budget are told by where tokens lead: inside strings and keys, and out of them.
_STRINGS = [
    {
        "type": "object",
        "properties": {"name": _STRING, "tags": {"type": "array", "items": _STRING, "minItems": 12}},
        "required": ["name", "tags"],
    },
    {"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 9}, "minItems": 3},
    {"type": "array", "items": {"type": "string", "pattern": "^é*[a-z]+日?$"}, "minItems": 3},
    {"type": "array", "items": {"enum": ["été", "naïve", "日本"]}, "minItems": 3},
    {"type": "object", "additionalProperties": _STRING, "properties": {"ab": _STRING}, "required": ["ab"]},
    schemagen.Regex("(é|[a-z ]){4,}!"),
]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("spec", _STRINGS, ids=[str(spec)[:60] for spec in _STRINGS])
def test_masks_in_strings_are_those_of_each_token_by_itself(spec, order, bundled_vocabulary):
    """Near the end of a budget, a token is in the mask exactly if the shortest rest behind it fits, asked one by one."""
    grammar = schemagen.compile(spec, bundled_vocabulary, property_order=order, cache=None)
    rng, eos = random.Random(4), set(bundled_vocabulary.eos_token_ids)
    quoted = [token for token, data in enumerate(bundled_vocabulary.tokens) if data and set(data) & set(b'"\\\xc3\xe6')]
    compared = 0
    for extra in (0, 3, 8):
        matcher = grammar.matcher()
        left = grammar.min_new_tokens + extra
        for step in range(12):
            allowed = mask_of(matcher, bundled_vocabulary, budget=left)
            if step % 3 == extra % 3:
                whole = mask_of(matcher, bundled_vocabulary) - eos
                sample = {*rng.sample(sorted(whole), min(60, len(whole))), *whole.intersection(quoted)}
                for token in sample:
                    behind = matcher.fork()
                    assert behind.accept_token(token)
                    assert (token in allowed) == (behind.tokens_to_finish() < left), bundled_vocabulary.tokens[token]
                    compared += 1
            going_on = sorted(allowed - eos)
            if not going_on or left == 0:
                break
            assert matcher.accept_token(rng.choice(going_on))
            left -= 1
    assert compared >= 10


def _one_of(count: int) -> dict[str, object]:
    """Return an array of objects in which exactly one of some keys has its own closed object."""
    closed = {
        "properties": {"a": {}, "long key": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    branches = [{"properties": {f"k{k}": {"type": "object", **closed}}, "required": [f"k{k}"]} for k in range(count)]
    keys = {f"k{k}": True for k in range(count)}
    return {"items": {"type": "object", "properties": keys, "additionalProperties": False, "oneOf": branches}}


_TWO_KEYS = {
    "type": "object",
    "properties": {"a": {"maxLength": 9}},
    "anyOf": [{"required": ["b"], "properties": {"a": {}}}, {"required": ["a"], "properties": {"a": {"maxLength": 5}}}],
}


#: A schema, a text that was begun, and the shortest rest, of which a bound has to be close for the search to find it.
_CLOSE_BOUNDS = {
    "a key that one alternative takes": ({"type": "array", **_one_of(2)}, '[{"k0":{"a":0,', '"long key":true}}]'),
    "the same of many": ({"type": "array", **_one_of(20)}, '[{"k0":{"a":0,', '"long key":true}}]'),
    "inside a key that another one takes": ({"type": "array", **_one_of(5)}, '[{"k0":{"a":0,"x', '":0},"k1":{"a":0}}]'),
    "keys of any name": ({"type": "object", "minProperties": 7}, "{", '" ":0,"!":0,"":0,"#":0,"$":0,"%":0,"&":0}'),
    "the same after some": ({"type": "object", "minProperties": 6}, '{"":0,"#":0,', '" ":0,"!":0,"$":0,"%":0}'),
    "the same in one": ({"type": "object", "minProperties": 5}, '{"":0,"#":0,"#', ' ":0," ":0,"!":0}'),
    "a string too long for one alternative": (_TWO_KEYS, '{"a":"123456', '","b":0}'),
}


@pytest.mark.parametrize(("schema", "begun", "rest"), _CLOSE_BOUNDS.values(), ids=_CLOSE_BOUNDS)
def test_a_search_finds_the_shortest_rest_beside_many_others(schema, begun, rest):
    """Long rests that differ in what no bound told apart took all steps of a search, and no rest was known."""
    matcher = schemagen.compile(schema, Vocabulary.byte_vocabulary(), cache=None, property_order="any").matcher()
    assert matcher.accept_bytes(begun.encode())
    assert matcher.shortest_completion().decode() == rest
    assert matcher.tokens_to_finish() == len(rest)


@pytest.mark.parametrize("whitespace", ["compact", "spaced"])
def test_a_search_ends_where_the_rest_is_told(whitespace):
    """A key that goes on after one that was used is searched for; what comes after it was searched for as well."""
    names = {f"name {k}": {"type": "integer"} for k in range(600)}
    inner = {"type": "object", "properties": {"text": {}}, "required": ["text"]}
    schema = {"type": "object", "properties": {"a": inner, **names}, "required": ["a", *names]}
    vocabulary = Vocabulary.byte_vocabulary()
    matcher = schemagen.compile(schema, vocabulary, cache=None, property_order="any", whitespace=whitespace).matcher()
    begun = '{"a":{"text":0,"text' if whitespace == "compact" else '{"a": {"text": 0, "text'
    assert matcher.accept_bytes(begun.encode())
    rest = matcher.shortest_completion().decode()
    assert matcher.tokens_to_finish() == len(rest)
    assert rest.startswith(' "')
    assert json.loads(begun + rest) == {"a": {"text": 0, "text ": 0}, **dict.fromkeys(names, 0)}


@pytest.mark.parametrize("count", [3, 10, 100])
def test_a_rest_that_was_written_out_ends_a_search(count: int) -> None:
    """The rest after the pattern is asked first, then a place inside, from which a search leads there."""
    keys = [f"p{k}" for k in range(count)]
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "^(ab|cd)+x{3}$"},
            **{key: {"type": "integer"} for key in keys},
        },
        "required": ["a", *keys],
        "additionalProperties": False,
    }
    vocabulary = Vocabulary.byte_vocabulary()
    grammar = schemagen.compile(schema, vocabulary, property_order="any", cache=None)
    after, inside = grammar.matcher(), grammar.matcher()
    assert after.accept_bytes(b'{"a":"abxxx"')
    assert inside.accept_bytes(b'{"a":"ab')
    needed = after.tokens_to_finish()
    assert needed is not None
    assert inside.tokens_to_finish() == needed + 4
    for token in inside.shortest_completion():
        before = inside.tokens_to_finish()
        assert before is not None
        assert token in mask_of(inside, vocabulary, budget=before)
        assert inside.accept_bytes(bytes([token]))
    assert inside.is_accepting()


# ---- tokens of a rest that is told part by part ----------------------------------------------------------------------

#: Many of them reach across the borders of members, items and brackets.
_ACROSS = [
    *(b'","', b'":"', b'":0', b'0,"', b'":0,"', b'"","', b'""', b'"]', b'],"', b'"],["', b"0,0", b"0,0,0", b"0]"),
    *(b"[[", b"]]", b"],[", b"[]", b"[],[", b"},{", b'{"', b'},{"', b'":{"', b'":[', b'":[{"', b"}}", b"}}}", b"]}"),
    *(b'b":0,"a', b',"a', b'a":', b', "', b'": ', b'": 0, "', b"0, ", b'{"a":0,"', b'0},{"a":0'),
]
_CROSSING_TOKENS = [*(bytes([byte]) for byte in range(256)), *_ACROSS, b""]
_CROSSING = Vocabulary.from_tokens(_CROSSING_TOKENS, eos_token_ids=[len(_CROSSING_TOKENS) - 1])
_POINT = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}


def _object(properties, required, **more):
    return {"type": "object", "properties": properties, "required": required, **more}


_IN_PARTS = {
    "strings": {"type": "array", "items": {"type": "string"}, "minItems": 37},
    "numbers": {"type": "array", "items": {"type": "integer"}, "minItems": 64},
    "a tuple": {
        "type": "array",
        "prefixItems": [{"type": "string"}, _POINT, {"type": "array"}],
        "items": {"type": "array", "items": {"type": "integer"}, "minItems": 3},
        "minItems": 9,
    },
    "points": {"type": "array", "items": _POINT, "minItems": 12},
    "arrays in arrays": {
        "type": "array",
        "minItems": 3,
        "items": {"type": "array", "minItems": 4, "items": {"type": "array", "items": _POINT, "minItems": 2}},
    },
    "many keys": _object({f"a{k}": {"type": "integer"} for k in range(25)}, [f"a{k}" for k in range(25)]),
    "keys that begin others": _object(
        {"a" * k: {"type": ["string", "integer"][k % 2]} for k in range(12)}, ["a" * k for k in range(12)]
    ),
    "all kinds": _object(
        {
            "b": {"type": "array", "items": {"type": "string"}, "minItems": 5},
            "a": _POINT,
            "": {"type": "boolean"},
            "c": _object({"d": _object({"a": _POINT}, ["a"])}, ["d"], additionalProperties=False),
            "z": {"type": "string", "minLength": 3},
            "optional": {"type": "array", "minItems": 8},
        },
        ["b", "a", "", "c", "z"],
    ),
}


@pytest.mark.parametrize("whitespace", ["compact", "spaced"])
@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("spec", _IN_PARTS.values(), ids=_IN_PARTS)
def test_a_rest_takes_as_many_tokens_as_its_text(spec, order, whitespace):
    """Wherever a text stands; its parts are counted one after the other, and tokens reach across their borders."""
    pieces = [token for token in _CROSSING_TOKENS if token]
    grammar = schemagen.compile(spec, _CROSSING, cache=None, property_order=order, whitespace=whitespace)
    shorter = 0
    for seed in range(4):
        rng, matcher = random.Random(seed), grammar.matcher()
        for _ in range(120):
            text = matcher.shortest_completion()
            assert matcher.tokens_to_finish() == fewest_tokens(text, pieces), text
            shorter += matcher.tokens_to_finish() < len(text)
            going_on = [token for token in matcher.allowed_tokens() if token not in _CROSSING.eos_token_ids]
            if not going_on:
                break
            along = [token for token in going_on if text.startswith(_CROSSING_TOKENS[token])]
            matcher.accept_token(rng.choice(along if along and rng.random() < 0.7 else going_on))
    assert shorter > 30


_TREE = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"$ref": "#"}}}}


@pytest.mark.parametrize(
    ("schema", "opening", "closing"),
    [
        ({"type": "array", "items": {"$ref": "#"}}, b"[", b"]"),
        (_TREE, b'{"a":', b"{}"),
        (_TREE, b'{"new":', b"0}"),
        (_TREE, b'{"b":[', b"]}"),
    ],
    ids=["arrays", "members", "new members", "both"],
)
def test_any_number_of_containers_may_be_open(schema, opening, closing, bundled_vocabulary):
    """Masks of what follows them, with a budget or without one, need no stack of their own."""
    depth = 70_000
    matcher = schemagen.compile(schema, bundled_vocabulary, cache=None).matcher()
    assert matcher.accept_bytes(opening * depth + closing)
    brackets = {bundled_vocabulary.tokens.index(bracket) for bracket in (b"]", b"}")}
    assert mask_of(matcher, bundled_vocabulary) & brackets
    least = matcher.tokens_to_finish()
    assert depth / 8 < least <= 2 * depth
    assert mask_of(matcher, bundled_vocabulary, budget=least)


def test_what_was_too_slow_once_may_be_asked_again():
    """The least budget of a chain of objects that are declared from the inside out takes longer than to compile them."""
    depth = 3000
    chain = {
        f"d{k}": {"type": "object", "properties": {"n": {"$ref": f"#/$defs/d{k + 1}"}}, "required": ["n"]}
        for k in range(depth)
    }
    schema = {
        "properties": {f"p{k}": {"$ref": f"#/$defs/d{k}"} for k in range(depth, -1, -1)},
        "required": ["p0"],
        "$defs": {**chain, f"d{depth}": {"type": "integer"}},
    }
    start = time.perf_counter()
    schemagen.compile(schema, BYTES, cache=None)
    limits = schemagen.Limits(max_seconds=1.3 * (time.perf_counter() - start))
    try:
        matcher = schemagen.compile(schema, BYTES, cache=None, limits=limits).matcher()
    except schemagen.LimitError:
        pytest.skip("this machine is busy")
    for _ in range(3):
        with contextlib.suppress(schemagen.LimitError):
            assert matcher.tokens_to_finish() > 6 * depth
        with contextlib.suppress(schemagen.LimitError):
            assert mask_of(matcher, BYTES, budget=10)


def _object(required, **more):
    return {"type": "object", "properties": {**required, **more}, "required": list(required)}


_PLAIN = _object({"a": {"type": "integer"}})
_TWO = _object({"b": {"type": "string"}, "a": {"type": "integer"}})
_CLOSED = {"additionalProperties": False}
_OPTIONAL = _object({"a": {"type": "integer"}}, c={"type": "integer"})

#: Arrays of unique items, and the shortest text of each, the first of them in order.
_DISTINCT = {
    "objects": (_PLAIN | _CLOSED, 11, "[" + ",".join(f'{{"a":{k}}}' for k in (-1, *range(10))) + "]"),
    "open objects": (_PLAIN, 11, "[" + ",".join(f'{{"a":{k}}}' for k in (-1, *range(10))) + "]"),
    "objects of two members": (_TWO | _CLOSED, 3, '[{"b":"","a":0},{"b":"","a":1},{"b":"","a":2}]'),
    "objects with another member": (_OPTIONAL | _CLOSED, 4, '[{"a":0},{"a":1},{"a":2},{"a":3}]'),
    "integers": ({"type": "integer"}, 12, "[-1,-2,0,1,2,3,4,5,6,7,8,9]"),
    "bounded integers": ({"type": "integer", "minimum": 8, "maximum": 30}, 4, "[10,11,8,9]"),
    "strings": ({"type": "string"}, 4, '[" ","!","","#"]'),
    "long strings": ({"type": "string", "pattern": "^[ab]{2,3}$"}, 5, '["aa","aaa","ab","ba","bb"]'),
    "strings of some length": ({"type": "string", "minLength": 3, "maxLength": 4}, 2, '["   ","  !"]'),
    "numbers or strings": ({"type": ["integer", "string"]}, 12, '["",-1,0,1,2,3,4,5,6,7,8,9]'),
    "options": ({"enum": ["red", "blue", "red one", 1]}, 3, '["blue","red",1]'),
}


def _distinct_schema(name: str, kind: str):
    items, count, _ = _DISTINCT[name]
    array = {"type": "array", "items": items, "minItems": count, "uniqueItems": True}
    if kind == "member":
        properties = {"a": array, "b": {"type": "string"}}
        return {"type": "object", "properties": properties, "required": ["a", "b"], "additionalProperties": False}
    return {"type": "array", "items": array, "minItems": 2} if kind == "item" else array


@pytest.mark.parametrize("name", _DISTINCT)
def test_the_shortest_text_of_unique_items_has_the_shortest_that_differ(name):
    """As the whole text, as a member, and as an item of another array."""
    for kind, text in (("array", "{}"), ("member", '{{"a":{},"b":""}}'), ("item", "[{},{}]")):
        grammar = schemagen.compile(_distinct_schema(name, kind), Vocabulary.byte_vocabulary(), cache=None)
        shortest = _DISTINCT[name][2]
        assert grammar.matcher().shortest_completion().decode() == text.format(shortest, shortest)


@pytest.mark.parametrize("kind", ["array", "member", "item"])
@pytest.mark.parametrize("name", _DISTINCT)
def test_texts_with_unique_items_are_finished_within_any_budget(name, kind, bundled_vocabulary):
    """Random tokens, from exactly those that are needed to three times as many."""
    schema = _distinct_schema(name, kind)
    grammar = schemagen.compile(schema, bundled_vocabulary, cache=None)
    rng = random.Random(f"{name} {kind}")
    for times in (1, 1, 1.2, 1.5, 3):
        matcher, budget, text = grammar.matcher(), int(grammar.min_new_tokens * times), b""
        words = np.zeros((1, -(-bundled_vocabulary.size // 32)), dtype=np.int32)
        for left in range(budget, 0, -1):
            matcher.fill_next_token_bitmask(words, 0, budget=left)
            allowed = np.flatnonzero(np.unpackbits(words.view(np.uint8)[0], bitorder="little"))
            token = int(rng.choice(allowed))
            if token in bundled_vocabulary.eos_token_ids:
                break
            assert matcher.accept_token(token)
            text += bundled_vocabulary.tokens[token]
        assert matcher.is_accepting(), text
        jsonschema.validate(json.loads(text), schema)
