"""Grammars that live on the device of the model; importing this package imports torch."""

from schemagen.errors.installing import check_packages

check_packages("schemagen.device", "torch")

from schemagen.device.tables import DeviceTables  # noqa: E402 - after the check

__all__ = ["DeviceTables"]
