"""`structured` and `Structured`: classes that generate instances of themselves, and their default model.

Both give a class the methods of `METHODS`. The decorator works on any class; no type checker lets a decorator add typed
methods (mypy ignores the return type of class decorators, and neither has intersection types). `Structured` is
therefore the form for typed code: as a base class it gives ``Person.generate(...)`` the type ``Person``, for mypy and
pyright. On such a class the decorator sets the defaults.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from inspect import get_annotations
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from schemagen.checks import as_text
from schemagen.errors import OptionError, SchemagenError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from typing_extensions import Self, Unpack

    from schemagen.events import Event
    from schemagen.generation import Failure, Generation
    from schemagen.lm.language_model import LanguageModel
    from schemagen.lm.spec_types import Prompt
    from schemagen.lm.stream import Stream
    from schemagen.options import BatchOptions, GenerateOptions, StreamOptions

C = TypeVar("C", bound=type)
#: Methods that the decorator adds. A class keeps its own, except for `generate`.
METHODS = (
    "generate", "agenerate", "run", "arun", "batch", "abatch", "run_batch", "arun_batch", "stream", "astream",
)  # fmt: skip
_DEFAULTS = "__schemagen_defaults__"


@dataclass(frozen=True, slots=True)
class _Defaults:
    """The defaults of a class for calls.

    Attributes:
        lm: The model; None for that of `set_default_lm`, or the bundled one.
        options: The options of the decorator.
    """

    lm: LanguageModel | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class _Default:
    """Holds the model of `set_default_lm`."""

    lm: ClassVar[LanguageModel | None] = None


def set_default_lm(lm: LanguageModel | None) -> None:
    """Set the model of structured classes for calls and decorators that name none.

    Args:
        lm: The result of `schemagen.load` or `from_transformers`; None goes back to the bundled model.

    Raises:
        OptionError: It is not a model.
    """
    _Default.lm = _checked(lm)


class Structured:
    """Base class for pydantic models and dataclasses that can be generated, with types that checkers know.

    Example:
        ```python
        class Person(schemagen.Structured, BaseModel):
            name: str
            age: int

        Person.generate("Ada Lovelace, 36, London")     # -> Person
        ```

    The model is the argument ``lm``, else that of ``@structured(lm=...)``, else that of `set_default_lm`, else the
    bundled one. The options of a call override those of the decorator.
    """

    __slots__ = ()

    @classmethod
    def generate(cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Unpack[GenerateOptions]) -> Self:
        """Return an instance of this class as the model's answer to a prompt.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            lm: The model; see the class.
            options: As for `LanguageModel.generate`.

        Raises:
            GenerationError: As `LanguageModel.generate`.
        """
        instance: Self = _model(cls, lm).generate(prompt, cls, **_with(cls, options))
        return instance

    @classmethod
    async def agenerate(
        cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Unpack[GenerateOptions]
    ) -> Self:
        """Like `generate`, without blocking the event loop."""
        instance: Self = await _model(cls, lm).agenerate(prompt, cls, **_with(cls, options))
        return instance

    @classmethod
    def run(
        cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[Self]:
        """Return an instance with its text, tokens and time; arguments and errors as for `LanguageModel.run`."""
        found: Generation[Self] = _model(cls, lm).run(prompt, cls, **_with(cls, options))
        return found

    @classmethod
    async def arun(
        cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[Self]:
        """Like `run`, without blocking the event loop."""
        found: Generation[Self] = await _model(cls, lm).arun(prompt, cls, **_with(cls, options))
        return found

    @classmethod
    def batch(
        cls, prompts: Iterable[Prompt], *, lm: LanguageModel | None = None, **options: Unpack[BatchOptions]
    ) -> list[Self | Failure]:
        """Return an instance for each prompt; arguments and errors as for `LanguageModel.batch`."""
        found: list[Self | Failure] = _model(cls, lm).batch(prompts, cls, **_with(cls, options))
        return found

    @classmethod
    async def abatch(
        cls, prompts: Iterable[Prompt], *, lm: LanguageModel | None = None, **options: Unpack[BatchOptions]
    ) -> list[Self | Failure]:
        """Like `batch`, without blocking the event loop."""
        found: list[Self | Failure] = await _model(cls, lm).abatch(prompts, cls, **_with(cls, options))
        return found

    @classmethod
    def run_batch(
        cls, prompts: Iterable[Prompt], *, lm: LanguageModel | None = None, **options: Unpack[BatchOptions]
    ) -> list[Generation[Self] | Failure]:
        """Return a `Generation` for each prompt; arguments and errors as for `LanguageModel.run_batch`."""
        found: list[Generation[Self] | Failure] = _model(cls, lm).run_batch(prompts, cls, **_with(cls, options))
        return found

    @classmethod
    async def arun_batch(
        cls, prompts: Iterable[Prompt], *, lm: LanguageModel | None = None, **options: Unpack[BatchOptions]
    ) -> list[Generation[Self] | Failure]:
        """Like `run_batch`, without blocking the event loop."""
        found: list[Generation[Self] | Failure] = await _model(cls, lm).arun_batch(prompts, cls, **_with(cls, options))
        return found

    @classmethod
    def stream(
        cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Self]:
        """Return the events of an instance while it is written; arguments and errors as for `LanguageModel.stream`.

        A default of ``retries`` has no effect: text that was sent cannot be taken back.
        """
        found: Stream[Self] = _model(cls, lm).stream(prompt, cls, **_with(cls, options, without="retries"))
        return found

    @classmethod
    def astream(
        cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncGenerator[Event[Self], None]:
        """Like `stream`, without blocking the event loop."""
        asked: Any = _model(cls, lm).astream(prompt, cls, **_with(cls, options, without="retries"))
        found: AsyncGenerator[Event[Self], None] = asked
        return found

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a class that defines one of these names itself."""
        super().__init_subclass__(**kwargs)
        for name in METHODS:
            if name in vars(cls) or name in get_annotations(cls):
                raise _clash(cls, name)


@overload
def structured(cls: C, /) -> C: ...
@overload
def structured(*, lm: LanguageModel | None = None, **defaults: Unpack[GenerateOptions]) -> Callable[[C], C]: ...
def structured(cls: Any = None, /, *, lm: LanguageModel | None = None, **defaults: Any) -> Any:
    """Give a class the methods of `Structured`: ``generate(prompt, *, lm=None, **options)`` returns an instance, ...

    ``@structured`` is ``@structured(lm=..., **defaults)`` without defaults.

    Example:
        ```python
        @schemagen.structured(lm=lm, max_new_tokens=64)
        class Person(BaseModel):
            name: str
            age: int

        Person.generate("Ada Lovelace, 36, London")     # -> Person
        ```

    Args:
        cls: A pydantic model, dataclass, TypedDict, NamedTuple, Enum, or any other class that pydantic can validate.
        lm: The model of calls that name none; None for that of `set_default_lm`, or the bundled one.
        defaults: Options for every call, as for `LanguageModel.generate`.

    Returns:
        The same class. Type checkers do not see the methods; inherit from `Structured` where that matters. Fields and
        methods of the class keep their names, and a warning lists the methods that it lacks; only `generate` must be
        free.

    Raises:
        SchemagenError: The class has an attribute or field `generate` already, or cannot have methods.
        OptionError: ``lm`` is not a model, or a default is invalid.
        UnsupportedTypeError: pydantic knows no fields of the class.

    Warns:
        UserWarning: A field or method of the class has the name of one that would be added, such as `run`.
    """
    given = _Defaults(_checked(lm), defaults)
    if defaults:
        from schemagen.lm.generator import check_defaults

        check_defaults(defaults, lm)
    if cls is None:
        return lambda decorated: _structured(decorated, given)
    return _structured(cls, given)


def _structured(cls: Any, defaults: _Defaults) -> Any:
    """Add the methods to a class, unless it has inherited them, and the defaults."""
    if not isinstance(cls, type):
        raise SchemagenError(
            f"{cls!r:.80} is not a class",
            why="structured gives a class methods",
            fix="decorate a class, or call lm(prompt, spec)",
            code="no-methods",
        )
    _check_fields(cls)
    annotated = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}
    fields = annotated.union(getattr(cls, "model_fields", {}))
    is_structured = hasattr(cls, _DEFAULTS) or issubclass(cls, Structured)
    if "generate" in fields or (hasattr(cls, "generate") and not is_structured):
        raise _clash(cls, "generate")
    inherited: _Defaults = getattr(cls, _DEFAULTS, _Defaults())
    defaults = _Defaults(defaults.lm or inherited.lm, {**inherited.options, **defaults.options})
    added = () if is_structured else METHODS
    taken = [name for name in added if name in fields or hasattr(cls, name)]
    try:
        for name in added:
            if name not in taken:
                setattr(cls, name, _method(cls, name))
        setattr(cls, _DEFAULTS, defaults)
    except (AttributeError, TypeError) as error:
        raise _methodless(cls, error) from error
    if taken:
        _warn_of_names(cls, taken)
    return cls


def _check_fields(cls: type) -> None:
    """Refuse a class that pydantic cannot describe, which every call would refuse.

    Raises:
        UnsupportedTypeError: It is such a class.
    """
    if any(hasattr(cls, name) for name in ("model_fields", "__dataclass_fields__", "_fields", "__members__")):
        return
    from pydantic import PydanticSchemaGenerationError, TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        TypeAdapter(cls)
    except PydanticSchemaGenerationError as error:
        raise UnsupportedTypeError(
            f"{cls.__name__} is a plain class",
            at=cls.__qualname__,
            why="pydantic knows no fields of it, so that there is nothing to generate",
            fix="let it inherit from pydantic.BaseModel, or make it a dataclass: @schemagen.structured goes above @dataclass",
        ) from error
    except (PydanticUserError, NameError):  # a name in it is defined later
        return


def _warn_of_names(cls: type, names: list[str]) -> None:
    """Warn of methods that a class does not get, at its decorator."""
    kept = ", ".join(map(repr, names))
    warnings.warn(
        f"{cls.__name__} has a field or method of its own called {kept}, and keeps it: {cls.__name__}.{names[0]}(...) asks no "
        f"model. Rename it, or call lm.{names[0]}(..., {cls.__name__}).",
        UserWarning,
        stacklevel=4,
    )


def _method(cls: type, name: str) -> Any:
    """Return a method of `Structured` as one of another class."""
    of_structured: FunctionType = vars(Structured)[name].__func__
    copied = FunctionType(of_structured.__code__, of_structured.__globals__, name, None, of_structured.__closure__)
    copied.__kwdefaults__ = of_structured.__kwdefaults__
    copied.__doc__ = of_structured.__doc__
    copied.__qualname__ = f"{cls.__qualname__}.{name}"
    return classmethod(copied)


def _model(cls: type, given: LanguageModel | None) -> LanguageModel:
    """Return the model to ask: that of the call, the decorator, `set_default_lm`, or the bundled one."""
    lm = _checked(given) or getattr(cls, _DEFAULTS, _Defaults()).lm or _Default.lm
    if lm is not None:
        return lm
    from schemagen.lm import load_bundled

    return load_bundled()


def _with(cls: type, options: Mapping[str, Any], *, without: str = "") -> dict[str, Any]:
    """Return the options of a call, with defaults from the decorator."""
    defaults: Mapping[str, Any] = getattr(cls, _DEFAULTS, _Defaults()).options
    return {**{name: value for name, value in defaults.items() if name != without}, **options}


def _checked(lm: Any) -> Any:
    """Return a model, or None.

    Raises:
        OptionError: It is neither.
    """
    if lm is None or (callable(getattr(lm, "run", None)) and not isinstance(lm, type)):
        return lm
    raise OptionError(
        f"lm={as_text(lm)} is not a model",
        why="it is a class" if isinstance(lm, type) else "it has no run()",
        fix="give the result of schemagen.load(name) or schemagen.from_transformers(model, tokenizer)",
    )


def _clash(cls: type, name: str) -> SchemagenError:
    return SchemagenError(
        f"{cls.__name__} already has an attribute {name!r}",
        at=cls.__qualname__,
        why="it would be hidden, or hide the one that is added",
        fix=f"rename it, or leave the class as it is and call lm(prompt, {cls.__name__})"
        if name == "generate"
        else f"rename it, or use the decorator schemagen.structured, which leaves {name!r} alone",
        code="generate-clash",
    )


def _methodless(cls: type, error: Exception) -> SchemagenError:
    return SchemagenError(
        f"{cls.__name__} cannot have methods",
        at=cls.__qualname__,
        why=str(error),
        fix=f"call lm(prompt, {cls.__name__})",
        code="no-methods",
    )
