"""All measurements of the page of evidence that say how right answers are, for another model: `make evidence MODEL=folder`.

    python benchmarks/evidence.py --model path/to/model --device auto --dtype bfloat16

The results go to `results/models/NAME/`, a file for each script, and the page gets a row for each task. A pull request with the
folder and the page adds the model for everybody. A script goes on where it was interrupted, task by task. The function-calling
benchmark is left out if its questions are not there (`make corpora CORPORA=bfcl`).
"""

from __future__ import annotations

import sys

import bfcl
import evidence_page
import harness
import real_model
import sql

from tests import corpora


def main(arguments: list[str] | None = None) -> int:
    """Run the scripts, then write the page."""
    made = harness.parser(__doc__, "evidence")
    harness.model_options(made)
    made.add_argument("--count", type=int, default=100, help="questions of each task")
    made.add_argument("--batch-size", type=int, default=25)
    options = made.parse_args(arguments)
    name = options.model.stem if options.label == made.get_default("label") else options.label
    folder = evidence_page.MODELS / name if options.out == made.get_default("out") else options.out
    folder.mkdir(parents=True, exist_ok=True)
    shared = [f"--{each}={getattr(options, each)}" for each in ("model", "threads", "dtype", "device", "count", "seed")]
    shared.append(f"--label={name}")
    ways = [real_model.FREE, real_model.OURS, "schemagen with a draft"]
    for task in real_model.TASKS:
        if task not in evidence_page.tasks_of(folder):
            asked = [f"--batch-size={options.batch_size}", "--tasks", task, "--methods", *ways]
            real_model.main([*shared, f"--out={folder / 'real_model.json'}", *asked])
    if not (folder / "sql.json").is_file():
        sql.main([*shared, f"--out={folder / 'sql.json'}"])
    if corpora.at_hand("bfcl"):
        bfcl.main([*shared, f"--out={folder / 'bfcl.json'}"])
    return evidence_page.main()


if __name__ == "__main__":
    sys.exit(main())
