"""Vocabularies in files: what is read is what was written, and a file that is anything else is never believed."""

import json
import shutil
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from schemagen.errors import VocabularyError
from schemagen.vocabulary import Vocabulary, cache, storage
from tests import corpora

FIELDS = ("tokens", "eos_token_ids", "special_token_ids", "adds_prefix_space", "token_names", "fingerprint")
KEY = range(len(storage.MAGIC), len(storage.MAGIC) + storage.KEY_BYTES)
SAMPLE = Vocabulary((b"a", b"", b"\xff\x00", b"long" * 9), (1,), frozenset({1}), adds_prefix_space=True)
NAMED = Vocabulary.from_tokens(
    ["a", None, None], eos_token_ids=[1], special_token_ids=[2], token_names={2: "<|é\ud800|>", 0: "a"}
)


def same(one, other):
    """Whether two vocabularies agree in everything."""
    return all(getattr(one, field) == getattr(other, field) for field in FIELDS)


def save_tokenizer(folder, extra=("ab", "{}"), kind="bpe"):
    """Write a transformers tokenizer to a folder."""
    transformers = pytest.importorskip("transformers")
    pieces = ["</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet()), *extra]
    if kind == "unigram":
        made = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=1))
    else:
        made = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", unk_token="<unk>")
    wrapped.save_pretrained(folder)
    return folder


def load_tokenizer(folder):
    """Load it again, so that it knows its folder."""
    import transformers

    return transformers.PreTrainedTokenizerFast.from_pretrained(folder)


@pytest.fixture
def tokenizer(tmp_path):
    """A tokenizer that was loaded from a folder."""
    return load_tokenizer(save_tokenizer(tmp_path / "tokenizer"))


def read_from(folder, tokenizer, monkeypatch, **arguments):
    """The vocabulary from the cache; fails if the tokenizer is read instead."""
    with monkeypatch.context() as patched:
        patched.setattr(Vocabulary, "_read", lambda *_: pytest.fail("it was not in the cache"))
        return Vocabulary.from_tokenizer(tokenizer, cache=folder, **arguments)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vocabulary",
    [
        SAMPLE,
        NAMED,
        Vocabulary.byte_vocabulary(),
        Vocabulary.from_tokens(["a"], eos_token_ids=()),
        Vocabulary.from_tokens([None, b"\0" * 70_000, ""], eos_token_ids=[2, 0]),
    ],
    ids=["prefix", "names", "bytes", "no-eos", "long"],
)
def test_load_gives_back_what_save_wrote(tmp_path, vocabulary):
    """Every field, and the fingerprint without hashing again."""
    vocabulary.save(tmp_path / "v")
    found = Vocabulary.load(str(tmp_path / "v"))
    assert same(found, vocabulary)
    assert found == vocabulary
    again = Vocabulary(*(getattr(found, field) for field in FIELDS[:-1]))
    assert again.fingerprint == found.fingerprint


def test_fingerprints_outlive_versions():
    """The fingerprint of a vocabulary is the same as ever: it may be stored elsewhere."""
    expected = "e6f625d3c4e9f3fe3a7bb96e8546904ea6e0efe3cd7d3c08cfde8779bf8bd2dc"
    assert Vocabulary.byte_vocabulary().fingerprint == expected


def test_every_damaged_byte_is_seen(tmp_path):
    """No byte of a file can change without an error; the key alone is only checked by the cache."""
    SAMPLE.save(tmp_path / "v")
    data = (tmp_path / "v").read_bytes()
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        if at in KEY:
            assert storage.from_bytes(changed).tokens == SAMPLE.tokens
            with pytest.raises(ValueError, match="another tokenizer"):
                storage.from_bytes(changed, storage.NO_KEY)
        else:
            with pytest.raises(ValueError, match=r"checksum|version|not a vocabulary"):
                storage.from_bytes(changed)


def test_every_truncation_is_seen(tmp_path):
    """A part of a file, and a file with something behind it, are refused."""
    SAMPLE.save(tmp_path / "v")
    data = (tmp_path / "v").read_bytes()
    for damaged in (*(data[:size] for size in range(len(data))), data + b"\0"):
        (tmp_path / "v").write_bytes(damaged)
        with pytest.raises(VocabularyError, match="cannot be read as a vocabulary"):
            Vocabulary.load(tmp_path / "v")


@pytest.mark.parametrize(
    ("numbers", "blob"),
    [
        ((), b""),
        ((1, 0, 0), b""),
        ((1, 0, 0, 0, 2), b"a"),
        ((1, 0, 0, 0, 1), b"ab"),
        ((2, 0, 0, 0, 1), b"a"),
        ((1, 0, 0, 2, 1), b"a"),
        ((1, 0, 0, 4, 1), b"a"),
        ((1, 0, 0, 0, 1), b"a\1\0\0\0\0\0\0\0\0\0\0\0"),
        ((1, 0, 0, 2, 1), b"a\0\0\0\0"),
        ((1, 0, 0, 2, 1), b"a\1\0\0\0\1\0\0\0\0\0\0\0"),
        ((1, 0, 0, 2, 1), b"a\1\0\0\0\0\0\0\0\2\0\0\0b"),
        ((1, 1, 1, 0, 1, 0, 1), b"a"),
        ((0, 1, 0, 0, 0), b""),
        ((2**32 - 1, 2**32 - 1, 2**32 - 1, 0), b""),
    ],
)
def test_contradictions_are_seen(numbers, blob):
    """A right checksum over counts that do not fit is refused, without allocating what they claim."""
    packed = struct.pack(f"<{len(numbers)}I", *numbers) + blob
    with pytest.raises(ValueError, match=r"counts contradict|too short"):
        storage.from_bytes(storage.to_bytes(packed, storage.fingerprint_of(packed)))


def test_other_versions_and_foreign_files(tmp_path):
    """The error says what is wrong with the file, and what to do."""
    SAMPLE.save(tmp_path / "v")
    data = (tmp_path / "v").read_bytes()
    other = data[: len(storage.MAGIC) - 1] + b"\x01" + data[len(storage.MAGIC) :]
    for content, said in ((other, "version 01, not 02"), (b"{}", "not a vocabulary file")):
        (tmp_path / "v").write_bytes(content)
        with pytest.raises(VocabularyError, match=said) as caught:
            Vocabulary.load(tmp_path / "v")
        assert "save" in caught.value.fix
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "nothing")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """A write that fails changes nothing, and leaves no file behind."""
    SAMPLE.save(tmp_path / "v")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        Vocabulary.byte_vocabulary().save(tmp_path / "v")
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert same(Vocabulary.load(tmp_path / "v"), SAMPLE)


def test_writers_at_once(tmp_path):
    """While several write the same file, every reader finds one of their vocabularies, whole."""
    path, stop = tmp_path / "v", threading.Event()
    written = [Vocabulary.from_tokens([bytes([i]) * 1000] * 300, eos_token_ids=()) for i in range(4)]
    written[0].save(path)

    def write(vocabulary):
        while not stop.is_set():
            vocabulary.save(path)

    with ThreadPoolExecutor(len(written)) as pool:
        running = [pool.submit(write, vocabulary) for vocabulary in written]
        found = [Vocabulary.load(path) for _ in range(100)]
        stop.set()
    assert [task.exception() for task in running] == [None] * len(written)
    assert all(any(same(one, vocabulary) for vocabulary in written) for one in found)
    assert [each.name for each in tmp_path.iterdir()] == ["v"]


# --- the cache -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_second_time_nothing_is_read(tmp_path, folder, monkeypatch, kind):
    """The vocabulary from the cache is the one that was read, for another tokenizer object, too."""
    source = save_tokenizer(tmp_path / "tokenizer", kind=kind)
    plain = Vocabulary.from_tokenizer(load_tokenizer(source))
    written = Vocabulary.from_tokenizer(load_tokenizer(source), cache=folder)
    found = read_from(str(folder), load_tokenizer(source), monkeypatch)
    assert same(plain, written)
    assert same(plain, found)


def test_a_tilde_is_the_home_directory(tmp_path, tokenizer, monkeypatch):
    """The folder is made in the home directory, as a shell would."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Vocabulary.from_tokenizer(tokenizer, cache="~/kept")
    assert len(list((tmp_path / "home" / "kept").iterdir())) == 1
    assert not (tmp_path / "~").exists()


@pytest.mark.filterwarnings("ignore:EOS id:schemagen.ModelWarning")
def test_arguments_have_entries_of_their_own(folder, tokenizer, monkeypatch):
    """Width and EOS ids are part of the key; the order of the ids is not."""
    Vocabulary.from_tokenizer(tokenizer, cache=folder)
    wide = Vocabulary.from_tokenizer(tokenizer, 300, cache=folder)
    more = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=iter([2, 3]), cache=folder)
    assert wide.size == 300
    assert more.eos_token_ids == (0, 2, 3)
    assert len(list(folder.iterdir())) == 3
    assert same(read_from(folder, tokenizer, monkeypatch, vocab_size=300), wide)
    assert same(read_from(folder, tokenizer, monkeypatch, eos_token_ids=[3, 2]), more)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[: len(storage.MAGIC) - 1] + b"\x00" + data[len(storage.MAGIC) :],
        lambda data: data[:-3] + bytes(3),
        lambda data: data.replace(data[KEY.start : KEY.stop], bytes(32)),
        lambda _: b"",
        lambda _: b"something else",
    ],
    ids=["truncated", "old-version", "damaged", "other-key", "empty", "foreign"],
)
def test_a_bad_entry_is_a_miss_and_is_written_anew(folder, only_entry, tokenizer, monkeypatch, damage):
    """What is in the file is never used unless all of it is right."""
    plain = Vocabulary.from_tokenizer(tokenizer, cache=folder)
    path = only_entry(folder)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert same(Vocabulary.from_tokenizer(tokenizer, cache=folder), plain)
    assert only_entry(folder).read_bytes() == good
    assert same(read_from(folder, tokenizer, monkeypatch), plain)


def _add_token(tokenizer):
    tokenizer.add_tokens([AddedToken("@@", special=False)])


def _add_special(tokenizer):
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|tool|>"]})


def _other_eos(tokenizer):
    tokenizer.eos_token = "{}"  # noqa: S105 - a token, no password


def _prefix_space(tokenizer):
    tokenizer.backend_tokenizer.normalizer = normalizers.Prepend(" ")


@pytest.mark.parametrize("change", [_add_token, _add_special, _other_eos, _prefix_space])
def test_a_changed_tokenizer_has_a_vocabulary_of_its_own(tmp_path, folder, tokenizer, change):
    """What a program did to a tokenizer after it was loaded is part of the key."""
    before = Vocabulary.from_tokenizer(tokenizer, cache=folder)
    changed = load_tokenizer(tmp_path / "tokenizer")
    change(changed)
    found = Vocabulary.from_tokenizer(changed, cache=folder)
    assert same(found, Vocabulary.from_tokenizer(changed))
    assert not same(found, before)
    assert same(Vocabulary.from_tokenizer(tokenizer, cache=folder), before)


def test_a_file_that_changed_is_not_believed(tmp_path, folder, monkeypatch):
    """A tokenizer whose file was replaced after it was loaded neither reads nor writes an entry for the new file."""
    source = save_tokenizer(tmp_path / "tokenizer")
    old = load_tokenizer(source)
    shutil.rmtree(source)
    new = load_tokenizer(save_tokenizer(source, extra=("{}", "ab")))
    plain = Vocabulary.from_tokenizer(old)
    assert same(Vocabulary.from_tokenizer(old, cache=folder), plain)
    assert not folder.exists()
    written = Vocabulary.from_tokenizer(new, cache=folder)
    assert written.tokens != plain.tokens
    assert same(Vocabulary.from_tokenizer(old, cache=folder), plain)
    assert same(read_from(folder, new, monkeypatch), written)


def test_tokenizers_without_a_file_are_read(tmp_path, folder, tokenizer):
    """A raw tokenizer, one made in memory, and one whose file is gone leave no entry."""
    import transformers

    backend = Tokenizer.from_file(str(tmp_path / "tokenizer" / "tokenizer.json"))
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")
    expected = Vocabulary.from_tokenizer(tokenizer).tokens
    raw = Vocabulary.from_tokenizer(backend, eos_token_ids=0, cache=folder)
    assert raw.tokens == Vocabulary.from_tokenizer(backend, eos_token_ids=0).tokens
    assert Vocabulary.from_tokenizer(made, cache=folder).tokens[2:] == expected[2:]
    (tmp_path / "tokenizer" / "tokenizer.json").unlink()
    assert Vocabulary.from_tokenizer(tokenizer, cache=folder).tokens == expected
    assert not folder.exists()


def test_tokenizers_of_the_hub(tmp_path, folder, tokenizer, monkeypatch):
    """A name that is no folder is looked up among the files that were downloaded; nothing else is asked."""
    import transformers.utils.hub

    asked = []

    def cached_file(*arguments, **options):
        asked.append((arguments, options))
        return str(tmp_path / "tokenizer" / "tokenizer.json")

    monkeypatch.setattr(transformers.utils.hub, "cached_file", cached_file)
    tokenizer.name_or_path = "somebody/model"
    plain = Vocabulary.from_tokenizer(tokenizer, cache=folder)
    assert same(read_from(folder, tokenizer, monkeypatch), plain)
    assert asked == [(("somebody/model", "tokenizer.json"), {"local_files_only": True})] * 2


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, tokenizer):
    """The vocabulary is there all the same."""
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="the vocabulary was not cached"):
        found = Vocabulary.from_tokenizer(tokenizer, cache=tmp_path / "file" / "cache")
    assert same(found, Vocabulary.from_tokenizer(tokenizer))


def test_other_readers_have_other_entries(folder, tokenizer, monkeypatch):
    """What another version of the package read is not used."""
    Vocabulary.from_tokenizer(tokenizer, cache=folder)
    monkeypatch.setattr(cache, "_readers", lambda: b"another version")
    Vocabulary.from_tokenizer(tokenizer, cache=folder)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.filterwarnings("ignore:EOS id:schemagen.ModelWarning")
def test_for_model(folder, tokenizer, monkeypatch):
    """The vocabulary of a model is cached with its width and EOS ids."""
    head = SimpleNamespace(out_features=290)
    model = SimpleNamespace(get_output_embeddings=lambda: head, config=SimpleNamespace(eos_token_id=5))
    found = Vocabulary.for_model(tokenizer, model, cache=folder)
    assert (found.size, found.eos_token_ids) == (290, (0, 5))
    assert same(read_from(folder, tokenizer, monkeypatch, vocab_size=290, eos_token_ids=[5]), found)


def test_the_bundled_tokenizer(folder, bundled_tokenizer, monkeypatch):
    """A real tokenizer is found by its folder."""
    plain = Vocabulary.from_tokenizer(bundled_tokenizer, cache=folder)
    assert same(read_from(folder, bundled_tokenizer, monkeypatch), plain)


@pytest.mark.parametrize("name", corpora.kinds())
def test_common_tokenizers(folder, request, monkeypatch, name):
    """Byte-level and SentencePiece tokenizers come back from the cache as they were read."""
    tokenizer = request.getfixturevalue(f"{name}_tokenizer")
    Vocabulary.from_tokenizer(tokenizer, cache=folder)
    found = read_from(folder, tokenizer, monkeypatch)
    assert same(found, request.getfixturevalue(f"{name}_vocabulary"))


def test_unknown_files_are_no_source():
    """A tokenizer.json that is written in another way holds no pieces that could be compared."""
    for source in (b"", b"[]", b"{}", b'{"model": {}}', b'{"model": []}', json.dumps({"model": None}).encode()):
        assert cache._pieces_in(source) is None
