"""Constrained decoding with transformers; importing this package imports torch."""

from schemagen.decode.device_processor import DeviceLogitsProcessor
from schemagen.decode.logits_processor import LogitsProcessor
from schemagen.decode.speculation.drafts import Context, Draft, Drafter

__all__ = ["Context", "DeviceLogitsProcessor", "Draft", "Drafter", "LogitsProcessor"]
