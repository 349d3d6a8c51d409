"""Texts that are written together are those that are written alone; they come, go and fail by themselves."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import pytest
import torch

import schemagen
from schemagen.decode.token_records import Records, records_of
from schemagen.errors import LimitError
from schemagen.options.sampling import Sampling
from schemagen.serve import micro_batches
from schemagen.serve.continuous import ContinuousBatches, can_be_continuous
from schemagen.serve.errors import RequestError
from schemagen.serve.jobs import Job, Outbox, together
from schemagen.serve.micro_batches import MicroBatches
from schemagen.serve.scheduling import timed_out
from tests.serve.conftest import PERSON

SPECS = [
    PERSON,
    schemagen.Regex("[A-Z][a-z]{1,9}, [0-9]{1,3}"),
    schemagen.Choice(["good", "bad"]),
    {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 9},
    None,
]
PROMPTS = ["Ada Lovelace, 36, London", "Tom", "Grace Hopper is 85 and lives in New York, near the park"]
BUDGET = 70
#: (spec, prompt) of each text.
WORK = [(spec, prompt) for prompt in PROMPTS for spec in SPECS] * 2


@pytest.fixture(scope="module")
def own_lm():
    """Return a model of its own: continuous batching changes how its attention is computed."""
    return schemagen.load_bundled()


def ids_of(lm, prompt):
    """Return the tokens of a prompt as the model reads it."""
    return tuple(lm.tokenizer(prompt, add_special_tokens=True)["input_ids"])


@pytest.fixture(scope="module")
def expected(lm):
    """Return the tokens of each text, written alone by ``generate``."""
    found = {}
    for spec, prompt in WORK[: len(WORK) // 2]:
        grammar = None if spec is None else lm.compile(spec)
        processors = [] if grammar is None else [schemagen.LogitsProcessor(grammar)]
        ids = torch.tensor([ids_of(lm, prompt)])
        output = lm.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=BUDGET, do_sample=False, logits_processor=processors,
            eos_token_id=list(lm.vocabulary.eos_token_ids), pad_token_id=lm.vocabulary.eos_token_ids[0],
        )  # fmt: skip
        found[id(spec), prompt] = output[0, ids.shape[1] :].tolist()
    return found


def job_of(lm, outbox, spec, prompt, **more):
    """Return a job."""
    grammar = None if spec is None else lm.compile(spec)
    return Job(ids_of(lm, prompt), grammar, lm.vocabulary, BUDGET, mailbox=outbox.mailbox(), **more)


async def outcome(job):
    """Return what a job was told: its tokens, and how it ended."""
    tokens = []
    while isinstance(message := await asyncio.wait_for(job.mailbox.get(), 120), list):
        tokens += message
    return tokens, message


@contextlib.contextmanager
def running(make, lm, **more):
    """Run a scheduler, and look that nothing is left in it."""
    scheduler = make(lm, **{"max_rows": 8, "max_waiting": 100, **more})
    try:
        yield scheduler
        assert scheduler.counts()[0] == 0
    finally:
        scheduler.close()


@pytest.fixture(params=["rows", "segments", "continuous"])
def make(request, monkeypatch, own_lm):
    """Return each way of scheduling."""
    if request.param == "continuous":
        pytest.importorskip("psutil", reason="continuous batching on a CPU asks it for the free memory")
        if not can_be_continuous(own_lm):
            pytest.skip("this version of transformers cannot")
        return partial(ContinuousBatches, sizes={"num_blocks": 96, "page_size": 16, "max_batch_tokens": 128})
    if request.param == "segments":
        monkeypatch.setattr(micro_batches, "can_cache_rows", lambda _: False)
    return MicroBatches


async def until_idle(scheduler):
    """Wait until it has no text left."""
    while scheduler.counts() != (0, 0):  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.01)


def write(make, lm, work, **more):
    """Return what comes of some texts that come a few at a time."""

    async def main():
        outbox = Outbox()
        with running(make, lm) as scheduler:
            jobs = [job_of(lm, outbox, *each, **more) for each in work]
            for start in range(0, len(jobs), 5):
                scheduler.submit(jobs[start : start + 5])
                await asyncio.sleep(0.05)
            return await asyncio.gather(*map(outcome, jobs))

    return asyncio.run(main())


def test_texts_are_those_that_are_written_alone(make, own_lm, expected):
    """Whatever else is written, and whenever a text joins, its tokens are those of ``generate``."""
    found = write(make, own_lm, WORK)
    for (spec, prompt), (tokens, reason) in zip(WORK, found, strict=True):
        assert tokens == expected[id(spec), prompt], (spec, prompt)
        assert reason == ("stop" if tokens[-1] in own_lm.vocabulary.eos_token_ids else "length")


def test_what_the_model_expects_is_that_of_one_pass(make, own_lm, expected, monkeypatch):
    """First alone, then among others, with a grammar or free, a text has the records of a pass over it, as it asks for them."""
    monkeypatch.setattr(MicroBatches, "_wants_alone", lambda _, steps: steps >= 5)
    alone = [(spec, PROMPTS[0]) for spec in SPECS]

    async def main():
        outbox = Outbox()
        with running(make, own_lm) as scheduler:
            jobs = [job_of(own_lm, outbox, *each, records=Records(4 + 9 * (at % 2))) for at, each in enumerate(alone)]
            scheduler.submit(jobs[:1])
            await outcome(jobs[0])
            scheduler.submit(jobs[1:])
            await asyncio.gather(*map(outcome, jobs[1:]))
            return jobs

    for job, each in zip(asyncio.run(main()), alone, strict=True):
        assert job.generated == expected[id(each[0]), each[1]]
        grammar = job.constraint or own_lm.compile(schemagen.Regex(r"[\s\S]*"))
        budget = None if job.constraint is None else BUDGET
        wanted = records_of(own_lm.model, job.token_ids, job.generated, grammar, budget, job.records.alternatives)
        for found, oracle in zip(job.records.tokens, wanted, strict=True):
            close = {"abs": 2e-3, "rel": 1e-3}
            assert found.token_id == oracle.token_id
            assert found.raw_log_probability == pytest.approx(oracle.raw_log_probability, **close)
            if job.constraint is None:
                assert found.log_allowed == 0
                assert all(other.allowed for other in found.alternatives)
                continue
            assert found.log_allowed == pytest.approx(oracle.log_allowed, **close)
            assert found.is_forced == oracle.is_forced
            values = [[other.log_probability for other in each.alternatives] for each in (found, oracle)]
            assert values[0] == pytest.approx(values[1], **close)


def test_one_text_alone_reads_ahead(own_lm, expected):
    """A single text is the same by the loop that reads ahead, and its tokens are told as they come."""

    async def main():
        outbox = Outbox()
        with running(MicroBatches, own_lm) as scheduler:
            job = job_of(own_lm, outbox, PERSON, PROMPTS[0], streams=True)
            scheduler.submit([job])
            return await outcome(job)

    assert asyncio.run(main()) == (expected[id(PERSON), PROMPTS[0]], "stop")


def test_seeds_are_a_text_s_own(make, own_lm):
    """A sampled text is the same alone and among others."""

    def sampled():
        return {
            "sampling": Sampling(1.2, top_p=0.95, top_k=50, min_p=0.01),
            "generator": torch.Generator().manual_seed(3),
        }

    async def main():
        outbox = Outbox()
        with running(make, own_lm) as scheduler:
            others = [job_of(own_lm, outbox, PERSON, prompt) for prompt in PROMPTS]
            alone = job_of(own_lm, outbox, PERSON, PROMPTS[1], **sampled())
            scheduler.submit([alone])
            first = await outcome(alone)
            again = job_of(own_lm, outbox, PERSON, PROMPTS[1], **sampled())
            scheduler.submit([*others, again])
            found = await asyncio.gather(*map(outcome, [*others, again]))
        return first, found[-1], found[1]

    first, again, greedy = asyncio.run(main())
    assert first == again
    assert first != greedy


def test_a_text_that_nobody_waits_for_is_left(make, own_lm):
    """A cancelled text stops long before its budget, takes no place any more, and harms no other."""

    async def main():
        outbox = Outbox()
        with running(make, own_lm) as scheduler:
            long = job_of(own_lm, outbox, {"type": "string", "minLength": 60}, PROMPTS[0], streams=True)
            other = job_of(own_lm, outbox, PERSON, PROMPTS[0])
            scheduler.submit([long, other])
            await long.mailbox.get()
            long.cancel()
            found = await outcome(other)
            await asyncio.wait_for(until_idle(scheduler), 120)
            return found, len(long.generated)

    (_, reason), written = asyncio.run(main())
    assert reason == "stop"
    assert written < BUDGET


class Faulty:
    """A grammar whose matcher raises at some token."""

    def __init__(self, grammar, after):
        self._grammar, self._after = grammar, after

    def __getattr__(self, name):
        """Be the grammar otherwise."""
        return getattr(self._grammar, name)

    def matcher(self):
        return FaultyMatcher(self._grammar.matcher(), self._after)


class FaultyMatcher:
    """Its matcher."""

    def __init__(self, matcher, after):
        self._matcher, self._left = matcher, after

    def __getattr__(self, name):
        """Be the matcher otherwise."""
        return getattr(self._matcher, name)

    def fill_next_token_bitmask(self, *arguments, **options):
        """Raise, after some steps."""
        self._left -= 1
        if self._left < 0:
            raise LimitError("too slow")
        return self._matcher.fill_next_token_bitmask(*arguments, **options)


@pytest.mark.parametrize("after", [0, 4])
def test_a_text_that_fails_harms_no_other(make, own_lm, expected, after):
    """A limit that one grammar reaches in the middle ends its text alone."""

    async def main():
        outbox = Outbox()
        with running(make, own_lm) as scheduler:
            jobs = [job_of(own_lm, outbox, PERSON, prompt) for prompt in PROMPTS]
            jobs[1].constraint = Faulty(jobs[1].constraint, after)
            scheduler.submit(jobs)
            return await asyncio.gather(*map(outcome, jobs))

    found = asyncio.run(main())
    assert isinstance(found[1][1], LimitError)
    for index in (0, 2):
        assert found[index] == (expected[id(PERSON), PROMPTS[index]], "stop")


@pytest.mark.parametrize("way", ["rows", "segments"])
def test_a_batch_that_does_not_fit_is_halved(own_lm, expected, monkeypatch, way):
    """Where the model raises for more than two rows, all texts are written, two at a time; for one, they fail."""
    if way == "segments":
        monkeypatch.setattr(micro_batches, "can_cache_rows", lambda _: False)
    forward, most = own_lm.model.model.forward, [2]

    def narrow(input_ids=None, **options):
        if len(input_ids) > most[0]:
            raise RuntimeError("out of memory")
        return forward(input_ids=input_ids, **options)

    monkeypatch.setattr(own_lm.model.model, "forward", narrow)
    for (spec, prompt), (tokens, _) in zip(WORK[:15], write(MicroBatches, own_lm, WORK[:15]), strict=True):
        assert tokens == expected[id(spec), prompt]
    most[0] = 0
    assert all(isinstance(reason, RuntimeError) for _, reason in write(MicroBatches, own_lm, WORK[:3]))


def test_a_model_that_computes_nan_is_told(own_lm, monkeypatch):
    """NaN in the logits of a text ends it with an error, with a grammar or without."""
    forward = own_lm.model.forward

    def broken(*arguments, **options):
        output = forward(*arguments, **options)
        output.logits = output.logits * float("nan")
        return output

    # Through the class, so that the model still counts as a plain decoder.
    monkeypatch.setattr(own_lm.model, "forward", broken)
    found = write(MicroBatches, own_lm, [(PERSON, "x"), (None, "x"), (PERSON, "y")])
    assert [type(reason) for _, reason in found] == [schemagen.LogitsError] * 3


def test_a_closed_scheduler_ends_what_it_has(make, own_lm):
    """Texts that are being written, that wait, and that come later, all end with an error."""

    async def main():
        outbox = Outbox()
        scheduler = make(own_lm, max_rows=2, max_waiting=100)
        jobs = [job_of(own_lm, outbox, {"type": "string", "minLength": 60}, "x", streams=True) for _ in range(5)]
        scheduler.submit(jobs)
        await jobs[0].mailbox.get()
        await asyncio.to_thread(scheduler.close)
        found = await asyncio.gather(*map(outcome, jobs))
        with pytest.raises(RequestError) as caught:
            scheduler.submit(jobs)
        return found, caught.value.status

    found, status = asyncio.run(main())
    assert all(getattr(reason, "status", None) == 503 for _, reason in found)
    assert status == 503


def test_messages_of_a_step_are_handed_over_together():
    """What is told while a step is made wakes the event loop once, at its end; nothing is lost or overtaken."""

    async def main():
        outbox, wakes = Outbox(), []
        loop = asyncio.get_running_loop()
        wake = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *call: (wakes.append(1), wake(*call))
        boxes = [outbox.mailbox() for _ in range(3)]
        jobs = [Job((1,), None, None, 8, mailbox=box) for box in boxes]
        boxes[0].put([1])
        with together(jobs):
            for box in boxes:
                box.put([2])
            await asyncio.sleep(0)  # the first message wakes the loop by itself
            boxes[0].put("stop")
        held = len(wakes)
        found = [[await box.get()] for box in boxes]
        found[0].append(await boxes[0].get())
        return held, found

    held, found = asyncio.run(main())
    assert held == 2
    assert found == [[[1, 2], "stop"], [[2]], [[2]]]


def test_messages_go_on_after_a_step_that_raised():
    """A fault within a step keeps nothing back."""

    async def main():
        outbox = Outbox()
        job = Job((1,), None, None, 8, mailbox=outbox.mailbox())
        with contextlib.suppress(RuntimeError), together([job]):
            job.fail(LimitError("too slow"))
            raise RuntimeError
        return await asyncio.wait_for(job.mailbox.get(), 60)

    assert isinstance(asyncio.run(main()), LimitError)


def test_a_text_whose_time_is_up_gives_its_row_free(make, own_lm, expected):
    """A text that is ended while it is written, and one that waits, take no place any more, and harm no other."""

    async def main():
        outbox = Outbox()
        with running(make, own_lm, max_rows=2) as scheduler:
            long = job_of(own_lm, outbox, {"type": "string", "minLength": 60}, PROMPTS[0], streams=True)
            others = [job_of(own_lm, outbox, PERSON, PROMPTS[0]) for _ in range(2)]
            late = job_of(own_lm, outbox, PERSON, PROMPTS[1])
            scheduler.submit([long, others[0], late, others[1]])
            await long.mailbox.get()
            for job in (long, late):
                job.fail(timed_out(5))
            found = await asyncio.gather(*map(outcome, others))
            await asyncio.wait_for(until_idle(scheduler), 120)
            ends = [(await outcome(job))[1] for job in (long, late)]
        return found, ends, len(long.generated), late.generated

    found, ends, written, unwritten = asyncio.run(main())
    assert found == [(expected[id(PERSON), PROMPTS[0]], "stop")] * 2
    assert [end.code for end in ends] == ["request-timeout"] * 2
    assert written < BUDGET
    assert unwritten == []
