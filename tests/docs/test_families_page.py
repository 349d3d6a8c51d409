"""The page of families says what the data says: its tables are made of it."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tables_are_those_of_the_data() -> None:
    """Every profile and every pair of markers of thoughts has its row; `python tools/families_page.py` writes them."""
    spec = importlib.util.spec_from_file_location("families_page", ROOT / "tools" / "families_page.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page()
    assert tool.page().count("\n| `kimi` |") == 2
