"""Whether probabilities can be taken at their word: calibration errors, and the temperature that mends them.

Of the answers that a calibrated model is 80% sure of, 80% are right. Models are often surer than that. One number, fitted to
labelled examples, mends most of it: the temperature (Guo et al. 2017, arXiv:1706.04599). It changes no order, so no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.confidence.distribution import Distribution

#: The temperatures that are tried, as logarithms, and the precision of the best one.
_COLDEST, _HOTTEST, _PRECISE = log(0.02), log(50.0), 1e-7
#: Stands in for a probability of zero.
_TINY = 1e-300


def fit_temperature(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> float:
    """Return the temperature at which the labels are likeliest; give it to `lm.classify`, or to `Distribution.at_temperature`.

    Args:
        distributions: Of some examples.
        labels: The right option of each.

    Raises:
        OptionError: There are no examples, their numbers differ, or a label is no option.

    Cost: the loss is convex in 1 / temperature, so its minimum is found by golden sections; some 40 passes over the examples.
    """
    pairs = [
        ([log(max(chance, _TINY)) for chance in each.probabilities], place)
        for each, place in zip(distributions, _places(distributions, labels), strict=True)
    ]

    def loss(exponent: float) -> float:
        """Return the negative logarithm of the likelihood at a temperature, given as its logarithm."""
        scale = exp(-exponent)
        return sum(_log_sum([each * scale for each in logs]) - logs[place] * scale for logs, place in pairs)

    low, high, golden = _COLDEST, _HOTTEST, (5**0.5 - 1) / 2
    while high - low > _PRECISE:
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    return exp((low + high) / 2)


def _log_sum(logs: Sequence[float]) -> float:
    best = max(logs)
    return best + log(sum(exp(each - best) for each in logs))


@dataclass(frozen=True, slots=True)
class Bin:
    """Examples of similar confidence.

    Attributes:
        confidence: The mean probability of their answers.
        accuracy: The share of their answers that is right.
        count: How many there are.
    """

    confidence: float
    accuracy: float
    count: int


def reliability(distributions: Sequence[Distribution[Any]], labels: Sequence[Any], bins: int = 10) -> list[Bin]:
    """Return the points of a reliability diagram: bins of equally many examples, the least confident first.

    Raises:
        OptionError: As `fit_temperature`.
    """
    places = _places(distributions, labels)
    ranked = sorted((each.probability, place == 0) for each, place in zip(distributions, places, strict=True))
    found = []
    for index in range(bins):
        some = ranked[index * len(ranked) // bins : (index + 1) * len(ranked) // bins]
        if some:
            confidence, right = (sum(pair[place] for pair in some) / len(some) for place in (0, 1))
            found.append(Bin(confidence, right, len(some)))
    return found


def expected_calibration_error(
    distributions: Sequence[Distribution[Any]], labels: Sequence[Any], bins: int = 10
) -> float:
    """Return the mean distance between confidence and accuracy, over bins of equally many examples.

    Raises:
        OptionError: As `fit_temperature`.
    """
    found = reliability(distributions, labels, bins)
    return sum(each.count * abs(each.confidence - each.accuracy) for each in found) / sum(each.count for each in found)


def accuracy_above(
    distributions: Sequence[Distribution[Any]], labels: Sequence[Any], threshold: float
) -> tuple[float | None, float]:
    """Return the accuracy of the answers that are at least so probable, None if there are none, and their share of all.

    Raises:
        OptionError: As `fit_temperature`.
    """
    places = _places(distributions, labels)
    kept = [place == 0 for each, place in zip(distributions, places, strict=True) if each.probability >= threshold]
    return (sum(kept) / len(kept) if kept else None), len(kept) / len(places)


def _places(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> list[int]:
    """Return the rank of each label among the options, from 0.

    Raises:
        OptionError: As `fit_temperature`.
    """
    if not distributions or len(distributions) != len(labels):
        raise OptionError(
            f"{len(distributions)} distributions and {len(labels)} labels",
            why="each example has a distribution and the right option",
            fix="give as many of the one as of the other, at least one",
        )
    found = []
    for each, label in zip(distributions, labels, strict=True):
        each[label]  # raises where it is no option
        found.append(next(place for place, option in enumerate(each.options) if option == label))
    return found
