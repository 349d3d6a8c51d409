"""Bytes held by compiled grammars: freshly compiled, and after their instances were written.

    python benchmarks/memory.py --data maskbench.jsonl.gz --tokenizer llama3 --sample 500

All grammars are kept, so that the growth of the process shows whether `Grammar.memory_bytes` is true; the growth
also includes Python objects (schemas, reports), and memory that the allocator has not given back.
"""

from __future__ import annotations

import sys
from typing import Any

import harness
from masks import WARM_UP

import schemagen


def measure(cases: list[dict[str, Any]], tokenizer: Any, order: Any) -> dict[str, Any]:
    """Return bytes for each grammar, and of the whole process."""
    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer)
    table_bytes = _grown(lambda: vocabulary.tables)
    bitmask = schemagen.allocate_token_bitmask(1, vocabulary.size)
    # What the package loads when it compiles for the first time belongs to no grammar.
    schemagen.compile(WARM_UP["schema"], vocabulary, cache=None)
    harness.forget_peak()
    baseline, _ = harness.memory_bytes()
    kept, fresh, used, refused = [], [], [], 0
    for case in cases:
        try:
            grammar = schemagen.compile(case["schema"], vocabulary, property_order=order, cache=None)
        except schemagen.SchemagenError:
            refused += 1
            continue
        kept.append(grammar)
        fresh.append(grammar.memory_bytes)
        walk(
            grammar,
            [harness.tokens_of(tokenizer, harness.text_of(t["data"])) for t in case["tests"]],
            bitmask,
        )
        used.append(grammar.memory_bytes)
    now, peak = harness.memory_bytes()
    return {
        "grammars": len(kept),
        "refused": refused,
        "fresh_bytes": harness.aggregate(fresh),
        "used_bytes": harness.aggregate(used),
        "sum_used_bytes": sum(used),
        "process_bytes": {"baseline": baseline, "now": now, "peak": peak, "growth": now - baseline},
        "vocabulary_tables_bytes": table_bytes,
    }


def walk(grammar: schemagen.Grammar, texts: list[list[int]], bitmask: Any) -> None:
    """Fill the mask before each token of each text, as far as the tokens are allowed."""
    matcher = grammar.matcher()
    for ids in texts:
        matcher.reset()
        for token_id in ids:
            matcher.fill_next_token_bitmask(bitmask, 0)
            if not matcher.accept_token(token_id):
                break


def _grown(function: Any) -> int:
    harness.forget_peak()
    before, _ = harness.memory_bytes()
    function()
    return harness.memory_bytes()[0] - before


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "memory")
    harness.data_options(made)
    made.add_argument("--order", choices=["schema", "any"], default="schema", help="order of keys")
    options = made.parse_args(arguments)
    given = harness.cases(options.data, options.sample, options.seed)
    results = measure(given, harness.load_tokenizer(options.tokenizer), options.order)
    settings = harness.data_settings(options, len(given)) | {"order": options.order}
    kib = {kind: {k: round(v / 1024, 1) for k, v in results[kind].items()} for kind in ("fresh_bytes", "used_bytes")}
    print(f"{results['grammars']} grammars; KiB fresh {kib['fresh_bytes']}, used {kib['used_bytes']}")
    grown = results["process_bytes"]["growth"]
    print(
        f"together {results['sum_used_bytes'] / 2**20:.1f} MiB by memory_bytes, {grown / 2**20:.1f} MiB by the system"
    )
    harness.write_result(options.out, "memory", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
