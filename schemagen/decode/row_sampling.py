"""Sampling in which every row has random numbers of its own.

transformers draws the tokens of all rows from one generator, so each row depends on its neighbours. Here each row has
its own seeded generator and uses one number per step: the row is the same text alone and in any batch, as far as the
logits allow (matrix products of other shapes round differently, in float32 at the seventh digit).

Mechanism: a logits processor after the mask applies the warpers of transformers (temperature, top-k, ...), inverts the
cumulative distribution at the random number, and leaves only that token; ``generate`` then searches greedily. Rejected:
Gumbel noise on the scores, which needs as many numbers per row as there are tokens; and seeding torch globally, which
is neither per row nor thread-safe.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers import LogitsProcessor as TransformersLogitsProcessor
from transformers.generation import logits_process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    #: From ``input_ids`` int64 [B, T] and scores float [B, V] to scores.
    Warper = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

#: Option -> class of transformers, its argument, transformers' default, and the value that has no effect; in the order
#: in which transformers applies them.
_WARPERS: tuple[tuple[str, str, str, Any, Any], ...] = (
    ("temperature", "TemperatureLogitsWarper", "temperature", 1.0, 1.0),
    ("top_h", "TopHLogitsWarper", "top_h", None, None),
    ("top_k", "TopKLogitsWarper", "top_k", 50, 0),
    ("top_p", "TopPLogitsWarper", "top_p", 1.0, 1.0),
    ("min_p", "MinPLogitsWarper", "min_p", None, None),
    ("typical_p", "TypicalLogitsWarper", "mass", 1.0, 1.0),
    ("epsilon_cutoff", "EpsilonLogitsWarper", "epsilon", 0.0, 0.0),
    ("eta_cutoff", "EtaLogitsWarper", "epsilon", 0.0, 0.0),
)
SAMPLING = frozenset(name for name, *_ in _WARPERS)
#: Ways of sampling that are more than a choice from the last scores.
_OTHER_WAYS = ("assistant_model", "prompt_lookup_num_tokens", "penalty_alpha", "dola_layers", "custom_generate")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; each default leaves the distribution as it is.

    Attributes:
        temperature: Divides the logits.
        top_h: Draw from the likeliest tokens whose entropy is at most this share of that of all; None to draw from all.
        top_k: Draw from so many tokens; 0: from all.
        top_p: Draw from the likeliest tokens that together have this probability.
        min_p: Draw from tokens that are at least this likely, the likeliest being 1.
        typical_p: Draw from tokens of typical information that together have this probability.
        epsilon_cutoff: Draw from tokens of at least this probability.
        eta_cutoff: The same, with a bound that follows the entropy.
    """

    temperature: float = 1.0
    top_h: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    min_p: float | None = None
    typical_p: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0

    def warpers(self, device: str) -> list[Warper]:
        """Return the warpers of transformers for it, for scores on a device."""
        return warpers_of(asdict(self), device)


class RowSampler(TransformersLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Leaves one token per row: the one that the generator of the row draws.

    Args:
        seeds: One per row of the batch; or a generator, which continues from its state.
        warpers: Applied to the scores first.
    """

    supports_continuous_batching = False

    def __init__(self, seeds: Sequence[int | torch.Generator], warpers: Sequence[Warper] = ()) -> None:
        # On the CPU, so that a seed gives the same numbers on every device.
        self._generators = [
            seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed) for seed in seeds
        ]
        self._warpers = warpers

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores [B, V] that are 0 at the drawn token and ``-inf`` elsewhere.

        Cost: a softmax and a cumulative sum in float64 on the device of the scores, one number per row copied to it.
        """
        tokens = self._drawn(self._distributions(input_ids, scores)).to(scores.device)
        return torch.full_like(scores, float("-inf")).scatter_(1, tokens, 0.0)

    def _distributions(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the distribution of each token, float64 [B, V], on the device of the scores if it supports float64."""
        for warp in self._warpers:
            scores = warp(input_ids, scores)
        where = scores.device if scores.device.type != "mps" else torch.device("cpu")  # no float64 on MPS
        return torch.softmax(scores.to(where, torch.float64), dim=-1)

    def _drawn(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Draw a token for each row, int64 [B, 1]; the probabilities [B, V] need not add up to 1."""
        sums = probabilities.cumsum(dim=-1)
        numbers = torch.cat([torch.rand(1, dtype=torch.float64, generator=each) for each in self._generators])
        # Below 1 even after the product, so that the last token of probability 0 is never reached.
        targets = numbers.clamp(max=1 - 1e-12).to(sums.device).unsqueeze(-1) * sums[:, -1:]
        return torch.searchsorted(sums, targets, right=True)

    @property
    def is_plain(self) -> bool:
        """Whether masking before the warpers equals masking after them, which holds for a temperature alone."""
        return all(isinstance(warp, logits_process.TemperatureLogitsWarper) for warp in self._warpers)

    def probabilities(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the distribution of the next token of the only row: float64 [V], on the CPU, from float [1, V]."""
        return self._distributions(torch.empty((1, 0), dtype=torch.int64), scores.cpu())[0]

    def draw(self, probabilities: torch.Tensor) -> int:
        """Draw a token of the only row, the same token that calling the sampler would leave.

        Args:
            probabilities: float64 [V], not negative; they need not add up to 1.
        """
        return int(self._drawn(probabilities.unsqueeze(0)))

    def uniform(self) -> float:
        """Draw a number between 0 and 1 for the only row."""
        return float(torch.rand(1, dtype=torch.float64, generator=self._generators[0]))


def samples(model: Any, options: dict[str, Any]) -> bool:
    """Whether ``generate`` would sample with these options."""
    return bool(effective_option(model, options, "do_sample"))


def can_sample_rows(model: Any, options: dict[str, Any]) -> bool:
    """Whether a `RowSampler` can replace the sampling of ``generate``: not for beams and assisted decoding."""
    beams = effective_option(model, options, "num_beams", 1)
    watermark = effective_option(model, options, "watermarking_config")
    return beams == 1 and watermark is None and not any(options.get(way) is not None for way in _OTHER_WAYS)


def row_sampler(model: Any, options: dict[str, Any], seeds: Sequence[int], *, device: str | None = None) -> RowSampler:
    """Return the sampler that these options describe; its scores are on ``device``, or on that of the model if None."""
    return RowSampler(seeds, sampling_of(model, options).warpers(device or str(model.device)))


def sampling_of(model: Any, options: Mapping[str, Any]) -> Sampling:
    """Return how these options of ``generate``, and the defaults of a model, draw tokens."""
    effective = {name: effective_option(model, options, name, default) for name, _, _, default, _ in _WARPERS}
    return Sampling(**{name: value for name, value in effective.items() if value is not None})


def warpers_of(options: Mapping[str, Any], device: str) -> list[Warper]:
    """Return the warpers of transformers that these options describe, in transformers' order."""
    warpers = []
    for name, class_name, argument, _, idle in _WARPERS:
        value = options.get(name)
        if value is None or value == idle:
            continue
        arguments = {argument: value}
        if name == "eta_cutoff":
            arguments["device"] = device
        warpers.append(getattr(logits_process, class_name)(**arguments))
    return warpers


def effective_option(model: Any, options: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """The value of an option: given, else of the given generation_config, else of the model's, else transformers' own."""
    if options.get(name) is not None:
        return options[name]
    for config in (options.get("generation_config"), getattr(model, "generation_config", None)):
        value = getattr(config, name, None)
        if value is not None:
            return value
    return default
