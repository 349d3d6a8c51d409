"""`import schemagen` loads nothing heavy."""

import os
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
    ("arguments", "needed"),
    [
        (["--help"], ("typer",)),
        (["compile", '{"type": "integer"}'], ("typer", "pydantic", "tokenizers")),
        (["compile", '{"type": "string", "format": "email"}'], ("typer", "pydantic", "tokenizers")),
        (["regex", '{"type": "integer"}'], ("typer", "pydantic")),
    ],
    ids=" ".join,
)
def test_a_command_in_a_pipe_loads_what_it_needs(arguments: list[str], needed: tuple[str, ...]) -> None:
    """Text for a pipe is laid out without rich; nothing is validated, so no validator is loaded."""
    code = (
        f"import sys\nfrom schemagen.cli import main\ntry:\n    main({arguments!r})\n"
        f"except SystemExit as end:\n    assert not end.code, end.code\n"
        f"loaded = {{*{HEAVY!r}, 'email_validator'}} & set(sys.modules)\n"
        f"assert loaded <= {set(needed)!r}, sorted(loaded)"
    )
    plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "TTY_COMPATIBLE"}}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=plain)
    assert run.returncode == 0, run.stderr


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
