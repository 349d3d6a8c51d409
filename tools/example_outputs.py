"""Records what the programs in examples/ print and write with the bundled model; docs/examples.md shows it.

    python tools/example_outputs.py                # every program
    python tools/example_outputs.py 03_classify    # one

What examples/NAME.py prints is examples/outputs/NAME.txt, and a .jsonl file that it writes is NAME.jsonl. The web service has
the answer to one request, NAME.json. tests/docs/test_examples.py runs the programs again, and compares.
"""

from __future__ import annotations

import argparse
import io
import os
import runpy
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

PROGRAMS = Path(__file__).resolve().parents[1] / "examples"
OUTPUTS = PROGRAMS / "outputs"
SERVER = "11_fastapi_app"
#: The request to the web service, as its docstring has it.
TEXT = "Reservation for Tom Baker, 1 guest, from 12 June 2024 for 2 nights at 89 per night."


def names() -> list[str]:
    """Return the names of the programs."""
    return sorted(path.stem for path in PROGRAMS.glob("[0-9]*.py"))


def outputs(name: str) -> dict[str, str]:
    """Return what a program prints and writes in an empty folder, by the ending of the file that records it."""
    if name == SERVER:
        return {".json": _answer()}
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        with redirect_stdout(printed), mock.patch.object(sys, "argv", [name]), mock.patch.dict(os.environ):
            # A program that draws would write colours and the width of a terminal.
            for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
                os.environ.pop(variable, None)
            runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
        written = "".join(path.read_text(encoding="utf-8") for path in Path(folder).rglob("*.jsonl"))
    return {".txt": printed.getvalue()} | ({".jsonl": written} if written else {})


def _answer() -> str:
    """Return the answer of the web service to its request."""
    from fastapi.testclient import TestClient

    app = runpy.run_path(str(PROGRAMS / f"{SERVER}.py"), run_name=SERVER)["app"]
    with TestClient(app) as client:
        return client.post("/bookings", json={"text": TEXT}).text + "\n"


def recorded(name: str) -> dict[str, str]:
    """Return the recorded outputs of a program, by the ending of the file."""
    return {path.suffix: path.read_text(encoding="utf-8") for path in OUTPUTS.glob(f"{name}.*")}


def main() -> int:
    """Record the outputs of each program that is named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a program; without any, all of them")
    OUTPUTS.mkdir(exist_ok=True)
    for name in parser.parse_args().names or names():
        for ending, text in outputs(name).items():
            (OUTPUTS / f"{name}{ending}").write_text(text, encoding="utf-8")
            print(f"wrote {OUTPUTS / name}{ending}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
