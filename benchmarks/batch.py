"""Filling the masks of a batch against filling them one by one.

    python benchmarks/batch.py --tokenizer llama3

Rows: 1, 8 and 64; all over one grammar, or each over its own. Every row is a sequence at its own place. Each round
advances every row by one token, fills all masks once without a clock, and then times the ways in turn; the way that goes
first changes from round to round. So only the work for known masks is compared.

    single      matcher.fill_next_token_bitmask for each row, in a loop
    batch       fill_next_token_bitmasks
    threads     fill_next_token_bitmasks on as many parts of the batch as there are threads, in a thread pool

New masks must be worked out first. For these, the largest batch is filled over grammars that were
just compiled, by `fill_next_token_bitmasks(..., threads=1)` and with more threads. The parts that the grammars share (numbers,
free strings, formats) are known by then, as in a server that has been running for a while.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import harness
from harness import clock

import schemagen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = (1, 8, 64)
WAYS = ("single", "batch", "threads")
NEW_STEPS = 12


def _given(tokenizer: Any, seed: int) -> tuple[schemagen.Vocabulary, list[dict[str, Any]]]:
    """Return the vocabulary, and schemas that have valid instances."""
    cases = [case for case in harness.cases(None, 4 * max(ROWS), seed) if any(test["valid"] for test in case["tests"])]
    return schemagen.Vocabulary.from_tokenizer(tokenizer), cases


def measure(tokenizer: Any, *, rounds: int, threads: int, seed: int) -> list[dict[str, Any]]:
    """Return a row of the table for each size of the batch and kind of grammars."""
    vocabulary, cases = _given(tokenizer, seed)
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for rows, grammars in itertools.product(ROWS, ("same", "different")):
            if rows == 1 and grammars == "different":
                continue
            chosen = [cases[0] if grammars == "same" else cases[row] for row in range(rows)]
            batch = Batch(tokenizer, vocabulary, chosen)
            times = batch.run(rounds, _ways(batch, pool, threads))
            found.append({"rows": rows, "grammars": grammars, "threads": threads, **_compared(times, rows)})
    return found


def measure_new(tokenizer: Any, *, repeats: int, threads: int, seed: int) -> dict[str, Any]:
    """Return the milliseconds of a step over fresh grammars by one thread, and the ratio of several threads to it."""
    vocabulary, cases = _given(tokenizer, seed)
    chosen = cases[: max(ROWS)]
    first: dict[int, list[float]] = {1: [], threads: []}
    for number in range(repeats + 1):
        for count in (1, threads) if number % 2 else (threads, 1):
            found = _first_steps(Batch(tokenizer, vocabulary, chosen), count)
            if number:  # the first time, what the grammars have in common is new as well
                first[count].append(found)
    ratios = [several / one for one, several in zip(first[1], first[threads], strict=True)]
    return {
        "rows": max(ROWS),
        "steps": NEW_STEPS,
        "threads": threads,
        "one_thread_ms": round(statistics.median(first[1]) / NEW_STEPS * 1e3, 3),
        "threads / one thread": round(statistics.median(ratios), 3),
    }


def _first_steps(batch: Batch, threads: int) -> float:
    """Return the seconds of the masks of the first steps."""
    spent = 0.0
    for _ in range(NEW_STEPS):
        start = clock()
        schemagen.fill_next_token_bitmasks(batch.matchers, batch.bitmask, threads=threads)
        spent += clock() - start
        batch.accept()
    return spent


def _compared(times: dict[str, list[float]], rows: int) -> dict[str, Any]:
    """Return the median of the ratios round by round, and of the microseconds of a row."""
    per_round = {
        way: [a / b for a, b in zip(times[way], times["single"], strict=True)] for way in WAYS if way != "single"
    }
    return {
        "single_us_per_row": round(statistics.median(times["single"]) / rows * 1e6, 3),
        **{f"{way} / single": round(statistics.median(values), 3) for way, values in per_round.items()},
    }


class Batch:
    """Matchers of a batch that write their instances over and over.

    Args:
        tokenizer: Encodes the instances.
        vocabulary: Of this tokenizer.
        cases: One for each row; equal schemas share a grammar.
    """

    def __init__(self, tokenizer: Any, vocabulary: schemagen.Vocabulary, cases: list[dict[str, Any]]) -> None:
        self.bitmask = schemagen.allocate_token_bitmask(len(cases), vocabulary.size)
        self.matchers, self._texts = [], []
        grammars: dict[str, schemagen.Grammar] = {}
        for row, case in enumerate(cases):
            if case["id"] not in grammars:
                grammars[case["id"]] = schemagen.compile(case["schema"], vocabulary, cache=None)
            self.matchers.append(grammars[case["id"]].matcher())
            valid = [test["data"] for test in case["tests"] if test["valid"]]
            self._texts.append(self._tokens(row, [harness.text_of(data) for data in valid], tokenizer))

    def _tokens(self, row: int, texts: list[str], tokenizer: Any) -> Iterator[int]:
        """Yield the next token of a row for ever; `row` tokens are skipped, so that rows stand at different places."""
        matcher = self.matchers[row]
        skip = row
        for text in itertools.cycle(texts):
            matcher.reset()
            for token_id in harness.tokens_of(tokenizer, text):
                if skip:
                    skip -= 1
                    matcher.accept_token(token_id)
                else:
                    yield token_id

    def accept(self) -> None:
        """Write the next token of each row."""
        for matcher, tokens in zip(self.matchers, self._texts, strict=True):
            matcher.accept_token(next(tokens))

    def run(self, rounds: int, ways: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
        """Return the seconds of each way in each round."""
        times: dict[str, list[float]] = {way: [] for way in ways}
        names = list(ways)
        for number in range(rounds):
            self.accept()
            ways["single"]()
            for name in (*names[number % len(names) :], *names[: number % len(names)]):
                start = clock()
                ways[name]()
                times[name].append(clock() - start)
        return times


def _ways(batch: Batch, pool: ThreadPoolExecutor, threads: int) -> dict[str, Callable[[], None]]:
    rows = len(batch.matchers)
    cuts = [rows * k // threads for k in range(threads + 1)]
    parts = [(batch.matchers[a:b], batch.bitmask[a:b]) for a, b in itertools.pairwise(cuts) if a < b]

    def single() -> None:
        for row, matcher in enumerate(batch.matchers):
            matcher.fill_next_token_bitmask(batch.bitmask, row)

    def together() -> None:
        schemagen.fill_next_token_bitmasks(batch.matchers, batch.bitmask)

    def threaded() -> None:
        for done in [pool.submit(schemagen.fill_next_token_bitmasks, *part) for part in parts]:
            done.result()

    return {"single": single, "batch": together, "threads": threaded}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "batch")
    made.add_argument("--rounds", type=int, default=200)
    made.add_argument("--threads", type=int, default=2)
    options = made.parse_args(arguments)
    tokenizer = harness.load_tokenizer(options.tokenizer)
    found = measure(tokenizer, rounds=options.rounds, threads=options.threads, seed=options.seed)
    new = measure_new(tokenizer, repeats=max(2, options.rounds // 10), threads=options.threads, seed=options.seed)
    for row in (*found, {"new": "masks", **new}):
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    settings = {
        "tokenizer": options.tokenizer.name,
        "vocabulary": len(tokenizer),
        "rounds": options.rounds,
        "seed": options.seed,
    }
    harness.write_result(options.out, "batch", settings, {"rows": found, "new": new})
    return 0


if __name__ == "__main__":
    sys.exit(main())
