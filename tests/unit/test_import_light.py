"""`import schemagen` loads nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "transformers",
    "jsonschema",
    "interegular",
    "tokenizers",
    "accelerate",
    "numpy",
    "rich",
    "typer",
    "pydantic",
)


@pytest.mark.parametrize(
    "statement", ["import schemagen", "import schemagen.errors", "from schemagen import SchemagenError"]
)
def test_import_is_light(statement: str) -> None:
    """A program that only catches our errors pays for none of the libraries behind them."""
    code = f"{statement}\nimport sys\nprint(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_command_line_help_needs_no_torch() -> None:
    """`schemagen --help` answers without loading torch or transformers."""
    code = (
        "import sys\nfrom schemagen.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'torch', 'transformers'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
