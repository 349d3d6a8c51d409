"""The call of ``generate`` in which a logits processor works, and how many tokens it may write.

transformers passes a processor the tokens and the scores, but neither the options of the call nor the model. Yet the
budget of the call decides whether a text can be complete in time. So the processor reads it from the frame of
`GenerationMixin.generate`, once per generation. It relies on two public names only: the parameter ``logits_processor``,
which holds the processor, and the parameter ``generation_config``, which ``generate`` completes (its ``max_length``
counts the prompt). The outermost such call counts, since assisted decoding calls the assistant, with its own budget,
from within.

The frame of ``generate`` does not run until the generation ends, and its objects live as long anyway. Reading the frame
of the loop below it, ``_sample``, would keep the logits of a step alive: before Python 3.13, reading the variables of a
frame copies them.

Alternatives rejected: asking users for ``max_new_tokens=`` twice (they forget it), or for a stopping criterion of ours
beside the processor (likewise); replacing a method of `GenerationMixin` (that changes other people's generations, too).
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal

from schemagen.checks import check_count
from schemagen.errors import ModelWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from schemagen.engine.protocol import Constraint

_MODULE, _NAME = "transformers.generation.utils", "generate"


class TokenLimit:
    """The maximum number of tokens in each row of a processor.

    Args:
        given: A number; "auto" for that of the call of ``generate``; None if unlimited.

    Raises:
        OptionError: It is negative, or not a whole number.
    """

    def __init__(self, given: int | Literal["auto"] | None) -> None:
        self._is_given = given != "auto" or isinstance(given, bool)
        self._number = check_count("max_new_tokens", given, least=0) if self._is_given and given is not None else None
        self._has_warned = False

    def __repr__(self) -> str:
        """Show the argument."""
        return repr(self._number) if self._is_given else "'auto'"

    def of_call(self, processor: Any, prompt_tokens: int, grammars: Iterable[Constraint]) -> int | None:
        """Return the limit of a generation that begins now; None if it has none, or it is unknown.

        Args:
            processor: The processor that was passed to ``generate``.
            prompt_tokens: How many tokens the rows already have.
            grammars: The grammars of the rows.

        Warns:
            ModelWarning: The shortest text of a grammar is longer (once).
        """
        if self._is_given:
            return self._number
        longest = max_length_of_call(processor)
        if longest is None:
            return None
        limit = max(0, longest - prompt_tokens)
        shortest = max((grammar.min_new_tokens or 0 for grammar in grammars), default=0)
        if shortest > limit and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"generate may write {limit} tokens, and the shortest text of the grammar takes {shortest}: the text will be "
                "cut off. Raise max_new_tokens of generate. If you want half a text, make the processor with "
                "max_new_tokens=None.",
                ModelWarning,
                stacklevel=2,
            )
        return limit

    def of_request(self, stated: int | None) -> int | None:
        """Return the limit of a request of continuous batching that states one itself."""
        return self._number if self._is_given else stated


def max_length_of_call(processor: Any) -> int | None:
    """Return the maximum length of the rows in the call of ``generate`` that has a processor, prompt included.

    Return None outside of such a call, or if its limit cannot be read.
    """
    found = getattr(_config_of_call(processor), "max_length", None)
    return found if isinstance(found, int) else None


def temperature_of_call(processor: Any) -> float | None:
    """Return the temperature of the call of ``generate`` that has a processor; None if it takes the likeliest tokens.

    Return None outside of such a call, too.
    """
    config = _config_of_call(processor)
    if not getattr(config, "do_sample", False):
        return None
    found = getattr(config, "temperature", None)
    return 1.0 if found is None else float(found)


def _config_of_call(processor: Any) -> Any:
    """Return the completed configuration of the call of ``generate`` that has a processor; None outside of such a call.

    Cost: 10 microseconds to inspect each frame of the stack.
    """
    found: Any = None
    for frame in _calls(sys._getframe(1)):  # noqa: SLF001 - as `inspect` does, without reading sources
        variables = frame.f_locals
        processors = variables.get("logits_processor")
        if isinstance(processors, list) and any(each is processor for each in processors):
            found = variables.get("generation_config")
    return found


def _calls(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of ``generate`` around a frame, the innermost first."""
    while frame is not None:
        if frame.f_code.co_name == _NAME and frame.f_globals.get("__name__") == _MODULE:
            yield frame
        frame = frame.f_back
