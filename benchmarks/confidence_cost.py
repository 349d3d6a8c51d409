"""What recording confidence costs: batches with and without it, by turns, in CPU seconds.

    python benchmarks/confidence_cost.py --tokenizer llama3

A Llama with random weights and the vocabulary of the tokenizer writes rows over one schema, each with its own prompt. The two
ways take turns and change their order from pair to pair; the cost is the median over the pairs of the CPU seconds with records
divided by those without, less 1.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import harness
import torch
from decode_overhead import PROMPT_TOKENS, random_llama, schema

import schemagen
from schemagen.decode.batch import Row, decode_batch


def seconds(model: Any, grammar: Any, prompts: list[tuple[int, ...]], steps: int, *, notes: bool) -> float:
    """Return the CPU seconds of a batch."""
    rows = [Row(prompt, grammar, notes=notes) for prompt in prompts]
    began = time.process_time()
    for _, found in decode_batch(model, rows, batch_size=len(rows), max_new_tokens=steps, pad_token_id=0):
        if isinstance(found, Exception):
            raise found
    return time.process_time() - began


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the result."""
    made = harness.parser(__doc__, "confidence_cost")
    made.add_argument("--batches", type=int, nargs="+", default=[8], help="rows at a time")
    made.add_argument("--steps", type=int, default=96, help="tokens of a row")
    made.add_argument("--pairs", type=int, default=7, help="pairs of batches, of which the first does not count")
    made.add_argument("--hidden", type=int, default=1024, help="width of the model")
    made.add_argument("--layers", type=int, default=8, help="layers of the model")
    made.add_argument("--threads", type=int, default=1, help="threads of torch")
    made.add_argument("--device", default="cpu")
    options = made.parse_args(arguments)
    torch.set_num_threads(options.threads)
    vocabulary = schemagen.Vocabulary.from_tokenizer(harness.load_tokenizer(options.tokenizer))
    model = random_llama(vocabulary.size, options)
    grammar = schemagen.compile(schema(), vocabulary, cache=None)
    draw = torch.Generator().manual_seed(options.seed)
    results: dict[str, Any] = {}
    for batch in options.batches:
        ratios, plain = [], []
        for pair in range(options.pairs):
            ids = torch.randint(0, vocabulary.size, (batch, PROMPT_TOKENS), generator=draw)
            prompts = [tuple(row) for row in ids.tolist()]
            order = (False, True) if pair % 2 else (True, False)
            took = {notes: seconds(model, grammar, prompts, options.steps, notes=notes) for notes in order}
            if pair:
                ratios.append(took[True] / took[False])
                plain.append(took[False])
        results[f"{batch} rows"] = {
            "cost": statistics.median(ratios) - 1,
            "pairs": [round(ratio - 1, 4) for ratio in ratios],
            "step_ms": 1000 * statistics.median(plain) / options.steps,
        }
        print(f"{batch} rows: {results[f'{batch} rows']}", flush=True)
    settings = {name: getattr(options, name) for name in ("steps", "pairs", "hidden", "layers", "threads", "seed")}
    settings |= {"tokenizer": Path(options.tokenizer).name, "tokens": vocabulary.size}
    harness.write_result(options.out, "confidence_cost", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
