"""The cost of a constraint with the model on a GPU: masks on the device, masks from the host, and no constraint.

    python benchmarks/device_overhead.py --tokenizer llama3 --device cuda

One model in the shape of a Llama of 1.2 billion parameters (random weights, bfloat16) generates with 32 rows, greedily
and without an end; `decode_overhead.py` says how the steps are compared. ``--device cpu`` runs a model that is far
too small to say anything about a GPU: it shows that the script works.

    ratio             seconds of a step without a constraint / seconds of a step with it
    processor         milliseconds of a step that the processor itself takes, waiting for the device before and after, median
    synchronisations  how often a step of the processor waits for the device, counted by torch
                      (``torch.cuda.set_sync_debug_mode``); null on a CPU
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import decode_overhead
import harness
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import schemagen
from schemagen.decode import DeviceLogitsProcessor, LogitsProcessor
from schemagen.device import DeviceTables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

#: The shape of the model and the batch, by device.
SIZES = {
    "cuda": {"rows": 32, "hidden": 2048, "layers": 16, "heads": 32, "key_value_heads": 8, "inner": 8192, "steps": 64},
    "cpu": {"rows": 4, "hidden": 64, "layers": 2, "heads": 4, "key_value_heads": 2, "inner": 128, "steps": 8},
}
DTYPES = {"cuda": torch.bfloat16, "cpu": torch.float32}


def llama(width: int, options: argparse.Namespace) -> Any:
    """Return a model with random weights; embeddings and head share theirs."""
    torch.manual_seed(options.seed)
    config = LlamaConfig(
        vocab_size=width,
        hidden_size=options.hidden,
        intermediate_size=options.inner,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        num_key_value_heads=options.key_value_heads,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval().to(options.device, DTYPES[options.device])


def contenders(grammar: Any, options: argparse.Namespace) -> dict[str, Callable[[], Any] | None]:
    """Return what makes the processors; each is given to one generation."""
    return {
        decode_overhead.FREE: None,
        "device": lambda: DeviceLogitsProcessor(grammar, max_states=options.max_states),
        "host": lambda: LogitsProcessor(grammar),
    }


def synchronisations(make: Callable[[], Any], width: int, options: argparse.Namespace) -> float | None:
    """Return how often a step of a processor waits for the device; None where there is none to wait for.

    The tables are made by the first step, which does not count.
    """
    if options.device != "cuda":
        return None
    processor, waits = make(), 0
    generator = torch.Generator(options.device).manual_seed(options.seed)
    ids = torch.randint(0, 100, (options.rows, 8), generator=generator, device=options.device)
    for step in range(options.steps + 1):
        scores = torch.randn(options.rows, width, generator=generator, device=options.device)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                masked = processor(ids, scores)
            finally:
                torch.cuda.set_sync_debug_mode("default")
        waits += sum("synchroniz" in str(warning.message) for warning in caught) if step else 0
        ids = torch.cat([ids, masked.argmax(-1, keepdim=True)], dim=-1)
    return waits / options.steps


def tables_of(grammar: Any, width: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return what the tables of the grammar are like, and the seconds that it took to make them."""
    started = time.perf_counter()
    tables = DeviceTables([grammar], options.device, width=width, max_states=options.max_states)
    kept = tables.tensors
    parts = (kept.classes, kept.transitions, kept.masks, kept.mask_ids, kept.needed, kept.ready)
    return {
        "closed": tables.is_closed,
        "states": len(kept.ready),
        "bytes": sum(part.nbytes for part in parts),
        "seconds": round(time.perf_counter() - started, 3),
    }


def measure(model: Any, tokenizer: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the results."""
    width = model.get_output_embeddings().out_features
    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=width)
    grammar = schemagen.compile(decode_overhead.schema(), vocabulary, whitespace="compact")
    tables = tables_of(grammar, width, options)
    makers = contenders(grammar, options)
    generator = torch.Generator().manual_seed(options.seed)
    races = []
    for _ in range(options.repeats):
        shape = (options.rows, decode_overhead.PROMPT_TOKENS)
        prompts = torch.randint(0, len(tokenizer), shape, generator=generator).to(options.device)
        races.append(decode_overhead.race(model, prompts, makers, options.steps + decode_overhead.WARM_UP))
    rows = decode_overhead.compare(races, options.rows)
    for row in rows:
        make = makers[row["processor"]]
        row["synchronisations"] = None if make is None else synchronisations(make, width, options)
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "vocabulary": width,
        "tables": tables,
        "rows": rows,
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options; sizes that were not given are those of the device."""
    made = harness.parser(__doc__, "device_overhead")
    made.add_argument("--device", choices=SIZES, default="cuda")
    made.add_argument("--repeats", type=int, default=3, help="generations of each contender")
    made.add_argument("--max-states", type=int, default=20_000, help="states of the grammar to work out in advance")
    for name in SIZES["cuda"]:
        made.add_argument("--" + name.replace("_", "-"), type=int)
    options = made.parse_args(arguments)
    for name, value in SIZES[options.device].items():
        setattr(options, name, getattr(options, name) or value)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    options = parse(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        print(
            "device_overhead: torch finds no CUDA device, and this benchmark is about one. "
            "`--device cpu` runs it small, which measures nothing of interest.",
            file=sys.stderr,
        )
        return 2
    tokenizer = harness.load_tokenizer(options.tokenizer)
    found = measure(llama(len(tokenizer), options), tokenizer, options)
    for row in found["rows"]:
        print(
            f"{row['processor']}: {row['tokens_per_s']:,.1f} tokens/s, ratio {row['ratio']:.3f}, "
            f"processor {row['processor_ms']:.3f} ms, synchronisations a step {row['synchronisations']}"
        )
    settings = {
        "tokenizer": options.tokenizer.name,
        "repeats": options.repeats,
        "seed": options.seed,
        "device": torch.cuda.get_device_name() if options.device == "cuda" else options.device,
        **{name: getattr(options, name) for name in SIZES[options.device]},
    }
    harness.write_result(options.out, "device_overhead", settings, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
