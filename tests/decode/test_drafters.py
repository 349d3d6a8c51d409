"""What proposes tokens: prompts, counts, small models; and what a draft is worth."""

import pytest

from schemagen import Vocabulary

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from schemagen.decode.row_sampling import RowSampler  # noqa: E402 - needs torch
from schemagen.decode.speculation.choice import verified  # noqa: E402
from schemagen.decode.speculation.drafters import (  # noqa: E402
    CopyEnds,
    CountedTokens,
    Counts,
    PromptLookup,
    PromptMatches,
)
from schemagen.decode.speculation.drafts import Context  # noqa: E402
from schemagen.decode.speculation.memories import HitRates, PassTimes, best_count  # noqa: E402

WORDS = (b" Ada", b" Love", b"lace", b" lives", b" in", b" Paris", b".", b"Ada", b'"', b'",', b" ", b"a", b"is", b"Par")
VOCABULARY = Vocabulary.from_tokens([*WORDS, None], eos_token_ids=[len(WORDS)])
IDS = {data: token for token, data in enumerate(WORDS)}


def context(prompt, text):
    """Return the context of some tokens behind a prompt."""
    found = Context(VOCABULARY, [IDS[piece] for piece in prompt])
    for piece in text:
        found.append(IDS[piece])
    return found


class Somewhere:
    """A matcher that stands at one place."""

    def place(self):
        """Return its number."""
        return 7


PROMPT = (b" Ada", b" Love", b"lace", b" lives", b" in", b" Paris", b".")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ([b'"', b"Ada"], b" Love"),
        ([b'"', b"Ada", b" Love"], b"lace"),
        ([b'"', b"Par"], b"is"),
        ([b" ", b"a"], None),
        ([b'"'], None),
        ([], None),
    ],
)
def test_a_copy_is_found_by_its_bytes(text, expected):
    """Also where the prompt has a word in other tokens, or the text is within one; a letter within a word is no beginning."""
    draft = PromptLookup(PromptMatches(), IDS).propose(context(PROMPT, text), Somewhere(), 4)
    assert (None if draft is None else WORDS[draft.tokens[0]]) == expected


def test_the_ends_of_copies_are_learnt():
    """What was chosen where a copy was left is proposed where the next one comes to the same kind of byte."""
    matches, counts = PromptMatches(), Counts()
    ends = CopyEnds(matches, counts)
    first = context(PROMPT, [b'"', b"Ada", b" Love", b"lace"])
    assert ends.propose(first, Somewhere(), 4) is None
    ends.observe(first, Somewhere(), IDS[b'",'])
    again = context((b" Ada", b" lives", b"."), [b'"', b"Ada"])
    assert ends.propose(again, Somewhere(), 4).tokens == (IDS[b'",'],)
    ends.observe(again, Somewhere(), IDS[b" lives"])  # the copy goes on: that is no end
    assert ends.propose(again, Somewhere(), 4).tokens == (IDS[b'",'],)


def test_the_finest_view_that_knows_a_token_is_asked():
    """The place and two tokens, before the place alone, before what other grammars had."""
    counts = CountedTokens(Counts(), Counts())
    for _ in range(2):
        counts.observe(context((), [b"Ada", b'"']), Somewhere(), IDS[b"."])
    counts.observe(context((), [b"Par", b'"']), Somewhere(), IDS[b" "])
    asked = [context((), [before, b'"']) for before in (b"Ada", b"Par", b"a")]
    assert [WORDS[counts.propose(one, Somewhere(), 1).tokens[0]] for one in asked] == [b".", b" ", b"."]
    other = CountedTokens(Counts(), counts._of_model)
    assert WORDS[other.propose(asked[1], Somewhere(), 1).tokens[0]] == b" "


def test_counts_are_bounded():
    """Keys and the tokens of a key; what came least goes."""
    counts = Counts(size=10)
    for key in range(30):
        counts.learn((key,), 1)
    assert [counts.commonest((key,)) for key in (0, 19, 20, 29)] == [None, None, (1, 1, 0), (1, 1, 0)]
    for token in (5, 5, 6, 7, 8, 9, 9, 9):
        counts.learn(("many",), token)
    assert counts.commonest(("many",))[:2] == (9, 3)


def test_a_context_goes_back():
    """Cutting it takes tokens and bytes off again, special tokens, which have none, included."""
    found = context(PROMPT, [b"Ada", b" "])
    for token in (IDS[b"is"], len(WORDS), IDS[b"."]):
        found.append(token)
    assert found.text == b"Ada is."
    found.cut(2)
    assert (found.text, found.tokens) == (b"Ada ", [IDS[b"Ada"], IDS[b" "]])


@pytest.mark.parametrize(
    ("reach", "seconds", "expected"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4], {1: 1.0, 8: 1.1}, 7),
        ([0.9, 0.8, 0.7, 0.6, 0.5], {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 6: 6.0}, 0),
        ([0.9, 0.8, 0.1, 0.1], {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.5, 6: 2.0}, 2),
        ([], {}, 0),
    ],
)
def test_a_draft_is_as_long_as_it_pays(reach, seconds, expected):
    """Long where wide passes cost nothing, none where they cost as much as the tokens one by one."""
    times = PassTimes()
    for width, each in seconds.items():
        times.learn(width, each)
    assert best_count(reach, times) == expected


def test_one_slow_pass_is_not_believed():
    """The first pass of a process may take a hundred times as long; what is slow again and again is slow."""
    times = PassTimes()
    for seconds in (1.0, 100.0, 1.0, 1.0, 1.0, 1.0):
        times.learn(1, seconds)
    assert times.of(1) < 1.1
    for _ in range(60):
        times.learn(1, 100.0)
    assert times.of(1) > 50


def test_rates_follow_what_happens():
    """From a guess to what was seen, the last things counting most."""
    rates = HitRates()
    assert 0.3 < rates.of("new") < 0.9
    for _ in range(50):
        rates.learn("right", chosen=True)
        rates.learn("wrong", chosen=False)
    assert rates.of("right") > 0.95
    assert rates.of("wrong") < 0.05
    for _ in range(100):
        rates.learn("right", chosen=False)
    assert rates.of("right") < 0.4


def chi_square(counts, expected):
    """Return the statistic of counts under probabilities."""
    total = sum(counts)
    return sum((seen - total * p) ** 2 / (total * p) for seen, p in zip(counts, expected, strict=True) if p)


def draws(wanted, proposed, number):
    """Return how often each token came of drafts that were drawn from another distribution."""
    sampler = RowSampler([1])
    drafter = RowSampler([2])
    counts = [0] * len(wanted)
    for _ in range(number):
        counts[verified(wanted, proposed, drafter.draw(proposed), sampler)] += 1
    return counts


PAIRS = {
    "alike": ([0.5, 0.3, 0.15, 0.05], [0.4, 0.4, 0.1, 0.1]),
    "a mask that the draft did not have": ([0.0, 0.7, 0.0, 0.3], [0.25, 0.25, 0.25, 0.25]),
    "elsewhere": ([0.01, 0.01, 0.49, 0.49], [0.49, 0.49, 0.01, 0.01]),
    "the same": ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4]),
}
#: Of 3 degrees of freedom, at 1 in 10,000.
WORST = 21.1


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("number", [10_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_drafts_that_are_drawn_change_no_distribution(name, number):
    """Tokens are distributed as the model wants them, wherever the drafts came from; no forbidden one ever comes."""
    wanted, proposed = (torch.tensor(part, dtype=torch.float64) for part in PAIRS[name])
    counts = draws(wanted, proposed, number)
    assert all(not seen for seen, p in zip(counts, PAIRS[name][0], strict=True) if not p)
    assert chi_square(counts, PAIRS[name][0]) < WORST
