"""Measures how well a model picks tools: held-out prompts over six tools, greedy, under the constraint.

    python tools/eval_calling.py                              # the bundled model has to call, 300 prompts
    python tools/eval_calling.py --auto                       # it may answer in words, and some prompts ask for nothing else
    python tools/eval_calling.py --chat                       # it may, the call is run, and it answers from the result
    python tools/eval_calling.py --model Qwen/Qwen3-0.6B --auto --count 100

Words and sentences of the prompts are held out of training (see `bundled_requests`). A call is right if its tool is; it is
exact if its arguments are right, too, a default left out counting as written. A chat is exact if it is one exact call and an
answer that holds the result. `--wrong` prints that many wrong answers.
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


def answer(lm: Any, example: CallExample, mode: str) -> Any:
    """Return the name and arguments of the call that a model makes, its words, or None if it does not finish."""
    try:
        found = lm.call(example.prompt, example.tools, tool_choice=mode, max_new_tokens=120)
    except schemagen.GenerationError:
        return None
    return found if isinstance(found, str) else (found.name, found.arguments)


def chat(lm: Any, example: CallExample) -> Any:
    """Return what the only call of a chat was, if the answer holds its result; else everything that was said."""
    try:
        found = lm.chat(example.prompt, example.tools, max_new_tokens=120)
    except schemagen.GenerationError:
        return None
    if not found.results:
        return str(found.text)
    first = found.results[0]
    is_told = len(found.results) == 1 and first.text in found.text
    return (first.call.name, first.call.arguments if is_told else found.messages)


def wanted(example: CallExample) -> tuple[str, Any]:
    """Return the right call, with validated arguments."""
    tool = next(as_tool(function) for function in example.tools if function.__name__ == example.name)
    return example.name, tool.spec(**dict(example.arguments))


def measure(lm: Any, count: int, mode: str, *, wrong: int) -> dict[str, Counter[str]]:
    """Return counts by tool, and print some wrong answers."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("total", "right", "exact", "unfinished")}
    for example in islice(call_examples(SEED, held_out=True, small_talk=mode != "required"), count):
        kind = example.name or "words"
        found = chat(lm, example) if mode == "chat" else answer(lm, example, mode)
        called = found[0] if isinstance(found, tuple) else ""
        is_exact = found == wanted(example) if example.name else isinstance(found, str)
        counts["total"][kind] += 1
        counts["right"][kind] += called == example.name and found is not None
        counts["exact"][kind] += is_exact
        counts["unfinished"][kind] += found is None
        if not is_exact and wrong > 0:
            wrong -= 1
            print(f"{example.prompt!r}\n  wanted {example.target()}\n  found  {found}")
    return counts


def main() -> None:
    """Run the measurement and print a line for each tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder; default: the bundled model")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--auto", dest="mode", action="store_const", const="auto", default="required")
    parser.add_argument("--chat", dest="mode", action="store_const", const="chat")
    parser.add_argument("--wrong", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lm = schemagen.load_bundled() if arguments.model is None else schemagen.load(arguments.model)
    found = measure(lm, arguments.count, arguments.mode, wrong=arguments.wrong)
    for kind in [*(tool.__name__ for tool in TOOLS), "words"]:
        if total := found["total"][kind]:
            print(f"{kind:12} {found['right'][kind]:4} right, {found['exact'][kind]:4} exact of {total:4}")
    right, exact, unfinished = (sum(found[key].values()) for key in ("right", "exact", "unfinished"))
    print(
        f"{'all':12} {right / arguments.count:.1%} right, {exact / arguments.count:.1%} exact, {unfinished} unfinished"
    )


if __name__ == "__main__":
    main()
