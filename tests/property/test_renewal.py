"""A grammar that comes to its limits is renewed: nobody notices, and what one text needs alone is the only thing that fails."""

from __future__ import annotations

import random

import numpy as np
import pytest

import schemagen

pytest.importorskip("schemagen._core", reason="the compiled core makes states lazily")

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
WORDS = -(-VOCABULARY.size // 32)
#: Each with limits of states that a few texts use up, though each of them needs less.
SPECS = {
    "addresses and numbers": (
        1000,
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "format": "email"},
                "n": {"type": "number", "minimum": -3, "multipleOf": 0.25},
            },
            "required": ["a", "n"],
        },
    ),
    "hosts": (700, {"type": "array", "items": {"type": "string", "format": "idn-hostname"}}),
    "unique patterns": (
        300,
        {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": "^(a|b)*a(a|b){9}$"}},
    ),
    "multiples": (400, {"type": "array", "items": {"type": "integer", "multipleOf": 9973}}),
    "a regex": (300, schemagen.Regex("(a|b)*a(a|b){12}c")),
}


def compiled(spec, **limits):
    """Return a grammar that no other test shares, with time enough for it on a busy machine."""
    return schemagen.compile(spec, VOCABULARY, cache=None, limits=schemagen.Limits(max_seconds=1000, **limits))


def epoch(grammar):
    """Return how often it was renewed, and one."""
    return grammar._implementation.epoch


def anew(grammar):
    """Begin a new epoch: languages of its own, in which nothing is known yet, whatever other tests have left behind."""
    return grammar._implementation.begin_anew()


@pytest.mark.parametrize("name", list(SPECS))
def test_a_renewed_grammar_writes_the_masks_of_one_that_never_is(name):
    """At every step of random texts, forks and steps that are taken back included, the masks are those of a large grammar."""
    few, spec = SPECS[name]
    small, large = compiled(spec, max_states=few), compiled(spec)
    first = anew(small)
    for seed in range(6):
        rng, pair = random.Random(seed), [small.matcher(), large.matcher()]  # the one that pays comes first
        taken = 0
        for _ in range(70):
            allowed, expected = (matcher.allowed_tokens() for matcher in pair)
            assert allowed == expected
            chance = rng.random()
            if chance < 0.06 and taken:
                back = rng.randint(1, min(taken, 3))
                taken -= back
                for matcher in pair:
                    matcher.rollback(back)
            elif chance < 0.1:
                pair = [matcher.fork() for matcher in pair]
            else:
                token = rng.choice(allowed)
                for matcher in pair:
                    assert matcher.accept_token(token)
                taken += 1
                assert pair[0].is_accepting() == pair[1].is_accepting()
                if pair[0].is_terminated():
                    break
    assert epoch(small) > first or name not in {"hosts", "multiples"}


def test_a_grammar_never_wears_out():
    """Odd addresses make states without end; after all of them the next address is read as the first was."""
    grammar = compiled({"type": "string", "format": "idn-hostname"}, max_states=1000)
    first = anew(grammar)
    for seed in range(100):
        rng, matcher = random.Random(seed), grammar.matcher()
        for _ in range(60):
            matcher.accept_token(rng.choice(matcher.allowed_tokens()))
            if matcher.is_terminated():
                break
        if epoch(grammar) > first + 2:
            break
    else:
        pytest.fail("the limit was never reached")
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b'"example.com"')
    assert matcher.is_accepting()


def test_what_one_text_needs_alone_is_an_error_that_says_so():
    """A text that asks for more than the limit fails, in a grammar that is new for it, too; other texts go on."""
    grammar = compiled({"type": "string", "pattern": "^(a|b)*a(a|b){30}$"}, max_states=50)
    anew(grammar)
    text = '"' + "".join(random.Random(1).choices("ab", k=400))
    for _ in range(2):
        with pytest.raises(schemagen.LimitError, match="the limit is 50") as caught:
            grammar.matcher().accept_bytes(text.encode())
        assert "one text" in caught.value.why
        assert "max_states" in caught.value.fix
        assert grammar.matcher().accept_bytes(b'"abab')


def test_matchers_of_an_earlier_epoch_read_their_texts_again():
    """A text that was begun before goes on; it is taken back, forked, explained and finished as if nothing had happened."""
    grammar = compiled({"type": "string", "format": "idn-hostname"}, max_states=1500)
    matchers = [grammar.matcher() for _ in range(6)]
    for matcher in matchers:
        assert matcher.accept_bytes(b'"exam')
        assert matcher.accept_token(ord("p"))
    done = grammar.matcher()
    assert done.accept_bytes(b'"a.b"')
    assert done.accept_token(VOCABULARY.eos_token_ids[0])
    mask, again = np.zeros((1, WORDS), dtype=np.int32), np.zeros((1, WORDS), dtype=np.int32)
    fresh = compiled({"type": "string", "format": "idn-hostname"}).matcher()
    assert fresh.accept_bytes(b'"examp')
    fresh.fill_next_token_bitmask(mask)
    anew(grammar)
    matchers[0].fill_next_token_bitmask(again)
    assert (mask == again).all()
    matchers[1].rollback(1)
    assert matchers[1].accept_bytes(b'ple.com"')
    assert matchers[1].is_accepting()
    assert matchers[2].fork().accept_bytes(b'le.com"')
    assert "is not allowed" in matchers[3].explain(ord("\n"))
    assert matchers[4].shortest_completion() == fresh.shortest_completion()
    matchers[5].reset()
    assert matchers[5].accept_bytes(b'"a')
    assert done.is_terminated()
    done.rollback(1)
    assert done.is_accepting()


def test_a_table_survives_renewal():
    """Its states keep their numbers and rows, it goes on growing, and it knows matchers of any epoch."""
    schema = {
        "type": "object",
        "properties": {"e": {"type": "string", "format": "idn-hostname"}, "n": {"type": "integer"}},
    }
    grammar = compiled(schema, max_states=3000)
    table = grammar.token_table
    old = grammar.matcher()
    old.accept_bytes(b'{"n"')
    known = table.state_of(old)
    table.expand(5)
    rows = table.transitions(range(len(table)))
    anew(grammar)
    assert table.start == table.state_of(grammar.matcher())
    assert table.state_of(old) == known
    assert (table.transitions(range(len(rows)))[:, : rows.shape[1]] == rows).all()
    table.expand_state(known)
    colon = table.transitions([known])[0, table.classes()[ord(":")]]
    assert old.accept_bytes(b":")
    assert table.state_of(old) == colon


def test_the_shared_automata_are_bounded():
    """Schemas without end leave a bounded number of generations behind, and grammars that are kept move out of old ones."""
    kept = compiled({"type": "array", "items": {"enum": ["kept", "for ever"]}})
    matcher = kept.matcher()
    assert matcher.accept_bytes(b'["kept"')
    most = 0
    for number in range(40):
        words = [f"{number}-{k:05d}" for k in range(3000)]
        schemagen.compile({"enum": words}, VOCABULARY, cache=None).matcher().allowed_tokens()
        most = max(most, schemagen.cache_info().generations)
    assert most <= 3
    assert schemagen.cache_info().shared_bytes < 300 * 2**20
    assert matcher.accept_bytes(b',"for ever"]')
    assert matcher.is_accepting()


def test_what_two_readings_of_a_grammar_embed_is_renewed_once():
    """A grammar with a bound is read with it and without it, and both have the same schemas inside."""
    schema = '{"type": "object", "properties": {"a": {"type": "string"}}}'
    spec = schemagen.Lark(
        f"start: (word | value)+\nword[max_tokens=3]: /[ab]+/\nvalue[capture, max_tokens=9]: %json {schema}\n",
        dialect="xgrammar",
    )
    grammar = compiled(spec)
    expected = None
    for _ in range(3):
        matcher = grammar.matcher()
        masks = []
        for byte in b'ab{"a":"b"}a':
            assert matcher.accept_bytes(bytes([byte]))
            masks.append((matcher.allowed_tokens(), matcher.tokens_to_finish()))
        assert expected in (None, masks)
        expected = masks
        anew(grammar)
        assert matcher.captures(complete=True) == [("value", 2, 11)]
