"""Constrained decoding with transformers; importing this package imports torch."""

from schemagen.decode.logits_processor import LogitsProcessor

__all__ = ["LogitsProcessor"]
