"""Tokenizers and vocabularies that many tests share."""

import os
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import hypothesis
import pytest

from schemagen.vocabulary import Vocabulary
from tests import corpora

# Each process that shares the cores with others has one thread; two would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# A test passes on a busy machine too: no example and no drawing of examples has a time limit.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "schemagen" / "lm" / "bundled"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow the cases that a test marked `sampled(n)` leaves out: it keeps one in n, chosen by a hash of the name."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for of_test in cases.values():
        (n,) = of_test[0].get_closest_marker("sampled").args
        of_test.sort(key=lambda item: crc32(item.nodeid.encode()))
        for item in of_test[-(-len(of_test) // n) :]:
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say in the last line what was skipped for want of corpora."""
    yield
    reports = terminalreporter.getreports("skipped")
    line = corpora.left_out(report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple))
    if line:
        terminalreporter.write_line(line, yellow=True, bold=True)
    if line and os.environ.get("GITHUB_ACTIONS"):
        terminalreporter.write_line(f"::warning::{line}")


def load_tokenizer(folder: Path):
    """Load a tokenizer from a folder, or skip the test."""
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"built without the tokenizer in {folder.name}/")
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="session")
def bundled_tokenizer():
    """The tokenizer of the bundled model."""
    return load_tokenizer(BUNDLED)


@pytest.fixture(scope="session")
def gpt2_tokenizer():
    """Byte-level BPE, 50,257 tokens."""
    return load_tokenizer(corpora.need("gpt2").parent)


@pytest.fixture(scope="session")
def llama3_tokenizer():
    """Byte-level BPE, 128,256 tokens, 256 of them special."""
    return load_tokenizer(corpora.need("llama3").parent)


@pytest.fixture(scope="session")
def mistral_tokenizer():
    """SentencePiece with byte fallback, 32,000 tokens."""
    return load_tokenizer(corpora.need("mistral-v1").parent)


def own_tokenizer(name):
    """Return a fixture: a small tokenizer of the same kind, loaded from a folder as the big ones are."""

    @pytest.fixture(scope="session", name=f"own_{name}_tokenizer")
    def tokenizer(tmp_path_factory):
        from tests import own_tokenizers

        folder = tmp_path_factory.mktemp("tokenizers") / name
        own_tokenizers.KINDS[name]().save_pretrained(folder)
        return load_tokenizer(folder)

    return tokenizer


own_gpt2_tokenizer = own_tokenizer("gpt2")
own_llama3_tokenizer = own_tokenizer("llama3")
own_mistral_tokenizer = own_tokenizer("mistral")


def vocabulary_of(name):
    """Return a fixture: the vocabulary of the tokenizer of that name."""

    @pytest.fixture(scope="session", name=f"{name}_vocabulary")
    def vocabulary(request):
        return Vocabulary.from_tokenizer(request.getfixturevalue(f"{name}_tokenizer"))

    return vocabulary


bundled_vocabulary = vocabulary_of("bundled")
gpt2_vocabulary, own_gpt2_vocabulary = vocabulary_of("gpt2"), vocabulary_of("own_gpt2")
llama3_vocabulary, own_llama3_vocabulary = vocabulary_of("llama3"), vocabulary_of("own_llama3")
mistral_vocabulary, own_mistral_vocabulary = vocabulary_of("mistral"), vocabulary_of("own_mistral")


@pytest.fixture(scope="session")
def byte_vocabulary():
    """256 bytes and EOS."""
    return Vocabulary.byte_vocabulary()
