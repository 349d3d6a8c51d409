"""Time to first mask and time between masks, compared with the installed engines.

    python benchmarks/masks.py                                             schemas made here, the bundled tokenizer
    python benchmarks/masks.py --data maskbench.jsonl.gz --tokenizer llama3 --sample 600 --order schema

The text of each instance is encoded by the tokenizer and fed to the mask token by token. An instance is accepted if
every token was in its mask and the text may end after the last one; it ends at the first refused token.

    TTFM    compile + the first mask, check and accept; once for each schema, after one schema that does not count
    TBM     fill the mask, check the bit of the token, accept it; once for each token, the first included

Verdicts: pass, compile_error, false_reject (a valid instance was refused), false_accept (an invalid one was accepted),
run_error, timeout, crash. Times are compared on the schemas that all engines pass, so that no engine is fast by giving up.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from engines import ENGINES, MaskEngine, feed, installed
from harness import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Judged once before the clock counts: the time to load an engine on first use is not time to first mask.
WARM_UP = {
    "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    "tests": [{"valid": True, "data": {"a": "b"}}],
}


def answer(
    name: str, tokenizer_path: str, order: str, resources: Mapping[str, Any] | None
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what judges a case with one engine; runs in a worker."""
    tokenizer = harness.load_tokenizer(tokenizer_path)
    engine: MaskEngine = ENGINES[name][0](tokenizer, order=order, resources=resources)
    harness.forget_peak()
    baseline, _ = harness.memory_bytes()
    judge(engine, tokenizer, WARM_UP)

    def judge_and_weigh(case: dict[str, Any]) -> dict[str, Any]:
        found = judge(engine, tokenizer, case)
        return {**found, "memory_bytes": {"baseline": baseline, "peak": harness.memory_bytes()[1]}}

    return judge_and_weigh


def judge(engine: MaskEngine, tokenizer: Any, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict of a schema and its times in microseconds."""
    start = clock()
    try:
        engine.compile(case["schema"])
    except Exception as error:  # noqa: BLE001 - to refuse a schema is a verdict
        return {"verdict": "compile_error", "error": f"{type(error).__name__}: {error}"[:300]}
    compile_us = (clock() - start) * 1e6
    times: list[float] = []
    wrong: dict[str, list[int]] = {"false_accept": [], "false_reject": []}
    failure = ""
    for number, test in enumerate(case["tests"]):
        ids = harness.tokens_of(tokenizer, harness.text_of(test["data"]))
        try:
            accepted = feed(engine, ids, times, clock) and engine.done()
        except Exception as error:  # noqa: BLE001 - so is to fail on a text
            failure = failure or f"test {number}: {type(error).__name__}: {error}"[:300]
            continue
        if accepted != test["valid"]:
            wrong["false_accept" if accepted else "false_reject"].append(number)
    verdict = "run_error" if failure else next((name for name, tests in wrong.items() if tests), "pass")
    found = {"verdict": verdict, "ttfm_us": compile_us + (times[0] if times else 0.0), "tbm_us": times}
    return {**found, "tests": wrong.get(verdict, []), "error": failure}


def summary(rows: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return verdicts, times, memory and ratios.

    Args:
        rows: Engine -> id of the schema -> answer.
    """
    passed = ({case for case, row in found.items() if row["verdict"] == "pass"} for found in rows.values())
    common = set.intersection(*passed)
    engines = {name: _engine_summary(found, common) for name, found in rows.items()}
    ours = engines.get("schemagen")
    compared = {
        f"schemagen / {name}": {kind: harness.ratios(ours[kind], theirs[kind]) for kind in ("ttfm_us", "tbm_us")}
        for name, theirs in engines.items()
        if ours is not None and name != "schemagen"
    }
    masks = sum(len(row["tbm_us"]) for case, row in next(iter(rows.values())).items() if case in common)
    return {"common": {"schemas": len(common), "masks": masks}, "ratios": compared, "engines": engines}


def _engine_summary(found: Mapping[str, dict[str, Any]], common: set[str]) -> dict[str, Any]:
    shared = [row for case, row in found.items() if case in common]
    memory = [row["memory_bytes"] for row in found.values() if "memory_bytes" in row]
    growth = max((entry["peak"] - entry["baseline"] for entry in memory), default=0)
    return {
        "schemas": len(found),
        "verdicts": dict(Counter(row["verdict"] for row in found.values()).most_common()),
        "not_pass": {
            case: [row["verdict"], row.get("tests", []), row.get("error", "")]
            for case, row in found.items()
            if row["verdict"] != "pass"
        },
        "ttfm_us": harness.aggregate([row["ttfm_us"] for row in shared]),
        "tbm_us": harness.aggregate([us for row in shared for us in row["tbm_us"]]),
        "memory_bytes": {
            "baseline": memory[0]["baseline"] if memory else None,
            "peak": max((entry["peak"] for entry in memory), default=None),
            "growth": growth,
        },
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "masks")
    harness.data_options(made)
    made.add_argument("--engines", nargs="+", choices=ENGINES, help="these; the default is all that are installed")
    made.add_argument("--order", choices=["schema", "any"], default="schema", help="order of keys asked of schemagen")
    made.add_argument("--remotes", type=Path, help='documents that schemas refer to, JSON lines {"uri", "schema"}')
    made.add_argument("--timeout", type=float, default=20.0, help="seconds for one schema")
    options = made.parse_args(arguments)
    given = harness.cases(options.data, options.sample, options.seed)
    resources = (
        {entry["uri"]: entry["schema"] for entry in harness.read_lines(options.remotes)} if options.remotes else None
    )
    names = installed(options.engines)
    made_workers = {
        name: harness.Worker(
            "masks:answer", (name, str(options.tokenizer), options.order, resources), timeout_s=options.timeout
        )
        for name in names
    }
    rows: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in names}
    with harness.workers(made_workers) as running:
        for name, case, found in harness.interleaved(running, given):
            rows[name][case["id"]] = found
    results = summary(rows)
    settings = harness.data_settings(options, len(given)) | {"order": options.order, "timeout_s": options.timeout}
    report(results)
    harness.write_result(options.out, "masks", settings, results)
    return 0


def report(results: Mapping[str, Any]) -> None:
    """Print the summary: verdicts, then ratios, then memory."""
    for name, found in results["engines"].items():
        print(
            f"{name}: {found['schemas']} schemas, {found['verdicts']}, grew {found['memory_bytes']['growth'] / 2**20:.0f} MiB"
        )
    print(f"compared on {results['common']['schemas']} schemas and {results['common']['masks']} masks that all pass")
    for pair, kinds in results["ratios"].items():
        for kind, found in kinds.items():
            print(f"{pair}: {kind.partition('_')[0].upper()} " + ", ".join(f"{k} {v:.3f}" for k, v in found.items()))


if __name__ == "__main__":
    sys.exit(main())
