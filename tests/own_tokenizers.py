"""Tokenizers of the three common kinds, trained in a fraction of a second, for a clone that has none of the big ones.

They differ as the real ones do: GPT-2 splits by its regular expression and has one special token; Llama 3 merges whole pieces first,
and has 256 special tokens behind the others; Mistral writes spaces as `▁`, puts one in front, and spells what it does not know in
bytes. The text is the suite of tests, so that the same clone trains the same tokens everywhere.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

import pytest

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402 - needs the packages above

SIZE = 2000
SUITE = Path(__file__).parent / "suite"
LLAMA3_SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@lru_cache(maxsize=1)
def _lines():
    """Return the text, numbers cut to three digits: real tokenizers have few tokens of the twenty that our edge cases have."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(SUITE.glob("*.toml"))]
    return [line for text in texts for line in re.sub(r"([0-9]{3})[0-9]+", r"\1", text).splitlines()]


def _trained(pre_tokenizer, size, alphabet, **options):
    """Return the pieces and merges of a BPE."""
    made = tokenizers.Tokenizer(models.BPE(**options))
    made.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(_lines(), trainer)
    model = json.loads(made.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [tuple(pair) for pair in model["merges"]]


def _finished(model, pre_tokenizer, decoder, specials, **roles):
    """Return a tokenizer of transformers; `specials` come behind the tokens of the model, or are among them."""
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer, made.decoder = pre_tokenizer, decoder
    made.add_special_tokens(specials)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, clean_up_tokenization_spaces=False, **roles)


def _byte_level(pre_tokenizer, specials, *, ignore_merges=False, **roles):
    pieces, merges = _trained(pre_tokenizer, SIZE, pre_tokenizers.ByteLevel.alphabet())
    model = models.BPE({piece: k for k, piece in enumerate(pieces)}, merges, ignore_merges=ignore_merges)
    return _finished(model, pre_tokenizer, decoders.ByteLevel(), specials, **roles)


def like_gpt2():
    """Byte-level BPE, one special token, which comes last."""
    end = "<|endoftext|>"
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _byte_level(splitter, [end], bos_token=end, eos_token=end, unk_token=end)


def like_llama3():
    """Byte-level BPE of Llama's pieces, 256 special tokens behind the others, the end of a turn among them."""
    split = pre_tokenizers.Split(tokenizers.Regex(LLAMA3_SPLIT), "isolated")
    splitter = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    specials = [f"<|reserved_special_token_{k}|>" for k in range(256)]
    specials[0], specials[1], specials[9] = "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"
    return _byte_level(splitter, specials, ignore_merges=True, bos_token=specials[0], eos_token=specials[9])


def like_mistral():
    """BPE over characters as SentencePiece writes it: `▁` for spaces, one in front, 256 pieces for bytes."""
    pieces, merges = _trained(pre_tokenizers.Metaspace(), SIZE - 259, [])
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocab = {piece: k for k, piece in enumerate([*first, *pieces])}
    model = models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    splitter = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    roles = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return _finished(model, splitter, decoders.Sequence(parts), first[:3], **roles)


KINDS = {"gpt2": like_gpt2, "llama3": like_llama3, "mistral": like_mistral}
