"""Whether the loop that reads ahead writes the same text as ``generate`` of transformers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from schemagen.decode.brevity import NAMES
from schemagen.decode.row_sampling import SAMPLING, can_sample_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


#: Settings of a generation_config that change nothing but how tokens are sampled.
_HARMLESS = frozenset({
    "bos_token_id", "eos_token_id", "pad_token_id", "max_length", "max_new_tokens", "do_sample", "temperature", "top_k",
    "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h", "transformers_version", "_from_model_config",
    "use_cache", "trust_remote_code",
})  # fmt: skip
#: Entries of a configuration that limit some layers to a window of the text, beside ``layer_types``.
_WINDOWS = ("sliding_window", "attention_types", "attention_window", "attention_chunk_size", "window_size")
#: Methods by which a class of models changes ``generate``.
_OF_GENERATE = ("generate", "prepare_inputs_for_generation", "_update_model_kwargs_for_generation", "_sample")
#: Options of ``generate`` that this loop also supports.
_KNOWN = frozenset({"do_sample", "max_new_tokens", "max_length", "streamer", "pad_token_id", *NAMES}) | SAMPLING


def can_read_ahead(model: Any, inputs: Mapping[str, torch.Tensor], options: Mapping[str, Any]) -> bool:
    """Whether `decode_ahead` writes the same text as ``model.generate`` with these inputs and (completed) options.

    This holds for greedy search and sampling without any other option or configuration that changes scores, for one
    prompt without padding, and for decoders that are called as transformers calls them by default, whose cache keeps
    every position and so can be cropped.
    """
    if not is_plain_decoder(model) or not _is_one_text(inputs):
        return False
    return chooses_by_scores(model, options)


def chooses_by_scores(model: Any, options: Mapping[str, Any]) -> bool:
    """Whether (completed) options of ``generate`` say no more than how tokens are drawn from the last scores, and how many."""
    given = {name for name, value in options.items() if value is not None}
    known = isinstance(options.get("do_sample"), bool) and given <= _KNOWN
    return known and can_sample_rows(model, dict(options))


def is_plain_decoder(model: Any) -> bool:
    """Whether a model can be called step by step as ``generate`` would call it, over a cache that keeps every position.

    This holds for decoders that are called as transformers calls them by default, and whose configuration, including
    that of generation, changes no scores.
    """
    from transformers import GenerationMixin, PreTrainedModel

    if not isinstance(model, PreTrainedModel):
        return False
    default = all(_function(model, name) is _function(GenerationMixin, name) for name in _OF_GENERATE)
    if not default or not _settings_of(model).keys() <= _HARMLESS:
        return False
    config = model.config.get_text_config()
    layers = getattr(config, "layer_types", None) or ["full_attention"]
    whole = set(layers) == {"full_attention"} and not any(getattr(config, name, None) for name in _WINDOWS)
    takes = inspect.signature(model.forward).parameters
    decoder = not getattr(model.config, "is_encoder_decoder", False) and not getattr(model, "_is_stateful", False)
    return (
        whole and decoder and not _depends_on_length(config) and {"past_key_values", "logits_to_keep"} <= takes.keys()
    )


def _function(owner: Any, name: str) -> Any:
    """The plain function of a method; None if it has none."""
    found = getattr(owner, name, None)
    return getattr(found, "__func__", found)


def _is_one_text(inputs: Mapping[str, torch.Tensor]) -> bool:
    """Whether the ids alone are the complete input."""
    if "input_ids" not in inputs or not inputs.keys() <= {"input_ids", "attention_mask"}:
        return False
    mask = inputs.get("attention_mask")
    return inputs["input_ids"].shape[0] == 1 and (mask is None or bool(mask.all()))


def _depends_on_length(config: Any) -> bool:
    """Whether rotary frequencies depend on the longest position of a pass, which may belong to a draft."""
    found = [getattr(config, name, None) for name in ("rope_parameters", "rope_scaling")]
    stated = [rope for rope in found if isinstance(rope, dict)]
    stated += [each for rope in stated for each in rope.values() if isinstance(each, dict)]
    return any({rope.get("rope_type"), rope.get("type")} & {"dynamic", "longrope"} for rope in stated)


def _settings_of(model: Any) -> dict[str, Any]:
    """The non-default settings of a model's generation_config."""
    config = getattr(model, "generation_config", None)
    if config is None:
        return {}
    # Flags that are off have no effect, even if that is not the default: models without their own configuration set
    # them.
    return {name: value for name, value in config.to_diff_dict().items() if value is not None and value is not False}
