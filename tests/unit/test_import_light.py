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


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["compile", "true"],
        ["compile", '{"type": "string"}', "--report"],
        ["draw", "--regex", "a+"],
        ["regex", '{"type": "integer"}'],
        *([name, "--help"] for name in ("generate", "batch", "call", "demo")),
    ],
    ids=" ".join,
)
def test_a_command_without_a_model_needs_no_torch(arguments: list[str]) -> None:
    """Whatever needs no model loads neither torch nor transformers, which take seconds to import."""
    code = (
        f"import sys\nfrom schemagen.cli import main\ntry:\n    main({arguments!r})\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "assert not {'torch', 'transformers'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
