"""Generates the bundled model's training and test examples: a prompt, a JSON Schema and the object that answers it.

    >>> next(examples(seed=1)).prompt  # doctest: +SKIP
    'Ruth Kolton, 41, Lisbon'

Every example is a function of the seed alone. Open-class words (names, cities, products ...) are split by a hash into
a training and a held-out part, and most names are made of random syllables, so that `held_out=True` asks the model to
copy words that it never saw.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bundled_entities import contact, event, introduction, person, point, product, various, work
from bundled_tasks import (
    address,
    bare,
    booking,
    classify,
    invoice,
    labelled,
    order,
    people_list,
    pick_mentioned,
    review,
    ticket,
    tool,
    top_items,
    word_list,
    yes_no,
)
from bundled_world import Example, World

DOCSTRINGS = [
    "A {}.",
    "The {} to extract.",
    "One {} of the system.",
    "All we know of a {}.",
    "{}",
    "What the text says about the {}.",
]
DEMOS = frozenset(
    {
        "Ada Lovelace, 36, London",
        "Maria Silva ordered 2 lamps and 3 chairs, already paid.",
        "The app crashes when I click save, please fix it urgently!",
        "Reach Tom Baker at tom@example.org.",
        "Book a room for Lena Fischer, 2 guests, from 3 May 2024 for 4 nights at 129.50 per night.",
        "Terrible phone, one star.",
    }
)
"""Prompts of the documentation and tests, which must not be trained on."""

Maker = Callable[[World], Example]
DOMAINS: tuple[tuple[Maker, float], ...] = (
    (person, 5), (introduction, 4), (point, 1), (contact, 3), (event, 3), (product, 2.5), (work, 2), (various, 4), (order, 5), (top_items, 2), (people_list, 2), (word_list, 3), (address, 2.5),
    (booking, 4), (invoice, 2), (classify, 4), (ticket, 3), (review, 3), (tool, 3.5), (yes_no, 1.5), (bare, 1.5), (labelled, 4), (pick_mentioned, 1.5),
)  # fmt: skip
EASY: tuple[tuple[Maker, float], ...] = (
    (labelled, 4),
    (person, 3),
    (word_list, 2),
    (contact, 1),
    (bare, 1),
    (pick_mentioned, 1),
)
"""The short, copy-heavy domains with which training starts."""


def documented(w: World, example: Example) -> Example:
    """Give some objects the description that pydantic makes of a class's docstring."""
    title = example.schema.get("title")
    if not title or w.chance(0.93):
        return example
    description = w.pick(DOCSTRINGS).format(title.lower() if w.chance(0.7) else title)
    return replace(example, schema={"description": description, **example.schema})


def examples(seed: int, *, held_out: bool = False, easy: bool = False) -> Iterator[Example]:
    """Yield examples without end.

    Args:
        seed: Decides everything.
        held_out: Use the words that training never sees.
        easy: Only the short, copy-heavy domains.

    Yields:
        One example after the other, none of them a prompt of `DEMOS`.
    """
    world = World(seed, held_out=held_out)
    makers, weights = zip(*(EASY if easy else DOMAINS), strict=True)
    while True:
        example = documented(world, world.rng.choices(makers, weights)[0](world))
        if example.prompt not in DEMOS:
            yield example
