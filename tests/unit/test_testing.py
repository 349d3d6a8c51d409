"""The tools for tests find what they are for."""

import json

import pytest
from pydantic import BaseModel, Field

import schemagen
from schemagen.testing import brute_force_mask, check_masks, mask_of, random_text, random_token_ids

BYTES = schemagen.Vocabulary.byte_vocabulary()


class Person(BaseModel):
    """A type with a bit of everything."""

    name: str = Field(max_length=5)
    age: int = Field(ge=0)
    tags: list[str] = []


def test_a_mask_is_what_brute_force_finds():
    """At the start of an object only a brace can come."""
    matcher = schemagen.compile(Person, BYTES).matcher()
    assert mask_of(matcher, BYTES) == brute_force_mask(matcher, BYTES) == {BYTES.tokens.index(b"{")}
    assert matcher.accept_bytes(b'{"name"')
    assert mask_of(matcher, BYTES) == brute_force_mask(matcher, BYTES)


def test_random_texts_are_instances_and_their_seeds_tell_them():
    """Each text validates; equal seeds give equal texts, others others."""
    grammar = schemagen.compile(Person, BYTES)
    texts = [random_text(grammar, seed=seed, max_tokens=120) for seed in range(20)]
    for text in texts:
        Person.model_validate_json(text)
    assert len(set(texts)) > 15
    assert texts[3] == random_text(grammar, seed=3, max_tokens=120)


def test_a_text_has_as_many_tokens_as_it_may_or_as_it_needs():
    """The least that a text needs is not too little."""
    grammar = schemagen.compile(Person, BYTES)
    assert grammar.min_new_tokens is not None
    assert len(random_token_ids(grammar, max_tokens=1)) == grammar.min_new_tokens
    assert len(random_token_ids(grammar, seed=1, max_tokens=50)) <= 50


def test_masks_are_checked_at_every_step():
    """As many masks as tokens, and one at the end of each text."""
    grammar = schemagen.compile({"type": "array", "items": {"type": "boolean"}}, BYTES)
    ids = [random_token_ids(grammar, seed=seed, max_tokens=40) for seed in range(3)]
    assert check_masks(grammar, walks=3) == sum(len(walk) + 1 for walk in ids)
    assert all(isinstance(json.loads(bytes(walk)), list) for walk in ids)


@pytest.mark.parametrize("wrong", [{0}, {BYTES.tokens.index(b"{")}])
def test_a_wrong_mask_is_seen(monkeypatch, wrong):
    """A token too many or too few is named with the text before it."""
    monkeypatch.setattr(
        "schemagen.testing.brute_force_mask", lambda matcher, vocabulary: mask_of(matcher, vocabulary) ^ wrong
    )
    with pytest.raises(AssertionError, match=r"after b'' the mask is wrong for"):
        check_masks(schemagen.compile(Person, BYTES), walks=1)
