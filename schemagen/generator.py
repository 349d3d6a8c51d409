"""`Generator`: one language model and one type, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from typing_extensions import TypeForm

    from schemagen.compiler import Choice, Regex
    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.events import Event
    from schemagen.lm.generation import Failure, Generation
    from schemagen.lm.language_model import LanguageModel, Prompt
    from schemagen.lm.stream import Stream

T = TypeVar("T")


class Generator(Generic[T]):
    """Answers of a model as values of one type; reusable, and as safe for threads as the model.

    Args:
        lm: The model.
        spec: A type, a JSON Schema, a `Regex` or a `Choice`; compiled here, once.
        whitespace: As for `schemagen.compile`.
        property_order: As for `schemagen.compile`.
        options: Defaults for every call, as for `LanguageModel.generate`.

    Attributes:
        lm: The model.
        grammar: The compiled constraint.

    Raises:
        OptionError: The first argument is no model.
        SchemaError: The type or schema cannot be compiled.
    """

    @overload
    def __init__(self, lm: LanguageModel, spec: type[T], **options: Any) -> None: ...
    @overload
    def __init__(self: Generator[str], lm: LanguageModel, spec: Regex | Choice, **options: Any) -> None: ...
    @overload
    def __init__(self: Generator[Any], lm: LanguageModel, spec: Mapping[str, Any] | bool, **options: Any) -> None: ...
    @overload
    def __init__(self, lm: LanguageModel, spec: TypeForm[T], **options: Any) -> None: ...
    def __init__(
        self,
        lm: LanguageModel,
        spec: Any,
        *,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        **options: Any,
    ) -> None:
        if not callable(getattr(lm, "compile", None)):
            raise OptionError(
                f"the model of a Generator is {lm!r:.80}",
                why="it has no compile()",
                fix="Generator(lm, spec) takes what schemagen.load or from_transformers returns, then the type",
            )
        self.lm = lm
        self.grammar = lm.compile(spec, whitespace=whitespace, property_order=property_order)
        self._options = options

    def __call__(self, prompt: Prompt, **options: Any) -> T:
        """Return the answer to a prompt as a value; arguments and errors as for `LanguageModel.generate`."""
        return self.generate(prompt, **options).value

    def generate(self, prompt: Prompt, **options: Any) -> Generation[T]:
        """Return the answer with its circumstances; arguments and errors as for `LanguageModel.generate`."""
        found: Generation[T] = self.lm.generate(prompt, self.grammar, **{**self._options, **options})
        return found

    def batch(self, prompts: Iterable[Prompt], **options: Any) -> list[T | Failure]:
        """Return the answers to many prompts; arguments and errors as for `LanguageModel.batch`."""
        found: list[T | Failure] = self.lm.batch(prompts, self.grammar, **{**self._options, **options})
        return found

    def stream(self, prompt: Prompt, **options: Any) -> Stream[T]:
        """Return the events of the answer to a prompt; arguments and errors as for `LanguageModel.stream`.

        A default of ``retries`` has no effect: what was told cannot be taken back.
        """
        found: Stream[T] = self.lm.stream(prompt, self.grammar, **{**self._of_streams(), **options})
        return found

    async def agenerate(self, prompt: Prompt, **options: Any) -> Generation[T]:
        """Return what `generate` returns without blocking the event loop."""
        found: Generation[T] = await self.lm.agenerate(prompt, self.grammar, **{**self._options, **options})
        return found

    async def abatch(self, prompts: Iterable[Prompt], **options: Any) -> list[T | Failure]:
        """Return what `batch` returns without blocking the event loop."""
        found: list[T | Failure] = await self.lm.abatch(prompts, self.grammar, **{**self._options, **options})
        return found

    def astream(self, prompt: Prompt, **options: Any) -> AsyncGenerator[Event[T], None]:
        """Yield what `stream` yields without blocking the event loop."""
        found: AsyncGenerator[Event[T], None] = self.lm.astream(
            prompt, self.grammar, **{**self._of_streams(), **options}
        )
        return found

    def _of_streams(self) -> dict[str, Any]:
        return {name: value for name, value in self._options.items() if name != "retries"}

    def __repr__(self) -> str:
        """Show the constraint."""
        return f"Generator({self.grammar!r})"
