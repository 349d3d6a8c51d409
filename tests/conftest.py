"""Tokenizers and vocabularies that many tests share."""

import os
from pathlib import Path

import pytest

from schemagen.vocabulary import Vocabulary

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("SCHEMAGEN_SHARED", ROOT.parent / "shared"))
BUNDLED = ROOT / "schemagen" / "lm" / "bundled"


def load_tokenizer(folder: Path):
    """Load a tokenizer from a folder, or skip the test."""
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"no tokenizer in {folder.name}/: set SCHEMAGEN_SHARED to a folder with tokenizers/")
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="session")
def bundled_tokenizer():
    """The tokenizer of the bundled model."""
    return load_tokenizer(BUNDLED)


@pytest.fixture(scope="session")
def gpt2_tokenizer():
    """Byte-level BPE, 50,257 tokens."""
    return load_tokenizer(SHARED / "tokenizers" / "gpt2")


@pytest.fixture(scope="session")
def llama3_tokenizer():
    """Byte-level BPE, 128,256 tokens, 256 of them special."""
    return load_tokenizer(SHARED / "tokenizers" / "llama3")


@pytest.fixture(scope="session")
def mistral_tokenizer():
    """SentencePiece with byte fallback, 32,000 tokens."""
    return load_tokenizer(SHARED / "tokenizers" / "mistral-v1")


@pytest.fixture(scope="session")
def bundled_vocabulary(bundled_tokenizer):
    """The vocabulary of the bundled model."""
    return Vocabulary.from_tokenizer(bundled_tokenizer)


@pytest.fixture(scope="session")
def gpt2_vocabulary(gpt2_tokenizer):
    """The vocabulary of GPT-2."""
    return Vocabulary.from_tokenizer(gpt2_tokenizer)


@pytest.fixture(scope="session")
def llama3_vocabulary(llama3_tokenizer):
    """The vocabulary of Llama 3."""
    return Vocabulary.from_tokenizer(llama3_tokenizer)


@pytest.fixture(scope="session")
def mistral_vocabulary(mistral_tokenizer):
    """The vocabulary of Mistral 7B v0.1."""
    return Vocabulary.from_tokenizer(mistral_tokenizer)


@pytest.fixture(scope="session")
def byte_vocabulary():
    """256 bytes and EOS."""
    return Vocabulary.byte_vocabulary()
