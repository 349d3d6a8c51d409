"""How sure a model is: of the fields of an answer, and of the options of a type with few values."""

from schemagen.confidence.calibration import accuracy_above, expected_calibration_error, fit_temperature, reliability
from schemagen.confidence.distribution import Distribution

__all__ = ["Distribution", "accuracy_above", "expected_calibration_error", "fit_temperature", "reliability"]
