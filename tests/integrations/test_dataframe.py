"""The program of the cookbook that needs pandas."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integrations
pytest.importorskip("pandas")


def test_column_becomes_typed_columns() -> None:
    """Each column has its dtype, and the row without a text has an error in place of values."""
    command = [sys.executable, str(ROOT / "examples" / "cookbook" / "dataframe.py")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in run.stdout.splitlines()]
    assert ["5", "<NA>", "<NA>", "NaN", "invalid-prompt"] in lines
    assert all(pair in lines for pair in (["price", "Int64"], ["condition", "category"], ["item", "string"]))
