"""What the tests of the plug-in share."""

from pathlib import Path

import pytest

import schemagen

BUNDLED = Path(schemagen.__file__).parent / "lm" / "bundled"


@pytest.fixture(scope="session")
def bundled():
    """The tokenizer of the bundled model."""
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(BUNDLED)
