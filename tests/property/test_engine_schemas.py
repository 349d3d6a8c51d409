"""Random JSON Schemas: what the masks let through is valid, what is valid they let through."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings, strategies as st
from jsonschema import Draft202012Validator

import schemagen
from schemagen import Vocabulary

_SPEC = importlib.util.spec_from_file_location("schemagen_engine_walks", Path(__file__).with_name("engine_walks.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
walks = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_engine_walks"] = walks
_SPEC.loader.exec_module(walks)

BYTES = Vocabulary.byte_vocabulary()
#: Bytes, and tokens that cross the borders of JSON's own.
PIECES = Vocabulary.from_tokens(
    [bytes([i]) for i in range(256)]
    + [b'{"', b'":', b'": ', b'",', b'", "', b'"}', b'"]', b"},", b"}}", b"]]", b"], [", b"[]", b"{}", b"null", b"true"]
    + [
        b"tr",
        b"false",
        b"10",
        b"12",
        b".5",
        b"\n  ",
        b'\\"',
        b"\\u00",
        b"ab",
        b"\xc3\xa9",
        b"\xf0\x9f",
        b"\x98\x80",
        b'a": 1',
    ]
    + [None],
    eos_token_ids=[284],
)
# Shrinking would compile hundreds of schemas more; what is generated is small enough to read.
FEW = {
    "phases": [Phase.explicit, Phase.generate],
    "derandomize": True,
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}

KEYS = st.sampled_from(["a", "b", "ab", 'é"', ""])
# `$` alone would match before a last line break in Python, but not in ECMA-262.
PATTERNS = st.sampled_from(
    ["a", "^[a-c]", "^(?:a|bc)$(?!\n)", "[^a]", "^[a-z0-9]{1,3}", "(?=b)", '\\\\|"', "x|^b", "é+"]
)
FORMATS = st.sampled_from(["date", "ipv4", "uuid", "ipv6", "unknown-format"])
SCALARS = st.sampled_from([None, True, False, 0, 1, -2, 3, 10, 2.5, -0.5, "", "a", "ab", "bc", "é", "😀", 'q"', "\n"])
BOUNDS = st.sampled_from([-10, -2, -1, 0, 0.5, 1, 2, 2.5, 3, 10, 12])
SMALL = st.integers(0, 3)


def values(leaves=6):
    """JSON values from the same small world as the schemas."""
    return st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=leaves,
    )


def optional(**keywords):
    """A few keywords out of several."""
    return st.fixed_dictionaries({}, optional=keywords)


def strings(formats):
    """Schemas of strings."""
    more = {"format": FORMATS} if formats else {}
    return optional(minLength=SMALL, maxLength=st.integers(0, 6), pattern=PATTERNS, **more).map(
        lambda s: {"type": "string", **s}
    )


NUMBERS = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(["integer", "number"]),
    optional(
        minimum=BOUNDS,
        maximum=BOUNDS,
        exclusiveMinimum=BOUNDS,
        exclusiveMaximum=BOUNDS,
        multipleOf=st.sampled_from([1, 2, 3, 0.5, 0.25]),
    ),
)


def arrays(inner):
    """Schemas of arrays."""
    return optional(
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        minItems=SMALL,
        maxItems=SMALL,
        contains=inner,
        minContains=st.integers(0, 2),
        maxContains=st.integers(0, 2),
    ).map(lambda s: {"type": "array", **s})


def objects(inner):
    """Schemas of objects."""
    return optional(
        properties=st.dictionaries(KEYS, inner, max_size=3),
        required=st.lists(KEYS, max_size=2, unique=True),
        additionalProperties=st.booleans() | inner,
        patternProperties=st.dictionaries(PATTERNS, inner, max_size=2),
        propertyNames=optional(pattern=PATTERNS, maxLength=SMALL) | st.just({"enum": ["a", "b", "ab"]}),
        minProperties=st.integers(0, 2),
        maxProperties=SMALL,
        dependentRequired=st.dictionaries(KEYS, st.lists(KEYS, max_size=1, unique=True), max_size=1),
        dependentSchemas=st.dictionaries(KEYS, inner, max_size=1),
    ).map(lambda s: {"type": "object", **s})


def combined(inner):
    """Schemas that combine others, with siblings."""
    some = st.lists(inner, min_size=1, max_size=3)
    return st.builds(
        lambda base, word: {**(base if isinstance(base, dict) else {}), **word},
        inner | st.just({}),
        st.one_of(
            st.builds(lambda s: {"anyOf": s}, some),
            st.builds(lambda s: {"allOf": s}, some),
            st.builds(lambda s: {"oneOf": s}, some),
            st.builds(lambda s: {"not": s}, inner),
            st.builds(lambda a, b, c: {"if": a, "then": b, "else": c}, inner, inner, inner),
        ),
    )


def schemas(*, formats=True, leaves=6):
    """JSON Schemas of every supported keyword, with two definitions that may refer to each other and to the root."""
    leaf = st.one_of(
        strings(formats),
        NUMBERS,
        st.sampled_from([{"type": "null"}, {"type": "boolean"}, {"type": ["string", "null"]}, True, {}]),
        st.builds(lambda v: {"enum": v}, st.lists(values(3), min_size=1, max_size=4)),
        st.builds(lambda v: {"const": v}, values(3)),
        st.sampled_from([{"$ref": "#/$defs/p"}, {"$ref": "#/$defs/q"}]),
    )
    body = st.recursive(leaf, lambda inner: arrays(inner) | objects(inner) | combined(inner), max_leaves=leaves)
    return st.builds(
        lambda root, p, q: {**(root if isinstance(root, dict) else {}), "$defs": {"p": p, "q": q}},
        body,
        body,
        st.one_of(objects(leaf), arrays(leaf), leaf),
    )


def compiled(schema, vocabulary=BYTES, **options):
    """Compile, or give the example up where the schema has no instance or is beyond a limit."""
    try:
        return schemagen.compile(schema, vocabulary, cache=None, **options)
    except schemagen.UnsatisfiableSchemaError:
        event("unsatisfiable")
    except schemagen.LimitError:
        event("beyond a limit")
    except schemagen.InvalidSchemaError as error:
        assert error.code == "endless-reference", error  # noqa: PT017 - any other code is a failure
        event(error.code)
    assume(False)
    raise AssertionError


def complaints(schema, value):
    """What an independent judge that asserts formats says; the example is given up where it does not come to an end."""
    judge = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    try:
        return [error.message for error in judge.iter_errors(value)]
    except RecursionError:
        event("a reference that leads to itself")
        assume(False)
        raise


def ended(grammar, seed, steps):
    """Return the text of a walk; where chance does not find the end, the mask must at least be right, and not empty."""
    rng, matcher = random.Random(seed), grammar.matcher()
    text = walks.random_steps(matcher, grammar.vocabulary, rng, steps)
    try:
        return (text + walks.close(matcher, grammar.vocabulary, rng, 1500)).decode()
    except walks.NoEndError:
        assert walks.equals_brute_force(matcher, grammar.vocabulary), text
        event("no end found")
        assume(False)
        raise


def check_sound(schema, seed, steps, order, whitespace, vocabulary):
    """One walk ends in a text that is an instance."""
    grammar = compiled(schema, vocabulary, property_order=order, whitespace=whitespace)
    text = ended(grammar, seed, steps)
    pairs = []
    value = json.loads(text, object_pairs_hook=lambda found: pairs.append([key for key, _ in found]) or dict(found))
    assert all(len(keys) == len(set(keys)) for keys in pairs), f"a key repeats: {text}"
    assert complaints(schema, value) == [], text


def check_complete(schema, value, seed, vocabulary):
    """A valid instance is accepted in every layout of json.dumps, in any split into tokens."""
    # Compiled first: on a reference that leads to itself the judge would not only fail but panic.
    try:
        grammar = schemagen.compile(schema, vocabulary, cache=None, property_order="any")
    except schemagen.UnsatisfiableSchemaError:
        assert complaints(schema, value) != [], value
        return
    except schemagen.LimitError:
        return
    except schemagen.InvalidSchemaError as error:
        assert error.code == "endless-reference", error  # noqa: PT017 - any other code is a failure
        return
    assume(not complaints(schema, value))
    event("instance of " + type(value).__name__)
    rng = random.Random(seed)
    by_text = {token: i for i, token in enumerate(vocabulary.tokens) if token}
    for layout in ({"separators": (",", ":")}, {}, {"indent": 2}):
        text = json.dumps(value, ensure_ascii=False, **layout).encode()
        matcher, at = grammar.matcher(), 0
        while at < len(text):
            ends = [n for n in range(at + 1, min(len(text), at + 8) + 1) if text[at:n] in by_text]
            end = rng.choice(ends)
            assert matcher.accept_token(by_text[text[at:end]]), (text, text[:at], text[at:end])
            at = end
        assert matcher.is_accepting(), text


VOCABULARIES = st.sampled_from(["bytes", "pieces"]).map({"bytes": BYTES, "pieces": PIECES}.__getitem__)
ORDERS = st.sampled_from(["schema", "any"])
LAYOUTS = st.sampled_from(
    [
        *("flexible", "compact", "spaced", "any"),
        schemagen.Layout(indent=2),
        schemagen.Layout(indent="\t", separators=(" ,", " :\n")),
    ]
)
SEEDS = st.integers(0, 2**20)


@settings(max_examples=80, **FEW)
@given(schemas(), SEEDS, st.integers(0, 40), ORDERS, LAYOUTS, VOCABULARIES)
def test_a_masked_walk_ends_in_an_instance(schema, seed, steps, order, whitespace, vocabulary):
    """Any text that the masks let through to the end parses, repeats no key and satisfies jsonschema."""
    check_sound(schema, seed, steps, order, whitespace, vocabulary)


@pytest.mark.slow
@settings(max_examples=4000, **FEW)
@given(schemas(leaves=12), SEEDS, st.integers(0, 80), ORDERS, LAYOUTS, VOCABULARIES)
def test_many_masked_walks_end_in_instances(schema, seed, steps, order, whitespace, vocabulary):
    """Any text that the masks let through to the end parses, repeats no key and satisfies jsonschema: many more."""
    check_sound(schema, seed, steps, order, whitespace, vocabulary)


@settings(max_examples=40, **FEW)
@given(schemas(formats=False), values(), SEEDS)
def test_a_valid_instance_is_accepted(schema, value, seed):
    """What json.dumps writes for a valid instance is accepted: compact, spaced and indented, however it is split."""
    check_complete(schema, value, seed, PIECES)


@pytest.mark.slow
@settings(max_examples=5000, **FEW)
@given(schemas(formats=False, leaves=10), values(10), SEEDS)
def test_many_valid_instances_are_accepted(schema, value, seed):
    """What json.dumps writes for a valid instance is accepted: many more."""
    check_complete(schema, value, seed, PIECES)


@settings(max_examples=70, **FEW)
@given(schemas(formats=False), st.lists(values(), min_size=1, max_size=3))
def test_an_invalid_value_is_refused(schema, candidates):
    """What json.dumps writes for a value that jsonschema refuses is never accepted."""
    grammar = compiled(schema, property_order="any")
    for value in candidates:
        if complaints(schema, value):
            matcher = grammar.matcher()
            text = json.dumps(value, ensure_ascii=False)
            assert not (matcher.accept_bytes(text.encode()) and matcher.is_accepting()), text


@settings(max_examples=40, **FEW)
@given(schemas(), SEEDS, ORDERS)
def test_every_state_has_a_way_out(schema, seed, order):
    """After 200 uniformly random tokens there is still a token, and closing ends the text."""
    ended(compiled(schema, PIECES, property_order=order), seed, 200)


@settings(max_examples=40, **FEW)
@given(schemas(), SEEDS)
def test_two_compilations_give_the_same_masks(schema, seed):
    """Nothing in a mask depends on when or in which order states were made."""
    first, second = compiled(schema, PIECES).matcher(), compiled(schema, PIECES).matcher()
    rng = random.Random(seed)
    for _ in range(30):
        masks = [walks.mask_of(matcher, PIECES) for matcher in (first, second)]
        assert (masks[0] == masks[1]).all()
        token = rng.choice(walks.ids_in(masks[0]))
        assert first.accept_token(token)
        assert second.accept_token(token)
        if first.is_terminated():
            break


@settings(max_examples=40, **FEW)
@given(schemas(), SEEDS)
def test_masks_equal_brute_force(schema, seed):
    """A token is in the mask exactly if its bytes can follow, for all ids of a small vocabulary."""
    matcher = compiled(schema, PIECES).matcher()
    rng = random.Random(seed)
    for _ in range(12):
        assert walks.equals_brute_force(matcher, PIECES)
        assert matcher.accept_token(rng.choice(matcher.allowed_tokens()))
        if matcher.is_terminated():
            break
