"""What masks cost vLLM in one engine step: ``StructuredOutputManager.grammar_bitmask``, without an engine and without a GPU.

    python benchmarks/step.py --tokenizer FOLDER            # prints the table, and writes benchmarks/step.md with
    --write

vLLM's own manager fills the rows of its own requests, with schemagen, xgrammar or guidance as its backend, on the CPU
as in every engine. 64 different schemas; each request writes an instance of one of them, the same tokens in each
backend, and another request takes its place when it is done, so that at any time the rows stand at different places.
Timed is the filling alone (`step`), and beside it what the tokens of a step cost to be accepted (`accept`) and a
grammar to be made (`compile`). Each backend runs in a process of its own.

The first texts of a schema meet masks that no request has asked for before. So the first part of the steps is told
apart (`first`): a server that has just begun, and `step`: one that has seen its schemas.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
BACKENDS = ("schemagen", "schemagen without budgets", "xgrammar", "guidance")
OTHERS = ("xgrammar", "guidance")
ROWS = (8, 32, 64, 128, 256)
GRAMMARS = 64
WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "inlet",
    "juniper",
    "kelp",
    "lagoon",
    "maple",
    "nectar",
    "orchid",
    "pine",
    "quartz",
    "reef",
]


def scalar(rng: random.Random) -> dict[str, Any]:
    """Return a schema of a scalar."""
    return rng.choice(
        (
            {"type": "string"},
            {"type": "string", "maxLength": 60},
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"enum": rng.sample(WORDS, k=4)},
            {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
        )
    )


def composed(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    """Return a schema of an object, with objects and arrays in it."""
    properties = {}
    for name in rng.sample(WORDS, k=rng.randint(2, 6)):
        part = composed(rng, depth - 1) if depth and rng.random() < 0.3 else scalar(rng)
        properties[name] = {"type": "array", "items": part, "maxItems": 8} if rng.random() < 0.25 else part
    required = [name for name in properties if rng.random() < 0.7]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def instance(schema: dict[str, Any], rng: random.Random) -> Any:
    """Return an instance of such a schema."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "pattern" in schema:
        return "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=3)) + f"-{rng.randint(1000, 9999)}"
    match schema["type"]:
        case "string":
            return " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
        case "integer":
            return rng.randint(-9999, 99999)
        case "number":
            return round(rng.uniform(-50, 50), 3)
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return [instance(schema["items"], rng) for _ in range(rng.randint(0, 4))]
    chosen = [name for name in schema["properties"] if name in schema["required"] or rng.random() < 0.7]
    return {name: instance(schema["properties"][name], rng) for name in chosen}


def manager_of(backend: str, tokenizer: Any, vocab_size: int, rows: int) -> Any:
    """Return vLLM's manager with a backend, on the fields that it reads of a configuration."""
    from vllm.v1.structured_output import StructuredOutputManager

    config = SimpleNamespace(
        scheduler_config=SimpleNamespace(max_num_seqs=rows),
        speculative_config=None,
        num_speculative_tokens=0,
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=False,
            disable_additional_properties=False,
            reasoning_parser="",
            reasoning_parser_plugin="",
            enable_in_reasoning=False,
        ),
        model_config=SimpleNamespace(
            skip_tokenizer_init=True,
            get_vocab_size=lambda: vocab_size,
            hf_config=SimpleNamespace(model_type="llama"),
            is_diffusion=False,
            max_model_len=8192,
        ),
        parallel_config=SimpleNamespace(distributed_executor_backend=None),
    )
    manager = StructuredOutputManager(config)
    if backend.startswith("schemagen"):
        from vllm.v1.structured_output.backend_outlines import OutlinesBackend as Backend
    elif backend == "xgrammar":
        from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend as Backend
    else:
        from vllm.v1.structured_output.backend_guidance import GuidanceBackend as Backend
    manager.backend = Backend(config, tokenizer=tokenizer, vocab_size=vocab_size)
    return manager


class Row:
    """A row of the batch: a request that writes one instance, and then another request in its place."""

    def __init__(self, place: int, schemas: list[dict[str, Any]], tokenizer: Any, manager: Any) -> None:
        self.place, self._schemas, self._manager, self._tokenizer = place, schemas, manager, tokenizer
        self._turn = place
        self._rng = random.Random(place)
        self.compiled: list[float] = []
        self.begin()

    def begin(self) -> None:
        """Make the next request, with its grammar."""
        from vllm.sampling_params import SamplingParams, StructuredOutputsParams
        from vllm.v1.request import Request

        schema = self._schemas[self._turn % len(self._schemas)]
        self._turn += 1
        eos = self._tokenizer.eos_token_id
        self.text = json.dumps(instance(schema, self._rng))
        self.tokens = [*self._tokenizer.encode(self.text, add_special_tokens=False), eos]
        params = SamplingParams(max_tokens=1024, structured_outputs=StructuredOutputsParams(json=json.dumps(schema)))
        params._all_stop_token_ids = {eos}  # noqa: SLF001 - as vLLM sets them
        self.request = Request(f"row{self.place}", [1], params, None)
        start = time.perf_counter()
        self.request.structured_output_request.grammar = self._manager._create_grammar(self.request)  # noqa: SLF001
        self.compiled.append(time.perf_counter() - start)
        self.at = 0

    def write(self) -> None:
        """Accept the next token of the text."""
        token = self.tokens[self.at]
        self.request.append_output_token_ids(token)
        if not self._manager.accept_tokens(self.request, [token]):
            raise SystemExit(f"token {self.at} of {self.text} was refused")
        self.at += 1


def measure(backend: str, folder: str, rows: int, steps: int) -> dict[str, Any]:
    """Return the figures of one backend."""
    import torch
    from transformers import AutoTokenizer

    torch.set_num_threads(1)
    if backend.startswith("schemagen"):
        from schemagen_vllm.slot import register

        os.environ["SCHEMAGEN_VLLM_SLOT"] = "outlines"
        os.environ["SCHEMAGEN_VLLM_BUDGET"] = "on" if backend == "schemagen" else "off"
        register()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    vocab_size = -(-len(tokenizer) // 64) * 64
    manager = manager_of(backend, tokenizer, vocab_size, rows)
    rng = random.Random(7)
    schemas = [composed(rng) for _ in range(GRAMMARS)]
    batch = [Row(place, schemas, tokenizer, manager) for place in range(rows)]
    for row in batch:  # at different places from the start
        for _ in range(row.place * 7 % (len(row.tokens) - 1)):
            row.write()
    filled, accepted = [], []
    for _ in range(steps):
        requests = {row.request.request_id: row.request for row in batch}
        start = time.process_time()
        manager.grammar_bitmask(requests, list(requests), {})
        middle = time.process_time()
        for row in batch:
            row.write()
        accepted.append(time.process_time() - middle)
        filled.append(middle - start)
        for row in batch:
            if row.at == len(row.tokens):
                row.begin()
    compiled = [seconds for row in batch for seconds in row.compiled]
    begin = steps // 4
    return {
        "first": figures(filled[:begin]),
        "step": figures(filled[begin:]),
        "accept": figures(accepted),
        "compile": figures(compiled),
    }


def figures(seconds: list[float]) -> dict[str, float]:
    """Return the median, the 99th percentile and the maximum, in microseconds."""
    ordered = sorted(seconds)
    tail = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return {
        name: round(value * 1e6, 1)
        for name, value in (
            ("p50", statistics.median(ordered)),
            ("mean", statistics.fmean(ordered)),
            ("p99", tail),
            ("max", ordered[-1]),
        )
    }


def run_apart(backend: str, options: argparse.Namespace, rows: int) -> dict[str, Any]:
    """Measure a backend in a process of its own, as often as asked, and return the best run."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    command = [sys.executable, __file__, "--tokenizer", options.tokenizer, "--steps", str(options.steps)]
    command += ["--one", backend, "--rows", str(rows)]
    runs = []
    for _ in range(options.repeat):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return min(runs, key=lambda run: run["step"]["p50"])


def table(found: dict[str, Any], part: str) -> str:
    """Return the results of a part of the steps as a table in Markdown."""
    lines = [
        "| rows | " + " | ".join(BACKENDS) + " | ratio | ratio without budgets |",
        "|---:|" + "---:|" * (len(BACKENDS) + 2),
    ]
    for rows, results in found["rows"].items():
        of = {name: results[name][part] for name in BACKENDS}
        better = min(of[name]["p50"] for name in OTHERS)
        cells = [f"{of[name]['p50']:,.0f} / {of[name]['p99']:,.0f}" for name in BACKENDS]
        cells += [f"{of[name]['p50'] / better:.2f}" for name in BACKENDS[:2]]
        lines.append(f"| {rows} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(found: dict[str, Any]) -> str:
    """Return the results as a page in Markdown."""
    names = ("vllm", "schemagen", "xgrammar", "llguidance", "python")
    about = ", ".join(f"{name} {found[name]}" for name in names)
    return (
        "# One engine step of vLLM, on the CPU\n\n"
        f"{found['date']}, {found['machine']}; {about}; tokenizer {found['tokenizer']};\n"
        f"{found['steps']} steps, the best of {found['repeat']} runs. Made by `step.py --write`.\n\n"
        "Figures are p50 / p99 in microseconds of CPU time, all threads together (the machine is shared), of\n"
        "`StructuredOutputManager.grammar_bitmask`, with 64 different grammars. A ratio is that of schemagen to the better of\n"
        "the other two, at p50. Without budgets: `SCHEMAGEN_VLLM_BUDGET=off`.\n\n"
        "A server that has seen its schemas, the last three quarters of the steps:\n\n"
        f"{table(found, 'step')}\n\n"
        "A server that has just begun, the first quarter; most masks are asked for the first time:\n\n"
        f"{table(found, 'first')}\n"
    )


def versions() -> dict[str, str]:
    """Return the versions of the measured packages, and the machine."""
    from importlib.metadata import version

    import vllm

    import schemagen

    return {
        "date": dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, no GPU",
        "python": platform.python_version(),
        "vllm": vllm.__version__,
        "schemagen": schemagen.__version__,
        "xgrammar": version("xgrammar"),
        "llguidance": version("llguidance"),
    }


def main() -> None:
    """Measure all backends, or one of them in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True, help="a folder with a tokenizer.json")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--one", choices=BACKENDS, help="measure this one here")
    parser.add_argument("--write", action="store_true", help="write step.md beside this file")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.tokenizer, options.rows[0], options.steps)))
        return
    results = {str(rows): {name: run_apart(name, options, rows) for name in BACKENDS} for rows in options.rows}
    about = {"tokenizer": Path(options.tokenizer).name, "steps": options.steps, "repeat": options.repeat}
    found = {**versions(), **about, "rows": results}
    print(page(found))
    if options.write:
        (HERE / "step.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
