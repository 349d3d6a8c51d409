"""`LogitsProcessor` in every mode of ``model.generate``, for every kind of constraint, alone and in a mixed batch.

Two oracles. In every mode the output must be, token for token, that of the same call with `Slow`, which knows nothing but
the definition of the constraint. And greedy output must be that of a loop which does not use ``generate`` at all.
"""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import schemagen
from tests.decode import tiny as _tiny

pytestmark = pytest.mark.sampled(6)

BOUNDED, EOS, KINDS, PAD = _tiny.BOUNDED, _tiny.EOS, _tiny.KINDS, _tiny.PAD
Slow, batch_of, compiled, model, read = _tiny.Slow, _tiny.batch_of, _tiny.compiled, _tiny.model, _tiny.read

BUDGET = 56
OTHER = {kind: list(KINDS)[(index + 2) % len(KINDS)] for index, kind in enumerate(KINDS)}
#: A mixed batch has the kind alone in it, so the batch of one is left to the long run.
COUNTS = [pytest.param(1, marks=pytest.mark.slow), 3]
PROMPTS = ("one prompt", "another", "x")

#: Options of ``generate`` by mode.
MODES = {
    "greedy": {},
    "without a cache": {"use_cache": False},
    "sampling": {"do_sample": True},
    "sampling, filtered": {"do_sample": True, "top_k": 5, "top_p": 0.9, "temperature": 2.0},
    "several samples": {"do_sample": True, "num_return_sequences": 3},
    "2 beams": {"num_beams": 2},
    "4 beams": {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 2.0},
    "4 beams, negative penalty": {"num_beams": 4, "length_penalty": -1.0, "early_stopping": "never"},
    "4 beams, early stopping": {"num_beams": 4, "num_return_sequences": 4, "early_stopping": True},
    "beam sampling": {"num_beams": 3, "do_sample": True, "num_return_sequences": 2},
    "static cache": {"cache_implementation": "static"},
    "repetition penalty": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 9},
}
#: These take one row only.
SINGLE = {
    "assistant": {"assistant_model": "assistant"},
    "assistant, sampling": {"assistant_model": "assistant", "do_sample": True},
    "the model assists itself": {"assistant_model": "llama"},
    "prompt lookup": {"prompt_lookup_num_tokens": 4},
    "prompt lookup, sampling": {"prompt_lookup_num_tokens": 4, "do_sample": True},
}


def generate(name, texts, processor, options, seed=5):
    """Return the generated tokens of every returned row, without the prompt."""
    options = dict(options)
    if "assistant_model" in options:
        options["assistant_model"] = model(options["assistant_model"])
    if seed is not None:
        torch.manual_seed(seed)
    made = model(name)
    batch = batch_of(texts)
    output = made.generate(
        **batch,
        logits_processor=[processor],
        max_new_tokens=BUDGET,
        **{"do_sample": False, "eos_token_id": EOS, "pad_token_id": PAD, **options},
    )
    start = 1 if made.config.is_encoder_decoder else batch["input_ids"].shape[1]
    return output[:, start:].tolist()


def rows_of(kind, count):
    """Return the grammars of the prompts: one, or this one, none, and another."""
    return [compiled(kind)] if count == 1 else [compiled(kind), None, compiled(OTHER[kind])]


def check(name, kind, count, options):
    """Compare with the definition, and read every row."""
    grammars, texts = rows_of(kind, count), PROMPTS[:count]
    start = 1 if model(name).config.is_encoder_decoder else max(map(len, texts))
    processor = schemagen.LogitsProcessor(grammars, pad_token_id=PAD, max_new_tokens=None)
    found = generate(name, texts, processor, options)
    assert found == generate(name, texts, Slow(grammars, start), options)
    each = len(found) // count
    names = [kind] if count == 1 else [kind, None, OTHER[kind]]
    for row, tokens in enumerate(found):
        if (grammar := grammars[row // each]) is not None:
            read(grammar, tokens, complete=names[row // each] in BOUNDED)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_a_decoder(mode, kind, count):
    """The decoder writes what the definition of the constraint makes it write; prompts are padded on the left."""
    check("llama", kind, count, MODES[mode])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", SINGLE)
def test_a_decoder_with_drafts(mode, kind):
    """Drafted tokens are taken back and written again, and the result is that of the definition."""
    check("llama", kind, 1, SINGLE[mode])


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["greedy", "several samples", "4 beams", "beam sampling"])
def test_an_encoder_decoder(name, mode, kind, count):
    """All rows start with the same token, so only the order tells the prompts apart."""
    check(name, kind, count, MODES[mode])


@pytest.mark.parametrize("mode", ["assistant", "prompt lookup"])
def test_drafts_are_the_greedy_text(mode):
    """Drafting saves time and changes nothing."""
    for kind in KINDS:
        plain, drafted = (
            generate("llama", PROMPTS[:1], schemagen.LogitsProcessor(compiled(kind)), options)
            for options in ({}, SINGLE[mode])
        )
        assert drafted == plain


@torch.no_grad()
def greedy_by_hand(text, grammar):
    """Return the greedy tokens: a whole forward pass for each, and every token of the vocabulary asked for."""
    ids, matcher, found = batch_of([text])["input_ids"], grammar.matcher(), []
    while len(found) < BUDGET and not matcher.is_terminated():
        scores = model("llama")(input_ids=ids).logits[0, -1].float()
        allowed = matcher.allowed_tokens()
        found.append(allowed[int(scores[allowed].argmax())])
        assert matcher.accept_token(found[-1])
        ids = torch.cat([ids, torch.tensor([[found[-1]]])], dim=1)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_the_best_allowed_token_each_time(kind):
    """Without ``generate``, its caches and its processors, the same tokens come out."""
    processor = schemagen.LogitsProcessor(compiled(kind), pad_token_id=PAD, max_new_tokens=None)
    expected = [greedy_by_hand(text, compiled(kind)) for text in PROMPTS]
    found = generate("llama", PROMPTS, processor, {})
    assert [row[: len(hand)] for row, hand in zip(found, expected, strict=True)] == expected
    assert all(set(row[len(hand) :]) <= {PAD} for row, hand in zip(found, expected, strict=True))


def test_one_processor_serves_all_modes_in_turn():
    """Nothing of a generation is left in the next, whatever the two modes are."""
    for kind in ("object", "counted"):
        grammars = [compiled(kind)]
        used = schemagen.LogitsProcessor(grammars, pad_token_id=PAD, max_new_tokens=None)
        fresh = {}
        for name, options in (*MODES.items(), *SINGLE.items(), *MODES.items()):
            if name not in fresh:
                processor = schemagen.LogitsProcessor(grammars, pad_token_id=PAD, max_new_tokens=None)
                fresh[name] = generate("llama", PROMPTS[:1], processor, options)
            assert generate("llama", PROMPTS[:1], used, options) == fresh[name]


@pytest.mark.parametrize("mode", ["greedy", "sampling", "4 beams", "several samples", "prompt lookup"])
def test_the_bundled_model(mode):
    """A trained model with a vocabulary of thousands of tokens, and prompts that it understands."""
    lm = schemagen.load_bundled()
    options = {**MODES, **SINGLE}[mode]
    texts = ["Ada Lovelace, 36, London", "bike"][: 1 if mode in SINGLE else 2]
    grammars = [lm.compile(KINDS["object"][0]), lm.compile(schemagen.Choice(["a bike", "a car"]))][: len(texts)]
    batch = lm.tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")
    ends = list(lm.vocabulary.eos_token_ids)
    outputs = []
    for processor in (
        schemagen.LogitsProcessor(grammars, pad_token_id=ends[0], max_new_tokens=None),
        Slow(grammars, batch["input_ids"].shape[1], ends),
    ):
        torch.manual_seed(2)
        output = lm.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            logits_processor=[processor],
            max_new_tokens=60,
            **{"do_sample": False, "eos_token_id": ends, "pad_token_id": ends[0], **options},
        )
        outputs.append(output[:, batch["input_ids"].shape[1] :].tolist())
    assert outputs[0] == outputs[1]
    for row, tokens in enumerate(outputs[0]):
        grammar = grammars[row * len(grammars) // len(outputs[0])]
        grammar.validate(lm.tokenizer.decode(tokens, skip_special_tokens=True))


def test_overwriting_the_scores_changes_nothing():
    """inplace=True writes the same texts, wherever the scores are not used again."""
    for options in (MODES["greedy"], MODES["sampling"], MODES["4 beams"], SINGLE["assistant"]):
        for kind in ("object", "counted"):
            results = []
            for inplace in (False, True):
                processor = schemagen.LogitsProcessor([compiled(kind)], pad_token_id=PAD, inplace=inplace)
                results.append(generate("llama", PROMPTS[:1], processor, options))
            assert results[0] == results[1]


def test_raw_logits_stay_raw():
    """With output_logits=True the logits of the model come back as they were, the scores masked."""
    batch = batch_of(PROMPTS[:1])
    output = model("llama").generate(
        **batch,
        logits_processor=[schemagen.LogitsProcessor(compiled("choice"), max_new_tokens=None)],
        max_new_tokens=3,
        do_sample=False,
        output_logits=True,
        output_scores=True,
        return_dict_in_generate=True,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    assert all(logits.isfinite().all() for logits in output.logits)
    for logits, scores in zip(output.logits, output.scores, strict=True):
        kept = scores.isfinite()
        assert 0 < kept.sum() < 5
        assert scores[kept].equal(logits[kept])


@pytest.mark.slow
def test_a_compiled_model_with_a_static_cache():
    """torch.compile and a static cache change nothing."""
    torch._dynamo.reset()
    made = _tiny.llama(1)
    try:
        made.forward = torch.compile(made.forward, fullgraph=False)
        batch = batch_of(PROMPTS)
        options = {"max_new_tokens": BUDGET, "do_sample": False, "cache_implementation": "static"}
        processor = schemagen.LogitsProcessor(compiled("object"), pad_token_id=PAD)
        output = made.generate(**batch, **options, logits_processor=[processor])
    except torch._dynamo.exc.BackendCompilerFailed as error:
        pytest.skip(f"torch.compile found no compiler: {error}")
    plain = generate("llama", PROMPTS, schemagen.LogitsProcessor(compiled("object"), pad_token_id=PAD), {})
    assert output[:, batch["input_ids"].shape[1] :].tolist() == plain


# --- threads ---------------------------------------------------------------------------------------------------------


def in_threads(jobs):
    """Run the jobs at once, each in a thread; return what they return."""
    barrier = threading.Barrier(len(jobs))

    def run(job):
        barrier.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [done.result() for done in [pool.submit(run, job) for job in jobs]]


@pytest.mark.parametrize("count", [1, 3])
def test_one_processor_in_several_threads(count):
    """Generations of one object in eight threads, half of them of the same prompt, are what they are alone."""
    grammars = rows_of("object", count)
    shared = schemagen.LogitsProcessor(grammars, pad_token_id=PAD, measure_mass=True)
    prompts = [PROMPTS[:count], tuple(reversed(PROMPTS))[:count]]
    cases = [(texts, options) for options in ({}, {"num_beams": 3}) for texts in (*prompts, *prompts)]
    # Sampling is left out: its random numbers come from one generator for all threads.
    alone, steps = [], 0
    for texts, options in cases:
        single = schemagen.LogitsProcessor(grammars, pad_token_id=PAD, max_new_tokens=None)
        alone.append(generate("llama", texts, single, options, seed=None))
        steps += single.constrained_steps
    jobs = [functools.partial(generate, "llama", texts, shared, options, seed=None) for texts, options in cases]
    assert in_threads(jobs) == alone
    assert shared.constrained_steps == steps
    assert 0 < shared.masked_mass < 1


def test_two_threads_may_alternate_step_by_step():
    """The worst order there is: two generations of the same prompt, one step each in turn."""
    shared = schemagen.LogitsProcessor(compiled("regex"))
    turn = threading.Barrier(2)

    def walk(letter):
        ids, found = [1, 2], []
        for _ in range(4):
            turn.wait()
            scores = shared(torch.tensor([ids]), torch.zeros(1, _tiny.WIDTH))
            turn.wait()
            found.append(scores[0].isfinite().nonzero().flatten().tolist())
            ids.append(letter)
        return found

    first, second = in_threads([functools.partial(walk, ord("a")), functools.partial(walk, ord("b"))])
    letters = [ord("a"), ord("b"), ord("c")]
    assert first == second == [letters, letters, sorted([*letters, ord("-")]), sorted([*letters, ord("-")])]


def test_a_processor_for_each_thread_shares_the_compiled_grammar():
    """Eight threads with processors of their own work on one grammar, which grows while they use it."""
    grammar = schemagen.compile(KINDS["any order"][0], _tiny.VOCABULARY, property_order="any", cache=None)
    expected = generate("llama", PROMPTS, schemagen.LogitsProcessor(compiled("any order"), pad_token_id=PAD), {})
    jobs = [
        functools.partial(
            generate, "llama", PROMPTS, schemagen.LogitsProcessor(grammar, pad_token_id=PAD), {}, seed=None
        )
        for _ in range(8)
    ]
    assert in_threads(jobs) == [expected] * 8
