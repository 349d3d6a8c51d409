"""The recipe "Extract fields from a CSV": its commands, their output, and the time they take.

    make real-model
    python benchmarks/csv_rows.py                       # 40 rows with SmolLM2, 160 with the bundled model
    python benchmarks/csv_rows.py --model Qwen/Qwen3-0.6B --only-real

The commands are those of docs/cookbook/csv.md, in a copy of the folder examples/. The input is data/listings.csv; for the
bundled model its rows are repeated. That run is watched on a terminal, killed (SIGKILL) when a third of its rows is on the
disk, and resumed. The result file has each command with its output, for the page.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness

sys.path.insert(0, str(harness.ROOT))
from schemagen.evaluation.scoring import same
from tests import real_model

if TYPE_CHECKING:
    import argparse

TEMPLATE = "District: {district}. {text}"
SYSTEM = "You read advertisements for flats and write down their facts."
BATCH = ("batch", "listings:Listing", "data/listings.csv", "--template", TEMPLATE, "--system", SYSTEM)
#: The columns of the fields.
LISTING = ("rooms", "rent", "furnished", "contact.name", "contact.phone")
#: A frame of the progress bar, without the bar itself.
_FRAME = re.compile(r"generating[^\r\n]*? left")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment() -> dict[str, str]:
    """Return the environment of a command: this copy of schemagen, on a terminal of 80 columns."""
    return {**os.environ, "PYTHONPATH": str(harness.ROOT), "COLUMNS": "80", "TERM": "xterm"}


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return a command with its output, its status and its seconds."""
    began = harness.clock()
    done = subprocess.run(
        [sys.executable, "-m", "schemagen", *arguments],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if line and not re.search(r"\d%\|", line)]  # bars of transformers
    found = {
        "command": shlex.join(["schemagen", *arguments]),
        "status": done.returncode,
        "seconds": harness.clock() - began,
    }
    print(found["command"], *said, done.stdout, sep="\n", flush=True)
    return {**found, "output": done.stdout, "terminal": said}


def killed(folder: Path, rows: int, *arguments: str) -> dict[str, Any]:
    """Return the last frame of the progress bar of a command that is killed when so many rows are on the disk."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "schemagen", *arguments], cwd=folder, env=environment(), stderr=theirs
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    record, shown = folder / "flats.csv.meta.json", b""
    while process.poll() is None:
        time.sleep(0.2)
        with contextlib.suppress(OSError):  # nothing was written yet
            shown += os.read(ours, 1 << 20)
        if record.exists() and json.loads(record.read_text(encoding="utf-8"))["rows"] >= rows:
            time.sleep(1)  # the bar follows the record
            with contextlib.suppress(OSError):
                shown += os.read(ours, 1 << 20)
            process.send_signal(signal.SIGKILL)
            process.wait()
    frames = _FRAME.findall(_ESCAPES.sub("", shown.decode("utf-8", "replace")))
    kept = json.loads(record.read_text(encoding="utf-8"))["rows"]
    return {"command": shlex.join(["schemagen", *arguments]), "bar": frames[-1] if frames else "", "rows_kept": kept}


def repeat(path: Path, rows: int) -> None:
    """Make the table longer: its rows again and again, each with an id of its own."""
    with path.open(encoding="utf-8", newline="") as stream:
        header, *known = csv.reader(stream)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{number}", *known[number % len(known)][1:]] for number in range(rows))


def of_real_model(folder: Path, model: str) -> dict[str, Any]:
    """Return the run with a real model, and for each field how many of the checked rows have it right."""
    found = run(folder, *BATCH, "--output", "flats.csv", "--max-new-tokens", "80", "--model", model)
    return {"batch": found, **checked(folder / "flats.csv", folder / "data" / "listings-checked.csv")}


def checked(output: Path, labels: Path) -> dict[str, Any]:
    """Return the rows of an output, and its right fields, compared as `schemagen eval` compares them."""
    with output.open(encoding="utf-8", newline="") as stream:
        answers = {row["index"]: row for row in csv.DictReader(stream)}
    with labels.open(encoding="utf-8", newline="") as stream:
        expected = list(csv.DictReader(stream))
    fields = [name for name in expected[0] if name in LISTING]
    right = {
        name: sum(same(answers[row["index"]][name] or None, row[name] or None) for row in expected) for name in fields
    }
    return {"table": output.read_text(encoding="utf-8").splitlines(), "checked_rows": len(expected), "right": right}


def of_bundled(folder: Path, rows: int) -> dict[str, Any]:
    """Return the runs with the bundled model: killed, and resumed."""
    repeat(folder / "data" / "listings.csv", rows)
    command = (*BATCH, "--output", "flats.csv", "--max-new-tokens", "80")
    first = killed(folder, rows // 3, *command)
    again = run(folder, *command, "--resume")
    with (folder / "flats.csv").open(encoding="utf-8", newline="") as stream:
        indices = [int(row["index"]) for row in csv.DictReader(stream)]
    assert indices == list(range(rows)), "each row is there once, in order"
    return {"rows": rows, "killed": first, "resumed": again}


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    made = harness.parser(__doc__, "csv_rows")
    made.add_argument("--model", default=str(real_model.path()), help="name, folder or .gguf file")
    made.add_argument("--label", default=real_model.NAME, help="what results call the model")
    made.add_argument("--rows", type=int, default=160, help="rows for the bundled model")
    made.add_argument("--only-real", action="store_true", help="leave the bundled model out")
    made.add_argument("--only-bundled", action="store_true", help="leave the real model out")
    return made.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the commands and write the result; results that are left out stay as they were."""
    options = parsed(arguments)
    for name, skipped in (("real", options.only_bundled), ("bundled", options.only_real)):
        if skipped:
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "examples"
            shutil.copytree(harness.ROOT / "examples", folder)
            record = harness.run_record()
            found = of_real_model(folder, options.model) if name == "real" else of_bundled(folder, options.rows)
        text = json.dumps(found).replace(json.dumps(options.model)[1:-1], options.label)
        results = json.loads(options.out.read_text(encoding="utf-8"))["results"] if options.out.is_file() else {}
        results[name] = {**record, **json.loads(text)}
        harness.write_result(options.out, "csv_rows", {"model": options.label}, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
