"""The way through the tutorials has no gap, and every page of the documentation is on a way."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]

#: Fenced Python blocks, with the line before, which may say that they are not run.
BLOCKS = re.compile(r"(<!-- no-test: [^>]+ -->\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages_of(nav: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation, in its order."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(part)


def section(title: str) -> list[str]:
    """Return the pages of one section of the navigation."""
    return list(pages_of(next(part[title] for part in NAV if title in part)))


TUTORIALS = section("Tutorials")


def text_of(page: str) -> str:
    """Return the source of a page, named as in the navigation."""
    return (DOCS / page).read_text(encoding="utf-8")


def next_of(page: str) -> str:
    """Return the page that the last line of a page leads to, as in the navigation."""
    found = re.match(r"Next: \[[^\]]+\]\(([^)#]+)\)", text_of(page).rstrip().splitlines()[-1])
    assert found is not None, f"{page} does not end with 'Next: [title](page.md)'"
    return (DOCS / page).parent.joinpath(found[1]).resolve().relative_to(DOCS.resolve()).as_posix()


def test_every_page_is_in_the_navigation() -> None:
    """Each page of docs/ has one place in the navigation, and each place a page."""
    assert sorted(pages_of(NAV)) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_each_tutorial_leads_to_the_next() -> None:
    """The quickstart leads to the first tutorial, each tutorial to the one after it, and the last one out of them."""
    assert next_of("quickstart.md") == TUTORIALS[0]
    assert [next_of(page) for page in TUTORIALS[:-1]] == TUTORIALS[1:]
    assert next_of(TUTORIALS[-1]) in set(pages_of(NAV)) - set(TUTORIALS)


def test_tutorials_are_numbered() -> None:
    """The titles in the navigation count from 1, and the rest of each is the heading of its page."""
    titles = [title for part in NAV if "Tutorials" in part for entry in part["Tutorials"] for title in entry]
    headings = [next(line[2:] for line in text_of(page).splitlines() if line.startswith("# ")) for page in TUTORIALS]
    assert titles == [f"{number}. {heading}" for number, heading in enumerate(headings, start=1)]


@pytest.mark.parametrize("page", [page for page in pages_of(NAV) if "```python\n" in text_of(page)])
def test_what_is_printed_is_shown(page: str) -> None:
    """A page with code shows real outputs: each block that prints says what, and none that is not run claims any."""
    blocks = BLOCKS.findall(text_of(page))
    run = [code for skipped, code in blocks if not skipped]
    assert not run or any("# -> " in code for code in run)
    assert all("# ->" in code for code in run if "print(" in code)
    assert not any("# ->" in code for skipped, code in blocks if skipped)


def test_tutorials_have_code() -> None:
    """None of the tutorials is without a block, so that the test above sees all of them."""
    assert all("```python\n" in text_of(page) for page in TUTORIALS)
