"""Models and tokenizers that live in memory: a byte tokenizer, a tiny Llama, and models that want the wrong thing."""

from __future__ import annotations

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import schemagen
from tests.models import llama_config, one_thread

#: Wider than the tokenizer, as real models are: the surplus ids have no bytes.
LOGITS_WIDTH = 320


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Run the tiny models on one thread."""
    with one_thread():
        yield


def byte_level_alphabet():
    """The 256 characters that stand for the bytes in byte-level BPE."""
    return sorted(pre_tokenizers.ByteLevel.alphabet())


@pytest.fixture(scope="session")
def tokenizer():
    """Return a byte-level tokenizer: one token per byte, a few JSON pieces, EOS and padding."""
    pieces = [*byte_level_alphabet(), '{"', '":', '",', 'Ġ"', "tr", "ue", "true"]
    vocab = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    merges = [("{", '"'), ('"', ":"), ('"', ","), ("Ġ", '"'), ("t", "r"), ("u", "e"), ("tr", "ue")]
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", pad_token="<pad>")


class Distorted(LlamaForCausalLM):
    """A tiny Llama whose logits are replaced by those of `distort` (None: its own)."""

    distort = None

    def forward(self, *args, **kwargs):
        """Run the model, then replace its logits."""
        output = super().forward(*args, **kwargs)
        if self.distort is not None:
            output.logits = self.distort(output.logits)
        return output


@pytest.fixture(scope="session")
def make_lm(tokenizer):
    """Return a factory of language models: `make_lm(distort)`, where `distort` maps logits to logits."""

    def build(distort=None):
        torch.manual_seed(0)
        config = llama_config(
            vocab_size=LOGITS_WIDTH,
            max_position_embeddings=2048,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        model = Distorted(config).eval()
        model.distort = distort
        return schemagen.from_transformers(model, tokenizer)

    return build


@pytest.fixture(scope="session")
def lm(make_lm):
    """Return an undistorted tiny random model."""
    return make_lm()


@pytest.fixture(scope="session")
def bundled_lm():
    """Return the bundled model."""
    try:
        return schemagen.load_bundled()
    except schemagen.SchemagenError as error:
        pytest.skip(f"built without the bundled model: {error.fact}")
