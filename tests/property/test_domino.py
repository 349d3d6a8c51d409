"""DOMINO without a bound has the engine's masks on random grammars; with one its masks grow with the bound."""

import random

import pytest

from schemagen.engine.native.context_free import compile_context_free
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.reference.subterminals import Domino
from tests.property.small_grammars import EOS, OPTIONS, TOKENS, VOCABULARY, certain_mask, derived, random_grammar

pytestmark = pytest.mark.sampled(5)


def check(seed: int) -> None:
    """Compare masks along random texts."""
    grammar = random_grammar(seed)
    words = derived(grammar)
    try:
        constraint = compile_context_free(grammar, VOCABULARY, OPTIONS)
    except UnsatisfiableSchemaError:
        assert not words
        with pytest.raises(UnsatisfiableSchemaError):
            Domino(grammar, VOCABULARY)
        return
    exact = Domino(grammar, VOCABULARY)
    source = random.Random(seed)
    for _ in range(2):
        matcher, checkers = constraint.matcher(), [exact.checker(lookahead) for lookahead in (0, 1, 2, None)]
        text = ""
        while len(text) < 8:
            masks = [checker.mask() for checker in checkers]
            assert masks[-1] == set(matcher.allowed_tokens()), (seed, text)
            assert masks[-1] >= certain_mask(words, text)
            assert masks[0] <= masks[1] <= masks[2] <= masks[3]
            if not masks[-1] - {EOS}:
                break
            token_id = source.choice(sorted(masks[-1] - {EOS}))
            assert matcher.accept_token(token_id)
            assert all(checker.update(token_id) for checker in checkers)
            text += TOKENS[token_id].decode()


@pytest.mark.parametrize("block", range(10))
def test_random_grammars(block: int) -> None:
    """Fifty of them in each block."""
    for seed in range(50 * block, 50 * block + 50):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10, 30))
def test_more_random_grammars(block: int) -> None:
    """Many more of the same."""
    test_random_grammars(block)
