"""From lines of text to a table, as CSV: `python 02_extract_to_csv.py people.txt --model Qwen/Qwen3-0.6B > people.csv`."""

import argparse
import csv
import sys
from pathlib import Path

from pydantic import BaseModel

import schemagen


class Person(BaseModel):
    """A row of the table."""

    name: str
    age: int
    city: str
    job: str


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "data" / "people.txt")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()

lm = schemagen.load(args.model) if args.model else schemagen.load_bundled()
lines = args.path.read_text(encoding="utf-8").splitlines()

table = csv.DictWriter(sys.stdout, fieldnames=list(Person.model_fields), lineterminator="\n")
table.writeheader()
for found in lm.batch(lines, Person):
    if isinstance(found, schemagen.Failure):
        print(found, file=sys.stderr)  # a row that fails harms no other
    else:
        table.writerow(found.model_dump())
