"""Python types as constraints: a type to its JSON Schema, and a text back to an instance of the type.

pydantic does both halves: its `TypeAdapter` knows every type that users of this field write (models, dataclasses,
TypedDicts, NamedTuples, enums, unions, generics, ...). What pydantic's JSON Schema leaves unsaid, and validation then
refuses, is said in `schemagen.types.json_schema`, so that a text of the schema is a text that validates.

`reflect` is the only entrance. A `Target` is immutable; its `schema` is a plain JSON Schema of draft 2020-12. That
formats and numbers are meant as Python reads them (microseconds, no leap second, integers without fraction) is stated
by `Target.dialect`, not in the schema.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import typing_extensions
from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from pydantic_core import SchemaError as CoreSchemaError

from schemagen.errors import LimitError, SchemaError, UnsatisfiableSchemaError, UnsupportedTypeError
from schemagen.schema.key_order import in_order_of
from schemagen.types.decimals import DecimalReader, has_decimal
from schemagen.types.json_schema import ReadSchema, read_schema
from schemagen.types.narrowed import KeyOrder
from schemagen.types.notes import RefusedTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import TypeForm

T = TypeVar("T")

_FAILURES = (
    OverflowError,
    ValueError,
    CoreSchemaError,
    PydanticSchemaGenerationError,
    PydanticInvalidForJsonSchema,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    # Annotations that are not types at all end in these.
    NameError,
    TypeError,
)
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Target(Generic[T]):
    """A Python type, its JSON Schema and the way back.

    Attributes:
        type: The type as it was given.
        schema: JSON Schema of draft 2020-12; read only.
        name: How messages call the type.
        checked: What validation demands and the schema cannot say; `validate` checks it. Each is a JSON pointer into the
            schema and some words ("date in the past").
        capped: What validation accepts and the schema leaves out, in the same form.
        dialect: Whose reading of formats and numbers the schema means.
        adapter: pydantic's reader of the type.
        decimals: What reads a type with a Decimal in it in place of the adapter.
    """

    type: TypeForm[T]
    schema: Mapping[str, Any]
    name: str
    checked: tuple[tuple[str, str], ...] = ()
    capped: tuple[tuple[str, str], ...] = ()
    dialect: Literal["python"] = "python"
    adapter: TypeAdapter[T] = field(kw_only=True, repr=False, compare=False)
    decimals: DecimalReader | None = field(default=None, kw_only=True, repr=False, compare=False)

    def validate(self, text: str) -> T:
        """Return the instance that a JSON text describes; a Decimal has the digits of the text.

        Raises:
            pydantic.ValidationError: Unchanged, if the text is not JSON or a validator refuses it.
        """
        if self.decimals is not None:
            instance: T = self.decimals.validate(text)
            return instance
        return self.adapter.validate_json(text)


def reflect(tp: TypeForm[T]) -> Target[T]:
    """Return the JSON Schema of a type, and how to get back to it.

    Args:
        tp: Any type that `pydantic.TypeAdapter` takes: a class, ``list[int]``, ``int | None``, ``Annotated[...]``, ...

    Raises:
        UnsupportedTypeError: The type, or a part of it, has no JSON form; ``at`` is the path of that part.
        UnsatisfiableSchemaError: A part of it is ``Literal[()]``.
        LimitError: Its classes are nested too deep for pydantic, which calls itself for each: some thirty within one another.

    Cost: builds a pydantic validator, about a millisecond for a model of ten fields; keep the result.
    """
    try:
        adapter, read = _describe(tp)
    except _FAILURES as error:
        path, culprit, cause = _locate(tp, error)
        raise _refusal(culprit, _name(tp) + "".join(path), cause) from error
    except RecursionError as error:
        raise LimitError(
            f"{_name(tp):.80} is nested deeper than Python's recursion limit of {sys.getrecursionlimit():,} allows",
            why="pydantic needs some 25 calls within one another for each class that is within another",
            fix="raise it with sys.setrecursionlimit, or nest fewer classes",
        ) from error
    decimals = DecimalReader(adapter) if has_decimal(adapter.core_schema) else None
    return Target(
        tp, _ordered(tp, read.schema), _name(tp), read.checked, read.capped, adapter=adapter, decimals=decimals
    )


def _ordered(tp: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    for note in getattr(tp, "__metadata__", ()):
        if isinstance(note, KeyOrder):
            schema = in_order_of(note.objects, schema)
    return schema


def is_type(spec: object) -> bool:
    """Whether `spec` is a Python type or type expression, and not a JSON Schema (dict, bool) or another value."""
    if isinstance(spec, type) or spec is None or spec is Any:
        return True
    special = (typing.TypeVar, typing.ForwardRef, typing_extensions.TypeAliasType, typing.NewType)
    if isinstance(spec, special) or typing_extensions.get_origin(spec) is not None:
        return True
    # `Hashable`, `LiteralString` and other bare special forms.
    return getattr(type(spec), "__module__", "") in {"typing", "typing_extensions"}


def _describe(tp: Any) -> tuple[TypeAdapter[Any], ReadSchema]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(_portable(tp))
    except AssertionError as error:  # pydantic's answer to Literal[()]
        raise TypeError(_first_line(error)) from error
    return adapter, read_schema(adapter)


def _portable(tp: Any, outer: tuple[Any, ...] = ()) -> Any:
    """Rebuild a `typing.TypedDict` as one of typing_extensions, which is what pydantic reads before Python 3.12."""
    if typing_extensions.get_origin(tp) is typing_extensions.Annotated:
        parts = (_portable(tp.__origin__, outer), *tp.__metadata__)
        return tp if parts[0] is tp.__origin__ else typing_extensions.Annotated[parts]
    if not _is_old_typed_dict(tp) or tp in outer:
        return tp
    hints = typing_extensions.get_type_hints(tp, include_extras=True)
    optional = tp.__optional_keys__
    fields = {
        key: typing_extensions.NotRequired[_portable(hint, (*outer, tp))]
        if key in optional and not _is_not_required(hint)
        else _portable(hint, (*outer, tp))
        for key, hint in hints.items()
    }
    make: Any = typing_extensions.TypedDict
    rebuilt = make(tp.__name__, fields)
    rebuilt.__module__, rebuilt.__doc__ = tp.__module__, tp.__doc__
    if config := getattr(tp, "__pydantic_config__", None):
        rebuilt.__pydantic_config__ = config
    return rebuilt


def _is_old_typed_dict(tp: Any) -> bool:
    old = sys.version_info < (3, 12)
    return old and typing_extensions.is_typeddict(tp) and type(tp).__module__ == "typing"


def _is_not_required(hint: Any) -> bool:
    origin: Any = typing_extensions.get_origin(hint)
    return origin is typing_extensions.NotRequired


def _locate(tp: Any, error: Exception, depth: int = 0) -> tuple[list[str], Any, Exception]:
    """Follow the failing part of a type inwards: its path, the innermost type that fails, and why."""
    for step, part in _parts(tp) if depth < _MAX_DEPTH else ():
        inner = _failure(part)
        if inner is not None:
            path, culprit, cause = _locate(part, inner, depth + 1)
            return [step, *path], culprit, cause
    return [error.step] if isinstance(error, RefusedTypeError) else [], tp, error


def _failure(tp: Any) -> Exception | None:
    try:
        _describe(tp)
    except _FAILURES as error:
        return error
    return None


def _parts(tp: Any) -> Iterator[tuple[str, Any]]:
    """The types that a type is made of, each with its step of the path."""
    for name, part in _hints(tp).items():
        yield f".{name}", part
    origin = typing_extensions.get_origin(tp)
    if origin is None or _is_literal(tp) or getattr(origin, "__name__", "") == "Callable":
        return
    arguments = typing_extensions.get_args(tp)
    if origin is typing_extensions.Annotated:
        arguments = arguments[:1]
    for index, part in enumerate(arguments):
        if part is not Ellipsis:
            yield f"[{index}]", part


def _hints(tp: Any) -> Mapping[str, Any]:
    """The fields of a class with their annotations; none if it is no such class, or its names cannot be resolved."""
    if isinstance(tp, type) and issubclass(tp, BaseModel):
        return {name: info.annotation for name, info in tp.model_fields.items()}
    is_record = dataclasses.is_dataclass(tp) or typing_extensions.is_typeddict(tp) or hasattr(tp, "_fields")
    if not is_record:
        return {}
    try:
        return typing_extensions.get_type_hints(tp, include_extras=True)
    except (NameError, TypeError):
        return {}


def _name(tp: Any) -> str:
    if isinstance(tp, type) and not typing_extensions.get_args(tp):
        return tp.__name__
    return str(tp).replace("typing.", "").replace("typing_extensions.", "")


def _first_line(error: Exception) -> str:
    """Return the first line of a message, with the next one where it only announces that, without advice on other things."""
    first, *others = str(error).strip().split("\n")
    first = first.partition(" Set `arbitrary_types_allowed")[0]  # such a type has no JSON either
    return f"{first} {others[0].strip()}" if others and first.endswith(":") else first


def _refusal(tp: Any, at: str, cause: Exception) -> SchemaError:
    if _is_literal(tp) and not typing_extensions.get_args(tp):
        return UnsatisfiableSchemaError(
            "Literal[()] names no value", at=at, why="so nothing can be an instance of it", fix="name its values"
        )
    is_undefined = isinstance(tp, typing.ForwardRef) or isinstance(cause, PydanticUndefinedAnnotation | NameError)
    if is_undefined or getattr(cause, "code", "") == "class-not-fully-defined":
        name = _undefined_name(tp)
        return UnsupportedTypeError(
            f"the forward reference {name!r} cannot be resolved"
            if name
            else f"{_name(tp)} refers to an undefined name",
            at=at,
            why="a name in it is not defined where the type is read",
            fix="define the name before the type is used, or call model_rebuild() on the model once it is defined",
        )
    return UnsupportedTypeError(f"{_name(tp)} has no JSON form", at=at, why=_first_line(cause), fix=_fix_for(cause))


def _is_literal(tp: Any) -> bool:
    origin: Any = typing_extensions.get_origin(tp)
    return origin is Literal


def _undefined_name(tp: Any) -> str:
    """Return the name in a type that cannot be found; empty if it is not known which."""
    if isinstance(tp, typing.ForwardRef):
        return tp.__forward_arg__
    try:
        typing_extensions.get_type_hints(tp)
    except NameError as error:
        return str(getattr(error, "name", ""))
    except (TypeError, AttributeError):  # not a class
        pass
    return ""


def _fix_for(error: Exception) -> str:
    if getattr(error, "code", "") == "typed-dict-version":
        return "import TypedDict from typing_extensions"
    if isinstance(error, RefusedTypeError):
        return error.fix
    return "use a type that pydantic can read from JSON, or leave the field out of the type to generate"
