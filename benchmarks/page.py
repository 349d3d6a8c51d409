"""docs/benchmarks.md from the committed results: a template of prose, with tables and plots of the measurements.

python benchmarks/page.py
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import harness
import verdicts
from plots import AMBER, BLUE, GREY, RED, bar_plot, interval_plot, line_plot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

TEMPLATE = harness.ROOT / "benchmarks" / "page.template.md"
PAGE = harness.ROOT / "docs" / "benchmarks.md"
#: The folder of the plots of all pages.
PLOTS = harness.ROOT / "docs" / "plots"
#: The text in the place of a result that is not committed.
NOT_YET = "*No result is committed yet:* `python benchmarks/{}.py` *writes one.*"
#: The text there instead if the measurement needs another machine than ours.
NOT_MEASURED = {
    "device_overhead": "**This has not been measured:** no GPU was available. `python benchmarks/device_overhead.py "
    "--tokenizer path/to/llama3 --device cuda` writes the result on a machine with a GPU, and refuses on one without.",
}

Result = dict[str, Any]


def load(folder: Path = harness.RESULTS) -> dict[str, list[Result]]:
    """Return the committed results by benchmark, each with the name of its file."""
    found: dict[str, list[Result]] = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        found[record["benchmark"]].append({**record, "file": path.name})
    return found


def render(results: Mapping[str, list[Result]]) -> str:
    """Return the page."""
    suite, counts, not_pass = verdicts.departures()
    parts = {name: _section(name, results.get(name, []), body) for name, body in _BODIES.items()}
    parts["keywords"] = " ".join(map(_origin, results.get("keywords", [])[-1:])) or NOT_YET.format("keywords")
    parts["verdicts"] = _verdicts(results.get("coverage", []))
    parts["arguments"] = _arguments(suite)
    parts["refusals"] = _refusals(counts, not_pass)
    parts["differences"] = _differences(results.get("coverage", []), {**suite, **not_pass})
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace("{{" + name + "}}", value)
    return text.rstrip("\n") + "\n"


def write(path: Path, text: str, drawn: Mapping[str, str]) -> None:
    """Write a page and its plots."""
    path.write_text(text, encoding="utf-8")
    for name, plot in drawn.items():
        (PLOTS / name).write_text(plot, encoding="utf-8")
    print(f"wrote {path}")


def figure(name: str, caption: str) -> str:
    """Return a plot as a page includes it; ``name`` is that of its file."""
    return f'<figure>\n--8<-- "docs/plots/{name}"\n<figcaption>{caption}</figcaption>\n</figure>'


def between_marks(text: str, group: str, parts: Mapping[str, str]) -> str:
    """Return the text of a page with each part between its marks: ``<!-- group name: begin -->`` and ``end``."""
    for name, part in parts.items():
        begin, end = (f"<!-- {group} {name}: {edge} -->" for edge in ("begin", "end"))
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"no marks {begin} and {end} in the page")
        text = f"{before}{begin}\n\n{part}\n\n{end}{after}"
    return text


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table; numbers are not formatted, None is an empty cell."""
    lines = [list(heads)]
    lines += [["" if cell is None else str(cell) for cell in row] for row in rows]
    drawn = ["| " + " | ".join(line) + " |" for line in lines]
    drawn.insert(1, "|" + "---|" * len(lines[0]))
    return "\n".join(drawn).replace("|  |", "| |").replace("|  |", "| |")


def _section(name: str, found: list[Result], body: Callable[[Result], str]) -> str:
    if not found:
        return NOT_MEASURED.get(name, NOT_YET.format(name))
    return "\n\n".join(f"{_origin(result)}\n\n{body(result)}" for result in found)


def _origin(result: Result) -> str:
    settings, machine = result["settings"], result["machine"]
    shown = ("data", "schemas", "order", "tokenizer", "rounds", "steps", "repeats", "threads", "device", "seed")
    said = ", ".join(f"{name} {settings[name]}" for name in shown if name in settings)
    where = f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, load {machine['load_average']}"
    return f"`benchmarks/results/{result['file']}`: {result['date']}, commit {result['commit']}, {where}; {said}."


# --- times -----------------------------------------------------------------------------------------------------------


def _masks(result: Result) -> str:
    found, versions = result["results"], result["versions"]
    names = [name for name in harness.AGGREGATES if name in _first_ratios(found)]
    rows = [
        (pair, kind.partition("_")[0].upper(), *(f"{values.get(name, float('nan')):.3f}" for name in names))
        for pair, kinds in found["ratios"].items()
        for kind, values in kinds.items()
    ]
    judged = [
        (f"{name} {versions.get(name, '')}", _counted(engine["verdicts"]), _mib(engine["memory_bytes"]["growth"]))
        for name, engine in found["engines"].items()
    ]
    common = f"Ratios on the {found['common']['schemas']:,} schemas ({found['common']['masks']:,} masks) that all engines pass:"
    return "\n\n".join(
        [
            common,
            table(("ratio", "of", *names), rows),
            table(("engine", "verdicts", "memory grew by"), judged),
        ]
    )


def _first_ratios(found: Mapping[str, Any]) -> Mapping[str, float]:
    return next((kinds["tbm_us"] for kinds in found["ratios"].values()), {})


def _batch(result: Result) -> str:
    rows = [
        (
            row["rows"],
            row["grammars"],
            f"{row['batch / single']:.2f}",
            f"{row['threads / single']:.2f} ({row['threads']})",
        )
        for row in result["results"]["rows"]
    ]
    parts = [table(("rows", "grammars", "batch / one by one", "threads / one by one"), rows)]
    if new := result["results"].get("new"):
        parts.append(
            f"New masks, {new['rows']} rows, each with a fresh grammar: {new['one_thread_ms']:.2f} ms a step with one thread; "
            f"{new['threads']} threads take {new['threads / one thread']:.2f} of that time."
        )
    return "\n\n".join(parts)


def _row_queue(result: Result) -> str:
    rows = [
        (
            row["texts"],
            row["batch_size"] or "as many as fit",
            f"{row['queue_s']:.2f}",
            f"{row['chunks_s']:.2f}",
            f"{row['speedup']:.2f}",
        )
        for row in result["results"]["rows"]
    ]
    return table(("lengths", "rows at a time", "queue, s", "chunks, s", "chunks / queue"), rows)


def _vocabulary(result: Result) -> str:
    rows = [(row["what"], f"{row['ms']:.1f}", f"{row['to tokenizer']:.3f}") for row in result["results"]["rows"]]
    return table(("step", "ms, best of all", "of loading the tokenizer"), rows)


def _memory(result: Result) -> str:
    found = result["results"]
    rows = [
        (name, *(f"{found[kind].get(p, 0) / 1024:,.1f}" for p in ("p50", "p90", "p99", "max")))
        for name, kind in (("compiled", "fresh_bytes"), ("after writing its instances", "used_bytes"))
    ]
    grown = found["process_bytes"]["growth"]
    said = (
        f"{found['grammars']:,} grammars: together {_mib(found['sum_used_bytes'])} by `memory_bytes`, and {_mib(grown)} by the "
        f"growth of the process. All of them share the tables of the vocabulary: {_mib(found['vocabulary_tables_bytes'])}."
    )
    return table(("KiB of a grammar", "p50", "p90", "p99", "max"), rows) + "\n\n" + said


def _stress(result: Result) -> str:
    rows = [
        (stress, name, *_stressed(found))
        for stress, engines in result["results"]["schemas"].items()
        for name, found in engines.items()
    ]
    return table(
        ("schema", "engine", "compile, ms", "first mask, ms", "worst mask, ms", "median mask, µs", "grew by"), rows
    )


def _families(result: Result) -> str:
    """Return the time to the first mask by size, a row for each family and engine."""
    sizes = result["settings"]["sizes"]
    rows = [
        (family, name, *(_grown(found.get(str(size))) for size in sizes))
        for family, engines in result["results"]["families"].items()
        for name, found in engines.items()
    ]
    return table(("family", "engine", *(f"{size:,}" for size in sizes)), rows)


def _grown(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    return f"{found['ms']:,.1f}" if found["verdict"] == "done" else str(found["verdict"])


def _family_lines(result: Result, engine: str) -> dict[str, list[tuple[float, float]]]:
    """Return the times of the families whose time grows, by size."""
    found = {
        family: [(float(size), row["ms"]) for size, row in engines[engine].items() if row["verdict"] == "done"]
        for family, engines in result["results"]["families"].items()
    }
    return {family: line for family, line in found.items() if line and line[-1][1] > 2 * line[0][1]}


def _stressed(found: Mapping[str, Any]) -> tuple[str, ...]:
    if found["verdict"] != "done":
        return (f"{found['verdict']} {found.get('error', '')}".strip().replace("|", "\\|"), "", "", "", "")
    walk = found["walk_us"]
    return (
        f"{found['compile_ms']:.1f}",
        f"{found['first_mask_us'] / 1e3:.2f}",
        f"{walk.get('max', 0) / 1e3:.2f}",
        f"{walk.get('p50', 0):.1f}",
        _mib(found["peak_growth_bytes"]),
    )


def _budgets(result: Result) -> str:
    """Return the times of masks in random texts within a budget and without one, then the sums of texts by size."""
    cases = {case: found for case, found in result["results"]["cases"].items() if "masks" in found}
    rows = [(case, found["masks"], *(f"{us:,.0f}" for us in found["us"].values())) for case, found in cases.items()]
    times = next(iter(cases.values()))["us"]
    measured = table(("case", "masks", *(f"{name}, µs" for name in times)), rows)
    growing = result["results"].get("growing", {})
    if not growing:
        return measured
    sizes = list(next(iter(growing.values())))
    sums = [
        (family, said, *(f"{row[kind] / 1e3:,.1f}" for row in found.values()))
        for family, found in growing.items()
        for said, kind in (("its tokens", "own_us"), ("no budget", "without_us"))
    ]
    return measured + "\n\n" + table(("text", "budget", *(f"{int(size):,}" for size in sizes)), sums)


def _budget_lines(result: Result) -> dict[str, list[tuple[float, float]]]:
    """Return the milliseconds of all masks of a text in exactly its tokens, by size."""
    return {
        family: [(float(size), row["own_us"] / 1e3) for size, row in found.items()]
        for family, found in result["results"].get("growing", {}).items()
    }


#: The heads of the cells that `_decoding` returns.
DECODING = ("rows", "processor", "tokens/s", "ratio", "quartiles", "processor, ms")


def _decoding(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["batch"],
        row["processor"],
        f"{row['tokens_per_s']:,.1f}",
        f"{row['ratio']:.3f}",
        "{:.3f} to {:.3f}".format(*row["ratio_quartiles"]),
        f"{row['processor_ms']:.2f}",
    )


def _decode_overhead(result: Result) -> str:
    parts = []
    for name, found in result["results"].items():
        rows = [_decoding(row) for row in found["rows"]]
        said = f"**{name}**, {found['parameters'] / 1e6:,.0f} million parameters, {found['vocabulary']:,} logits:"
        parts += [said, table(DECODING, rows)]
        parts += [f"Skipped: {who}, {why}." for who, why in found["skipped"].items()]
    return "\n\n".join(parts)


def _device_overhead(result: Result) -> str:
    found = result["results"]
    kept = found["tables"]
    said = (
        f"{found['parameters'] / 1e6:,.0f} million parameters, {found['vocabulary']:,} logits. "
        f"Tables of {kept['states']:,} states, {_mib(kept['bytes'])}, made in {kept['seconds']:.1f} s; "
        f"{'closed' if kept['closed'] else 'not closed'}."
    )
    rows = [(*_decoding(row), row["synchronisations"]) for row in found["rows"]]
    return said + "\n\n" + table((*DECODING, "waits a step"), rows)


def _grammars(result: Result) -> str:
    """Return the times of each engine, then the ratios of ours to theirs."""
    found, versions = result["results"], result["versions"]
    rows = [
        (case, f"{name} {versions.get(name, '')}".strip(), *_measured(one))
        for case, row in found["grammars"].items()
        for name, one in row.items()
    ]
    kinds = list(dict.fromkeys(kind for pairs in found["ratios"].values() for row in pairs.values() for kind in row))
    compared = [
        (case, pair, *(f"{row[kind]:.3f}" if kind in row else "" for kind in kinds))
        for case, pairs in found["ratios"].items()
        for pair, row in pairs.items()
    ]
    heads = ("grammar", "engine", "tokens", "first mask, ms", "of it lark", "cold mean, µs", "p50", "p99", "max")
    measured = table((*heads, "warm p50", "p99", "grew by"), rows)
    return "\n\n".join([measured, table(("grammar", "ratio", *kinds), compared)])


def _measured(found: Mapping[str, Any]) -> tuple[str, ...]:
    if found["verdict"] != "pass":
        return (found["verdict"].replace("|", "\\|"), *[""] * 9)
    cold, warm = found["cold_us"], found["warm_us"]
    times = (found["cold_mean_us"], cold["p50"], cold["p99"], cold["max"], warm["p50"], warm["p99"])
    return (
        str(found["tokens"]),
        f"{found['first_mask_us'] / 1e3:.1f}",
        f"{found['lark_us'] / 1e3:.1f}",
        *(f"{us:,.1f}" for us in times),
        _mib(found["grown_bytes"]),
    )


_BODIES = {
    "grammars": _grammars,
    "masks": _masks,
    "decode_overhead": _decode_overhead,
    "device_overhead": _device_overhead,
    "batch": _batch,
    "row_queue": _row_queue,
    "vocabulary": _vocabulary,
    "budgets": _budgets,
    "memory": _memory,
    "stress": _stress,
    "families": _families,
}


def _mib(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1]))


# --- plots -----------------------------------------------------------------------------------------------------------


def plots(results: Mapping[str, list[Result]]) -> dict[str, str]:
    """Return the plots by the names of their files."""
    found = {}
    for result in results.get("keywords", [])[-1:]:
        found["benchmarks-keywords.svg"] = bar_plot("Keywords, by engine", _keyword_counts(result), KEYWORD_VERDICTS)
    if masks := results.get("masks"):
        first, between = (_engine_times(masks, kind) for kind in ("ttfm_us", "tbm_us"))
        axis = "µs: median, and up to the 99th percentile"
        found["benchmarks-first-mask.svg"] = interval_plot("Time to first mask", axis, first, logarithmic=True)
        found["benchmarks-masks.svg"] = interval_plot("Time between masks", axis, between, logarithmic=True)
    for result in results.get("families", [])[-1:]:
        lines = _family_lines(result, "schemagen")
        found["benchmarks-families.svg"] = line_plot(
            "Time to first mask", ("size", "ms"), lines, logarithmic=True, logarithmic_x=True
        )
    for result in results.get("budgets", [])[-1:]:
        if lines := _budget_lines(result):
            title = "All masks in exactly the tokens of a text"
            found["benchmarks-budgets.svg"] = line_plot(
                title, ("size", "ms"), lines, logarithmic=True, logarithmic_x=True
            )
    for result in results.get("grammars", [])[-1:]:
        first, cold = _grammar_times(result)
        found["benchmarks-grammars-first.svg"] = interval_plot("First mask of a grammar", "ms", first, logarithmic=True)
        axis = "µs: mean, and median to 99th percentile"
        found["benchmarks-grammars.svg"] = interval_plot("New masks of a grammar", axis, cold, logarithmic=True)
    return found


#: The verdicts about a keyword, from good to bad, with their colours.
KEYWORD_VERDICTS = {"enforced": BLUE, "refused": GREY, "narrower": AMBER, "ignored": RED}


def _keyword_counts(result: Result) -> dict[str, dict[str, int]]:
    counts = {name: Counter(judged.values()) for name, judged in result["results"]["verdicts"].items()}
    return {name: {kind: found[kind] for kind in KEYWORD_VERDICTS} for name, found in counts.items()}


def _engine_times(found: list[Result], kind: str) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return median, median and 99th percentile of each engine, by vocabulary."""
    return {
        result["settings"]["tokenizer"]: {
            name: (engine[kind]["p50"], engine[kind]["p50"], engine[kind]["p99"])
            for name, engine in result["results"]["engines"].items()
            if engine[kind]
        }
        for result in found
    }


def _grammar_times(result: Result) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return of each grammar and engine the time of the first mask, and mean, median and 99th percentile of new masks."""
    first: dict[str, Any] = {}
    cold: dict[str, Any] = {}
    for case, row in result["results"]["grammars"].items():
        passed = {name: one for name, one in sorted(row.items(), key=_ours_first) if one["verdict"] == "pass"}
        first[case] = {name: (one["first_mask_us"] / 1e3,) * 3 for name, one in passed.items()}
        cold[case] = {
            name: (one["cold_mean_us"], one["cold_us"]["p50"], one["cold_us"]["p99"]) for name, one in passed.items()
        }
    return first, cold


def _ours_first(named: tuple[str, Any]) -> tuple[bool, str]:
    return not named[0].startswith("schemagen"), named[0]


# --- coverage --------------------------------------------------------------------------------------------------------


def _verdicts(found: list[Result]) -> str:
    rows = [
        (f"{one['data']}, {one['schemas']:,}", f"{name} {one['versions'].get(name) or ''}", _judged(name, one))
        for record in found
        for one in record["sets"]
        for name in one["verdicts"]
    ]
    return table(("set", "engine", "verdicts"), rows) if rows else NOT_YET.format("verdicts")


def _judged(name: str, one: Mapping[str, Any]) -> str:
    """Return the counts of an engine; for ours also how many refused schemas have no instance at all."""
    said = _counted(one["verdicts"][name])
    empty = sum(map(_is_unsatisfiable, one["not_pass"].values()))
    return (
        f"{said}; {empty} of the compile errors are schemas without an instance"
        if name == "schemagen" and empty
        else said
    )


def _arguments(suite: Mapping[str, Any]) -> str:
    """Return an entry for each argument, with its groups in both drafts."""
    groups: dict[str, list[str]] = defaultdict(list)
    for case, verdict in suite.items():
        tests = f"{len(verdict.tests)} test{'s' * (len(verdict.tests) > 1)}"
        groups[verdicts.argument_for(case)].append(f"`{case}` ({tests})")
    return "\n".join(f"- {', '.join(cases)}: {argument}" for argument, cases in groups.items())


def _refusals(counts: Mapping[str, int], not_pass: Mapping[str, Any]) -> str:
    """Count the schemas by verdict and reason; supported-schema.md has their names."""
    total = f"Over bytes, {counts.get('pass', 0):,} of {sum(counts.values()):,} schemas pass ({_counted(counts)})."
    reasons = Counter((verdict.name, verdicts.refusal_for(verdict)) for verdict in not_pass.values())
    rows = [(str(count), name, reason) for (name, reason), count in reasons.most_common()]
    return total + "\n\n" + table(("schemas", "verdict", "reason"), rows)


def _differences(found: list[Result], known: Mapping[str, Any]) -> str:
    """List the verdicts over tokens that are wrong or refused, and are not in the committed verdicts over bytes."""
    rows = [
        (f"`{case}`", one["data"], verdict[0], str(verdict[2]).partition("\n")[0].replace("|", "\\|"))
        for record in found
        for one in record["sets"]
        for case, verdict in one["not_pass"].items()
        if case not in known and not _is_unsatisfiable(verdict)
    ]
    if not found:
        return ""
    if not rows:
        return "Over tokens, schemagen refused or misjudged nothing else."
    return "Over tokens, also:\n\n" + table(("schema", "set", "verdict", "error"), rows)


def _is_unsatisfiable(verdict: list[Any]) -> bool:
    """Whether a schema was refused because it has no instance, which `masks.py` counts as a compile error."""
    return verdict[0] == "compile_error" and str(verdict[2]).startswith("UnsatisfiableSchemaError")


def main() -> int:
    """Write the page and its plots."""
    results = load()
    write(PAGE, render(results), plots(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
