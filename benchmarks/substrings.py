"""Passages of a text, token by token, beside llguidance's `%regex {"substring_chars": ...}`.

    python benchmarks/substrings.py --tokenizer path/to/llama3

The text is the source of Python's standard library, cut to several sizes. Each engine has each size in a fresh process:

    compile         the text, to a matcher
    root            the first mask
    mask            at each token of random passages, from a fresh matcher, for the first time
    memory          what the process grew by, at most while the text was compiled, and afterwards

Times are CPU time of the process.
"""

from __future__ import annotations

import bisect
import json
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from engines import EngineError, Llguidance, Schemagen, installed

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10_000, 100_000, 1_000_000)
#: Passages, and characters of each.
PASSAGES = 100
LENGTH = 250
WARM_UP = "warm up"
clock = time.process_time


def source(size: int) -> str:
    """Return so many characters of the standard library."""
    text = ""
    for path in sorted(Path(bisect.__file__).parent.glob("*.py")):
        if len(text) >= size:
            break
        text += path.read_text(encoding="utf-8")
    return text[:size]


class SchemagenSubstrings(Schemagen):
    """This package, by `substring_of`."""

    def compile(self, schema: str) -> None:
        """Compile the passages of a text."""
        import schemagen
        from schemagen.text import substring_of

        self.grammar = schemagen.compile(substring_of(schema), self.vocabulary, cache=None)
        self.reset()

    def reset(self) -> None:
        """Make a new matcher."""
        self._matcher = self.grammar.matcher()


class LlguidanceSubstrings(Llguidance):
    """llguidance, by a grammar in its dialect of lark."""

    def compile(self, schema: str) -> None:
        """Compile the passages of a text."""
        given = json.dumps({"substring_chars": schema})
        grammar = self._matcher_class.grammar_from_lark(f"start: %regex {given}")
        self._matcher = self._matcher_class(self._tokenizer, grammar, log_level=0)
        self._check()

    def reset(self) -> None:
        """Put the matcher back to the start."""
        self._matcher.reset()
        self._check()


CONTENDERS: dict[str, Any] = {"schemagen": SchemagenSubstrings, "llguidance": LlguidanceSubstrings}


def answer(name: str, tokenizer_path: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what measures a case with one engine; runs in a worker."""
    tokenizer = harness.load_tokenizer(tokenizer_path)
    engine = CONTENDERS[name](tokenizer)
    engine.compile(WARM_UP)
    engine.fill()

    def measured(case: dict[str, Any]) -> dict[str, Any]:
        try:
            return measure(engine, tokenizer, source(case["size"]))
        except Exception as error:  # noqa: BLE001 - to refuse a text is an answer
            return {"verdict": f"{type(error).__name__}: {error}"[:300]}

    return measured


def measure(engine: Any, tokenizer: Any, text: str) -> dict[str, Any]:
    """Return times in microseconds, and bytes."""
    choose = random.Random(0)
    begins = [choose.randrange(max(len(text) - LENGTH, 1)) for _ in range(PASSAGES)]
    passages = [harness.tokens_of(tokenizer, text[begin : begin + LENGTH]) for begin in begins]
    harness.forget_peak()
    before, _ = harness.memory_bytes()
    compile_us = microseconds(lambda: engine.compile(text))
    _, peak = harness.memory_bytes()
    root_us = microseconds(engine.fill)
    times = [us for ids in passages for us in walk(engine, ids)]
    harness.forget_peak()
    return {
        "verdict": "pass",
        "tokens": len(times),
        "compile_us": round(compile_us),
        "root_us": round(root_us),
        "mask_us": harness.aggregate(times),
        "second_us": harness.aggregate([us for ids in passages for us in walk(engine, ids)]),
        "peak_bytes": peak - before,
        "grown_bytes": harness.memory_bytes()[0] - before,
    }


def microseconds(task: Callable[[], Any]) -> float:
    """Return the microseconds that a task takes."""
    start = clock()
    task()
    return (clock() - start) * 1e6


def walk(engine: Any, ids: list[int]) -> list[float]:
    """Return the microseconds of the mask in front of each token of a passage."""
    times = []
    engine.reset()
    for token in ids:
        times.append(microseconds(engine.fill))
        if not int(engine.words[token // 32]) >> token % 32 & 1:
            raise EngineError(f"token {len(times)} of {len(ids)} is refused")
        engine.accept(token)
    return times


def report(results: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print what was measured."""
    for size, row in results.items():
        for name, found in row.items():
            if found["verdict"] != "pass":
                print(f"{size} characters: {name}: {found['verdict']}")
                continue
            times = ", ".join(f"{what} {found['mask_us'][what]:,.1f}" for what in ("p50", "p99", "max"))
            again = ", ".join(f"{what} {found['second_us'][what]:,.1f}" for what in ("p50", "p99", "max"))
            print(
                f"{size} characters: {name}: compile {found['compile_us'] / 1e6:.3f} s, root {found['root_us'] / 1e3:.1f} ms, "
                f"{found['tokens']} masks in us: {times}; again: {again}; "
                f"peak {found['peak_bytes'] / 1e6:.0f} MB, memory {found['grown_bytes'] / 1e6:.0f} MB"
            )


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for."""
    made = harness.parser(__doc__, "substrings")
    made.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="characters of the text")
    made.add_argument("--engines", nargs="+", choices=CONTENDERS, help="these; the default is all that are installed")
    made.add_argument("--timeout", type=float, default=120.0, help="seconds for one text")
    options = made.parse_args(arguments)
    names = options.engines or installed(list(CONTENDERS))
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for size in options.sizes:
        row = results.setdefault(f"{size:,}", {})
        for name in names:
            worker = harness.Worker("substrings:answer", (name, str(options.tokenizer)), timeout_s=options.timeout)
            with harness.workers({name: worker}):
                row[name] = worker.ask({"size": size})
    report(results)
    settings = {"tokenizer": options.tokenizer.name, "passages": PASSAGES, "length": LENGTH}
    harness.write_result(options.out, "substrings", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
