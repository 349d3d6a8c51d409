"""Measures how well a model picks tools: held-out prompts over six tools, greedy, under the constraint.

    python tools/eval_calling.py                              # the bundled model, 300 prompts
    python tools/eval_calling.py --model Qwen/Qwen3-0.6B --auto --count 100

A call is right if its tool is; it is exact if its arguments are right, too, a default left out counting as written.
With `--auto` the model may answer in words, and some prompts ask for nothing else. `--wrong` prints that many wrong
answers.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from bundled_calls import TOOLS, CallExample, call_examples

import schemagen
from schemagen.calling.tools import as_tool

SEED = 987_654_321


def answer(lm: Any, example: CallExample, *, auto: bool) -> Any:
    """Return the name and arguments of the call that a model makes, its words, or None if it does not finish."""
    try:
        found = lm.call(example.prompt, example.tools, tool_choice="auto" if auto else "required", max_new_tokens=120)
    except schemagen.GenerationError:
        return None
    return found if isinstance(found, str) else (found.name, found.arguments)


def wanted(example: CallExample) -> tuple[str, Any]:
    """Return the right call, with validated arguments."""
    tool = next(as_tool(function) for function in example.tools if function.__name__ == example.name)
    return example.name, tool.spec(**dict(example.arguments))


def measure(lm: Any, count: int, *, auto: bool, wrong: int) -> dict[str, Any]:
    """Return counts by tool, and print some wrong answers."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    exact: Counter[str] = Counter()
    for example in islice(call_examples(SEED, held_out=True, small_talk=auto), count):
        kind = example.name or "words"
        found = answer(lm, example, auto=auto)
        total[kind] += 1
        called = found[0] if isinstance(found, tuple) else ""
        right[kind] += called == example.name and found is not None
        is_exact = found == wanted(example) if example.name else isinstance(found, str)
        exact[kind] += is_exact
        if not is_exact and wrong > 0:
            wrong -= 1
            print(f"{example.prompt!r}\n  wanted {example.target()}\n  found  {found}")
    return {"total": total, "right": right, "exact": exact}


def main() -> None:
    """Run the measurement and print a line for each tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder; default: the bundled model")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--auto", action="store_true", help="let the model answer in words, too")
    parser.add_argument("--wrong", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lm = schemagen.load_bundled() if arguments.model is None else schemagen.load(arguments.model)
    found = measure(lm, arguments.count, auto=arguments.auto, wrong=arguments.wrong)
    for kind in [*(tool.__name__ for tool in TOOLS), "words"]:
        if found["total"][kind]:
            print(
                f"{kind:12} {found['right'][kind]:4} right, {found['exact'][kind]:4} exact of {found['total'][kind]:4}"
            )
    right, exact = sum(found["right"].values()), sum(found["exact"].values())
    print(f"{'all':12} {right / arguments.count:.1%} right, {exact / arguments.count:.1%} exact")


if __name__ == "__main__":
    main()
