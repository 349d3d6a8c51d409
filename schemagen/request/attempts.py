"""The attempts at an answer, the same under every method of a `LanguageModel` that asks the model for something.

1. `Settings.of` reads the options of the call: names, values, how to think, how often to ask.
2. A `Request` is made of a prompt and the spec of the answer: an `AnswerRequest` of a spec, or a `CallRequest` of
tools.
   The constraint is compiled here, and the shape of the answer joins the messages.
3. `Request.prepare` writes the prompt as the model reads it, in tokens: a `Prepared`.
4. `Prepared.decode` has the model write a text of the constraint: a `Decoded`.
5. `Request.complete` removes the thoughts and validates the rest. That gives a `Generation`; or, if a validator refuses
   the answer, the next `Request`, which tells the model why; or the error, after the last attempt.

The methods use these steps as follows:

- ``lm(...)``, `generate`, `run` and `call` are `complete_request`, which takes steps 3 to 5 until there is a
`Generation`. - `batch` takes steps 2, 3 and 5 for each row, and step 4 for all rows together; the requests of step 5
are the next round. - `stream` and `stream_call` take step 4 step by step and turn the tokens into events; step 5 gives
the last event. - `chat` is one `CallRequest` for each turn; the results of its calls are among the messages of the next
one. - `generate_text` and `render` want the prompt alone: they render and encode it with the functions that step 3
uses.

A request never changes, so it may be shared and repeated. Rejected: one object that keeps its attempts, which a batch
would have to take apart again; and steps as methods of `LanguageModel`, which every method would call in its own order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schemagen.errors import ValidationFailed
from schemagen.generation import Generation
from schemagen.grammar.refusals import reasons
from schemagen.prompts.messages import with_correction
from schemagen.request.settings import token_ids_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from schemagen.confidence.fields import Confidence
    from schemagen.decode.batch import Row
    from schemagen.decode.generate import Decoded, Writer
    from schemagen.decode.guide import Guide
    from schemagen.engine.protocol import Constraint
    from schemagen.prompts.reasoning_grammar import ReasoningGrammar
    from schemagen.request.settings import Settings


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prompt in tokens, and the constraint of the text after it.

    Attributes:
        settings: The model and the options.
        token_ids: The prompt.
        constraint: The constraint of the text.
        reopened: The end of the prompt, which the model writes again before its answer; empty if it is not healed.
        guide: Makes a guide for one text of the constraint; it may return None.
    """

    settings: Settings
    token_ids: tuple[int, ...]
    constraint: Constraint
    reopened: str = ""
    guide: Callable[[], Guide | None] = lambda: None

    def writer(self) -> Writer:
        """Return the writer of the text; errors as for `decode`."""
        from schemagen.decode.generate import Writer, inputs_of

        settings, lm = self.settings, self.settings.lm
        inputs = inputs_of([self.token_ids], 0, lm.model.device)
        options = {"seed": settings.seed, "speculation": lm.speculation, **settings.generate_kwargs}
        return Writer(lm.model, inputs, self.constraint, notes=settings.confidence, guide=self.guide(), **options)

    def row(self, seed: int | None) -> Row:
        """Return the text as a row of a batch."""
        from schemagen.decode.batch import Row

        return Row(self.token_ids, self.constraint, seed, self.settings.confidence, self.guide)

    def decode(self) -> Decoded:
        """Have the model write a text.

        Raises:
            GenerationError: As `schemagen.decode.generate.Writer`.
        """
        return self.answer_of(self.writer().write())

    def answer_of(self, decoded: Decoded) -> Decoded:
        """Remove the end of the prompt from the generated text."""
        if not self.reopened:
            return decoded
        return replace(decoded, text=decoded.text[len(self.reopened) :], reopened=len(self.reopened.encode()))


@dataclass(frozen=True, slots=True)
class Output:
    """The generated text without the thoughts.

    Attributes:
        decoded: The whole text.
        text: The answer.
        reasoning: The thoughts; None if they are not known.
        reasoning_tokens: How many of the tokens are thoughts.
    """

    decoded: Decoded
    text: str
    reasoning: str | None = None
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that a validator refuses.

    Attributes:
        messages: The next chat: with the answer, and its faults.
        error: The error to raise if no attempts are left.
    """

    messages: list[dict[str, Any]]
    error: ValidationFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(ABC):
    """One attempt at an answer.

    Attributes:
        settings: The model and the options.
        messages: The chat.
        thinking: The grammar of the thoughts and the answer; None without thoughts.
        attempt: The number of the attempt, from 1.
        seconds: The time of the attempts before.
    """

    settings: Settings
    messages: list[dict[str, Any]]
    thinking: ReasoningGrammar | None = None
    attempt: int = 1
    seconds: float = 0.0

    @property
    @abstractmethod
    def constraint(self) -> Constraint:
        """The constraint of the text, thoughts included."""

    @abstractmethod
    def render(self) -> tuple[str, bool]:
        """Return the text that the model reads, and whether a chat template wrote it."""

    @abstractmethod
    def read(self, output: Output) -> Any:
        """Return the value of an answer, or a `Refusal`."""

    def prepare(self) -> Prepared:
        """Return the prompt in tokens, with the constraint of the text after it.

        Raises:
            GenerationError: The chat template refuses the messages.
            OptionError: The template leaves no place for thoughts.
        """
        text, templated = self.render()
        return Prepared(self.settings, token_ids_of(self.settings.lm, text, templated=templated), self.constraint)

    @property
    def best_of(self) -> int:
        """How many drafts the model writes, of which the best one counts."""
        return 1 if self.settings.thinker is None else self.settings.thinker.best_of

    def decode(self) -> Decoded:
        """Have the model write a text; errors as for `Prepared.decode`."""
        if self.best_of == 1:
            return self.prepare().decode()
        from schemagen.request.best_of import decode_best

        return decode_best(self)

    def split(self, decoded: Decoded) -> Output:
        """Remove the thoughts from the generated text."""
        if self.thinking is None:
            return Output(decoded, decoded.text)
        return Output(decoded, *self.thinking.split(decoded.token_ids))

    def attempted(self) -> Generation[Any] | Self:
        """Have the model write a text; return its generation, or the next request; errors as for `decode` and `judge`."""
        try:
            decoded = self.decode()
        except ValidationFailed as error:
            return self.after(error)
        return self.complete(decoded)

    def complete(self, decoded: Decoded) -> Generation[Any] | Self:
        """Return the result of `judge` for the whole generated text."""
        return self.judge(self.split(decoded))

    def judge(self, output: Output) -> Generation[Any] | Self:
        """Return the generation of an answer, or the next request.

        Raises:
            ValidationFailed: A validator refused it, and no attempts are left.
        """
        value = self.read(output)
        if not isinstance(value, Refusal):
            return self.generation(value, output)
        return self._again(value, output.decoded.seconds)

    def after(self, error: ValidationFailed) -> Self:
        """Return the next request after a text that was given up because nothing was left to try.

        Raises:
            ValidationFailed: No attempts are left.
        """
        messages = with_correction(self.messages, error.text, reasons(error))
        error.attempts = self.attempt
        return self._again(Refusal(messages, error), 0.0)

    def _again(self, refusal: Refusal, seconds: float) -> Self:
        if self.attempt > self.settings.retries:
            raise refusal.error from refusal.error.error
        return replace(self, messages=refusal.messages, attempt=self.attempt + 1, seconds=self.seconds + seconds)

    def generation(self, value: Any, output: Output) -> Generation[Any]:
        """Return a value with its circumstances."""
        decoded = output.decoded
        return Generation(
            value,
            text=output.text,
            token_ids=decoded.token_ids,
            prompt_tokens=decoded.prompt_tokens,
            seconds=self.seconds + decoded.seconds,
            masked_mass=decoded.masked_mass,
            interventions=decoded.interventions,
            passes=decoded.passes,
            attempts=self.attempt,
            reasoning=output.reasoning,
            reasoning_tokens=output.reasoning_tokens,
            finish_reason=decoded.finish_reason,
            refused=decoded.refused,
            log_weight=decoded.log_weight,
            confidence=self.confidence(decoded),
        )

    def confidence(self, decoded: Decoded) -> Confidence | None:
        """Return how sure the model was of the fields of an answer; None if not recorded."""
        del decoded
        return None


def complete_request(request: Request) -> Generation[Any]:
    """Repeat the request until there is a value.

    Raises:
        GenerationError: As `schemagen.decode.generate.Writer`.
        ValidationFailed: A validator refused every attempt.
    """
    outcome: Generation[Any] | Request = request
    while isinstance(outcome, Request):
        outcome = outcome.attempted()
    return outcome
