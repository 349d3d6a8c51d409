"""The work done once for each tokenizer: reading its vocabulary, and building the tables of the engines.

    python benchmarks/vocabulary.py --tokenizer llama3

The steps run in turn, round after round; the best time of each counts. The yardstick is loading the tokenizer itself, which
every program must do first.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from engines import installed

import schemagen

if TYPE_CHECKING:
    from collections.abc import Callable


def steps(tokenizer: Any, folder: Path, peers: list[str]) -> dict[str, Callable[[], Any]]:
    """Return the timed steps, by name."""
    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer, cache=folder / "cache")
    vocabulary.save(folder / "vocabulary")
    done: dict[str, Callable[[], Any]] = {
        "schemagen: from_tokenizer": lambda: schemagen.Vocabulary.from_tokenizer(tokenizer),
        "schemagen: from_tokenizer, cached": lambda: schemagen.Vocabulary.from_tokenizer(
            tokenizer, cache=folder / "cache"
        ),
        "schemagen: load": lambda: schemagen.Vocabulary.load(folder / "vocabulary"),
        "schemagen: load, and tables of the core": lambda: schemagen.Vocabulary.load(folder / "vocabulary").tables,
        "schemagen: tables of the core": lambda: _fresh(vocabulary).tables,
        "schemagen: fingerprint": lambda: _fresh(vocabulary).fingerprint,
    }
    if "llguidance" in peers:
        import llguidance.hf

        done["llguidance: hf.from_tokenizer"] = lambda: llguidance.hf.from_tokenizer(tokenizer)
    if "xgrammar" in peers:
        import xgrammar

        def xgrammar_compiler() -> Any:
            info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
            return xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

        done["xgrammar: TokenizerInfo, GrammarCompiler"] = xgrammar_compiler
    return done


def _fresh(vocabulary: schemagen.Vocabulary) -> schemagen.Vocabulary:
    """Return the same vocabulary without its caches."""
    return schemagen.Vocabulary(
        vocabulary.tokens, vocabulary.eos_token_ids, vocabulary.special_token_ids, vocabulary.adds_prefix_space
    )


def measure(tokenizer_path: Path, repeats: int) -> dict[str, Any]:
    """Return a row of the table for each step."""
    tokenizer = harness.load_tokenizer(tokenizer_path)
    with tempfile.TemporaryDirectory() as folder:
        timed = steps(tokenizer, Path(folder), installed(["llguidance", "xgrammar"]))
        timed = {"transformers: load the tokenizer": lambda: harness.load_tokenizer(tokenizer_path), **timed}
        best = dict.fromkeys(timed, float("inf"))
        for _ in range(repeats):
            for name, function in timed.items():
                best[name] = min(best[name], harness.seconds(function))
    yardstick = best["transformers: load the tokenizer"]
    rows = [
        {"what": name, "ms": round(seconds * 1e3, 3), "to tokenizer": round(seconds / yardstick, 4)}
        for name, seconds in best.items()
    ]
    return {"size": len(tokenizer), "rows": rows}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "vocabulary")
    made.add_argument("--repeats", type=int, default=7)
    options = made.parse_args(arguments)
    results = measure(options.tokenizer, options.repeats)
    for row in results["rows"]:
        print(f"{row['what']}: {row['ms']:.1f} ms, {row['to tokenizer']:.3f} of loading the tokenizer")
    settings = {"tokenizer": options.tokenizer.name, "vocabulary": results["size"], "repeats": options.repeats}
    harness.write_result(options.out, "vocabulary", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
