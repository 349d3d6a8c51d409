"""What several test modules of this folder share: a cache on the disk."""

import pytest


@pytest.fixture
def folder(tmp_path):
    """A cache that does not exist yet."""
    return tmp_path / "some" / "cache"


@pytest.fixture
def only_entry():
    """Give the one file of a cache."""

    def entry(cache):
        (path,) = cache.iterdir()
        return path

    return entry
