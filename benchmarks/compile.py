"""Compiling grammars, against writing them to a folder and against reading them from there.

    python benchmarks/compile.py --data maskbench.jsonl.gz --sample 400

Each way has a process of its own, which takes all schemas once, as a program does that starts: what one schema has in common
with another is worked out for the first. The ways take turns, round after round; the best time of each schema counts, but a
folder is only written once. The tokenizer makes no difference to any of this; the byte vocabulary is used.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness

import schemagen

PARTS = {"smallest third": (0, 1 / 3), "middle third": (1 / 3, 2 / 3), "largest third": (2 / 3, 1), "all": (0, 1)}


def times(schemas: list[Any], folder: str | None) -> list[float | None]:
    """Return the seconds of each schema, None where it is refused; runs in a process of its own."""
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    found: list[float | None] = []
    schemagen.compile({"const": "imports are not measured"}, vocabulary, strict=False, cache=folder)
    for schema in schemas:
        schemagen.clear_cache()
        start = harness.clock()
        try:
            schemagen.compile(schema, vocabulary, strict=False, cache=folder)
        except schemagen.SchemagenError:
            found.append(None)
        else:
            found.append(harness.clock() - start)
    return found


def measure(schemas: list[Any], repeats: int) -> dict[str, Any]:
    """Return the table, and how long compiling takes."""
    context = multiprocessing.get_context("spawn")

    def run(folder: str | None) -> list[float | None]:
        with context.Pool(1) as pool:
            return pool.apply(times, (schemas, folder))

    with tempfile.TemporaryDirectory() as folder:
        write = run(folder)
        rounds = [(run(None), run(folder)) for _ in range(repeats)]
        sizes = [path.stat().st_size for path in Path(folder).glob("*.grammar")]
    compiled, replayed = ([_least(column) for column in zip(*runs, strict=True)] for runs in zip(*rounds, strict=True))
    found = zip(compiled, write, replayed, strict=True)
    ranked = sorted((c, w, r) for c, w, r in found if c is not None and w is not None and r is not None)
    return {
        "rows": [_row(name, ranked[int(len(ranked) * a) : int(len(ranked) * b)]) for name, (a, b) in PARTS.items()],
        "compile_ms": harness.aggregate([row[0] * 1e3 for row in ranked]),
        "file_bytes": harness.aggregate(sizes),
    }


def _least(seconds: tuple[float | None, ...]) -> float | None:
    return min((s for s in seconds if s is not None), default=None)


def _row(name: str, ranked: list[tuple[float, float, float]]) -> dict[str, Any]:
    """Return the medians of the ratios, and the ratios of the total times, in which a few schemas may weigh most."""
    compiled, written, replayed = (sum(column) for column in zip(*ranked, strict=True))
    return {
        "schemas": name,
        "count": len(ranked),
        "replay / compile": round(harness.percentile([r / c for c, _, r in ranked], 50), 3),
        "write / compile": round(harness.percentile([w / c for c, w, _ in ranked], 50), 3),
        "total replay / compile": round(replayed / compiled, 3),
        "total write / compile": round(written / compiled, 3),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for."""
    made = harness.parser(__doc__, "compile")
    harness.data_options(made)
    made.add_argument("--repeats", type=int, default=3)
    options = made.parse_args(arguments)
    schemas = [case["schema"] for case in harness.cases(options.data, options.sample, options.seed)]
    results = measure(schemas, options.repeats)
    for row in results["rows"]:
        print(
            f"{row['schemas']} ({row['count']}): replaying takes {row['replay / compile']:.2f} of compiling "
            f"(total {row['total replay / compile']:.2f}), writing {row['write / compile']:.2f}"
        )
    settings = {"data": harness.data_name(options.data), "repeats": options.repeats}
    harness.write_result(options.out, "compile", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
