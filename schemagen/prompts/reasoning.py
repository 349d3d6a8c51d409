"""`Reasoning`: what users say about thoughts before an answer; `schemagen.prompts.reasoning_grammar` does what they say."""

from __future__ import annotations

from dataclasses import dataclass

from schemagen.arguments import check_count
from schemagen.errors import OptionError

#: Tokens of thoughts where nobody says how many.
DEFAULT_MAX_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How a model thinks before it answers.

    Attributes:
        max_tokens: Of thoughts, at most; then their end is written.
        begin: What opens the thoughts, at the end of the prompt. Empty: as in the model's chat template if ``end`` is empty,
            too; else nothing, because the template has opened them.
        end: What stands between thoughts and answer. The thoughts end where it first occurs, not counting whitespace at its
            end, which is then written, too. Empty: as in the model's chat template.

    Example:
        lm.run(question, Answer, reasoning=Reasoning(2048))
        lm.run(question, Answer, reasoning=Reasoning(begin="Let us think. ", end="Answer: "))
    """

    max_tokens: int = DEFAULT_MAX_TOKENS
    begin: str = ""
    end: str = ""

    def __post_init__(self) -> None:
        """Refuse what could not be meant.

        Raises:
            OptionError: No token to think with, or a begin without an end.
        """
        check_count("max_tokens", self.max_tokens)
        if (self.begin or self.end) and not self.end.strip():
            raise OptionError(
                f"reasoning begins with {self.begin!r} and ends with {self.end!r}",
                why="whitespace alone ends no thoughts: they would be over at their first line break",
                fix="name the marker that the model writes behind its thoughts",
            )


def as_reasoning(given: bool | int | Reasoning | None) -> Reasoning | None:
    """Return how to think; None: not at all.

    Raises:
        OptionError: It is none of these, or a number below 1.
    """
    if given is None or isinstance(given, bool):
        return Reasoning() if given else None
    return given if isinstance(given, Reasoning) else Reasoning(check_count("reasoning", given))
