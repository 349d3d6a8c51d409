"""The bundled model, for tests of how sure it is."""

from __future__ import annotations

import pytest

import schemagen


@pytest.fixture(scope="package")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()
