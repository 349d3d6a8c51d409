"""Every case of the suite, by every engine, over every tokenizer: texts, masks, and the agreement of the engines."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pytest

from schemagen.engine.options import DEFAULT_STYLE, Options
from schemagen.vocabulary import Vocabulary
from tests import corpora
from tests.suite import cases as suite, trie as tries

TOKENIZERS = ("bundled", *corpora.kinds())
VOCABULARIES = ("bytes", *TOKENIZERS)
NUMBER_BYTES = set(b"0123456789+-.eE")
SAMPLE = 500
MASK_CAP = 1000
WALK_STEPS = 12
#: A text that ends in many digits, which the engines bound differently; one that ends in a number with an exponent.
LONG_NUMBER, EXPONENT = re.compile(rb"[0-9.]{16,}$"), re.compile(rb"[0-9][eE][-+]?[0-9]*$")
#: Long walks: edges of the trie to be tried in a state whose mask was not met before in the case, and in another one.
NEW_MASK_EDGES, KNOWN_MASK_EDGES = 8000, 300


def _params(keep):
    def param(case):
        # Not strict: a defect shows in one of the tests of its case, the others pass.
        marks = [pytest.mark.xfail(reason=case.xfail, strict=False)] if case.xfail else []
        return pytest.param(case, id=case.id, marks=marks)

    return [param(case) for case in suite.load_cases() if keep(case)]


every_case = pytest.mark.parametrize("case", _params(lambda _: True))
native_case = pytest.mark.parametrize("case", _params(lambda case: "native" in case.engines))
reference_case = pytest.mark.parametrize("case", _params(lambda case: "reference" in case.engines))
shared_case = pytest.mark.parametrize("case", _params(lambda case: set(case.engines) >= set(suite.ENGINES)))


def vocabulary_named(name, request):
    """Return a vocabulary, its tokenizer, and its ids by text; skip where a Python has no transformers."""
    if name == "bytes":
        vocabulary = request.getfixturevalue("byte_vocabulary")
        return vocabulary, None, suite.ids_by_bytes(vocabulary)
    vocabulary = request.getfixturevalue(f"{name}_vocabulary")
    return vocabulary, request.getfixturevalue(f"{name}_tokenizer"), _ids_of(vocabulary)


@lru_cache(maxsize=8)
def _ids_of(vocabulary):
    return suite.ids_by_bytes(vocabulary)


@pytest.fixture(scope="session")
def small_vocabulary(request):
    """A seeded sample of the tokens of all tokenizers, every token of the suite's own texts, and all bytes.

    The reference engine asks Python for each token, so that a whole vocabulary would take minutes.
    """
    rng = random.Random(7)
    tokens = {bytes([b]) for b in range(256)}
    texts = [text for case in suite.load_cases() for text in case.accepted]
    for name in TOKENIZERS:
        try:
            vocabulary, tokenizer, _ = vocabulary_named(name, request)
        except pytest.skip.Exception:  # no transformers for this Python
            continue
        tokens.update(filter(None, rng.sample(vocabulary.tokens, min(1500, vocabulary.size))))
        tokens.update(vocabulary.tokens[i] for text in texts for i in tokenizer.encode(text, add_special_tokens=False))
    ordered = sorted(tokens - {b""})
    rng.shuffle(ordered)
    return Vocabulary.from_tokens(
        [None, *ordered, None, b"{", None], eos_token_ids=(len(ordered) + 1, len(ordered) + 3)
    )


def own_tokens(text, vocabulary, tokenizer, ids, rng):
    """Return the tokens that the tokenizer itself makes of a text; without the space that some put before it."""
    if tokenizer is None:
        return suite.with_bytes(text, ids, rng, longest=1)
    try:
        found = tokenizer.encode(text.decode(), add_special_tokens=False)
    except UnicodeDecodeError:
        return suite.with_bytes(text, ids, rng)
    data = vocabulary.decode(found)
    if data == text:
        return found
    # A leading space that is not ours, or a special token spelled out: split what the tokenizer did not keep.
    for start in range(len(found)):
        rest = vocabulary.decode(found[start:])
        if rest and text.endswith(rest):
            return suite.with_bytes(text[: len(text) - len(rest)], ids, rng) + list(found[start:])
    return suite.with_bytes(text, ids, rng)


def mask_of(matcher, vocabulary):
    """Return the mask as a bool array of the width of the vocabulary."""
    words = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    partial = matcher.fill_next_token_bitmask(words, 0)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
    assert not bits[vocabulary.size :].any(), "bits beyond the vocabulary stay clear"
    assert partial == (not bits[: vocabulary.size].all())
    return bits[: vocabulary.size]


def feed(matcher, tokens, vocabulary):
    """Feed tokens one by one; return how many were accepted. The mask must foretell each answer."""
    for at, token in enumerate(tokens):
        foretold = bool(mask_of(matcher, vocabulary)[token])
        assert matcher.accept_token(token) == foretold, (at, token, vocabulary.tokens[token])
        if not foretold:
            return at
    return len(tokens)


def check_accepted(matcher, tokens, vocabulary, text):
    """All tokens are allowed, the text may end after them, and EOS ends it."""
    read = feed(matcher, tokens, vocabulary)
    assert read == len(tokens), (
        f"{text!r}: {vocabulary.tokens[tokens[read]]!r} refused after {vocabulary.decode(tokens[:read])!r}"
    )
    assert matcher.is_accepting(), text
    if vocabulary.eos_token_ids:
        eos = vocabulary.eos_token_ids[-1]
        assert mask_of(matcher, vocabulary)[list(vocabulary.eos_token_ids)].all(), text
        assert matcher.accept_token(eos)
        assert matcher.is_terminated()


def check_refused(matcher, tokens, vocabulary, text):
    """A token is refused, or the text may not end after the last one."""
    if feed(matcher, tokens, vocabulary) == len(tokens):
        assert not matcher.is_accepting(), f"{text!r} was accepted"
        assert not mask_of(matcher, vocabulary)[list(vocabulary.eos_token_ids)].any(), text
        assert not any(matcher.accept_token(eos) for eos in vocabulary.eos_token_ids)


def check_texts(case, grammar, tokenizer, ids, seed=0):
    """Accepted texts are accepted in any tokenisation, the others in none."""
    vocabulary, rng = grammar.vocabulary, random.Random(f"{seed}{case.id}")
    for text in map(str.encode, case.accepted):
        whole = grammar.matcher()
        assert whole.accept_bytes(text), f"{text!r} refused as bytes"
        assert whole.is_accepting(), f"{text!r} may not end"
        check_accepted(grammar.matcher(), own_tokens(text, vocabulary, tokenizer, ids, rng), vocabulary, text)
        check_accepted(grammar.matcher(), suite.with_bytes(text, ids, rng), vocabulary, text)
    for text in case.refused:
        whole = grammar.matcher()
        assert not (whole.accept_bytes(text) and whole.is_accepting()), f"{text!r} accepted as bytes"
        check_refused(grammar.matcher(), own_tokens(text, vocabulary, tokenizer, ids, rng), vocabulary, text)
        check_refused(grammar.matcher(), suite.with_bytes(text, ids, rng), vocabulary, text)


def check_mask(matcher, vocabulary, rng, sample):
    """The mask says what `accept_bytes` does, for a sample of all ids and for those in the mask; return the ids in it."""
    mask = mask_of(matcher, vocabulary)
    allowed = np.flatnonzero(mask)
    ids = allowed.tolist()
    assert ids == matcher.allowed_tokens()
    assert ids, "the mask is never empty"
    assert mask[list(vocabulary.eos_token_ids)].tolist() == [matcher.is_accepting()] * len(vocabulary.eos_token_ids)
    inside = ids if len(ids) <= MASK_CAP else rng.sample(ids, MASK_CAP)
    drawn = range(vocabulary.size) if sample >= vocabulary.size else rng.sample(range(vocabulary.size), sample)
    chosen, tokens = list({*inside, *drawn} - set(vocabulary.eos_token_ids)), vocabulary.tokens
    for token, is_allowed in zip(chosen, mask[chosen].tolist(), strict=True):
        data = tokens[token]
        expected = bool(data) and matcher.fork().accept_bytes(data)
        assert is_allowed == expected, f"{token} {data!r}: mask {is_allowed}, bytes {expected}"
    return allowed


def walk(matcher, rng, steps, visit):
    """Follow random allowed tokens; `visit` sees each state and returns the allowed ids."""
    for _ in range(steps):
        allowed = visit(matcher)
        token = int(rng.choice(allowed))
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            return


def check_walks(case, grammar, walks, steps, sample):
    """Masks equal brute force on random walks and along an accepted text."""
    vocabulary = grammar.vocabulary
    for seed in range(walks):
        rng = random.Random(f"{seed}{case.id}")
        walk(grammar.matcher(), rng, steps, lambda m, rng=rng: check_mask(m, vocabulary, rng, sample))


def test_every_name_is_used_once():
    """Two cases never share an id, and each says who does not run it and why."""
    assert [i for i, n in Counter(case.id for case in suite.load_cases()).items() if n > 1] == []
    assert [case.id for case in suite.load_cases() if bool(case.reason) != (case.engines != suite.ENGINES)] == []


@every_case
def test_labels_are_confirmed_by_an_independent_validator(case):
    """jsonschema (or Python's `re`) agrees with the labels: accepted and layout texts are instances, rejected are not."""
    if case.unchecked:
        assert all(json.loads(text) is not ... for text in case.accepted if case.schema)
        return
    assert [text for text in (*case.accepted, *case.layout) if not case.is_instance(text)] == []
    assert [text for text in case.rejected if case.is_instance(text)] == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VOCABULARIES)
@native_case
def test_native_engine_reads_the_texts(case, name, request):
    """The compiled engine accepts and refuses the texts of a case over a vocabulary."""
    vocabulary, tokenizer, ids = vocabulary_named(name, request)
    check_texts(case, case.compile(vocabulary, "native"), tokenizer, ids)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", VOCABULARIES)
@native_case
def test_native_masks_equal_brute_force(case, name, request):
    """A token is in the mask exactly if its bytes can follow."""
    vocabulary, _, _ = vocabulary_named(name, request)
    check_walks(case, case.compile(vocabulary, "native"), walks=1, steps=WALK_STEPS, sample=SAMPLE)


@lru_cache(maxsize=8)
def _trie_of(vocabulary):
    return tries.Trie(vocabulary)


def check_mask_by_trie(matcher, vocabulary, rng, seen):
    """The mask says what `accept_bytes` does along the trie of the vocabulary; return the ids in it."""
    mask = mask_of(matcher, vocabulary)
    allowed = np.flatnonzero(mask)
    assert len(allowed), "the mask is never empty"
    assert mask[list(vocabulary.eos_token_ids)].tolist() == [matcher.is_accepting()] * len(vocabulary.eos_token_ids)
    key = mask.tobytes()
    edges = KNOWN_MASK_EDGES if key in seen else NEW_MASK_EDGES
    seen.add(key)
    assert _trie_of(vocabulary).disagreement(matcher, mask, rng, edges) is None
    return allowed


@pytest.mark.slow
@pytest.mark.parametrize("name", VOCABULARIES)
@native_case
def test_native_masks_equal_brute_force_on_long_walks(case, name, request):
    """A token is in the mask exactly if its bytes can follow, on five walks of sixty tokens.

    Each mask is compared with `accept_bytes` along the trie of the whole vocabulary, which judges every id where few
    bytes are allowed. At most 8,000 edges of the trie are tried, drawn at random, or 300 where the same mask was met
    before in this case: that it is right in this state, too, is then only sampled.
    """
    vocabulary, _, _ = vocabulary_named(name, request)
    grammar, seen = case.compile(vocabulary, "native"), set()
    for seed in range(5):
        rng = random.Random(f"{seed}{case.id}")
        walk(grammar.matcher(), rng, 60, lambda m, rng=rng: check_mask_by_trie(m, vocabulary, rng, seen))


@pytest.mark.sampled(3)
@reference_case
def test_reference_engine_reads_the_texts(case, small_vocabulary):
    """The reference engine accepts and refuses the texts of a case."""
    check_texts(case, case.compile(small_vocabulary, "reference"), None, _ids_of(small_vocabulary))


@pytest.mark.sampled(3)
@shared_case
def test_engines_agree_on_every_mask(case, small_vocabulary):
    """Both engines give the same masks on random walks and along the texts of the case, and brute force the same again.

    Only the compiled engine has every spelling of a number with an exponent, and they bound other digits of long numbers.
    """
    native, reference = (case.compile(small_vocabulary, engine) for engine in suite.ENGINES)

    def both(pair, text):
        mask, other = mask_of(pair[1], small_vocabulary), mask_of(pair[0], small_vocabulary)
        if case.schema is not None and LONG_NUMBER.search(text):
            return np.flatnonzero(mask & other)
        more = np.flatnonzero(mask != other)
        of_numbers = EXPONENT.search(text) or all(set(small_vocabulary.tokens[i]) & NUMBER_BYTES for i in more)
        spellings = case.schema is not None and of_numbers
        assert (spellings and not mask[more].any()) or not more.size, differing(pair, small_vocabulary)
        return np.flatnonzero(mask)

    check_pair(case, (native, reference), both, case.accepted)
    check_walks(case, reference, walks=1, steps=2, sample=SAMPLE)


#: Cases of numbers whose decimals the engines bound differently; those of the reference are a part of the others.
OTHER_DECIMALS = {
    "a number that is not an integer": "the reference ends where a decimal could round to an integer",
    "multiples of a power of ten that is a float": "the reference writes no point behind more than 15 digits",
    "a range of values too small to be written without an exponent": "there is no decimal",
}


def _has_same_decimals(case):
    return case.group == "numbers" and set(case.engines) >= set(suite.ENGINES) and case.name not in OTHER_DECIMALS


@pytest.mark.parametrize("case", _params(_has_same_decimals))
def test_engines_agree_exactly_without_exponents(case, small_vocabulary, monkeypatch):
    """Where no exponents are written the masks of both engines are equal, also those of numbers of few digits."""
    style = replace(DEFAULT_STYLE, exponents=False)
    for module in ("schemagen.grammar.compiler", "schemagen.reference.compiler"):
        monkeypatch.setattr(f"{module}.Options", partial(Options, number_style=style))
    grammars = [case.compile(small_vocabulary, engine) for engine in suite.ENGINES]

    def both(pair, said):
        mask, other = mask_of(pair[1], small_vocabulary), mask_of(pair[0], small_vocabulary)
        texts = (said + small_vocabulary.tokens[i] for i in np.flatnonzero(mask != other))
        assert all(map(LONG_NUMBER.search, texts)), differing(pair, small_vocabulary)
        return np.flatnonzero(mask & other)

    check_pair(case, grammars, both, [text for text in case.accepted if not {"e", "E"} & set(text)])


def check_pair(case, grammars, both, texts):
    """Compare two grammars by `both`, which returns the tokens of both masks, on random walks and along some texts."""
    vocabulary, rng = grammars[0].vocabulary, random.Random(case.id)
    for _ in range(3):
        pair, said = [grammar.matcher() for grammar in grammars], b""
        for _ in range(2 * WALK_STEPS):
            token = int(rng.choice(both(pair, said)))
            assert all(matcher.accept_token(token) for matcher in pair)
            said += vocabulary.tokens[token]
            if pair[0].is_terminated():
                break
    for text in texts:
        pair, said = [grammar.matcher() for grammar in grammars], b""
        for token in suite.with_bytes(text.encode(), _ids_of(vocabulary), rng):
            both(pair, said)
            assert all(matcher.accept_token(token) for matcher in pair)
            said += vocabulary.tokens[token]
        both(pair, said)


def differing(pair, vocabulary):
    """Return the tokens on which two engines disagree."""
    first, second = (set(matcher.allowed_tokens()) for matcher in pair)
    shown = [[vocabulary.tokens[i] for i in sorted(part)[:10]] for part in (first - second, second - first)]
    return f"only native: {shown[0]}, only reference: {shown[1]}"


@pytest.mark.parametrize("vocabulary", ["byte_vocabulary", "bundled_vocabulary"])
def test_the_trie_finds_a_wrong_bit(vocabulary, request):
    """A mask with one bit changed disagrees with the walk of the trie, whichever bit it is; the mask itself agrees."""
    vocabulary, rng = request.getfixturevalue(vocabulary), random.Random(0)
    matcher = suite.schemagen.compile({"enum": ["été", "ab", 12]}, vocabulary, cache=None).matcher()
    assert matcher.accept_bytes(b'"')
    mask, trie = mask_of(matcher, vocabulary), _trie_of(vocabulary)
    assert trie.disagreement(matcher, mask, rng, vocabulary.size) is None
    for token in rng.sample(sorted(set(range(vocabulary.size)) - set(vocabulary.eos_token_ids)), 200):
        mask[token] ^= True
        assert trie.disagreement(matcher, mask, rng, vocabulary.size), vocabulary.tokens[token]
        mask[token] ^= True
