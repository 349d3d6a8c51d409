"""The results of generating: a `Generation`, an exception, or in a batch a `Failure`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from schemagen.errors import GenerationError, OptionError
from schemagen.notebook import Markup, html_table

if TYPE_CHECKING:
    from schemagen.confidence.fields import Confidence
    from schemagen.errors import SchemagenError

T = TypeVar("T")

#: Why a text ended.
FinishReason: TypeAlias = Literal["complete", "budget"]


@dataclass(frozen=True, slots=True)
class Refused:
    """A value that a validator refused while the text was written, with ``tries=``; it was written again.

    Attributes:
        path: The JSON pointer of the field; "" for the whole value.
        text: The JSON text of the value.
        reason: Why, in the words of the validator.
    """

    path: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Generation(Generic[T]):
    """A value with its text, tokens and figures.

    Attributes:
        value: The validated instance.
        text: The text of the value.
        token_ids: The generated tokens, thoughts included, and EOS if it was generated.
        prompt_tokens: Tokens of the (last) prompt.
        seconds: Wall-clock time of the model, all attempts together.
        masked_mass: Mean probability per token that the constraint removed (0: the model wanted to write this).
        interventions: Tokens where the constraint forbade the model's likeliest token (0: the model would have written
            the same by itself, greedily); None if not counted: in batches of several rows, and if ``generate`` of
            transformers writes the text.
        passes: How often the model was called; fewer times than there are tokens if it read ahead. None as above.
        attempts: How many generations it took; more than one only with ``retries``.
        reasoning: The thoughts of the model before its answer, or its draft; None without ``reasoning=`` and ``draft=``
            (see `LanguageModel.run`).
        reasoning_tokens: How many of the tokens are thoughts or draft, with the fixed text between them and the answer.
        finish_reason: Why the text ended. "complete" if it ended where the model wanted it to, or where nothing more
            could be written. "budget" if ``max_new_tokens`` closed it: either the budget left out, at some token, the
            likeliest one that the grammar allows, because the text could not have been completed in time after it; or
            the last token of the budget came where the text could go on. The value is valid, and may be shorter than
            without a budget.
        refused: The values that validators refused while the text was written, in order (see ``tries=``).
        confidence: How sure the model was of each field; None without ``confidence=True``.
        log_weight: The logarithm of the weight of the text among samples of the model's own law (`LanguageModel.sample`). For
            a text that was drawn under the mask it is the sum, over its tokens, of the logarithm of the probability of all
            allowed tokens. None if it was not measured, as in batches.
    """

    value: T
    text: str
    token_ids: tuple[int, ...] = field(repr=False)  # hundreds of numbers are of no use to a reader
    prompt_tokens: int
    seconds: float
    masked_mass: float | None
    attempts: int = 1
    reasoning: str | None = None
    reasoning_tokens: int = 0
    interventions: int | None = None
    passes: int | None = None
    finish_reason: FinishReason = "complete"
    refused: tuple[Refused, ...] = field(default=(), repr=False)
    confidence: Confidence | None = field(default=None, repr=False)
    log_weight: float | None = field(default=None, repr=False)

    def explain(self, path: str = "") -> str:
        """Say token by token why a field has its value; only with ``confidence=True``.

        Args:
            path: The JSON pointer of the field; "" for the whole answer.

        Raises:
            OptionError: The confidence was not recorded, or there is no such field.
        """
        if self.confidence is None:
            raise OptionError(
                "the confidence of this generation is not known",
                why="it is recorded while the model writes, if you ask for it",
                fix="lm.run(prompt, spec, confidence=True)",
            )
        return self.confidence.explain(path)

    @property
    def distortion(self) -> float | None:
        """How far the constraint led the text from the model's own law, in nats; None if it was not measured.

        It is ``-log_weight``: 0 if the constraint removed nothing. Over texts that are drawn at temperature 1, its mean is the
        Kullback-Leibler divergence of the law of the mask from the model's unconstrained law, which bounds the divergence from
        the model's law among valid texts; `schemagen.sampling.Samples.distortion` estimates that one itself.
        """
        return None if self.log_weight is None else -self.log_weight

    @property
    def draft(self) -> str | None:
        """The draft of the model before its answer: the same as `reasoning`."""
        return self.reasoning

    @property
    def new_tokens(self) -> int:
        """How many tokens were generated, thoughts included."""
        return len(self.token_ids)

    def _repr_html_(self) -> str:
        """Show the fields of the value, and the figures, as a table in a notebook."""
        sure = None if self.confidence is None else Markup(self.confidence._repr_html_())
        shown = {
            "value": self.value,
            "text": self.text if sure is None else sure,
            "new_tokens": self.new_tokens,
            "prompt_tokens": self.prompt_tokens,
            "seconds": f"{self.seconds:.3f}",
            "masked_mass": None if self.masked_mass is None else f"{self.masked_mass:.2g}",
            "interventions": self.interventions,
            "passes": self.passes,
            "finish_reason": self.finish_reason,
            "attempts": self.attempts,
            "refused": self.refused or None,
            "reasoning": self.reasoning,
            "reasoning_tokens": self.reasoning_tokens or None,
        }
        return html_table((name, value) for name, value in shown.items() if name == "value" or value is not None)


@dataclass(frozen=True, slots=True)
class Failure:
    """A row of a batch that gave no value; the others are not affected.

    Attributes:
        index: The index of the row, from 0.
        prompt: The prompt as it was given.
        error: The error that `LanguageModel.run` would have raised.
    """

    index: int
    prompt: Any
    error: SchemagenError

    @property
    def text(self) -> str:
        """The generated text; empty if there is none."""
        return self.error.text if isinstance(self.error, GenerationError) else ""

    def __str__(self) -> str:
        """Name the row and the fact."""
        return f"row {self.index}: {type(self.error).__name__}: {self.error.fact}"
