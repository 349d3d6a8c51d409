"""`Samples`: weighted values that stand for the model's law among the values of a type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from schemagen.errors import OptionError
from schemagen.notebook import html_table
from schemagen.sampling.particles import normalised
from schemagen.streaming.json_spans import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.generation import Generation

T = TypeVar("T")
K = TypeVar("K")
#: Stands in for a sum of weights that rounds to zero.
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Distortion:
    """How far the law of the mask is from the model's own among the valid texts, estimated from samples.

    Attributes:
        nats: The Kullback-Leibler divergence of the law of the mask from the model's: 0 if the mask changes nothing.
        error: The standard error of the estimate.
    """

    nats: float
    error: float


class Samples(Sequence["Generation[T]"], Generic[T]):
    """Generations with weights; the result of `LanguageModel.sample`.

    Args:
        generations: The generations, `Generation.log_weight` included.
        sampler: The sampler that drew them.
        log_evidence: The logarithm of the probability, as estimated, that the model writes a valid text.
        attempts: Texts that were begun.

    Attributes:
        sampler: As given.
        log_evidence: As given.
        attempts: As given.
    """

    def __init__(self, generations: Sequence[Generation[T]], sampler: str, log_evidence: float, attempts: int) -> None:
        self._generations = tuple(generations)
        self.sampler, self.log_evidence, self.attempts = sampler, log_evidence, attempts

    @overload
    def __getitem__(self, index: int) -> Generation[T]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Generation[T]]: ...
    def __getitem__(self, index: int | slice) -> Generation[T] | Sequence[Generation[T]]:
        """Return a generation."""
        return self._generations[index]

    def __len__(self) -> int:
        """Return the number of generations."""
        return len(self._generations)

    @property
    def values(self) -> list[T]:
        """The values."""
        return [each.value for each in self]

    @property
    def weights(self) -> list[float]:
        """The weight of each; they add up to 1."""
        return normalised([each.log_weight or 0.0 for each in self])

    @property
    def effective_size(self) -> float:
        """How many samples of equal weight would say as much: their number if all weigh the same, 1 if one weighs all."""
        return 1 / sum(weight * weight for weight in self.weights)

    def vote(self, key: Callable[[T], K] | None = None) -> dict[K | T, float]:
        """Return the share of each value, or of what a function makes of it, the largest first.

        Args:
            key: Makes values that can be compared, as ``lambda order: order.city``. By default the values themselves, if they
                can be hashed.

        Raises:
            OptionError: The values cannot be hashed.
        """
        found: dict[Any, float] = {}
        for value, weight in zip(self.values, self.weights, strict=True):
            name: Any = value if key is None else key(value)
            try:
                found[name] = found.get(name, 0.0) + weight
            except TypeError:
                raise OptionError(
                    f"values of {type(name).__name__} cannot be counted",
                    why="they cannot be hashed",
                    fix="give a key, as vote(lambda order: order.city)",
                ) from None
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def mode(self) -> T:
        """Return the value with the largest share, texts of equal values counted together."""
        shares: dict[str, float] = {}
        first: dict[str, T] = {}
        for each, weight in zip(self, self.weights, strict=True):
            name = _same(each.text)
            shares[name] = shares.get(name, 0.0) + weight
            first.setdefault(name, each.value)
        return first[max(shares, key=shares.__getitem__)]

    def mean(self, function: Callable[[T], float]) -> float:
        """Return the weighted mean of a function of the values."""
        return sum(weight * function(value) for value, weight in zip(self.values, self.weights, strict=True))

    @property
    def distortion(self) -> Distortion | None:
        """How far the law of the mask is from the model's; None if the samples do not have the law of the mask.

        With w the weight of a text, it is ``log E[w] - E[log w]`` over texts drawn under the mask; the bias of few samples is
        removed by the jackknife, which also gives the error.
        """
        logs = [each.log_weight or 0.0 for each in self]
        count = len(logs)
        if self.sampler != "mask" or count < 2:
            return None
        best = max(logs)
        powers = [exp(each - best) for each in logs]
        total, total_logs = sum(powers), sum(logs)
        whole = log(total / count) + best - total_logs / count
        parts = [
            log(max(total - power, _TINY) / (count - 1)) + best - (total_logs - each) / (count - 1)
            for power, each in zip(powers, logs, strict=True)
        ]
        mean = sum(parts) / count
        spread = (count - 1) / count * sum((part - mean) ** 2 for part in parts)
        return Distortion(max(count * whole - (count - 1) * mean, 0.0), sqrt(spread))

    def __repr__(self) -> str:
        """Show how many there are, and how many they are worth."""
        return f"Samples({len(self)} by {self.sampler!r}, effective size {self.effective_size:.1f})"

    def _repr_html_(self) -> str:
        """Show the values with their weights as a table in a notebook."""
        rows = [(f"{weight:.3f}", each.value) for each, weight in zip(self, self.weights, strict=True)]
        return html_table(rows, ("weight", "value"))


def _same(text: str) -> str:
    """Return a text that is the same for JSON texts of equal values; other texts stay."""
    try:
        return canonical(text)
    except ValueError:
        return text
