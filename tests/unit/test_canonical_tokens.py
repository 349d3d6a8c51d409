"""Canonical tokens: those that the tokenizer writes, on texts of all kinds, and by enumeration on small tokenizers."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from schemagen.errors import OptionError
from schemagen.vocabulary import Vocabulary, canonical as canonical_module
from schemagen.vocabulary.canonical import CanonicalTokens
from tests import corpora, own_tokenizers

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402 - needs the package above

PIECES = (
    "a", "Ada", "Lovelace", "don't", "we'll", "THE", "CamelCase", "snake_case", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\n  ",
    "1", "12", "2024", "1234567", "3.14", "{", "}", '"', '": "', "[", "]", ",", ", ", ":", "\\n", "http://", "...", "!?", "é", "ß",
    "Привет", "日本語", "한국어", "العربية", "😀", "👩‍👩‍👧", "𝄞", "\u00a0", "\u3000", "ﬁ", "'", "''", "'s", "'r", "'re",
)  # fmt: skip


def texts(count, seed):
    """Return texts of words, blanks, numbers and signs in any order, and JSON documents."""
    draw = random.Random(seed)
    for place in range(count):
        pieces = draw.choices(PIECES, k=draw.randint(1, 24))
        yield json.dumps({"".join(pieces[:3]): pieces[3:]}, ensure_ascii=False) if place % 4 == 0 else "".join(pieces)


def follow(canonical, token_ids):
    """Return the index of the first token that is not allowed; None if all are, and the text may end."""
    text = canonical.text()
    for place, token_id in enumerate(token_ids):
        if not text.allows(token_id):
            return place
        text.append(token_id)
    return None if text.allows(canonical._vocabulary.eos_token_ids[0]) else len(token_ids)


@pytest.fixture(params=corpora.kinds())
def kind(request):
    """Return a tokenizer and its vocabulary, of each common kind."""
    name = request.param
    if name.startswith("own_"):
        tokenizer = own_tokenizers.KINDS[name.removeprefix("own_")]()
    else:
        file = corpora.need({"mistral": "mistral-v1"}.get(name, name))
        tokenizer = own_tokenizers.transformers.AutoTokenizer.from_pretrained(file.parent)
    return tokenizer, Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize("count", [250, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_tokens_of_texts_are_allowed_and_others_are_not(kind, count):
    """Each token of ``encode(text)`` is allowed, and the end; where another token begins the same text, it leads to no end."""
    tokenizer, vocabulary = kind
    canonical = CanonicalTokens(tokenizer, vocabulary)
    draw, bytes_of = random.Random(count), vocabulary.tokens
    shortest = {data: token_id for token_id, data in enumerate(bytes_of) if len(data) == 1}
    split = 0
    for text in texts(count, seed=count):
        ids = canonical.encode(text)
        if vocabulary.decode(ids) != text.encode():
            continue  # it is normalised: no tokens spell it
        assert follow(canonical, ids) is None, text
        place = draw.randrange(len(ids))
        data = bytes_of[ids[place]]
        if len(data) > 1 and all(data[k : k + 1] in shortest for k in range(len(data))):
            spelt = [*ids[:place], *(shortest[data[k : k + 1]] for k in range(len(data))), *ids[place + 1 :]]
            assert follow(canonical, spelt) is not None, text
            split += 1
    assert split > count / 4


@pytest.mark.parametrize("name", ["gpt2", "llama3", "mistral"])
def test_random_walks_end_in_canonical_texts(name):
    """Whatever allowed tokens are drawn, a text that may end is the one that the tokenizer writes."""
    tokenizer = own_tokenizers.KINDS[name]()
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    canonical, draw, ended = CanonicalTokens(tokenizer, vocabulary), random.Random(3), 0
    for _ in range(40):
        text = canonical.text()
        for _ in range(30):
            allowed = next((one for one in draw.sample(range(vocabulary.size), 200) if text.allows(one)), None)
            if allowed is None or not canonical.is_text(allowed):
                break
            text.append(allowed)
            try:
                spelt = vocabulary.decode(text.tokens).decode()
            except UnicodeDecodeError:
                continue
            may_end = text.allows(vocabulary.eos_token_ids[0])
            assert may_end == (canonical.encode(spelt) == text.tokens)
            ended += may_end
    assert ended > 200


ALPHABET = "ab 1\n'\u07ca"
#: Regular expressions that split texts into words, as tokenizers have them.
SPLITS = {
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "llama3": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(own_tokenizers.LLAMA3_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
    "none": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
}


@pytest.mark.parametrize("name", SPLITS)
def test_by_enumeration(name, monkeypatch):
    """A token may follow if, and only if, some longer text has these tokens: all texts of six characters."""
    monkeypatch.setattr(canonical_module, "_PROBES", ("", "a", " a", "\n", "1", "'"))
    monkeypatch.setattr(canonical_module, "_RARE", (("\u07ca", " \u07ca"),))
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = SPLITS[name], decoders.ByteLevel()
    draw = random.Random(5)
    lines = ["".join(draw.choices("aab 1\n'", k=12)) for _ in range(300)]
    trainer = trainers.BpeTrainer(
        vocab_size=285,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        special_tokens=["<end>"],
    )
    made.train_from_iterator(lines, trainer)
    vocabulary = Vocabulary.from_tokenizer(made, eos_token_ids={0})
    canonical = CanonicalTokens(made, vocabulary)
    every = {()}
    for length in range(1, 7):
        for chars in itertools.product(ALPHABET, repeat=length):
            ids = tuple(made.encode("".join(chars)).ids)
            every.update(ids[:end] for end in range(1, len(ids) + 1))
    spelling = [
        token_id for token_id, data in enumerate(vocabulary.tokens) if data and not data.strip(ALPHABET.encode())
    ]
    pending, compared = [()], 0
    while pending:
        before = pending.pop()
        text = canonical.text()
        for token_id in before:
            text.append(token_id)
        for token_id in spelling:
            longer = (*before, token_id)
            if len(vocabulary.decode(longer)) > 4:
                continue
            assert text.allows(token_id) == (longer in every), vocabulary.decode(longer)
            compared += 1
            if longer in every:
                pending.append(longer)
    assert compared > 2_000


def test_a_text_is_cut_and_copied():
    """After a cut, and in a copy, the same tokens are allowed as in a new text."""
    tokenizer = own_tokenizers.like_gpt2()
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    canonical = CanonicalTokens(tokenizer, vocabulary)
    draw = random.Random(2)
    for text in texts(40, seed=9):
        ids = canonical.encode(text)
        grown = canonical.text()
        for token_id in ids:
            grown.append(token_id)
        length = draw.randrange(len(ids))
        copy = grown.copy()
        grown.cut(length)
        assert copy.tokens == ids
        assert grown.allows(ids[length])
        fresh = canonical.text()
        for token_id in ids[:length]:
            fresh.append(token_id)
        assert fresh._starts == grown._starts


def test_a_tokenizer_in_python_is_refused():
    """It cannot say where words end."""

    class Slow:
        def get_vocab(self):
            return {"a": 0}

        def encode(self, text):
            return [0] * len(text)

    with pytest.raises(OptionError, match="written in Python"):
        CanonicalTokens(Slow(), Vocabulary.from_tokens([b"a", b""], eos_token_ids=[1]))
