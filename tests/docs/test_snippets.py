"""The code in the README and the documentation runs, and prints what the pages say."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from schemagen.calling import profiles

_SPEC = importlib.util.spec_from_file_location("schemagen_doc_snippets", Path(__file__).with_name("snippets.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
snippets = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_doc_snippets"] = snippets
_SPEC.loader.exec_module(snippets)

PAGES = [page for page in snippets.pages() if snippets.blocks_of(page.read_text(encoding="utf-8"))]


@pytest.fixture
def page_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """A fresh module for the code of one page, importable so that classes in it can refer to each other."""
    module = ModuleType("documentation_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("schemagen.calling.families._registry", [*profiles().values()])  # pages register their own
    monkeypatch.chdir(tmp_path)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(snippets.ROOT).as_posix())
def test_page_runs(page: Path, page_module: ModuleType) -> None:
    """All Python blocks of a page run one after the other, as somebody would paste them."""
    not_run: set[str] = set()
    for block in snippets.blocks_of(page.read_text(encoding="utf-8")):
        if not block.reason:
            snippets.run_block(block, page, page_module)
        elif not block.reason.startswith(("the parts are named, not defined", "another library")):
            assert snippets.undefined_names(block, {*vars(page_module), *not_run}) == [], f"{page}:{block.line}"
            not_run |= snippets.names_defined_by(block)


def test_a_wrong_output_is_seen(page_module: ModuleType) -> None:
    """A page that claims another output than it has fails."""
    block = snippets.Block("print(1 + 1)  # -> 3\n", 1, "")
    with pytest.raises(AssertionError):
        snippets.run_block(block, Path("page.md"), page_module)


def test_a_name_from_nowhere_is_seen() -> None:
    """Blocks that are not run are still read: a name that nothing defines is found."""
    block = snippets.Block(
        "import a\nfor x in known:\n    match x:\n        case Lost(y):\n            print(a, y)\n", 1, "downloads"
    )
    assert snippets.undefined_names(block, ["known"]) == ["Lost"]


def test_blocks_are_found() -> None:
    """Blocks keep their order, their line, and the reason why they are not run; included files are left out."""
    text = "a\n```python\nx = 1\n```\n<!-- no-test: needs a key -->\n```python title='b'\ny\n```\n```python\n--8<-- 'f'\n```\n```text\nz\n```\n"
    assert snippets.blocks_of(text) == [snippets.Block("x = 1\n", 3, ""), snippets.Block("y\n", 7, "needs a key")]
