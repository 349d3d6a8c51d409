"""`LogitsProcessor` and `Sequences` against a matcher that is nothing but a list of texts."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import pytest
import torch

import schemagen
from schemagen.decode import DeviceLogitsProcessor, LogitsProcessor
from schemagen.errors import BitmaskShapeError, DeadEndError, LogitsError, MatcherError, OptionError, OptionTypeError
from schemagen.masks.logits import _shift, _unpack
from schemagen.vocabulary import Vocabulary

EOS, PAD, SIZE = 8, 9, 10
PROMPT = [7, 7]
BYTES = [*(bytes([i]) for i in range(256)), None]


class ListMatcher:
    """Accepts the tokens of one of a few sequences, then EOS."""

    def __init__(self, texts, seen=(), counter=None):
        self.texts = texts
        self.seen = list(seen)
        self.counter = counter if counter is not None else {"accepted": 0, "filled": 0}

    def allowed_tokens(self):
        """Return the next token of every text that fits so far."""
        ends = len(self.seen)
        found = {(*text, EOS)[ends] for text in self.texts if list(text[:ends]) == self.seen and ends <= len(text)}
        return sorted(found)

    def fill_next_token_bitmask(self, bitmask, row=0):
        """Write them as bits."""
        self.counter["filled"] += 1
        bitmask[row] = 0
        for token in self.allowed_tokens():
            bitmask[row, token // 32] |= 1 << token % 32
        return True

    def accept_token(self, token_id):
        """Advance by an allowed token."""
        self.counter["accepted"] += 1
        if self.is_terminated() or token_id not in self.allowed_tokens():
            return False
        self.seen.append(token_id)
        return True

    def is_terminated(self):
        """Whether EOS came."""
        return self.seen[-1:] == [EOS]

    def rollback(self, count=1):
        """Undo."""
        del self.seen[len(self.seen) - count :]

    def fork(self):
        """Copy."""
        return ListMatcher(self.texts, self.seen, self.counter)

    def reset(self):
        """Start again."""
        self.seen.clear()


def grammar(*texts):
    """Return a grammar of exactly these token sequences, which counts what its matchers do."""
    counter = {"accepted": 0, "filled": 0}
    vocabulary = SimpleNamespace(size=SIZE, eos_token_ids=(EOS,), decode=bytes)
    return SimpleNamespace(
        vocabulary=vocabulary,
        matcher=lambda: ListMatcher(texts, counter=counter),
        has_temperatures=False,
        has_inner_ends=False,
        counter=counter,
    )


def allowed(processor, rows, width=SIZE):
    """Return the tokens that are left of uniform scores, per row."""
    scores = processor(torch.tensor(rows), torch.zeros(len(rows), width))
    return [row.isfinite().nonzero().flatten().tolist() for row in scores]


def test_only_the_tokens_of_the_grammar_stay_finite():
    """Step by step, exactly the continuations of the texts are left, then EOS."""
    processor = LogitsProcessor(grammar((1, 2), (1, 3)))
    assert allowed(processor, [PROMPT]) == [[1]]
    assert allowed(processor, [[*PROMPT, 1]]) == [[2, 3]]
    assert allowed(processor, [[*PROMPT, 1, 3]]) == [[EOS]]
    assert processor.constrained_steps == 3


def test_logits_wider_than_the_vocabulary_are_masked_beyond_it():
    """Padding of the logits is never allowed."""
    assert allowed(LogitsProcessor(grammar((1,))), [PROMPT], width=50) == [[1]]


def test_logits_narrower_than_the_vocabulary_are_refused():
    """A model that is narrower than the vocabulary cannot be masked."""
    with pytest.raises(BitmaskShapeError, match="width 9 for a vocabulary of 10"):
        LogitsProcessor(grammar((1,)))(torch.tensor([PROMPT]), torch.zeros(1, 9))


def test_finished_rows_cost_nothing_and_may_only_end():
    """After EOS a row allows EOS and padding, and its matcher is not asked again."""
    first = grammar((1,))
    processor = LogitsProcessor(first, pad_token_id=PAD)
    for ids in (PROMPT, [*PROMPT, 1], [*PROMPT, 1, EOS]):
        allowed(processor, [ids])
    before = dict(first.counter)
    assert allowed(processor, [[*PROMPT, 1, EOS, PAD]]) == [[EOS, PAD]]
    assert first.counter == before


def test_padding_beyond_the_vocabulary_is_allowed_after_the_end():
    """The padding token of a model may lie in the surplus of its logits."""
    processor = LogitsProcessor(grammar((1,)), pad_token_id=SIZE + 40)
    for ids in (PROMPT, [*PROMPT, 1], [*PROMPT, 1, EOS]):
        found = allowed(processor, [ids], width=SIZE + 50)
    assert found == [[EOS, SIZE + 40]]
    assert allowed(processor, [[*PROMPT, 1, EOS, EOS]], width=SIZE + 20) == [[EOS]]


def test_grammars_of_vocabularies_of_different_widths():
    """Each row is masked by the width of its own vocabulary."""
    narrow, wide = (Vocabulary.byte_vocabulary(), Vocabulary.from_tokens([*BYTES, *[b"ab"] * 50], eos_token_ids=(256,)))
    processor = LogitsProcessor([schemagen.compile(schemagen.Choice(["ab"]), v) for v in (narrow, wide, narrow)])
    scores = processor(torch.tensor([[1], [1], [1]]), torch.zeros(3, 310))
    found = [row.isfinite().nonzero().flatten().tolist() for row in scores]
    assert found == [[97], [97, *range(257, 307)], [97]]


def test_one_grammar_per_row_and_none_for_free_rows():
    """A list of grammars constrains row by row; None leaves its row as it was."""
    processor = LogitsProcessor([grammar((1,)), None, grammar((3,))])
    assert allowed(processor, [[7], [7], [7]]) == [[1], list(range(SIZE)), [3]]


def test_rows_of_a_prompt_share_its_grammar():
    """With two rows per prompt the rows 0 and 1 follow the first grammar, 2 and 3 the second."""
    processor = LogitsProcessor([grammar((1,)), grammar((3,))])
    assert allowed(processor, [[7]] * 4) == [[1], [1], [3], [3]]


def test_rows_that_do_not_divide_among_the_grammars_are_refused():
    """Three rows cannot belong to two prompts."""
    with pytest.raises(MatcherError, match="3 rows and 2 grammars"):
        allowed(LogitsProcessor([grammar((1,)), grammar((3,))]), [[7]] * 3)


def test_permuted_beams_take_their_matchers_along():
    """After a reordering every row continues the text it now holds, in one matcher step."""
    first = grammar((1, 2, 5), (3, 4, 6))
    processor = LogitsProcessor([first])
    allowed(processor, [PROMPT, PROMPT])
    allowed(processor, [[*PROMPT, 1], [*PROMPT, 3]])
    before = first.counter["accepted"]
    assert allowed(processor, [[*PROMPT, 3, 4], [*PROMPT, 1, 2]]) == [[6], [5]]
    assert first.counter["accepted"] == before + 2


def test_a_doubled_beam_does_not_disturb_its_twin():
    """Two rows that go on from the same text in different ways stay apart."""
    processor = LogitsProcessor([grammar((1, 2, 5), (1, 3, 6))])
    allowed(processor, [PROMPT, PROMPT])
    allowed(processor, [[*PROMPT, 1], [*PROMPT, 1]])
    assert allowed(processor, [[*PROMPT, 1, 3], [*PROMPT, 1, 2]]) == [[6], [5]]
    assert allowed(processor, [[*PROMPT, 1, 2, 5], [*PROMPT, 1, 3, 6]]) == [[EOS], [EOS]]


def test_dead_beams_are_tolerated_as_filling():
    """A beam that was filled up with a forbidden token may only end; the others go on."""
    processor = LogitsProcessor([grammar((1, 2))])
    allowed(processor, [PROMPT, PROMPT])
    assert allowed(processor, [[*PROMPT, 1], [*PROMPT, 5]]) == [[2], [EOS]]


def test_a_foreign_token_in_a_single_row_is_an_error():
    """Where no beam search explains it, a forbidden token fails closed."""
    processor = LogitsProcessor(grammar((1, 2)))
    allowed(processor, [PROMPT])
    with pytest.raises(MatcherError, match="contains token 5"):
        allowed(processor, [[*PROMPT, 5]])


def test_assisted_decoding_may_go_back():
    """Shorter rows of the same prompt rewind the matcher."""
    processor = LogitsProcessor(grammar((1, 2, 5), (1, 3, 6)))
    for ids in ([], [1], [1, 2], [1, 2, 5]):
        allowed(processor, [PROMPT + ids])
    assert allowed(processor, [[*PROMPT, 1, 3]]) == [[6]]
    assert allowed(processor, [[*PROMPT, 1]]) == [[2, 3]]


def test_going_back_behind_eos_replays_the_text():
    """A candidate that had ended is continued after all."""
    processor = LogitsProcessor(grammar((1,), (1, 2)))
    for ids in ([], [1], [1, EOS]):
        allowed(processor, [PROMPT + ids])
    assert allowed(processor, [[*PROMPT, 1]]) == [[2, EOS]]
    assert allowed(processor, [[*PROMPT, 1, 2]]) == [[EOS]]


def test_the_next_generation_needs_no_reset():
    """The same object serves the same prompt again, another prompt, and another batch size."""
    processor = LogitsProcessor(grammar((1, 2)))
    for prompt in (PROMPT, PROMPT, [6], [6, 6, 6, 6, 6, 6]):
        assert allowed(processor, [prompt]) == [[1]]
        assert allowed(processor, [[*prompt, 1]]) == [[2]]
    assert allowed(processor, [[6], [5]]) == [[1], [1]]


def test_a_prompt_that_begins_like_the_last_text_is_another_one():
    """A longer prompt with the same start is no continuation of the generation before."""
    processor = LogitsProcessor(grammar((1, 2, 3, 4, 5)))
    for ids in ([], [1], [1, 2], [1, 2, 3]):
        allowed(processor, [PROMPT + ids])
    assert allowed(processor, [[*PROMPT, 6, 6]]) == [[1]]
    assert allowed(processor, [[*PROMPT, 6, 6, 1]]) == [[2]]
    assert allowed(processor, [[*PROMPT, 6]]) == [[1]]


def test_reset_starts_anew_in_the_middle_of_a_text():
    """After reset() an unfinished text may be the prompt of the next generation."""
    processor = LogitsProcessor(grammar((1, 1, 2)))
    for ids in ([], [1]):
        allowed(processor, [PROMPT + ids])
    processor.reset()
    assert allowed(processor, [[*PROMPT, 1, 1]]) == [[1]]
    assert processor.constrained_steps == 1


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("token", range(SIZE))
def test_one_nan_is_an_error(token, inplace):
    """Wherever it is: a model that computes one such number is broken."""
    processor = LogitsProcessor([grammar((1,), (2,))] * 2, inplace=inplace)
    allowed(processor, [PROMPT, PROMPT])
    scores = torch.zeros(2, SIZE)
    scores[1, token] = float("nan")
    with pytest.raises(LogitsError, match="NaN") as caught:
        processor(torch.tensor([[*PROMPT, 1], [*PROMPT, 2]]), scores)
    error = caught.value
    assert (error.row, error.step, error.at, error.text) == (1, 1, "row 1, step 1", "\x02")
    assert inplace or error.fact == "1 of 10 logits are NaN"


def test_logits_that_are_all_minus_infinity_are_an_error():
    """There is nothing to choose from."""
    with pytest.raises(LogitsError, match="all 10 logits are -inf"):
        LogitsProcessor(grammar((1,), (2,)))(torch.tensor([PROMPT]), torch.full((1, SIZE), float("-inf")))


def test_what_is_allowed_and_what_others_forbid_may_leave_nothing():
    """Another processor has forbidden all that the grammar allows: neither of them is ignored."""
    scores = torch.zeros(1, SIZE)
    scores[0, 1:3] = float("-inf")
    with pytest.raises(LogitsError, match="the 2 tokens that the grammar allows are all -inf") as caught:
        LogitsProcessor(grammar((1,), (2,)))(torch.tensor([PROMPT]), scores)
    assert "suppress_tokens" in caught.value.why


def test_a_row_that_is_over_may_have_any_logits():
    """What a model computes behind the end of a text is of no interest."""
    processor = LogitsProcessor(grammar((1,)), pad_token_id=PAD)
    for ids in (PROMPT, [*PROMPT, 1]):
        allowed(processor, [ids])
    masked = processor(torch.tensor([[*PROMPT, 1, EOS]]), torch.full((1, SIZE), float("nan")))
    assert masked.isfinite().nonzero().tolist() == [[0, EOS], [0, PAD]]


def test_rows_without_a_grammar_may_have_any_logits():
    """They are left as they are."""
    scores = torch.full((1, SIZE), float("nan"))
    assert LogitsProcessor([None])(torch.tensor([PROMPT]), scores) is scores


@pytest.mark.parametrize("places", [range(SIZE), [1], [7]])
def test_an_infinite_logit_is_an_error(places):
    """Its softmax is no distribution, whether the token is allowed or not."""
    scores = torch.zeros(1, SIZE)
    scores[0, list(places)] = float("inf")
    with pytest.raises(LogitsError, match=f"{len(set(places) - {EOS})} of 10 logits are inf"):
        LogitsProcessor(grammar((1,), (2,)))(torch.tensor([PROMPT]), scores)


@pytest.mark.parametrize("given", [int, "text", 3, {"type": "integer"}, [int], [None, "text"]])
@pytest.mark.parametrize("processor", [LogitsProcessor, DeviceLogitsProcessor])
def test_what_is_no_grammar_is_refused_at_once(given, processor):
    """A type has to be compiled first."""
    with pytest.raises(OptionTypeError, match=f"the grammar of a {processor.__name__} is") as caught:
        processor(given)
    assert "schemagen.compile(" in caught.value.fix


def test_an_empty_mask_is_an_error():
    """A grammar without a continuation is never sampled from."""
    with pytest.raises(DeadEndError, match="no token can follow the 0 generated ones"):
        allowed(LogitsProcessor(grammar()), [PROMPT])


def test_the_input_scores_are_not_changed():
    """Callers such as transformers may keep the raw scores (output_logits)."""
    scores = torch.zeros(1, SIZE)
    LogitsProcessor(grammar((1,)))(torch.tensor([PROMPT]), scores)
    assert scores.eq(0).all()


def test_masked_mass_is_the_probability_of_what_was_removed():
    """Uniform logits over ten tokens lose eight tenths when two tokens are allowed."""
    processor = LogitsProcessor(grammar((1,), (2,)), measure_mass=True)
    assert processor.masked_mass is None
    allowed(processor, [PROMPT])
    assert processor.masked_mass == pytest.approx(0.8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_dtypes_keep_theirs(dtype):
    """Half precision and double go in and come out."""
    scores = LogitsProcessor(grammar((1,)))(torch.tensor([PROMPT]), torch.zeros(1, SIZE, dtype=dtype))
    assert scores.dtype == dtype
    assert scores.isfinite().sum() == 1


def test_both_ways_to_unpack_a_mask_agree():
    """The host and the accelerator read the same tokens from the same words, the sign bit included."""
    words = torch.randint(-(2**31), 2**31, (3, 5), dtype=torch.int32, generator=torch.Generator().manual_seed(0))
    host = _unpack(words, torch.device("cpu"))
    assert host.equal(_shift(words))
    expected = [[bool(int(word) >> bit & 1) for word in row for bit in range(32)] for row in words]
    assert host.tolist() == expected


def pickled(value):
    """Return what another process would get."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_is_what_it_was_made_of(copied):
    """Arguments are kept; generations that go on, and what was measured, are not."""
    spec = schemagen.compile(schemagen.Choice(["ab", "ac"]), Vocabulary.byte_vocabulary())
    processor = LogitsProcessor([spec, None], max_new_tokens=3, measure_mass=True, pad_token_id=5)
    for rows in ([[1], [1]], [[1, 97], [1, 97]]):
        processor(torch.tensor(rows), torch.zeros(2, 257))
    twin = copied(processor)
    assert (twin.constrained_steps, twin.masked_mass) == (0, None)
    assert [grammar and grammar.spec for grammar in twin.grammars] == [spec.spec, None]
    masked = twin(torch.tensor([[1, 97], [1, 97]]), torch.zeros(2, 257))
    assert masked[0].isfinite().nonzero().tolist() == [[97]]
    assert twin.constrained_steps == 1
    assert processor(torch.tensor([[1, 97, 98]] * 2), torch.zeros(2, 257))[0].isfinite().nonzero().tolist() == [[256]]


@pytest.mark.parametrize("wrong", [-1, "all", 2.5, True])
def test_a_budget_is_a_number_or_known_by_itself(wrong):
    """What is no budget is refused where it is given."""
    with pytest.raises(OptionError, match="max_new_tokens="):
        LogitsProcessor(grammar((1,)), max_new_tokens=wrong)


def test_no_rows_are_no_error():
    """A batch from which every row was taken stays as it is."""
    scores = torch.zeros(0, SIZE)
    assert LogitsProcessor(grammar((1,)))(torch.zeros(0, 2, dtype=torch.int64), scores) is scores
