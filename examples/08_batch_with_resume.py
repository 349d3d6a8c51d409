"""JSON Lines in, JSON Lines out; a second run does only the missing rows.

`schemagen batch` on the command line does the same. Written out, so that you can put your own storage in its place.
"""

import argparse
import json
import tempfile
from itertools import islice
from pathlib import Path

from pydantic import BaseModel

import schemagen


class Contact(BaseModel):
    """How to reach somebody."""

    name: str
    email: str | None
    phone: str | None


def has_value(line: str) -> bool:
    """Tell whether a line of the output can stay: failures are tried again, and a crash may leave half a line."""
    try:
        return "value" in json.loads(line)
    except ValueError:
        return False


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "data" / "messages.jsonl")
output = Path(tempfile.gettempdir(), "schemagen-examples", "batch-with-resume", "contacts.jsonl")
parser.add_argument("--output", type=Path, default=output, help="default: %(default)s")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()
args.output.parent.mkdir(parents=True, exist_ok=True)

# Values of two types or models must not mix in one file, so a record of both is kept next to it.
made_with, record = {"schema": Contact.model_json_schema(), "model": args.model}, args.output.with_suffix(".meta.json")
if args.output.exists() and (not record.exists() or json.loads(record.read_text(encoding="utf-8")) != made_with):
    raise SystemExit(f"{args.output} was made with another type or model: choose another --output")
record.write_text(json.dumps(made_with), encoding="utf-8")

before = args.output.read_text(encoding="utf-8").splitlines() if args.output.exists() else []
kept = {json.loads(line)["id"]: line for line in before if has_value(line)}
beside = args.output.with_suffix(".part")
beside.write_text("".join(f"{line}\n" for line in kept.values()), encoding="utf-8")
beside.replace(args.output)

rows = args.path.read_text(encoding="utf-8").splitlines()
todo = (row for row in map(json.loads, rows) if row["id"] not in kept)
lm = schemagen.load(args.model) if args.model else schemagen.load_bundled()
values = failures = 0
while window := list(islice(todo, 64)):  # a crash costs one window at most
    with args.output.open("a", encoding="utf-8") as output:
        for row, found in zip(window, lm.batch([row["prompt"] for row in window], Contact), strict=True):
            failed = isinstance(found, schemagen.Failure)
            answer = {"error": found.error.code} if failed else {"value": found.model_dump(mode="json")}
            print(json.dumps({"id": row["id"], **answer}), file=output)
            failures, values = failures + failed, values + (not failed)
print(f"{len(kept)} kept, {values} new, {failures} failed")
