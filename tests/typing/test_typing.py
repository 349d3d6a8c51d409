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


FILES = ["api.py", "fail_wrong_use.py"]


def run_mypy(_tmp_path):
    """Return what mypy --strict complains about, as (file, line), and its output."""
    # With the settings and the cache of `make check`, which has read everything else.
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *(str(HERE / name) for name in FILES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line.split(":") for line in done.stdout.splitlines() if ": error:" in line]
    return {(Path(path).name, int(line)) for path, line, *_ in errors}, done.stdout + done.stderr


def run_pyright(tmp_path):
    """Return what pyright complains about, as (file, line), and its output."""
    # A project of its own, as that of the repository leaves out the files that are meant to be wrong.
    for name in FILES:
        shutil.copy(HERE / name, tmp_path)
    project = tmp_path / "pyrightconfig.json"
    settings = {"include": FILES, "extraPaths": [str(ROOT)], "pythonVersion": "3.10"}
    project.write_text(json.dumps(settings), encoding="utf-8")
    options = ["--outputjson", "--pythonpath", sys.executable, "--project", str(project)]
    command = [sys.executable, "-m", "pyright", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
    assert report["summary"]["filesAnalyzed"] == len(FILES)
    errors = [entry for entry in report["generalDiagnostics"] if entry["severity"] == "error"]
    found = {(Path(entry["file"]).name, entry["range"]["start"]["line"] + 1) for entry in errors}
    return found, done.stdout + done.stderr


@pytest.mark.parametrize("check", [run_mypy, run_pyright])
def test_the_types_are_those_of_the_files(check, tmp_path):
    """Every assert_type of api.py holds, and exactly the marked lines of fail_wrong_use.py are errors."""
    lines = (HERE / "fail_wrong_use.py").read_text(encoding="utf-8").splitlines()
    expected = {("fail_wrong_use.py", n) for n, line in enumerate(lines, 1) if "# error:" in line}
    assert expected
    found, output = check(tmp_path)
    assert found == expected, output
