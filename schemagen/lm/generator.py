"""`Generator`: one language model and one type, compiled once."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from schemagen.errors import OptionError
from schemagen.options import BatchOptions, GenerateOptions, StreamOptions, names_of
from schemagen.options.required import requires
from schemagen.options.table import FOREIGN, checked_values

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping

    from typing_extensions import TypeForm, Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.events import Event
    from schemagen.generation import Failure, Generation
    from schemagen.lm.language_model import LanguageModel
    from schemagen.lm.spec_types import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.lm.stream import Stream
    from schemagen.options import MapOptions
    from schemagen.writers import TextFormat

T = TypeVar("T")

#: Options of batches and streams apply to batches and streams; other calls refuse them.
_OWN = names_of(GenerateOptions) | names_of(BatchOptions) | names_of(StreamOptions)
#: Below this similarity, names of transformers' options would count as misspelt ones of ours.
_ALIKE = 0.85


class Generator(Generic[T]):
    """Answers of a model as values of one type; reusable, and as thread-safe as the model.

    Calling it, `generate` and `batch` return values, `run` and `run_batch` the `Generation` around each.

    Args:
        lm: The model.
        spec: A type, a JSON Schema, a `Regex`, a `Choice` or a list of texts; compiled here, once.
        whitespace: As for `schemagen.compile`.
        property_order: As for `schemagen.compile`.
        as_: As for `schemagen.compile`.
        options: Defaults for every call, as for `LanguageModel.generate`.

    Attributes:
        lm: The model.
        grammar: The compiled constraint.

    Raises:
        OptionError: The first argument is not a model, or an option is invalid.
        SchemaError: The type or schema cannot be compiled.
    """

    @overload
    def __init__(self, lm: LanguageModel, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> None: ...
    @overload
    def __init__(
        self: Generator[str], lm: LanguageModel, spec: TextSpec, **options: Unpack[GenerateOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: Generator[Any], lm: LanguageModel, spec: OtherSpec, **options: Unpack[GenerateOptions]
    ) -> None: ...
    @overload
    def __init__(self, lm: LanguageModel, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> None: ...
    @requires("lm", "spec", call="schemagen.Generator(lm, Person)")
    def __init__(
        self,
        lm: LanguageModel,
        spec: Any,
        *,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        **options: Any,
    ) -> None:
        if isinstance(lm, type) or not callable(getattr(lm, "compile", None)):
            raise OptionError(
                f"the model of a Generator is {lm!r:.80}",
                why="it is a class" if isinstance(lm, type) else "it has no compile()",
                fix="Generator(lm, spec) takes the result of schemagen.load or from_transformers, then the type",
            )
        check_defaults(options, lm)
        self.lm = lm
        self.grammar = lm.compile(spec, whitespace=whitespace, property_order=property_order, as_=as_)
        self._options = options

    def __call__(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> T:
        """Return the answer to a prompt as a value; arguments and errors as for `LanguageModel.generate`."""
        return self.run(prompt, **options).value

    def generate(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> T:
        """Return the answer to a prompt as a value; arguments and errors as for `LanguageModel.generate`."""
        return self.run(prompt, **options).value

    async def agenerate(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> T:
        """Like `generate`, without blocking the event loop."""
        return (await self.arun(prompt, **options)).value

    def run(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> Generation[T]:
        """Return the answer with its text, tokens and time; arguments and errors as for `LanguageModel.run`."""
        found: Generation[T] = self.lm.run(prompt, self.grammar, **self._with(options))
        return found

    async def arun(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> Generation[T]:
        """Like `run`, without blocking the event loop."""
        found: Generation[T] = await self.lm.arun(prompt, self.grammar, **self._with(options))
        return found

    def batch(self, prompts: Iterable[Prompt], **options: Unpack[BatchOptions]) -> list[T | Failure]:
        """Return the answers to many prompts as values; arguments and errors as for `LanguageModel.batch`."""
        found: list[T | Failure] = self.lm.batch(prompts, self.grammar, **self._with(options))
        return found

    async def abatch(self, prompts: Iterable[Prompt], **options: Unpack[BatchOptions]) -> list[T | Failure]:
        """Like `batch`, without blocking the event loop."""
        found: list[T | Failure] = await self.lm.abatch(prompts, self.grammar, **self._with(options))
        return found

    def run_batch(self, prompts: Iterable[Prompt], **options: Unpack[BatchOptions]) -> list[Generation[T] | Failure]:
        """Return the generations of many prompts; arguments and errors as for `LanguageModel.run_batch`."""
        found: list[Generation[T] | Failure] = self.lm.run_batch(prompts, self.grammar, **self._with(options))
        return found

    async def arun_batch(
        self, prompts: Iterable[Prompt], **options: Unpack[BatchOptions]
    ) -> list[Generation[T] | Failure]:
        """Like `run_batch`, without blocking the event loop."""
        found: list[Generation[T] | Failure] = await self.lm.arun_batch(prompts, self.grammar, **self._with(options))
        return found

    def map(self, prompts: Iterable[Prompt], **options: Unpack[MapOptions]) -> Iterator[T | Failure]:
        """Yield the answers to any number of prompts as values; arguments and errors as for `LanguageModel.map`."""
        found: Iterator[T | Failure] = self.lm.map(prompts, self.grammar, **self._with(options))
        return found

    def run_map(self, prompts: Iterable[Prompt], **options: Unpack[MapOptions]) -> Iterator[Generation[T] | Failure]:
        """Yield the generations of any number of prompts; arguments and errors as for `LanguageModel.run_map`."""
        found: Iterator[Generation[T] | Failure] = self.lm.run_map(prompts, self.grammar, **self._with(options))
        return found

    def stream(self, prompt: Prompt, **options: Unpack[StreamOptions]) -> Stream[T]:
        """Return the events of the answer to a prompt; arguments and errors as for `LanguageModel.stream`.

        A default of ``retries`` has no effect: text that was sent cannot be taken back.
        """
        found: Stream[T] = self.lm.stream(prompt, self.grammar, **self._of_streams(options))
        return found

    def astream(self, prompt: Prompt, **options: Unpack[StreamOptions]) -> AsyncGenerator[Event[T], None]:
        """Like `stream`, without blocking the event loop."""
        found: AsyncGenerator[Event[T], None] = self.lm.astream(prompt, self.grammar, **self._of_streams(options))
        return found

    def _with(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a call, with the defaults of this generator."""
        return {**self._options, **options}

    def _of_streams(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a stream, which has no retries."""
        return {**{name: value for name, value in self._options.items() if name != "retries"}, **options}

    def __repr__(self) -> str:
        """Show the constraint."""
        return f"Generator({self.grammar.spec!r:.80})"


def check_defaults(options: Mapping[str, Any], lm: Any) -> None:
    """Refuse options that every call would refuse.

    Args:
        options: As for `LanguageModel.generate`, `batch` or `stream`.
        lm: The model; None if it is not known yet. Then the options of transformers are not checked, because that would
            import it.

    Raises:
        OptionError: An option is unknown, or its value is invalid.
    """
    model = getattr(lm, "model", None)
    if model is None:
        _check_names(options)
    else:
        from schemagen.decode.options import check_names

        check_names(options, model, _OWN)
    checked_values(options)


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        close = get_close_matches(name, _OWN, n=1, cutoff=_ALIKE)
        if name in _OWN or (name not in FOREIGN and not close):
            continue
        raise OptionError(
            f"{name}= is not an option here",
            why="no method takes it",
            fix=FOREIGN.get(name) or f"did you mean {close[0]}=?",
        )
