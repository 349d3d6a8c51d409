"""Records what the programs of the cookbook print with the real model; the pages in docs/cookbook show these outputs.

    make real-model cookbook              # every program
    python tools/cookbook.py invoices     # one

A program is examples/cookbook/NAME.py, its output examples/cookbook/outputs/NAME.txt. The first line of an output says
which model and machine wrote it, when, and with which versions. The programs decode greedily or with a seed, and here on one
thread, so that the same versions print the same again; tests/docs/test_cookbook.py compares, without the first line and the
times.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
import harness

import schemagen
from tests import real_model

if TYPE_CHECKING:
    from types import ModuleType

PROGRAMS = ROOT / "examples" / "cookbook"
OUTPUTS = PROGRAMS / "outputs"

_TIMES = re.compile(r"\d[\d.,]*(?= ?(?:ms|s|min|rows/s|tokens/s)\b)")


def names() -> list[str]:
    """Return the names of the programs."""
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


def program(name: str) -> ModuleType:
    """Import a program; its classes are found by their module's name, as those of any module."""
    spec = importlib.util.spec_from_file_location(f"cookbook_{name}", PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(name: str, lm: Any) -> str:
    """Return what a program prints with a model, on one thread and in an empty folder."""
    threads, folder, text = torch.get_num_threads(), Path.cwd(), io.StringIO()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as empty, redirect_stdout(text):
            os.chdir(empty)
            try:
                program(name).main(lm)
            finally:
                os.chdir(folder)
    finally:
        torch.set_num_threads(threads)
    return text.getvalue()


def steady(text: str) -> str:
    """Return a text without its times, which no two runs share."""
    return _TIMES.sub("_", text)


def recorded(name: str) -> tuple[str, str]:
    """Return the first line of a recorded output, and the rest."""
    head, _, rest = (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8").partition("\n")
    return head, rest


def head() -> str:
    """Return which model runs on which machine, today, and with which versions."""
    run = harness.run_record()
    machine, versions = run["machine"], run["versions"]
    packages = ", ".join(f"{package} {versions[package]}" for package in ("schemagen", "torch", "transformers"))
    return f"# {real_model.NAME} (Q4_1), 1 of {machine['cores']} cores of {machine['cpu']}, {run['date']}, {packages}"


def load() -> Any:
    """Load the real model."""
    return schemagen.load(real_model.path(), cache=real_model.cache())


def main() -> int:
    """Record the output of each program that is named, or of all."""
    parser = argparse.ArgumentParser(description="Record the outputs of the cookbook's programs with the real model.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a program; without any, all of them")
    chosen = parser.parse_args().names or names()
    lm = load()
    OUTPUTS.mkdir(exist_ok=True)
    for name in chosen:
        text = printed(name, lm)
        (OUTPUTS / f"{name}.txt").write_text(f"{head()}\n{text}", encoding="utf-8")
        print(f"{name}:\n{text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
