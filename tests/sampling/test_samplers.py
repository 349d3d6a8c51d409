"""Each sampler has the exact conditional law, by itself or with its weights, where a mask alone has another."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from types import SimpleNamespace
from typing import Annotated, ClassVar

import pytest
import torch
from pydantic import AfterValidator

import schemagen
from schemagen.decode.generate import decode, inputs_of
from schemagen.errors import LimitError, OptionError, ValidationFailed
from schemagen.generation import Generation
from schemagen.options.sampling import Sampling
from schemagen.sampling import Samples
from schemagen.sampling.drawing import draw_texts
from schemagen.vocabulary.canonical import CanonicalTokens
from tests.confidence.test_distributions import every_path
from tests.steering.toys import PIECES, VOCABULARY, model

COUNTS = [pytest.param(2000), pytest.param(100_000, marks=pytest.mark.slow)]


class Table:
    """A model over "0", "1" and EOS whose probabilities stand in a table, as on the page of distributions."""

    CHANCES: ClassVar = {"": (0.9, 0.1, 0.0), "0": (0.99, 0.01, 0.0), "1": (0.5, 0.5, 0.0)}  # fmt: skip
    config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(max_position_embeddings=64))
    device = torch.device("cpu")

    def __call__(self, input_ids):
        """Return the logits of every place; the prompt is one token."""
        logits = torch.full((*input_ids.shape, 3), -40.0)
        for row, ids in enumerate(input_ids.tolist()):
            for place in range(len(ids)):
                text = "".join(str(token) for token in ids[1 : place + 1])
                chances = self.CHANCES.get(text, (0.0, 0.0, 1.0))
                logits[row, place] = torch.tensor([log(chance) if chance else -40.0 for chance in chances])
        return SimpleNamespace(logits=logits)


TOY = schemagen.Vocabulary.from_tokens(["0", "1", None], eos_token_ids=[2])
#: The law of the model among "01" and "11": 0.9 * 0.01 and 0.1 * 0.5.
EXACT = {"01": 0.009 / 0.059, "11": 0.05 / 0.059}
MASKED = {"01": 0.9, "11": 0.1}


def drawn(lm, grammar, count, sampler, *, prompt=(0,), seed=3, accepts=lambda _: True, **options):
    """Draw texts; return them with their weights."""
    own = {"sampling": Sampling(), "budget": 20, "max_attempts": 10**7, **options}
    found = draw_texts(lm, prompt, grammar, count, sampler=sampler, seed=seed, accepts=accepts, **own)
    ends = grammar.vocabulary.eos_token_ids
    texts = [
        grammar.vocabulary.decode([token for token in text.token_ids if token not in ends]).decode()
        for text in found.texts
    ]
    return texts, [text.log_weight for text in found.texts], found


def weighted(texts, logs):
    """Return the weighted share of each text."""
    shares = Counter()
    for text, each in zip(texts, logs, strict=True):
        shares[text] += exp(each)
    total = sum(shares.values())
    return {text: share / total for text, share in shares.items()}


def deviations(texts, expected):
    """Return how far the counts are from a law: the chi-square statistic above its mean, in standard deviations."""
    counts, size = Counter(texts), len(texts)
    assert set(counts) <= set(expected)
    statistic = sum((counts[text] - size * chance) ** 2 / (size * chance) for text, chance in expected.items())
    freedom = len(expected) - 1
    return (statistic - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize("count", COUNTS)
def test_the_toy_of_the_page(count):
    """0.153 and 0.847 by rejection, AWRS and SMC; 0.9 and 0.1 by the mask."""
    grammar = schemagen.compile(schemagen.Regex("[01]1"), TOY)
    texts, _, found = drawn(Table(), grammar, count, "rejection")
    assert deviations(texts, EXACT) < 4
    assert exp(found.log_evidence) == pytest.approx(0.059, rel=0.2)
    texts, logs, found = drawn(Table(), grammar, count, "mask")
    assert deviations(texts, MASKED) < 4
    assert deviations(texts, EXACT) > 100
    for sampler in ("mask", "awrs", "smc"):
        texts, logs, found = drawn(Table(), grammar, count, sampler)
        assert weighted(texts, logs)["01"] == pytest.approx(EXACT["01"], abs=6 / count**0.5)
        assert exp(found.log_evidence) == pytest.approx(0.059, abs=2 / count**0.5)


GRAMMARS = [
    schemagen.Regex("[ab]{1,2}x"),
    schemagen.Choice(["a", "ab", "aba", "77", "7x"]),
    schemagen.Regex("(12|77)?y"),
]


def conditional(seed, grammar):
    """Return the law of the model among the texts of a grammar, and their probability together."""
    chances = Counter()
    for tokens, chance, _ in every_path(seed, grammar.matcher()):
        chances[VOCABULARY.decode(tokens[:-1]).decode()] += chance
    total = sum(chances.values())
    return {text: chance / total for text, chance in chances.items()}, total


@pytest.mark.parametrize("spec", GRAMMARS, ids=str)
@pytest.mark.parametrize("count", [pytest.param(400), pytest.param(100_000, marks=pytest.mark.slow)])
def test_languages_with_many_tokens_for_a_text(spec, count):
    """All tokens of a text count, EOS included."""
    grammar = schemagen.compile(spec, VOCABULARY)
    law, total = conditional(1, grammar)
    texts, _, found = drawn(model(1), grammar, count, "rejection", prompt=(1, 2, 3))
    assert deviations(texts, law) < 4
    assert exp(found.log_evidence) == pytest.approx(total, rel=0.3)
    for sampler in ("mask", "awrs", "smc"):
        texts, logs, found = drawn(model(1), grammar, count, sampler, prompt=(1, 2, 3))
        shares = weighted(texts, logs)
        for text, chance in law.items():
            assert shares.get(text, 0.0) == pytest.approx(chance, abs=12 / count**0.5)
        assert found.log_evidence == pytest.approx(log(total), abs=12 / count**0.5)


@pytest.mark.parametrize("spec", GRAMMARS, ids=str)
@pytest.mark.parametrize("count", [pytest.param(400), pytest.param(100_000, marks=pytest.mark.slow)])
def test_canonical_tokens_are_a_part_of_the_language(spec, count):
    """The law is that of the model among the texts in the tokens that the tokenizer writes."""
    tokenizers = pytest.importorskip("tokenizers")
    merges = [("a", "b"), ("b", "a"), ("1", "2"), ("7", "7")]
    encoder = tokenizers.Tokenizer(tokenizers.models.BPE({piece: k for k, piece in enumerate(PIECES)}, merges))
    grammar = schemagen.compile(spec, VOCABULARY)
    law = Counter()
    for tokens, chance, _ in every_path(1, grammar.matcher()):
        text = VOCABULARY.decode(tokens[:-1]).decode()
        if encoder.encode(text).ids == list(tokens[:-1]):
            law[text] += chance
    assert set(law) == set(conditional(1, grammar)[0])
    total = sum(law.values())
    assert total < conditional(1, grammar)[1]
    law = {text: chance / total for text, chance in law.items()}
    canonical = CanonicalTokens(encoder, VOCABULARY).text()
    for sampler in ("rejection", "mask", "awrs", "smc"):
        texts, logs, found = drawn(model(1), grammar, count, sampler, prompt=(1, 2, 3), canonical=canonical)
        shares = weighted(texts, logs)
        if sampler == "rejection":
            assert deviations(texts, law) < 4
        for text, chance in law.items():
            assert shares.get(text, 0.0) == pytest.approx(chance, abs=12 / count**0.5)
        assert found.log_evidence == pytest.approx(log(total), abs=12 / count**0.5)


@pytest.mark.parametrize("spec", [*GRAMMARS, schemagen.Regex("[ab]{1,3}[xy0-9]")], ids=str)
def test_beams_look_for_the_likeliest_text_of_the_language(spec):
    """They score whole texts by the model's own law, so enough of them find its mode, where greedy search need not."""
    grammar = schemagen.compile(spec, VOCABULARY)
    chances = {tuple(tokens): chance for tokens, chance, _ in every_path(1, grammar.matcher())}
    options = {"max_new_tokens": 8, "length_penalty": 0.0}
    found = [
        tuple(decode(model(1), inputs_of([(1, 2, 3)], 0, "cpu"), grammar, num_beams=beams, **options).token_ids)
        for beams in (1, 64)
    ]
    assert found[1] == max(chances, key=chances.get)[: len(found[1])]
    assert chances[found[1]] >= chances[found[0]]


def test_a_validator_is_a_part_of_the_language():
    """Texts that it refuses are drawn again, or weigh nothing."""
    grammar = schemagen.compile(schemagen.Choice(["a", "ab", "aba", "77", "7x"]), VOCABULARY)
    law, _ = conditional(1, grammar)
    kept = {text: chance for text, chance in law.items() if "7" not in text}
    kept = {text: chance / sum(kept.values()) for text, chance in kept.items()}

    def accepts(text):
        return b"7" not in VOCABULARY.decode(text.token_ids[:-1])

    texts, _, _ = drawn(model(1), grammar, 400, "rejection", prompt=(1, 2, 3), accepts=accepts)
    assert deviations(texts, kept) < 4
    texts, logs, _ = drawn(model(1), grammar, 400, "mask", prompt=(1, 2, 3), accepts=accepts)
    assert all((each == float("-inf")) == ("7" in text) for text, each in zip(texts, logs, strict=True))


class Rare(Table):
    """A model that ends "11" hardly ever, and writes "0" at the start with a tiny probability."""

    CHANCES: ClassVar = {"": (1e-13, 1.0, 0.0), "0": (0.0, 1.0, 0.0), "11": (0.9, 0.0, 0.1), "1": (0.5, 0.5, 0.0)}


@pytest.mark.parametrize("sampler", ["rejection", "mask", "awrs", "smc"])
def test_tokens_of_tiny_probability_are_drawn_where_they_are_forced(sampler):
    """They are as exact as others."""
    grammar = schemagen.compile(schemagen.Regex("01"), TOY)
    texts, _, _ = drawn(Rare(), grammar, 20, sampler)
    assert set(texts) == {"01"}


@pytest.mark.parametrize("budget", [2, 3, 20])
def test_the_end_counts_at_the_edge_of_the_budget(budget):
    """A text of as many tokens as the budget is ended by EOS with the probability of EOS."""
    grammar = schemagen.compile(schemagen.Regex("[01]1"), TOY)
    law = {"01": 1e-13, "11": 0.5 * 0.1}
    texts, _, found = drawn(Rare(), grammar, 200, "mask", budget=budget)
    assert found.log_evidence == pytest.approx(log(sum(law.values())), abs=0.1)
    assert set(texts) == {"11"}
    texts, _, found = drawn(Rare(), grammar, 50, "rejection", budget=budget)
    assert found.log_evidence == pytest.approx(log(0.05), abs=0.5)


@pytest.mark.parametrize("sampler", ["mask", "awrs", "smc"])
def test_a_cut_that_leaves_nothing_weighs_nothing(sampler):
    """`top_p` shapes the law before it is conditioned; texts that it makes impossible have no weight."""
    grammar = schemagen.compile(schemagen.Regex("[01]1"), TOY)
    texts, logs, _ = drawn(Table(), grammar, 200, sampler, sampling=Sampling(top_p=0.95))
    alive = [text for text, each in zip(texts, logs, strict=True) if each > float("-inf")]
    assert 0 < len(alive) <= 200
    assert set(alive) == {"11"}


@pytest.mark.parametrize("seed", range(4))
def test_a_checked_token_is_one_of_the_mask(seed):
    """At every place of random texts, with room to spare and without."""
    import random

    from schemagen.decode.token_tree import TokenTree
    from schemagen.sampling.texts import Law

    draw = random.Random(seed)
    for budget in (2, 3, 5, 9):
        grammar = schemagen.compile(draw.choice([*GRAMMARS, schemagen.Regex("(ab|x){1,3}y?")]), VOCABULARY)
        law = Law(TokenTree(model(1), (1, 2, 3)), grammar, Sampling(), budget)
        text = law.begin(seed)
        while not law.is_over(text):
            allowed = law.allowed(text, torch.ones(VOCABULARY.size, dtype=torch.float64)).nonzero()[:, 0].tolist()
            assert [token for token in range(VOCABULARY.size) if law.allows(text, token)] == allowed
            law.extend(text, draw.choice(allowed))


def test_attempts_get_fewer():
    """What is known to be outside is not drawn again: all of it, once the tree is known."""
    grammar = schemagen.compile(schemagen.Regex("[01]1"), TOY)
    _, _, found = drawn(Table(), grammar, 200, "rejection")
    assert found.attempts < 200 + 100
    with pytest.raises(LimitError, match="of 200 samples after 20 attempts"):
        drawn(Table(), grammar, 200, "rejection", max_attempts=20)
    unlikely = schemagen.compile(schemagen.Regex("000"), TOY)
    assert drawn(Table(), unlikely, 3, "rejection", max_attempts=500)[0] == ["000"] * 3


@pytest.mark.parametrize("sampler", ["rejection", "mask", "awrs", "smc"])
def test_equal_seeds_draw_equal_texts(sampler):
    """And other seeds other ones."""
    grammar = schemagen.compile(schemagen.Regex("[abxy]{1,6}"), VOCABULARY)
    first, again, other = (drawn(model(2), grammar, 30, sampler, seed=seed)[:2] for seed in (1, 1, 2))
    assert first == again
    assert first[0] != other[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_distortion_is_within_its_error(seed):
    """The estimate is the divergence of the law of the mask from the exact one, give or take a few standard errors."""
    grammar = schemagen.compile(GRAMMARS[seed % 3], VOCABULARY)
    law, total = conditional(seed, grammar)
    divergence = sum(
        masked * (log(masked) - log(chance / total))
        for _, chance, masked in every_path(seed, grammar.matcher())
        if masked > 0
    )  # over tokens: the laws of texts sum over them
    texts, logs, found = drawn(model(seed), grammar, 800, "mask", prompt=(1, 2, 3))
    made = [Generation(text, text, (), 1, 0.0, None, log_weight=each) for text, each in zip(texts, logs, strict=True)]
    estimate = Samples(made, "mask", found.log_evidence, 800).distortion
    assert abs(estimate.nats - divergence) <= 4 * estimate.error + 1e-3
    assert law


def samples(values, logs, sampler="awrs"):
    """Return samples of values."""
    made = [
        Generation(value, str(value), (), 1, 0.0, None, log_weight=each)
        for value, each in zip(values, logs, strict=True)
    ]
    return Samples(made, sampler, 0.0, len(values))


def test_figures_of_samples_by_hand():
    """Weights 1, 1, 2: shares of 1/4 and 1/2, worth 8/3 samples."""
    found = samples([1, 2, 3], [0.0, 0.0, log(2)])
    assert found.weights == pytest.approx([0.25, 0.25, 0.5])
    assert found.effective_size == pytest.approx(16 / 6)
    assert found.mode() == 3
    assert found.mean(lambda value: value) == pytest.approx(2.25)
    assert next(iter(found.vote())) == 3
    assert found.vote(lambda value: value > 1) == pytest.approx({True: 0.75, False: 0.25})
    assert found.distortion is None
    assert found[1].value == 2
    assert [each.value for each in found[1:]] == [2, 3]
    assert len(found) == 3
    assert "weight" in found._repr_html_()
    assert "3 by 'awrs'" in repr(found)
    with pytest.raises(OptionError, match="cannot be counted"):
        samples([[1]], [0.0]).vote()


PROMPT = "Ada Lovelace, 36, London"


@pytest.fixture(scope="module")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()


@pytest.mark.parametrize("sampler", ["rejection", "mask", "awrs", "smc"])
def test_values_are_instances(lm, sampler):
    """Each sample is a generation, in the order in which it was drawn."""
    found = lm.sample(PROMPT, Annotated[int, AfterValidator(lambda value: value)], 5, sampler=sampler, seed=1)
    assert len(found) == 5
    assert all(isinstance(each.value, int) for each in found)
    assert all(each.log_weight is not None for each in found)
    assert found.sampler == sampler
    again = lm.sample(PROMPT, Annotated[int, AfterValidator(lambda value: value)], 5, sampler=sampler, seed=1)
    assert [each.text for each in again] == [each.text for each in found]


def test_validators_and_budgets(lm):
    """Refused values are not among the samples; texts end within the budget."""

    def odd(value):
        if value % 2 == 0:
            raise ValueError("even")
        return value

    kind = Annotated[int, AfterValidator(odd)]
    assert all(each.value % 2 for each in lm.sample(PROMPT, kind, 4, seed=2))
    texts = lm.sample(PROMPT, str, 6, sampler="smc", seed=1, max_new_tokens=6)
    assert all(each.new_tokens <= 6 for each in texts)

    def never(_):
        raise ValueError("never")

    with pytest.raises(ValidationFailed):
        lm.sample(PROMPT, Annotated[bool, AfterValidator(never)], 2, sampler="mask")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sampler": "beam"}, "sampler='beam'"),
        ({"sampling": Sampling(temperature=0)}, "sampling="),
        ({"sampling": 0.7}, "sampling=0.7"),
        ({"n": 0}, "n=0"),
        ({"max_attempts": 0}, "max_attempts=0"),
        ({"max_new_tokens": -1}, "max_new_tokens=-1"),
        ({"seed": "x"}, "seed='x'"),
    ],
)
def test_wrong_values_are_refused(lm, options, told):
    """Each names the argument."""
    with pytest.raises(OptionError, match=told):
        lm.sample(PROMPT, bool, **options)


def test_a_drawn_generation_has_its_weight(lm):
    """The weight of a single text is that of the mask; a greedy one has it, too."""
    found = lm.run("The weather is fine.", bool, temperature=1.0, seed=1)
    assert found.log_weight < 0
    assert found.distortion == -found.log_weight
    assert lm.run_batch([PROMPT, PROMPT], bool)[0].distortion is None
