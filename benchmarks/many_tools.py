"""Many tools in one request: time to compile the grammar of the answers, time of the first masks, memory.

    python benchmarks/many_tools.py --tokenizer llama3

Every tool has five parameters: a text, a number, a choice, a list and an object; no two schemas are equal. Each number of
tools is measured several times, each time in a process of its own, and the best time counts. The slowest mask and the mean are
those of one call, token by token; none of them was computed before.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import harness

import schemagen
from schemagen.calling import Tool, find_profile
from schemagen.calling.answer_format import build, write_calls

COUNTS = (10, 100, 1000)
PROFILES = ("hermes", "qwen-coder")
AREAS = ("mail", "files", "calendar", "shop", "maps", "music", "bank", "notes", "photos", "travel")
VERBS = ("create", "update", "remove", "find", "list", "share", "rename", "archive", "restore", "count")
WHAT = ("item", "group", "label", "owner", "comment", "version", "rule", "report", "link", "task")
CALL = {"query": "Paris", "limit": 3, "order": "newest", "tags": ["a", "b"], "at": {"x": 1.5, "y": -2}}


def tool(number: int) -> Tool[..., Any]:
    """Return the tool of a number, whose schema differs from all others."""
    words = (AREAS[number % 10], VERBS[number // 10 % 10], WHAT[number // 100 % 10])
    properties = {
        "query": {"type": "string", "maxLength": 20 + number},
        "limit": {"type": "integer", "minimum": 0, "maximum": 10 + number},
        "order": {"enum": ["newest", "oldest", f"by_{words[2]}"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "at": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
            "required": ["x", "y"],
            "additionalProperties": False,
        },
    }
    schema = {"properties": properties, "required": ["query"], "additionalProperties": False}
    return Tool.from_dict({"name": "_".join(words), "description": " ".join(words), "parameters": schema})


def measure(folder: Path, name: str, count: int) -> dict[str, Any]:
    """Return a row of the table, measured in this process."""
    tokenizer = harness.load_tokenizer(folder)
    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer)
    profile, tools = find_profile(name), tuple(map(tool, range(count)))
    bitmask = schemagen.allocate_token_bitmask(1, vocabulary.size)
    build(profile, (tool(5000),), vocabulary, ()).graph.matcher()  # the first request of a process loads more
    harness.forget_peak()
    before, _ = harness.memory_bytes()
    start = harness.clock()
    matcher = build(profile, tools, vocabulary, (), parallel=True).graph.matcher()
    compiled = harness.clock()
    matcher.fill_next_token_bitmask(bitmask, 0)
    first = harness.clock()
    masks = []
    text = write_calls(profile, [(tools[-1].name, json.dumps(CALL))])
    for token_id in harness.tokens_of(tokenizer, text):
        if not matcher.accept_token(token_id):
            raise SystemExit(f"{name} refuses its own call at {tokenizer.decode([token_id])!r}")
        masks.append(harness.seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)))
    repeated = harness.clock()
    build(profile, tools, vocabulary, (), parallel=True).graph.matcher()
    again = harness.clock() - repeated
    now, peak = harness.memory_bytes()
    return {
        "profile": name,
        "tools": count,
        "compile_ms": round((compiled - start) * 1e3, 1),
        "again_ms": round(again * 1e3, 2),
        "first_mask_ms": round((first - compiled) * 1e3, 2),
        "slowest_mask_ms": round(max(masks) * 1e3, 2),
        "mean_mask_ms": round(sum(masks) / len(masks) * 1e3, 3),
        "masks": len(masks),
        "memory_mb": round((now - before) / 2**20, 1),
        "peak_mb": round((peak - before) / 2**20, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "many_tools")
    made.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="numbers of tools, up to 1000")
    made.add_argument("--profiles", nargs="+", default=PROFILES)
    made.add_argument("--repeats", type=int, default=5)
    options = made.parse_args(arguments)
    rows = []
    for name in options.profiles:
        for count in options.counts:
            found = []
            for _ in range(options.repeats):
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    found.append(pool.submit(measure, options.tokenizer, name, count).result())
            rows.append(found[0] | {key: min(row[key] for row in found) for key in found[0] if key.endswith("_ms")})
            print(rows[-1])
    settings = {"tokenizer": Path(options.tokenizer).name, "repeats": options.repeats}
    harness.write_result(options.out, "many_tools", settings, {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
