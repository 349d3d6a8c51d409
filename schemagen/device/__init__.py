"""Grammars that live on the device of the model; importing this package imports torch."""

from schemagen.device.tables import DeviceTables

__all__ = ["DeviceTables"]
