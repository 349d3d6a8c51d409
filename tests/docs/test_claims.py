"""What pages say of the package in passing: names, files and commands that must exist."""

import json
import re
from datetime import date
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


def test_the_home_page_names_every_guide() -> None:
    """A guide that "Where to go" leaves out is found by the menu alone."""
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("## Where to go")[2]
    guides = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "guides").glob("*.md")}
    assert guides - {*re.findall(r"\((guides/[a-z-]+\.md)", home)} == set()


def test_the_table_of_the_first_pages_says_how_many_questions() -> None:
    """The speed of a handful of questions is not that of the shares beside it."""
    times = json.loads((ROOT / "benchmarks" / "results" / "real_model.json").read_text(encoding="utf-8"))["results"][
        "times"
    ]
    assert {task["count"] for task in times.values()} == {8, 4}
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        assert "over 8 questions of a task (15 fields: 4)" in page.read_text(encoding="utf-8")


def test_the_readme_dates_its_measurement() -> None:
    """The day of the run that the ratios are from."""
    day = json.loads((ROOT / "benchmarks" / "results" / "masks.json").read_text(encoding="utf-8"))["date"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"in one run on {date.fromisoformat(day):%d %B %Y}" in readme


def test_right_answers_are_told_from_outputs() -> None:
    """Each text of "What breaks" says who wrote it."""
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    part = page.partition("## What breaks")[2].partition("\n## ")[0]
    labels = re.findall(r"^(.*)\n\n<pre>", part, flags=re.MULTILINE)
    assert {*labels} == {"Alone:", "The right answer, from the data:"}
    assert labels[::2] == ["Alone:"] * 5
