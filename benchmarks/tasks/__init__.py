"""Tasks with right answers for measuring a model: made by seeded scripts, kept apart for tuning and for testing.

Each module has a task or two, `words` the vocabulary they draw from. A *split* is "tune" or "test": choices
by results (prompts, defaults) are made on the first, reported results are measured on the second. Names, cities,
products, templates of sentences and numbers of one split do not occur in the other, where that makes sense.

    from tasks import TASKS
    for example in TASKS["extraction_5"].examples("test", 100, seed=7):
        example.prompt, example.answer
"""

from __future__ import annotations

from tasks import arithmetic, classification, extraction, tools
from tasks.base import Example, Split, Task

TASKS: dict[str, Task] = {
    task.name: task for task in (extraction.PERSON, extraction.ORDER, classification.TICKET, arithmetic.SUM, tools.CALL)
}
"""By name, in the order in which they are reported."""

__all__ = ["TASKS", "Example", "Split", "Task"]
