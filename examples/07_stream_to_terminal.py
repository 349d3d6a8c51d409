"""Watch an object grow in the terminal: each snapshot is the typed object as far as it is written."""

import argparse
from pathlib import Path

from pydantic import BaseModel
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import schemagen
from schemagen.events import Completed, Snapshot


class Item(BaseModel):
    """A product and how many of it."""

    product: str
    quantity: int


class Order(BaseModel):
    """What a customer wants."""

    customer: str
    items: list[Item]
    paid: bool


def show(order: "schemagen.Partial[Order]") -> Group:
    """Draw an order of which parts may be missing: they are None."""
    table = Table("product", "quantity")
    for item in order.items or []:
        table.add_row(item.product or "", "" if item.quantity is None else str(item.quantity))
    return Group(Text(f"customer: {order.customer or ''}"), table)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "data" / "orders.txt")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()
lm = schemagen.load(args.model) if args.model else schemagen.load_bundled()

pieces = 0
for line in args.path.read_text(encoding="utf-8").splitlines():
    with Live(refresh_per_second=20) as live:
        for event in lm.stream(line, Order, partials=True):
            if isinstance(event, Snapshot):
                live.update(show(event.value))
            elif isinstance(event, Completed):
                pieces += sum(item.quantity for item in event.value.items)  # the whole, validated: an Order
    print()
print(f"{pieces} pieces to send")
