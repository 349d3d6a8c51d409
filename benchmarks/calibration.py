"""Whether the probabilities of `lm.classify` are calibrated: a real model, labelled examples, a temperature fitted to half.

    make real-model
    python benchmarks/calibration.py --threads 2      # measures, then writes the tables and plots of docs/guides/confidence.md
    python benchmarks/calibration.py --page           # writes them from the committed result

Two tasks of `tasks/` are asked with the prompts that the other measurements use: the topic of a message, five options, and the
tool for a request, six options. The temperature is fitted to the examples for tuning. Everything that is reported is measured
on the examples for testing, whose sentences, names and products do not occur among the others.

    accuracy     share of the examples whose likeliest option is the label
    NLL          mean of -log p of the labels, in nats
    ECE          expected calibration error: ten bins of equally many examples, and ten of equal width

The result keeps the probabilities of every example, so that other measures need no model.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal, get_args

import harness
import page
from plots import unit_plot
from tasks import TASKS

from schemagen.confidence import (
    Distribution,
    accuracy_above,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
    reliability,
)
from schemagen.evaluation.scoring import wilson

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tasks.base import Split

    from schemagen import LanguageModel

PAGE = harness.ROOT / "docs" / "guides" / "confidence.md"
RESULT = harness.RESULTS / "calibration.json"

Topic = Literal["billing", "shipping", "technical", "account", "praise"]
ToolName = Literal["get_weather", "set_timer", "send_message", "convert_currency", "play_music", "create_event"]
#: Task -> the type of the label, its field in the answers of the task, and its title.
LABELS: dict[str, tuple[Any, str, str]] = {
    "classification": (Topic, "category", "topic of a message"),
    "tools": (ToolName, "name", "choice of a tool"),
}
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Temperatures above it are the last one that `fit_temperature` tries.
HIGHEST = 49.9


def measure(lm: LanguageModel, task: str, split: Split, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the label and the distribution of each example of a split."""
    spec, field, _ = LABELS[task]
    rows = []
    for number, example in enumerate(TASKS[task].examples(split, options.count, seed=options.seed), 1):
        found = lm.classify(example.prompt, spec)
        place = {option: rank for rank, option in enumerate(found.options)}
        laws = (found.probabilities, found.masked_probabilities)
        own, masked = ([_short(law[place[option]]) for option in get_args(spec)] for law in laws)
        sizes = {"mass": _short(found.mass), "error": _short(found.error)}
        rows.append({"label": example.answer[field], "own": own, "masked": masked, **sizes})
        if number % 25 == 0:
            print(f"{task}, {split}: {number}", flush=True)
    return rows


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def distributions(task: str, rows: list[dict[str, Any]], law: str = "own") -> list[Distribution[str]]:
    """Return the distributions of a result, by one of the two laws."""
    found = []
    for row in rows:
        ranked = sorted(zip(row[law], get_args(LABELS[task][0]), strict=True), key=lambda pair: -pair[0])
        chances = tuple(chance for chance, _ in ranked)
        found.append(Distribution(tuple(option for _, option in ranked), chances, chances, row["mass"], row["error"]))
    return found


def figures(task: str, halves: Mapping[str, list[dict[str, Any]]], law: str = "own") -> dict[str, Any]:
    """Return the measures of a task: as it is, and at the temperature that was fitted."""
    tune, test = (distributions(task, halves[split], law) for split in ("tune", "test"))
    labels = [row["label"] for row in halves["test"]]
    temperature = fit_temperature(tune, [row["label"] for row in halves["tune"]])
    right = sum(each.value == label for each, label in zip(test, labels, strict=True))
    found: dict[str, Any] = {"temperature": temperature, "accuracy": (right / len(test), *wilson(right, len(test)))}
    for name, degree in (("before", 1.0), ("after", temperature)):
        tempered = [each.at_temperature(degree) for each in test]
        found[name] = {
            "nll": negative_log_likelihood(tempered, labels),
            "ece": expected_calibration_error(tempered, labels),
            "ece_width": expected_calibration_error(tempered, labels, binning="width"),
            "confidence": sum(each.probability for each in tempered) / len(tempered),
            "bins": reliability(tempered, labels),
            "above": accuracy_above(tempered, labels, THRESHOLDS),
        }
    return found


# --- the page ----------------------------------------------------------------------------------------------------------


def parts(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables and figures of the guide."""
    found = {task: figures(task, halves) for task, halves in results.items()}
    return {"measures": _measures(results, found), "reliability": _pictures(results), "above": _above(found)}


def _measures(results: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    heads = ("task", "accuracy", "temperature", "confidence", "NLL", "ECE", "ECE, equal width")
    rows = []
    for task, one in found.items():
        share, low, high = one["accuracy"]
        before, after = one["before"], one["after"]
        changes = [f"{before[name]:.2f} → {after[name]:.2f}" for name in ("confidence", "nll", "ece", "ece_width")]
        title = f"{LABELS[task][2]} ({len(results[task]['test'])})"
        temperature = f"{one['temperature']:.3g}" + " (the highest tried)" * (one["temperature"] > HIGHEST)
        rows.append((title, f"{share:.0%} ({low:.0%} to {high:.0%})", temperature, *changes))
    return page.table(heads, rows)


def _pictures(results: Mapping[str, Any]) -> str:
    captions = {task: f"Reliability: {LABELS[task][2]}. Each point is a tenth of the examples." for task in results}
    shown = [page.figure(f"calibration-{task}.svg", caption) for task, caption in captions.items()]
    return "\n\n".join(shown)


def _above(found: Mapping[str, Any]) -> str:
    names = {"before": "as it is", "after": "calibrated"}
    heads = ("at least", *(f"{LABELS[task][2]}, {name}" for task in found for name in names.values()))
    columns = [one[half]["above"] for one in found.values() for half in names]
    rows = [(f"{row[0].threshold:g}", *map(_kept, row)) for row in zip(*columns, strict=True)]
    return page.table(heads, rows)


def _kept(above: Any) -> str:
    return "none" if above.accuracy is None else f"{above.accuracy:.0%} of {above.share:.0%}"


def plots(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the reliability diagrams by the names of their files."""
    drawn = {}
    for task, halves in results.items():
        one = figures(task, halves)
        names = {"as it is": one["before"], f"at temperature {one['temperature']:.2f}": one["after"]}
        series = {name: [(each.confidence, each.accuracy) for each in half["bins"]] for name, half in names.items()}
        title = LABELS[task][2].capitalize()
        drawn[f"calibration-{task}.svg"] = unit_plot(
            title, ("probability of the answer", "share that is right"), series, diagonal=True
        )
    return drawn


def render(text: str, results: Mapping[str, Any]) -> str:
    """Return the text of the guide with its tables and figures."""
    return page.between_marks(text, "calibration", parts(results))


def write_page(results: Mapping[str, Any]) -> None:
    """Write the tables and plots of the guide."""
    page.write(PAGE, render(PAGE.read_text(encoding="utf-8"), results), plots(results))


def main(arguments: list[str] | None = None) -> int:
    """Measure, write after each task, then write the page."""
    made = harness.parser(__doc__, "calibration")
    harness.model_options(made)
    made.add_argument("--count", type=int, default=150, help="examples of each half of a task")
    made.add_argument("--page", action="store_true", help="write the page from the committed result alone")
    options = made.parse_args(arguments)
    if options.page:
        write_page(json.loads(RESULT.read_text(encoding="utf-8"))["results"])
        return 0
    lm = harness.load_model(options)
    settings = {"model": options.label, **{name: getattr(options, name) for name in ("count", "threads", "seed")}}
    results: dict[str, Any] = {}
    for task in LABELS:
        results[task] = {split: measure(lm, task, split, options) for split in ("tune", "test")}
        harness.write_result(options.out, "calibration", settings, results)
        print(task, {law: _summary(figures(task, results[task], law)) for law in ("own", "masked")}, flush=True)
    if options.out == RESULT:
        write_page(results)
    return 0


def _summary(found: Mapping[str, Any]) -> str:
    return f"accuracy {found['accuracy'][0]:.3f}, ECE {found['before']['ece']:.3f} to {found['after']['ece']:.3f}"


if __name__ == "__main__":
    sys.exit(main())
