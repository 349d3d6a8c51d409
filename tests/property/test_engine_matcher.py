"""The protocol of a matcher, by both engines: rollback, fork, reset, errors, threads."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import schemagen
from schemagen import Vocabulary
from schemagen.checks import kind_of
from tests.grammars import compiled_by

_SPEC = importlib.util.spec_from_file_location("schemagen_engine_walks", Path(__file__).with_name("engine_walks.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
walks = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_engine_walks"] = walks
_SPEC.loader.exec_module(walks)

VOCABULARY = Vocabulary.from_tokens(
    [bytes([i]) for i in range(256)]
    + [b'{"', b'":', b'",', b'"}', b"]}", b"true", b"12", b"\xf0\x9f", b"\x98\x80", b'"a"', None, b"", None],
    eos_token_ids=[266, 268],
)
REGULAR = {
    "type": "object",
    "properties": {
        "a": {"type": "array", "items": {"type": "integer", "minimum": -5, "maximum": 12}},
        "b": {"type": "string", "maxLength": 4},
        "c": {"enum": ["x", None, True, 12]},
    },
    "required": ["b"],
    "additionalProperties": False,
}
RECURSIVE = {
    "$defs": {
        "t": {
            "type": "object",
            "properties": {"v": {"type": "string", "pattern": "^[a-z😀]*$"}},
            "additionalProperties": {"$ref": "#/$defs/t"},
        }
    },
    "$ref": "#/$defs/t",
}
SPECS = {
    "regular": (REGULAR, {}),
    "pattern": (schemagen.Regex("[a-c]{1,3}(😀|é)*x?"), {}),
    "choice": (schemagen.Choice(["yes", "no", "yes please"]), {}),
    "recursive": (RECURSIVE, {}),
    "any-order": (REGULAR, {"property_order": "any"}),
    "free": (True, {}),
}
REFERENCE = ("regular", "pattern", "choice")
GRAMMARS = [(name, "native") for name in SPECS] + [(name, "reference") for name in REFERENCE]
GRAMMAR_IDS = ["-".join(pair) for pair in GRAMMARS]
SEEDS = st.integers(0, 2**20)
FEW = {"derandomize": True, "deadline": None, "database": None, "max_examples": 15}
_known = {}


def grammar_of(name, engine):
    """Return a grammar, compiled once."""
    if (name, engine) not in _known:
        spec, options = SPECS[name]
        _known[name, engine] = compiled_by(engine, spec, VOCABULARY, **options)
    return _known[name, engine]


each_grammar = pytest.mark.parametrize(("name", "engine"), GRAMMARS, ids=GRAMMAR_IDS)


def trail(matcher, rng, steps):
    """Walk at random; return the masks before each step and the tokens taken, EOS at most last."""
    masks, tokens = [], []
    for _ in range(steps):
        masks.append(walks.mask_of(matcher, VOCABULARY))
        tokens.append(rng.choice(walks.ids_in(masks[-1])))
        assert matcher.accept_token(tokens[-1])
        if matcher.is_terminated():
            break
    return masks, tokens


def same(matcher, mask):
    """Whether a matcher has a mask."""
    return bool((walks.mask_of(matcher, VOCABULARY) == mask).all())


@each_grammar
@settings(**FEW)
@given(seed=SEEDS)
def test_rollback_restores_every_mask(name, engine, seed):
    """Taking back n steps gives the mask from before them, the end of the text included; the same steps lead on."""
    rng, matcher = random.Random(seed), grammar_of(name, engine).matcher()
    masks, tokens = trail(matcher, rng, 20)
    while masks:
        count = rng.randint(1, min(3, len(masks)))
        matcher.rollback(count)
        assert not matcher.is_terminated()
        assert same(matcher, masks[-count])
        forward = matcher.fork()
        assert all(forward.accept_token(token) for token in tokens[len(masks) - count : len(masks)])
        del masks[-count:]


@each_grammar
def test_rollback_of_zero_changes_nothing_and_of_too_many_fails(name, engine):
    """`rollback(0)` is allowed; more steps than were taken, or fewer than none, are an error that changes nothing."""
    matcher = grammar_of(name, engine).matcher()
    _, tokens = trail(matcher, random.Random(1), 2)
    matcher.rollback(0)
    for count in (len(tokens) + 1, -1):
        with pytest.raises((ValueError, schemagen.SchemagenError)):
            matcher.rollback(count)
    matcher.rollback(len(tokens))
    assert same(matcher, walks.mask_of(grammar_of(name, engine).matcher(), VOCABULARY))


@each_grammar
@settings(**FEW)
@given(seed=SEEDS)
def test_a_fork_is_independent(name, engine, seed):
    """What a fork does is not seen by the original, nor the other way round; both can be rolled back alone."""
    rng, matcher = random.Random(seed), grammar_of(name, engine).matcher()
    trail(matcher, rng, 5)
    if matcher.is_terminated():
        matcher.rollback()
    before = walks.mask_of(matcher, VOCABULARY)
    fork = matcher.fork()
    masks, _ = trail(fork, rng, 8)
    assert same(matcher, before)
    other, _ = trail(matcher, rng, 8)
    fork.rollback(len(masks))
    assert same(fork, before)
    matcher.rollback(len(other))
    assert same(matcher, before)


@each_grammar
@settings(**FEW)
@given(seed=SEEDS)
def test_reset_equals_a_new_matcher(name, engine, seed):
    """After `reset` the same walk shows the same masks as in a new matcher."""
    grammar = grammar_of(name, engine)
    used = grammar.matcher()
    trail(used, random.Random(seed + 1), 12)
    used.reset()
    assert not used.is_terminated()
    first, second = trail(used, random.Random(seed), 12), trail(grammar.matcher(), random.Random(seed), 12)
    assert first[1] == second[1]
    assert all((a == b).all() for a, b in zip(first[0], second[0], strict=True))


@each_grammar
@settings(**FEW)
@given(seed=SEEDS)
def test_a_refused_token_changes_nothing(name, engine, seed):
    """`accept_token` of a token outside the mask, of a special id or of no id at all returns False and changes nothing."""
    rng, matcher = random.Random(seed), grammar_of(name, engine).matcher()
    for _ in range(8):
        mask = walks.mask_of(matcher, VOCABULARY)
        allowed = walks.ids_in(mask)
        outside = sorted(set(range(VOCABULARY.size)) - set(allowed))
        for token in [*rng.sample(outside, min(20, len(outside))), 267, VOCABULARY.size, -1]:
            assert not matcher.accept_token(token)
        assert not matcher.accept_bytes(b"\xff")
        assert same(matcher, mask)
        matcher.accept_token(rng.choice(allowed))
        if matcher.is_terminated():
            break


@each_grammar
def test_bytes_are_taken_whole_or_not_at_all(name, engine):
    """`accept_bytes` is one step for `rollback`, and leaves no half of a refused text behind."""
    grammar = grammar_of(name, engine)
    rng = random.Random(3)
    text = walks.random_text(grammar, 3, 10).encode()
    matcher = grammar.matcher()
    start = walks.mask_of(matcher, VOCABULARY)
    assert not matcher.accept_bytes(text + b"\xff")
    assert same(matcher, start)
    cut = rng.randrange(len(text) + 1)
    assert matcher.accept_bytes(text[:cut])
    assert matcher.accept_bytes(text[cut:])
    assert matcher.is_accepting()
    matcher.rollback(2)
    assert same(matcher, start)


@each_grammar
def test_after_the_end_there_is_nothing(name, engine):
    """After EOS tokens and bytes are refused, the mask is an error, and a rollback of one step reopens the text."""
    grammar = grammar_of(name, engine)
    for eos in VOCABULARY.eos_token_ids:
        matcher = grammar.matcher()
        assert not matcher.accept_token(eos)
        assert matcher.accept_bytes(walks.random_text(grammar, 5, 6).encode())
        before = walks.mask_of(matcher, VOCABULARY)
        assert matcher.accept_token(eos)
        assert matcher.is_terminated()
        assert not any(matcher.accept_token(token) for token in (eos, 0, 34, 97))
        with pytest.raises(schemagen.MatcherTerminatedError):
            walks.mask_of(matcher, VOCABULARY)
        matcher.rollback()
        assert same(matcher, before)


@each_grammar
def test_a_mask_that_does_not_fit_is_an_error(name, engine):
    """Wrong dtype, width, rank or row are named; a row in range is written and no other."""
    matcher, words = grammar_of(name, engine).matcher(), -(-VOCABULARY.size // 32)
    wrong = [
        np.zeros((1, words), np.int64),
        np.zeros((1, words + 1), np.int32),
        np.zeros((1, words - 1), np.int32),
        np.zeros(words, np.int32),
    ]
    for bitmask in wrong:
        with pytest.raises(schemagen.BitmaskShapeError):
            matcher.fill_next_token_bitmask(bitmask)
    three = np.full((3, words), 7, np.int32)
    for row in (3, -1, 100):
        with pytest.raises(schemagen.BitmaskShapeError):
            matcher.fill_next_token_bitmask(three, row)
    assert (three == 7).all()
    matcher.fill_next_token_bitmask(three, 1)
    assert (three[[0, 2]] == 7).all()
    assert (three[1] == walks.mask_of(matcher, VOCABULARY)[0]).all()


@each_grammar
def test_torch_and_numpy_masks_are_equal(name, engine):
    """A bitmask of torch gets the same bits as one of numpy."""
    pytest.importorskip("torch")
    matcher = grammar_of(name, engine).matcher()
    bitmask = schemagen.allocate_token_bitmask(2, VOCABULARY.size)
    matcher.fill_next_token_bitmask(bitmask, 1)
    assert (bitmask[1].numpy() == walks.mask_of(matcher, VOCABULARY)[0]).all()


@each_grammar
@settings(**FEW)
@given(seed=SEEDS)
def test_forced_tokens_are_the_only_way(name, engine, seed):
    """Each forced token is alone in its mask, EOS is none of them, and after the last there is a choice or the end."""
    rng, matcher = random.Random(seed), grammar_of(name, engine).matcher()
    for _ in range(10):
        before = walks.mask_of(matcher, VOCABULARY)
        forced = matcher.forced_tokens()
        assert same(matcher, before)
        ahead = matcher.fork()
        for token in forced:
            assert ahead.allowed_tokens() == [token]
            assert ahead.accept_token(token)
        rest = ahead.allowed_tokens()
        assert len(rest) > 1 or rest[0] in VOCABULARY.eos_token_ids
        matcher.accept_token(rng.choice(matcher.allowed_tokens()))
        if matcher.is_terminated():
            break


@each_grammar
def test_explain_agrees_with_the_mask(name, engine):
    """For each token there is a sentence, and it says "not allowed" exactly for those outside the mask."""
    matcher = grammar_of(name, engine).matcher()
    allowed = set(matcher.allowed_tokens())
    for token in range(VOCABULARY.size):
        sentence = matcher.explain(token)
        assert sentence
        assert ("not allowed" in sentence) == (token not in allowed), sentence


@each_grammar
def test_threads_share_a_grammar(name, engine):
    """Several threads over one grammar, whose states they make together, see the masks of a single one."""
    spec, options = SPECS[name]
    shared = compiled_by(engine, spec, VOCABULARY, **options)

    def run(seed):
        return trail(shared.matcher(), random.Random(seed), 40)

    alone = compiled_by(engine, spec, VOCABULARY, **options)
    expected = [trail(alone.matcher(), random.Random(seed), 40) for seed in range(24)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(run, range(24)))
    for (masks, tokens), (other_masks, other_tokens) in zip(expected, found, strict=True):
        assert tokens == other_tokens
        assert all((a == b).all() for a, b in zip(masks, other_masks, strict=True))


def blank():
    """Return a bitmask of one row."""
    return np.zeros((1, -(-VOCABULARY.size // 32)), np.int32)


WRONG_TYPES = {
    "accept_token": (lambda matcher, given: matcher.accept_token(given), ["a", 1.5, None, b"a", [1], np.zeros(2)]),
    "explain": (lambda matcher, given: matcher.explain(given), ["a", None]),
    "rollback": (lambda matcher, given: matcher.rollback(given), ["x", 1.5, None]),
    "accept_bytes": (lambda matcher, given: matcher.accept_bytes(given), ["a", None, 3, bytearray(b"a"), [97]]),
    "row": (lambda matcher, given: matcher.fill_next_token_bitmask(blank(), given), ["a", None, 0.5]),
    "budget": (lambda matcher, given: matcher.fill_next_token_bitmask(blank(), budget=given), ["a", 0.5, [1]]),
}


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(("what", "given"), [(what, each) for what, (_, all_) in WRONG_TYPES.items() for each in all_])
def test_arguments_of_wrong_types_are_told(engine, what, given):
    """The error says what is meant, without any words of the binding; TypeError and ValueError catch it."""
    matcher = grammar_of("pattern", engine).matcher()
    with pytest.raises(schemagen.OptionTypeError) as caught:
        WRONG_TYPES[what][0](matcher, given)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)
    assert f"() got {kind_of(given)}" in caught.value.fact
    assert caught.value.fix
    assert "overload" not in str(caught.value)
    assert matcher.accept_token(97)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_whole_numbers_of_any_type_are_read(engine):
    """Those of numpy and torch, and numbers beyond 64 bits, which no vocabulary has."""
    torch = pytest.importorskip("torch")
    matcher = grammar_of("pattern", engine).matcher()
    for number in (97, np.int64(97), np.uint8(97), torch.tensor(97)):
        assert matcher.accept_token(number)
        assert "97" in matcher.explain(number)
        matcher.rollback(np.int64(1))
    for wide in (10**30, -(10**30)):
        assert not matcher.accept_token(wide)
        with pytest.raises(schemagen.MatcherError, match="of 0 steps"):
            matcher.rollback(wide)
    mask, other = blank(), blank()
    assert matcher.fill_next_token_bitmask(mask, np.int64(0), budget=10**30)
    assert "not allowed" in matcher.explain(10**30)
    assert matcher.fill_next_token_bitmask(other)
    assert (mask == other).all()


def test_a_matcher_that_is_pickled_says_what_to_do():
    """It is a place in memory; forks and copies stay in the process."""
    pytest.importorskip("schemagen._core")
    matcher = grammar_of("pattern", "native").matcher()
    with pytest.raises(schemagen.MatcherError, match="cannot be pickled") as caught:
        pickle.dumps(matcher)
    assert "fork()" in caught.value.fix
    assert "tokens" in caught.value.fix
    assert copy.deepcopy(matcher).accept_token(97)


def test_a_batch_is_filled_like_its_rows():
    """`fill_next_token_bitmasks` writes what each matcher would write into its row, engines mixed."""
    matchers = [grammar_of(name, engine).matcher() for name, engine in GRAMMARS]
    bitmask = np.full((len(matchers), -(-VOCABULARY.size // 32)), -1, np.int32)
    schemagen.fill_next_token_bitmasks(matchers, bitmask)
    for row, matcher in enumerate(matchers):
        assert (bitmask[row] == walks.mask_of(matcher, VOCABULARY)[0]).all()


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_rows_of_a_batch_are_chosen_and_end_on_their_own(engine):
    """Rows that no matcher was given stay as they are; where the text has ended EOS alone is allowed."""
    grammar = compiled_by(engine, {"const": 1}, VOCABULARY)
    going, done = grammar.matcher(), grammar.matcher()
    assert done.accept_bytes(b"1")
    assert done.accept_token(VOCABULARY.eos_token_ids[0])
    bitmask = np.full((4, -(-VOCABULARY.size // 32)), -1, np.int32)
    schemagen.fill_next_token_bitmasks([done, going], bitmask, rows=[3, 1], budgets=[5, 5], threads=2)
    assert (bitmask[[0, 2]] == -1).all()
    assert (bitmask[1] == walks.mask_of(going, VOCABULARY)[0]).all()
    bits = np.unpackbits(bitmask[3].view(np.uint8), bitorder="little")
    assert tuple(np.flatnonzero(bits)) == tuple(sorted(VOCABULARY.eos_token_ids)) == tuple(sorted(done.eos_token_ids))
    assert not done.accept_token(VOCABULARY.eos_token_ids[0])
    for rows in ([1, 1], [1]):
        with pytest.raises(ValueError, match="a row of its own"):
            schemagen.fill_next_token_bitmasks([done, going], bitmask, rows=rows)


@pytest.mark.parametrize("names", [{"maxLength": 3}, {"pattern": "^[a-z]{1,2}$"}])
@pytest.mark.parametrize("value", ["1", "-1.5", "null", "true", '"s"'])
def test_a_token_may_hold_a_last_key_of_few_its_value_and_the_end(names, value):
    """Where there are few extra keys, a whole member and the brace behind it may be one token, whatever its value is."""
    vocabulary = Vocabulary.from_tokens(
        [bytes([i]) for i in range(256)] + [f',"x":{value}}}'.encode(), f'1,"x":{value}}}]'.encode(), None],
        eos_token_ids=[258],
    )
    grammar = schemagen.compile({"type": "array", "items": {"type": "object", "propertyNames": names}}, vocabulary)
    for begun in (b'[{"a":', b'[{"a":1', b'[{"x":1'):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(begun)
        assert walks.equals_brute_force(matcher, vocabulary)
