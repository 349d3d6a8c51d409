"""`LogitsProcessor` in continuous batching: requests of their own grammars, few at a time, in any order."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
import torch
from transformers import GenerationConfig

import schemagen
from schemagen.errors import GenerationError, MatcherError
from tests.decode import tiny

cb = pytest.importorskip("transformers.generation.continuous_batching", reason="transformers 5 has it")
pytest.importorskip("psutil", reason="continuous batching on a CPU asks it for the free memory")


BUDGET = 56
PROMPTS = ["one prompt", "another", "x", "one more", "one prompt", "the last of them", "y", "z"]
#: In the order of the prompts; None is free.
KINDS = ["object", None, "regex", "choice", "recursive", "counted", "any order", "object"]


@pytest.fixture
def model():
    """A model of its own: continuous batching changes how its attention is computed."""
    made = tiny.llama(1)
    yield made
    made.destroy_cached_continuous_batching_manager()


def grammars():
    """Return the grammar of each prompt."""
    return [None if kind is None else tiny.compiled(kind) for kind in KINDS]


def ids_of(texts):
    """Return prompts as lists of bytes."""
    return [list(text.encode()) for text in texts]


def config(**options):
    """Return a generation config of these tests."""
    return GenerationConfig(
        **{"max_new_tokens": BUDGET, "eos_token_id": tiny.EOS, "pad_token_id": tiny.PAD, "do_sample": False, **options}
    )


def batching(**options):
    """Return a small cache: 64 tokens in a batch, few requests at once."""
    from transformers.generation import ContinuousBatchingConfig

    return ContinuousBatchingConfig(
        **{"num_blocks": 24, "page_size": 16, "max_batch_tokens": 64, "max_requests_per_batch": 3, **options}
    )


def alone(text, grammar):
    """Return what ``generate`` writes for this prompt by itself."""
    batch = tiny.batch_of([text])
    output = tiny.model("llama").generate(
        **batch,
        logits_processor=[schemagen.LogitsProcessor([grammar], pad_token_id=tiny.PAD)],
        max_new_tokens=BUDGET,
        do_sample=False,
        eos_token_id=tiny.EOS,
        pad_token_id=tiny.PAD,
    )
    return output[0, batch["input_ids"].shape[1] :].tolist()


def check(outputs):
    """Compare with the texts that the prompts give alone."""
    assert [output.error for output in outputs] == [None] * len(PROMPTS)
    for text, kind, grammar, output in zip(PROMPTS, KINDS, grammars(), outputs, strict=True):
        assert output.generated_tokens == alone(text, grammar), kind
        if grammar is not None:
            tiny.read(grammar, output.generated_tokens, complete=kind in tiny.BOUNDED)


def test_generate_batch_with_a_grammar_for_each_prompt(model):
    """Requests come and go, three at a time, and each is what its prompt gives alone."""
    processor = schemagen.LogitsProcessor(grammars())
    with processor.continuous_batching(model):
        outputs = model.generate_batch(
            ids_of(PROMPTS), generation_config=config(), continuous_batching_config=batching()
        )
    check(list(outputs.values()))
    assert processor.constrained_steps > 0


def test_requests_bring_their_own_grammars(model):
    """add_request(grammar=...) decides for that request; None is free."""
    with (
        schemagen.LogitsProcessor(None).continuous_batching(model),
        model.continuous_batching_context_manager(
            generation_config=config(), continuous_batching_config=batching()
        ) as manager,
    ):
        ids = []
        for prompt, grammar in zip(ids_of(PROMPTS), grammars(), strict=True):
            ids.append(manager.add_request(prompt, **({} if grammar is None else {"grammar": grammar})))
        found = {}
        while len(found) < len(ids):
            result = manager.get_result(timeout=30)
            assert result is not None
            found[result.request_id] = result
    check([found[request_id] for request_id in ids])


def test_an_own_manager(model):
    """attach_to works where the manager is made by hand."""
    manager = model.init_continuous_batching(generation_config=config(), continuous_batching_config=batching())
    schemagen.LogitsProcessor(tiny.compiled("regex")).attach_to(manager)
    manager.start()
    try:
        request_id = manager.add_request(ids_of(["x"])[0])
        other = manager.add_request(ids_of(["x"])[0], grammar=tiny.compiled("choice"))
        found = {}
        while len(found) < 2:
            result = manager.get_result(timeout=30)
            found[result.request_id] = result.generated_tokens
    finally:
        manager.stop(block=True)
        manager.destroy()
    tiny.read(tiny.compiled("regex"), found[request_id], complete=True)
    tiny.read(tiny.compiled("choice"), found[other], complete=True)


def test_sampling_and_several_sequences_of_a_prompt(model):
    """Requests that fork their text fork their cursor, and warpers come after the mask."""
    grammar = tiny.compiled("object")
    with schemagen.LogitsProcessor(grammar).continuous_batching(model):
        outputs = model.generate_batch(
            ids_of(PROMPTS[:3]),
            generation_config=config(do_sample=True, num_return_sequences=3, top_k=3, temperature=1.5),
            continuous_batching_config=batching(seed=3, max_requests_per_batch=4),
        )
    assert len(outputs) == 9
    for output in outputs.values():
        tiny.read(grammar, output.generated_tokens, complete=True)


def test_requests_that_lose_their_cache_go_on(model, monkeypatch):
    """Where the cache is too small, requests are put back and their texts become prompts; the grammar goes on."""
    put_back = []
    make = cb.requests.RequestState.create_equivalent_initial_request

    def counted(state):
        put_back.append(state.request_id)
        return make(state)

    monkeypatch.setattr(cb.requests.RequestState, "create_equivalent_initial_request", counted)
    processor = schemagen.LogitsProcessor(grammars())
    with processor.continuous_batching(model):
        outputs = model.generate_batch(
            ids_of(PROMPTS),
            generation_config=config(),
            continuous_batching_config=batching(num_blocks=6, max_requests_per_batch=8),
        )
    check(list(outputs.values()))
    assert put_back


def test_a_manager_that_is_kept_takes_the_next_processor(model):
    """A persistent manager follows the processor of each block; numbers start again."""
    for kind in ("regex", "choice"):
        processor = schemagen.LogitsProcessor([tiny.compiled(kind)] * 2)
        with processor.continuous_batching(model):
            outputs = model.generate_batch(
                ids_of(PROMPTS[:2]),
                generation_config=config(),
                continuous_batching_config=batching(),
                persistent_manager=True,
            )
        for output in outputs.values():
            tiny.read(tiny.compiled(kind), output.generated_tokens, complete=True)


def test_what_is_attached_ends_with_the_block(model):
    """After the block the model generates freely."""
    choice = schemagen.LogitsProcessor(tiny.compiled("choice"))
    with choice.continuous_batching(model), schemagen.LogitsProcessor(None).continuous_batching(model):
        pass
    assert "init_continuous_batching" not in vars(model)
    [output] = model.generate_batch(
        ids_of(["x"]), generation_config=config(), continuous_batching_config=batching()
    ).values()
    assert output.generated_tokens == alone("x", None)


def test_more_prompts_than_grammars_fail_closed(model, caplog):
    """A request without a grammar in the list is never generated freely."""
    caplog.set_level(logging.CRITICAL, logger="transformers")
    with schemagen.LogitsProcessor([tiny.compiled("choice")]).continuous_batching(model):
        outputs = model.generate_batch(
            ids_of(PROMPTS[:2]), generation_config=config(), continuous_batching_config=batching()
        )
    assert all("request req_1 and 1 grammars" in output.error for output in outputs.values())


def test_a_processor_that_is_not_attached_fails_closed():
    """Called with the last tokens alone, it raises rather than guess."""
    processor = schemagen.LogitsProcessor(tiny.compiled("choice"))
    with pytest.raises(MatcherError, match="only the last tokens") as caught:
        processor(torch.tensor([1, 2]), torch.zeros(2, tiny.WIDTH))
    assert caught.value.code == "not-attached"


@pytest.mark.parametrize("ahead", [{"use_async_batching": True}, {"use_cuda_graph": (False, True)}])
def test_running_ahead_is_refused(ahead):
    """Asynchronous batching and CUDA graphs decide before the mask is known."""
    options = SimpleNamespace(**{"use_async_batching": False, "use_cuda_graph": (False, False), **ahead})
    manager = SimpleNamespace(continuous_batching_config=options)
    with pytest.raises(GenerationError, match="runs ahead") as caught:
        schemagen.LogitsProcessor(tiny.compiled("choice")).attach_to(manager)
    assert caught.value.code == "continuous-batching"


def test_a_manager_that_runs_is_refused(model):
    """Once its tensors are made there is no place for a constraint."""
    with model.continuous_batching_context_manager(
        generation_config=config(), continuous_batching_config=batching()
    ) as manager:
        manager.add_request([1], max_new_tokens=1)
        manager.get_result(timeout=30)
        with pytest.raises(GenerationError, match="started already"):
            schemagen.LogitsProcessor(tiny.compiled("choice")).attach_to(manager)
