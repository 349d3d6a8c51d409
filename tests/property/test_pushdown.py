"""Composition with T_V and the index by stack values have the engine's masks on random grammars without left recursion."""

import random

import pytest

from schemagen.engine.native.context_free import compile_context_free
from schemagen.errors import LimitError, UnsatisfiableSchemaError, UnsupportedGrammarError
from schemagen.reference.pushdown import composed, pda_of
from schemagen.reference.pushdown_index import map_states_to_vocab, mask
from schemagen.reference.transducers import detokenizer
from tests.property.small_grammars import EOS, OPTIONS, TOKENS, VOCABULARY, certain_mask, derived, random_grammar

pytestmark = pytest.mark.sampled(10)

T_V = detokenizer({token_id: token for token_id, token in enumerate(TOKENS) if token})


def check(seed: int) -> tuple[bool, bool]:
    """Compare masks along random texts; return whether the automaton, and whether its index, could be made."""
    grammar = random_grammar(seed)
    try:
        pda = pda_of(grammar, b"ab")
    except (UnsatisfiableSchemaError, UnsupportedGrammarError):
        return False, False
    try:
        sigma = map_states_to_vocab(pda, TOKENS)
    except LimitError:
        sigma = None
    over_tokens = composed(pda, T_V)
    words = derived(grammar)
    constraint = compile_context_free(grammar, VOCABULARY, OPTIONS)
    source = random.Random(seed)
    for _ in range(3):
        matcher, configurations, plain, text = constraint.matcher(), over_tokens.start(), pda.start(), ""
        while len(text) < 7:
            expected = set(matcher.allowed_tokens())
            end = {EOS} if over_tokens.may_end(configurations) else set()
            assert over_tokens.readable(configurations) | end == expected, (seed, text)
            assert expected >= certain_mask(words, text)
            if sigma is not None:
                assert mask(sigma, pda, plain, [EOS]) == expected, (seed, text)
            if not expected - {EOS}:
                break
            token_id = source.choice(sorted(expected - {EOS}))
            assert matcher.accept_token(token_id)
            configurations = over_tokens.read(configurations, token_id)
            for byte in TOKENS[token_id]:
                plain = pda.read(plain, byte)
            text += TOKENS[token_id].decode()
    return True, sigma is not None


@pytest.mark.parametrize("block", range(10))
def test_random_grammars(block: int) -> None:
    """A hundred of them in each block, of which some are left recursive."""
    made = [check(seed) for seed in range(100 * block, 100 * block + 100)]
    assert sum(automaton for automaton, _ in made) >= 40
    assert sum(index for _, index in made) >= 30
