"""What is in the wheel, and that the files around the package agree with each other."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import schemagen

ROOT = Path(__file__).parents[2]
TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def run_pip(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel of a copy of the tree."""
    tree = folder / "tree"
    ignored = shutil.ignore_patterns("_core*.so", "__pycache__", "build")
    for name in ("schemagen", "core"):
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        ".",
    ]
    return subprocess.run(
        command, cwd=tree, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def build_wheel(folder: Path) -> zipfile.Path:
    """Build a wheel of a copy of the tree; return what is in it."""
    run = run_pip(folder)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = folder.glob("*.whl")
    return zipfile.Path(wheel)


def names_in(wheel: zipfile.Path) -> set[str]:
    """Every file of a wheel that is not metadata."""
    return {name for name in wheel.root.namelist() if name.startswith("schemagen/") and name[-1] != "/"}


def sources() -> set[str]:
    """Every file of the package in the source tree that users need."""
    paths = (path for path in (ROOT / "schemagen").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in paths if path.suffix != ".so"}


@pytest.mark.slow
def test_wheel_has_the_core_and_the_model(tmp_path: Path) -> None:
    """The wheel holds every source file, the data of the bundled model, and the compiled core."""
    wheel = build_wheel(tmp_path)
    assert Path(wheel.root.filename or "").name.startswith("schemagen_lm-")
    compiled = {name for name in names_in(wheel) if re.fullmatch(r"schemagen/_core\..*(so|pyd)", name)}
    assert len(compiled) == 1
    assert names_in(wheel) - compiled == sources()


@pytest.mark.slow
def test_without_a_compiler_the_build_fails_and_says_what_is_missing(tmp_path: Path) -> None:
    """pip shows what failed and how to mend it, without -v; there is no slower wheel instead."""
    run = run_pip(tmp_path, CXX=shutil.which("false") or "/bin/false")
    assert run.returncode != 0
    said = run.stdout + run.stderr
    assert "the compiled core of schemagen was not built" in said
    assert "g++ >= 11" in said
    assert not [*tmp_path.glob("*.whl")]


def test_versions_agree() -> None:
    """The version of the package is that of its metadata, and the changelog knows it."""
    assert f'version = "{schemagen.__version__}"' in PYPROJECT
    assert f"## [{schemagen.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_is_pinned() -> None:
    """`constraints.txt` has an exact version of each package that `pyproject.toml` names."""
    project = TOML.loads(PYPROJECT)["project"]
    listed = project["dependencies"] + [name for extra in project["optional-dependencies"].values() for name in extra]
    unmarked = [requirement for requirement in listed if ";" not in requirement]
    wanted = {re.match(r"[A-Za-z0-9.-]+", requirement)[0] for requirement in unmarked} - {"schemagen-lm"}  # type: ignore[index]
    pins = dict(
        re.findall(r"^([A-Za-z0-9_.-]+)==(\S+?)(?:;.*)?$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    )
    pinned = {name.lower().replace("_", "-") for name in pins}
    assert {"torch", "transformers", "pydantic", "pytest"} <= wanted
    assert wanted <= pinned


def test_make_removes_the_distribution_of_the_older_name() -> None:
    """An environment that has `schemagen` installed would import it beside `schemagen-lm`."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    installs = [
        at for at, line in enumerate(lines) if "pip install" in line.replace("$(PIP)", "pip") and "FT_" not in line
    ]
    assert len(installs) == 3
    for at in installs:
        assert "without-old" in lines[at - 1] or "pip uninstall --quiet --yes schemagen" in lines[at - 1]


def test_every_make_target_is_explained() -> None:
    """`make` alone lists all targets that are not files."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[1].split())  # type: ignore[index]
    explained = set(re.findall(r"^([a-z-]+):.*## ", makefile, flags=re.MULTILINE))
    assert phony == explained


def test_ci_runs_make_test_alone() -> None:
    """Nothing is checked that a contributor cannot run with one command."""
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec make test"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
