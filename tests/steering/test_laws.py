"""What is drawn has the law of the mask, restricted to what validators and checkers accept."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

import pytest
import torch
from pydantic import AfterValidator

import schemagen
from schemagen.decode.row_sampling import RowSampler
from schemagen.decode.speculation import Loop
from schemagen.decode.token_records import Records
from schemagen.options.sampling import Sampling
from schemagen.steering.plan import guide_of
from schemagen.testing import mask_of
from tests.steering.toys import VOCABULARY, Judge, model

PROMPT = [1, 2, 3]
END = VOCABULARY.eos_token_ids[0]
OPTIONS = ("a", "ab", "aba", "b", "ba", "x", "xy", "y")


def law(grammar, is_vetoed=lambda _text: False):
    """Return the probability of each text, tokens summed, when every step is masked, and vetoed tokens are left out."""
    found = Counter()

    def go_on(tokens, chance, matcher):
        with torch.inference_mode():
            logits = model(1)(input_ids=torch.tensor([[*PROMPT, *tokens]])).logits[0, -1].double()
        text = VOCABULARY.decode(tokens).decode()
        allowed = [
            token
            for token in mask_of(matcher, VOCABULARY)
            if token == END or not is_vetoed(text + VOCABULARY.decode([token]).decode())
        ]
        chances = torch.softmax(logits[allowed], dim=-1).tolist()
        for token, each in zip(allowed, chances, strict=True):
            if token == END:
                found[text] += chance * each
            else:
                following = matcher.fork()
                following.accept_token(token)
                go_on([*tokens, token], chance * each, following)

    go_on([], 1.0, grammar.matcher())
    return found


def drawn(grammar, count, **options):
    """Draw texts with a guide."""
    found = Counter()
    for seed in range(count):
        guide = guide_of(grammar, **options)
        loop = Loop(model(1), torch.tensor([PROMPT]), grammar, 40, sampler=RowSampler([seed], Sampling()), guide=guide)
        list(loop.steps())
        found[VOCABULARY.decode([token for token in loop.run.token_ids if token != END]).decode()] += 1
    return found


def chi_square(found, expected):
    """Return the statistic in units of its standard deviation above its mean."""
    count = sum(found.values())
    assert set(found) <= {text for text, chance in expected.items() if chance > 0}
    statistic = sum(
        (found[text] - count * chance) ** 2 / (count * chance) for text, chance in expected.items() if chance
    )
    freedom = sum(chance > 0 for chance in expected.values()) - 1
    return (statistic - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize("count", [pytest.param(600), pytest.param(20_000, marks=pytest.mark.slow)])
def test_validators_leave_the_law_of_what_they_accept(count):
    """A field that is drawn again has the law of the mask among the values that are left, not that of their neighbours."""
    judge = Judge(0.5, 11)
    grammar = schemagen.compile(Annotated[Literal[OPTIONS], AfterValidator(judge)], VOCABULARY)
    of_mask = law(grammar)
    left = {text: chance for text, chance in of_mask.items() if not judge.refuses(text.strip('"'))}
    assert 0.05 < sum(left.values()) < 0.95, "some values are refused, and some are not"
    expected = {text: chance / sum(left.values()) for text, chance in left.items()}
    assert chi_square(drawn(grammar, count, tries=20), expected) < 4


@pytest.mark.parametrize("count", [pytest.param(600), pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_checker_leaves_the_law_of_the_tokens_that_it_lets_through(count):
    """Tokens that are vetoed after they were drawn leave the others with their own probabilities."""
    grammar = schemagen.compile(schemagen.Regex("[abxy]{1,3}"), VOCABULARY)
    checker = schemagen.Checker(lambda text: "no double letters" if any(c * 2 in text for c in "abxy") else None)
    expected = law(grammar, lambda text: checker.next(text) is not None)
    assert chi_square(drawn(grammar, count, checker=checker), expected) < 4


def test_fields_are_drawn_as_their_type_says():
    """A field with a temperature varies with the seed; the others are the likeliest tokens after it."""
    kinds = {
        "a": (Annotated[Literal[OPTIONS], Sampling(temperature=3.0)], ...),
        "b": (Literal[OPTIONS], ...),
    }
    from pydantic import create_model

    grammar = schemagen.compile(create_model("Value", **kinds), VOCABULARY, whitespace="compact")
    texts = set()
    for seed in range(40):
        sampler = RowSampler([seed], None)
        loop = Loop(
            model(1), torch.tensor([PROMPT]), grammar, 40, sampler=sampler, guide=guide_of(grammar), records=Records()
        )
        list(loop.steps())
        text = VOCABULARY.decode([token for token in loop.run.token_ids if token != END]).decode()
        texts.add(text)
        after = text.index('"b":') + len('"b":')
        place = 0
        for token, record in zip(loop.run.token_ids, loop.run.records.tokens, strict=True):
            if place >= after:
                best = max([other.log_probability for other in record.alternatives if other.allowed], default=-1e9)
                assert record.raw_log_probability >= best
            place += len(VOCABULARY.decode([token])) if token != END else 0
    assert len(texts) > 4
