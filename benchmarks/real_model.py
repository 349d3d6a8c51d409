"""Right answers and tokens per second of a real model: tasks x ways to get structured answers from it.

    make real-model
    python benchmarks/real_model.py --count 12 --threads 2                   # times: one prompt after the other
    python benchmarks/real_model.py --count 100 --batch-size 32              # shares of right answers: in batches, no times
    PYTHONPATH=path/to/peers python benchmarks/real_model.py ...             # with xgrammar, llguidance, outlines
    python benchmarks/real_model.py --texts                                  # texts for the pages: alone and with schemagen

Every way gets the same text, the question with the shape of the answer, and decodes greedily within the same budget. The
ways take turns, question by question, and in going first. The first answer, with all one-time work (compiling,
tables, drafts), is timed separately; torch itself is warmed up before.

    valid     the text, unchanged, is JSON of the schema
    fields    share of the fields that are right, read leniently (`schemagen.grammar.lenient_json`)
    exact     share of the answers with every field right
    ratio     tokens/s to those of the unconstrained ``generate``, by question, median
    same      seconds of ``generate`` without a constraint for an answer as long as the constrained one, to seconds of this way,
              by question, median; and of all answers together, the first included

A peer that is not installed is skipped, and the result says so. Results of both kinds are kept in one file, task by task, so
that a task can be run again; each records its date and versions. Ways that a later run of the same questions leaves out are
kept, with their date.

``--texts`` looks for the first question of each task for which the model alone does not write JSON of the schema. It records
the texts that the model writes alone and with schemagen, both in one run, in a file of its own (``real_model_texts.json``).
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import TYPE_CHECKING, Any

import harness
from harness import clock
from real_methods import METHODS, Method, Written, available
from tasks import TASKS

from schemagen.evaluation.scoring import fields_right, paired, wilson
from schemagen.grammar.lenient_json import first_object

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from tasks import Example, Task

    from schemagen import LanguageModel

FREE, OURS = "unconstrained", "schemagen"
SAME = "unconstrained, same length"
#: Broken texts that are kept of a way.
KEPT = 4
#: A text longer than this is cut in the result.
LONGEST = 1200


def is_valid(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text, as it is, is JSON of a schema; blanks around it do not count."""
    from jsonschema import Draft202012Validator

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(Draft202012Validator(schema).is_valid(value))


def score(task: Task, example: Example, text: str) -> tuple[bool, dict[str, bool]]:
    """Return whether a text is valid as it is, and whether each field of it, read leniently, is right."""
    valid = is_valid(text, task.schema)
    value = json.loads(text) if valid else first_object(text)
    return valid, fields_right(value, example.answer, task.uncounted)


class Tally:
    """The answers of one way to one task.

    Args:
        task: The task.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.shares: list[float] = []
        self.valid: list[bool] = []
        self.tokens: list[int] = []
        self.seconds: list[float] = []
        self.attempts: list[int] = []
        self.broken: list[dict[str, Any]] = []

    def add(self, example: Example, written: Written, seconds: float) -> None:
        """Count an answer."""
        valid, right = score(self.task, example, written.text)
        self.shares.append(sum(right.values()) / len(right))
        self.valid.append(valid)
        self.tokens.append(written.tokens)
        self.seconds.append(seconds)
        self.attempts.append(written.attempts)
        if not valid and len(self.broken) < KEPT:
            self.broken.append({"prompt": example.prompt, "text": written.text[:LONGEST], "right": example.answer})

    def quality(self, free: Tally | None) -> dict[str, Any]:
        """Return the shares with their intervals, and the difference to the unconstrained answers."""
        count = len(self.shares)
        exact = sum(share == 1 for share in self.shares)
        found = {
            "count": count,
            "valid": [sum(self.valid) / count, *wilson(sum(self.valid), count)],
            "fields": [sum(self.shares) / count, *wilson(sum(self.shares), count)],
            "exact": [exact / count, *wilson(exact, count)],
            "attempts": sum(self.attempts) / count,
            "tokens": sum(self.tokens) / count,
            "broken": self.broken,
        }
        if free is not None:
            found["fields_to_unconstrained"] = list(paired(*(dict(enumerate(one.shares)) for one in (self, free))))
        return found

    def times(self, free: Tally | None) -> dict[str, Any]:
        """Return what the answers took, the first apart."""
        rates = [tokens / seconds for tokens, seconds in zip(self.tokens, self.seconds, strict=True)]
        found = {
            "tokens_per_second": sum(self.tokens[1:]) / sum(self.seconds[1:]) if len(rates) > 1 else rates[0],
            "seconds_per_answer": statistics.mean(self.seconds[1:] or self.seconds),
            "first_seconds": self.seconds[0],
            "first_tokens": self.tokens[0],
        }
        if free is not None:
            theirs = [tokens / seconds for tokens, seconds in zip(free.tokens, free.seconds, strict=True)]
            by_question = [ours / other for ours, other in zip(rates[1:], theirs[1:], strict=True)]
            everything = sum(self.tokens) / sum(self.seconds) / (sum(free.tokens) / sum(free.seconds))
            found["ratio"] = statistics.median(by_question) if by_question else rates[0] / theirs[0]
            found["ratio_with_first"] = everything
        return found


def measure(task: Task, methods: Mapping[str, Method], options: argparse.Namespace) -> dict[str, Any]:
    """Ask all questions of a task in all ways, in turns."""
    examples = task.examples("test", options.count, seed=options.seed)
    size = options.batch_size or 1
    chunks = [examples[start : start + size] for start in range(0, len(examples), size)]
    names, failed = list(methods), {}
    tallies = {name: Tally(task) for name in names}
    for number, chunk in enumerate(chunks):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            if name not in failed:
                _ask(methods[name], task, chunk, tallies[name], failed)
    free = tallies.get(FREE)
    same = tallies.get(SAME)
    found: dict[str, Any] = {}
    for name, tally in tallies.items():
        if name in failed:
            found[name] = {"failed": failed[name]}
            continue
        beside = None if name == FREE else free
        times = tally.times(beside) if options.batch_size is None else {}
        if times and same is not None and name not in (FREE, SAME) and same.seconds:
            by_question = [theirs / ours for theirs, ours in zip(same.seconds, tally.seconds, strict=True)]
            times["ratio_same_length"] = statistics.median(by_question[1:] or by_question)
            times["ratio_same_length_range"] = [min(by_question), max(by_question)]
            times["ratio_same_length_with_first"] = sum(same.seconds) / sum(tally.seconds)
        found[name] = {**tally.quality(beside), **times}
        _show(task.name, name, found[name])
    return found


def _ask(method: Method, task: Task, chunk: Sequence[Example], tally: Tally, failed: dict[str, str]) -> None:
    """Have one way answer some questions; whatever a peer raises is its answer."""
    started = clock()
    try:
        written = method.answer(task, [example.prompt for example in chunk])
    except Exception as error:
        if method.is_ours:
            raise
        failed[method.name] = f"{type(error).__name__}: {error}"[:300]
        return
    seconds = (clock() - started) / len(chunk)
    for example, one in zip(chunk, written, strict=True):
        tally.add(example, one, seconds if one.seconds is None else one.seconds)


def first_break(task: Task, methods: Mapping[str, Method], options: argparse.Namespace) -> dict[str, Any]:
    """Return the first question for which the model alone writes an invalid text, with the text of each way; {} if none is."""
    for number, example in enumerate(task.examples("test", options.count, seed=options.seed), 1):
        print(f"{task.name}, question {number}", flush=True)
        (alone,) = methods[FREE].answer(task, [example.prompt])
        if is_valid(alone.text, task.schema):
            continue
        (ours,) = methods[OURS].answer(task, [example.prompt])
        texts = {}
        for name, written in ((FREE, alone), (OURS, ours)):
            valid, right = score(task, example, written.text)
            texts[name] = {"text": written.text, "tokens": written.tokens, "valid": valid, "right": right}
        return {"number": number, "prompt": example.prompt, "right": example.answer, "texts": texts}
    return {}


def _show(task: str, name: str, found: Mapping[str, Any]) -> None:
    shares = ", ".join(f"{key} {found[key][0]:.2f}" for key in ("valid", "fields", "exact"))
    speed = f", {found['tokens_per_second']:.1f} tokens/s" if "tokens_per_second" in found else ""
    ratio = f", ratio {found['ratio']:.2f}" if "ratio" in found else ""
    print(f"{task}, {name}: {shares}{speed}{ratio}", flush=True)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    made = harness.parser(__doc__, "real_model")
    harness.model_options(made)
    made.add_argument("--count", type=int, default=12, help="questions of each task")
    made.add_argument("--batch-size", type=int, help="shares of right answers only, this many questions at a time")
    made.add_argument("--texts", action="store_true", help="write what the model wrote on one question of each task")
    made.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    made.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    return made.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write after each task."""
    options = parsed(arguments)
    lm = harness.load_model(options)
    settings = {"model": options.label, "parameters": sum(one.numel() for one in lm.model.parameters())}
    if options.texts:
        return _write_texts(lm, settings, options)
    methods, skipped = available(lm, options.methods)
    warm_up = harness.seconds(lambda: lm.generate_text("Hello", max_new_tokens=8))
    kind = "times" if options.batch_size is None else "quality"
    results = json.loads(options.out.read_text(encoding="utf-8"))["results"] if options.out.is_file() else {}
    asked = {name: getattr(options, name) for name in ("count", "threads", "batch_size", "seed")}
    for name in options.tasks:
        run = {**asked, **harness.run_record(), "warm_up_seconds": warm_up, "skipped": skipped}
        ways = {**_kept(results.get(kind, {}).get(name, {}), asked), **measure(TASKS[name], methods, options)}
        results.setdefault(kind, {})[name] = {**run, "ways": ways}
        harness.write_result(options.out, "real_model", settings, results)
    return 0


def _kept(run: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ways of an earlier run of the same questions, each with its date."""
    if any(run.get(name) != asked[name] for name in ("count", "batch_size", "seed")):
        return {}
    return {name: {"date": run["date"], **one} for name, one in run["ways"].items()}


def _write_texts(lm: LanguageModel, settings: Mapping[str, Any], options: argparse.Namespace) -> int:
    """Write the question of each task that breaks first, after each task."""
    methods, _ = available(lm, (FREE, OURS))
    asked = {"decoding": "greedy", "batch_size": 1, "seed": options.seed, "threads": options.threads}
    results: dict[str, Any] = {}
    for name in options.tasks:
        results[name] = first_break(TASKS[name], methods, options)
        out = options.out.with_stem(f"{options.out.stem}_texts")
        harness.write_result(out, "real_model_texts", {**settings, **asked}, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
