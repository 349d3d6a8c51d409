"""One process per GPU, each with its own shard of the rows and a file of its own; started again, it goes on.

    accelerate launch examples/13_many_gpus.py --model Qwen/Qwen3-8B
    torchrun --nproc-per-node 8 examples/13_many_gpus.py --model Qwen/Qwen3-8B

The command `torchrun ... -m schemagen batch SPEC INPUT --output FILE --shard auto` does the same.
"""

import argparse
import tempfile
from pathlib import Path

import torch
from accelerate import PartialState
from pydantic import BaseModel

import schemagen
from schemagen import rows


class Contact(BaseModel):
    """How to reach somebody."""

    name: str
    email: str | None
    phone: str | None


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", default=str(Path(__file__).parent / "data" / "messages.jsonl"))
folder = Path(tempfile.gettempdir(), "schemagen-examples", "many-gpus")
parser.add_argument("--output", type=Path, default=folder / "contacts.jsonl", help="default: %(default)s")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()
args.output.parent.mkdir(parents=True, exist_ok=True)

state = PartialState(cpu=not torch.cuda.is_available())  # knows the rank of this process and its device
shard = rows.Shard(state.process_index + 1, state.num_processes)
output = args.output.with_stem(args.output.stem + shard.suffix)  # no two processes write into one file


def load() -> rows.Answer:
    """Load the model onto the device of this process; not called when there is nothing left to do."""
    lm = schemagen.load(args.model, device_map=state.device) if args.model else schemagen.load_bundled()
    return rows.answers_of(lm, Contact)


key = rows.RunKey.of("Contact", Contact, model=args.model, shard=shard.suffix)  # what the values depend on
sink = rows.Output(output, rows.format_of(output, Contact), key, resume=True)
summary = rows.RowsRun(rows.open_source(args.path), sink, load, shard).run(output)
print(f"{output.name}: {summary.kept} kept, {summary.values} new, {summary.failed} failed")
