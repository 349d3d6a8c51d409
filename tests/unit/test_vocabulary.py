"""Vocabularies: the bytes of each token, the width of the logits, the EOS ids."""

import contextlib
import copy
import pickle
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import schemagen
from schemagen.errors import DeadEndError, ModelWarning, VocabularyError
from schemagen.vocabulary import Vocabulary
from schemagen.vocabulary.pieces import byte_alphabet, from_decoder
from schemagen.vocabulary.roundtrip import PROBES
from tests import corpora
from tests.grammars import compiled_by

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def byte_level(extra=(), **parts) -> Tokenizer:
    """A byte-level BPE of the 256 bytes."""
    vocab = {piece: i for i, piece in enumerate([*ALPHABET, *extra])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = parts.get("pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.decoder = parts.get("decoder", decoders.ByteLevel())
    return tokenizer


def sentencepiece(*, byte_fallback: bool = True, prepend: str = "first") -> Tokenizer:
    """A Unigram model with the pieces of SentencePiece."""
    pieces = [("<unk>", 0.0), ("▁", -1.0), *((chr(i), -2.0) for i in range(33, 127)), ("▁a", -1.5), ("▁▁", -1.2)]
    if byte_fallback:
        pieces += [(f"<0x{i:02X}>", -9.0) for i in range(256)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=byte_fallback))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


class SlowSentencePiece:
    """A tokenizer as transformers writes them in Python: no backend, a SentencePiece model."""

    all_special_ids = (0, 1)
    unk_token_id = 0
    eos_token_id = 1
    sp_model = object()

    def get_vocab(self):
        return {"<unk>": 0, "</s>": 1, "▁": 2, **{f"<0x{i:02X}>": i + 3 for i in range(256)}}

    def encode(self, text, add_special_tokens):
        assert not add_special_tokens
        return [2, *(3 + byte for byte in text.encode())]

    def __len__(self):  # noqa: D105
        return 259


class TestRealTokenizers:
    def test_gpt2(self, gpt2_vocabulary):
        """GPT-2 has 50,256 text tokens and one EOS."""
        assert gpt2_vocabulary.size == 50257
        assert gpt2_vocabulary.eos_token_ids == (50256,)
        assert gpt2_vocabulary.special_token_ids == {50256}
        assert gpt2_vocabulary.tokens[220] == b" "
        assert gpt2_vocabulary.tokens[198] == b"\n"
        assert gpt2_vocabulary.tokens[50256] == b""
        assert not gpt2_vocabulary.adds_prefix_space

    def test_llama3(self, llama3_vocabulary):
        """All 256 special tokens of Llama 3 are without bytes."""
        assert llama3_vocabulary.size == 128256
        assert llama3_vocabulary.eos_token_ids == (128009,)
        assert llama3_vocabulary.special_token_ids == set(range(128000, 128256))
        assert llama3_vocabulary.token_names.keys() == set(range(128000, 128256))
        assert llama3_vocabulary.token_names[128010] == "<|python_tag|>"
        assert not any(llama3_vocabulary.tokens[128000:])
        assert all(llama3_vocabulary.tokens[:128000])

    def test_mistral(self, mistral_vocabulary):
        """Byte pieces are bytes, the mark is a space, and the encoder's dummy space is noted."""
        assert mistral_vocabulary.size == 32000
        assert mistral_vocabulary.eos_token_ids == (2,)
        assert mistral_vocabulary.tokens[3:259] == tuple(bytes([i]) for i in range(256))
        assert mistral_vocabulary.special_token_ids == {0, 1, 2}
        assert mistral_vocabulary.adds_prefix_space
        assert b" of" in mistral_vocabulary.tokens

    def test_own_llama3(self, own_llama3_vocabulary):
        """Special tokens behind the others are without bytes in a small one of the kind, too."""
        assert own_llama3_vocabulary.special_token_ids == set(range(2000, 2256))
        assert own_llama3_vocabulary.token_names.keys() == set(range(2000, 2256))
        assert not any(own_llama3_vocabulary.tokens[2000:])
        assert all(own_llama3_vocabulary.tokens[:2000])
        assert own_llama3_vocabulary.eos_token_ids == (2009,)

    def test_own_mistral(self, own_mistral_vocabulary):
        """Byte pieces are bytes in a small one of the kind, too, and the mark is a space."""
        assert own_mistral_vocabulary.tokens[3:259] == tuple(bytes([i]) for i in range(256))
        assert own_mistral_vocabulary.special_token_ids == {0, 1, 2}
        assert own_mistral_vocabulary.token_names == {0: "<unk>", 1: "<s>", 2: "</s>"}
        assert own_mistral_vocabulary.adds_prefix_space
        assert b" of" in own_mistral_vocabulary.tokens

    @pytest.mark.parametrize("name", [*corpora.kinds(), "bundled"])
    def test_every_byte_is_a_token(self, name, request):
        """Models with byte-level or byte-fallback tokens can write any text."""
        vocabulary = request.getfixturevalue(f"{name}_vocabulary")
        assert {bytes([i]) for i in range(256)} <= set(vocabulary.tokens)

    @pytest.mark.parametrize("name", [*corpora.kinds(), "bundled"])
    def test_decode_gives_text_back(self, name, request):
        """Encoded text is decoded to its UTF-8, a dummy space aside."""
        tokenizer = request.getfixturevalue(f"{name}_tokenizer")
        vocabulary = request.getfixturevalue(f"{name}_vocabulary")
        text = '{"città": "Zürich 🏔", "n": [1, 2.50]}\n'
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert vocabulary.decode(ids) == (b" " if vocabulary.adds_prefix_space else b"") + text.encode()

    def test_padded_width(self, own_gpt2_tokenizer, own_gpt2_vocabulary):
        """Ids between the tokenizer and the width of the logits have no bytes."""
        padded = Vocabulary.from_tokenizer(own_gpt2_tokenizer, 2048)
        assert padded.size == len(padded) == len(padded.tokens) == 2048
        assert padded.tokens[:2001] == own_gpt2_vocabulary.tokens
        assert not any(padded.tokens[2001:])
        assert padded.fingerprint != own_gpt2_vocabulary.fingerprint

    def test_width_too_small(self, own_gpt2_tokenizer):
        """A width that cuts text tokens off is refused with both numbers."""
        with pytest.raises(VocabularyError, match="vocab_size=1900, but the tokenizer has text tokens up to id 1999"):
            Vocabulary.from_tokenizer(own_gpt2_tokenizer, 1900)

    def test_width_without_eos(self, own_gpt2_tokenizer):
        """A width that has no logit for EOS is refused."""
        with pytest.raises(VocabularyError, match="EOS token id 2000 is outside the vocabulary of 2000 ids"):
            Vocabulary.from_tokenizer(own_gpt2_tokenizer, 2000)

    def test_more_eos_ids(self, own_llama3_tokenizer):
        """EOS ids that are passed join the tokenizer's own."""
        vocabulary = Vocabulary.from_tokenizer(own_llama3_tokenizer, eos_token_ids=[2001, 2008])
        assert vocabulary.eos_token_ids == (2001, 2008, 2009)

    def test_processor(self, own_gpt2_tokenizer, own_gpt2_vocabulary):
        """A processor is read by its tokenizer."""
        assert Vocabulary.from_tokenizer(SimpleNamespace(tokenizer=own_gpt2_tokenizer)) == own_gpt2_vocabulary


class TestForModel:
    @staticmethod
    def model(head, **fields):
        """A stand-in for a transformers model."""
        config = SimpleNamespace(eos_token_id=2000, text_config=SimpleNamespace(eos_token_id=[2002]))
        parts = {"config": config, "generation_config": SimpleNamespace(eos_token_id=[2000, 2001]), **fields}
        return SimpleNamespace(get_output_embeddings=lambda: head, **parts)

    def test_eos_of_every_source(self, own_gpt2_tokenizer):
        """The EOS ids of generation_config, config, text_config and tokenizer are united; the head gives the width."""
        head = SimpleNamespace(weight=SimpleNamespace(shape=(2048, 8)))
        vocabulary = Vocabulary.for_model(own_gpt2_tokenizer, self.model(head))
        assert vocabulary.eos_token_ids == (2000, 2001, 2002)
        assert vocabulary.size == 2048

    def test_quantised_head(self, own_gpt2_tokenizer):
        """A packed weight does not hide the width."""
        head = SimpleNamespace(out_features=2016, weight=SimpleNamespace(shape=(1, 1)))
        assert Vocabulary.for_model(own_gpt2_tokenizer, self.model(head)).size == 2016

    def test_no_eos_in_configs(self, own_gpt2_tokenizer):
        """Configurations without EOS leave the tokenizer's."""
        head = SimpleNamespace(out_features=2001)
        model = self.model(head, config=None, generation_config=SimpleNamespace(eos_token_id=None))
        assert Vocabulary.for_model(own_gpt2_tokenizer, model).eos_token_ids == (2000,)

    def test_no_head(self, own_gpt2_tokenizer):
        """A model without a head is refused."""
        with pytest.raises(VocabularyError, match="has no output embeddings"):
            Vocabulary.for_model(own_gpt2_tokenizer, self.model(None))


class TestKinds:
    def test_byte_alphabet(self):
        """The table of byte-level BPE is that of `tokenizers`, one character for each byte."""
        table = byte_alphabet()
        assert sorted(table) == list(range(256))
        assert sorted(table.values()) == ALPHABET
        assert table[0x20] == "Ġ"

    def test_byte_level(self):
        """Pieces of byte-level BPE become bytes."""
        tokenizer = byte_level(extra=["Ġhello"])
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[256] == b" hello"
        assert set(vocabulary.tokens[:256]) == {bytes([i]) for i in range(256)}

    def test_byte_level_without_decoder(self):
        """Without a decoder the pre-tokenizer tells the kind."""
        tokenizer = byte_level(decoder=None)
        assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=()).tokens[ALPHABET.index("Ġ")] == b" "

    def test_byte_level_in_a_sequence(self):
        """The byte-level step is found inside nested sequences."""
        parts = pre_tokenizers.Sequence([pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=True)])])
        tokenizer = byte_level(pre_tokenizer=parts, decoder=decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()]))
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[ALPHABET.index("Ċ")] == b"\n"
        assert vocabulary.adds_prefix_space

    @pytest.mark.parametrize("piece", ["two words", "Ġ and space", "soft\xadhyphen"])
    def test_literal_pieces_in_byte_level(self, piece):
        """A piece with a character outside the alphabet is literal text, as the decoder reads it."""
        tokenizer = byte_level(extra=[piece])
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[256].decode() == tokenizer.decode([256]) == piece

    def test_sentencepiece(self):
        """The mark is a space, byte pieces are bytes, the unknown token is masked."""
        tokenizer = sentencepiece()
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[tokenizer.token_to_id("▁a")] == b" a"
        assert vocabulary.tokens[tokenizer.token_to_id("▁▁")] == b"  "
        assert vocabulary.tokens[tokenizer.token_to_id("<0x0A>")] == b"\n"
        assert vocabulary.tokens[0] == b""
        assert vocabulary.adds_prefix_space

    def test_sentencepiece_without_dummy_space(self):
        """No dummy space is noted where the encoder adds none."""
        assert not Vocabulary.from_tokenizer(sentencepiece(prepend="never"), eos_token_ids=()).adds_prefix_space

    def test_sentencepiece_without_byte_fallback(self):
        """Texts with unknown characters prove nothing; the others are checked."""
        tokenizer = sentencepiece(byte_fallback=False)
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[tokenizer.token_to_id("▁a")] == b" a"

    def test_byte_pieces_are_text_without_fallback(self):
        """`<0x0A>` is a byte only for a decoder that says so."""
        steps = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]
        assert from_decoder(steps, byte_level_input=False).decode_all(["<0x0A>"]) == [b"<0x0A>"]

    def test_character_level(self):
        """A vocabulary of single characters is literal text, though it knows few of the probes."""
        vocab = {char: i for i, char in enumerate(["[UNK]", "x", "y", "é"])}
        tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        tokenizer.decoder = decoders.Fuse()
        assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=()).tokens == (b"", b"x", b"y", "é".encode())

    def test_python_byte_tokenizer(self):
        """ByT5, written in Python, has one token for each byte."""
        transformers = pytest.importorskip("transformers")
        vocabulary = Vocabulary.from_tokenizer(transformers.ByT5Tokenizer())
        assert vocabulary.tokens[3:259] == tuple(bytes([i]) for i in range(256))
        assert not any(vocabulary.tokens[259:])

    def test_python_sentencepiece_tokenizer(self):
        """A tokenizer around a SentencePiece model is told by that model."""
        vocabulary = Vocabulary.from_tokenizer(SlowSentencePiece())
        assert vocabulary.tokens[:4] == (b"", b"", b" ", b"\x00")
        assert vocabulary.adds_prefix_space


class TestAddedTokens:
    def test_plain_added_token_is_literal(self):
        """An added token that is not special is text, spaces included."""
        tokenizer = byte_level()
        tokenizer.add_tokens(["<tool call>"])
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[256] == b"<tool call>"
        assert vocabulary.token_names == {256: "<tool call>"}

    def test_special_added_token_has_no_bytes(self):
        """A special token is never part of a text."""
        tokenizer = byte_level()
        tokenizer.add_special_tokens(["<|end|>"])
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[256])
        assert vocabulary.tokens[256] == b""
        assert vocabulary.special_token_ids == {256}
        assert vocabulary.token_names == {256: "<|end|>"}

    def test_ambiguous_added_token_is_left_out(self):
        """Where encoder and decoder read an added token differently, no text is right."""
        tokenizer = byte_level()
        tokenizer.add_tokens(["naïve"])
        assert tokenizer.decode([256]) != "naïve"
        assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=()).tokens[256] == b""

    def test_added_token_that_is_a_piece(self):
        """A piece of the model that is listed as added, too, is read as a piece (Gemma's runs of spaces)."""
        tokenizer = sentencepiece()
        tokenizer.add_tokens([AddedToken("▁▁", normalized=False)])
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.tokens[tokenizer.token_to_id("▁▁")] == b"  "

    def test_holes(self):
        """Ids that no token has are masked, and the width covers the largest id."""
        vocab = {piece: i for i, piece in enumerate(ALPHABET)}
        tokenizer = byte_level()
        tokenizer.model = models.BPE(vocab={**vocab, "Ġx": 300}, merges=[])
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert vocabulary.size == 301
        assert vocabulary.tokens[300] == b" x"
        assert not any(vocabulary.tokens[256:300])


class TestRefusals:
    def test_word_piece(self):
        """WordPiece joins tokens with spaces that no token has: it is refused, with a way out."""
        tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
        tokenizer.decoder = decoders.WordPiece()
        with pytest.raises(VocabularyError, match="step of type 'WordPiece'") as raised:
            Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())
        assert raised.value.why
        assert "from_tokens" in raised.value.fix

    @pytest.mark.parametrize("decoder", [decoders.BPEDecoder(), decoders.CTC()], ids=["suffix", "ctc"])
    def test_decoders_with_context(self, decoder):
        """Decoders that look at neighbours are refused."""
        with pytest.raises(VocabularyError, match="does not give each token fixed bytes"):
            Vocabulary.from_tokenizer(byte_level(decoder=decoder), eos_token_ids=())

    def test_replacing_by_pattern(self):
        """A decoder that replaces by a regular expression is refused."""
        decoder = decoders.Sequence([decoders.Replace(Regex(" +"), " "), decoders.Fuse()])
        with pytest.raises(VocabularyError, match="not a literal string"):
            Vocabulary.from_tokenizer(byte_level(pre_tokenizer=None, decoder=decoder), eos_token_ids=())

    def test_custom_decoder(self):
        """A decoder written in Python does not describe itself."""
        decoder = decoders.Decoder.custom(SimpleNamespace(decode_chain=lambda tokens: tokens))
        with pytest.raises(VocabularyError, match="custom object"):
            Vocabulary.from_tokenizer(byte_level(decoder=decoder), eos_token_ids=())

    def test_normalising_tokenizer(self):
        """A tokenizer that changes case is refused: the error names the text, the expected bytes and those it got."""
        tokenizer = byte_level()
        tokenizer.normalizer = normalizers.Lowercase()
        with pytest.raises(VocabularyError, match=r"'Z': expected the bytes b'Z', got b'z'"):
            Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())

    def test_composing_normaliser_is_harmless(self):
        """Normal form C (Qwen) does not change the probes."""
        tokenizer = byte_level()
        tokenizer.normalizer = normalizers.NFC()
        assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=()).size == 256

    def test_missing_bytes(self):
        """A byte-level vocabulary that silently drops characters is refused."""
        tokenizer = byte_level()
        tokenizer.model = models.BPE(vocab={c: i for i, c in enumerate(ALPHABET) if c != "Ġ"}, merges=[])
        with pytest.raises(VocabularyError, match="does not give back the text"):
            Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())

    def test_wrongly_described_tokenizer(self):
        """Byte-level pieces behind a decoder that says otherwise are found by the round trip."""
        with pytest.raises(VocabularyError, match="does not give back"):
            Vocabulary.from_tokenizer(byte_level(decoder=decoders.Fuse()), eos_token_ids=())

    def test_nothing_to_check(self):
        """A tokenizer that knows no probe and no token of its own cannot be checked."""
        tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        with pytest.raises(VocabularyError, match="knows none of the"):
            Vocabulary.from_tokenizer(tokenizer, eos_token_ids=())

    def test_no_eos(self):
        """A tokenizer without EOS needs an explicit decision."""
        with pytest.raises(VocabularyError, match="names no end-of-sequence token"):
            Vocabulary.from_tokenizer(byte_level())
        assert Vocabulary.from_tokenizer(byte_level(), eos_token_ids=()).eos_token_ids == ()

    def test_no_tokenizer(self):
        """Something else than a tokenizer is named."""
        with pytest.raises(VocabularyError, match="str is not a tokenizer"):
            Vocabulary.from_tokenizer("gpt2")

    def test_truncation_and_padding_do_not_matter(self):
        """A tokenizer set up for batches is checked without truncation and padding, and left as it was."""
        tokenizer = byte_level()
        tokenizer.enable_truncation(3)
        tokenizer.enable_padding(length=8, pad_id=0)
        assert Vocabulary.from_tokenizer(tokenizer, eos_token_ids=()).size == 256
        assert len(tokenizer.encode("abcdefgh").ids) == 8
        assert tokenizer.truncation["max_length"] == 3


class TestFromTokens:
    def test_values(self):
        """Text is UTF-8, None is no text, EOS and special ids lose their bytes; equal tokens are kept apart."""
        vocabulary = Vocabulary.from_tokens(
            ["é", b"\xff", None, "a", "a", "</s>", "<pad>"], eos_token_ids=[5], special_token_ids=[6]
        )
        assert vocabulary.tokens == ("é".encode(), b"\xff", b"", b"a", b"a", b"", b"")
        assert vocabulary.eos_token_ids == (5,)
        assert vocabulary.special_token_ids == {5, 6}
        assert vocabulary.token_names == {}

    def test_names(self):
        """Tokens are given names, special or not."""
        names = {1: "<|end|>", 0: "<tool>"}
        vocabulary = Vocabulary.from_tokens(["<tool>", None], eos_token_ids=[1], token_names=names)
        assert vocabulary.token_names == names
        assert vocabulary.tokens == (b"<tool>", b"")

    @pytest.mark.parametrize(
        ("names", "fact"),
        [
            ({"<tool>": 0}, "the token id '<tool>' in token_names is a str"),
            ({0: 5}, "the name of a token 5 in token_names is an int"),
            ({0: None}, "the name of a token None in token_names is None"),
        ],
    )
    def test_names_that_are_none(self, names, fact):
        """Names the wrong way round, or no text, are told at once, and not by whoever writes them into a file."""
        with pytest.raises(VocabularyError, match=fact):
            Vocabulary.from_tokens(["<tool>"], eos_token_ids=(), token_names=names)

    def test_byte_vocabulary(self):
        """Ids are bytes, and the last is EOS."""
        vocabulary = Vocabulary.byte_vocabulary()
        assert vocabulary.decode("é\n".encode()) == "é\n".encode()
        assert (vocabulary.size, vocabulary.eos_token_ids, vocabulary.tokens[256]) == (257, (256,), b"")

    @pytest.mark.parametrize(
        ("tokens", "eos", "message"),
        [
            ([], (), "0 tokens"),
            (["a"], (1,), "EOS token id 1 is outside the vocabulary of 1 ids"),
            (["a"], -1, "EOS token id -1"),
            (["a", 3], (), "token 1 is 3, an int"),
        ],
    )
    def test_refusals(self, tokens, eos, message):
        """Impossible vocabularies are refused with the values."""
        with pytest.raises(VocabularyError, match=message):
            Vocabulary.from_tokens(tokens, eos_token_ids=eos)

    def test_constructor_clears_what_is_no_text(self):
        """The constructor is `from_tokens` by another name: an EOS id is no text, whatever its bytes."""
        vocabulary = Vocabulary([b'"', "a", None, b"</s>", b"<x>"], eos_token_ids=[3], special_token_ids=[4])
        assert vocabulary.tokens == (b'"', b"a", b"", b"", b"")
        assert vocabulary == Vocabulary.from_tokens(
            [b'"', "a", None, b"</s>", b"<x>"], eos_token_ids=3, special_token_ids={4}
        )
        matcher = schemagen.compile({"type": "string"}, vocabulary).matcher()
        assert matcher.accept_bytes(b'"')
        assert matcher.allowed_tokens() == [0, 1]

    @pytest.mark.parametrize("build", [Vocabulary, Vocabulary.from_tokens])
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"tokens": 5}, "the tokens are 5, an int"),
            ({"tokens": "ab"}, "the tokens are 'ab', a str"),
            ({"tokens": {"a": 0}}, "a dict"),
            ({"tokens": [b"a", bytearray(b"b")]}, "token 1 is bytearray"),
            ({"tokens": ["\ud800"]}, "token 0 is '.ud800'"),
            ({"eos_token_ids": "0"}, "eos_token_ids='0'"),
            ({"eos_token_ids": 0.5}, "eos_token_ids=0.5"),
            ({"eos_token_ids": None}, "eos_token_ids=None"),
            ({"eos_token_ids": [True]}, r"eos_token_ids=\[True\]"),
            ({"special_token_ids": [b"a"]}, "special_token_ids="),
            ({"special_token_ids": [7]}, "special token id 7 is outside the vocabulary of 1 ids"),
            ({"token_names": ["x"]}, "token_names="),
        ],
    )
    def test_wrong_types(self, build, given, message):
        """What cannot be meant is a VocabularyError that shows it."""
        with pytest.raises(VocabularyError, match=message):
            build(**{"tokens": [b"a"], "eos_token_ids": (), **given})

    def test_ids_of_numpy(self):
        """Numbers of numpy are ids, and become plain ones."""
        vocabulary = Vocabulary([b"a", b"b"], np.array([1]), token_names={np.int64(0): "<a>"})
        assert (vocabulary.eos_token_ids, vocabulary.token_names) == ((1,), {0: "<a>"})
        assert type(vocabulary.eos_token_ids[0]) is int

    def test_decode_refuses_foreign_ids(self):
        """Ids of another vocabulary are not decoded to something."""
        vocabulary = Vocabulary.from_tokens(["a"], eos_token_ids=())
        assert vocabulary.decode([]) == b""
        for wrong in (1, -1):
            with pytest.raises(VocabularyError, match="not all ids of this vocabulary of 1"):
                vocabulary.decode([0, wrong])


class TestIdentity:
    def test_equality(self):
        """Vocabularies are equal, and hash alike, if they hold the same."""
        one, two = Vocabulary.byte_vocabulary(), Vocabulary.byte_vocabulary()
        assert one == two
        assert hash(one) == hash(two)
        assert one != "vocabulary"

    @pytest.mark.parametrize(
        "other",
        [
            Vocabulary.from_tokens(["ab", "c"], eos_token_ids=()),
            Vocabulary.from_tokens(["a", "bc", None], eos_token_ids=()),
            Vocabulary.from_tokens(["a", "bc"], eos_token_ids=(), special_token_ids=(1,)),
            Vocabulary.from_tokens(["a", "bc"], eos_token_ids=(1,)),
            Vocabulary.from_tokens(["a", "bc"], eos_token_ids=(), token_names={1: "bc"}),
            Vocabulary((b"a", b"bc"), (), frozenset(), adds_prefix_space=True),
        ],
    )
    def test_everything_counts(self, other):
        """Borders between tokens, width, EOS, special ids, names and the dummy space are part of the fingerprint."""
        assert Vocabulary.from_tokens(["a", "bc"], eos_token_ids=()) != other

    def test_fingerprint_is_stable(self):
        """Another process, with other hash seeds, computes the same fingerprint."""
        code = "from schemagen.vocabulary import Vocabulary; print(Vocabulary.byte_vocabulary().fingerprint)"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert shown.stdout.strip() == Vocabulary.byte_vocabulary().fingerprint

    def test_immutable(self):
        """Fields cannot be assigned."""
        with pytest.raises(AttributeError):
            Vocabulary.byte_vocabulary().tokens = ()

    def test_pickle(self):
        """A pickled vocabulary is equal, and its compiled tables are not part of the pickle."""
        vocabulary = Vocabulary.byte_vocabulary()
        vocabulary.__dict__["tables"] = lambda: "not picklable"
        again = pickle.loads(pickle.dumps(vocabulary))  # noqa: S301 - made one call before
        assert again == vocabulary
        assert "tables" not in vars(again)

    def test_tables(self):
        """The compiled trie is built once and has the width of the vocabulary."""
        pytest.importorskip("schemagen._core")
        vocabulary = Vocabulary.byte_vocabulary()
        assert vocabulary.tables is vocabulary.tables
        assert vocabulary.tables.size == vocabulary.size

    def test_repr(self):
        """The numbers are shown."""
        shown = repr(Vocabulary.byte_vocabulary())
        assert shown.startswith("Vocabulary(size=257, text_tokens=256, special_tokens=1, eos_token_ids=(256,), finger")


def test_probes_are_composed():
    """The probes are in normal form C, so that normalising to it is not taken for damage."""
    import unicodedata

    assert all(unicodedata.is_normalized("NFC", probe) for probe in PROBES)


class TestEosThatIsText:
    """EOS ids of a configuration that are ordinary tokens of text, and vocabularies that cannot end or begin a text."""

    @staticmethod
    def tokenizer(**special):
        """Return a tokenizer with some added tokens."""
        backend = byte_level(extra=["<|odd|>", "[END]"])
        backend.add_special_tokens([AddedToken("<|end|>", special=True)])
        backend.add_tokens([AddedToken("stop", special=False)])
        return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>", **special)

    def test_a_warning_names_id_and_piece(self):
        """The tokens are masked all the same; nothing is dropped."""
        tokenizer = self.tokenizer()
        model = SimpleNamespace(
            config=SimpleNamespace(eos_token_id=2),
            generation_config=SimpleNamespace(eos_token_id=[2, tokenizer.eos_token_id]),
            get_output_embeddings=lambda: SimpleNamespace(out_features=300),
        )
        with pytest.warns(
            ModelWarning, match=r"EOS id 2 is the text token '#': .*to \d+, that of the tokenizer"
        ) as caught:
            vocabulary = Vocabulary.for_model(tokenizer, model)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert vocabulary.eos_token_ids == (2, tokenizer.eos_token_id)
        with pytest.warns(ModelWarning, match="EOS id 2 is the text token"):
            Vocabulary.from_tokenizer(tokenizer.backend_tokenizer, eos_token_ids=[2])

    def test_from_the_cache_as_well(self, tmp_path):
        """Whoever reads the vocabulary of another process is told, too."""
        for _ in range(2):
            with pytest.warns(ModelWarning, match="EOS id 5 is the text token '&'"):
                Vocabulary.from_tokenizer(self.tokenizer(), eos_token_ids=5, cache=tmp_path)

    def test_markers_and_added_tokens_are_meant(self):
        """What was added to a vocabulary, is special, or looks like a marker, may well be an end; so may what is no token."""
        tokenizer = self.tokenizer()
        ids = [tokenizer.convert_tokens_to_ids(piece) for piece in ("<|end|>", "stop", "<|odd|>", "[END]")]
        assert len(set(ids)) == 4
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert set(ids) <= set(Vocabulary.from_tokenizer(tokenizer, 300, eos_token_ids=[*ids, 290]).eos_token_ids)
            Vocabulary.from_tokenizer(SlowSentencePiece(), eos_token_ids=1)
        with pytest.warns(ModelWarning, match="EOS id 2 is the text token"):
            Vocabulary.from_tokenizer(SlowSentencePiece(), eos_token_ids=2)

    def test_without_eos_a_text_cannot_be_ended(self):
        """The error says so where the text may end; that it cannot go on is another one."""
        letters = Vocabulary.from_tokens([*(bytes([i]) for i in range(256))], eos_token_ids=())
        grammar = schemagen.compile(schemagen.Choice(["ab"]), letters)
        matcher = grammar.matcher()
        bitmask = np.zeros((1, 8), dtype=np.int32)
        for token in b"ab":
            matcher.fill_next_token_bitmask(bitmask)
            assert matcher.accept_token(token)
        with pytest.raises(DeadEndError, match="no token is allowed after 2 steps") as caught:
            matcher.fill_next_token_bitmask(bitmask)
        assert "no EOS id" in caught.value.why
        assert "is_accepting" in caught.value.fix
        processor = schemagen.LogitsProcessor(grammar)
        for ids in ([1], [1, 97], [1, 97, 98]):
            with (
                contextlib.nullcontext()
                if len(ids) < 3
                else pytest.raises(DeadEndError, match="complete after 2") as told
            ):
                processor(torch.tensor([ids]), torch.zeros(1, 256))
        assert "eos_token_ids" in told.value.fix

    def test_a_vocabulary_that_can_begin_no_text_is_refused(self):
        """Before a model has loaded or written anything; what can be written is compiled."""
        vocabulary = Vocabulary.from_tokens([b"x", None], eos_token_ids=1)
        for spec in (list[bool], schemagen.Choice(["yx", "z"]), bool):
            with pytest.raises(VocabularyError, match="can begin a text"):
                schemagen.compile(spec, vocabulary)
        assert schemagen.compile(schemagen.Choice(["x", "y"]), vocabulary).min_new_tokens == 1
        schemagen.compile(schemagen.Regex(""), Vocabulary.from_tokens([b"x"], eos_token_ids=()))

    @pytest.mark.parametrize("engine", ["native", "reference"])
    def test_a_deep_copy_of_a_matcher_is_a_fork(self, engine):
        """Alone or as part of something else; the grammar is shared."""
        matcher = compiled_by(engine, schemagen.Choice(["ab", "cd"]), Vocabulary.byte_vocabulary()).matcher()
        matcher.accept_token(ord("a"))
        twin = copy.deepcopy({"row": [matcher]})["row"][0]
        assert twin.accept_token(ord("b"))
        assert matcher.allowed_tokens() == [ord("b")]
        assert twin.allowed_tokens() == [256]


def test_more_eos_ids_end_a_text_and_are_none() -> None:
    """`with_eos` adds ids to a vocabulary's own: they have no bytes any more, and names and all else stay."""
    plain = Vocabulary.from_tokens(["a", "b", None, None], eos_token_ids=2, token_names={3: "<x>"})
    more = plain.with_eos([1, 3])
    assert more.eos_token_ids == (1, 2, 3)
    assert more.tokens == (b"a", b"", b"", b"")
    assert more.special_token_ids == {1, 2, 3}
    assert more.token_names == plain.token_names
    assert plain.tokens[1] == b"b"
    assert plain.with_eos(2) is plain
    assert more.fingerprint != plain.fingerprint
    with pytest.raises(VocabularyError, match="EOS token id 9"):
        plain.with_eos(9)
