"""The settings in the environment: whether the slot is taken, and how grammars are compiled in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import schemagen
from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

SLOT = "SCHEMAGEN_VLLM_SLOT"
WHITESPACE = "SCHEMAGEN_VLLM_WHITESPACE"
SECONDS = "SCHEMAGEN_VLLM_MAX_SECONDS"
BUDGET = "SCHEMAGEN_VLLM_BUDGET"

#: The backends of vLLM whose place can be taken: the one whose classes are looked up when they are called.
SLOTS = ("outlines",)
_LAYOUTS = ("flexible", "compact", "spaced", "any")
#: Limits of one call. A request waits for the masks of all requests of its step.
_MAX_SECONDS = 2.0
_LIMITS = schemagen.Limits(max_seconds=_MAX_SECONDS)


@dataclass(frozen=True)
class Settings:
    """How grammars are compiled.

    Attributes:
        whitespace: The layout of JSON, as for `schemagen.compile`.
        limits: Limits on the work on a schema; ``max_seconds`` applies to each call.
        keeps_budgets: Whether texts end within the tokens of their request, which costs more while masks are new.
    """

    whitespace: Any = "flexible"
    limits: schemagen.Limits = _LIMITS
    keeps_budgets: bool = True


def slot_of(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the slot that the environment names; None to leave vLLM unchanged.

    Raises:
        OptionError: The slot does not exist.
    """
    slot = environment.get(SLOT, "").strip()
    if not slot:
        return None
    if slot not in SLOTS:
        raise OptionError(
            f"{SLOT}={slot!r:.80}",
            why="a backend of vLLM can be replaced where its classes are looked up when they are called",
            fix=f"set it to {' or '.join(SLOTS)}, or unset it",
        )
    return slot


def settings_of(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of the environment.

    Raises:
        OptionError: A value is invalid.
    """
    whitespace = environment.get(WHITESPACE, "flexible")
    if whitespace not in _LAYOUTS:
        raise OptionError(f"{WHITESPACE}={whitespace!r:.80}", fix=f"set it to one of {', '.join(_LAYOUTS)}")
    given = environment.get(SECONDS, str(_MAX_SECONDS))
    try:
        seconds = float(given)
    except ValueError:
        raise OptionError(f"{SECONDS}={given!r:.80}", why="it is not a number", fix="give seconds, as 0.5") from None
    budget = environment.get(BUDGET, "on")
    if budget not in ("on", "off"):
        raise OptionError(f"{BUDGET}={budget!r:.80}", fix="set it to on or off")
    return Settings(cast("Any", whitespace), schemagen.Limits(max_seconds=seconds), budget == "on")
