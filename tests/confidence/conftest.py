"""How sure a model is: distributions, fields, calibration."""
