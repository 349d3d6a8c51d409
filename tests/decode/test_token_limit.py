"""A processor knows how many tokens the call of ``generate`` around it may write, and says when they are too few."""

import copy
import warnings

import pytest
import torch

import schemagen
from schemagen.decode import DeviceLogitsProcessor, LogitsProcessor
from schemagen.decode.generate_call import max_length_of_call
from schemagen.errors import ModelWarning
from tests.decode.tiny import EOS, PAD, VOCABULARY, WIDTH, batch_of, compiled, model

PROCESSORS = {"host": LogitsProcessor, "device": DeviceLogitsProcessor}
SEARCHES = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "several samples": {"do_sample": True, "num_return_sequences": 2},
    "beams": {"num_beams": 2},
    "assistant": {"assistant_model": "assistant"},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
}
#: The model would go on in it for ever.
ENDLESS = schemagen.compile({"type": "array", "items": {"type": "string"}, "minItems": 1}, VOCABULARY)


def generate(name, processor, texts=("ab",), **options):
    """Return the generated tokens of every row."""
    if "assistant_model" in options:
        options["assistant_model"] = model(options["assistant_model"])
    made, batch = model(name), batch_of(texts)
    torch.manual_seed(0)
    output = made.generate(**batch, logits_processor=[processor], eos_token_id=EOS, pad_token_id=PAD, **options)
    return output[:, 1 if made.config.is_encoder_decoder else batch["input_ids"].shape[1] :].tolist()


def check_complete(tokens):
    """Read a text to its end; in the last step of a budget EOS is not needed."""
    matcher = ENDLESS.matcher()
    body = [token for token in tokens if token not in {EOS, PAD}]
    assert all(matcher.accept_token(token) for token in body)
    assert matcher.is_accepting(), bytes(body)


@pytest.mark.parametrize("kind", PROCESSORS)
@pytest.mark.parametrize("search", SEARCHES)
def test_a_text_is_complete_in_time(search, kind):
    """With the budget of ``generate``, not that of an assistant; the same object learns that of the next call."""
    processor = PROCESSORS[kind](ENDLESS, pad_token_id=PAD)
    for budget in (ENDLESS.min_new_tokens, 30, 9):
        for tokens in generate("llama", processor, max_new_tokens=budget, **SEARCHES[search]):
            assert len(tokens) <= budget
            check_complete(tokens)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_an_encoder_decoder_counts_what_it_writes(name):
    """The prompt of the encoder is no part of the budget."""
    (tokens,) = generate(name, LogitsProcessor(ENDLESS, pad_token_id=PAD), max_new_tokens=20)
    check_complete(tokens)


def test_max_length_and_configurations_count_as_well():
    """Whatever way the limit is given to ``generate``, prompts of a batch included."""
    config = copy.deepcopy(model("llama").generation_config)
    config.max_new_tokens = 12
    for options in ({"max_length": 20}, {"generation_config": config}):
        processor = LogitsProcessor(ENDLESS, pad_token_id=PAD)
        for tokens in generate("llama", processor, texts=("ab", "abcde"), **options):
            assert len(tokens) <= 15
            check_complete(tokens)


@pytest.mark.parametrize("kind", PROCESSORS)
def test_a_budget_of_ones_own_comes_first(kind):
    """A number is taken as it is, and None leaves the text to be cut off."""
    (tokens,) = generate("llama", PROCESSORS[kind](ENDLESS, pad_token_id=PAD, max_new_tokens=8), max_new_tokens=40)
    assert len([token for token in tokens if token < EOS]) <= 8
    check_complete(tokens)
    (tokens,) = generate("llama", PROCESSORS[kind](ENDLESS, pad_token_id=PAD, max_new_tokens=None), max_new_tokens=25)
    assert EOS not in tokens


@pytest.mark.parametrize("kind", PROCESSORS)
def test_too_few_tokens_are_a_warning_once(kind):
    """It names both numbers; the text is cut off."""
    grammar = compiled("object")
    least = grammar.min_new_tokens
    processor = PROCESSORS[kind](grammar, pad_token_id=PAD)
    with pytest.warns(ModelWarning, match=f"may write 5 tokens, and the shortest text of the grammar takes {least}"):
        (tokens,) = generate("llama", processor, max_new_tokens=5)
    assert len(tokens) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        generate("llama", processor, max_new_tokens=5)
        generate("llama", PROCESSORS[kind](grammar, pad_token_id=PAD, max_new_tokens=None), max_new_tokens=5)


def test_a_loop_of_ones_own_has_no_budget_that_is_known():
    """Nothing is guessed, and nothing is said."""
    processor = LogitsProcessor(ENDLESS)
    ids = torch.tensor([[1, 2]])
    for token in b'["' + b"a" * 600:
        assert processor(ids, torch.zeros(1, WIDTH))[0, token] == 0
        ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
    assert max_length_of_call(processor) is None


def test_another_generation_around_this_one_does_not_count():
    """Only the call that was given the processor is asked, here from within a processor of a larger one."""
    inner, found = LogitsProcessor(ENDLESS, pad_token_id=PAD), []

    def outer(_input_ids, scores):
        if not found:
            found.extend(generate("assistant", inner, max_new_tokens=10))
        return scores

    generate("llama", outer, max_new_tokens=5)
    check_complete(found[0])
