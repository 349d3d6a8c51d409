"""`StreamedAnswers`: the methods of a `LanguageModel` for an answer that is read while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from schemagen.arguments import check_flag
from schemagen.options import StreamOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from typing_extensions import TypeForm, Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.events import Event
    from schemagen.lm.front_doors import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.lm.stream import Stream
    from schemagen.options import DecodingOptions
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.renderings import ShowSchema
    from schemagen.writers.formats import TextFormat

T = TypeVar("T")


class StreamedAnswers(ModelAccess):
    """The streaming methods of a `LanguageModel`."""

    @overload
    def stream(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[StreamOptions]) -> Stream[T]: ...
    @overload
    def stream(self, prompt: Prompt, spec: TextSpec, **options: Unpack[StreamOptions]) -> Stream[str]: ...
    @overload
    def stream(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[StreamOptions]) -> Stream[Any]: ...
    @overload
    def stream(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[StreamOptions]) -> Stream[T]: ...
    @requires("prompt", "spec", call="lm.stream(prompt, Person)")
    def stream(  # noqa: PLR0913 - as `run`
        self,
        prompt: Prompt,
        spec: Any,
        *,
        partials: bool = False,
        seed: int | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        reasoning: bool | int | Reasoning = False,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
        **generate_kwargs: Unpack[DecodingOptions],
    ) -> Stream[Any]:
        """Return the events of a generation while it goes on: fields that begin, grow and are complete, and the value.

        The events are `FieldStarted`, `Delta`, `FieldCompleted`, with ``partials`` `Snapshot`, and at the end
        `Completed` with the value; before them, with ``reasoning``, `ReasoningDelta`. They come from the structure of
        the text: strings grow by whole characters with their escapes resolved, a field is validated by its own type
        when it is complete, and the value by all of its validators at the end.

        Args:
            prompt: A text, or a chat.
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            partials: Whether to yield a `Snapshot` of everything so far after each step with a change.
            seed: As for `run`.
            whitespace: As for `run`.
            property_order: As for `run`.
            as_: As for `run`.
            reasoning: As for `run`.
            show_schema: As for `run`.
            chat_template: As for `run`.
            generate_kwargs: As for `run`; beams cannot be streamed, and there are no retries.

        Returns:
            An iterator. The model works in a thread from the first event on and stops when the stream is closed or
            dropped.

        Raises:
            SchemaError: The type or schema cannot be compiled; here, not at the first event.
            OptionError: An option is invalid, or not available in a stream; also raised here.

        Example:
            ```python
            for event in lm.stream("Ada Lovelace, 36, London", Person):
                match event:
                    case FieldCompleted(path, value):
                        print(path, value)
                    case Completed(generation):
                        print(generation.value)
            ```
        """
        from schemagen.lm.stream import Stream

        options = {"seed": seed, "reasoning": reasoning, **generate_kwargs}
        settings = Settings.of(self, options, names_of(StreamOptions), streamed=True)
        check_flag("partials", partials)
        form = AnswerForm(whitespace, property_order, show_schema, chat_template, as_)
        return Stream(AnswerRequest.of(settings, form, prompt, form.grammar(self, spec)), partials=partials)

    @overload
    def astream(
        self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[StreamOptions]
    ) -> AsyncGenerator[Event[T], None]: ...
    @overload
    def astream(
        self, prompt: Prompt, spec: TextSpec, **options: Unpack[StreamOptions]
    ) -> AsyncGenerator[Event[str], None]: ...
    @overload
    def astream(
        self, prompt: Prompt, spec: OtherSpec, **options: Unpack[StreamOptions]
    ) -> AsyncGenerator[Event[Any], None]: ...
    @overload
    def astream(
        self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[StreamOptions]
    ) -> AsyncGenerator[Event[T], None]: ...
    @requires("prompt", "spec", call="lm.astream(prompt, Person)")
    def astream(self, prompt: Prompt, spec: Any, **options: Unpack[StreamOptions]) -> AsyncGenerator[Event[Any], None]:
        """Like `stream`, without blocking the event loop; same arguments and errors.

        Cancelling the task that iterates, or ``aclose()``, stops the model at its next token.
        """
        from schemagen.decode.event_stream import events_of

        def start() -> Stream[Any]:
            found: Stream[Any] = self.stream(prompt, spec, **options)
            return found

        return events_of(start)
