"""Structural tags against a matcher of their definition: random tags, all short texts, and each mask on the way."""

import random
from itertools import product
from typing import Any

import pytest

import schemagen
from schemagen import StructuralTag
from schemagen.errors import UnsatisfiableSchemaError
from tests.grammars import BYTES, check_masks_along
from tests.property.structural_tag_matcher import ALPHABET, RandomTags, describes

TEXTS = ["".join(letters) for length in range(6) for letters in product(ALPHABET, repeat=length)]
SEEDS = range(60)


def structural(tag: dict[str, Any]) -> StructuralTag:
    """The structural tag of a format."""
    return StructuralTag({"type": "structural_tag", "format": tag})


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tags_mean_what_their_definition_says(seed: int) -> None:
    """A tag takes exactly the texts of the definition, of all short ones."""
    tag = RandomTags(seed).format()
    expected = {text for text in TEXTS if describes(tag, text)}
    try:
        grammar = schemagen.compile(structural(tag), BYTES, cache=None)
    except UnsatisfiableSchemaError:
        assert not expected
        return
    found = set()
    for text in TEXTS:
        matcher = grammar.matcher()
        if matcher.accept_bytes(text.encode()) and matcher.is_accepting():
            found.add(text)
    assert found == expected, tag


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_masks_of_random_tags_equal_brute_force(seed: int) -> None:
    """In front of each byte of a text of a random tag the mask holds the tokens that can follow, and no others."""
    tag = RandomTags(seed).format()
    accepted = [text for text in TEXTS if describes(tag, text)]
    for text in random.Random(seed).sample(accepted, min(2, len(accepted))):
        check_masks_along(structural(tag), text)
