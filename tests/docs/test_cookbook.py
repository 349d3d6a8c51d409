"""The cookbook's programs run, its pages show them, and the outputs on the pages are those of the real model."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import schemagen
from schemagen.cli.commands import app
from tests import real_model

ROOT = Path(__file__).parents[2]

_SPEC = importlib.util.spec_from_file_location("schemagen_cookbook", ROOT / "tools" / "cookbook.py")
assert _SPEC is not None
assert _SPEC.loader is not None
cookbook = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_cookbook"] = cookbook
_SPEC.loader.exec_module(cookbook)

NAMES = cookbook.names()
PAGES = ROOT / "docs" / "cookbook"
#: Pages of a command, which needs no program.
COMMANDS = {"csv"}
#: More than ten seconds with the bundled model.
SLOW = {"agent", "judge", "quotations", "synthetic"}
#: What the program of a page needs besides the tests' own packages; `make integrations` installs it.
NEEDED = {"dataframe": "pandas"}
SECTIONS = ["Input", "The class", "Run it", "Output", "What went wrong", "Check it"]


def page(name: str) -> str:
    """Return the source of a page."""
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def skip_without_package(name: str) -> None:
    """Skip a program whose package is not installed."""
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])


def test_every_program_has_a_page_and_an_output() -> None:
    """A page, a program and an output by each name, and the first page links to all."""
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == {*NAMES, *COMMANDS}
    assert sorted(path.stem for path in cookbook.OUTPUTS.glob("*.txt")) == NAMES
    links = re.findall(r"^\| \[[^\]]+\]\((\w+)\.md\)", page("index"), flags=re.MULTILINE)
    assert sorted(links) == sorted([*NAMES, *COMMANDS])


@pytest.mark.parametrize("name", NAMES)
def test_page_shows_program_and_output(name: str) -> None:
    """The sections that every page has, the program or parts of it, and the recorded output or parts of it."""
    text = page(name)
    sections = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert ["The class" if section == "The tools" else section for section in sections] == SECTIONS
    assert f'--8<-- "examples/cookbook/{name}.py' in text
    assert f'--8<-- "examples/cookbook/outputs/{name}.txt' in text[text.index("## Output") :]


@pytest.mark.parametrize("name", NAMES)
def test_program_is_short(name: str) -> None:
    """A program fits on a page, whose code has 78 columns, and opens by saying what it does."""
    source = (cookbook.PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line and "--8<--" not in line]
    assert len(lines) <= 78
    assert max(map(len, lines)) <= 78
    assert ast.get_docstring(ast.parse(source))


@pytest.mark.parametrize("name", NAMES)
def test_output_says_where_it_is_from(name: str) -> None:
    """The first line of an output names the model, the cores, the day and the versions."""
    head, rest = cookbook.recorded(name)
    assert re.fullmatch(
        rf"# {real_model.NAME} .+ cores .+, \d{{4}}-\d\d-\d\d, schemagen .+, torch .+, transformers .+", head
    )
    assert rest.strip()


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in NAMES])
def test_program_runs(name: str, tmp_path: Path) -> None:
    """A program runs from any folder, offline with the bundled model, and prints something."""
    skip_without_package(name)
    command = [sys.executable, str(cookbook.PROGRAMS / f"{name}.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_the_evaluations_run() -> None:
    """Each `schemagen eval` of a page finds its class and its rows; two rows are asked here, of the bundled model."""
    commands = re.findall(
        r"^schemagen eval (\S+) (\S+)(.*?)(?: --model \S+)?$",
        re.sub(r"\s*\\\n\s*", " ", "".join(map(page, NAMES))),
        flags=re.MULTILINE,
    )
    assert commands
    for spec, rows, options in commands:
        paths = [str(ROOT / spec), str(ROOT / rows)]
        result = CliRunner().invoke(app, ["eval", *paths, *options.split(), "--count", "2", "--constrained-only"])
        assert result.exit_code == 0, result.output
        counts, _ = json.JSONDecoder().raw_decode(result.stdout)
        assert counts["constrained"]["valid"][0] == 1


def test_the_bundled_model_sorts_tickets() -> None:
    """The first six are of the kind that it knows, and it has every label right."""
    tickets = cookbook.program("tickets")
    rows = [json.loads(line) for line in tickets.DATA.read_text(encoding="utf-8").splitlines()[:6]]
    found = schemagen.load_bundled().batch([row["text"] for row in rows], tickets.Ticket)
    assert [each.model_dump() for each in found] == [row["expected"] for row in rows]


@pytest.fixture(scope="module")
def lm() -> Any:
    """Load the real model once."""
    pytest.importorskip("gguf")
    real_model.need()
    return cookbook.load()


@pytest.mark.real_model
@pytest.mark.parametrize("name", NAMES)
def test_output_is_still_true(name: str, lm: Any) -> None:
    """The page shows what the program prints today; `make cookbook` records it again."""
    skip_without_package(name)
    assert cookbook.steady(cookbook.printed(name, lm)) == cookbook.steady(cookbook.recorded(name)[1])
