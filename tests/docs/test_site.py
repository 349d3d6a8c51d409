"""The documentation builds without a warning, and its tables are those of the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_site_builds(site: Path) -> None:
    """The site is built without a warning, and its pages are there."""
    assert (site / "errors" / "index.html").is_file()


def test_format_table_is_complete() -> None:
    """The page names exactly the formats that are asserted."""
    from schemagen.schema.formats.table import FORMATS, PYTHON_FORMATS

    page = (ROOT / "docs" / "supported-schema.md").read_text(encoding="utf-8")
    table = page[page.index("## Formats") : page.index("For Python types a format")]
    names = {
        name
        for row in re.findall(r"^\|[^|]+\|(.*)\|$", table, flags=re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    assert names == {*FORMATS, *PYTHON_FORMATS}


def test_relative_links_lead_somewhere() -> None:
    """Links from the pages outside of docs/ point at files that are there."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / target).exists(), f"{name} links to {target}"
