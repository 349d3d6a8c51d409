"""`BatchAnswers`: the front doors of a `LanguageModel` for many prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from typing_extensions import TypeVar

from schemagen.lm.threads import in_thread
from schemagen.options import BatchOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import TypeForm, Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.generation import Failure, Generation
    from schemagen.lm.front_doors import OtherSpec, PatternSpec, Prompt, TypedSpec
    from schemagen.options import DecodingOptions
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.renderings import ShowSchema
    from schemagen.writers.formats import TextFormat

#: mypy infers an empty type for a list of several types; it is then Any.
T = TypeVar("T", default=Any)


class BatchAnswers(ModelAccess):
    """The methods of a `LanguageModel` for many prompts: `batch` returns values, `run_batch` their generations."""

    @overload
    def batch(
        self, prompts: Iterable[Prompt], spec: TypedSpec[T], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    def batch(
        self, prompts: Iterable[Prompt], spec: PatternSpec, **options: Unpack[BatchOptions]
    ) -> list[str | Failure]: ...
    @overload
    def batch(
        self, prompts: Iterable[Prompt], spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    def batch(
        self, prompts: Iterable[Prompt], spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Any]: ...
    @overload
    def batch(
        self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @requires("prompts", "spec", call="lm.batch(prompts, Person)")
    def batch(self, prompts: Iterable[Prompt], spec: Any, **options: Unpack[BatchOptions]) -> list[Any]:
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
        from schemagen.generation import Failure

        found: list[Any] = self.run_batch(prompts, spec, **options)
        return [each if isinstance(each, Failure) else each.value for each in found]

    @overload
    async def abatch(
        self, prompts: Iterable[Prompt], spec: TypedSpec[T], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Iterable[Prompt], spec: PatternSpec, **options: Unpack[BatchOptions]
    ) -> list[str | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Iterable[Prompt], spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Iterable[Prompt], spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Any]: ...
    @overload
    async def abatch(
        self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Unpack[BatchOptions]
    ) -> list[T | Failure]: ...
    @requires("prompts", "spec", call="await lm.abatch(prompts, Person)")
    async def abatch(self, prompts: Iterable[Prompt], spec: Any, **options: Unpack[BatchOptions]) -> list[Any]:
        """Like `batch`, in a thread, without blocking the event loop."""
        found: list[Any] = await in_thread(self.batch, prompts, spec, **options)
        return found

    @overload
    def run_batch(
        self, prompts: Iterable[Prompt], spec: TypedSpec[T], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]: ...
    @overload
    def run_batch(
        self, prompts: Iterable[Prompt], spec: PatternSpec, **options: Unpack[BatchOptions]
    ) -> list[Generation[str] | Failure]: ...
    @overload
    def run_batch(
        self, prompts: Iterable[Prompt], spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]: ...
    @overload
    def run_batch(
        self, prompts: Iterable[Prompt], spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Generation[Any] | Failure]: ...
    @overload
    def run_batch(
        self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]: ...
    @requires("prompts", "spec", call="lm.run_batch(prompts, Person)")
    def run_batch(  # noqa: PLR0913 - as `run`
        self,
        prompts: Iterable[Prompt],
        spec: Any,
        *,
        batch_size: int | None = None,
        progress: bool | None = None,
        retries: int = 0,
        seed: int | Sequence[int] | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        reasoning: bool | int | Reasoning = False,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
        heal: bool = False,
        **generate_kwargs: Unpack[DecodingOptions],
    ) -> list[Any]:
        """Return the `Generation` of every prompt, or the failure of its row, in the order of the prompts.

        Rows do not affect each other: a type that does not compile, a prompt without room for an answer, a budget that
        is too small, a value that a validator refuses and any error of the model become a `Failure` of their row.
        Rows of similar length are generated together, padded on the left; each has the result that `run` gives for it
        alone, as far as the model computes the same numbers in a batch. The masked mass of a row is not measured: it is
        None.

        Args:
            prompts: Texts or chats.
            spec: The spec of the values: one for all rows, or a list with one for each.
            batch_size: Maximum number of rows that the model works on at a time. None for as many as the free memory of
                the device holds (up to 256), for prompts of similar length. If a batch raises (out of memory, say), it
                is retried in halves.
            progress: Whether to show a progress bar on standard error. None to show it on a terminal, after a second.
            retries: How often a row is asked again, with the reasons, when a validator of its type refuses the value.
            seed: Makes sampling reproducible: one number for each row, or one number that is counted up, so that row
                ``i`` has ``seed + i``. The text of a row depends on its seed alone, not on its neighbours. With beams
                or assisted decoding, rows with seeds are generated one at a time.
            whitespace: As for `run`.
            property_order: As for `run`.
            as_: As for `run`.
            reasoning: As for `run`.
            show_schema: As for `run`.
            chat_template: As for `run`.
            heal: As for `run`.
            generate_kwargs: As for `run`, for all rows.

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

        options = {"retries": retries, "reasoning": reasoning, **generate_kwargs}
        settings = Settings.of(self, options, names_of(BatchOptions))
        form = AnswerForm(whitespace, property_order, show_schema, chat_template, as_, heal)
        batch = Batch(settings, form, batch_size)
        found = generate_batch(batch, prompts, spec, seed=seed, progress=progress)
        raise_misuse(found)
        return found

    @overload
    async def arun_batch(
        self, prompts: Iterable[Prompt], spec: TypedSpec[T], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]: ...
    @overload
    async def arun_batch(
        self, prompts: Iterable[Prompt], spec: PatternSpec, **options: Unpack[BatchOptions]
    ) -> list[Generation[str] | Failure]: ...
    @overload
    async def arun_batch(
        self, prompts: Iterable[Prompt], spec: Sequence[type[T]], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]: ...
    @overload
    async def arun_batch(
        self, prompts: Iterable[Prompt], spec: OtherSpec | Sequence[Any], **options: Unpack[BatchOptions]
    ) -> list[Generation[Any] | Failure]: ...
    @overload
    async def arun_batch(
        self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]: ...
    @requires("prompts", "spec", call="await lm.arun_batch(prompts, Person)")
    async def arun_batch(self, prompts: Iterable[Prompt], spec: Any, **options: Unpack[BatchOptions]) -> list[Any]:
        """Like `run_batch`, in a thread, without blocking the event loop."""
        found: list[Any] = await in_thread(self.run_batch, prompts, spec, **options)
        return found
