"""Constrained decoding with transformers; importing this package imports torch."""

from schemagen.errors.installing import check_packages

check_packages("decoding with a language model", "torch", "transformers")

from schemagen.decode.device_processor import DeviceLogitsProcessor  # noqa: E402 - after the check
from schemagen.decode.logits_processor import LogitsProcessor  # noqa: E402
from schemagen.decode.speculation.drafts import Context, Draft, Drafter  # noqa: E402

__all__ = ["Context", "DeviceLogitsProcessor", "Draft", "Drafter", "LogitsProcessor"]
