"""Money as `Decimal` and days as `date`, so that a program can add and compare them."""

import argparse
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import schemagen

Money = Annotated[Decimal, Field(ge=0, max_digits=9, decimal_places=2)]  # the mask allows nothing else


class Invoice(BaseModel):
    """Who owes how much, until when."""

    number: str
    customer: str
    total: Money
    currency: Literal["EUR", "USD", "GBP"]
    issued: date
    due: date


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "data" / "invoices.txt")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()
lm = schemagen.load(args.model) if args.model else schemagen.load_bundled()

totals: defaultdict[str, Decimal] = defaultdict(Decimal)
for line in args.path.read_text(encoding="utf-8").splitlines():
    invoice = lm(line, Invoice)
    totals[invoice.currency] += invoice.total
    days = (invoice.due - invoice.issued).days
    print(f"{invoice.number:8} {invoice.customer:13} {invoice.total:>8.2f} {invoice.currency}  {days} days to pay")
print("together:", ", ".join(f"{total:.2f} {currency}" for currency, total in totals.items()))
