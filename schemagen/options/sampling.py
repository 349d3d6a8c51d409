"""`Sampling`: how tokens are drawn, in a whole call or in one field of a type."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from schemagen.options.values import CUTOFF, POSITIVE_SHARE, SHARE, as_count, as_temperature

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.options.values import Reader

#: The key of the note in the core schema of pydantic.
SAMPLED = "schemagen_sampling"
_READERS: dict[str, Reader] = {
    "temperature": as_temperature,
    "top_h": POSITIVE_SHARE,
    "top_k": as_count(0),
    "top_p": SHARE,
    "min_p": SHARE,
    "typical_p": POSITIVE_SHARE,
    "epsilon_cutoff": CUTOFF,
    "eta_cutoff": CUTOFF,
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; each default leaves the distribution as it is.

    As an annotation, ``Annotated[str, Sampling(temperature=0.9, top_p=0.95)]``, it says so for one field of a type: the other
    fields are written as the call says, greedily by default.

    Attributes:
        temperature: Divides the logits; 0 for the likeliest token.
        top_h: Draw from the likeliest tokens whose entropy is at most this share of that of all; None to draw from all.
        top_k: Draw from so many tokens; 0: from all.
        top_p: Draw from the likeliest tokens that together have this probability.
        min_p: Draw from tokens that are at least this likely, the likeliest being 1.
        typical_p: Draw from tokens of typical information that together have this probability.
        epsilon_cutoff: Draw from tokens of at least this probability.
        eta_cutoff: The same, with a bound that follows the entropy.

    Raises:
        OptionError: A value is invalid.
    """

    temperature: float = 1.0
    top_h: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    min_p: float | None = None
    typical_p: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Leave the validation of the type as it is, with a note that a field of it is drawn in its own way."""
        found = handler(source)
        found["metadata"] = {**found.get("metadata", {}), SAMPLED: True}
        return found

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None:
                object.__setattr__(self, each.name, _READERS[each.name](each.name, value))
