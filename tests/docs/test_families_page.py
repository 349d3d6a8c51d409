"""The page of families says what the data says: its tables are made of it."""

import importlib.util
from pathlib import Path

from schemagen.calling import profiles
from schemagen.prompts.reasoning_grammar import THOUGHT_MARKERS

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


def test_the_numbers_of_formats_are_those_of_the_data() -> None:
    """Two other pages count the formats."""
    docs = ROOT / "docs"
    assert f"schemagen knows {len(profiles())} formats" in (docs / "tutorials" / "function-calling.md").read_text(
        "utf-8"
    )
    pairs = {(each.begin, each.end) for each in THOUGHT_MARKERS}
    assert f"[{len(pairs)} formats](guides/families.md#thoughts)" in (docs / "comparison.md").read_text("utf-8")
