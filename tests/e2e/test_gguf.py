"""Models in .gguf files: from a file alone, from a folder, with a cache; and what is said of files that cannot be read."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from pydantic import BaseModel

import schemagen
from schemagen.errors import ModelError
from schemagen.vocabulary import Vocabulary

pytest.importorskip("gguf")

TEMPLATE = "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}<|assistant|>"


class Point(BaseModel):
    x: int
    y: bool


@pytest.fixture(scope="module")
def file(tmp_path_factory, tokenizer):
    """Write a Llama of a few thousand weights with a byte-level tokenizer, as converters of llama.cpp write them."""
    import gguf

    path = tmp_path_factory.mktemp("gguf") / "tiny.F32.gguf"
    vocab = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    width, inner, random = 16, 32, np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(2048)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(width // 2)
    writer.add_vocab_size(len(vocab))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocab)
    special = {tokenizer.eos_token, tokenizer.pad_token}
    writer.add_token_types([3 if piece in special else 1 for piece in vocab])
    writer.add_token_merges(['{ "', '" :', '" ,', 'Ġ "', "t r", "u e", "tr ue"])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_chat_template(TEMPLATE)

    def tensor(name, *shape):
        writer.add_tensor(name, random.normal(0, 0.3, shape).astype(np.float32))

    for name, rows in (("token_embd", len(vocab)), ("output", len(vocab))):
        tensor(f"{name}.weight", rows, width)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(f"blk.0.{name}.weight", width, width)
    for name in ("ffn_gate", "ffn_up"):
        tensor(f"blk.0.{name}.weight", inner, width)
    tensor("blk.0.ffn_down.weight", width, inner)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def gguf_lm(file):
    """Load it by its path alone."""
    return schemagen.load(file)


def test_a_file_is_a_model_with_its_tokenizer_and_template(gguf_lm, tokenizer):
    """Nothing else is needed; on the CPU the weights are float32."""
    import torch

    assert gguf_lm.model.dtype == torch.float32
    assert gguf_lm.vocabulary.eos_token_ids == (tokenizer.eos_token_id,)
    expected = Vocabulary.from_tokenizer(tokenizer).tokens
    assert gguf_lm.vocabulary.tokens[: len(expected)] == expected
    assert gguf_lm.render("Hi", Point).startswith("<|user|>Hi")
    assert isinstance(gguf_lm("Hi", Point), Point)


def test_a_folder_names_its_file(file, gguf_lm):
    """`gguf_file=` goes to the tokenizer, too, and the answers are those of the file."""
    lm = schemagen.load(file.parent, gguf_file=file.name)
    assert lm.run("Hi", Point).token_ids == gguf_lm.run("Hi", Point).token_ids


def test_a_dtype_that_is_given_holds(file):
    """float32 is only what is taken where nothing is said."""
    import torch

    assert schemagen.load(file, dtype="bfloat16").model.dtype == torch.bfloat16


def test_the_cache_keeps_model_and_vocabulary(file, gguf_lm, tmp_path, monkeypatch):
    """The second process reads no GGUF, and answers the same."""
    first = schemagen.load(file, cache=tmp_path)
    first.vocabulary  # noqa: B018 - it is read and written
    assert [*tmp_path.glob("gguf-*/model.safetensors")]
    assert [*tmp_path.glob("*.vocabulary")]
    assert not [entry for entry in tmp_path.iterdir() if not (entry.suffix or (entry / "config.json").is_file())]
    import gguf

    monkeypatch.setattr(gguf, "GGUFReader", None)
    again = schemagen.load(file, cache=tmp_path)
    assert again.vocabulary == gguf_lm.vocabulary
    assert again.render("Hi", Point) == gguf_lm.render("Hi", Point)
    assert again.run("Hi", Point).token_ids == gguf_lm.run("Hi", Point).token_ids == first.run("Hi", Point).token_ids


def test_another_file_is_another_entry(file, tmp_path):
    """The content is the key, not the name."""
    from schemagen.lm.gguf import ConvertedFile

    other = tmp_path / file.name
    other.write_bytes(file.read_bytes() + b"\0")
    assert ConvertedFile.of(file, tmp_path).folder != ConvertedFile.of(other, tmp_path).folder


def test_a_cache_that_cannot_be_written_is_a_warning(file, tmp_path):
    """The model is there all the same."""
    (tmp_path / "taken").write_text("no folder")
    with pytest.warns(RuntimeWarning, match="not cached"):
        lm = schemagen.load(file, cache=tmp_path / "taken" / "cache")
    assert lm.model is not None


def test_without_the_package_the_extra_is_named(file, monkeypatch):
    """Before transformers is asked."""
    known = importlib.util.find_spec
    monkeypatch.setattr("schemagen.lm.gguf.find_spec", lambda name: None if name == "gguf" else known(name))
    with pytest.raises(ModelError) as caught:
        schemagen.load(file)
    assert caught.value.code == "no-gguf"
    assert "extra `gguf`" in caught.value.fix


def test_what_cannot_be_read_is_said(file, tmp_path):
    """A file that is missing, is none, is damaged, is named twice, or stands in a folder without being named."""
    short = tmp_path / "short.gguf"
    short.write_bytes(file.read_bytes()[:200])
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\3\4 and more")
    cases = [
        (lambda: schemagen.load(tmp_path / "missing.gguf"), "there is no file", "other.gguf, short.gguf"),
        (lambda: schemagen.load(tmp_path, gguf_file="missing.gguf"), "there is no file", "short.gguf"),
        (lambda: schemagen.load(other), "not a GGUF file", "again"),
        (lambda: schemagen.load(short), "cannot read", "made from"),
        (lambda: schemagen.load(file, gguf_file=file.name), "beside gguf_file", "the path alone"),
        (lambda: schemagen.load(file.parent, gguf_file=7), "gguf_file=7", "as a text"),
        (lambda: schemagen.load(file.parent), "config.json", "gguf_file='tiny.F32.gguf'"),
    ]
    for call, fact, fix in cases:
        with pytest.raises(ModelError) as caught:
            call()
        assert fact in caught.value.fact
        assert fix in caught.value.fix
