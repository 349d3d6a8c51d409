"""docs/evidence.md from committed results: those of `real_model.py` and of the scripts in `OTHERS`.

python benchmarks/evidence_page.py
"""

from __future__ import annotations

import html
import json
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import harness
import page
from plots import interval_plot
from tasks import TASKS

from schemagen.evaluation.scoring import paired, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

TEMPLATE = harness.ROOT / "benchmarks" / "evidence.template.md"
PAGE = harness.ROOT / "docs" / "evidence.md"
FREE, OURS, PROCESSOR = "unconstrained", "schemagen", "schemagen processor"
#: Results beside those of `real_model.py`.
OTHERS = ("prompts", "prompt_formats", "bfcl", "sql")
#: A folder for each further model, which `evidence.py` fills.
MODELS = harness.RESULTS / "models"
#: A text longer than this is cut on the page, which says so.
_LONGEST = 500

Result = dict[str, Any]


def load(folder: Path = harness.RESULTS) -> dict[str, Result]:
    """Return the results for the page, by benchmark."""
    paths = {name: folder / f"{name}.json" for name in ("real_model", "real_model_texts", *OTHERS)}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.is_file()}


def render(results: Mapping[str, Result]) -> str:
    """Return the page."""
    made: dict[str, Callable[[], str]] = {
        "summary": lambda: summary(results),
        "quality": lambda: _part(results, "quality", _quality),
        "times": lambda: _part(results, "times", _times),
        "broken": lambda: broken(results.get("real_model_texts")),
        "prompts": lambda: _prompts(results.get("prompts")),
        "prompt_formats": lambda: formats(results.get("prompt_formats")),
        "bfcl": lambda: calls(results.get("bfcl")),
        "sql": lambda: statements(results.get("sql")),
        "models": models,
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, make in made.items():
        text = text.replace("{{" + name + "}}", make())
    return text.rstrip("\n") + "\n"


def summary(results: Mapping[str, Result]) -> str:
    """Return the table that the first page quotes: shares of valid and right answers, and speed, by task."""
    quality, times = _runs(results, "quality"), _runs(results, "times")
    rows = [
        (
            TASKS[name].title,
            *(_of(quality, name, way, "valid") for way in (FREE, OURS)),
            *(_of(quality, name, way, "fields") for way in (FREE, OURS)),
            *(_of(times, name, way, "ratio_same_length_with_first") for way in (OURS, PROCESSOR)),
        )
        for name in TASKS
        if name in quality or name in times
    ]
    heads = (
        *("task", "valid, alone", "valid, schemagen", "right, alone", "right, schemagen"),
        *("speed, `lm(...)`", "speed, processor"),
    )
    return page.table(heads, rows) if rows else page.NOT_YET.format("real_model")


def _of(runs: Mapping[str, Result], task: str, way: str, key: str) -> str:
    """Return a number of a way for a table: a share or a ratio; "" if it was not measured."""
    found = runs.get(task, {}).get("ways", {}).get(way, {}).get(key)
    if found is None:
        return ""
    return f"{found[0]:.0%}" if isinstance(found, list) else f"{found:.2f} x"


def plots(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the plots by the names of their files."""
    found = {}
    if right := _groups(_runs(results, "quality"), "fields", "fields"):
        found["evidence-right.svg"] = interval_plot("Share of right fields", "share, interval of 95 %", right)
    if speeds := _groups(_runs(results, "times"), "ratio_same_length_with_first", "ratio_same_length_range"):
        title = "Speed relative to generate alone, same length"
        found["evidence-speed.svg"] = interval_plot(title, "x, all answers; smallest to largest", speeds, mark=1)
    return found


def _groups(runs: Mapping[str, Result], value: str, ends: str) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return a value of each way with the ends of its interval, by task; no task without any."""
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name, run in runs.items():
        for way, one in run["ways"].items():
            if ends in one:
                middle = one[value][0] if isinstance(one[value], list) else one[value]
                low, high = one[ends][-2:]
                found.setdefault(TASKS[name].title, {})[way] = (middle, low, high)
    return found


def _part(results: Mapping[str, Result], kind: str, body: Callable[[Result], str]) -> str:
    runs = _runs(results, kind)
    if not runs:
        return page.NOT_YET.format("real_model")
    settings = results["real_model"]["settings"]
    parts, said = [f"{settings['model']}, {settings['parameters'] / 1e6:.0f} million parameters."], ""
    for name, run in runs.items():
        parts.append(f"**{TASKS[name].title}**, {run['count']} questions:")
        parts.append(body(run["ways"]))
        parts += [f"Skipped: {who}, {why}." for who, why in run["skipped"].items()]
        if said != (said := _origin(run)):
            parts.append(said)
    return "\n\n".join(parts)


def _runs(results: Mapping[str, Result], kind: str) -> dict[str, Result]:
    """Return the runs of a kind, by task, in the order of the tasks."""
    found = results.get("real_model", {}).get("results", {}).get(kind, {})
    return {name: found[name] for name in TASKS if name in found}


def _origin(run: Result) -> str:
    machine, versions = run["machine"], run["versions"]
    threads = "1 thread" if run["threads"] == 1 else f"{run['threads']} threads"
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if name not in ("jsonschema", "numpy"))
    return (
        f"Run on {run['date']}, commit {run['commit']}; {machine['cpu']}, {machine['cores']} cores, {threads}, "
        f"load {machine['load_average']} at the start; batches of {run['batch_size'] or 1}, seed {run['seed']}; {named}."
    )


def _share(found: list[float]) -> str:
    share, low, high = found
    return f"{share:.0%} ({low:.0%} to {high:.0%})"


def _rows(tasks: Mapping[str, Result], cells: Callable[[Result], tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """Return a row for each way; the row of a failed one has the reason."""
    return [
        (name, f"failed: {found['failed']}".replace("|", "\\|"), *[""] * (width - 1))
        if "failed" in found
        else (f"{name} ({found['date']})" if "date" in found else name, *cells(found))
        for name, found in tasks.items()
    ]


def _quality(found: Result) -> str:
    def cells(one: Result) -> tuple[str, ...]:
        change = one.get("fields_to_unconstrained")
        told = "" if change is None else "{:+.0%} ({:+.0%} to {:+.0%})".format(*change)
        shares = (_share(one[key]) for key in ("valid", "fields", "exact"))
        return (*shares, told, f"{one['tokens']:.0f}", f"{one['attempts']:.1f}")

    heads = ("way", "valid", "fields right", "exact", "fields, against unconstrained", "tokens", "attempts")
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


def broken(record: Result | None) -> str:
    """Return for each task the question that broke, with the three texts: alone, with schemagen, right."""
    if record is None:
        return page.NOT_YET.format("real_model_texts")
    shown = {TASKS[name].title: record["results"][name] for name in TASKS if record["results"].get(name)}
    wrong = [title for title, found in shown.items() if is_valid_and_wrong(found["texts"][OURS])]
    parts = [f"{record['settings']['model']}, greedy. {_origin({**record, **record['settings']})}"]
    if wrong:
        parts.append(
            f"With schemagen, these texts are valid, and not all of their values are right: {'; '.join(wrong)}."
        )
    for title, found in shown.items():
        question = html.escape(found["prompt"].rpartition("\n")[2], quote=False)
        parts.append(f"**{title}**, question {found['number']}: {question}")
        for way, heading in ((FREE, "Alone"), (OURS, "With schemagen")):
            parts += [f"{heading}, {_verdict(found['texts'][way])}:", _code(found["texts"][way]["text"])]
        parts += ["The right answer, from the data:", _code(json.dumps(found["right"], ensure_ascii=False))]
    return "\n\n".join(parts)


def is_valid_and_wrong(written: Result) -> bool:
    """Whether a text has the form of the answer, and a wrong value."""
    return written["valid"] and not all(written["right"].values())


def _verdict(written: Result) -> str:
    """Return whether a text is valid, how much of it is right, and whether the page shows only its beginning."""
    right, text = written["right"], written["text"]
    said = f"{'valid' if written['valid'] else 'not valid'}, {sum(right.values())} of {len(right)} fields right"
    return said + (f"; the first {_LONGEST} of {len(text)} characters" if len(text) > _LONGEST else "")


def _code(text: str) -> str:
    return f"<pre><code>{html.escape(text[:_LONGEST], quote=False)}</code></pre>"


def _prompts(record: Result | None) -> str:
    if record is None:
        return page.NOT_YET.format("prompts")
    import prompts

    heads = ("way", "fields right", "against the shape", "exact", "tokens of the prompt")
    parts = [_asked(record)]
    for name, found in record["results"].items():
        rows = [
            (way, fields, change, exact, tokens)
            for way, fields, change, exact, tokens, _ in prompts.summary(found, found.get(prompts.BASELINE))
        ]
        parts += [f"**{TASKS[name].title}**:", page.table(heads, rows)]
    return "\n\n".join(parts)


def _asked(record: Result) -> str:
    """Return the model, the questions, the day and the machine."""
    settings = record["settings"]
    asked = f"{settings['count']} questions of the tuning half of each task, greedy"
    return f"{settings['model']}, {asked}; {record['date']}, commit {record['commit']}; {record['machine']['cpu']}."


def formats(record: Result | None) -> str:
    """Return a table for each task: shares of right fields, ways x formats."""
    if record is None:
        return page.NOT_YET.format("prompt_formats")
    import prompt_formats

    parts = [_asked(record)]
    for task in prompt_formats.TEMPLATES:
        cells = {
            key.rpartition(", ")[2]: cell for key, cell in record["results"].items() if key.startswith(f"{task}, ")
        }
        base = prompt_formats.scores(cells, prompt_formats.BASELINE)
        rows = []
        for way in prompt_formats.WAYS:
            mean, low, high = paired(prompt_formats.scores(cells, way), base)
            shares = [sum(cell[way]["fields"]) / cell[way]["count"] if way in cell else None for cell in cells.values()]
            if any(share is not None for share in shares):
                shown = ["" if share is None else f"{share:.2f}" for share in shares]
                rows.append((way, *shown, f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"))
        parts += [f"**{TASKS[task].title}**:", page.table(("way", *cells, "all, against types"), rows)]
    return "\n\n".join(parts)


def calls(record: Result | None) -> str:
    """Return the tables of the function-calling benchmark: shares by category, and the differences of the ways."""
    if record is None:
        return page.NOT_YET.format("bfcl")
    import bfcl

    settings, answers = record["settings"], record["results"]["answers"]
    ways = [way for way in bfcl.WAYS if any(way in row for rows in answers.values() for row in rows.values())]
    whole = {"all": {key: row for rows in answers.values() for key, row in rows.items()}}
    shares = page.table(
        ("category", "questions", *(f"{way}: {mark}" for way in ways for mark in bfcl.MARKS[:3])),
        [
            (name, str(len(rows)), *(_hits(rows, way, place) for way in ways for place in range(3)))
            for name, rows in {**answers, **whole}.items()
        ],
    )
    origin = (
        f"{settings['model']}, {len(whole['all'])} questions, seed {settings['seed']}, greedy; {settings['package']}; "
        f"{record['date']}, commit {record['commit']}; {record['machine']['cpu']}. {len(record['results']['too_long'])} drawn "
        f"questions whose prompts have more than {settings['longest']} tokens are left out."
    )
    differences = page.table(
        ("of the same questions", "questions", "right, difference", "tokens", "passes of the model"),
        [_against(whole["all"], way, other) for other, way in pairwise(ways)],
    )
    return f"{origin}\n\n{shares}\n\n{differences}"


def _hits(rows: Mapping[str, Any], way: str, place: int) -> str:
    """Return the share of a mark, with its interval."""
    marks = [row[way][place] for row in rows.values() if way in row]
    return _share([sum(marks) / len(marks), *wilson(sum(marks), len(marks))]) if marks else ""


def _against(rows: Mapping[str, Any], way: str, other: str) -> tuple[str, ...]:
    """Return how a way compares with another on the questions that both answered."""
    both = [row for row in rows.values() if way in row and other in row]
    right = [{number: float(row[each][2]) for number, row in enumerate(both)} for each in (way, other)]
    mean, low, high = paired(*right)
    costs = (sum(row[way][place] for row in both) / sum(row[other][place] for row in both) for place in (3, 4))
    told = (f"x {cost:.2f}" for cost in costs)
    return (f"{way} against {other}", str(len(both)), f"{mean:+.1%} ({low:+.1%} to {high:+.1%})", *told)


def tasks_of(folder: Path) -> Result:
    """Return the shares of a model, by task."""
    return _runs(load(folder), "quality")


def models() -> str:
    """Return a table of the further models: shares of right fields and calls, alone and with schemagen."""
    rows = []
    for folder in sorted(MODELS.iterdir()) if MODELS.is_dir() else ():
        results = load(folder)
        for name, run in tasks_of(folder).items():
            shares = (_of({name: run}, name, way, "fields") for way in (FREE, OURS, "schemagen with a draft"))
            rows.append((folder.name, TASKS[name].title, str(run["count"]), *shares, run["date"]))
        if "bfcl" in results:
            answers = {key: row for each in results["bfcl"]["results"]["answers"].values() for key, row in each.items()}
            shares = (_hits(answers, way, 2) for way in ("alone", "schemagen", "draft"))
            rows.append((folder.name, "function calls", str(len(answers)), *shares, results["bfcl"]["date"]))
    if not rows:
        return "*There is no other model yet.*"
    return page.table(("model", "task", "questions", "alone", "schemagen", "with a draft", "date"), rows)


def statements(record: Result | None) -> str:
    """Return the table of the questions to a database."""
    if record is None:
        return page.NOT_YET.format("sql")
    import sql

    settings, rows = record["settings"], record["results"]["rows"]
    origin = f"{settings['model']}, {len(rows)} questions, greedy; {record['date']}, commit {record['commit']}."
    mean, low, high = sql.difference(rows)
    change = f"Right with the constraint, less right alone: {mean:+.1%} ({low:+.1%} to {high:+.1%})."
    return f"{origin}\n\n{page.table(('way', 'runs', 'right'), sql.summary(rows))}\n\n{change}"


def main() -> int:
    """Write the page and its plots."""
    results = load()
    page.write(PAGE, render(results), plots(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
