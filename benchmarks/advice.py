"""The advice of docs/guides/performance.md, measured: each way of working beside the one that it replaces.

    python benchmarks/advice.py                                  the bundled model
    python benchmarks/advice.py --model MODEL --label NAME --count 2 --rounds 0 --cases batch bounds whitespace
    python benchmarks/advice.py --page                           the tables of the page, from the committed results

The ways of a case answer the same questions in the same process, in turns, and the one that goes first changes from round to
round. A ratio is the CPU seconds of the first way / those of this one, by round: the median, the smallest and the largest.
Counts (tokens, passes of the model) are those of the last round; in the first round, which is not counted, everything is
compiled (``--rounds 0`` counts it). Reading ahead forgets everything that it has learned before each way, as in a new process.
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from unittest import mock

import harness
import page
import torch
from harness import clock
from pydantic import BaseModel, Field
from rich.progress import track
from tasks import TASKS

import schemagen
from schemagen.decode.choosing import Chooser
from schemagen.decode.logits_processor import LogitsProcessor
from schemagen.decode.speculation.choice import Choices
from schemagen.decode.speculation.memories import _of_grammars, _of_models
from schemagen.evaluation.scoring import fields_right
from schemagen.lm import Speculation

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tasks import Example

    #: Answers all questions once, and returns the generations; or prepares something, and returns such a function.
    Way = Callable[[], Any]

PAGE = harness.ROOT / "docs" / "guides" / "performance.md"
TASK = TASKS["extraction_5"]
PERSON = TASK.spec
#: Where a constraint works: the loop that reads ahead, the loop over rows, and ``generate`` of transformers.
CONSTRAINT = ((Choices, "choose"), (Chooser, "choose"), (LogitsProcessor, "__call__"))


class Tags(BaseModel):
    """A list without a limit."""

    tags: list[str]


class FewTags(BaseModel):
    """The same list, with limits."""

    tags: Annotated[list[Annotated[str, Field(max_length=20)]], Field(max_length=5)]


class Meter:
    """What happens in a model while it answers.

    Attributes:
        passes: Calls of the model.
        positions: Tokens that it read, padding included.
        seconds: By part: the model, and the constraint.
    """

    def __init__(self) -> None:
        self.passes = self.positions = 0
        self.seconds = {"model": 0.0, "constraint": 0.0}

    @contextmanager
    def on(self, model: Any) -> Iterator[Meter]:
        """Count within the context."""
        forward = model.forward

        @functools.wraps(forward)
        def counted(*arguments: Any, **named: Any) -> Any:
            ids = arguments[0] if arguments else named["input_ids"]
            self.passes += 1
            self.positions += ids.numel()
            return self._timed("model", forward, arguments, named)

        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(model, "forward", counted))
            for owner, name in CONSTRAINT:
                stack.enter_context(mock.patch.object(owner, name, self._method(getattr(owner, name))))
            yield self

    def _method(self, inner: Any) -> Any:
        return lambda *arguments, **named: self._timed("constraint", inner, arguments, named)

    def _timed(self, part: str, function: Any, arguments: Any, named: Any) -> Any:
        began = clock()
        try:
            return function(*arguments, **named)
        finally:
            self.seconds[part] += clock() - began


# --- the ways of each case -------------------------------------------------------------------------------------------


def _batch(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    prompts = [example.prompt for example in TASK.examples("test", 4 * len(examples))]
    return {
        "one call for each prompt": lambda: [lm.run(prompt, PERSON) for prompt in prompts],
        "`batch_size=8`": lambda: lm.run_batch(prompts, PERSON, batch_size=8, progress=False),
        "as many as fit": lambda: lm.run_batch(prompts, PERSON, progress=False),
    }


def _read_ahead(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    slow = schemagen.from_transformers(lm.model, lm.tokenizer)
    slow.speculation = Speculation(max_draft=0)

    def answers(by: Any) -> list[Any]:
        return [by.run(example.prompt, PERSON) for example in examples]

    return {"token by token": lambda: answers(slow), "reading ahead (default)": lambda: answers(lm)}


def _warm_up(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    seen = [example.answer for example in TASK.examples("tune", 20)]

    def first(values: list[Any]) -> Any:
        lm.warm_up(PERSON, [PERSON.model_validate(value) for value in values])
        return lambda: [lm.run(example.prompt, PERSON) for example in examples]

    return {"without examples": lambda: first([]), "after 20 examples": lambda: first(seen)}


def _bounds(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    prompts = [f"Write tags for this text: {example.prompt.partition('Text: ')[2]}" for example in examples]
    return {
        "`list[str]`": lambda: [lm.run(prompt, Tags, max_new_tokens=256) for prompt in prompts],
        "at most 5, of 20 characters": lambda: [lm.run(prompt, FewTags, max_new_tokens=256) for prompt in prompts],
    }


def _options(lm: Any, examples: Sequence[Example], ways: Mapping[str, Mapping[str, Any]]) -> dict[str, Way]:
    def answers(options: Mapping[str, Any]) -> list[Any]:
        return [lm.run(example.prompt, PERSON, **options) for example in examples]

    return {name: functools.partial(answers, options) for name, options in ways.items()}


def _whitespace(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    return _options(lm, examples, {"flexible (default)": {}, "compact": {"whitespace": "compact"}})


def _budget(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    return _options(lm, examples, {f"{most} tokens": {"max_new_tokens": most} for most in (128, 512)})


def _shown(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    shown = {"JSON Schema": "json_schema", "shape (default)": True, "nothing": False}
    return _options(lm, examples, {name: {"show_schema": value} for name, value in shown.items()})


def _padding(lm: Any, examples: Sequence[Example]) -> dict[str, Way]:
    short = [example.prompt for example in examples]
    long = " ".join(short)[:700]
    options = {"progress": False, "show_schema": False}
    return {
        "the long one among the short ones": lambda: lm.run_batch([*short, long], PERSON, **options),
        "the long one by itself": lambda: [
            *lm.run_batch(short, PERSON, **options),
            lm.run(long, PERSON, show_schema=False),
        ],
    }


CASES = {
    "batch": _batch,
    "read_ahead": _read_ahead,
    "warm_up": _warm_up,
    "bounds": _bounds,
    "whitespace": _whitespace,
    "budget": _budget,
    "shown": _shown,
    "padding": _padding,
}


# --- measuring -------------------------------------------------------------------------------------------------------


def answered(model: Any, way: Way, examples: Sequence[Example]) -> dict[str, Any]:
    """Return the cost of answering all questions once, and how right the answers are."""
    _of_models.clear()
    _of_grammars.clear()
    spent = time.process_time if model.device.type == "cpu" else clock
    with Meter().on(model) as meter:
        began, found = spent(), way()
        if callable(found):
            began, found = spent(), found()
        seconds = spent() - began
    values = [json.loads(each.text) for each in found]
    right = [
        share
        for value, example in zip(values, examples, strict=False)
        for share in fields_right(value, example.answer).values()
    ]
    return {
        "seconds": seconds,
        "answers": len(found),
        "tokens": sum(each.new_tokens for each in found),
        "passes": meter.passes,
        "positions": meter.positions,
        "prompt_tokens": sum(each.prompt_tokens for each in found),
        "fields_right": statistics.mean(right),
    }


def in_turns(model: Any, ways: Mapping[str, Way], examples: Sequence[Example], rounds: int) -> list[dict[str, Any]]:
    """Return a row for each way, with the ratio of the first way to it."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name in ways if turn % 2 else reversed(ways):
            one = answered(model, ways[name], examples)
            if turn or not rounds:
                found[name].append(one)
    base = [one["seconds"] for one in next(iter(found.values()))]
    rows = []
    for name, turns in found.items():
        ratios = [before / one["seconds"] for before, one in zip(base, turns, strict=True)]
        middle = statistics.median(one["seconds"] for one in turns)
        times = {"seconds": round(middle, 3), "ratio": _spread(ratios)}
        rows.append({"way": name, **turns[-1], "fields_right": round(turns[-1]["fields_right"], 3), **times})
    return rows


def _spread(values: Sequence[float]) -> list[float]:
    return [round(value, 2) for value in (statistics.median(values), min(values), max(values))]


def compiling(lm: Any, rounds: int) -> list[dict[str, Any]]:
    """Return the microseconds to compile the type again, and to find the grammar that was kept."""
    lm.compile(PERSON)
    ways: dict[str, Callable[[], Any]] = {
        "compiled again": lambda: schemagen.compile(PERSON, lm.vocabulary, cache=None),
        "found in the cache": lambda: lm.compile(PERSON),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(10 * rounds + 1):
        for name, call in ways.items():
            times[name].append(harness.seconds(call) * 1e6)
    return [{"way": name, "microseconds": _spread(spent)} for name, spent in times.items()]


def profile(lm: Any, examples: Sequence[Example], rounds: int) -> list[dict[str, Any]]:
    """Return how the time of an answer divides: the model, the constraint, everything else."""
    prompts = [example.prompt for example in examples]
    grammar = lm.compile(PERSON)

    def by_generate() -> None:
        for prompt in prompts:
            ids = lm.tokenizer(lm.render(prompt, PERSON), return_tensors="pt", return_token_type_ids=False).to(
                lm.model.device
            )
            processor = LogitsProcessor(grammar, max_new_tokens=128)
            lm.model.generate(**ids, logits_processor=[processor], max_new_tokens=128, do_sample=False)

    ways: dict[str, Callable[[], Any]] = {
        "`lm.run`": lambda: [lm.run(prompt, PERSON) for prompt in prompts],
        "`lm.batch`": lambda: lm.batch(prompts, PERSON, progress=False),
        "`model.generate` with `LogitsProcessor`": by_generate,
    }
    shares: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, call in ways.items():
            with Meter().on(lm.model) as meter:
                spent = harness.seconds(call)
            if turn or not rounds:
                shares[name].append((spent / meter.passes * 1e3, *(part / spent for part in meter.seconds.values())))
    return [
        {
            "way": name,
            **{
                key: round(statistics.median(values), 4)
                for key, values in zip(("ms_of_a_pass", "model", "constraint"), zip(*found, strict=True), strict=True)
            },
        }
        for name, found in shares.items()
    ]


def measure(lm: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the rows of each case that was asked for."""
    examples = TASK.examples("test", options.count, seed=options.seed)
    found: dict[str, Any] = {}
    for name in track(options.cases):
        if name == "compile":
            found[name] = compiling(lm, options.rounds)
        elif name == "profile":
            found[name] = profile(lm, examples, options.rounds)
        else:
            found[name] = in_turns(lm.model, CASES[name](lm, examples), examples, options.rounds)
    return found


# --- the page --------------------------------------------------------------------------------------------------------


def tables(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the table of each case, of all models that it was measured with."""
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for result in results:
        for case, rows in result["results"].items():
            found.setdefault(case, []).extend((result["settings"]["model"], row) for row in rows)
    return {case: _table(case, rows) for case, rows in found.items()}


def _table(case: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    if case == "compile":
        heads = ("model", "the type is", "µs, median", "smallest to largest")
        cells = [
            (model, row["way"], f"{row['microseconds'][0]:,.0f}", "{:,.0f} to {:,.0f}".format(*row["microseconds"][1:]))
            for model, row in rows
        ]
        return page.table(heads, cells)
    if case == "profile":
        heads = ("model", "way", "the model", "the constraint", "everything else")
        cells = [(model, row["way"], *map("{:.1%}".format, _parts(row))) for model, row in rows]
        return page.table(heads, cells)
    heads = ("model", "way", "tokens", "passes", *_MORE.get(case, {}), "times as fast")
    return page.table(heads, [_cells(case, model, row) for model, row in rows])


def _parts(row: Mapping[str, Any]) -> tuple[float, float, float]:
    return row["model"], row["constraint"], 1 - row["model"] - row["constraint"]


#: Further columns of some cases, and the counts in them.
_MORE = {
    "whitespace": {"fields right": "fields_right"},
    "shown": {"tokens of the prompts": "prompt_tokens", "fields right": "fields_right"},
    "padding": {"positions read": "positions"},
}


def _cells(case: str, model: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    middle, low, high = row["ratio"]
    counts = (f"{row[key]:.0%}" if key == "fields_right" else f"{row[key]:,}" for key in _MORE.get(case, {}).values())
    speed = f"{middle:.2f}" if low == high else f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return (model, row["way"], f"{row['tokens']:,}", f"{row['passes']:,}", *counts, speed)


def origins(results: Sequence[Mapping[str, Any]]) -> str:
    """Return when, where and with how many questions each model was measured."""
    lines = []
    for result in results:
        settings, machine = result["settings"], result["machine"]
        counts = (
            (settings["count"], "question"),
            (max(settings["rounds"], 1), "round"),
            (settings["threads"], "thread"),
        )
        said = ", ".join(f"{count} {name}{'s' * (count > 1)}" for count, name in counts)
        lines.append(
            f"- {settings['model']}: {said} (batches: {4 * settings['count']} questions); {result['date']}, commit "
            f"{result['commit']}, {machine['cpu']}, {machine['cores']} cores, load {machine['load_average']} "
            f"(`benchmarks/results/{result['file']}`)"
        )
    return "\n".join(lines)


def render(text: str, results: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the page with the tables of the results between their marks."""
    return page.between_marks(text, "advice", {**tables(results), "origins": origins(results)})


def committed() -> list[dict[str, Any]]:
    """Return the committed results."""
    return page.load()["advice"]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and write its result, or write the page."""
    made = harness.parser(__doc__, "advice")
    made.add_argument("--model", type=Path, default=harness.BUNDLED, help="a folder or a .gguf file")
    made.add_argument("--label", default="bundled", help="what the page calls the model")
    made.add_argument("--count", type=int, default=32, help="questions")
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument("--threads", type=int, default=1, help="threads of torch")
    made.add_argument(
        "--device",
        default="cpu",
        help="where the model is; on a GPU with the type of its weights, and wall-clock times",
    )
    made.add_argument("--cases", nargs="+", default=[*CASES, "compile", "profile"])
    made.add_argument("--page", action="store_true", help="write the tables of the committed results into the page")
    options = made.parse_args(arguments)
    if options.page:
        PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), committed()), encoding="utf-8")
        return 0
    torch.set_num_threads(options.threads)
    cache = harness.ROOT / "models" / "cache" if options.model.suffix == ".gguf" else None
    lm = schemagen.load(
        options.model,
        dtype="float32" if options.device == "cpu" else "auto",
        device_map=options.device,
        cache=cache,
    )
    settings = {
        "model": options.label,
        **{name: getattr(options, name) for name in ("count", "rounds", "threads", "seed", "device")},
    }
    harness.write_result(options.out, "advice", settings, measure(lm, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
