"""`Asking`: the methods of a `LanguageModel` that answer a prompt, or many, with values of a spec.

| values          | `Generation` records | for                                   |
|-----------------|----------------------|---------------------------------------|
| `generate`      | `run`                | one prompt; calling the model is `generate` |
| `batch`         | `run_batch`          | a list of prompts                     |
| `map`           | `run_map`            | an iterable of prompts, of any length |
| `stream`        |                      | one prompt, as events                 |

Each but `map` has a twin for asyncio, whose name begins with ``a``. A method of values takes the values out of its
method of records. The overloads say the type of the value for each kind of spec, for type checkers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from typing_extensions import TypeVar

from schemagen.checks import check_flag
from schemagen.errors import OptionError
from schemagen.generation import Failure
from schemagen.options import BatchOptions, GenerateOptions, MapOptions, StreamOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.attempts import complete_request
from schemagen.request.settings import ModelAccess

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence

    from typing_extensions import TypeForm, Unpack

    from schemagen.events import Event
    from schemagen.generation import Generation
    from schemagen.lm.spec_types import OtherSpec, Outcome, PatternSpec, Prompt, Prompts, TextSpec, TypedSpec
    from schemagen.lm.stream import Stream

#: mypy infers an empty type for a list of several types; it is then Any.
T = TypeVar("T", default=Any)


class Asking(ModelAccess):
    """The methods of a `LanguageModel` that answer with values; mixed into it."""

    # --- one prompt ---------------------------------------------------------------------------------------------------

    @overload
    def __call__(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> T: ...
    @overload
    def __call__(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> str: ...
    @overload
    def __call__(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Any: ...
    @overload
    def __call__(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> T: ...
    @requires("prompt", "spec", call="lm(prompt, Person)")
    def __call__(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Return the model's answer to the prompt as a value of `spec`; the same as `generate`.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type (the value is an instance of it), a JSON Schema (parsed JSON), a `Regex` or a list of texts (a
                str), a `Choice` (a str, or a member of its enum), or a compiled grammar.
            options: Those of `run`.

        Raises:
            GenerationError: As `run`.
            OptionError: As `run`.
        """
        return self.run(prompt, spec, **options).value

    @overload
    def generate(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> T: ...
    @overload
    def generate(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> str: ...
    @overload
    def generate(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Any: ...
    @overload
    def generate(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> T: ...
    @requires("prompt", "spec", call="lm.generate(prompt, Person)")
    def generate(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Return the model's answer to the prompt as a value of `spec`; arguments and errors as for calling the model."""
        return self.run(prompt, spec, **options).value

    @overload
    async def agenerate(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> T: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> str: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Any: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> T: ...
    @requires("prompt", "spec", call="await lm.agenerate(prompt, Person)")
    async def agenerate(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Like `generate`, in a thread, without blocking the event loop."""
        return await in_thread(self.generate, prompt, spec, **options)

    @overload
    def run(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @overload
    def run(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> Generation[str]: ...
    @overload
    def run(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Generation[Any]: ...
    @overload
    def run(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @requires("prompt", "spec", call="lm.run(prompt, Person)")
    def run(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Generation[Any]:
        """Return the model's answer as a value of `spec`, with its text, tokens, time and masked mass.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            options: Those of `schemagen.options.GenerateOptions`, and all others of ``model.generate``. Decoding is greedy,
                whatever the model's generation_config says, unless ``do_sample=True`` or a sampling option such as
                ``temperature`` is given; ``temperature=0`` is greedy, too. ``max_new_tokens`` (512, and those of the thoughts)
                covers thoughts and answer, and thoughts end in time for the shortest answer. With ``reasoning`` the model
                thinks freely before it answers, in the format of its chat template: True for up to 1024 tokens, a number for
                up to that many, a `schemagen.lm.Reasoning` for markers of your own; the answer is as constrained as without.

        Raises:
            SchemaError: The type or schema cannot be compiled.
            OptionError: An option is unknown (checked before the model works), or its value is invalid; or the model is
                asked to think, and its chat template supports no thoughts.
            BudgetError: ``max_new_tokens`` is below the length of the shortest text.
            ValidationFailed: A custom validator, or the check of a keyword, refused the value, even after ``retries``.
        """
        settings, form = AnswerForm.of_call(self, options, names_of(GenerateOptions))
        return complete_request(AnswerRequest.of(settings, form, prompt, form.grammar(self, spec)))

    @overload
    async def arun(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @overload
    async def arun(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> Generation[str]: ...
    @overload
    async def arun(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Generation[Any]: ...
    @overload
    async def arun(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @requires("prompt", "spec", call="await lm.arun(prompt, Person)")
    async def arun(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Like `run`, in a thread, without blocking the event loop."""
        return await in_thread(self.run, prompt, spec, **options)

    # --- a list of prompts --------------------------------------------------------------------------------------------

    @overload
    def batch(self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[BatchOptions]) -> list[T | Failure]: ...
    @overload
    def batch(self, prompts: Prompts, spec: PatternSpec, **options: Unpack[BatchOptions]) -> list[str | Failure]: ...
    @overload
    def batch(
        self, prompts: Prompts, spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    def batch(
        self, prompts: Prompts, spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Any]: ...
    @overload
    def batch(self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[BatchOptions]) -> list[T | Failure]: ...
    @requires("prompts", "spec", call="lm.batch(prompts, Person)")
    def batch(self, prompts: Prompts, spec: Any, **options: Unpack[BatchOptions]) -> list[Any]:
        """Return the model's answer to every prompt as a value, or the failure of its row, in the order of the prompts.

        Args:
            prompts: Texts or chats.
            spec: The spec of the values: one for all rows, or a list with one for each. A list is never a choice of
                texts here.
            options: Those of `run_batch`.

        Raises:
            SchemaError: As `run_batch`.
            OptionError: As `run_batch`.

        Example:
            ```python
            people = [found for found in lm.batch(texts, Person) if not isinstance(found, Failure)]
            ```
        """
        return list(values_of(self.run_batch(prompts, spec, **options)))

    @overload
    async def abatch(
        self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Prompts, spec: PatternSpec, **options: Unpack[BatchOptions]
    ) -> list[str | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Prompts, spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Prompts, spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Any]: ...
    @overload
    async def abatch(
        self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @requires("prompts", "spec", call="await lm.abatch(prompts, Person)")
    async def abatch(self, prompts: Prompts, spec: Any, **options: Unpack[BatchOptions]) -> Any:
        """Like `batch`, in a thread, without blocking the event loop."""
        return await in_thread(self.batch, prompts, spec, **options)

    @overload
    def run_batch(self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[BatchOptions]) -> list[Outcome[T]]: ...
    @overload
    def run_batch(self, prompts: Prompts, spec: PatternSpec, **options: Unpack[BatchOptions]) -> list[Outcome[str]]: ...
    @overload
    def run_batch(
        self, prompts: Prompts, spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[Outcome[T]]: ...
    @overload
    def run_batch(
        self, prompts: Prompts, spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Outcome[Any]]: ...
    @overload
    def run_batch(self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[BatchOptions]) -> list[Outcome[T]]: ...
    @requires("prompts", "spec", call="lm.run_batch(prompts, Person)")
    def run_batch(self, prompts: Prompts, spec: Any, **options: Unpack[BatchOptions]) -> list[Any]:
        """Return the `Generation` of every prompt, or the failure of its row, in the order of the prompts.

        Rows do not affect each other: a type that does not compile, a prompt without room for an answer, a budget that
        is too small, a value that a validator refuses and any error of the model become a `Failure` of their row.
        Rows of similar length are generated together, padded on the left; each has the result that `run` gives for it
        alone, as far as the model computes the same numbers in a batch. The masked mass of a row is not measured: it is
        None.

        Args:
            prompts: Texts or chats.
            spec: The spec of the values: one for all rows, or a list with one for each.
            options: Those of `run`, for all rows, and of `schemagen.options.BatchOptions`. ``batch_size`` is the maximum
                number of rows that the model works on at a time; by default as many as the free memory of the device
                holds (up to 256). If a step raises (out of memory, say), it is retried with half of the rows. ``seed`` is
                one number for each row, or one number to which the index of the row is added: the text of
                a row depends on its seed alone, not on its neighbours. ``progress`` is a bar on standard error; by default
                on a terminal, after a second.

        Raises:
            SchemaError: The single type for all rows cannot be compiled.
            OptionError: The prompts are a single text or chat, there are more or fewer specs or seeds than prompts, or
                an option is invalid; also one for which transformers refused every row.

        Example:
            ```python
            texts = [found.text for found in lm.run_batch(texts, Person) if not isinstance(found, Failure)]
            ```
        """
        from schemagen.lm.batch import Batch, generate_batch, raise_misuse

        batch, rest = Batch.of_call(self, options, names_of(BatchOptions))
        found = generate_batch(batch, prompts, spec, **rest)
        raise_misuse(found)
        return found

    @overload
    async def arun_batch(
        self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[BatchOptions]
    ) -> list[Outcome[T]]: ...
    @overload
    async def arun_batch(
        self, prompts: Prompts, spec: PatternSpec, **options: Unpack[BatchOptions]
    ) -> list[Outcome[str]]: ...
    @overload
    async def arun_batch(
        self, prompts: Prompts, spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[Outcome[T]]: ...
    @overload
    async def arun_batch(
        self, prompts: Prompts, spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Outcome[Any]]: ...
    @overload
    async def arun_batch(
        self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[BatchOptions]
    ) -> list[Outcome[T]]: ...
    @requires("prompts", "spec", call="await lm.arun_batch(prompts, Person)")
    async def arun_batch(self, prompts: Prompts, spec: Any, **options: Unpack[BatchOptions]) -> Any:
        """Like `run_batch`, in a thread, without blocking the event loop."""
        return await in_thread(self.run_batch, prompts, spec, **options)

    # --- an iterable of prompts ---------------------------------------------------------------------------------------

    @overload
    def map(self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[MapOptions]) -> Iterator[T | Failure]: ...
    @overload
    def map(self, prompts: Prompts, spec: PatternSpec, **options: Unpack[MapOptions]) -> Iterator[str | Failure]: ...
    @overload
    def map(self, prompts: Prompts, spec: OtherSpec, **options: Unpack[MapOptions]) -> Iterator[Any]: ...
    @overload
    def map(self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[MapOptions]) -> Iterator[T | Failure]: ...
    @requires("prompts", "spec", call="lm.map(prompts, Person)")
    def map(self, prompts: Prompts, spec: Any, **options: Unpack[MapOptions]) -> Iterator[Any]:
        """Yield the model's answer to every prompt as a value, or the failure of its row, in the order of the prompts.

        Args:
            prompts: Texts or chats: a list, a generator, any iterable, even an endless one.
            spec: The spec of the values, one for all rows.
            options: Those of `run_map`.

        Raises:
            SchemaError: As `run_map`.
            OptionError: As `run_map`.

        Example:
            ```python
            with open("people.txt") as lines:
                for found in lm.map(lines, Person):
                    print(found)
            ```
        """
        return values_of(self.run_map(prompts, spec, **options))

    @overload
    def run_map(self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[MapOptions]) -> Iterator[Outcome[T]]: ...
    @overload
    def run_map(self, prompts: Prompts, spec: PatternSpec, **options: Unpack[MapOptions]) -> Iterator[Outcome[str]]: ...
    @overload
    def run_map(self, prompts: Prompts, spec: OtherSpec, **options: Unpack[MapOptions]) -> Iterator[Outcome[Any]]: ...
    @overload
    def run_map(self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[MapOptions]) -> Iterator[Outcome[T]]: ...
    @requires("prompts", "spec", call="lm.run_map(prompts, Person)")
    def run_map(self, prompts: Prompts, spec: Any, **options: Unpack[MapOptions]) -> Iterator[Any]:
        """Yield the `Generation` of every prompt, or the failure of its row, in the order of the prompts.

        The rows are those of `run_batch`, one window after the other: each window reads its own prompts, so the memory
        does not grow with their number. Generation starts when the first value is requested.

        Args:
            prompts: Texts or chats: a list, a generator, any iterable, even an endless one.
            spec: The spec of the values, one for all rows.
            options: Those of `run`, for all rows, and of `schemagen.options.MapOptions`. ``window`` is the number of prompts
                that are read and answered before the next ones are read; by default eight batches (64 rows without
                ``batch_size``), then as many rows as take about twenty seconds, at most 4096. With
                ``seed`` row ``i`` has ``seed + i``, regardless of windows.

        Raises:
            SchemaError: The type cannot be compiled.
            OptionError: The prompts are a single text or chat, the spec is a list, or an option is invalid. During
                iteration: transformers refused every row of the first window for its options.

        Cost: memory for one window.
        """
        from schemagen.lm.batch import Batch, map_prompts

        if isinstance(spec, (list, tuple)):
            raise OptionError(
                f"the spec of a map is a {type(spec).__name__}",
                why="there may be any number of prompts, so that one spec is for all",
                fix="for a choice give schemagen.Choice([...]); a spec for each prompt takes lm.batch",
            )
        batch, rest = Batch.of_call(self, options, names_of(MapOptions))
        return map_prompts(batch, prompts, batch.form.grammar(self, spec), **rest)

    # --- one prompt, as events ----------------------------------------------------------------------------------------

    @overload
    def stream(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[StreamOptions]) -> Stream[T]: ...
    @overload
    def stream(self, prompt: Prompt, spec: TextSpec, **options: Unpack[StreamOptions]) -> Stream[str]: ...
    @overload
    def stream(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[StreamOptions]) -> Stream[Any]: ...
    @overload
    def stream(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[StreamOptions]) -> Stream[T]: ...
    @requires("prompt", "spec", call="lm.stream(prompt, Person)")
    def stream(self, prompt: Prompt, spec: Any, **options: Unpack[StreamOptions]) -> Stream[Any]:
        """Return the events of a generation while it goes on: fields that begin, grow and are complete, and the value.

        The events are `FieldStarted`, `Delta`, `FieldCompleted`, with ``partials`` `Snapshot`, and at the end
        `Completed` with the value; before them, with ``reasoning``, `ReasoningDelta`. They come from the structure of
        the text: strings grow by whole characters with their escapes resolved, a field is validated by its own type
        when it is complete, and the value by all of its validators at the end.

        Args:
            prompt: A text, or a chat.
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            options: Those of `schemagen.options.StreamOptions`, as for `run`; beams cannot be streamed, and there are no
                retries. With ``partials`` there is a `Snapshot` of everything so far after each step that changes it.

        Returns:
            An iterator. The model works while you wait for an event, and stops when the stream is closed or
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

        partials = check_flag("partials", options.get("partials", False))
        rest = {name: value for name, value in options.items() if name != "partials"}
        settings, form = AnswerForm.of_call(self, rest, names_of(StreamOptions), streamed=True)
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


def values_of(outcomes: Iterable[Any]) -> Iterator[Any]:
    """Yield the value of each generation; failures stay as they are."""
    return (each if isinstance(each, Failure) else each.value for each in outcomes)


async def in_thread(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a method in a thread and return its result, without blocking the event loop.

    Overloaded methods have no single signature that `asyncio.to_thread` could carry, so the caller names the result.
    """
    from asyncio import to_thread  # not needed without asyncio

    return await to_thread(method, *args, **options)
