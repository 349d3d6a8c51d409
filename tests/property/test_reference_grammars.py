"""The reference engine of grammars, the compiled core and the definition agree on random grammars."""

import random

import pytest

from schemagen.engine.native.context_free import compile_context_free
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.reference.context_free import ContextFreeEngine
from tests.property.small_grammars import (
    EOS,
    LONGEST,
    OPTIONS,
    TOKENS,
    VOCABULARY,
    WORDS,
    certain_mask,
    derived,
    random_grammar,
)

pytestmark = pytest.mark.sampled(3)


def check(seed: int) -> None:
    """Compare verdicts on all short texts, then masks and completions along random ones."""
    grammar = random_grammar(seed)
    words = derived(grammar)
    try:
        engine = ContextFreeEngine(grammar, VOCABULARY)
    except UnsatisfiableSchemaError:
        assert not words
        with pytest.raises(UnsatisfiableSchemaError):
            compile_context_free(grammar, VOCABULARY, OPTIONS)
        return
    source = random.Random(seed)
    for word in source.sample(WORDS, 40):
        matcher = engine.matcher()
        assert (matcher.accept_bytes(word.encode()) and matcher.is_accepting()) == (word in words), (seed, word)
    constraint = compile_context_free(grammar, VOCABULARY, OPTIONS)
    for _ in range(2):
        ours, theirs, text = engine.matcher(), constraint.matcher(), ""
        while len(text) < LONGEST:
            mask = set(ours.allowed_tokens())
            assert mask == set(theirs.allowed_tokens()), (seed, text)
            assert mask >= certain_mask(words, text)
            assert ours.shortest_completion() == theirs.shortest_completion(), (seed, text)
            assert ours.tokens_to_finish() == theirs.tokens_to_finish()
            if not mask - {EOS}:
                break
            token_id = source.choice(sorted(mask - {EOS}))
            assert ours.accept_token(token_id)
            assert theirs.accept_token(token_id)
            text += TOKENS[token_id].decode()


@pytest.mark.parametrize("block", range(10))
def test_random_grammars(block: int) -> None:
    """Fifty of them in each block."""
    for seed in range(50 * block, 50 * block + 50):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10, 60))
def test_more_random_grammars(block: int) -> None:
    """Many more of the same."""
    test_random_grammars(block)
