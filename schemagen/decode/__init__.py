"""Constrained decoding with transformers; importing this package imports torch."""

from schemagen.decode.device_processor import DeviceLogitsProcessor
from schemagen.decode.logits_processor import LogitsProcessor

__all__ = ["DeviceLogitsProcessor", "LogitsProcessor"]
