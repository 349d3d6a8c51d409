"""`schemagen batch` over a million rows: memory over time, rows per second, and recovery after being killed.

    python benchmarks/batch_rows.py --rows 1000000
    python benchmarks/batch_rows.py --rows 200000 --kills 20

The model answers at once: ready-made texts replace its decoding loop. Everything else is as in the command, in its own
process: reading Parquet, prompts, tokens, the check of each value, the output, its record. With `--only-rows` the
prompts, their tokens and the checks are left out, too, so that only reading and writing are measured. The memory of that
process is read four times a second. With `--kills` it is killed (SIGKILL) at random moments, and started again with
`--resume`; at the end each row must be there once, in order, with its own value.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: A struct of a name and a number.
SPEC = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
MIB = 2**20
_PIECE = 50_000


def answer_at_once() -> None:
    """Put what the model would write in the place of the decoding loop: the number that the prompt ends with."""
    import schemagen
    from schemagen.decode import batch
    from schemagen.decode.generate import Decoded

    tokenizer = schemagen.load_bundled().tokenizer

    def decode(_model: Any, rows: Any, **_options: Any) -> Iterator[tuple[int, Any]]:
        texts = tokenizer.batch_decode([row.token_ids for row in rows])
        for index, text in enumerate(texts):
            number = int(re.findall(r"person number ([0-9]+)", text)[-1])
            written = json.dumps({"name": f"Person {number}", "age": number})
            yield index, Decoded(written, (1, 2, 3), len(rows[index].token_ids), 0.0, None)

    batch.decode_batch = decode  # type: ignore[assignment]


def only_rows() -> None:
    """Put values in the place of all generation."""
    from schemagen.generation import Generation
    from schemagen.rows import run

    def generate(_batch: Any, prompts: list[str], *_spec: Any, **_options: Any) -> list[Any]:
        numbers = [int(prompt.rpartition(" ")[2]) for prompt in prompts]
        texts = [json.dumps({"name": f"Person {number}", "age": number}) for number in numbers]
        return [Generation(None, text, (1, 2, 3), 9, 0.0, None) for text in texts]

    run.generate_batch = generate  # type: ignore[assignment]


def write_input(path: Path, rows: int) -> None:
    """Write a table of prompts with ids."""
    schema = pa.schema([("id", pa.string()), ("prompt", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, _PIECE):
            numbers = range(start, min(rows, start + _PIECE))
            columns = [[f"row-{number}" for number in numbers], [f"person number {number}" for number in numbers]]
            writer.write_table(pa.table(columns, schema=schema))


def start(source: Path, output: Path, fast: Sequence[str], *more: str) -> subprocess.Popen[bytes]:
    """Start the command with the fast model."""
    arguments = ["batch", json.dumps(SPEC), str(source), "--output", str(output), *more]
    return subprocess.Popen([sys.executable, __file__, *fast, *arguments])


def watch(process: subprocess.Popen[bytes]) -> list[tuple[float, float]]:
    """Return seconds and MiB of resident memory, until a process ends."""
    began, found = time.monotonic(), []
    seen = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            found.append((time.monotonic() - began, seen.memory_info().rss / MIB))
        except psutil.NoSuchProcess:
            break
        time.sleep(0.25)
    return found


def check(output: Path, rows: int) -> None:
    """Refuse an output that has not each row once, in order, with its value."""
    expected = 0
    for batch in pq.ParquetFile(output).iter_batches():
        for row in batch.to_pylist():
            value = {"name": f"Person {expected}", "age": expected}
            assert (row["index"], row["id"], row["value"]) == (expected, f"row-{expected}", value), row
            expected += 1
    assert expected == rows, f"{expected} of {rows} rows"


def measure(folder: Path, rows: int, fast: Sequence[str]) -> dict[str, Any]:
    """Return what an undisturbed run takes."""
    source, output = folder / "in.parquet", folder / "out.parquet"
    write_input(source, rows)
    began = time.monotonic()
    process = start(source, output, fast)
    memory = watch(process)
    seconds = time.monotonic() - began
    assert process.returncode == 0, "the command failed"
    check(output, rows)
    tenths = [max(mib for at, mib in memory if at <= seconds * part / 10) for part in range(1, 11)]
    return {
        "rows": rows,
        "seconds": round(seconds, 1),
        "rows_per_second": round(rows / seconds),
        "peak_mib": round(max(mib for _, mib in memory)),
        "peak_mib_after_tenths": [round(mib) for mib in tenths],
    }


def torture(folder: Path, rows: int, kills: int, seed: int, fast: Sequence[str]) -> dict[str, Any]:
    """Return how often a run was killed and how far it came each time."""
    source, output = folder / "in.parquet", folder / "out.parquet"
    write_input(source, rows)
    (folder / "whole").mkdir()
    whole = measure(folder / "whole", rows, fast)["seconds"]
    size = _record(folder / "whole" / "out.parquet")["bytes"]
    chance = random.Random(seed)
    part, made = (output.with_name(output.name + ending) for ending in (".part", ".tmp"))
    moments = sorted(chance.random() for _ in range(kills))
    killed: list[list[Any]] = []
    begun = False
    while moments:
        process = start(source, output, fast, *(["--resume"] if begun else []))
        # One in five while the rows are turned into Parquet, the others when so much of them is written, even half a window.
        ended = moments[0] > 0.8
        while not (made.exists() if ended else part.exists() and part.stat().st_size > moments[0] / 0.8 * size):
            if process.poll() is not None:
                break
            time.sleep(0.002)
        time.sleep(0 if ended else chance.random() / 20)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:  # it had finished before: start again, without its output
            assert process.returncode == 0, "the command failed"
            output.unlink()
            begun = False
            continue
        moments.pop(0)
        begun = True
        written = part.stat().st_size if part.exists() else 0  # it is gone once the output is there
        killed.append([_record(output)["rows"], written, made.exists()])
        made.unlink(missing_ok=True)
    assert start(source, output, fast, "--resume").wait() == 0, "the command failed"
    check(output, rows)
    return {"rows": rows, "kills": len(killed), "rows_counted_bytes_written_and_converting": killed, "seconds": whole}


def _record(output: Path) -> dict[str, Any]:
    """Return the record of an output."""
    path = output.with_name(output.name + ".meta.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": 0}


def main(arguments: list[str] | None = None) -> int:
    """Measure, or be the measured command."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] in (["--command"], ["--command-only-rows"]):
        from schemagen.cli import main as command

        answer_at_once() if given[0] == "--command" else only_rows()
        command(given[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only-rows", action="store_true")
    args = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fast = ["--command-only-rows" if args.only_rows else "--command"]
        kills = args.kills
        found = torture(folder, args.rows, kills, args.seed, fast) if kills else measure(folder, args.rows, fast)
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
