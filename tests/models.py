"""Tiny models that tests make themselves."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from transformers import LlamaConfig


def llama_config(**options):
    """Return the configuration of a Llama of a few thousand weights; options are those of `LlamaConfig`."""
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaConfig(**{**small, "bos_token_id": None, **options})


def wants(tokenizer, piece):
    """Return a distortion of logits that puts all weight on a piece of a tokenizer."""
    token_id = tokenizer.convert_tokens_to_ids(piece)

    def distort(logits):
        logits = logits.clone()
        logits[..., token_id] = 1e4
        return logits

    return distort


@contextmanager
def one_thread():
    """Run tiny models on one thread: more only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
