"""Sorts support tickets: a category and a priority for each."""

# --8<-- [start:class]
import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

import schemagen


class Ticket(BaseModel):
    """What a customer wrote about, and how soon it matters."""

    category: Literal["billing", "bug", "feature"]
    priority: Literal["low", "high"]


# --8<-- [end:class]


# --8<-- [start:prompt]
# One ticket of each category, and both priorities.
SOLVED = {
    "I paid twice, help today!": Ticket(category="billing", priority="high"),
    "A button is broken, no rush.": Ticket(category="bug", priority="low"),
    "Please add a map, some day.": Ticket(category="feature", priority="low"),
    "Error 500 everywhere, help!": Ticket(category="bug", priority="high"),
}


def prompt(text):
    """Return a chat that has solved some tickets and gets the next."""
    chat = []
    for solved, ticket in SOLVED.items():
        chat.append({"role": "user", "content": solved})
        chat.append(
            {"role": "assistant", "content": ticket.model_dump_json()}
        )
    return [*chat, {"role": "user", "content": text}]


# --8<-- [end:prompt]


# --8<-- [start:main]
DATA = Path(__file__).parents[1] / "data" / "tickets.jsonl"


def main(lm):
    """Sort each ticket, and count the mistakes."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    prompts = [prompt(row["text"]) for row in rows]
    found = lm.batch(prompts, Ticket, show_schema=False)
    pairs = Counter()
    for row, ticket in zip(rows, found, strict=True):
        print(f"{ticket.category:8} {ticket.priority:5} {row['text']}")
        for name, wanted in row["expected"].items():
            pairs[name, wanted, getattr(ticket, name)] += 1
    for name in Ticket.model_fields:
        right = sum(
            n for (field, a, b), n in pairs.items() if (field, a) == (name, b)
        )
        print(f"{name}: {right} of {len(rows)} right")
    for (_, wanted, given), count in pairs.items():
        if wanted != given:
            print(f"{count} x {wanted} taken for {given}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="name or path, else the bundled one")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
# --8<-- [end:main]
