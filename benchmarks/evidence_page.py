"""docs/evidence.md from the committed results of `real_model.py` and `prompts.py`: a template of prose, with tables.

python benchmarks/evidence_page.py
"""

from __future__ import annotations

import html
import json
import sys
from typing import TYPE_CHECKING, Any

import harness
import page
from tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

TEMPLATE = harness.ROOT / "benchmarks" / "evidence.template.md"
PAGE = harness.ROOT / "docs" / "evidence.md"
#: Broken texts that are shown of a task.
SHOWN = 1
_LONGEST = 500

Result = dict[str, Any]


def load(folder: Path = harness.RESULTS) -> dict[str, Result]:
    """Return the results that the page is made of, by benchmark."""
    paths = {name: folder / f"{name}.json" for name in ("real_model", "prompts")}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.is_file()}


def render(results: Mapping[str, Result]) -> str:
    """Return the page."""
    made: dict[str, Callable[[], str]] = {
        "quality": lambda: _part(results, "quality", _quality),
        "times": lambda: _part(results, "times", _times),
        "broken": lambda: _broken(results),
        "prompts": lambda: _prompts(results.get("prompts")),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, make in made.items():
        text = text.replace("{{" + name + "}}", make())
    return text.rstrip("\n") + "\n"


def _part(results: Mapping[str, Result], kind: str, body: Callable[[Result], str]) -> str:
    record = results.get("real_model")
    part = record and record["results"].get(kind)
    if not record or not part:
        return page.NOT_YET.format("real_model")
    parts = [_origin(record, part)]
    for name, found in part["tasks"].items():
        parts += [f"**{TASKS[name].title}**, {part['count']} questions:", body(found)]
    parts += [f"Skipped: {who}, {why}." for who, why in part["skipped"].items()]
    return "\n\n".join(parts)


def _origin(record: Result, part: Result) -> str:
    machine, versions = part["machine"], record["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if name not in ("jsonschema", "numpy"))
    settings = record["settings"]
    return (
        f"{settings['model']}, {settings['parameters'] / 1e6:.0f} million parameters; {record['date']}, commit "
        f"{record['commit']}; {machine['cpu']}, {machine['cores']} cores, {part['threads']} threads, load "
        f"{machine['load_average']}; batches of {part['batch_size'] or 1}, seed {part['seed']}; {named}."
    )


def _share(found: list[float]) -> str:
    share, low, high = found
    return f"{share:.0%} ({low:.0%} to {high:.0%})"


def _rows(tasks: Mapping[str, Result], cells: Callable[[Result], tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """Return a row for each way; one that failed says why."""
    return [
        (name, f"failed: {found['failed']}".replace("|", "\\|"), *[""] * (width - 1))
        if "failed" in found
        else (name, *cells(found))
        for name, found in tasks.items()
    ]


def _quality(found: Result) -> str:
    def cells(one: Result) -> tuple[str, ...]:
        change = one.get("fields_to_unconstrained")
        told = "" if change is None else "{:+.0%} ({:+.0%} to {:+.0%})".format(*change)
        shares = (_share(one[key]) for key in ("valid", "fields", "exact"))
        return (*shares, told, f"{one['tokens']:.0f}", f"{one['attempts']:.1f}")

    heads = ("way", "valid", "fields right", "exact", "fields, to unconstrained", "tokens", "attempts")
    return page.table(heads, _rows(found, cells, len(heads) - 1))


def _times(found: Result) -> str:
    def cells(one: Result) -> tuple[str, ...]:
        keys = ("ratio", "ratio_same_length", "ratio_same_length_with_first")
        ratios = (f"{one[key]:.2f}" if key in one else "" for key in keys)
        seconds = (f"{one['seconds_per_answer']:.2f}", f"{one['first_seconds']:.2f}")
        return (f"{one['tokens_per_second']:.1f}", *ratios, *seconds, f"{one['tokens']:.0f}", f"{one['valid'][0]:.0%}")

    heads = (
        "way",
        "tokens/s",
        "ratio",
        "same length",
        "with the first",
        "s per answer",
        "first answer, s",
        "tokens",
        "valid",
    )
    return page.table(heads, _rows(found, cells, len(heads) - 1))


def _broken(results: Mapping[str, Result]) -> str:
    record = results.get("real_model")
    kinds = [] if record is None else [record["results"].get(kind) for kind in ("quality", "times")]
    part = next((kind for kind in kinds if kind), None)
    if part is None:
        return page.NOT_YET.format("real_model")
    blocks = [block for name, found in part["tasks"].items() for block in _texts(name, found.get("unconstrained", {}))]
    return "\n\n".join(blocks) or "None did."


def _texts(task: str, found: Result) -> Iterator[str]:
    for one in found.get("broken", [])[:SHOWN]:
        text = html.escape(one["text"][:_LONGEST], quote=False)
        right = html.escape(json.dumps(one["right"], ensure_ascii=False), quote=False)
        question = html.escape(one["prompt"].rpartition("\n")[2], quote=False)
        yield f"**{TASKS[task].title}**: {question}"
        yield f"<pre><code>{text}</code></pre>"
        yield f"<pre><code>{right}</code></pre>"


def _prompts(record: Result | None) -> str:
    if record is None:
        return page.NOT_YET.format("prompts")
    import prompts

    settings, machine = record["settings"], record["machine"]
    heads = ("way", "fields right", "to the shape", "exact", "tokens of the prompt")
    asked = f"{settings['count']} questions of the tuning half of each task, greedy"
    parts = [f"{settings['model']}, {asked}; {record['date']}, commit {record['commit']}; {machine['cpu']}."]
    for name, found in record["results"].items():
        rows = [
            (way, fields, change, exact, tokens) for way, fields, change, exact, tokens, _ in prompts.summary(found)
        ]
        parts += [f"**{TASKS[name].title}**:", page.table(heads, rows)]
    return "\n\n".join(parts)


def main() -> int:
    """Write the page."""
    PAGE.write_text(render(load()), encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
