"""The API reference has every public name once, under the name that users import."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import schemagen


def imported(path: str) -> Any:
    """Import what a path names: a module, or what one defines."""
    place, _, name = path.rpartition(".")
    module = import_module(place)
    return getattr(module, name) if hasattr(module, name) else import_module(path)


@pytest.fixture(scope="module")
def entries(site: Path) -> dict[str, str]:
    """The entries of all pages, HTML by heading."""
    found: list[tuple[str, str]] = []
    for page in sorted((site / "api").glob("*/index.html")):
        _, *parts = re.split(r'<h3 id="(schemagen[\w.]+)"', page.read_text(encoding="utf-8"))
        found += zip(parts[::2], parts[1::2], strict=True)
    assert len({heading for heading, _ in found}) == len(found) > 100
    return dict(found)


def public_names(module: ModuleType) -> list[str]:
    """The names of `__all__`; without one, the classes that the module defines."""
    classes = [name for name, value in vars(module).items() if isinstance(value, type) and name[0] != "_"]
    return getattr(module, "__all__", [name for name in classes if getattr(module, name).__module__ == module.__name__])


def test_headings_are_imported_as_shown(entries: dict[str, str]) -> None:
    """Each heading can be imported, from `schemagen` if `schemagen` has it, and is shown in full."""
    for heading, html in entries.items():
        value = imported(heading)
        name = heading.rpartition(".")[2]
        if name in schemagen.__all__ and value is getattr(schemagen, name):
            assert heading == f"schemagen.{name}"
        assert f">{heading}<" in html.partition("</h3>")[0]


def test_every_public_name_is_on_one_page(entries: dict[str, str]) -> None:
    """The names of `schemagen`, and those of each module that a heading names."""
    values = [imported(heading) for heading in entries]
    for place in {heading.rpartition(".")[0] for heading in entries}:
        module = import_module(place)
        for name in public_names(module):
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                assert sum(each is value for each in values) == 1, f"{place}.{name}"


def test_an_overloaded_function_shows_its_overloads_only(entries: dict[str, str]) -> None:
    """The signature of the implementation says nothing that a user can rely on."""
    assert entries["schemagen.structured"].count('class="doc-signature ') == 2
