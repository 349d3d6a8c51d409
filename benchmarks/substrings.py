"""Passages of a text, token by token, compared with llguidance's `%regex {"substring_chars": ...}`.

    python benchmarks/substrings.py --tokenizer path/to/llama3

The text is the source of Python's standard library, cut to several sizes, and at the largest size texts that are hard on suffix
automata. Each engine has each text in a fresh process:

    compile         the text, to a matcher
    root            the first mask
    mask            at each token of random passages, from a fresh matcher, for the first time
    token           an allowed token of the masks among these that have a hundred or more: the first ones of a passage
    memory          growth of the process: the maximum during compilation, and afterwards

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
    from collections.abc import Callable, Sequence

SIZES = (10_000, 100_000, 1_000_000)
#: Passages, and characters of each.
PASSAGES = 100
LENGTH = 250
#: Allowed tokens of a mask that make it one of many.
MANY = 100
WARM_UP = "warm up"
clock = time.process_time


def source(size: int) -> str:
    """Return this many characters of the standard library."""
    text = ""
    for path in sorted(Path(bisect.__file__).parent.glob("*.py")):
        if len(text) >= size:
            break
        text += path.read_text(encoding="utf-8")
    return text[:size]


def letters(alphabet: str) -> Callable[[int], str]:
    """Return a function that writes a number of letters, drawn evenly."""
    return lambda size: "".join(random.Random(0).choices(alphabet, k=size))


#: By name: a text of a number of characters.
TEXTS: dict[str, Callable[[int], str]] = {
    "source": source,
    "one letter": letters("a"),
    "two letters": letters("ab"),
    "all of ASCII": letters("".join(map(chr, range(32, 127)))),
}


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
            return measure(engine, tokenizer, TEXTS[case["text"]](case["size"]))
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
    walks = [walk(engine, ids) for ids in passages]
    many = asked_first(passages, walks)
    harness.forget_peak()
    return {
        "verdict": "pass",
        "tokens": sum(map(len, walks)),
        "compile_us": round(compile_us),
        "root_us": round(root_us),
        "mask_us": harness.aggregate([us for masks in walks for us, _ in masks]),
        "token_us": round(sum(us for us, _ in many) / sum(count for _, count in many), 3) if many else None,
        "second_us": harness.aggregate([us for ids in passages for us, _ in walk(engine, ids)]),
        "peak_bytes": peak - before,
        "grown_bytes": harness.memory_bytes()[0] - before,
    }


def asked_first(passages: list[list[int]], walks: list[list[tuple[float, int]]]) -> list[tuple[float, int]]:
    """Return the masks of many tokens, each once, but for that of the start."""
    found: dict[tuple[int, ...], tuple[float, int]] = {}
    for ids, masks in zip(passages, walks, strict=True):
        for at, mask in enumerate(masks[1:], 1):
            found.setdefault(tuple(ids[:at]), mask)
    return [mask for mask in found.values() if mask[1] >= MANY]


def microseconds(task: Callable[[], Any]) -> float:
    """Return the microseconds that a task takes."""
    start = clock()
    task()
    return (clock() - start) * 1e6


def walk(engine: Any, ids: list[int]) -> list[tuple[float, int]]:
    """Return the microseconds and the allowed tokens of the mask in front of each token of a passage."""
    masks = []
    engine.reset()
    for token in ids:
        us = microseconds(engine.fill)
        masks.append((us, int.from_bytes(engine.words.tobytes(), "little").bit_count()))
        if not int(engine.words[token // 32]) >> token % 32 & 1:
            raise EngineError(f"token {len(masks)} of {len(ids)} is refused")
        engine.accept(token)
    return masks


def report(results: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print the results."""
    for text, row in results.items():
        for name, found in row.items():
            if found["verdict"] != "pass":
                print(f"{text}: {name}: {found['verdict']}")
                continue
            times = ", ".join(f"{what} {found['mask_us'][what]:,.1f}" for what in ("p50", "p90", "p99", "max"))
            again = ", ".join(f"{what} {found['second_us'][what]:,.1f}" for what in ("p50", "p99", "max"))
            print(
                f"{text}: {name}: compile {found['compile_us'] / 1e6:.3f} s, root {found['root_us'] / 1e3:.1f} ms, "
                f"{found['tokens']} masks in us: {times}; a token of many: {found['token_us']}; again: {again}; "
                f"peak {found['peak_bytes'] / 1e6:.0f} MB, memory {found['grown_bytes'] / 1e6:.0f} MB"
            )


def cases(sizes: Sequence[int]) -> list[tuple[str, int]]:
    """Return the texts and their sizes: the source of each size, the others of the largest."""
    return [("source", size) for size in sizes] + [(kind, max(sizes)) for kind in TEXTS if kind != "source"]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "substrings")
    made.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="characters of the text")
    made.add_argument("--engines", nargs="+", choices=CONTENDERS, help="these; the default is all that are installed")
    made.add_argument("--timeout", type=float, default=120.0, help="seconds for one text")
    options = made.parse_args(arguments)
    names = options.engines or installed(list(CONTENDERS))
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, size in cases(options.sizes):
        row = results.setdefault(f"{kind}, {size:,} characters", {})
        for name in names:
            worker = harness.Worker("substrings:answer", (name, str(options.tokenizer)), timeout_s=options.timeout)
            with harness.workers({name: worker}):
                row[name] = worker.ask({"text": kind, "size": size})
    report(results)
    settings = {"tokenizer": options.tokenizer.name, "passages": PASSAGES, "length": LENGTH}
    harness.write_result(options.out, "substrings", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
