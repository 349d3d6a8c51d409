"""What the tests of the plug-in share."""

import pytest

from tests_of_plugin import BUNDLED


@pytest.fixture(scope="session")
def bundled():
    """The tokenizer of the bundled model."""
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(BUNDLED)
