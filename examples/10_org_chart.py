"""A type that contains itself: an employee has reports, who have reports, ...

A model that knows nested answers fills `Employee` in one call (`--model`). The bundled one was never taught nesting, so here
it reads one sentence at a time, which it does well, and Python puts the chart together. What holds for every model, the
bundled one included, is shown at the end: whatever it writes is an `Employee`, complete, and within its budget.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import BaseModel
from rich import print as show
from rich.tree import Tree

import schemagen


class Position(BaseModel):
    """What one sentence says."""

    name: str
    boss: str | None


class Employee(BaseModel):
    """Somebody and everybody below."""

    name: str
    reports: list[Employee] = []


def drawn(employee: Employee) -> Tree:
    """Return the chart below somebody as a tree of rich."""
    tree = Tree(employee.name)
    tree.children.extend(drawn(each) for each in employee.reports)
    return tree


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "data" / "staff.txt")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()
text = args.path.read_text(encoding="utf-8")

if args.model:
    show(drawn(schemagen.load(args.model)(text, Employee)))
else:
    lm = schemagen.load_bundled()
    positions = [lm(line, Position) for line in text.splitlines()]
    staff = {position.name: Employee(name=position.name) for position in positions}
    for position in positions:
        if position.boss is not None:
            staff[position.boss].reports.append(staff[position.name])
    show(*(drawn(staff[position.name]) for position in positions if position.boss is None))

    charts = [lm(text, Employee, temperature=2.0, seed=seed, max_new_tokens=60) for seed in range(20)]
    good = sum(isinstance(chart, Employee) for chart in charts)
    print(f"{good} of {len(charts)} random answers of at most 60 tokens are charts")
