"""Models whose logits break at some step of some row: the error names both, and other rows are not affected."""

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import schemagen
from schemagen.decode import DeviceLogitsProcessor, LogitsProcessor
from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.generate import decode, decode_freely
from schemagen.errors import GenerationError, LogitsError, ModelError
from tests.decode.tiny import EOS, PAD, VOCABULARY, WIDTH, batch_of, compiled
from tests.models import llama_config

pytestmark = pytest.mark.sampled(3)

#: What breaks: how the logits [B, V] of the last position become.
BREAKS = {
    "all NaN": lambda logits: torch.full_like(logits, float("nan")),
    "half NaN": lambda logits: logits.masked_fill(torch.arange(logits.shape[-1]) % 2 == 0, float("nan")),
    "one NaN": lambda logits: logits.index_fill(-1, torch.tensor([3]), float("nan")),
    "all inf": lambda logits: torch.full_like(logits, float("inf")),
    "one inf": lambda logits: logits.index_fill(-1, torch.tensor([3]), float("inf")),
    "all -inf": lambda logits: torch.full_like(logits, float("-inf")),
    "all of JSON -inf": lambda logits: logits.masked_fill(torch.arange(logits.shape[-1]) < EOS, float("-inf")),
}
SEARCHES = {
    "greedy, read ahead": {},
    "greedy, by generate": {"repetition_penalty": 1.0001},
    "sampling": {"do_sample": True},
    "beams": {"num_beams": 3},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
}


class Breaking(LlamaForCausalLM):
    """A tiny Llama whose logits break once so many tokens were read, in rows of prompts that begin with some byte.

    Attributes:
        broken: What the logits become.
        after: Positions that are still fine.
        marks: First bytes of the prompts that break; None: all do.
    """

    broken = staticmethod(BREAKS["all NaN"])
    after = 0
    marks = None
    first = None

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, **options):
        """Run the model, then break the logits of some rows."""
        seen = 0 if past_key_values is None else past_key_values.get_seq_length()
        if not seen:
            self.first = input_ids
        output = super().forward(
            input_ids=input_ids, attention_mask=attention_mask, past_key_values=past_key_values, **options
        )
        logits = output.logits.clone()
        width = seen + input_ids.shape[1]
        for row in range(len(logits)):
            prompt = self.first[row % len(self.first)].tolist()
            start = next(token for token in prompt if token != PAD)
            for position in range(logits.shape[1]):
                read = width - logits.shape[1] + position + 1
                if read > self.after and (self.marks is None or chr(start) in self.marks):
                    logits[row, position] = self.broken(logits[row, position])
        output.logits = logits
        return output


def breaking(how, after, marks=None):
    """Return a model that breaks."""
    torch.manual_seed(1)
    config = llama_config(vocab_size=WIDTH, max_position_embeddings=512, eos_token_id=EOS, pad_token_id=PAD)
    model = Breaking(config).double().eval()
    model.broken, model.after, model.marks = staticmethod(BREAKS[how]).__func__, after, marks
    return model


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("step", [0, 5])
def test_every_search_names_row_and_step(how, search, step):
    """In one generation, whatever the search is; the text so far is kept."""
    inputs = batch_of(["x y z x y"])
    model = breaking(how, inputs["input_ids"].shape[1] + step - 1)
    with pytest.raises(LogitsError) as caught:
        decode(model, inputs, compiled("object"), max_new_tokens=60, seed=3, **SEARCHES[search])
    error = caught.value
    beams = search == "beams"
    assert (error.step, error.row if not beams else 0) == (step, 0)
    assert error.code == "bad-logits"
    assert error.text == '{"nam'[:step]
    # In beam search, processors see the logarithm of the softmax, which is NaN where a logit is.
    expected = {
        "all inf": "263 of 264 logits are inf",
        "one inf": "1 of 264 logits are inf",
        "all -inf": "all 264 logits are -inf",
        "all of JSON -inf": "tokens that the grammar allows are all -inf",
    }
    assert beams or expected.get(how, "logits are NaN") in error.fact
    assert isinstance(error, (ModelError, GenerationError))


@pytest.mark.parametrize("how", BREAKS)
def test_other_rows_of_a_batch_go_on(how):
    """The row that breaks has the error, the others are what they are alone; that holds for the first and the last step."""
    texts = ["abc", "x", "def ghi", "xyz", "b"]
    rows = [Row(tuple(text.encode()), compiled("object")) for text in texts]
    expected = dict(decode_batch(breaking(how, 10**6), rows, batch_size=8, max_new_tokens=60, pad_token_id=PAD))
    found = dict(decode_batch(breaking(how, 9, "x"), rows, batch_size=8, max_new_tokens=60, pad_token_id=PAD))
    for index, text in enumerate(texts):
        if text[0] == "x":
            assert isinstance(found[index], LogitsError)
            # Alone, without padding: behind the nine tokens that are fine.
            assert found[index].step == 10 - len(text)
        else:
            assert found[index].text == expected[index].text


def test_a_row_that_breaks_by_its_padding_alone_is_fine():
    """It is generated once more without its neighbours."""
    model = breaking("all NaN", 0)
    padded = []

    def broken(logits):
        padded.append(True)
        return BREAKS["all NaN"](logits)

    model.broken = broken
    ordinary = model.forward

    def forward(**options):
        mask = options.get("attention_mask")
        has_padding = mask is not None and not bool(mask.all())
        model.after = 0 if has_padding else 10**6
        model.marks = "x" if has_padding else ""
        return ordinary(**options)

    model.forward = forward
    rows = [Row(tuple(text.encode()), compiled("choice")) for text in ("abcdef", "x")]
    found = dict(decode_batch(model, rows, batch_size=2, max_new_tokens=60, pad_token_id=PAD))
    assert padded
    assert [type(found[index]).__name__ for index in (0, 1)] == ["Decoded", "Decoded"]


def test_batches_with_beams_and_seeds():
    """Rows with beams are not given up in the middle; they fail all the same, and the others do not."""
    rows = [Row(tuple(text.encode()), compiled("object"), seed) for seed, text in enumerate(("abc", "x", "def"))]
    for options in ({"num_beams": 2}, {"do_sample": True}):
        model = breaking("half NaN", 6, "x")
        found = dict(decode_batch(model, rows, batch_size=3, max_new_tokens=60, pad_token_id=PAD, **options))
        assert [type(found[index]).__name__ for index in range(3)] == ["Decoded", "LogitsError", "Decoded"]


@pytest.mark.parametrize("how", ["all NaN", "one NaN", "all inf", "one inf", "all -inf"])
def test_generation_without_a_grammar(how):
    """Free text is no better with noise."""
    with pytest.raises(LogitsError) as caught:
        decode_freely(breaking(how, 8), batch_of(["abcdef"]), max_new_tokens=20, min_new_tokens=10)
    assert caught.value.step == 3


def written(tokens):
    """Return the text before EOS or padding."""
    end = next((place for place, token in enumerate(tokens) if token >= EOS), len(tokens))
    return bytes(tokens[:end]).decode()


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("options", [{}, {"do_sample": True}, {"num_beams": 2}])
def test_the_device_ends_the_row_and_tells_at_the_end(how, options):
    """No step asks the device; the text is not complete, and check() names row and step."""
    texts = ["abc", "xyz", "def"]
    inputs = batch_of(texts)
    model = breaking(how, inputs["input_ids"].shape[1] + 4, "x")
    grammar = compiled("object")
    processor = DeviceLogitsProcessor(grammar, pad_token_id=PAD)
    torch.manual_seed(0)
    output = model.generate(
        **inputs, logits_processor=[processor], max_new_tokens=60, eos_token_id=EOS, pad_token_id=PAD, **options
    )
    texts = [written(row[3:].tolist()) for row in output]
    if "num_beams" not in options:
        assert texts[1] == '{"nam'
        grammar.validate(texts[0])
        grammar.validate(texts[2])
    with pytest.raises(LogitsError) as caught:
        processor.check()
    rows = 2 if "num_beams" in options else 1
    assert (caught.value.row // rows, caught.value.step, caught.value.text) == (1, 5, '{"nam')


def test_the_device_says_nothing_of_sound_logits():
    """Before the first generation, and after one that was fine, check() passes."""
    processor = DeviceLogitsProcessor(compiled("choice"), pad_token_id=PAD)
    processor.check()
    breaking("all NaN", 10**6).generate(
        **batch_of(["ab"]), logits_processor=[processor], max_new_tokens=20, eos_token_id=EOS, pad_token_id=PAD
    )
    processor.check()


def test_the_processor_on_its_own():
    """``model.generate`` with a processor raises as well."""
    with pytest.raises(LogitsError, match="logits are NaN"):
        breaking("one NaN", 6).generate(
            **batch_of(["ab"]),
            logits_processor=[LogitsProcessor(compiled("object"))],
            max_new_tokens=60,
            eos_token_id=EOS,
            pad_token_id=PAD,
        )


def language_model(how, after):
    """Return a front door to a model that breaks."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={piece: index for index, piece in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", pad_token="<pad>")
    return schemagen.from_transformers(breaking(how, after), tokenizer)


def test_the_front_doors():
    """A call, a stream and a batch; the failure of a row has the number of that row, and the text so far."""
    lm = language_model("half NaN", 9)
    for use in (lambda: lm("abc", bool, show_schema=False), lambda: list(lm.stream("abc", bool, show_schema=False))):
        lm.model.after = 2
        with pytest.raises(LogitsError):
            use()
    lm.model.after = 9
    found = lm.batch(["abc", "a b c d e f", "xy"], schemagen.Choice(["true"]), show_schema=False)
    assert found[0] == found[2] == "true"
    failure = found[1]
    assert isinstance(failure.error, LogitsError)
    assert (failure.index, failure.error.row, failure.error.step, failure.text) == (1, 1, 0, "")


def test_an_infinite_logit_of_eos_is_let_through():
    """A penalty on the length makes it grow without bound; where the text may not end yet, that means nothing."""
    penalty = {"exponential_decay_length_penalty": (0, 1e5)}
    model, inputs = breaking("all NaN", 10**6), batch_of(["abc"])
    found = decode(model, inputs, compiled("object"), max_new_tokens=60, **penalty)
    assert found.text == decode(model, inputs, compiled("object"), max_new_tokens=60).text
    for processor in (LogitsProcessor(compiled("object")), DeviceLogitsProcessor(compiled("object"))):
        output = model.generate(
            **inputs, logits_processor=[processor], max_new_tokens=60, eos_token_id=EOS, pad_token_id=PAD, **penalty
        )
        assert written(output[0, inputs["input_ids"].shape[1] :].tolist()) == found.text
    processor.check()


def test_the_vocabulary_is_that_of_bytes():
    """The steps above are counted in bytes."""
    assert VOCABULARY.size == EOS + 1
