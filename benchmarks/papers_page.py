"""docs/concepts/papers-again.md and its plots from the committed result of `papers.py`.

python benchmarks/papers_page.py
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import harness
import page
from plots import line_plot
from tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATE = harness.ROOT / "benchmarks" / "papers.template.md"
PAGE = harness.ROOT / "docs" / "concepts" / "papers-again.md"
RESULT = harness.RESULTS / "papers.json"

Result = dict[str, Any]


def _accuracy(found: Result) -> str:
    heads = ("method", "right", "interval of 95 %", "well-formed", "perplexity", "throughput", "s per answer")
    parts = []
    for task, methods in found.items():
        rows = [
            (
                name,
                f"{row['right']:.3f}",
                "{:.2f} to {:.2f}".format(*row["right_interval"]),
                f"{row['well_formed']:.3f}",
                f"{row['perplexity']:.2f}",
                f"{row['throughput']:.2f} x",
                f"{row['seconds_per_answer']:.2f}",
            )
            for name, row in methods.items()
        ]
        parts += [f"Ours, {TASKS[task].title}:", page.table(heads, rows)]
    return "\n\n".join(parts)


def _throughput(found: Result) -> str:
    methods = [name for name in next(iter(found.values())) if name != "unconstrained"]
    rows = [(grammar, *(f"{row[name]:.2f}" for name in methods)) for grammar, row in found.items()]
    return "Ours:\n\n" + page.table(("grammar", *methods), rows)


def _speculation(found: Result) -> str:
    lengths = [name for name in next(iter(found.values())) if name != "unconstrained"]
    rows = [(grammar, *(f"{row[s]:.2f}" for s in lengths)) for grammar, row in found.items()]
    picture = page.figure("papers-speculation.svg", "Throughput by the number of proposed tokens.")
    return page.table(("s", *lengths), rows) + "\n\n" + picture


def _constant(found: Result) -> str:
    rows = [
        (f"{length} bytes", f"{row['index_us']:.1f}", f"{row['from_the_start_us']:,.0f}")
        for length, row in found.items()
    ]
    picture = page.figure("papers-constant.svg", "Microseconds for a mask by the length of the text.")
    return page.table(("after", "index", "from the start"), rows) + "\n\n" + picture


def _compiling(found: Result) -> str:
    rows = [(name, f"{row['first_ms']:.1f}", f"{row['ms']:.2f}") for name, row in found.items()]
    return page.table(("expression", "first time", "again, in the same process"), rows)


_BODIES = {
    "accuracy": _accuracy,
    "throughput": _throughput,
    "speculation": _speculation,
    "constant": _constant,
    "compiling": _compiling,
}


_OF_PROMPTS = ("accuracy", "throughput", "speculation")


def plots(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the plots by the names of their files."""
    found = {}
    if "speculation" in results:
        series = {
            grammar: [(float(s), value) for s, value in row.items() if s != "unconstrained"]
            for grammar, row in results["speculation"].items()
        }
        found["papers-speculation.svg"] = line_plot(
            "Throughput relative to free text", ("tokens proposed at a time", "x"), series
        )
    if "constant" in results:
        names = {"index": "index_us", "from the start": "from_the_start_us"}
        series = {
            name: [(float(length), row[key]) for length, row in results["constant"].items()]
            for name, key in names.items()
        }
        found["papers-constant.svg"] = line_plot(
            "A mask by the length of the text", ("bytes before", "µs"), series, logarithmic=True
        )
    return found


def render(record: Mapping[str, Any]) -> str:
    """Return the page."""
    machine, settings = record["machine"], record["settings"]
    origin = (
        f"Measured on {record['date']} with {settings['model']}, greedily unless stated otherwise, "
        f"on {machine['cpu']} with {settings['threads']} threads, load {machine['load_average']}, "
        f"commit {record['commit']}; the methods take turns, prompt by prompt."
    )
    text = TEMPLATE.read_text(encoding="utf-8").replace("{{origin}}", origin)
    for name, body in _BODIES.items():
        part = record["results"].get(name)
        count = record["results"].get("counts", {}).get(name, 0)
        commit = record["results"].get("commits", {}).get(name, record["commit"])
        told = f"({count} prompts for each number, commit {commit}.)\n\n" if name in _OF_PROMPTS else ""
        text = text.replace("{{" + name + "}}", page.NOT_YET.format("papers") if part is None else told + body(part))
    return text.rstrip("\n") + "\n"


def main() -> int:
    """Write the page and the plots."""
    record = json.loads(RESULT.read_text(encoding="utf-8"))
    page.write(PAGE, render(record), plots(record["results"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
