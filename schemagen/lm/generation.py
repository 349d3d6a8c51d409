"""What generating gives: a `Generation`, an exception, or in a batch a `Failure`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import ValidationError

from schemagen.errors import GenerationError, SchemagenError, ValidationFailed
from schemagen.events import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

#: What `Grammar.validate` refuses a complete text with: a validator of the type, or a keyword left to the check.
REFUSALS = (ValidationError, ValidationFailed)


@dataclass(frozen=True, slots=True)
class Generation(Generic[T]):
    """A value and how it came about.

    Attributes:
        value: The validated instance.
        text: The text that it was read from.
        token_ids: The generated tokens, thoughts included, and EOS if it was generated.
        prompt_tokens: Tokens of the (last) prompt.
        seconds: Wall-clock time of the model, all attempts together.
        masked_mass: Mean probability per token that the constraint took away (0: the model wanted to write this). NaN if some
            logits were no distribution (``inf``).
        attempts: How many generations it took; more than one only with ``retries``.
        reasoning: What the model thought before it answered; None if it was not asked to (``reasoning=`` of
            `LanguageModel.generate`).
        reasoning_tokens: How many of the tokens are thoughts, what ends them included.
    """

    value: T
    text: str
    token_ids: tuple[int, ...]
    prompt_tokens: int
    seconds: float
    masked_mass: float | None
    attempts: int = 1
    reasoning: str | None = None
    reasoning_tokens: int = 0

    @property
    def new_tokens(self) -> int:
        """How many tokens were generated, thoughts included."""
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Failure:
    """A row of a batch that gave no value; the others are not affected.

    Attributes:
        index: Of the row, from 0.
        prompt: As it was given.
        error: What `LanguageModel.generate` would have raised.
    """

    index: int
    prompt: Any
    error: SchemagenError

    @property
    def text(self) -> str:
        """What the model wrote; empty if it did not come to that."""
        return self.error.text if isinstance(self.error, GenerationError) else ""

    def __str__(self) -> str:
        """Name the row and the fact."""
        return f"row {self.index}: {type(self.error).__name__}: {self.error.fact}"


def reasons(error: ValidationError | ValidationFailed) -> str:
    """One line per refused part, as a model can use them."""
    if isinstance(error, ValidationFailed):
        return f"- {error.at or 'value'}: {error.fact}"
    lines = (f"- {'.'.join(str(step) for step in part['loc']) or 'value'}: {part['msg']}" for part in error.errors())
    return "\n".join(lines)


def validation_failed(text: str, error: ValidationError | ValidationFailed, *, attempts: int) -> ValidationFailed:
    """Return the error of a text that was refused when it was complete."""
    if isinstance(error, ValidationFailed):
        parts = {"at": error.at, "why": error.why, "fix": error.fix}
        return ValidationFailed(error.fact, text=text, error=error.error, attempts=attempts, **parts)
    first = error.errors()[0]
    return ValidationFailed(
        f"a validator of {error.title} refused the value: {first['msg']}",
        text=text,
        error=error,
        attempts=attempts,
        at=_pointer(text, first["loc"]),
        why=f"the text satisfies the schema; {attempts} attempt(s), {error.error_count()} complaint(s)",
        fix="state the rule in the schema (bounds, pattern, Literal), or allow more retries",
    )


def _pointer(text: str, location: Sequence[str | int]) -> str:
    """Return a location of pydantic as a JSON pointer; names of validators and of members of unions are left out."""
    value: Any = json.loads(text)
    steps: list[str | int] = []
    for step in location:
        members: Any = dict(enumerate(value)) if isinstance(value, list) else value
        known = isinstance(members, dict) and step in members
        if not known:
            continue
        value = members[step]
        steps.append(step)
    return str(Path(steps))
