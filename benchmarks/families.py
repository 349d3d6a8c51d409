"""Families of schemas that grow: the time to the first mask against their size.

    python benchmarks/families.py --tokenizer llama3 --engines schemagen llguidance

Each family has a schema for every size: so many branches, conditions, required keys or rounds of a pattern. A straight line
of slope 1, with both axes logarithmic, is time in proportion to the size. Each schema is compiled in a process of its own,
whose seconds and memory are limited, after another one that warms it up. A family ends for an engine at the first size that
it refuses, or does not finish in time.

Source: of this project; nested counters are from Turoňová et al. 2020 and Le Glaunec et al. 2023.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import harness
from engines import ENGINES, MaskEngine, installed
from harness import clock
from masks import WARM_UP, judge

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000)


def _closed(names: list[str], required: list[str]) -> dict[str, Any]:
    properties = {name: {"type": "integer"} for name in names}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _required(*names: str) -> dict[str, Any]:
    return {"required": list(names)}


def _pattern(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{pattern}$"}


#: Name -> the schema of a size. Objects take their keys in any order.
FAMILIES: dict[str, Callable[[int], dict[str, Any]]] = {
    "oneOf of closed objects": lambda n: {"oneOf": [_closed(["kind", f"field_{k}"], [f"field_{k}"]) for k in range(n)]},
    "allOf of anyOf": lambda n: {
        "type": "object",
        "allOf": [{"anyOf": [_required(f"a{k}"), _required(f"b{k}")]} for k in range(n)],
    },
    "if and then": lambda n: {
        "type": "object",
        "allOf": [{"if": _required(f"a{k}"), "then": _required(f"b{k}")} for k in range(n)],
    },
    "dependentSchemas": lambda n: {
        "type": "object",
        "dependentSchemas": {f"a{k}": {"properties": {f"b{k}": {"type": "integer"}}} for k in range(n)},
    },
    "not both": lambda n: {"type": "object", "allOf": [{"not": _required(f"a{k}", f"b{k}")} for k in range(n)]},
    "required keys": lambda n: _closed([f"key_{k}" for k in range(n)], [f"key_{k}" for k in range(n)]),
    "minItems": lambda n: {"type": "array", "items": {"type": "string"}, "minItems": n},
    "pattern (a|aa){n}": lambda n: _pattern(f"(a|aa){{{n}}}"),
    "pattern (a|bb)?c, n times": lambda n: {**_pattern(f"((a|bb)?c){{{n}}}"), "minLength": n, "maxLength": 2 * n},
    "pattern (a|bb)?, n times": lambda n: {**_pattern("(a|bb)?" * n), "minLength": n // 2, "maxLength": n},
    "pattern .*a.{n}": lambda n: _pattern(f".*a.{{{n}}}"),
}


def answer(name: str, tokenizer_path: str) -> Callable[[tuple[str, int]], dict[str, Any]]:
    """Return what measures one engine; runs in a worker."""
    tokenizer = harness.load_tokenizer(tokenizer_path)
    engine: MaskEngine = ENGINES[name][0](tokenizer, order="any")
    judge(engine, tokenizer, WARM_UP)

    def measure(asked: tuple[str, int]) -> dict[str, Any]:
        schema = FAMILIES[asked[0]](asked[1])
        start = clock()
        try:
            engine.compile(schema)
            engine.reset()
            engine.fill()
        except Exception as error:  # noqa: BLE001 - to refuse is an answer
            return {"verdict": "refused", "error": f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0][:200]}
        return {"verdict": "done", "ms": round((clock() - start) * 1e3, 3)}

    return measure


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "families")
    made.add_argument("--engines", nargs="+", choices=ENGINES, default=["schemagen"])
    made.add_argument("--only", help="families whose name contains this")
    made.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    made.add_argument("--timeout", type=float, default=20.0, help="seconds for one schema")
    options = made.parse_args(arguments)
    names = installed(options.engines)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for family in FAMILIES:
        if options.only and options.only not in family:
            continue
        for name in names:
            rows = found.setdefault(family, {}).setdefault(name, {})
            for size in options.sizes:
                worker = harness.Worker("families:answer", (name, str(options.tokenizer)), timeout_s=options.timeout)
                with harness.workers({name: worker}):
                    rows[str(size)] = worker.ask((family, size))
                print(f"{family}, {size}: {name} {rows[str(size)]}", flush=True)
                if rows[str(size)]["verdict"] != "done":
                    break
    settings = {"tokenizer": options.tokenizer.name, "sizes": list(options.sizes), "timeout_s": options.timeout}
    harness.write_result(options.out, "families", settings, {"families": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
