"""Whether probabilities can be taken at their word: calibration errors, and the temperature that mends them.

Of the answers that a calibrated model is 80% sure of, 80% are right. Models are often surer than that. One number, fitted to
labelled examples, mends most of it: the temperature (Guo et al. 2017, arXiv:1706.04599). It changes no order, so no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from schemagen.checks import check_count
from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.confidence.distribution import Distribution

#: The temperatures that are tried, as logarithms, and the precision of the best one.
_COLDEST, _HOTTEST, _PRECISE = log(0.02), log(50.0), 1e-7
#: Stands in for smaller probabilities: a single label that the model holds for impossible would outweigh all others.
_TINY = 1e-12

#: Whether the bins have equally many examples, or are equally wide.
Binning: TypeAlias = Literal["mass", "width"]


def fit_temperature(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> float:
    """Return the temperature at which the labels are likeliest; give it to `lm.classify`, or to `Distribution.at_temperature`.

    Args:
        distributions: Of some examples.
        labels: The right option of each.

    Raises:
        OptionError: There are no examples, their numbers differ, or a label is no option.

    Cost: the loss is convex in 1 / temperature, so its minimum is found by golden sections; some 40 passes over the examples.
    """
    pairs = _logs(distributions, labels)
    low, high, golden = _COLDEST, _HOTTEST, (5**0.5 - 1) / 2
    while high - low > _PRECISE:
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if _loss(pairs, left) <= _loss(pairs, right) else (left, high)
    return exp((low + high) / 2)


def negative_log_likelihood(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> float:
    """Return the mean of ``-log p`` of the labels, in nats; a probability below 1e-12 counts as 1e-12.

    Raises:
        OptionError: As `fit_temperature`.
    """
    return _loss(_logs(distributions, labels), 0.0) / len(labels)


def _logs(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> list[tuple[list[float], int]]:
    """Return the logarithms of the probabilities of each example, and the rank of its label.

    Raises:
        OptionError: As `fit_temperature`.
    """
    ranks = _ranks(distributions, labels)
    return [
        ([log(max(chance, _TINY)) for chance in each.probabilities], rank)
        for each, rank in zip(distributions, ranks, strict=True)
    ]


def _loss(pairs: Sequence[tuple[list[float], int]], exponent: float) -> float:
    """Return the negative logarithm of the likelihood at a temperature, given as its logarithm."""
    scale = exp(-exponent)
    return sum(_log_sum([each * scale for each in logs]) - logs[rank] * scale for logs, rank in pairs)


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


def reliability(
    distributions: Sequence[Distribution[Any]], labels: Sequence[Any], bins: int = 10, *, binning: Binning = "mass"
) -> list[Bin]:
    """Return the points of a reliability diagram, the least confident first; bins without examples are left out.

    Args:
        distributions: Of some examples.
        labels: The right option of each.
        bins: How many bins there are.
        binning: "mass" for bins of equally many examples, "width" for equal parts of the interval from 0 to 1.

    Raises:
        OptionError: As `fit_temperature`; or the number or the kind of bins is invalid.
    """
    check_count("bins", bins)
    if binning not in ("mass", "width"):
        raise OptionError(f"binning={binning!r:.80}", why="there is no such kind of bins", fix="give 'mass' or 'width'")
    ranked = _answers(distributions, labels)
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for index, answer in enumerate(ranked):
        place = index * bins // len(ranked) if binning == "mass" else min(int(answer[0] * bins), bins - 1)
        groups[place].append(answer)
    return [_bin(group) for group in groups if group]


def _bin(group: Sequence[tuple[float, bool]]) -> Bin:
    count = len(group)
    return Bin(sum(chance for chance, _ in group) / count, sum(is_right for _, is_right in group) / count, count)


def expected_calibration_error(
    distributions: Sequence[Distribution[Any]], labels: Sequence[Any], bins: int = 10, *, binning: Binning = "mass"
) -> float:
    """Return the mean distance between confidence and accuracy over the bins, weighted by their examples.

    Args:
        distributions: As for `reliability`.
        labels: As for `reliability`.
        bins: As for `reliability`.
        binning: As for `reliability`.

    Raises:
        OptionError: As `reliability`.
    """
    found = reliability(distributions, labels, bins, binning=binning)
    return sum(each.count * abs(each.confidence - each.accuracy) for each in found) / len(labels)


@dataclass(frozen=True, slots=True)
class Above:
    """The answers with some confidence.

    Attributes:
        threshold: The least probability of an answer.
        accuracy: The share of them that is right; None if there are none.
        share: How many of all answers they are.
    """

    threshold: float
    accuracy: float | None
    share: float


def accuracy_above(
    distributions: Sequence[Distribution[Any]], labels: Sequence[Any], thresholds: Sequence[float]
) -> list[Above]:
    """Return, for each threshold, the accuracy of the answers that are at least so probable, and their share.

    Raises:
        OptionError: As `fit_temperature`.
    """
    answers = _answers(distributions, labels)
    found = []
    for threshold in thresholds:
        kept = [is_right for chance, is_right in answers if chance >= threshold]
        found.append(Above(threshold, sum(kept) / len(kept) if kept else None, len(kept) / len(answers)))
    return found


def _answers(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> list[tuple[float, bool]]:
    """Return the probability of each answer and whether it is right, in ascending order.

    Raises:
        OptionError: As `fit_temperature`.
    """
    ranks = _ranks(distributions, labels)
    answers = ((each.probability, rank == 0) for each, rank in zip(distributions, ranks, strict=True))
    return sorted(answers, key=lambda answer: answer[0])


def _ranks(distributions: Sequence[Distribution[Any]], labels: Sequence[Any]) -> list[int]:
    """Return the rank of each label among the options.

    Raises:
        OptionError: As `fit_temperature`.
    """
    if not distributions or len(distributions) != len(labels):
        raise OptionError(
            f"{len(distributions)} distributions and {len(labels)} labels",
            why="each example has a distribution and the right option",
            fix="give as many of the one as of the other, at least one",
        )
    return [each.rank(label) for each, label in zip(distributions, labels, strict=True)]
