"""The engine without language models: what works without torch, and the one error for the rest."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

import schemagen
from schemagen import BitmaskShapeError, MissingPackageError, Vocabulary, VocabularyError
from schemagen.cli.compilation import bundled_vocabulary
from schemagen.errors.installing import EXTRAS, check_packages, install_command
from schemagen.masks.bitmask import apply_token_bitmask_inplace
from tests.own_tokenizers import like_gpt2, like_llama3, like_mistral

BUNDLED = Path(schemagen.__file__).parent / "lm" / "bundled"
#: Pre-tokenizers that change a text: they drop parts of it, or put spaces into it.
ALTERING = (
    [{"type": "Split", "pattern": {"String": " "}, "behavior": "Removed"}, {"type": "ByteLevel"}],
    [{"type": "Digits"}, {"type": "ByteLevel", "add_prefix_space": True}],
)
#: Run in a process of its own, where the packages of the extra `lm` cannot be imported.
ALONE = """
import sys
for name in ("torch", "transformers", "tokenizers", "accelerate", "safetensors"):
    sys.modules[name] = None
import numpy as np
import schemagen
from schemagen.cli import main

folder = sys.argv[1]
grammar = schemagen.compile({"type": "integer"}, schemagen.Vocabulary.from_tokenizer_json(folder))
matcher = grammar.matcher()
bitmask = schemagen.allocate_token_bitmask(2, grammar.vocabulary.size)
assert type(bitmask) is np.ndarray and bitmask.dtype == np.int32 and (bitmask == -1).all()
schemagen.fill_next_token_bitmasks([matcher], bitmask, rows=[1])
logits = np.zeros((2, grammar.vocabulary.size), dtype=np.float32)
schemagen.apply_token_bitmask_inplace(logits, bitmask)
assert np.flatnonzero(logits[1] == 0).tolist() == matcher.allowed_tokens()
assert (logits[0] == 0).all()

needs = {
    "load": lambda: schemagen.load("model"),
    "load_bundled": schemagen.load_bundled,
    "structured": lambda: schemagen.structured(type("A", (__import__("pydantic").BaseModel,), {})).generate("x"),
    "LogitsProcessor": lambda: schemagen.LogitsProcessor,
    "decode": lambda: __import__("schemagen.decode"),
    "device": lambda: __import__("schemagen.device"),
    "create_app": lambda: __import__("schemagen.serve").serve.create_app(None),
    "apply": lambda: schemagen.apply_token_bitmask_inplace(type("Logits", (), {"ndim": 2})(), bitmask),
}
for name, use in needs.items():
    try:
        use()
    except schemagen.MissingPackageError as error:
        assert isinstance(error, ImportError), name
        assert error.code == "missing-package", name
        assert "torch" in error.fact and "torch" in error.fix, error
    else:
        raise AssertionError(name)

def status(*arguments):
    sys.argv = ["schemagen", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code
assert not status("compile", '{"type": "integer"}')
assert not status("compile", '{"type": "integer"}', "--tokenizer", folder)
assert not status("draw", '{"type": "boolean"}')
assert status("demo") == 1
assert status("compile", '{"type": "integer"}', "--tokenizer", "gpt2") == 1
print("done")
"""


def test_masks_need_no_torch_and_models_say_so() -> None:
    """Grammars, masks of numpy, pictures and the commands for them work; all else raises one error with the command."""
    command = [sys.executable, "-c", ALONE, str(BUNDLED)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("done\n")
    assert run.stderr.count("missing-package") == 2


def test_the_error_names_only_the_packages_that_are_missing() -> None:
    """accelerate is needed for a device map alone."""
    with patch.dict(sys.modules, {"accelerate": None}):
        check_packages("this", "torch", "transformers")
        with pytest.raises(MissingPackageError, match=r"device_map needs accelerate, not installed here") as caught:
            schemagen.load(BUNDLED, device_map="cpu")
    assert caught.value.fix == install_command("lm")
    assert {requirement.partition(">")[0] for requirement in EXTRAS["lm"]} == {
        *("accelerate", "safetensors", "tokenizers", "torch", "transformers")
    }


# ---- logits of numpy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("step", [1, 2])
def test_logits_of_numpy_are_masked_as_those_of_torch(dtype: str, step: int) -> None:
    """Also where the core leaves them to numpy: doubles, and rows with gaps."""
    generator = np.random.default_rng(7)
    logits = generator.standard_normal((3, 80 * step)).astype(dtype)[:, ::step]
    bitmask = generator.integers(-(2**31), 2**31, (3, 2)).astype(np.int32)
    expected = torch.from_numpy(logits.copy())
    apply_token_bitmask_inplace(expected, torch.from_numpy(bitmask), vocab_size=61)
    apply_token_bitmask_inplace(logits, bitmask, vocab_size=61)
    assert np.array_equal(logits, expected.numpy())
    row = generator.standard_normal(64).astype(dtype)
    apply_token_bitmask_inplace(row, np.full(2, 5, dtype=np.int32))
    assert np.flatnonzero(np.isfinite(row)).tolist() == [0, 2, 32, 34]


@pytest.mark.parametrize(
    ("logits", "bitmask"),
    [
        (np.zeros((1, 32), dtype=np.int64), np.zeros((1, 1), dtype=np.int32)),
        (np.zeros((1, 32)), np.zeros((1, 1), dtype=np.uint8)),
        (np.zeros((2, 32)), np.zeros((1, 1), dtype=np.int32)),
        (np.zeros((1, 1, 32)), np.zeros((1, 1), dtype=np.int32)),
        (np.broadcast_to(np.zeros(32, dtype=np.float32), (1, 32)), np.zeros((1, 1), dtype=np.int32)),
        (np.broadcast_to(np.zeros(32), (1, 32)), np.zeros((1, 1), dtype=np.int32)),
        ([[0.0] * 32], np.zeros((1, 1), dtype=np.int32)),
        (np.float32(0), np.zeros((1, 1), dtype=np.int32)),
        (np.zeros((1, 32)), [[0]]),
        (np.zeros((1, 32)), torch.zeros((1, 1), dtype=torch.int32)),
        (torch.zeros((1, 32)), np.zeros((1, 1), dtype=np.int32)),
        (torch.zeros((1, 32)), [[0]]),
    ],
)
def test_wrong_arrays_are_refused(logits: Any, bitmask: Any) -> None:
    """As wrong tensors are; so are read-only arrays, lists, and an array with a tensor."""
    with pytest.raises(BitmaskShapeError):
        apply_token_bitmask_inplace(logits, bitmask)


# ---- tokenizer.json -------------------------------------------------------------------------------------------------


def test_the_file_alone_gives_the_vocabulary_of_the_tokenizer() -> None:
    """The same bytes, names and EOS, from the file or its folder."""
    expected = schemagen.load_bundled().vocabulary
    assert Vocabulary.from_tokenizer_json(BUNDLED) == expected
    assert Vocabulary.from_tokenizer_json(BUNDLED / "tokenizer.json", len(expected)) == expected
    assert bundled_vocabulary() == expected


@pytest.mark.parametrize(("kind", "adds_prefix_space"), [(like_gpt2, False), (like_gpt2, True), (like_llama3, False)])
def test_other_byte_level_files(kind: Callable[[], Any], tmp_path: Path, *, adds_prefix_space: bool) -> None:
    """Special tokens at the end, pre-tokenizers of several steps, and a space before each text."""
    tokenizer = kind()
    tokenizer.save_pretrained(tmp_path)
    file = tmp_path / "tokenizer.json"
    described = json.loads(file.read_text(encoding="utf-8"))
    parts = described["pre_tokenizer"].get("pretokenizers", [described["pre_tokenizer"]])
    parts[-1]["add_prefix_space"] = adds_prefix_space
    file.write_text(json.dumps(described), encoding="utf-8")
    expected = Vocabulary.from_tokenizer(Tokenizer.from_file(str(file)), eos_token_ids=tokenizer.eos_token_id)
    found = Vocabulary.from_tokenizer_json(tmp_path)
    assert found == expected
    assert found.adds_prefix_space == adds_prefix_space
    with pytest.raises(VocabularyError, match="vocab_size=9"):
        Vocabulary.from_tokenizer_json(file, 9)
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(VocabularyError, match="names no end-of-sequence token"):
        Vocabulary.from_tokenizer_json(file)
    assert Vocabulary.from_tokenizer_json(file, eos_token_ids=tokenizer.eos_token_id) == expected


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    """Whether SentencePiece gives a text back is for its encoder to show; a normaliser may change the text."""
    like_mistral().save_pretrained(tmp_path)
    with pytest.raises(VocabularyError, match="another kind than byte-level BPE: BPE, Metaspace") as caught:
        Vocabulary.from_tokenizer_json(tmp_path)
    assert "tokenizers.Tokenizer.from_file" in caught.value.fix
    described = json.loads((BUNDLED / "tokenizer.json").read_text(encoding="utf-8"))
    for changed in (
        {"normalizer": {"type": "Lowercase"}},
        *({"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}} for steps in ALTERING),
        {"model": {**described["model"], "type": "WordPiece"}},
    ):
        file = tmp_path / "tokenizer.json"
        file.write_text(json.dumps(described | changed), encoding="utf-8")
        with pytest.raises(VocabularyError, match="another kind"):
            Vocabulary.from_tokenizer_json(file, eos_token_ids=())


def added(token_id: Any, content: Any, **flags: Any) -> dict[str, Any]:
    """An added token as a file lists it."""
    usual = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": token_id, "content": content, **usual, **flags}


GPT2 = json.loads(like_gpt2().backend_tokenizer.to_str())
PIECES: dict[str, int] = GPT2["model"]["vocab"]
NEXT = 1 + max(token["id"] for token in GPT2["added_tokens"])
BYTE_LEVEL = GPT2["pre_tokenizer"]
WITH_PREFIX = {"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}
#: A piece of several bytes that a probe contains.
COMMA = next(piece for piece in (",Ġ", '":', '",') if piece in PIECES)


def changed(*tokens: dict[str, Any], model: dict[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    """The file of GPT-2's kind with more added tokens, and other parts."""
    return {
        **GPT2,
        "added_tokens": [*GPT2["added_tokens"], *tokens],
        "model": {**GPT2["model"], **(model or {})},
        **parts,
    }


def without(piece: str) -> dict[str, Any]:
    """The model without a piece and its merges, ids moved up."""
    left = [each for each in sorted(PIECES, key=PIECES.__getitem__) if piece not in each]
    merges = [pair for pair in GPT2["model"]["merges"] if piece not in "".join(pair)]
    return {"vocab": {each: k for k, each in enumerate(left)}, "merges": merges}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    """Pre-tokenizers, one after the other."""
    return {"type": "Sequence", "pretokenizers": list(steps)}


@pytest.mark.parametrize(
    ("file", "is_read"),
    [
        (changed(added(NEXT, "<x>"), added(NEXT + 1, "<y>", special=True, lstrip=True)), True),
        (changed(added(NEXT, "  "), added(NEXT + 1, "e\u0301x", normalized=True), added(NEXT + 2, "Ġ wö")), True),
        (changed(added(PIECES["a"], "a")), True),
        (changed(normalizer={"type": "ByteLevel"}, pre_tokenizer=None), True),
        (changed(normalizer={"type": "NFC"}, decoder=None, **WITH_PREFIX), True),
        (changed(model={"byte_fallback": True, "end_of_word_suffix": ""}), True),
        (changed(model={"merges": [" ".join(pair) for pair in GPT2["model"]["merges"]]}), True),
        ({**GPT2, "added_tokens": [], "model": {**GPT2["model"], **without("\u0100")}}, True),
        (changed(added(NEXT + 9, "<x>")), False),
        (changed(added(NEXT, "<x>"), added(NEXT, "<y>")), False),
        (changed(added(NEXT, "<x>"), added(NEXT, "<x>")), False),
        (changed(added(NEXT, "")), False),
        (changed(added(NEXT, "a")), False),
        (changed(added(PIECES["a"], "zz")), False),
        (changed(added(PIECES["a"], "a", special=True)), False),
        (changed(added(PIECES[COMMA], COMMA, special=True)), False),
        (changed(added(PIECES["é"], "é")), False),
        (changed(added(NEXT, "é ü")), True),
        (changed(added(NEXT, "e\u0301 u\u0308", normalized=True), normalizer={"type": "NFC"}), False),
        (changed(added(NEXT, "two", rstrip=True)), False),
        (changed(added(NEXT, "two"), **WITH_PREFIX), False),
        (changed(model={"end_of_word_suffix": "</w>"}), False),
        (changed(model={"vocab": {**PIECES, "zz zz": 5}}), False),
        (changed(model={"merges": [*GPT2["model"]["merges"], ["zz", "zz"]]}), False),
        ({**GPT2, "added_tokens": [], "model": {**GPT2["model"], **without("a")}}, False),
        ({**GPT2, "added_tokens": [], "model": {**GPT2["model"], **without("ð")}}, False),
        (changed(normalizer={"type": "ByteLevel"}), False),
        (changed(pre_tokenizer=sequence(BYTE_LEVEL, BYTE_LEVEL)), False),
        (
            changed(
                pre_tokenizer=sequence(
                    {"type": "Digits", "individual_digits": True, "add_prefix_space": True}, BYTE_LEVEL
                )
            ),
            True,
        ),
        (changed(decoder={"type": "Sequence", "decoders": [{"type": "Fuse"}]}), False),
    ],
)
def test_a_changed_file_is_read_as_tokenizers_reads_it_or_not_at_all(
    file: dict[str, Any], tmp_path: Path, *, is_read: bool
) -> None:
    """The reader is strict: it refuses all that tokenizers refuses, and some that it takes."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    if is_read:
        expected = Vocabulary.from_tokenizer(Tokenizer.from_file(str(path)), eos_token_ids=())
        assert Vocabulary.from_tokenizer_json(path, eos_token_ids=()) == expected
    else:
        with pytest.raises(VocabularyError):
            Vocabulary.from_tokenizer_json(path, eos_token_ids=())


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (changed(added("5", "<x>")), "has the id '5'"),
        (changed(added(2**31, "<x>")), "has the id 2147483648"),
        (changed(added(-1, "<x>")), "has the id -1"),
        (changed(added(True, "<x>")), "has the id True"),
        (changed(added([], "<x>")), "unhashable"),
        (changed(added(NEXT, 5)), "AttributeError"),
        (changed(added(NEXT, "<x>", special=None)), "a flag that is not true or false"),
        (changed(added(NEXT, "\ud800")), "UnicodeEncodeError"),
        (changed({"id": NEXT}), "no attribute 'content'"),
        (changed({"id": NEXT, "content": "<x>"}), "no attribute 'single_word'"),
        (changed(model={"vocab": {"a": "x"}}), "its ids are not 0, 1, 2"),
        (changed(model={"vocab": {**PIECES, "zz": 2**31}}), "its ids are not 0, 1, 2"),
        (changed(model={"vocab": {"a": False}}), "its ids are not 0, 1, 2"),
        (changed(model={"vocab": {"\ud800": 0}}), "UnicodeEncodeError"),
        (changed(model={"merges": ["a"]}), "not enough values"),
        (changed(model={"unk_token": []}), "its unk_token is not a text"),
        (changed(model={"continuing_subword_prefix": "##"}), "continuing_subword_prefix is not empty"),
        (changed(pre_tokenizer=sequence(5, BYTE_LEVEL)), "AttributeError"),  # type: ignore[arg-type]
        (changed(decoder={"type": "Sequence", "decoders": [5]}), "AttributeError"),
    ],
)
def test_a_malformed_file_is_an_error_with_a_reason(file: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """No traceback of Python, and no memory for an id that no token has."""
    (tmp_path / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
    with pytest.raises(VocabularyError, match="cannot be read as a tokenizer") as caught:
        Vocabulary.from_tokenizer_json(tmp_path, eos_token_ids=())
    assert reason in caught.value.fact


@pytest.mark.parametrize("settings", ["[]", "{", "null", "\udcff"])
def test_malformed_settings_are_an_error(settings: str, tmp_path: Path) -> None:
    """The file that names the EOS token is checked as the tokenizer is."""
    (tmp_path / "tokenizer.json").write_text(json.dumps(GPT2), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(settings, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json cannot be read"):
        Vocabulary.from_tokenizer_json(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", "{}", '{"model": {"vocab": 3}}', '{"model": {"vocab": ["a"]}}']
)
def test_a_file_that_is_none(text: str, tmp_path: Path) -> None:
    """Neither JSON nor a tokenizer."""
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(VocabularyError, match="cannot be read as a tokenizer"):
        Vocabulary.from_tokenizer_json(tmp_path)
