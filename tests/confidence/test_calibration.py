"""Calibration: the temperature that labels ask for, and the errors by hand."""

from __future__ import annotations

import math
import random

import pytest

from schemagen.confidence import (
    Distribution,
    accuracy_above,
    expected_calibration_error,
    fit_temperature,
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
    assert accuracy_above(distributions, labels, 0.8) == (0.75, 4 / 6)
    assert accuracy_above(distributions, labels, 0.95) == (None, 0.0)


def test_a_temperature_changes_no_order():
    """Hotter is less sure, colder surer; the answer stays."""
    found = distribution([2.0, 1.0, 0.0])
    hot, cold = found.at_temperature(4), found.at_temperature(0.25)
    assert hot.options == cold.options == found.options
    assert hot.probability < found.probability < cold.probability
    assert hot.entropy > found.entropy > cold.entropy
    assert sum(hot.probabilities) == pytest.approx(1)
    assert found.at_temperature(1) == pytest.approx(found) or found.at_temperature(1).probabilities == pytest.approx(
        found.probabilities
    )
    assert found.margin == pytest.approx(found[0] - found[1])
    assert "█" in str(found)
    assert "under the mask" in found._repr_html_()


@pytest.mark.parametrize(("count", "labels"), [(0, []), (2, [0]), (1, ["no option"])])
def test_examples_that_do_not_fit_are_refused(count, labels):
    """They are an error, not a number."""
    with pytest.raises(OptionError):
        fit_temperature([distribution([1.0, 0.0])] * count, labels)
