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
    ],
)
def test_wrong_arrays_are_refused(logits: np.ndarray, bitmask: np.ndarray) -> None:
    """As wrong tensors are."""
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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": {"vocab": 3}}', '{"model": {"vocab": ["a"]}}'])
def test_a_file_that_is_none(text: str, tmp_path: Path) -> None:
    """Neither JSON nor a tokenizer."""
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(VocabularyError, match="cannot be read as a tokenizer"):
        Vocabulary.from_tokenizer_json(tmp_path)
