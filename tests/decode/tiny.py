"""Tiny random models over bytes, and the slow processor that the fast one is compared with."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import torch
from pydantic import BaseModel, Field
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    LlamaForCausalLM,
    LogitsProcessor as TransformersLogitsProcessor,
    T5Config,
    T5ForConditionalGeneration,
)

import schemagen
from tests.models import llama_config

EOS, PAD = 256, 257
#: Wider than the vocabulary of 257 tokens, as real models are.
WIDTH = 264
VOCABULARY = schemagen.Vocabulary.byte_vocabulary()


class Person(BaseModel):
    name: Annotated[str, Field(pattern="^[A-F]{1,2}$")]
    age: Annotated[int, Field(ge=0, le=99)]
    tags: Annotated[list[bool], Field(max_length=2)]


class Tree(BaseModel):
    leaf: bool
    below: Annotated[list[Tree], Field(max_length=2)] = []


#: What the rows are constrained to, and what `compile` is told besides.
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "object": (Person, {"whitespace": "compact"}),
    "recursive": (Tree, {"whitespace": "compact"}),
    "regex": (schemagen.Regex(r"[a-c]{2,5}(-\d{3}){1,2}"), {}),
    "choice": (schemagen.Choice(["north", "north-east", "south", "sooth"]), {}),
    "any order": (Person, {"property_order": "any"}),
    "counted": ({"type": "string", "minLength": 2, "maxLength": 4}, {}),
}
#: Kinds whose every text fits into the budget of the tests.
BOUNDED = {"object", "regex", "choice", "counted"}


@functools.cache
def compiled(kind):
    """Return the grammar of a kind over bytes."""
    spec, options = KINDS[kind]
    return schemagen.compile(spec, VOCABULARY, **options)


def llama(seed, *, width=WIDTH, hidden=16, layers=1, spread=0.02, ends=EOS, pad=PAD):
    """Return a random decoder; in double precision, so that neither the cache nor how much is read at once changes a choice.

    Args:
        seed: Of its weights.
        width: Of its logits.
        hidden: Of its layers.
        layers: How many there are.
        spread: Standard deviation of the weights; with a large one the choices depend on the text.
        ends: EOS.
        pad: Padding.
    """
    torch.manual_seed(seed)
    config = llama_config(
        vocab_size=width,
        hidden_size=hidden,
        intermediate_size=hidden,
        num_hidden_layers=layers,
        initializer_range=spread,
        max_position_embeddings=512,
        eos_token_id=ends,
        pad_token_id=pad,
    )
    return LlamaForCausalLM(config).double().eval()


def t5(seed):
    """Return a random encoder-decoder whose decoder starts with the padding token."""
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=WIDTH,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        eos_token_id=EOS,
        pad_token_id=PAD,
        decoder_start_token_id=PAD,
    )
    return T5ForConditionalGeneration(config).double().eval()


def bart(seed):
    """Return a random encoder-decoder whose decoder starts with EOS, as BART's does."""
    torch.manual_seed(seed)
    config = BartConfig(
        vocab_size=WIDTH,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=512,
        bos_token_id=258,
        eos_token_id=EOS,
        pad_token_id=PAD,
        decoder_start_token_id=EOS,
        forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(config).double().eval()


@functools.cache
def model(name):
    """Return one of the tiny models, made once."""
    return {"llama": lambda: llama(1), "assistant": lambda: llama(2), "t5": lambda: t5(3), "bart": lambda: bart(4)}[
        name
    ]()


def batch_of(texts):
    """Return prompts as bytes, padded on the left, with their attention mask."""
    longest = max(map(len, texts))
    rows = [[PAD] * (longest - len(text)) + list(text.encode()) for text in texts]
    ids = torch.tensor(rows)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


class Slow(TransformersLogitsProcessor):
    """The definition: each row is read again from its prompt by a fresh matcher, and every token is looked up.

    Args:
        grammars: One (or None) per prompt.
        start: How long the prompts are.
        ends: What may follow a text that is complete.
    """

    def __init__(self, grammars, start, ends=(EOS, PAD)):
        self.grammars, self.start, self.ends = grammars, start, list(ends)

    def __call__(self, input_ids, scores):
        """Mask row by row."""
        scores = scores.clone()
        each = len(input_ids) // len(self.grammars)
        for row, ids in enumerate(input_ids.tolist()):
            grammar = self.grammars[row // each]
            if grammar is not None:
                allowed = self._allowed(grammar, ids[self.start :])
                forbidden = torch.ones(scores.shape[-1], dtype=torch.bool)
                forbidden[allowed] = False
                scores[row, forbidden] = float("-inf")
        return scores

    def _allowed(self, grammar, generated):
        matcher = grammar.matcher()
        for token in generated:
            if matcher.is_terminated() or not matcher.accept_token(token):
                return self.ends
        return self.ends if matcher.is_terminated() else matcher.allowed_tokens()


def read(grammar, tokens, *, complete):
    """Check that generated tokens are a text of the grammar, or the beginning of one; return the text."""
    matcher = grammar.matcher()
    body = []
    for token in tokens:
        if matcher.is_terminated():
            assert token in {EOS, PAD}
            continue
        assert matcher.accept_token(token), f"token {token} after {bytes(body)!r}"
        body.append(token)
    if matcher.is_terminated():
        text = bytes(body[:-1]).decode()
        grammar.validate(text)
        return text
    assert not complete, f"not complete after {len(tokens)} tokens: {bytes(body)!r}"
    return bytes(body).decode(errors="replace")
