"""The pictures of the documentation show what the code does today; no `dot` is needed to see that."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"

_SPEC = importlib.util.spec_from_file_location("schemagen_pictures", ROOT / "tools" / "pictures.py")
assert _SPEC is not None
assert _SPEC.loader is not None
pictures = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_pictures"] = pictures
_SPEC.loader.exec_module(pictures)


@pytest.mark.parametrize("name", pictures.DRAWINGS)
def test_drawing_is_up_to_date(name: str) -> None:
    """A picture was laid out from the text that the code writes now; otherwise run `python tools/pictures.py`."""
    assert pictures.digest_of(name) in (PICTURES / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the typer of Python 3.10 words its help differently")
@pytest.mark.parametrize("name", pictures.TERMINALS)
def test_terminal_is_up_to_date(name: str) -> None:
    """What a command writes now is what its picture shows; otherwise run `python tools/pictures.py`."""
    assert pictures.digest_of(name) in (PICTURES / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pictures.MAPS)
def test_map_is_up_to_date(name: str) -> None:
    """A map shows the folders and imports there are today; otherwise run `python tools/pictures.py`."""
    assert pictures.made(name) == (PICTURES / f"{name}.svg").read_text(encoding="utf-8")


def test_a_map_has_every_package_above_what_it_imports() -> None:
    """Of the package and of the core, each unit stands once, and imports from the rows below it only."""
    architecture = pictures.architecture
    for units, known in (
        (architecture.packages(), {"engine", "grammar"}),
        (architecture.folders(), {"regex", "masks"}),
    ):
        rows = architecture.rows_of(units)
        below: set[str] = set()
        for row in rows:
            assert all(unit.imports <= below for unit in row)
            below |= {unit.name for unit in row}
        assert sorted(below) == sorted(unit.name for unit in units)
        assert known <= below


def test_no_picture_is_left_over() -> None:
    """Each file is made by the tool, and stands in a page."""
    names = {path.stem for path in PICTURES.iterdir()}
    assert names == set(pictures.ALL)
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert names == set(re.findall(r"pictures/([\w-]+)\.svg", pages))


@pytest.mark.parametrize("path", sorted(PICTURES.iterdir()), ids=lambda path: path.stem)
def test_a_picture_asks_nobody(path: Path) -> None:
    """A picture loads nothing from elsewhere: no font, no style sheet, no script."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<script|@import|@font-face|url\((?!#)|href=\"(?!#)", text)


@pytest.mark.parametrize("name", [*pictures.DRAWINGS, *pictures.MAPS])
def test_a_drawing_has_the_colour_of_the_page(name: str) -> None:
    """Lines and letters are drawn in the colour of the text, so that they are seen on a light and on a dark ground."""
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', (PICTURES / f"{name}.svg").read_text(encoding="utf-8")))
    assert colours <= {"none", "currentColor", "transparent"}
