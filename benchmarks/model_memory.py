"""How much memory models take, from the sizes in their public configurations, and measured with a real model on this machine.

    python benchmarks/model_memory.py                     the table of families: no weights, no network
    python benchmarks/model_memory.py --measure           and SmolLM2, which `make real-model` fetches
    python benchmarks/model_memory.py --page              the tables of docs/guides/gpu-and-models.md

With peft and bitsandbytes on the path, ``--measure`` also loads the model with LoRA adapters and in 4 bits. For the table,
transformers builds every model without memory for its weights (on the device "meta"), so its parameters are counted, not
looked up. Bytes of the weights:

    bf16      2 for each parameter
    4 bits    0.5 for each weight of a linear layer, and 4 for each 64 of them, as bitsandbytes stores NF4; 2 for
              embeddings, norms and the output layer. The experts of gpt-oss are in MXFP4: 4.25 bits for each weight
    KV cache  2 (keys and values) x layers x key-value heads x size of a head x 2 for each token of each row, as if no
              layer forgot (layers with a sliding window do)
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

import harness
import page
import torch
import transformers
from accelerate import init_empty_weights
from pydantic import BaseModel
from rich.progress import track

import schemagen
from schemagen.decode.cached_rows import can_cache_rows
from schemagen.decode.speculation.eligibility import is_plain_decoder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

sys.path.insert(0, str(harness.ROOT))
from tests import real_model

PAGE = harness.ROOT / "docs" / "guides" / "gpu-and-models.md"
GIB, MIB = 2**30, 2**20
#: Weights that share a scale in NF4, and the bits of a weight in MXFP4.
BLOCK, MXFP4_BITS = 64, 4.25
TEXT = "Ada Lovelace, 36, London"


class Person(BaseModel):
    """The answer of the measured models."""

    name: str
    age: int
    city: str


class Sizes(NamedTuple):
    """The sizes in the configuration of a model.

    Attributes:
        architecture: The name of the configuration's class, without ``Config``.
        vocabulary: Rows of the embeddings.
        hidden: Width of a layer.
        inner: Width within a feed-forward layer.
        layers: How many there are.
        heads: Of the queries.
        key_value_heads: Of keys and values.
        head: Size of a head.
        tied: Whether the output layer shares the embeddings.
    """

    architecture: str
    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    key_value_heads: int
    head: int
    tied: bool


FAMILIES = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": Sizes("Llama", 49152, 576, 1536, 30, 9, 3, 64, tied=True),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": Sizes("Llama", 49152, 2048, 8192, 24, 32, 32, 64, tied=True),
    "HuggingFaceTB/SmolLM3-3B": Sizes("SmolLM3", 128256, 2048, 11008, 36, 16, 4, 128, tied=True),
    "Qwen/Qwen3-0.6B": Sizes("Qwen3", 151936, 1024, 3072, 28, 16, 8, 128, tied=True),
    "Qwen/Qwen3-4B": Sizes("Qwen3", 151936, 2560, 9728, 36, 32, 8, 128, tied=True),
    "Qwen/Qwen3-8B": Sizes("Qwen3", 151936, 4096, 12288, 36, 32, 8, 128, tied=False),
    "Qwen/Qwen3-32B": Sizes("Qwen3", 151936, 5120, 25600, 64, 64, 8, 128, tied=False),
    "meta-llama/Llama-3.2-1B-Instruct": Sizes("Llama", 128256, 2048, 8192, 16, 32, 8, 64, tied=True),
    "meta-llama/Llama-3.1-8B-Instruct": Sizes("Llama", 128256, 4096, 14336, 32, 32, 8, 128, tied=False),
    "mistralai/Mistral-7B-Instruct-v0.3": Sizes("Mistral", 32768, 4096, 14336, 32, 32, 8, 128, tied=False),
    "google/gemma-3-1b-it": Sizes("Gemma3Text", 262144, 1152, 6912, 26, 4, 1, 256, tied=True),
    "microsoft/Phi-4-mini-instruct": Sizes("Phi3", 200064, 3072, 8192, 32, 24, 8, 128, tied=True),
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B": Sizes("Qwen2", 152064, 3584, 18944, 28, 28, 4, 128, tied=False),
    "openai/gpt-oss-20b": Sizes("GptOss", 201088, 2880, 2880, 24, 64, 8, 64, tied=False),
}


def empty_model(sizes: Sizes) -> Any:
    """Return a model of these sizes without memory for its weights."""
    more = {"head_dim": sizes.head} if sizes.architecture != "Qwen2" else {}
    own: dict[str, Any] = {"Mistral": {"sliding_window": None}, "GptOss": {"num_local_experts": 32}}.get(
        sizes.architecture, {}
    )
    config = getattr(transformers, f"{sizes.architecture}Config")(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        intermediate_size=sizes.inner,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.key_value_heads,
        tie_word_embeddings=sizes.tied,
        pad_token_id=0,
        **more,
        **own,
    )
    with init_empty_weights():
        model = transformers.AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return model


def memory_of(sizes: Sizes) -> dict[str, Any]:
    """Return the parameters and bytes of a model."""
    model = empty_model(sizes)
    counts = {id(each): each.numel() for each in model.parameters()}
    head = model.get_output_embeddings()
    linear = sum(
        part.weight.numel() for part in model.modules() if isinstance(part, torch.nn.Linear) and part is not head
    )
    experts = sum(each.numel() for name, each in model.named_parameters() if ".experts." in name and "bias" not in name)
    four = experts * MXFP4_BITS / 8 if experts else linear * (0.5 + 4 / BLOCK)
    rest = sum(counts.values()) - (experts or linear)
    return {
        "parameters": sum(counts.values()),
        "bf16_bytes": 2 * sum(counts.values()),
        "four_bit_bytes": round(four + 2 * rest),
        "cache_bytes_of_token": 4 * sizes.layers * sizes.key_value_heads * sizes.head,
        "reads_ahead": is_plain_decoder(model),
        "queues_rows": can_cache_rows(model),
    }


# --- measured --------------------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the bytes of a real model in each precision, and its answers, with and without an adapter."""
    cache = real_model.cache() if options.model.suffix == ".gguf" else None
    whole = schemagen.load(options.model, dtype="float32", device_map=None, cache=cache)
    found: dict[str, Any] = {"model": options.label, **harness.run_record(), "ways": {}}
    with tempfile.TemporaryDirectory() as folder:
        whole.model.save_pretrained(folder)
        whole.tokenizer.save_pretrained(folder)
        for name, keywords in _precisions().items():
            found["ways"][name] = _answered(schemagen.load(folder, device_map=None, **keywords))
        if (adapted := _adapted(folder)) is not None:
            found["ways"].update(adapted)
    found["cache_bytes_of_token"] = _cache_bytes(whole) // 2  # it was computed in float32
    return found


def _precisions() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {"float32": {"dtype": "float32"}, "bfloat16": {"dtype": "bfloat16"}}
    try:
        import bitsandbytes  # noqa: F401 - transformers uses it
    except ImportError:
        return found
    plan = transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )
    return {**found, "4 bits": {"dtype": "bfloat16", "quantization_config": plan}}


def _answered(lm: Any) -> dict[str, Any]:
    answer = lm.run(TEXT, Person, max_new_tokens=64)
    return {"bytes": lm.model.get_memory_footprint(), "text": answer.text, "passes": answer.passes}


def _adapted(folder: str) -> dict[str, Any] | None:
    """Return the answers with a LoRA adapter (fresh: it changes nothing) in each way to load it; None without peft."""
    try:
        import peft
    except ImportError:
        return None

    base = schemagen.load(folder, device_map=None, dtype="float32")
    plan = peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    wrapped = peft.get_peft_model(base.model, plan)
    with tempfile.TemporaryDirectory() as adapter:
        wrapped.save_pretrained(adapter)
        loaded = schemagen.load(folder, device_map=None, dtype="float32")
        loaded.model.load_adapter(adapter)
        ways = {
            "LoRA, `load_adapter`": loaded,
            "LoRA, peft's own model": schemagen.from_transformers(wrapped, base.tokenizer),
        }
        found = {name: _answered(lm) for name, lm in ways.items()}
    merged = schemagen.from_transformers(wrapped.merge_and_unload(), base.tokenizer)
    return {**found, "LoRA, merged": _answered(merged)}


def _cache_bytes(lm: Any) -> int:
    """Return the bytes of the KV cache for each token."""
    ids = lm.tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        kept = lm.model(**ids, use_cache=True).past_key_values
    return sum(part.nbytes for layer in kept.layers for part in (layer.keys, layer.values)) // ids["input_ids"].numel()


# --- the page --------------------------------------------------------------------------------------------------------


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables by the names of their marks."""
    heads = ("model", "parameters", "bf16", "4 bits", "KV cache of 1,000 tokens", "reads ahead, queues rows")
    rows = [
        (
            f"`{name}`",
            f"{one['parameters'] / 1e9:.2f} billion",
            f"{one['bf16_bytes'] / GIB:.1f} GiB",
            f"{one['four_bit_bytes'] / GIB:.1f} GiB",
            f"{1000 * one['cache_bytes_of_token'] / MIB:,.0f} MiB",
            "yes" if one["reads_ahead"] and one["queues_rows"] else "no",
        )
        for name, one in results["families"].items()
    ]
    found = {"families": page.table(heads, rows)}
    if measured := results.get("measured"):
        cells = [
            (way, f"{one['bytes'] / MIB:,.0f} MiB", "yes" if one["passes"] else "no", f"`{one['text']}`")
            for way, one in measured["ways"].items()
        ]
        found["measured"] = page.table(("loaded as", "weights", "reads ahead", "answer"), cells)
    return found


def origin(results: Mapping[str, Any]) -> str:
    """Return the source of the measured numbers, and the computed ones of the same model."""
    measured = results["measured"]
    computed = results["families"][f"HuggingFaceTB/{measured['model']}"]
    where = f"{measured['date']}, commit {measured['commit']}, {measured['machine']['cpu']}"
    bf16, four = (f"{computed[key] / MIB:,.0f} MiB" for key in ("bf16_bytes", "four_bit_bytes"))
    return (
        f"{measured['model']} on the CPU, {where}. The adapter is fresh, so it changes no answer. Computed for this model: "
        f"{bf16} in bf16, and {four} in 4 bits with the scales of the blocks, which `get_memory_footprint` leaves out. "
        f"The KV cache took {measured['cache_bytes_of_token']:,} bytes for each token in bf16; computed: "
        f"{computed['cache_bytes_of_token']:,}."
    )


def render(text: str, record: Mapping[str, Any]) -> str:
    """Return the text of the page with the tables between their marks."""
    parts = tables(record["results"])
    if "measured" in parts:
        parts["origin"] = origin(record["results"])
    return page.between_marks(text, "models", parts)


def main(arguments: list[str] | None = None) -> int:
    """Compute and measure, or write the page."""
    made = harness.parser(__doc__, "model_memory")
    harness.model_options(made)
    made.add_argument("--measure", action="store_true", help="also load the model in each way")
    made.add_argument("--page", action="store_true", help="write the tables of the committed result into the page")
    options = made.parse_args(arguments)
    if options.page:
        PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), page.load()["model_memory"][-1]), encoding="utf-8")
        return 0
    results: dict[str, Any] = {"families": {name: memory_of(sizes) for name, sizes in track(FAMILIES.items())}}
    if options.measure:
        results["measured"] = measure(options)
    elif options.out.is_file():  # measured numbers stay
        results.update(json.loads(options.out.read_text(encoding="utf-8"))["results"] | results)
    harness.write_result(options.out, "model_memory", {"seed": options.seed}, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
