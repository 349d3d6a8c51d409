"""Sampling in which every row has random numbers of its own.

transformers draws the tokens of all rows from one generator, so each row depends on its neighbours. Here each row has
its own seeded generator and uses one number per step: the row is the same text alone and in any batch, as far as the
logits allow (matrix products of other shapes round differently, in float32 at the seventh digit).

Rules of a grammar may have temperatures (`Matcher.temperature`), which go before that of the call, token by token.

Mechanism: a logits processor after the mask applies the warpers of transformers (temperature, top-k, ...), inverts the
cumulative distribution at the random number, and leaves only that token; ``generate`` then searches greedily. Rejected:
Gumbel noise on the scores, which needs as many numbers per row as there are tokens; and seeding torch globally, which
is neither per row nor thread-safe.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from transformers import LogitsProcessor as TransformersLogitsProcessor
from transformers.generation import logits_process

from schemagen.options.sampling import Sampling
from schemagen.options.values import COLDEST, HOTTEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schemagen.decode.guide import Guide

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
#: The distribution as it is.
_PLAIN = Sampling()
#: Ways of sampling that are more than a choice from the last scores.
_OTHER_WAYS = ("assistant_model", "prompt_lookup_num_tokens", "penalty_alpha", "dola_layers", "custom_generate")


@lru_cache(maxsize=64)
def warpers_for(sampling: Sampling, device: str) -> tuple[Warper, ...]:
    """Return the warpers of transformers for a way to draw, for scores on a device."""
    return tuple(warpers_of(asdict(sampling), device))


def sampling_at(sampling: Sampling | None, temperature: float | None) -> Sampling | None:
    """Return how a token is drawn; None to take the likeliest.

    Args:
        sampling: As the call has it; None if it takes the likeliest tokens.
        temperature: That of the grammar (`Matcher.temperature`), which goes first; None if it has none here.
    """
    if temperature is None:
        return sampling
    return replace(sampling or _PLAIN, temperature=min(max(temperature, COLDEST), HOTTEST)) if temperature else None


def chosen(
    scores: torch.Tensor,
    ways: Sequence[Sampling | None],
    generators: Sequence[torch.Generator | None],
    device: str,
) -> torch.Tensor:
    """Return the token of each row, int64 [B].

    Args:
        scores: float [B, V].
        ways: How each row draws; None to take the likeliest token.
        generators: The random numbers of each row; None only if it takes the likeliest token.
        device: That of the scores, as a str.

    Cost: a softmax and a cumulative sum in float64 on the device of the scores for each way to draw; one number per row copied
        to it.
    """
    rows_of: dict[Sampling | None, list[int]] = {}
    for row, way in enumerate(ways):
        rows_of.setdefault(way, []).append(row)
    tokens = torch.empty(len(scores), dtype=torch.int64, device=scores.device)
    for way, rows in rows_of.items():
        some = scores[rows] if len(rows_of) > 1 else scores
        if way is None:
            tokens[rows] = some.argmax(dim=-1)
        else:
            own = [each for row in rows if (each := generators[row]) is not None]
            tokens[rows] = drawn(distributions(some, way, device), own).to(scores.device)
    return tokens


def distributions(scores: torch.Tensor, sampling: Sampling, device: str) -> torch.Tensor:
    """Return the distribution of each token, float64 [B, V], on the device of the scores if it supports float64."""
    for warp in warpers_for(sampling, device):
        scores = warp(_NO_IDS, scores)
    where = scores.device if scores.device.type != "mps" else torch.device("cpu")  # no float64 on MPS
    return torch.softmax(scores.to(where, torch.float64), dim=-1)


#: The warpers in use ignore the ids.
_NO_IDS = torch.empty((0, 0), dtype=torch.int64)


def drawn(probabilities: torch.Tensor, generators: Sequence[torch.Generator]) -> torch.Tensor:
    """Draw a token for each row, int64 [B]; the probabilities [B, V] need not add up to 1."""
    sums = probabilities.cumsum(dim=-1)
    numbers = torch.cat([torch.rand(1, dtype=torch.float64, generator=each) for each in generators])
    # Below 1 even after the product, so that the last token of probability 0 is never reached.
    targets = numbers.clamp(max=1 - 1e-12).to(sums.device).unsqueeze(-1) * sums[:, -1:]
    return torch.searchsorted(sums, targets, right=True).squeeze(-1)


class RowSampler(TransformersLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Leaves one token per row: the one that the generator of the row draws.

    Args:
        seeds: One per row of the batch; or a generator, which continues from its state.
        sampling: How tokens are drawn; None to take the likeliest where the grammar has no temperature.
        device: That of the scores, as a str.
        temperatures: Returns the temperature of each row's grammar at the next token (`sampling_at`); None if no grammar has
            any.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        seeds: Sequence[int | torch.Generator],
        sampling: Sampling | None = _PLAIN,
        device: str = "cpu",
        temperatures: Callable[[], Sequence[float | None]] | None = None,
    ) -> None:
        # On the CPU, so that a seed gives the same numbers on every device.
        self._generators = [
            seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed) for seed in seeds
        ]
        self._sampling, self._device, self._temperatures = sampling, device, temperatures
        if sampling is not None:
            warpers_for(sampling, device)  # raises where transformers refuses a value

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002 - the interface
        """Return scores [B, V] that are 0 at the drawn token and ``-inf`` elsewhere; cost as for `chosen`."""
        given = [None] * len(scores) if self._temperatures is None else self._temperatures()
        ways = [sampling_at(self._sampling, each) for each in given]
        tokens = chosen(scores, ways, self._generators, self._device)
        return torch.full_like(scores, float("-inf")).scatter_(1, tokens.unsqueeze(-1), 0.0)

    @property
    def numbers(self) -> torch.Generator:
        """The random numbers of the only row."""
        return self._generators[0]

    def at(self, temperature: float | None, guide: Guide | None = None) -> RowSampler | None:
        """Return the sampler of the same random numbers at a place; None for the likeliest token.

        Args:
            temperature: That of the grammar, as for `sampling_at`.
            guide: A guide that may say how the token is drawn.
        """
        way = sampling_at(self._sampling, temperature)
        way = way if guide is None else guide.sampling(way)
        if way is None:
            return None
        return self if way == self._sampling else RowSampler(self._generators, way, self._device)

    @property
    def is_plain(self) -> bool:
        """Whether masking before the warpers equals masking after them, which holds for a temperature alone."""
        return self._sampling is None or replace(self._sampling, temperature=1.0) == _PLAIN

    def probabilities(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the distribution of the next token of the only row: float64 [V], on the CPU, from float [1, V]."""
        return distributions(scores.cpu(), self._sampling or _PLAIN, self._device)[0]

    def draw(self, probabilities: torch.Tensor) -> int:
        """Draw a token of the only row, the same token that calling the sampler would leave.

        Args:
            probabilities: float64 [V], not negative; they need not add up to 1.
        """
        return int(drawn(probabilities.unsqueeze(0), self._generators))

    def uniform(self) -> float:
        """Draw a number between 0 and 1 for the only row."""
        return float(torch.rand(1, dtype=torch.float64, generator=self._generators[0]))


def seed_of(given: int | None) -> int:
    """Return a seed; if none is given, one from torch's own random numbers."""
    return int(torch.randint(1 << 62, (1,))) if given is None else given


def samples(model: Any, options: Mapping[str, Any]) -> bool:
    """Whether ``generate`` would sample with these options."""
    return bool(effective_option(model, options, "do_sample"))


def can_sample_rows(model: Any, options: dict[str, Any]) -> bool:
    """Whether a `RowSampler` can replace the sampling of ``generate``: not for beams and assisted decoding."""
    beams = effective_option(model, options, "num_beams", 1)
    watermark = effective_option(model, options, "watermarking_config")
    return beams == 1 and watermark is None and not any(options.get(way) is not None for way in _OTHER_WAYS)


def way_of(model: Any, options: Mapping[str, Any]) -> Sampling | None:
    """Return how (completed) options of ``generate`` choose tokens; None to take the likeliest."""
    return sampling_of(model, options) if samples(model, options) else None


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
