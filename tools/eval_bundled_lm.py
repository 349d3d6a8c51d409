"""Measures the bundled model on held-out examples: greedy constrained decoding beside the unconstrained one.

    python tools/eval_bundled_lm.py                 # 500 examples, some minutes on one core
    python tools/eval_bundled_lm.py --count 100 --wrong 20

An answer is exact if the parsed JSON equals the right object; it is well-formed if it parses and its schema accepts it.
`--wrong` prints that many wrong answers of constrained decoding.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import torch
from pydantic import WithJsonSchema
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from bundled_data import examples
from bundled_world import Example

import schemagen
from schemagen.prompts.shapes import SHAPE_INSTRUCTION, shape_text

SEED = 123_456_789
Answer = Callable[[Example], Any]
BROKEN = object()
"""Stands for an answer that is no JSON, or was not finished."""


def closed(schema: Any, definitions: dict[str, Any]) -> Any:
    """Inline the references of a schema, and forbid unknown properties as schemagen does for Python types."""
    if isinstance(schema, list):
        return [closed(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return closed(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    inner = {key: closed(part, definitions) for key, part in schema.items() if key != "$defs"}
    return {**inner, "additionalProperties": False} if isinstance(schema.get("properties"), dict) else inner


def type_of(example: Example) -> Any:
    """Return a Python type with the schema of an example.

    A schema in a dict means what JSON Schema says: a `time` needs an offset, objects are open. A type means Python's.
    """
    return Annotated[Any, WithJsonSchema(closed(example.schema, example.schema.get("$defs", {})))]


def constrained(lm: Any) -> Answer:
    """Return a function that answers an example with constrained decoding."""

    def answer(example: Example) -> Any:
        try:
            return lm(example.prompt, type_of(example), max_new_tokens=300)
        except schemagen.GenerationError:
            return BROKEN

    return answer


def unconstrained(lm: Any) -> Answer:
    """Return a function that answers an example with the same prompt and no constraint."""

    def answer(example: Example) -> Any:
        prompt = f"{example.prompt}\n\n{SHAPE_INSTRUCTION}\n{shape_text(example.schema)}"
        try:
            return json.loads(lm.generate_text(prompt, max_new_tokens=300))
        except ValueError:
            return BROKEN

    return answer


def well_formed(example: Example, value: Any) -> bool:
    """Whether an answer is JSON that the schema accepts."""
    schema = closed(example.schema, example.schema.get("$defs", {}))
    return value is not BROKEN and jsonschema.Draft202012Validator(schema).is_valid(value)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; true and 1 are not, 1 and 1.0 are."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


class Tally:
    """The counts of one way to decode."""

    def __init__(self) -> None:
        self.exact: Counter[str] = Counter()
        self.formed = 0
        self.seconds = 0.0
        self.wrong: list[tuple[Example, Any]] = []

    def add(self, example: Example, answer: Answer) -> None:
        """Answer an example and count."""
        start = time.perf_counter()
        value = answer(example)
        self.seconds += time.perf_counter() - start
        self.formed += well_formed(example, value)
        if same(value, example.value):
            self.exact[example.domain] += 1
        else:
            self.wrong.append((example, value))


def report(console: Console, rows: list[Example], tallies: dict[str, Tally]) -> None:
    """Print the table of all domains."""
    table = Table(
        "domain", "examples", *(f"exact, {name}" for name in tallies), title="bundled model, held-out examples"
    )
    for domain, count in sorted(Counter(row.domain for row in rows).items()):
        table.add_row(domain, str(count), *(f"{tally.exact[domain] / count:.1%}" for tally in tallies.values()))
    table.add_section()
    table.add_row("all", str(len(rows)), *(f"{tally.exact.total() / len(rows):.1%}" for tally in tallies.values()))
    table.add_row("well-formed", "", *(f"{tally.formed / len(rows):.1%}" for tally in tallies.values()))
    table.add_row("ms per answer", "", *(f"{1000 * tally.seconds / len(rows):.0f}" for tally in tallies.values()))
    console.print(table)


def main() -> None:
    """Parse the options, answer all examples, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", default="", help="a folder instead of the bundled model")
    parser.add_argument("--wrong", type=int, default=0, help="print this many wrong answers")
    parser.add_argument("--only-constrained", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    folder = args.model
    lm = schemagen.load(folder, device_map=None, dtype="float32") if folder else schemagen.load_bundled()
    ways = {"constrained": constrained(lm), **({} if args.only_constrained else {"unconstrained": unconstrained(lm)})}
    tallies = {name: Tally() for name in ways}
    rows = list(islice(examples(args.seed, held_out=True), args.count))
    for row, (name, answer) in product(rows, ways.items()):
        tallies[name].add(row, answer)
    console = Console()
    report(console, rows, tallies)
    for example, value in tallies["constrained"].wrong[: args.wrong]:
        text = f"{example.prompt}\n  {shape_text(example.schema)}\n  right  {example.target()}"
        console.print(text, markup=False)
        console.print(f"  wrong  {json.dumps(value, ensure_ascii=False, default=str)}", markup=False)


if __name__ == "__main__":
    main()
