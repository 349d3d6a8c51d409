"""What a task is: a prompt, the type of the answer, the right answer, and which parts of an answer count."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

#: Draws the worked examples; with this one those of the word problems are of all four kinds.
SHOTS_SEED = 4

Split: TypeAlias = Literal["tune", "test"]


@dataclass(frozen=True, slots=True)
class Example:
    """A question and its answer.

    Attributes:
        prompt: The question; how the answer is to be written is not in it.
        answer: The right one, as JSON.
    """

    prompt: str
    answer: Any


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of question.

    Attributes:
        name: In results.
        title: For people.
        spec: The type of the answers.
        make: Returns one example for a source of randomness and a split.
        max_new_tokens: A budget that right answers keep well within.
        uncounted: Fields that have no right value, such as the steps of a calculation.
        shots: How many worked examples stand before the question, as turns of the chat. They are of the tuning split.
    """

    name: str
    title: str
    spec: Any
    make: Callable[[random.Random, Split], Example]
    max_new_tokens: int
    uncounted: frozenset[str] = frozenset()
    shots: int = 0

    def chat(self, prompt: str) -> list[dict[str, str]]:
        """Return the messages of a question: the worked examples with their answers, and the question."""
        worked = self.examples("tune", self.shots, seed=SHOTS_SEED) if self.shots else []
        messages = []
        for example in worked:
            messages += [
                {"role": "user", "content": example.prompt},
                {"role": "assistant", "content": json.dumps(example.answer)},
            ]
        return [*messages, {"role": "user", "content": prompt}]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the type, closed, without the docstrings, which are for people: what every engine is given."""
        from pydantic import TypeAdapter

        schema = TypeAdapter(self.spec).json_schema()
        for each in [schema, *schema.get("$defs", {}).values()]:
            each.pop("description", None)
            if "properties" in each:
                each["additionalProperties"] = False
        return schema

    def examples(self, split: Split, count: int, *, seed: int = 7) -> list[Example]:
        """Return so many different examples; fewer than asked for of the same seed are the first of them.

        Raises:
            ValueError: The task does not have as many.
        """
        source = random.Random(f"{self.name} {split} {seed}")
        found: dict[str, Example] = {}
        for _ in range(50 * count):
            example = self.make(source, split)
            found.setdefault(example.prompt, example)
            if len(found) >= count:
                return list(found.values())
        raise ValueError(f"{self.name} has fewer than {count} examples")
