"""`MappedAnswers`: the methods of a `LanguageModel` for prompts that do not fit into a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from schemagen.errors import OptionError
from schemagen.options import MapOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import TypeForm, Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.generation import Failure, Generation
    from schemagen.lm.front_doors import OtherSpec, PatternSpec, Prompt, TypedSpec
    from schemagen.options import DecodingOptions
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.renderings import ShowSchema
    from schemagen.writers.formats import TextFormat

T = TypeVar("T")


class MappedAnswers(ModelAccess):
    """The methods of a `LanguageModel` for an iterable of prompts: `map` yields values, `run_map` their generations."""

    @overload
    def map(
        self, prompts: Iterable[Prompt], spec: TypedSpec[T], **options: Unpack[MapOptions]
    ) -> Iterator[T | Failure]: ...
    @overload
    def map(
        self, prompts: Iterable[Prompt], spec: PatternSpec, **options: Unpack[MapOptions]
    ) -> Iterator[str | Failure]: ...
    @overload
    def map(self, prompts: Iterable[Prompt], spec: OtherSpec, **options: Unpack[MapOptions]) -> Iterator[Any]: ...
    @overload
    def map(
        self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Unpack[MapOptions]
    ) -> Iterator[T | Failure]: ...
    @requires("prompts", "spec", call="lm.map(prompts, Person)")
    def map(self, prompts: Iterable[Prompt], spec: Any, **options: Unpack[MapOptions]) -> Iterator[Any]:
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
        from schemagen.generation import Failure

        found: Iterator[Any] = self.run_map(prompts, spec, **options)
        return (each if isinstance(each, Failure) else each.value for each in found)

    @overload
    def run_map(
        self, prompts: Iterable[Prompt], spec: TypedSpec[T], **options: Unpack[MapOptions]
    ) -> Iterator[Generation[T] | Failure]: ...
    @overload
    def run_map(
        self, prompts: Iterable[Prompt], spec: PatternSpec, **options: Unpack[MapOptions]
    ) -> Iterator[Generation[str] | Failure]: ...
    @overload
    def run_map(
        self, prompts: Iterable[Prompt], spec: OtherSpec, **options: Unpack[MapOptions]
    ) -> Iterator[Generation[Any] | Failure]: ...
    @overload
    def run_map(
        self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Unpack[MapOptions]
    ) -> Iterator[Generation[T] | Failure]: ...
    @requires("prompts", "spec", call="lm.run_map(prompts, Person)")
    def run_map(  # noqa: PLR0913 - as `run`
        self,
        prompts: Iterable[Prompt],
        spec: Any,
        *,
        batch_size: int | None = None,
        window: int | None = None,
        progress: bool | None = None,
        retries: int = 0,
        seed: int | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        reasoning: bool | int | Reasoning = False,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
        heal: bool = False,
        **generate_kwargs: Unpack[DecodingOptions],
    ) -> Iterator[Any]:
        """Yield the `Generation` of every prompt, or the failure of its row, in the order of the prompts.

        The rows are those of `run_batch`, one window after the other: each window reads its own prompts, so the memory
        does not grow with their number. Generation starts when the first value is requested.

        Args:
            prompts: Texts or chats: a list, a generator, any iterable, even an endless one.
            spec: The spec of the values, one for all rows.
            batch_size: As for `run_batch`.
            window: Prompts that are read and answered before the next ones are read. None for eight batches (64 rows
                without ``batch_size``), doubled after each window that took less than a quarter of a minute,
                up to 4096.
            progress: As for `run_batch`.
            retries: As for `run_batch`.
            seed: Makes sampling reproducible: row ``i`` has ``seed + i``, regardless of windows.
            whitespace: As for `run`.
            property_order: As for `run`.
            as_: As for `run`.
            reasoning: As for `run`.
            show_schema: As for `run`.
            chat_template: As for `run`.
            heal: As for `run`.
            generate_kwargs: As for `run`, for all rows.

        Raises:
            SchemaError: The type cannot be compiled.
            OptionError: The prompts are a single text or chat, the spec is a list, or an option is invalid. During
                iteration: transformers refused every row of the first window for its options.

        Cost: memory for one window.
        """
        from schemagen.lm.batch import Batch
        from schemagen.lm.windows import map_prompts

        if isinstance(spec, (list, tuple)):
            raise OptionError(
                f"the spec of a map is a {type(spec).__name__}",
                why="there may be any number of prompts, so that one spec is for all",
                fix="for a choice give schemagen.Choice([...]); a spec for each prompt takes lm.batch",
            )
        options = {"retries": retries, "reasoning": reasoning, **generate_kwargs}
        settings = Settings.of(self, options, names_of(MapOptions))
        form = AnswerForm(whitespace, property_order, show_schema, chat_template, as_, heal)
        batch = Batch(settings, form, batch_size)
        grammar = form.grammar(self, spec)
        return map_prompts(batch, prompts, grammar, seed=seed, window=window, progress=progress)
