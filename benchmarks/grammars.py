"""Masks of context-free grammars, token by token, compared with the installed engines.

    python benchmarks/grammars.py --tokenizer path/to/llama3

Each engine has each grammar in a fresh process, which compiles another one first. It reads the same texts twice:

    first mask      reading and compiling the grammar, and the first mask; for ours also the part that lark itself takes
    TBM             fill the mask, check the bit of the token, accept it; "cold" the first time, "warm" the second time with a
                    new matcher, or one put back to the start
    memory          growth of the process from before the grammar was read to after the first time

Times are CPU time of the process, less the time to read the clock; for each token the median over the rounds. The rounds
are interleaved, and the engines take turns in going first. "schemagen" reads it as lark does; "schemagen, dialect" is this
package with `dialect="llguidance"`, which reads the peers' text in their way.
"""

from __future__ import annotations

import bisect
import re
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from engines import ENGINES, EngineError, Llguidance, Schemagen, Xgrammar, feed, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TEXTS = Path(__file__).parent / "texts"
GRAMMARS = harness.ROOT / "examples" / "grammars"
WARM_UP = 'start: "a" N\nN: /[0-9]+/\n'
#: The look-aheads of the SQL grammar, which no peer supports: without them two terminals of the same letters may touch.
LOOK_AHEAD = re.compile(r"\(\?![^()]*\)")
#: Tokens over which the mean of the first time is taken.
FIRST = 1000


# --- grammars and texts ----------------------------------------------------------------------------------------------


def cases() -> list[dict[str, Any]]:
    """Return grammars as the peers read them (None if they cannot), how we read ours, and texts."""
    sql = (GRAMMARS / "sql_select.lark").read_text(encoding="utf-8")
    return [
        _case("C", (GRAMMARS / "c.lark").read_text(encoding="utf-8"), [_text("program.c").strip()]),
        _case(
            "C, LALR",
            (GRAMMARS / "c.lark").read_text(encoding="utf-8"),
            [_text("program.c").strip()],
            parser="lalr",
        ),
        _case("Python", None, [Path(bisect.__file__).read_text(encoding="utf-8")], parser="lalr"),
        _case("lines of Python", _text("python_lines.lark"), [_text("statements.txt")]),
        _case("SQL", LOOK_AHEAD.sub("", sql), _text("queries.sql").splitlines(), own=sql, keywords="reserved"),
        _case("JSON", (GRAMMARS / "json.lark").read_text(encoding="utf-8"), [_text("document.json").strip()]),
    ]


def _case(
    name: str, grammar: str | None, texts: list[str], *, own: str | None = None, **options: Any
) -> dict[str, Any]:
    return {"id": name, "grammar": grammar, "own": own or grammar, "texts": texts, "options": options}


def _text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8")


# --- engines ---------------------------------------------------------------------------------------------------------


class SchemagenGrammars(Schemagen):
    """This package, with the grammars read as lark reads them."""

    def compile(self, schema: Mapping[str, Any]) -> None:
        """Read a grammar of lark, by lark where it makes tables, and compile it."""
        import lark
        from lark.indenter import PythonIndenter

        import schemagen

        options = dict(schema["options"])
        start = clock()
        if schema["own"] is None:
            python = ("lark", "python.lark", ("grammars",))
            read = lark.Lark.open_from_package(*python, start="file_input", postlex=PythonIndenter(), **options)
            spec = schemagen.Lark(read)
        else:
            spec = schemagen.Lark(schema["own"], **options)
            if spec.parser == "lalr":
                _ = spec._parser  # noqa: SLF001 - where lark reads it
        self.lark_us = (clock() - start) * 1e6
        self.grammar = schemagen.compile(spec, self.vocabulary, cache=None)
        self._matcher = self.grammar.matcher()

    def reset(self) -> None:
        """Make a new matcher."""
        self._matcher = self.grammar.matcher()


class SchemagenDialect(SchemagenGrammars):
    """This package, with the peers' text."""

    def compile(self, schema: Mapping[str, Any]) -> None:
        """Compile a grammar of the dialect, without lark."""
        import schemagen

        spec = schemagen.Lark(schema["grammar"], dialect="llguidance")
        self.grammar = schemagen.compile(spec, self.vocabulary, cache=None)
        self._matcher = self.grammar.matcher()


class LlguidanceGrammars(Llguidance):
    """llguidance, by ``grammar_from_lark``; put back to the start it keeps the states of its lexer."""

    def compile(self, schema: Mapping[str, Any]) -> None:
        """Compile a grammar."""
        grammar = self._matcher_class.grammar_from_lark(schema["grammar"])
        self._matcher = self._matcher_class(self._tokenizer, grammar, log_level=0)
        self._check()

    def reset(self) -> None:
        """Put the matcher back to the start."""
        self._matcher.reset()


class XgrammarGrammars(Xgrammar):
    """xgrammar, by ``Grammar.from_lark``."""

    def compile(self, schema: Mapping[str, Any]) -> None:
        """Compile a grammar."""
        self._grammar = self._compiler.compile_grammar(self._xgrammar.Grammar.from_lark(schema["grammar"]))
        self.reset()


#: Name -> class and the name in `engines.ENGINES` that must be installed.
CONTENDERS: dict[str, tuple[Any, str]] = {
    "schemagen": (SchemagenGrammars, "schemagen"),
    "schemagen, dialect": (SchemagenDialect, "schemagen"),
    "llguidance": (LlguidanceGrammars, "llguidance"),
    "xgrammar": (XgrammarGrammars, "xgrammar"),
}
clock = time.process_time


# --- one process -----------------------------------------------------------------------------------------------------


def answer(name: str, tokenizer_path: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what measures a case with one engine; runs in a worker."""
    tokenizer = harness.load_tokenizer(tokenizer_path)
    engine = CONTENDERS[name][0](tokenizer)
    engine.compile({"grammar": WARM_UP, "own": WARM_UP, "options": {}})
    engine.fill()
    harness.forget_peak()

    def measured(case: dict[str, Any]) -> dict[str, Any]:
        texts = [harness.tokens_of(tokenizer, text) for text in case["texts"]]
        try:
            return measure(engine, case, texts)
        except Exception as error:  # noqa: BLE001 - to refuse a grammar or a text is an answer
            return {"verdict": f"{type(error).__name__}: {error}"[:300]}

    return measured


def measure(engine: Any, case: Mapping[str, Any], texts: list[list[int]]) -> dict[str, Any]:
    """Return times in microseconds and bytes."""
    before, _ = harness.memory_bytes()
    start = clock()
    engine.compile(case)
    compiled = clock()
    engine.fill()
    filled = clock()
    cold = [us for ids in texts for us in walk(engine, ids)]
    harness.forget_peak()
    grown = harness.memory_bytes()[0] - before
    warm = [us for ids in texts for us in walk(engine, ids)]
    return {
        "verdict": "pass",
        "lark_us": getattr(engine, "lark_us", 0.0),
        "compile_us": (compiled - start) * 1e6,
        "first_mask_us": (filled - start) * 1e6,
        # The first mask was filled before the walk; here it counts as the first token's.
        "cold_us": [cold[0] + (filled - compiled) * 1e6, *cold[1:]],
        "warm_us": warm,
        "grown_bytes": grown,
        "own_bytes": getattr(getattr(engine, "grammar", None), "memory_bytes", None),
    }


def walk(engine: Any, ids: list[int]) -> list[float]:
    """Feed one text, and return the microseconds of each token."""
    empty = clock_us()
    times: list[float] = []
    if not feed(engine, ids, times, clock):
        raise EngineError(f"token {len(times)} of {len(ids)} is refused")
    if not engine.done():
        raise EngineError("the text may not end where it does")
    return [max(us - empty, 0.0) for us in times]


def clock_us() -> float:
    """Return what reading the clock twice takes."""
    return statistics.median(-(clock() - clock()) for _ in range(101)) * 1e6


# --- the whole -------------------------------------------------------------------------------------------------------


def merged(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians over the rounds of one engine with one grammar."""
    wrong = next((found for found in rounds if found["verdict"] != "pass"), None)
    if wrong is not None:
        return {"verdict": wrong["verdict"]}
    cold = _medians([found["cold_us"] for found in rounds])
    warm = _medians([found["warm_us"] for found in rounds])
    one = {
        name: round(statistics.median(found[name] for found in rounds))
        for name in ("lark_us", "compile_us", "first_mask_us", "grown_bytes")
    }
    head = cold[:FIRST]
    return {
        "verdict": "pass",
        "tokens": len(cold),
        **one,
        "own_bytes": rounds[0]["own_bytes"],
        "cold_mean_us": round(sum(head) / len(head), 3),
        "cold_us": harness.aggregate(cold),
        "warm_us": harness.aggregate(warm),
    }


def _medians(rounds: list[list[float]]) -> list[float]:
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


#: Compared values: name -> how to read one from an answer of `merged`.
COMPARED: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "first mask": lambda found: found["first_mask_us"],
    "first mask without lark": lambda found: found["first_mask_us"] - found["lark_us"],
    "cold mean": lambda found: found["cold_mean_us"],
    "cold p50": lambda found: found["cold_us"]["p50"],
    "cold p99": lambda found: found["cold_us"]["p99"],
    "cold max": lambda found: found["cold_us"]["max"],
    "warm p50": lambda found: found["warm_us"]["p50"],
    "warm p99": lambda found: found["warm_us"]["p99"],
    "memory": lambda found: found["grown_bytes"],
}


def compared(row: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return ours / theirs for one grammar."""
    passed = {name: found for name, found in row.items() if found["verdict"] == "pass"}
    return {
        f"{ours} / {theirs}": {
            what: round(of(passed[ours]) / of(passed[theirs]), 4)
            for what, of in COMPARED.items()
            if of(passed[theirs]) > 0
        }
        for ours in passed
        for theirs in passed
        if ours.startswith("schemagen") and not theirs.startswith("schemagen")
    }


def runs(given: list[dict[str, Any]], names: list[str], tokenizer: str, rounds: int, timeout: float) -> dict[str, Any]:
    """Return the results: grammar -> engine -> result."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {case["id"]: {} for case in given}
    for number in range(rounds):
        for at, case in enumerate(given):
            fit = [name for name in names if case["grammar"] is not None or name == "schemagen"]
            first = (number + at) % max(len(fit), 1)
            for name in (*fit[first:], *fit[:first]):
                worker = harness.Worker("grammars:answer", (name, tokenizer), timeout_s=timeout)
                with harness.workers({name: worker}):
                    found[case["id"]].setdefault(name, []).append(worker.ask(case))
    return {case: {name: merged(each) for name, each in row.items()} for case, row in found.items()}


def report(results: Mapping[str, Any]) -> None:
    """Print the results."""
    for case, row in results["grammars"].items():
        for name, found in row.items():
            if found["verdict"] != "pass":
                print(f"{case}: {name}: {found['verdict']}")
                continue
            said = ", ".join(f"{what} {of(found):,.1f}" for what, of in COMPARED.items())
            print(f"{case}: {name}: {found['tokens']} tokens; us: {said}")
        for pair, ratios in results["ratios"][case].items():
            print(f"{case}: {pair}: " + ", ".join(f"{what} {ratio:.3f}" for what, ratio in ratios.items()))


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "grammars")
    made.add_argument("--engines", nargs="+", choices=CONTENDERS, help="these; the default is all that are installed")
    made.add_argument("--rounds", type=int, default=5, help="fresh processes for each grammar and engine")
    made.add_argument("--only", nargs="+", help="these grammars")
    made.add_argument("--timeout", type=float, default=60.0, help="seconds for one grammar")
    options = made.parse_args(arguments)
    there = installed([name for name in ENGINES if name in {module for _, module in CONTENDERS.values()}])
    names = [name for name in options.engines or CONTENDERS if CONTENDERS[name][1] in there]
    given = [case for case in cases() if options.only is None or case["id"] in options.only]
    rows = runs(given, names, str(options.tokenizer), options.rounds, options.timeout)
    results = {"grammars": rows, "ratios": {case: compared(row) for case, row in rows.items()}}
    report(results)
    settings = {"tokenizer": options.tokenizer.name, "rounds": options.rounds, "timeout_s": options.timeout}
    harness.write_result(options.out, "grammars", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
