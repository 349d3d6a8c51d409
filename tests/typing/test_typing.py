"""The public surface as mypy and pyright see it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run_mypy(path, tmp_path):
    """Return exit status and output of mypy --strict on a file, and the lines it complains about."""
    cache = f"--cache-dir={tmp_path / 'mypy'}"
    options = ["--strict", "--no-error-summary", "--follow-imports=silent", cache]
    command = [sys.executable, "-m", "mypy", *options, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    return lines, done.stdout + done.stderr


def run_pyright(path, tmp_path):
    """Return the lines that pyright complains about, and its output."""
    # A project of its own, as that of the repository leaves out the files that are meant to be wrong.
    shutil.copy(path, tmp_path)
    project = tmp_path / "pyrightconfig.json"
    settings = {"include": [path.name], "extraPaths": [str(ROOT)], "pythonVersion": "3.10"}
    project.write_text(json.dumps(settings), encoding="utf-8")
    options = ["--outputjson", "--pythonpath", sys.executable, "--project", str(project)]
    command = [sys.executable, "-m", "pyright", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
    assert report["summary"]["filesAnalyzed"] == 1
    found = report["generalDiagnostics"]
    lines = {entry["range"]["start"]["line"] + 1 for entry in found if entry["severity"] == "error"}
    return lines, done.stdout + done.stderr


CHECKERS = {"mypy": run_mypy, "pyright": run_pyright}


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_types_of_the_api(checker, tmp_path):
    """Every assert_type of api.py holds."""
    lines, output = CHECKERS[checker](HERE / "api.py", tmp_path)
    assert not lines, output


@pytest.mark.parametrize("checker", CHECKERS)
def test_wrong_uses_are_seen(checker, tmp_path):
    """Exactly the marked lines of fail_wrong_use.py are errors."""
    path = HERE / "fail_wrong_use.py"
    expected = {n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if "# error:" in line}
    lines, output = CHECKERS[checker](path, tmp_path)
    assert lines == expected, output
