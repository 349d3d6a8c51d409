"""Reads invoices: money as Decimal and days as date, to add and compare."""

# --8<-- [start:class]
import argparse
import calendar
import json
import time
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

import schemagen


MONTH = f"({'|'.join(calendar.month_name[1:])})"
WRITTEN = rf"\d{{4}}-\d\d-\d\d|\d\d? {MONTH} \d{{4}}|{MONTH} \d\d?, \d{{4}}"


def day(words):
    """Return the date of a day as it is written in an invoice."""
    for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y"):
        with suppress(ValueError):
            return date(*time.strptime(words, form)[:3])
    raise ValueError(words)


# The model copies a day as it is written, and Python makes it a date.
Day = Annotated[
    date,
    BeforeValidator(day),
    WithJsonSchema({"type": "string", "pattern": f"^({WRITTEN})$"}),
]


class Invoice(BaseModel):
    """Who owes how much, until when."""

    number: Annotated[str, Field(max_length=12)]
    customer: Annotated[str, Field(max_length=40)]
    total: Annotated[Decimal, Field(ge=0, max_digits=9, decimal_places=2)]
    currency: Literal["EUR", "USD", "GBP"]
    issued: Day
    due: Day


# --8<-- [end:class]


# --8<-- [start:prompt]
SOLVED = {
    "Invoice X-17 of 8 August 2024: Ann Reed owes $75.00 until 5 May 2025.": (
        '{"number": "X-17", "customer": "Ann Reed", "total": 75.00, '
        '"currency": "USD", "issued": "8 August 2024", "due": "5 May 2025"}'
    ),
    "Bill 26 for Lee Inc, 1,340 EUR, March 9, 2023, pay by June 1, 2023.": (
        '{"number": "26", "customer": "Lee Inc", "total": 1340, '
        '"currency": "EUR", "issued": "March 9, 2023", "due": "June 1, 2023"}'
    ),
}


def prompt(text):
    """Return a chat that has read two invoices and gets the next."""
    chat = []
    for solved, answer in SOLVED.items():
        chat.append({"role": "user", "content": solved})
        chat.append({"role": "assistant", "content": answer})
    return [*chat, {"role": "user", "content": text}]


# --8<-- [end:prompt]


# --8<-- [start:main]
DATA = Path(__file__).parents[1] / "data" / "invoices.jsonl"


def main(lm):
    """Read each invoice, and compare it with the right answer."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    prompts = [prompt(row["text"]) for row in rows]
    found = lm.batch(prompts, Invoice, show_schema=False)
    right = dict.fromkeys(Invoice.model_fields, 0)
    for row, invoice in zip(rows, found, strict=True):
        if isinstance(invoice, schemagen.Failure):
            print("no invoice:", invoice.error.fact)
            continue
        days = (invoice.due - invoice.issued).days
        total = f"{invoice.total} {invoice.currency}"
        print(f"{invoice.number}, {invoice.customer}: {total}, {days} days")
        for name, wanted in Invoice(**row["expected"]):
            value = getattr(invoice, name)
            right[name] += value == wanted
            if value != wanted:
                print(f"    wrong {name}: {value}, not {wanted}")
    for name, count in right.items():
        print(f"{name}: {count} of {len(rows)} right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="name or path, else the bundled one")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
# --8<-- [end:main]
