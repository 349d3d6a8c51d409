"""Calibration: the temperature that labels ask for, and the errors by hand."""

from __future__ import annotations

import math
import random

import pytest

from schemagen.confidence import (
    Above,
    Distribution,
    accuracy_above,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
    reliability,
)
from schemagen.errors import OptionError


def distribution(logits):
    """Return the distribution of some logits over the options 0, 1, ..."""
    total = sum(math.exp(each) for each in logits)
    ranked = sorted(((math.exp(each) / total, option) for option, each in enumerate(logits)), reverse=True)
    chances = tuple(chance for chance, _ in ranked)
    return Distribution(tuple(option for _, option in ranked), chances, chances, 1.0)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_of_a_model_that_is_too_sure_is_found(temperature):
    """Labels that are drawn at logits / t, from a model that states its logits, ask for t."""
    draw = random.Random(5)
    logits = [[draw.gauss(0, 2) for _ in range(4)] for _ in range(4000)]
    true = [distribution([each / temperature for each in row]) for row in logits]
    labels = [draw.choices(each.options, each.probabilities)[0] for each in true]
    stated = [distribution(row) for row in logits]
    found = fit_temperature(stated, labels)
    assert found == pytest.approx(temperature, rel=0.1)
    tempered = [each.at_temperature(found) for each in stated]
    assert expected_calibration_error(tempered, labels) < 0.03
    if temperature == 3:
        assert expected_calibration_error(stated, labels) > 0.1


def test_errors_by_hand():
    """Four answers at 0.9, three of them right: 0.15 apart; two at 0.6, one of them right: 0.1."""
    sure, unsure = (Distribution(("a", "b"), (chance, 1 - chance), (chance, 1 - chance), 1.0) for chance in (0.9, 0.6))
    distributions, labels = [sure] * 4 + [unsure] * 2, ["a", "a", "a", "b", "a", "b"]
    bins = reliability(distributions, labels, bins=3)
    assert [each.count for each in bins] == [2, 2, 2]
    assert bins[0].confidence == pytest.approx(0.6)
    assert bins[0].accuracy == 0.5
    assert expected_calibration_error(distributions, labels, bins=1) == pytest.approx(0.8 - 4 / 6)
    assert accuracy_above(distributions, labels, (0.8, 0.95)) == [Above(0.8, 0.75, 4 / 6), Above(0.95, None, 0.0)]


def test_bins_of_equal_width_by_hand():
    """Two at 0.6 and one at 0.65 share a bin from 0.6 to 0.7; one at 1 is in the last bin."""
    distributions = [of_two(chance) for chance in (0.6, 0.65, 0.6, 1.0, 0.95)]
    labels = ["a", "b", "a", "a", "b"]
    bins = reliability(distributions, labels, 10, binning="width")
    assert [(each.count, each.accuracy) for each in bins] == [(3, pytest.approx(2 / 3)), (2, 0.5)]
    by_hand = 3 / 5 * abs(1.85 / 3 - 2 / 3) + 2 / 5 * abs(0.975 - 0.5)
    assert expected_calibration_error(distributions, labels, 10, binning="width") == pytest.approx(by_hand)
    with pytest.raises(OptionError, match="no such kind"):
        reliability(distributions, labels, 10, binning="height")


def of_two(chance):
    """Return a distribution over two options."""
    return Distribution(("a", "b"), (chance, 1 - chance), (chance, 1 - chance), 1.0)


def test_the_likelihood_by_hand():
    """The mean of the negative logarithms; an impossible label costs a bounded amount, and True is not 1."""
    assert negative_log_likelihood([of_two(0.9), of_two(0.6)], ["a", "b"]) == pytest.approx(-math.log(0.9 * 0.4) / 2)
    assert negative_log_likelihood([of_two(1.0)], ["b"]) == pytest.approx(-math.log(1e-12))
    both = Distribution((1, True), (0.7, 0.3), (0.7, 0.3), 1.0)
    assert negative_log_likelihood([both], [True]) == pytest.approx(-math.log(0.3))
    assert accuracy_above([both], [True], [0.0])[0].accuracy == 0


def test_logits_times_three_ask_for_the_temperature_three():
    """A model whose logits are three times too large is mended by the temperature 3, the minimum of the likelihood."""
    draw = random.Random(7)
    true = [distribution([draw.gauss(0, 1.5) for _ in range(3)]) for _ in range(3000)]
    labels = [draw.choices(each.options, each.probabilities)[0] for each in true]
    stated = [each.at_temperature(1 / 3) for each in true]
    fitted = fit_temperature(stated, labels)
    assert fitted == pytest.approx(3, rel=0.06)
    least = negative_log_likelihood([each.at_temperature(fitted) for each in stated], labels)
    for other in (fitted * 0.98, fitted * 1.02):
        assert negative_log_likelihood([each.at_temperature(other) for each in stated], labels) > least


def test_a_temperature_changes_no_order():
    """Hotter is less sure, colder surer; the answer stays."""
    found = distribution([2.0, 1.0, 0.0])
    hot, cold = found.at_temperature(4), found.at_temperature(0.25)
    assert hot.options == cold.options == found.options
    assert hot.probability < found.probability < cold.probability
    assert hot.entropy > found.entropy > cold.entropy
    assert sum(hot.probabilities) == pytest.approx(1)
    assert found.at_temperature(1) == found
    assert distribution([0.0, -2000.0]).at_temperature(1e-5).probabilities == (1.0, 0.0)
    assert found.margin == pytest.approx(found[0] - found[1])
    assert "█" in str(found)
    assert "under the mask" in found._repr_html_()


@pytest.mark.parametrize(("count", "labels"), [(0, []), (2, [0]), (1, ["no option"])])
def test_examples_that_do_not_fit_are_refused(count, labels):
    """They are an error, not a number."""
    with pytest.raises(OptionError):
        fit_temperature([distribution([1.0, 0.0])] * count, labels)
