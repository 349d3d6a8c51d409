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
from schemagen.errors import installing

ROOT = Path(__file__).parents[2]
TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
WITH_MODELS = ROOT / "packages" / "schemagen-lm" / "pyproject.toml"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def run_pip(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel of a copy of the tree."""
    tree = folder / "tree"
    ignored = shutil.ignore_patterns("_core*.so", "__pycache__", "build")
    for name in ("schemagen", "core"):
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    (tree / "tools").mkdir()
    for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "tools/build_backend.py"):
        shutil.copy(ROOT / name, tree / name)
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
    assert Path(wheel.root.filename or "").name.startswith("schemagen_core-")
    compiled = {name for name in names_in(wheel) if re.fullmatch(r"schemagen/_core\..*(so|pyd)", name)}
    assert len(compiled) == 1
    assert names_in(wheel) - compiled == sources()
    assert sum(name.endswith("/sboms/schemagen-core.cdx.json") for name in wheel.root.namelist()) == 1


@pytest.mark.slow
def test_without_a_compiler_the_build_fails_and_says_what_is_missing(tmp_path: Path) -> None:
    """pip shows what failed and how to mend it, without -v; there is no slower wheel instead."""
    run = run_pip(tmp_path, CXX=shutil.which("false") or "/bin/false")
    assert run.returncode != 0
    said = run.stdout + run.stderr
    assert "the compiled core of schemagen was not built" in said
    assert "g++ >= 11" in said
    assert not [*tmp_path.glob("*.whl")]


def planned(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Ask the build backend what it would do with the programs of one folder."""
    kept = {name: value for name, value in os.environ.items() if name not in {"CXX", "SCHEMAGEN_CORE_IN_PLACE"}}
    command = [sys.executable, str(ROOT / "tools" / "build_backend.py")]
    environment = {**kept, "PATH": str(path), **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere CMake finds the compiler of the system, or says so")
def test_without_a_compiler_the_build_takes_ziglang(tmp_path: Path) -> None:
    """It is asked for, named and used if no compiler is on PATH or in CXX, and the core is to be compiled."""
    run = planned(tmp_path)
    assert (run.returncode, run.stdout.count("\n")) == (0, 1)
    assert "no C++ compiler found: " in run.stdout
    assert "ziglang==" in run.stdout
    assert planned(tmp_path, CXX="/opt/c++").stdout == ""
    assert planned(tmp_path, SCHEMAGEN_CORE_IN_PLACE="1").stdout == ""
    (tmp_path / "g++").touch(mode=0o755)
    assert planned(tmp_path).stdout == ""


def test_the_build_asks_pip_for_ziglang_only_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's headers are needed with any compiler, and no wheel has them."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    backend = import_module("build_backend")
    monkeypatch.chdir(ROOT)
    for needed in (True, False):
        monkeypatch.setattr(backend, "needs_ziglang", lambda needed=needed: needed)
        assert (backend.ZIGLANG in backend.get_requires_for_build_wheel()) is needed
    assert backend.get_requires_for_build_sdist() == []


@pytest.mark.skipif(sys.platform != "linux", reason="the lines are for Linux")
def test_without_the_headers_of_python_the_build_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is downloaded, with the line to type."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    backend = import_module("build_backend")
    monkeypatch.delenv("SCHEMAGEN_CORE_IN_PLACE", raising=False)
    monkeypatch.setattr(backend.sysconfig, "get_path", lambda _: "/nowhere")
    with pytest.raises(SystemExit, match=r"sudo apt install g\+\+ python3-dev"):
        backend.needs_ziglang()


def test_versions_agree() -> None:
    """The version of the package is that of its metadata, and the changelog knows it."""
    assert f'version = "{schemagen.__version__}"' in PYPROJECT
    assert f"## [{schemagen.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_both_distributions_are_one_release() -> None:
    """`schemagen-lm` has the version of `schemagen-core`, requires just it, and passes its extras for users on."""
    core, whole = (TOML.loads(text)["project"] for text in (PYPROJECT, WITH_MODELS.read_text(encoding="utf-8")))
    assert core["name"] == installing.DISTRIBUTION
    assert whole["name"] == installing.WITH_MODELS
    for same in ("version", "requires-python", "license", "urls"):
        assert whole[same] == core[same]
    assert whole["dependencies"] == [f"schemagen-core[lm]=={core['version']}"]
    extras = installing.EXTRAS.keys() - {"lm"}
    assert whole["optional-dependencies"] == {
        extra: [f"schemagen-core[{extra}]=={core['version']}"] for extra in sorted(extras)
    }


def test_a_release_is_stopped_by_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions of this tree agree; a tag that is another version is an obstacle, and so is a placeholder."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    check = import_module("release_check")
    version = TOML.loads(PYPROJECT)["project"]["version"]
    assert not [found for found in check.obstacles() if version in found]
    assert f"the tag is v9, and the version {version}" in check.obstacles("v9")
    is_placeholder = ".example" in TOML.loads(PYPROJECT)["project"]["urls"]["Repository"]
    assert is_placeholder == any("placeholder" in found for found in check.obstacles())
    release = TOML.loads(PYPROJECT)["project"]["optional-dependencies"]["release"]
    assert check.extra_requirements() == release


def test_every_action_is_pinned_by_its_hash() -> None:
    """A tag can be moved, a commit cannot; the comment names the version for people and Dependabot."""
    used = [line for path in WORKFLOWS for line in path.read_text(encoding="utf-8").splitlines() if " uses: " in line]
    loose = [line for line in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)]
    assert loose == []
    assert len(used) > 10


def test_every_dependency_is_pinned() -> None:
    """`constraints.txt` has an exact version of each package that `pyproject.toml` names."""
    project = TOML.loads(PYPROJECT)["project"]
    listed = project["dependencies"] + [name for extra in project["optional-dependencies"].values() for name in extra]
    unmarked = [requirement for requirement in listed if ";" not in requirement]
    wanted = {re.match(r"[A-Za-z0-9.-]+", requirement)[0] for requirement in unmarked} - {"schemagen-core"}  # type: ignore[index]
    pins = dict(
        re.findall(r"^([A-Za-z0-9_.-]+)==(\S+?)(?:;.*)?$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    )
    pinned = {name.lower().replace("_", "-") for name in pins}
    assert {"torch", "transformers", "pydantic", "pytest"} <= wanted
    assert wanted <= pinned


def test_make_removes_the_distribution_of_the_older_name() -> None:
    """An environment that has `schemagen` or `schemagen-lm` installed would import it beside `schemagen-core`."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    installs = [
        at for at, line in enumerate(lines) if "pip install" in line.replace("$(PIP)", "pip") and "FT_" not in line
    ]
    assert len(installs) == 3
    for at in installs:
        assert "without-old" in lines[at - 1] or "pip uninstall --quiet --yes schemagen schemagen-lm" in lines[at - 1]


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
