"""`Draft`: the user's options for a draft before an answer; `schemagen.prompts.drafting` implements them."""

from __future__ import annotations

from dataclasses import dataclass

from schemagen.checks import as_options, check_count, check_number, kind_of
from schemagen.errors import OptionError, OptionTypeError

#: Most tokens of a draft by default.
DEFAULT_MAX_TOKENS = 256
#: The most drafts of one answer.
MOST_DRAFTS = 64


@dataclass(frozen=True, slots=True)
class Draft:
    """Options for a draft: free text that the model writes first, and reads when it writes the answer.

    Attributes:
        max_tokens: Most tokens of the draft; the model may end it earlier.
        prompt: The sentence after the question that asks for the draft; empty for none.
        answer: The sentence after the draft that asks for the answer. Without a chat template it is the text between the
            draft and the answer.
        temperature: The temperature of the draft alone, 0 for greedy; None for that of the call.
        best_of: How many drafts to write. With more than one, each is followed by its answer, and the answer that the
            model finds likeliest counts. Drafts without a temperature of their own have 0.7 then.

    Example:
        lm.run(question, Answer, draft=Draft(400, temperature=0.7))
    """

    max_tokens: int = DEFAULT_MAX_TOKENS
    prompt: str = "First think step by step, in plain sentences. Do not write the final answer in its form yet."
    answer: str = "Now write only the final answer."
    temperature: float | None = None
    best_of: int = 1

    def __post_init__(self) -> None:
        """Refuse wrong values.

        Raises:
            OptionError: A number is out of its range, or the answer is not asked for.
            OptionTypeError: A text is no text.
        """
        check_count("max_tokens", self.max_tokens)
        check_count("best_of", self.best_of, most=MOST_DRAFTS)
        for name in ("prompt", "answer"):
            if not isinstance(getattr(self, name), str):
                raise OptionTypeError(f"{name} is {kind_of(getattr(self, name))}", fix="give a str")
        if not self.answer.strip():
            raise OptionError(
                f"answer={self.answer!r}",
                why="nothing would tell the model that the draft is over",
                fix='give the sentence that asks for the answer, or leave it out for "Now write only the final answer."',
            )
        if self.temperature is not None:
            check_number("temperature", self.temperature, least=0, most=100)


def as_draft(given: bool | int | Draft | None) -> Draft | None:
    """Return the options of a draft; None for no draft.

    Raises:
        OptionError: The value has another type, or is a number below 1.
    """
    return as_options("draft", Draft, given)
