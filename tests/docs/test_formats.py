"""The page of formats says what the code does: its table is made of it."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_that_of_the_code() -> None:
    """Every row is what compiling the type in each format gives."""
    spec = importlib.util.spec_from_file_location("formats_tool", ROOT / "tools" / "formats.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = (ROOT / "docs" / "guides" / "formats.md").read_text(encoding="utf-8")
    assert tool.page() == written, "run python tools/formats.py"
