"""`AnswerRequest`: a prompt, and the type, schema, pattern or choice of its answer."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError, ValidationFailed, VocabularyError
from schemagen.grammar.grammar import Grammar
from schemagen.grammar.refusals import after_attempts, reasons
from schemagen.options.table import checked_values
from schemagen.prompts.healing import heal
from schemagen.prompts.messages import as_messages, render, with_correction, with_instruction, with_shape
from schemagen.request.attempts import Prepared, Refusal, Request
from schemagen.request.settings import Settings
from schemagen.streaming.answer_text import AnswerText
from schemagen.types.checks import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemagen.confidence.distribution import Distribution
    from schemagen.confidence.fields import Confidence
    from schemagen.decode.generate import Decoded
    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.engine.protocol import Constraint
    from schemagen.options import ShowSchema
    from schemagen.prompts.messages import Message
    from schemagen.request.attempts import Output
    from schemagen.request.settings import ModelAccess
    from schemagen.steering.text_guide import TextGuide
    from schemagen.writers import TextFormat


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The layout of an answer, and its description in the prompt.

    Attributes:
        whitespace: As for `schemagen.compile`.
        property_order: As for `schemagen.compile`.
        show_schema: Whether and how to append the schema, the choices or the pattern to the prompt.
        chat_template: Whether the chat template of the tokenizer is used.
        as_: As for `schemagen.compile`.
        heal: Whether the answer may share a token with the end of the prompt.

    Raises:
        OptionError: A value is invalid.
    """

    whitespace: WhitespacePolicy = "flexible"
    property_order: PropertyOrder = "schema"
    show_schema: ShowSchema = True
    chat_template: bool = True
    as_: TextFormat = "json"
    heal: bool = False

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        checked_values({each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def of_call(
        cls, lm: ModelAccess, options: Mapping[str, Any], names: frozenset[str], *, streamed: bool = False
    ) -> tuple[Settings, AnswerForm]:
        """Read the options of a call: the settings of its requests, and the form of its answers.

        Args:
            lm: The model.
            options: The options, as they were given.
            names: The names that the method takes, besides those of transformers.
            streamed: As for `Settings.of`.

        Raises:
            OptionError: As `Settings.of`, or an option of the form is invalid.
        """
        given = {each.name for each in fields(cls)} & names & options.keys()
        rest = {name: value for name, value in options.items() if name not in given}
        settings = Settings.of(lm, rest, names, streamed=streamed)
        return settings, cls(**{name: options[name] for name in given})

    def grammar(self, lm: ModelAccess, spec: Any) -> Grammar:
        """Return the grammar of a spec, or the spec if it is a grammar.

        Raises:
            SchemaError: As `schemagen.compile`.
            VocabularyError: It is a grammar over the vocabulary of another model.
            OptionError: It was compiled for another format.
        """
        if not isinstance(spec, Grammar):
            return lm.compile(spec, whitespace=self.whitespace, property_order=self.property_order, as_=self.as_)
        if self.as_ not in ("json", getattr(spec.spec, "format", "json")):
            raise OptionError(
                f"as_={self.as_!r} beside a compiled grammar of another format",
                why="how the value is written was settled when it was compiled",
                fix=f"compile it with as_={self.as_!r}, or give the type",
            )
        if spec.vocabulary != lm.vocabulary:
            raise VocabularyError(
                f"the grammar is over {spec.vocabulary!r}, the model over {lm.vocabulary!r}",
                why="its masks would allow other tokens than they mean",
                fix="compile it with schemagen.compile(spec, lm.vocabulary)",
            )
        return spec

    def messages(self, prompt: str | Sequence[Message], grammar: Grammar) -> list[dict[str, Any]]:
        """Return the chat to render, with the description of the answer.

        Raises:
            GenerationError: The prompt is invalid.
        """
        messages = as_messages(prompt)
        if not self.show_schema:
            return messages
        return with_shape(messages, grammar.spec if grammar.schema is None else grammar.schema, self.show_schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest(Request):
    """One attempt at a value of a grammar.

    Attributes:
        grammar: The grammar of the answer.
        chat_template: Whether the chat template of the tokenizer is used.
        heal: Whether the answer may share a token with the end of the prompt.
    """

    grammar: Grammar
    chat_template: bool = True
    heal: bool = False

    @classmethod
    def of(
        cls,
        settings: Settings,
        form: AnswerForm,
        prompt: str | Sequence[Message],
        grammar: Grammar,
        *,
        shown: Grammar | None = None,
        instruction: str = "",
    ) -> AnswerRequest:
        """Return the first attempt.

        Args:
            settings: Those of the call.
            form: How the answer is written and described.
            prompt: A text, or a chat.
            grammar: The grammar of the answer.
            shown: The grammar that the prompt describes; None for that of the answer.
            instruction: More words about the answer, after its description.

        Raises:
            GenerationError: The prompt is invalid.
            OptionError: The vocabulary cannot write the end of the thoughts; or a prompt is to be healed before
                thoughts.
        """
        if form.heal and settings.thinker is not None:
            raise OptionError(
                "heal=True beside reasoning=",
                why="thoughts come directly after the prompt, and begin with their own tokens",
                fix="leave one of them out",
            )
        messages = form.messages(prompt, shown or grammar)
        return cls(
            settings=settings,
            messages=with_instruction(messages, instruction) if instruction else messages,
            grammar=grammar,
            chat_template=form.chat_template,
            heal=form.heal,
            thinking=None if settings.thinker is None else settings.thinker.before(grammar),
        )

    @property
    def constraint(self) -> Constraint:
        """The constraint of the text, thoughts included."""
        return self.grammar if self.thinking is None else self.thinking

    def render(self) -> tuple[str, bool]:
        """Return the text that the model reads, and whether a chat template wrote it."""
        settings = self.settings
        return render(settings.lm.tokenizer, self.messages, chat_template=self.chat_template, thinker=settings.thinker)

    def prepare(self) -> Prepared:
        """Return the prompt in tokens, its end open if it is to be healed; see `Request.prepare`."""
        prepared = super(AnswerRequest, self).prepare()
        healed = heal(prepared.token_ids, self.grammar) if self.heal else None
        if healed is None:
            return replace(prepared, guide=self._guide)
        guide = partial(self._guide, skipped=len(healed.text.encode()))
        return Prepared(prepared.settings, healed.token_ids, healed.constraint, healed.text, guide)

    def _guide(self, skipped: int = 0) -> TextGuide | None:
        """Return a guide for one attempt; None if the grammar alone has a say.

        Args:
            skipped: Bytes of the prompt before the answer.
        """
        from schemagen.steering.plan import guide_of

        settings = self.settings
        return guide_of(
            self.grammar,
            tries=settings.tries,
            checker=settings.checker,
            canonical=None if settings.canonical is None else settings.canonical.text(),
            thoughts=None if self.thinking is None else self.thinking.thought_reader(),
            skipped=skipped,
        )

    def confidence(self, decoded: Decoded) -> Confidence | None:
        """Return how sure the model was of the fields of an answer; None if not recorded."""
        if decoded.records is None:
            return None
        from schemagen.confidence.fields import confidence_of

        thoughts = None if self.thinking is None else self.thinking.thought_reader()
        answer = AnswerText(self.grammar.vocabulary, thoughts, decoded.reopened)
        return confidence_of(
            self.grammar, answer, decoded.token_ids, decoded.records, partial(self._values_at, decoded)
        )

    def _values_at(self, decoded: Decoded, path: str | None, first: int, text: str) -> Distribution[Any]:
        """Return the distribution over the values of a field; see `schemagen.confidence.options.values_at`."""
        from schemagen.confidence.options import values_at

        prepared, before = self.prepare(), decoded.token_ids[:first]
        return values_at(self.settings.lm.model, prepared.token_ids, prepared.constraint, before, text, path)

    def read(self, output: Output) -> Any:
        """Return the value of an answer, or a `Refusal`."""
        checker = self.settings.checker
        told = None if checker is None else refusal(checker.end(output.text))
        if told is None:
            return validated(self.grammar, output.text, self)
        return refused(ValidationFailed(f"the checker refuses the text: {told}", text=output.text), output.text, self)


def validated(grammar: Grammar, text: str, request: Request) -> Any:
    """Return the value of a text that answers a request, or a `Refusal`."""
    try:
        return grammar.validate(text)
    except ValidationFailed as error:
        return refused(error, text, request, "text" if grammar.schema is None else "JSON")


def refused(error: ValidationFailed, text: str, request: Request, kind: str = "text") -> Refusal:
    """Return the refusal of a text; `kind` is how the model is told of it."""
    messages = with_correction(request.messages, text, reasons(error), kind)
    return Refusal(messages, after_attempts(error, text, request.attempt))
