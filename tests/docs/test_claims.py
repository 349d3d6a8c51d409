"""What pages say of the package in passing: names, files and commands that must exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_nobody_is_told_to_install_by_name(page: Path) -> None:
    """On PyPI the name belongs to another project: a page names a file or a folder, or warns."""
    lines = page.read_text(encoding="utf-8").splitlines()
    by_name = [
        line for line in lines if re.search(r"pip install (-\S+ )*['\"]?schemagen(\[\w+\])?['\"]?(\s|`|$)", line)
    ]
    assert [line for line in by_name if "installs that one" not in line] == []
