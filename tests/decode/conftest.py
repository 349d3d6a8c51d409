"""One thread for the tiny models."""

import pytest

from tests.models import one_thread


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Run the tiny models on one thread."""
    with one_thread():
        yield
