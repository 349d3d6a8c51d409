"""`Generation.finish_reason` says whether the budget closed a value, in every loop that writes texts."""

from __future__ import annotations

import pytest
from transformers import LogitsProcessor

from schemagen import Regex
from schemagen.decode.batch import Row, decode_batch
from schemagen.lm import Reasoning, Speculation
from tests.models import wants

ELEVENS = {"type": "array", "items": {"const": 11}, "minItems": 1}


class Harmless(LogitsProcessor):
    """Changes nothing, but only ``generate`` of transformers takes it."""

    def __call__(self, input_ids, scores):  # noqa: ARG002 - as the base class has it
        """Return the scores."""
        return scores


LOOPS = {
    "own": {},
    "opportunistic": {"speculation": Speculation(opportunistic=True)},
    "sampled": {"temperature": 0.5, "seed": 1},
    "generate": {"logits_processor": [Harmless()]},
    "beams": {"num_beams": 3},
    "lookup": {"prompt_lookup_num_tokens": 3, "logits_processor": [Harmless()]},
}

#: What the model wants, what it may write, the budget -> why it ended.
CASES = [
    ("1", Regex("a1*b"), 6, "budget"),
    ("1", Regex("a1{4}b"), 6, "complete"),
    ("1", Regex("a1{0,4}b"), 6, "complete"),
    ("1", Regex("1+"), 5, "budget"),  # it ends at the budget, where EOS is not needed
    ("1", Regex("1{5}"), 5, "complete"),
    ("1", Regex("(1|2aaaaaaaaa)b"), 3, "complete"),  # the mask was narrowed, but not what the model wanted
    ("2", Regex("(1|2aaaaaaaaa)b"), 3, "budget"),
    (",", ELEVENS, 9, "budget"),  # a list without the items that the model would have gone on with
    ("]", ELEVENS, 9, "complete"),
]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("piece", "spec", "budget", "reason"), CASES)
def test_the_reason_is_told_by_every_loop(loop, piece, spec, budget, reason, make_lm, tokenizer):
    """It is "budget" where the budget left out what the model would have chosen, or ended a text that could go on."""
    lm = make_lm(wants(tokenizer, piece))
    options = dict(LOOPS[loop])
    lm.speculation = options.pop("speculation", lm.speculation)
    found = lm.run("x", spec, max_new_tokens=budget, whitespace="compact", **options)
    assert found.finish_reason == reason, found.text


@pytest.mark.parametrize("beams", [1, 2])
def test_the_rows_of_a_batch_have_reasons_of_their_own(beams, make_lm, tokenizer):
    """A row that the budget closes stands beside one that ends by itself, in one chunk."""
    lm = make_lm(wants(tokenizer, "1"))
    prompts, specs = ["x", "yy", "z"], [Regex("a1*b"), Regex("a1{4}b"), Regex("1+")]
    rows = [Row(tuple(map(ord, each)), lm.compile(spec)) for each, spec in zip(prompts, specs, strict=True)]
    found = dict(decode_batch(lm.model, rows, batch_size=3, max_new_tokens=6, num_beams=beams))
    assert [found[index].finish_reason for index in range(3)] == ["budget", "complete", "budget"], found
    batch = lm.run_batch(prompts, Regex("a1*b"), max_new_tokens=6, num_beams=beams)
    assert [each.finish_reason for each in batch] == ["budget"] * 3


def test_the_last_event_of_a_stream_has_the_reason(make_lm, tokenizer):
    """As the result of a call has it."""
    lm = make_lm(wants(tokenizer, "1"))
    for spec, reason in ((Regex("a1*b"), "budget"), (Regex("a1b"), "complete")):
        *_, last = lm.stream("x", spec, max_new_tokens=6)
        assert last.finish_reason == last.generation.finish_reason == reason


def test_thoughts_that_end_in_time_are_no_budget(make_lm, tokenizer):
    """A limit of thoughts is the reasoning's own; the answer behind them is complete."""
    lm = make_lm(wants(tokenizer, "1"))
    reasoning = Reasoning(12, begin="<t>", end="</t>")
    found = lm.run("x", Regex("11"), reasoning=reasoning, max_new_tokens=60)
    assert found.reasoning_tokens > 0
    assert found.finish_reason == "complete"
