"""Tests with small models: threads of torch would only wait for one another."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Let torch use one thread."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
