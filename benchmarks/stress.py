"""Schemas made to be hard: their cost, or the limit that refused them.

    python benchmarks/stress.py --tokenizer llama3 --engines schemagen llguidance

Each is compiled in its own process (seconds and memory are limited), its first mask is filled, and a
random walk over allowed tokens follows, which starts again when a text is complete. The worst mask counts.
"""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING, Any

import harness
from engines import ENGINES, MaskEngine, installed
from harness import clock
from masks import WARM_UP, judge

if TYPE_CHECKING:
    from collections.abc import Callable


def _record(names: list[str], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": 20} for name in names},
        "additionalProperties": False,
        **more,
    }


def _nested_one_of(depth: int) -> dict[str, Any]:
    """Return alternatives that all begin alike, `depth` levels of them."""
    if depth == 0:
        return {"oneOf": [{"type": "integer"}, {"type": "string"}]}
    inner = _nested_one_of(depth - 1)
    return {"oneOf": [_record([], properties={"v": inner, key: {"type": "integer"}}, required=[key]) for key in "ab"]}


def _nested_arrays(depth: int) -> dict[str, Any]:
    return {"type": "array", "items": _nested_arrays(depth - 1)} if depth else {"type": "integer"}


def _tree() -> dict[str, Any]:
    children = {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 1}
    leaf = {"type": "object", "properties": {"leaf": {"type": "boolean"}}, "required": ["leaf"]}
    inner = {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}, "more": children}, "required": ["left"]}
    nodes = [{**node, "additionalProperties": False} for node in (leaf, inner)]
    return {"$ref": "#/$defs/node", "$defs": {"node": {"anyOf": nodes}}}


def _wide_any_of(count: int) -> dict[str, Any]:
    names = [[f"field_{k}", f"extra_{k % 7}", f"shared_{k % 3}"] for k in range(count)]
    return {"anyOf": [_record(each, required=each[:1]) for each in names]}


#: Name -> order of keys asked of schemagen, and what makes the schema.
STRESS: dict[str, tuple[str, Callable[[], Any]]] = {
    "enum of 5,000 strings": ("schema", lambda: {"enum": [f"{k * 2654435761 % 2**32:08x}-{k}" for k in range(5000)]}),
    "300 optional properties": ("schema", lambda: _record([f"property_{k}" for k in range(300)])),
    "300 optional properties, any order": ("any", lambda: _record([f"property_{k}" for k in range(300)])),
    "300 required properties, any order": (
        "any",
        lambda: _record([f"p{k}" for k in range(300)], required=[f"p{k}" for k in range(300)]),
    ),
    "10,000 properties": ("schema", lambda: _record([f"property_{k}" for k in range(10_000)])),
    "oneOf in oneOf, 8 deep": ("schema", lambda: _nested_one_of(8)),
    "anyOf of 200 objects": ("schema", lambda: _wide_any_of(200)),
    "anyOf of 200 objects, any order": ("any", lambda: _wide_any_of(200)),
    "maxLength 1,000,000": ("schema", lambda: {"type": "string", "minLength": 10, "maxLength": 1_000_000}),
    "maxItems 10,000": ("schema", lambda: {"type": "array", "items": {"type": "integer"}, "maxItems": 10_000}),
    "minItems 10,000, unique": (
        "schema",
        lambda: {"type": "array", "items": {"type": "integer"}, "minItems": 10_000, "uniqueItems": True},
    ),
    "pattern (a?){50}a{50}": ("schema", lambda: {"type": "string", "pattern": "^(a?){50}a{50}$"}),
    "pattern (a|b)*a(a|b){14}": ("schema", lambda: {"type": "string", "pattern": "^(a|b)*a(a|b){14}$"}),
    "pattern a{0,5000}": ("schema", lambda: {"type": "string", "pattern": "^a{0,5000}b$"}),
    "pattern with 6 look-aheads": (
        "schema",
        lambda: {"type": "string", "pattern": "^(?=.*a)(?=.*b)(?=.*c)(?=.*d)(?=.*[0-9])(?=.*[A-Z]).{8,64}$"},
    ),
    "pattern (x+x+)+y": ("schema", lambda: {"type": "string", "pattern": "^(x+x+)+y$"}),
    "arrays nested 100 deep": ("schema", lambda: _nested_arrays(100)),
    "recursive tree": ("schema", _tree),
    "any JSON": ("schema", lambda: True),
}


def answer(name: str, tokenizer_path: str, order: str, steps: int, seed: int) -> Callable[[str], dict[str, Any]]:
    """Return what measures a stress schema with one engine; runs in a worker."""
    tokenizer = harness.load_tokenizer(tokenizer_path)
    engine: MaskEngine = ENGINES[name][0](tokenizer, order=order)
    eos = tokenizer.eos_token_id
    judge(engine, tokenizer, WARM_UP)

    def measure(stress: str) -> dict[str, Any]:
        harness.forget_peak()
        before, _ = harness.memory_bytes()
        schema = STRESS[stress][1]()
        start = clock()
        try:
            engine.compile(schema)
            compile_ms = (clock() - start) * 1e3
            times = walk(engine, eos, steps, random.Random(seed))
        except Exception as error:  # noqa: BLE001 - to refuse is an answer
            message = f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0][:200]
            return {"verdict": "refused", "error": message, "after_ms": round((clock() - start) * 1e3, 3)}
        grown = harness.memory_bytes()[1] - before
        held = getattr(getattr(engine, "grammar", None), "memory_bytes", None)
        return {
            "verdict": "done",
            "schema_bytes": len(json.dumps(schema)),
            "compile_ms": round(compile_ms, 3),
            "first_mask_us": round(times[0], 2),
            "walk_us": harness.aggregate(times[1:]),
            "steps": len(times),
            "peak_growth_bytes": grown,
            "grammar_bytes": held,
        }

    return measure


def walk(engine: MaskEngine, eos: int, steps: int, rng: random.Random) -> list[float]:
    """Return the microseconds of each mask (fill and accept) of a random walk; EOS is taken if nothing else is left."""
    times: list[float] = []
    engine.reset()
    while len(times) < steps:
        start = clock()
        engine.fill()
        fill_s = clock() - start
        token_id = pick(engine.words, eos, rng)
        if token_id is None:
            times.append(fill_s * 1e6)
            engine.reset()
            continue
        start = clock()
        engine.accept(token_id)
        times.append((fill_s + clock() - start) * 1e6)
    return times


def pick(words: Any, eos: int, rng: random.Random) -> int | None:
    """Return a random allowed token, None where only the end is allowed."""
    import numpy as np

    allowed = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    allowed = allowed[allowed != eos]
    return int(rng.choice(allowed)) if len(allowed) else None


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "stress")
    made.add_argument("--engines", nargs="+", choices=ENGINES, default=["schemagen"])
    made.add_argument("--steps", type=int, default=300, help="masks of the random walk")
    made.add_argument("--only", help="schemas whose name contains this")
    made.add_argument("--timeout", type=float, default=60.0, help="seconds for one schema")
    options = made.parse_args(arguments)
    names = installed(options.engines)
    found: dict[str, dict[str, Any]] = {}
    for stress, (order, _) in STRESS.items():
        if options.only and options.only not in stress:
            continue
        for name in names:
            arguments_ = (name, str(options.tokenizer), order, options.steps, options.seed)
            worker = harness.Worker("stress:answer", arguments_, timeout_s=options.timeout)
            with harness.workers({name: worker}):
                found.setdefault(stress, {})[name] = worker.ask(stress)
            print(f"{stress}: {name} {found[stress][name]}")
    settings = {
        "tokenizer": options.tokenizer.name,
        "steps": options.steps,
        "seed": options.seed,
        "timeout_s": options.timeout,
        "orders": {stress: STRESS[stress][0] for stress in found},
    }
    harness.write_result(options.out, "stress", settings, {"schemas": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
