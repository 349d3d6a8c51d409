"""What a prompt had best show of an answer in each format: formats x ways, on the tuning halves of two tasks.

    python benchmarks/prompt_formats.py --model models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --count 40

Greedy, in batches. Tables answer three questions of a task at once, a row for each. Every way answers the same questions, so
differences are taken by question. A run that is repeated goes on where the last one stopped.

    types                 names of types where the values stand, as prompts showed them once; not for JSON
    placeholders          ``<name>``, ``<age>`` in the place of all values
    placeholders, types   ``<name: string>``, ``<age: integer>``
    example               a valid value: options, bounds and formats are kept, and other strings are ``...``
    example, names        the same, with ``<name>`` for these strings
    shape                 the shape that stands in prompts for JSON, in another sentence
    placeholders and shape: both
"""

from __future__ import annotations

import copy
import json
import re
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import harness
from prompts import record, score, summary
from pydantic import Field, TypeAdapter
from tasks import TASKS, Example

import schemagen
from schemagen.grammar import written
from schemagen.grammar.specs import frozen_spec
from schemagen.prompts.shapes import shape_text, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasks import Task

    from schemagen.options import Rendering

BASELINE = "types"
FORMATS = {"json": written.AsJson, **written.FORMATS}
TABLES = ("csv", "markdown")
#: Rows of a table.
ROWS = 3
TYPES = {"string": "str", "integer": "int", "boolean": "true or false", "null": "nothing"}
TEMPLATES = {
    "extraction_5": "Name: {name}\nAge: {age}\nCity: {city}\nOccupation: {occupation}\nEmail: {email}",
    "classification": "Category: {category}\nUrgent: {urgent}",
}
#: Valid values where the example has no ``...``.
VALUES = {"age": "1", "category": "billing", "urgent": "true"}
VALUES_OF = "The values are those of this shape:"
RENDERINGS: dict[str, Rendering] = {
    "example": "example",
    "shape": "shape",
    "json_schema": "json_schema",
    "typescript": "typescript",
}
WAYS = (
    BASELINE,
    "placeholders",
    "example",
    "example, names",
    "shape",
    "placeholders and shape",
    "json_schema",
    "typescript",
    "none",
)


def spec_of(task: Task, as_: str) -> Any:
    """Return what an answer is compiled from: the type, a list of it for a table, or a template."""
    if as_ == "template":
        return schemagen.Template(TEMPLATES[task.name], task.spec)
    row = task.spec
    return Annotated[list[row], Field(min_length=ROWS, max_length=ROWS)] if as_ in TABLES else row  # type: ignore[valid-type]


def questions(task: Task, as_: str, count: int, seed: int) -> list[Example]:
    """Return the questions of a task; for a table each has the texts of several."""
    if as_ not in TABLES:
        return task.examples("tune", count, seed=seed)
    examples = task.examples("tune", count * ROWS, seed=seed)
    found = []
    for start in range(0, len(examples), ROWS):
        taken = examples[start : start + ROWS]
        head = taken[0].prompt.partition("\n\n")[0]
        texts = [each.prompt.partition("\n\n")[2] for each in taken]
        prompt = "\n\n".join([f"{head} There are {ROWS} of them: write a row for each.", *texts])
        found.append(Example(prompt, [each.answer for each in taken]))
    return found


def _worded(task: Task, way: str) -> Any:
    """Return the schema of a task with fixed words in the place of values."""
    schema = copy.deepcopy(task.schema)
    for key, part in schema["properties"].items():
        kinds = [each.get("type") for each in part.get("anyOf", [part])]
        if way == "placeholders" or (way == "example, names" and "string" in kinds and "enum" not in part):
            schema["properties"][key] = {"const": f"<{key}>"}
        elif way == "placeholders, types":
            schema["properties"][key] = {"const": f"<{key}: {shape_text(part)}>"}
        elif way == BASELINE:
            options = part.get("enum", [TYPES[kind] for kind in kinds])
            schema["properties"][key] = {"const": " | ".join(options)}
    return schema


def shown(task: Task, as_: str, way: str) -> str:
    """Return the text below the question."""
    if as_ == "template":
        return _shown_template(task, way)
    row: Any = task.spec
    spec = FORMATS[as_](list[row] if as_ in TABLES else row)
    if way in RENDERINGS:
        return _told(task, spec, RENDERINGS[way])
    if way == "placeholders and shape":
        return f"{shown(task, as_, 'placeholders')}\n{VALUES_OF}\n{shape_text(task.schema)}"
    if as_ == "python" and way == "example, names":
        body = re.sub(r'(\w+)="\.\.\."', r'\1="<\1>"', spec.shown())
    elif as_ == "python":
        sign = ": " if way == BASELINE else "="
        fields = _worded(task, way)["properties"].items()
        body = f"{row.__name__}({', '.join(key + sign + str(part['const']) for key, part in fields)})"
    else:
        worded = _worded(task, way)
        schema = {"type": "array", "items": worded, "minItems": 1, "maxItems": 1} if as_ in TABLES else worded
        body = FORMATS[as_](frozen_spec(schema)).shown()
    return f"{spec.instruction}, {'of this shape' if way == BASELINE else 'in the form of this example'}:\n{body}"


def _told(task: Task, spec: Any, rendering: Rendering) -> str:
    """Return a rendering, without the docstrings of the types, which are for people."""
    if rendering == "example":
        return told(spec, rendering)
    schema = {"type": "array", "items": task.schema} if spec.format in TABLES else task.schema
    return told(schema, rendering).replace(FORMATS["json"].instruction, spec.instruction, 1)


def _shown_template(task: Task, way: str) -> str:
    template = schemagen.Template(TEMPLATES[task.name], task.spec)
    if way in RENDERINGS:
        return told(template, RENDERINGS[way])
    if way == "placeholders and shape":
        return f"{shown(task, 'template', 'placeholders')}\n{VALUES_OF}\n{shape_text(task.schema)}"
    worded = {key: str(part.get("const", VALUES.get(key))) for key, part in _worded(task, way)["properties"].items()}
    if way == BASELINE:
        worded = {key: f"{{{key}: {text}}}" for key, text in worded.items()}
    return f"{template.instruction}\n{TEMPLATES[task.name].format_map(worded)}"


def as_json(task: Task, value: Any) -> Any:
    """Return an instance, or a list of instances, as JSON."""
    if isinstance(value, list):
        return [as_json(task, each) for each in value]
    return TypeAdapter(task.spec).dump_python(value, mode="json")


def share(task: Task, question: Example, found: Any) -> float:
    """Return the share of the fields that are right, of all rows."""
    if not hasattr(found, "value"):
        return 0.0
    value = as_json(task, found.value)
    if not isinstance(question.answer, list):
        return score(task, question, value)
    rows = zip(question.answer, value, strict=False)
    return sum(score(task, Example("", answer), row) for answer, row in rows) / len(question.answer)


def scores(cells: Mapping[str, Any], way: str) -> dict[tuple[str, int], float]:
    """Return the shares of a way by format and question."""
    return {
        (as_, number): right
        for as_, ways in cells.items()
        if way in ways
        for number, right in enumerate(ways[way]["fields"])
    }


def measure(lm: Any, task: Task, as_: str, way: str, options: Any) -> dict[str, Any]:
    """Ask all questions of a task in one format and one way."""
    asked = questions(task, as_, options.count, options.seed)
    below = "" if way == "none" else f"\n\n{shown(task, as_, way)}"
    started = time.perf_counter()
    found = lm.run_batch(
        [f"{each.prompt}{below}" for each in asked],
        spec_of(task, as_),
        **({} if as_ == "template" else {"as_": as_}),
        show_schema=False,
        batch_size=options.batch_size,
        max_new_tokens=task.max_new_tokens * (ROWS if as_ in TABLES else 2),
        progress=False,
    )
    shares = [share(task, *pair) for pair in zip(asked, found, strict=True)]
    return {**record(shares, found, started), "shown": below.strip()}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write after each cell."""
    made = harness.parser(__doc__, "prompt_formats")
    harness.model_options(made, threads=1)
    made.add_argument("--count", type=int, default=40)
    made.add_argument("--batch-size", type=int, default=40)
    made.add_argument("--tasks", nargs="*", default=list(TEMPLATES))
    made.add_argument("--formats", nargs="*", default=[*FORMATS, "template"])
    made.add_argument("--ways", nargs="*", default=list(WAYS))
    options = made.parse_args(arguments)
    lm = harness.load_model(options)
    results = json.loads(options.out.read_text(encoding="utf-8"))["results"] if options.out.exists() else {}
    settings = {"model": str(options.model).rpartition("/")[2], "split": "tune", "rows": ROWS}
    settings |= {name: getattr(options, name) for name in ("count", "seed", "batch_size")}
    for way in options.ways:
        for name in options.tasks:
            for as_ in options.formats:
                cell = results.setdefault(f"{name}, {as_}", {})
                if cell.get(way, {}).get("count") == options.count or (as_, way) == ("json", BASELINE):
                    continue
                cell[way] = measure(lm, TASKS[name], as_, way, options)
                print(name, as_, *summary({way: cell[way]}, cell.get(BASELINE))[-1], flush=True)
                harness.write_result(options.out, "prompt_formats", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
