"""Reading ahead: proposing tokens that the model verifies several at a time."""

from schemagen.decode.speculation.drafts import Draft, Drafter
from schemagen.decode.speculation.eligibility import can_read_ahead
from schemagen.decode.speculation.loop import Loop, Run, decode_ahead
from schemagen.options.speculation import Speculation

__all__ = ["Draft", "Drafter", "Loop", "Run", "Speculation", "can_read_ahead", "decode_ahead"]
