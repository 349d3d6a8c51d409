"""From the signature of a function to a pydantic model of its arguments, and back to a call.

Each parameter becomes a field with the same annotation, default and description. A field that pydantic would not allow
(`_private`, `copy`, `schema`, ...) gets another name and the parameter's name as alias, so JSON never shows the difference.
"""

from __future__ import annotations

import inspect
import typing
import warnings
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, create_model
from pydantic.fields import FieldInfo

from schemagen.errors import ToolError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_KEYWORDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_RESERVED = frozenset(dir(BaseModel))


def arguments_model(function: Callable[..., Any], name: str, descriptions: Mapping[str, str]) -> type[BaseModel]:
    """Return a model with a field for each parameter.

    A parameter without annotation takes any JSON value. A description in an annotation takes precedence.

    Raises:
        ToolError: The signature is not known, has ``*args`` or ``**kwargs``, or names a type that cannot be resolved.
        UnsupportedTypeError: pydantic cannot read a type.
    """
    hints = _hints(function, name)
    fields: dict[str, Any] = {}
    for parameter in parameters_of(function, name):
        annotation = hints.get(parameter.name, Any)
        fields[field_name(parameter.name)] = _field(parameter, annotation, descriptions.get(parameter.name, ""))
    config = ConfigDict(extra="forbid", protected_namespaces=(), arbitrary_types_allowed=True)
    try:
        return create_model(name, __config__=config, __module__=getattr(function, "__module__", __name__), **fields)
    except PydanticUserError as error:
        raise UnsupportedTypeError(
            f"the parameters of {name} cannot be read by pydantic",
            at=name,
            why=str(error).split("\n", 1)[0],
            fix="use a type that pydantic can read from JSON",
        ) from error


def parameters_of(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """Return the parameters of a function, without ``self`` or ``cls`` of a method.

    Raises:
        ToolError: As `arguments_model`.
    """
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ToolError(
            f"the signature of {name} is not known", why=str(error), fix="wrap it in a function of your own"
        ) from error
    if is_method(function):
        found = found[1:]
    for parameter in found:
        if parameter.kind in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            raise ToolError(
                f"{name} takes {parameter}",
                at=f"parameter {parameter.name}",
                why="a model can only fill parameters that are named and typed",
                fix="name the parameters, or take one list or dict",
            )
    return found


def warn_of_doubts(function: Any, name: str, described: Iterable[str]) -> None:
    """Warn about parameters without annotation, and about descriptions of parameters that do not exist.

    Classes and objects are skipped: their docstring may describe the constructor.

    Warns:
        UserWarning: The docstring describes a parameter that does not exist, or a parameter has no annotation.
    """
    inner = innermost(function)
    if not inspect.isroutine(inner):
        return
    known = inspect.signature(inner).parameters
    for other in described:
        if other not in known:
            alike = get_close_matches(other, known, n=1)
            hint = f": did you mean {alike[0]!r}?" if alike else ""
            _warn(inner, f"the docstring of {name} describes {other!r}, which is not a parameter{hint}")
    bare = [each.name for each in parameters_of(function, name) if each.annotation is each.empty]
    if bare:
        what = "a parameter" if len(bare) == 1 else "parameters"
        _warn(
            inner,
            f"{name} has {what} without annotation ({', '.join(bare)}), so a model may write any JSON value there: "
            "annotate with the type, or with Any if that is meant",
        )


def _warn(function: Any, message: str) -> None:
    """Warn at the definition of a function, not at the place that makes a tool of it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        warnings.warn(message, UserWarning, stacklevel=5)
    else:
        warnings.warn_explicit(message, UserWarning, code.co_filename, code.co_firstlineno)


def is_method(function: Any) -> bool:
    """Whether a function is an unbound method, which takes its object first."""
    if not inspect.isfunction(function):
        return False
    owner = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters.values()), None)
    in_class = bool(owner) and not owner.endswith("<locals>")
    return in_class and first is not None and first.name in {"self", "cls"} and first.annotation is first.empty


def innermost(function: Any) -> Any:
    """Return the function inside a `functools.partial`, which has the name, annotations and docstring; others unchanged."""
    while isinstance(function, partial):
        function = function.func
    return function


def field_name(parameter: str) -> str:
    """Return the name of the field of a parameter."""
    return f"{parameter.lstrip('_') or 'parameter'}_" if parameter[0] == "_" or parameter in _RESERVED else parameter


def bind(function: Callable[..., Any], name: str, arguments: BaseModel) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments of a call; arguments that the model left out keep the function's defaults."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    given = arguments.model_fields_set
    for parameter in parameters_of(function, name):
        field = field_name(parameter.name)
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(getattr(arguments, field))
        elif parameter.kind in _KEYWORDS and (field in given or isinstance(parameter.default, FieldInfo)):
            keywords[parameter.name] = getattr(arguments, field)
    return positional, keywords


def _field(parameter: inspect.Parameter, annotation: Any, description: str) -> tuple[Any, Any]:
    """The annotation and default of a field, as `create_model` takes them."""
    extras: dict[str, Any] = {}
    if description and not _is_described(annotation, parameter.default):
        extras["description"] = description
    if field_name(parameter.name) != parameter.name:
        extras["alias"] = parameter.name
    if extras:
        annotation = Annotated[annotation, Field(**extras)]
    return annotation, ... if parameter.default is parameter.empty else parameter.default


def _is_described(annotation: Any, default: Any) -> bool:
    """Whether the annotation, or a default made with `Field`, has a description of its own."""
    metadata = typing_extensions.get_args(annotation)[1:] if _is_annotated(annotation) else ()
    return any(isinstance(entry, FieldInfo) and entry.description for entry in (*metadata, default))


def _is_annotated(annotation: Any) -> bool:
    origin: Any = typing_extensions.get_origin(annotation)
    return origin is Annotated


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """The annotations of a function, with strings and forward references resolved; texts become descriptions."""
    inner = innermost(function)
    target = inner if inspect.isroutine(inner) else type(inner).__call__
    try:
        hints = typing_extensions.get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolError(
            f"an annotation of {name} cannot be resolved: {error}",
            why="the constraint is made from the types",
            fix="define the type at the top level of its module, before the tool",
        ) from error
    return {key: _with_description(hint) for key, hint in hints.items()}


def _with_description(hint: Any) -> Any:
    """Read the text in ``Annotated[int, "the number of guests"]`` as a description, as other libraries do."""
    if not _is_annotated(hint):
        return hint
    inner, *metadata = typing.get_args(hint)
    for index, entry in enumerate(metadata):
        if isinstance(entry, str):
            metadata[index] = Field(description=entry)
    for entry in metadata:
        inner = Annotated[inner, entry]
    return inner
