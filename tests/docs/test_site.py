"""The documentation builds without a warning, and its tables are those of the code."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_site_builds(site: Path) -> None:
    """The site is built without a warning, and its pages are there."""
    assert (site / "errors" / "index.html").is_file()
    notebook = "first_steps.ipynb"
    assert (site / notebook).read_bytes() == (ROOT / "examples" / notebook).read_bytes()


def test_format_table_is_complete() -> None:
    """The page names exactly the formats that are asserted."""
    from schemagen.schema.formats.table import FORMATS, PYTHON_FORMATS

    page = (ROOT / "docs" / "supported-schema.md").read_text(encoding="utf-8")
    table = page[page.index("## Formats") : page.index("For Python types, a format")]
    names = {
        name
        for row in re.findall(r"^\|[^|]+\|(.*)\|$", table, flags=re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    assert names == {*FORMATS, *PYTHON_FORMATS}


def test_relative_links_lead_somewhere() -> None:
    """Links from the pages outside of docs/ point at files that are there."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / target).exists(), f"{name} links to {target}"


def test_the_map_has_every_folder() -> None:
    """CONTRIBUTING.md says what is in each folder of the package, of the core, of the tests, and beside them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [Path(name) for name in tracked]
    top = {f"{file.parts[0]}/" for file in files if len(file.parts) > 1} - {"schemagen/", "core/"}
    inner = {
        f"{file.parts[0]}/{file.parts[1]}/"
        for file in files
        if file.parts[0] in {"schemagen", "core"} and len(file.parts) > 2
    }
    tests = {f"{file.parts[1]}/" for file in files if file.parts[0] == "tests" and len(file.parts) > 2}
    assert [folder for folder in sorted(top | inner | tests) if f"`{folder}`" not in text] == []


#: Languages of blocks that are printed or sent, not written by hand; they are wrapped where there is no room.
OUTPUTS = {"text", "csv", "json"}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_code_has_at_most_78_columns(page: Path) -> None:
    """So it is not cut off beside the menu. A line of output (`# -> ...`) is whole, and included files keep their width."""
    text = page.read_text(encoding="utf-8")
    for language, code in re.findall(r"^```([^\n]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        if language not in OUTPUTS and "title=" not in language:
            assert [
                line for line in code.splitlines() if len(line) > 78 and not line.lstrip().startswith("# -> ")
            ] == []
