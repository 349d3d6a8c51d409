"""Random grammars that count tokens, against their definition over all short sequences of tokens."""

import random
from typing import Any

import pytest

import schemagen
from schemagen import Vocabulary
from schemagen.context_free.syntax import ContextFreeGrammar, TokenBound
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.grammar.pipeline import engine_of_rules
from schemagen.testing import mask_of
from tests.property.counted_grammars import (
    EOS,
    SEQUENCES,
    TOKENS,
    VOCABULARY,
    Reading,
    fewest_tokens,
    is_nested,
    languages_of,
    random_grammar,
    read,
)
from tests.property.small_grammars import OPTIONS

pytestmark = pytest.mark.sampled(50)

#: Grammars in a case.
BLOCK = 10


def spellings(text: bytes, most: int) -> list[tuple[int, ...]]:
    """Return the sequences of at most so many tokens that spell a text."""
    if not text:
        return [()]
    return [
        (each, *rest)
        for each, token in enumerate(TOKENS)
        if token and most and text.startswith(token)
        for rest in spellings(text[len(token) :], most - 1)
    ]


def check_place(matcher: Any, grammar: ContextFreeGrammar, tokens: tuple[int, ...], seed: int) -> None:
    """Check one place that the matcher has reached: its mask, its shortest completion, its budget."""
    mask = set(mask_of(matcher, VOCABULARY))
    accepted = {each for each in range(1, len(TOKENS)) if matcher.fork().accept_token(each)}
    assert mask - {EOS} == accepted, (seed, tokens, mask, accepted)
    assert (EOS in mask) == matcher.is_accepting(), (seed, tokens)
    left, completion = matcher.tokens_to_finish(), matcher.shortest_completion()
    assert left is not None, (seed, tokens, completion)
    ends = [each for each in spellings(completion, left) if is_end(matcher.fork(), each)]
    assert ends, (seed, tokens, left, completion)
    assert Reading(grammar, tokens + ends[0], None).is_complete, (seed, tokens, ends[0])
    for budget in (left, left + 1):
        kept = set(mask_of(matcher, VOCABULARY, budget=budget))
        within = {each for each in accepted if tokens_after(matcher, each) <= max(budget, left) - 1}
        assert kept - {EOS} == within, (seed, tokens, budget, kept, within)


def is_end(matcher: Any, tokens: tuple[int, ...]) -> bool:
    """Whether the text may end after some tokens."""
    return read(matcher, tokens) and matcher.is_accepting()


def tokens_after(matcher: Any, token: int) -> int:
    """Return how many tokens are needed after one."""
    fork = matcher.fork()
    assert fork.accept_token(token)
    return fork.tokens_to_finish()


def is_too_tight(languages: dict[TokenBound, set[str]]) -> bool:
    """Whether the shortest text of a bounded expression takes too many tokens, which is refused."""
    firsts = {bound: min(words, key=lambda word: (len(word), word)) for bound, words in languages.items() if words}
    return any(fewest_tokens(text) > bound.most for bound, text in firsts.items())


def check_grammar(seed: int) -> None:
    """Check one random grammar over all short sequences."""
    grammar = random_grammar(seed)
    languages = None if is_nested(grammar) else languages_of(grammar)
    complete = {each for each in SEQUENCES if Reading(grammar, each, languages).is_complete}
    try:
        matcher = engine_of_rules(grammar, VOCABULARY, OPTIONS).matcher()
    except UnsatisfiableSchemaError:
        assert not complete or languages is None or is_too_tight(languages), seed
        return
    reached = {()}
    for tokens in SEQUENCES:
        if tokens and (tokens[:-1] not in reached or not read(matcher, tokens)):
            assert not any(each[: len(tokens)] == tokens for each in complete if languages is not None), (seed, tokens)
        else:
            reached.add(tokens)
            is_complete = matcher.is_accepting()
            assert is_complete == (tokens in complete) or (languages is None and not is_complete), (seed, tokens)
            check_place(matcher, grammar, tokens, seed)
        check_rollback(matcher, random.Random(f"{seed} {tokens}"))
    if languages is not None:
        check_bytes(matcher, grammar, languages, random.Random(seed))


def check_bytes(
    matcher: Any, grammar: ContextFreeGrammar, languages: dict[TokenBound, set[str]], source: random.Random
) -> None:
    """Check texts that are accepted at once, before or after a token."""
    for _ in range(10):
        token, text = source.randrange(1, len(TOKENS)), "".join(source.choices("ab", k=source.randint(1, 3)))
        tokens: tuple[int | str, ...] = source.choice([(text,), (token, text), (text, token)])
        fork = matcher.fork()
        is_read = all(
            fork.accept_token(each) if isinstance(each, int) else fork.accept_bytes(each.encode()) for each in tokens
        )
        is_complete = Reading(grammar, tokens, languages).is_complete
        assert (is_read and fork.is_accepting()) == is_complete, (tokens, is_read)


def check_rollback(matcher: Any, source: random.Random) -> None:
    """Check that a text that is rolled back goes on as another that was never longer; go back to the start."""
    back = source.randint(0, matcher.steps)
    beside = matcher.fork()
    matcher.rollback(back)
    assert beside.steps == matcher.steps + back
    matcher.rollback(matcher.steps)


@pytest.mark.parametrize("block", range(100))
def test_grammars_that_count_tokens(block: int) -> None:
    """Masks are those of the definition, no text is a dead end, and budgets are kept."""
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        check_grammar(seed)


#: Several tokens of one text, of which runs may have some; a token of text that may end it.
VOCABULARIES = {
    "equal texts": Vocabulary([*TOKENS, b"a", b"ab", b"b"], eos_token_ids=[EOS]),
    "EOS with a text": Vocabulary([b"b", *TOKENS[1:]], eos_token_ids=[EOS]),
}


@pytest.mark.parametrize("name", list(VOCABULARIES))
@pytest.mark.parametrize("block", range(20))
def test_masks_over_odd_vocabularies(name: str, block: int) -> None:
    """A mask has the tokens that are accepted; within a budget, those after which the rest of it suffices."""
    vocabulary = VOCABULARIES[name]
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        try:
            matcher = engine_of_rules(random_grammar(seed), vocabulary, OPTIONS).matcher()
        except UnsatisfiableSchemaError:
            continue
        source = random.Random(seed)
        for _ in range(6):
            matcher.rollback(matcher.steps)
            while matcher.steps < 7 and not matcher.is_terminated():
                check_odd_place(matcher, vocabulary, source)
                assert matcher.accept_token(source.choice(sorted(mask_of(matcher, vocabulary))))


def check_odd_place(matcher: Any, vocabulary: Vocabulary, source: random.Random) -> None:
    """Check the mask of one place, and that within a budget."""
    mask = set(mask_of(matcher, vocabulary))
    assert mask == {each for each in range(vocabulary.size) if matcher.fork().accept_token(each)}
    left = matcher.tokens_to_finish()
    if left is None:
        return
    budget = left + source.randint(0, 2)
    needs = {each: tokens_after(matcher, each) for each in mask - {EOS}}
    kept = set(mask_of(matcher, vocabulary, budget=budget))
    assert kept <= mask
    assert kept - {EOS} == {each for each, need in needs.items() if need < budget}


def test_a_byte_that_no_token_writes_alone() -> None:
    """Where the shortest end has no tokens, a mask near the bound still has the tokens that are accepted."""
    vocabulary = Vocabulary([b"", b"a", b"bb", b"ab", b"ba", b"abb", b"aab", b";"], eos_token_ids=[EOS])
    rules = 'root ::= part ";"\npart[max_tokens=2] ::= "b" | "bb"+ "a" | "a"+ "bb"'
    matcher = schemagen.compile(schemagen.EBNF(rules), vocabulary).matcher()
    assert matcher.accept_token(1)
    assert mask_of(matcher, vocabulary) == {2, 5}
    assert {each for each in range(vocabulary.size) if matcher.fork().accept_token(each)} == {2, 5}
