"""How sure a model is: of the fields of an answer, and of the options of a type with few values."""

from schemagen.confidence.calibration import (
    Above,
    Bin,
    accuracy_above,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
    reliability,
)
from schemagen.confidence.distribution import Distribution

__all__ = [
    "Above",
    "Bin",
    "Distribution",
    "accuracy_above",
    "expected_calibration_error",
    "fit_temperature",
    "negative_log_likelihood",
    "reliability",
]
