"""An automaton composed with the detokenizing transducer is the index of Willard & Louf, on random expressions."""

import pytest

from schemagen.reference.fsm import byte_fsm, final_states, rows_of, symbols_of
from schemagen.reference.index import map_states_to_vocab
from schemagen.reference.transducers import adapted, fsa_of, valid_tokens
from tests.property.small_grammars import EOS, TOKENS, certain_mask, random_pattern, words_of

VOCABULARY = {token_id: token for token_id, token in enumerate(TOKENS) if token}


def check(seed: int) -> None:
    """Walk through all states of both at once."""
    regex = random_pattern(seed)
    words = set(words_of(regex))
    fsm = byte_fsm(regex)
    sigma = map_states_to_vocab(fsm, TOKENS)
    over_tokens = adapted(fsa_of(fsm, b"ab"), VOCABULARY)
    seen, todo = set(), [(over_tokens.initial, 0, "")]
    for state, at, text in todo:
        mask = valid_tokens(over_tokens, state)
        assert mask == sigma[at], (seed, text)
        assert (state in over_tokens.finals) == (at in final_states(fsm))
        assert mask >= certain_mask(words, text) - {EOS}
        for token_id, following in over_tokens.outbound.get(state, ()):
            reached = at
            for symbol in symbols_of(fsm, TOKENS[token_id]):
                reached = rows_of(fsm)[reached][symbol]
            if (following, reached) not in seen:
                seen.add((following, reached))
                todo.append((following, reached, text + TOKENS[token_id].decode()))


@pytest.mark.parametrize("block", range(10))
def test_random_expressions(block: int) -> None:
    """Fifty of them in each block."""
    for seed in range(50 * block, 50 * block + 50):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10, 100))
def test_more_random_expressions(block: int) -> None:
    """Many more of the same."""
    test_random_expressions(block)
