"""`Reasoning`: the user's options for thoughts before an answer; `schemagen.prompts.reasoning_grammar` implements them."""

from __future__ import annotations

from dataclasses import dataclass

from schemagen.checks import as_options, check_count
from schemagen.errors import OptionError

#: Most tokens of thoughts by default.
DEFAULT_MAX_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Options for thoughts before an answer.

    Attributes:
        max_tokens: Most tokens of thoughts; then the model must write ``end``.
        begin: The opening of the thoughts, appended to the prompt. If it and ``end`` are empty, that of the model's chat
            template; if only it is empty, nothing is appended, because the template has opened the thoughts.
        end: The text between thoughts and answer; if empty, that of the model's chat template. The thoughts end at its first
            occurrence, without its trailing whitespace, which the model then writes, too.

    Example:
        lm.run(question, Answer, reasoning=Reasoning(2048))
        lm.run(question, Answer, reasoning=Reasoning(begin="Let us think. ", end="Answer: "))
    """

    max_tokens: int = DEFAULT_MAX_TOKENS
    begin: str = ""
    end: str = ""

    def __post_init__(self) -> None:
        """Refuse wrong values.

        Raises:
            OptionError: ``max_tokens`` is below 1, or ``begin`` is given without ``end``.
        """
        check_count("max_tokens", self.max_tokens)
        if (self.begin or self.end) and not self.end.strip():
            raise OptionError(
                f"reasoning begins with {self.begin!r} and ends with {self.end!r}",
                why="whitespace alone cannot end thoughts: they would be over at their first line break",
                fix="name the marker that the model writes after its thoughts",
            )


def as_reasoning(given: bool | int | Reasoning | None) -> Reasoning | None:
    """Return the options for thoughts; None for no thoughts.

    Raises:
        OptionError: The value has another type, or is a number below 1.
    """
    return as_options("reasoning", Reasoning, given)
