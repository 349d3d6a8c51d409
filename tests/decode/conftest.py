"""One thread for the tiny models."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Run the tiny models on one thread: more only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
