"""Which rendering of the schema in the prompt makes answers most right: on the tuning halves of the tasks.

    python benchmarks/prompts.py --model models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --count 40

Greedy, in batches. Every way answers the same questions, so that differences are taken by example (`scoring.paired`).
In addition to the renderings: the order of keys reversed, ``null`` named first in a union, and descriptions of the fields.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import harness
from tasks import TASKS

from schemagen.evaluation.scoring import fields_right, paired, wilson
from schemagen.prompts.shapes import told

if TYPE_CHECKING:
    from tasks import Example, Task

BASELINE = "shape"
#: Task -> field -> words for it, for the ways with descriptions.
DESCRIPTIONS = {
    "extraction_5": {
        "name": "full name",
        "age": "in years",
        "city": "where the person lives",
        "occupation": "the job",
        "email": "e-mail address, null if the text has none",
    },
    "classification": {
        "category": "what the message is about",
        "urgent": "whether the customer wants help at once",
    },
    "arithmetic": {"reasoning": "the steps of the calculation", "answer": "the number that is asked for"},
    "tools": {"name": "the tool", "arguments": "what the tool is given"},
}


def rewritten(schema: Any, change: Any) -> Any:
    """Return a schema with a change made to every object in it, innermost first."""
    if isinstance(schema, list):
        return [rewritten(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return change({key: rewritten(value, change) for key, value in schema.items()})


def _reversed_keys(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    return {**schema, "properties": dict(reversed(properties.items()))}


def _null_first(schema: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(schema.get("anyOf"), list):
        return schema
    return {**schema, "anyOf": sorted(schema["anyOf"], key=lambda each: each.get("type") != "null")}


def _described(task: Task) -> Any:
    words = DESCRIPTIONS[task.name]

    def change(schema: dict[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return schema
        told_of = {
            key: {**value, "description": words[key]} if key in words and "description" not in value else value
            for key, value in properties.items()
        }
        return {**schema, "properties": told_of}

    return change


#: Way -> rendering, and the change of the schema.
WAYS: dict[str, tuple[Any, Any]] = {
    "shape": ("shape", None),
    "json_schema": ("json_schema", None),
    "example": ("example", None),
    "typescript": ("typescript", None),
    "none": (False, None),
    "shape, before the question": ("shape", None),
    "shape, keys reversed": ("shape", lambda _: _reversed_keys),
    "shape, null first": ("shape", lambda _: _null_first),
    "shape, descriptions": ("shape", _described),
    "typescript, descriptions": ("typescript", _described),
}


#: Ways whose instruction is before the question.
BEFORE = {"shape, before the question"}


def asked(task: Task, way: str) -> tuple[Any, str]:
    """Return the schema that an answer follows in this way, and the prompt with ``%s`` in the place of the question."""
    rendering, change = WAYS[way]
    schema = task.schema if change is None else rewritten(task.schema, change(task))
    if rendering is False:
        return schema, "%s"
    words = told(schema, rendering).replace("%", "%%")
    return schema, f"{words}\n\n%s" if way in BEFORE else f"%s\n\n{words}"


def score(task: Task, example: Example, value: Any) -> float:
    """Return the share of the fields that are right in a value, or in None."""
    right = fields_right(value, example.answer, task.uncounted)
    return sum(right.values()) / len(right)


def measure(lm: Any, task: Task, way: str, options: Any) -> dict[str, Any]:
    """Ask all questions of a task in one way."""
    examples = task.examples("tune", options.count, seed=options.seed)
    schema, form = asked(task, way)
    prompts = [task.chat(form % example.prompt) for example in examples]
    started = time.perf_counter()
    found = lm.run_batch(
        prompts,
        schema,
        show_schema=False,
        batch_size=options.batch_size,
        max_new_tokens=task.max_new_tokens,
        progress=False,
    )
    scores = [score(task, one, getattr(each, "value", None)) for one, each in zip(examples, found, strict=True)]
    return record(scores, found, started)


def record(scores: list[float], found: list[Any], started: float) -> dict[str, Any]:
    """Return what a result file has of the answers to some questions.

    Args:
        scores: The share of right fields of each question.
        found: The generations and failures.
        started: When the model was asked, by `time.perf_counter`.
    """
    return {
        "fields": scores,
        "exact": sum(each == 1 for each in scores),
        "count": len(scores),
        "failed": sum(not hasattr(one, "value") for one in found),
        "prompt_tokens": sum(getattr(one, "prompt_tokens", 0) for one in found) / len(found),
        "seconds": round(time.perf_counter() - started, 1),
        "samples": [getattr(one, "text", repr(one)) for one in found[:3]],
    }


def summary(results: dict[str, dict[str, Any]], baseline: dict[str, Any] | None) -> list[tuple[str, ...]]:
    """Return a line for each way of a task, with the difference to the baseline."""
    base = dict(enumerate(baseline["fields"])) if baseline else {}
    lines = []
    for way, found in results.items():
        mean, low, high = paired(dict(enumerate(found["fields"])), base)
        exact = wilson(found["exact"], found["count"])
        lines.append(
            (
                way,
                f"{sum(found['fields']) / found['count']:.3f}",
                f"{mean:+.3f} ({low:+.3f} to {high:+.3f})",
                f"{found['exact']}/{found['count']} ({exact[0]:.2f} to {exact[1]:.2f})",
                f"{found['prompt_tokens']:.0f}",
                str(found["seconds"]),
            )
        )
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    made = harness.parser(__doc__, "prompts")
    harness.model_options(made, threads=1)
    made.add_argument("--count", type=int, default=40)
    made.add_argument("--batch-size", type=int, default=16)
    made.add_argument("--tasks", nargs="*", default=["extraction_5", "classification", "arithmetic", "tools"])
    made.add_argument("--ways", nargs="*", default=list(WAYS))
    options = made.parse_args(arguments)
    lm = harness.load_model(options)
    kept = json.loads(options.out.read_text())["results"] if options.out.exists() else {}
    results: dict[str, dict[str, Any]] = {name: kept.get(name, {}) for name in [*kept, *options.tasks]}
    for way in options.ways:
        for name in options.tasks:
            if results[name].get(way, {}).get("count") == options.count:
                continue
            results[name][way] = measure(lm, TASKS[name], way, options)
            print(name, *summary({way: results[name][way]}, results[name].get(BASELINE))[-1], flush=True)
            settings = {
                "model": str(options.model).rpartition("/")[2],
                "count": options.count,
                "seed": options.seed,
                "split": "tune",
                "batch_size": options.batch_size,
            }
            harness.write_result(options.out, "prompts", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
