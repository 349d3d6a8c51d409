"""`structured` and `Structured`: classes that can be asked for instances of themselves.

Both add one class method, ``generate``. The decorator works on any class; no type checker lets a decorator add a typed
method (mypy ignores the return type of class decorators, and neither has intersection types). `Structured` is therefore
the form for typed code: as a base class it gives ``Person.generate(...)`` the type ``Person``, for mypy and pyright.
"""

from __future__ import annotations

from inspect import get_annotations
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.errors import SchemagenError

if TYPE_CHECKING:
    from typing_extensions import Self

    from schemagen.lm.language_model import LanguageModel, Prompt

C = TypeVar("C", bound=type)
_NAME = "generate"


class Structured:
    """Base class for pydantic models and dataclasses that can be generated.

    Example:
        ```python
        class Person(schemagen.Structured, BaseModel):
            name: str
            age: int

        Person.generate("Ada Lovelace, 36, London")     # -> Person
        ```
    """

    __slots__ = ()

    @classmethod
    def generate(cls, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Any) -> Self:
        """Return an instance of this class as the model's answer to a prompt.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            lm: The model; the bundled one if there is none.
            options: As for `LanguageModel.generate`.

        Raises:
            GenerationError: As `LanguageModel.generate`.
        """
        instance: Self = _generate(cls, prompt, lm, options)
        return instance

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a class that has a `generate` of its own."""
        super().__init_subclass__(**kwargs)
        if _NAME in vars(cls) or _NAME in get_annotations(cls):
            raise _clash(cls)


def structured(cls: C) -> C:
    """Give a class the class method ``generate(prompt, *, lm=None, **options)``, which returns an instance of it.

    Example:
        ```python
        @schemagen.structured
        class Person(BaseModel):
            name: str
            age: int

        Person.generate("Ada Lovelace, 36, London")     # -> Person
        ```

    Args:
        cls: A pydantic model, dataclass, TypedDict, NamedTuple, Enum, or any other class that pydantic can validate.

    Returns:
        The same class. Type checkers do not see the method; inherit from `Structured` where that matters.

    Raises:
        SchemagenError: The class has an attribute or field `generate` already, or cannot have methods.
    """
    if not isinstance(cls, type):
        raise SchemagenError(
            f"{cls!r:.80} is no class",
            why="structured gives a class a method",
            fix="decorate a class, or call lm(prompt, spec)",
            code="no-methods",
        )
    fields = {**getattr(cls, "__annotations__", {}), **getattr(cls, "model_fields", {})}
    if _NAME in fields or hasattr(cls, _NAME):
        raise _clash(cls)

    def generate(cls: type, /, prompt: Prompt, *, lm: LanguageModel | None = None, **options: Any) -> Any:
        return _generate(cls, prompt, lm, options)

    generate.__doc__ = Structured.generate.__doc__
    generate.__qualname__ = f"{cls.__qualname__}.{_NAME}"
    try:
        setattr(cls, _NAME, classmethod(generate))
    except (AttributeError, TypeError) as error:
        raise _methodless(cls, error) from error
    return cls


def _generate(cls: Any, prompt: Prompt, lm: LanguageModel | None, options: dict[str, Any]) -> Any:
    """Ask the model, or the bundled one, for an instance."""
    if lm is None:
        from schemagen.lm import load_bundled

        lm = load_bundled()
    return lm(prompt, cls, **options)


def _clash(cls: type) -> SchemagenError:
    return SchemagenError(
        f"{cls.__name__} already has an attribute {_NAME!r}",
        at=cls.__qualname__,
        why="it would be hidden, or hide the one that is added",
        fix=f"rename it, or leave the class as it is and call lm(prompt, {cls.__name__})",
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
