"""`lm.batch` as a queue of rows, against calls of ``generate`` for one chunk of rows after the other.

    python benchmarks/row_queue.py --texts 48

The bundled model writes texts of random lengths, 10 to 200 characters each, and texts that all have the same length, where no
row waits for another. Both ways write the same texts in the same process, one after the other; the way that goes first
changes from round to round, and a ratio is the median over the rounds.
"""

from __future__ import annotations

import random
import statistics
import sys
from typing import TYPE_CHECKING, Any
from unittest import mock

import harness
import torch
from harness import clock
from rich.progress import track

import schemagen

if TYPE_CHECKING:
    from collections.abc import Sequence

WAYS = ("queue", "chunks")


def lengths_of(kind: str, texts: int, seed: int) -> list[int]:
    """Return how many characters each text has."""
    choose = random.Random(seed)
    return [choose.randint(10, 200) if kind == "uneven" else 60 for _ in range(texts)]


def seconds(lm: Any, way: str, specs: Sequence[Any], size: int | None) -> tuple[float, list[Any]]:
    """Return how long a batch takes, and its texts."""
    prompts = [f"Letters, number {place}" for place in range(len(specs))]
    options = {"batch_size": size, "max_new_tokens": 256, "show_schema": False, "progress": False}
    began = clock()
    if way == "queue":
        found = lm.batch(prompts, specs, **options)
    else:
        with mock.patch("schemagen.decode.batch.can_queue", return_value=False):
            found = lm.batch(prompts, specs, **options)
    return clock() - began, found


def measure(lm: Any, kind: str, size: int | None, options: Any) -> dict[str, Any]:
    """Return the row of one kind of texts and one size of batches."""
    specs = [schemagen.Regex(f"[a-z]{{{length}}}") for length in lengths_of(kind, options.texts, options.seed)]
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    texts = []
    for turn in range(options.rounds + 1):
        for way in WAYS if turn % 2 else reversed(WAYS):
            spent, found = seconds(lm, way, specs, size)
            texts.append(found)
            if turn:  # the first round warms up
                times[way].append(spent)
    assert all(found == texts[0] for found in texts), "both ways write the same texts"
    pairs = [theirs / ours for ours, theirs in zip(*times.values(), strict=True)]
    return {
        "texts": kind,
        "batch_size": size,
        **{f"{way}_s": round(statistics.median(spent), 3) for way, spent in times.items()},
        "speedup": round(statistics.median(pairs), 3),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and write its result."""
    made = harness.parser(__doc__, "row_queue")
    made.add_argument("--texts", type=int, default=48, help="texts of a batch")
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 0], help="rows at a time; 0: as many as fit")
    made.add_argument("--threads", type=int, default=1, help="threads of torch")
    options = made.parse_args(arguments)
    torch.set_num_threads(options.threads)
    lm = schemagen.load_bundled()
    cases = [(kind, size or None) for kind in ("uneven", "even") for size in options.sizes]
    rows = [measure(lm, kind, size, options) for kind, size in track(cases)]
    settings = {"texts": options.texts, "rounds": options.rounds, "seed": options.seed, "threads": options.threads}
    harness.write_result(options.out, "row_queue", settings, {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
