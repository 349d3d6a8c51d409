"""Sort support tickets: a field with a few possible values is a `Literal`, and so is a bare label."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

import schemagen


class Ticket(BaseModel):
    """What a customer wrote about, and how soon it matters."""

    category: Literal["billing", "bug", "feature"]
    priority: Literal["low", "high"]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "data" / "tickets.txt")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()

lm = schemagen.load(args.model) if args.model else schemagen.load_bundled()
lines = args.path.read_text(encoding="utf-8").splitlines()

tickets = [found for found in lm.batch(lines, Ticket) if not isinstance(found, schemagen.Failure)]
for (category, priority), count in sorted(Counter((each.category, each.priority) for each in tickets).items()):
    print(f"{category:8} {priority:5} {count}")

# An object is not needed where the label is all that you want.
mood = lm("Terrible phone, one star.", Literal["positive", "negative"])
print("mood:", mood)
