"""What pages say of the package in passing: names, files and commands that must exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def entry(path: str) -> object:
    """Import what a path names: a module, or what one defines."""
    place, _, name = path.rpartition(".")
    try:
        return getattr(import_module(place), name)
    except AttributeError:
        return import_module(path)


@pytest.mark.parametrize("path", re.findall(r"^::: (\S+)", API, flags=re.MULTILINE))
def test_api_entries_are_imported_as_shown(path: str) -> None:
    """Each heading of the API reference is a path that can be imported, as the page says."""
    assert entry(path) is not None
