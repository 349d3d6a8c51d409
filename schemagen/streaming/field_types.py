"""The types of fields: from the type of a value and a path to the validator of the part that is there.

A step goes through pydantic models, dataclasses, TypedDicts, NamedTuples and the containers of typing, and through all
members of a union in parallel. If members disagree, or if a class has validators that see its input before the fields
are validated, the type of the part is unknown until the whole value is, and the part stays JSON.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from collections import abc
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypeAlias

import typing_extensions
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    RootModel,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError
from typing_extensions import TypeAliasType

from schemagen.errors import ValidationFailed
from schemagen.events import Path
from schemagen.grammar.refusals import pointer_in
from schemagen.options.sampling import Sampling
from schemagen.types.checks import Check, Checker

#: A type, and the configuration of the pydantic class that it is a field of.
_Typed: TypeAlias = "tuple[Any, Any]"
_SCALARS = (str, bytes, int, float, bool, complex, Decimal, date, datetime, time, timedelta, Enum, type(None))
#: Results of `get_origin` for a union.
UNIONS: tuple[Any, ...] = (typing.Union, types.UnionType)
_WRAPPERS: tuple[Any, ...] = (
    Annotated,
    typing_extensions.Required,
    typing_extensions.NotRequired,
    typing_extensions.ReadOnly,
)
#: In some versions typing_extensions has another class than typing.
ALIASES: tuple[Any, ...] = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))
_SELVES: tuple[Any, ...] = (typing_extensions.Self, getattr(typing, "Self", typing_extensions.Self))
_EARLY = frozenset({"before", "wrap", "plain"})
#: The place of such a validator of a RootModel.
_EARLY_ROOT = (BeforeValidator(lambda value: value),)


class _UnknownError(Exception):
    """The type of a part is unknown."""


class FieldTypes:
    """Validates the fields of a value of one type.

    Without a type, for a schema, the types of all fields are unknown.
    """

    def __init__(self, tp: Any) -> None:
        self._known: dict[Path, _Typed | None] = {Path(): None if tp is None else (tp, None)}
        self._notes = dict(self._known)
        self._adapters: dict[Path, TypeAdapter[Any] | None] = {}

    def at(self, path: Path) -> Any:
        """Return the type of a field; None if it is unknown."""
        found = self._find(path)
        return None if found is None else found[0]

    def notes(self, path: Path) -> list[Any]:
        """Return the annotations of the type of a field, those of all members if it is a union.

        They count even where other validators see the field, or the object around it, before its type does.
        """
        found = self._noted(path)
        return [] if found is None else [note for _, notes in _members(found[0]) for note in notes]

    def _noted(self, path: Path) -> _Typed | None:
        if path not in self._notes:
            around = self._noted(Path(path[:-1]))
            self._notes[path] = None if around is None else _part(around, path[-1], early=True)
        return self._notes[path]

    def has_validators(self, path: Path) -> bool:
        """Whether validators beyond the schema judge the value of a field, or a part of it."""
        adapter = self._adapter(path)
        return adapter is not None and any(map(may_refuse, parts_of_core(adapter.core_schema)))

    def complete(self, path: Path, text: str, parts: Any = None) -> Any:
        """Return the value of a field.

        Of a container ``parts`` are the values of its parts: they are the value if its type is unknown.

        Raises:
            ValidationFailed: A validator of its type refuses it.
        """
        adapter = self._adapter(path)
        if adapter is None:
            return json.loads(text) if parts is None else parts
        try:
            return adapter.validate_json(text)
        except PydanticUserError:  # a name that only the whole type resolves
            return json.loads(text) if parts is None else parts
        except ValidationError as error:
            raise ValidationFailed(
                f"a validator of {error.title} refused the value: {error.errors()[0]['msg']}",
                at=str(path) + pointer_in(text, error.errors()[0]["loc"]),
                text=text,
                error=error,
                why="the text satisfies the schema; the field is validated when it is complete",
                fix="state the rule in the schema (bounds, pattern, Literal), or use generate with retries",
            ) from error

    def _find(self, path: Path) -> _Typed | None:
        if path not in self._known:
            around = self._find(Path(path[:-1]))
            self._known[path] = None if around is None else _part(around, path[-1])
        return self._known[path]

    def _adapter(self, path: Path) -> TypeAdapter[Any] | None:
        """The validator of a field; the items of a list of one type share theirs."""
        found = self._find(path)
        if found is None:
            return None
        first = Path(0 if isinstance(step, int) else step for step in path)
        key = first if self._find(first) == found else path
        if key not in self._adapters:
            self._adapters[key] = _build(*found)
        return self._adapters[key]


def _build(tp: Any, config: Any) -> TypeAdapter[Any] | None:
    """Make the validator of a type; None if pydantic cannot validate the type by itself."""
    try:
        return TypeAdapter(tp, config=config)
    except PydanticUserError:
        # Classes have their own configuration, and accept no other.
        return None if config is None else _build(tp, None)
    except (SchemaError, NameError, TypeError):
        return None


def parts_of_core(schema: Any) -> abc.Iterator[dict[str, Any]]:
    """Yield the parts of a core schema of pydantic."""
    if isinstance(schema, (list, tuple)):
        for part in schema:
            yield from parts_of_core(part)
    elif isinstance(schema, dict):
        yield schema
        for key, part in schema.items():
            if key not in ("metadata", "serialization", "cls", "function"):
                yield from parts_of_core(part)


def function_of(part: dict[str, Any]) -> Any:
    """Return the function that a part of a core schema calls, unless pydantic itself put it there; None if there is none."""
    found = part["function"]["function"] if str(part.get("type")).startswith("function-") else None
    return None if str(getattr(found, "__module__", "")).startswith("pydantic") else found


def may_refuse(part: dict[str, Any]) -> bool:
    """Whether a part of a core schema judges values by a function, or by what time it is: no grammar knows that."""
    return str(part.get("type")).startswith("function-") or "now_op" in part


def _part(around: _Typed, step: str | int, *, early: bool = False) -> _Typed | None:
    """Return the type of a part; with `early`, also where validators see the input before the type does."""
    tp, config = around
    found: list[_Typed] = []
    try:
        for member, notes in _members(tp):
            if any(map(_comes_first, notes)) and not early:
                return None
            found += [part for part in _parts_of(member, config, step, early) if part not in found]
    except (_UnknownError, NameError, TypeError):
        return None
    return found[0] if len(found) == 1 else None


def members(tp: Any) -> list[Any]:
    """Return the members of a type: those of a union, or the type itself, without annotations and names."""
    return [member for member, _ in _members(tp)]


def _members(tp: Any, notes: tuple[Any, ...] = ()) -> list[tuple[Any, tuple[Any, ...]]]:
    origin, arguments = typing_extensions.get_origin(tp), typing_extensions.get_args(tp)
    if origin in _WRAPPERS:
        return _members(arguments[0], (*notes, *arguments[1:]))
    if origin in UNIONS:
        return [found for member in arguments for found in _members(member, notes)]
    if isinstance(tp, typing.NewType):
        return _members(tp.__supertype__, notes)
    if isinstance(tp, ALIASES):
        return _members(tp.__value__, notes)
    if isinstance(origin, ALIASES):
        return _members(_with_arguments(origin.__value__, origin.__type_params__, arguments), notes)
    if isinstance(tp, type) and issubclass(tp, RootModel):
        first = _EARLY_ROOT if has_early_validators(tp, "root") else ()
        info = tp.model_fields["root"]
        return _members(info.annotation, (*notes, *info.metadata, *first))
    return [(tp, notes)]


def _comes_first(note: Any) -> bool:
    """Whether an annotation of a type may see the input before the type does, or replace it."""
    if isinstance(note, (AfterValidator, FieldInfo, Check, Checker, Sampling)):
        return False
    return isinstance(note, (BeforeValidator, WrapValidator, PlainValidator)) or hasattr(
        note, "__get_pydantic_core_schema__"
    )


def _parts_of(tp: Any, config: Any, step: str | int, early: bool) -> list[_Typed]:
    """The types of a part, if it is one of this type; empty if this type has no such parts.

    Raises:
        _UnknownError: The part may have any type.
    """
    origin = typing_extensions.get_origin(tp) or tp
    if origin is typing.Literal or (isinstance(origin, type) and issubclass(origin, _SCALARS)):
        return []
    if isinstance(origin, type) and issubclass(origin, BaseModel):
        return _field_of_model(tp if isinstance(tp, type) else origin, step, early)
    if dataclasses.is_dataclass(origin) or typing_extensions.is_typeddict(origin):
        return _field_of_record(tp, config, step, early)
    if not isinstance(origin, type) or hasattr(origin, "__get_pydantic_core_schema__"):
        raise _UnknownError
    if issubclass(origin, tuple):
        return _item_of_tuple(tp, config, step)
    arguments = typing_extensions.get_args(tp)
    if issubclass(origin, abc.Mapping) and len(arguments) == 2:
        return [(arguments[1], config)] if isinstance(step, str) else []
    if issubclass(origin, abc.Iterable) and len(arguments) == 1:
        return [(arguments[0], config)] if isinstance(step, int) else []
    raise _UnknownError


def _field_of_model(model: type[BaseModel], step: str | int, early: bool) -> list[_Typed]:
    if isinstance(step, int):
        return []
    reads_as_usual = getattr(model.__get_pydantic_core_schema__, "__func__", None)
    if reads_as_usual is not getattr(BaseModel.__get_pydantic_core_schema__, "__func__", None):
        raise _UnknownError
    for name, info in fields_of(model).items():
        if step in keys_of(name, info):
            if has_early_validators(model, name) and not early:
                raise _UnknownError
            annotation: Any = _with_self(info.annotation, model)
            chosen_by = () if info.discriminator is None else (Field(discriminator=info.discriminator),)
            parts = (annotation, *info.metadata, *chosen_by, *_later_validators(model, name))
            return [(Annotated[parts] if len(parts) > 1 else annotation, dict(model.model_config))]
    has_paths = any(not isinstance(info.validation_alias, (str, type(None))) for info in model.model_fields.values())
    if has_paths or model.model_config.get("extra") == "allow":
        raise _UnknownError
    return []


def _later_validators(model: type[BaseModel], name: str) -> list[AfterValidator]:
    """Return the validators of a class that see a field after its type, and nothing else of the class."""
    validators = model.__pydantic_decorators__.field_validators.values()
    own = [each for each in validators if each.info.mode == "after" and {name, "*"} & {*each.info.fields}]
    return [AfterValidator(each.func) for each in own if len(inspect.signature(each.func).parameters) == 1]


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model, with forward references resolved."""
    if not getattr(model, "__pydantic_complete__", True):
        model.model_rebuild(raise_errors=False)
    return model.model_fields


def keys_of(name: str, info: FieldInfo) -> list[str]:
    """The keys that a field may be read from; of several aliases, those that are a key rather than a longer path."""
    alias = info.validation_alias
    if alias is None:
        return [name]
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    steps = [choice.path if isinstance(choice, AliasPath) else [choice] for choice in choices]
    return [path[0] for path in steps if len(path) == 1 and isinstance(path[0], str)]


def _field_of_record(tp: Any, config: Any, step: str | int, early: bool) -> list[_Typed]:
    """The field of a dataclass or TypedDict; classes of the standard library inherit the surrounding configuration."""
    if isinstance(step, int):
        return []
    record = typing_extensions.get_origin(tp) or tp
    hints = _hints(tp)
    own = getattr(record, "__pydantic_config__", None)
    config = config if own is None else dict(own)
    if _may_have_aliases(record, hints) or {"alias_generator", "extra"} & (own or {}).keys():
        raise _UnknownError
    if step not in hints:
        return []
    if has_early_validators(record, step) and not early:
        raise _UnknownError
    hint = _with_self(hints[step], tp)
    while typing_extensions.get_origin(hint) in _WRAPPERS[1:]:
        hint = typing_extensions.get_args(hint)[0]
    return [(hint, config)]


def _hints(tp: Any) -> dict[str, Any]:
    """The types of the fields of a class, or of a generic class with its arguments, as in ``Box[int]``."""
    origin = typing_extensions.get_origin(tp)
    hints = typing_extensions.get_type_hints(origin or tp, include_extras=True)
    if origin is None:
        return hints
    arguments = typing_extensions.get_args(tp)
    return {name: _with_arguments(hint, origin.__parameters__, arguments) for name, hint in hints.items()}


def _with_arguments(hint: Any, parameters: abc.Iterable[Any], arguments: abc.Iterable[Any]) -> Any:
    """Put the arguments of a generic type in place of its parameters.

    Raises:
        _UnknownError: Their numbers differ, as with a variadic parameter.
    """
    parameters, arguments = tuple(parameters), tuple(arguments)
    if len(parameters) != len(arguments):
        raise _UnknownError
    known = dict(zip(parameters, arguments, strict=True))
    if isinstance(hint, typing.TypeVar):
        return known.get(hint, hint)
    free = getattr(hint, "__parameters__", ())
    # A generic class has parameters, too; without brackets their arguments are unknown.
    return hint[tuple(known.get(each, each) for each in free)] if free and not isinstance(hint, type) else hint


def _with_self(hint: Any, owner: Any) -> Any:
    """Replace references to a class in the type of one of its fields: `Self`, or pydantic's own reference."""
    metadata = getattr(owner, "__pydantic_generic_metadata__", None) or {}
    reference = getattr(
        hint, "type_ref", None
    )  # a generic model within itself: its name and identity, then its arguments
    if hint in _SELVES or (isinstance(reference, str) and f":{id(metadata.get('origin'))}[" in reference):
        return owner
    origin, arguments = typing_extensions.get_origin(hint), typing_extensions.get_args(hint)
    if origin is typing.Literal or not arguments:
        return hint
    found = tuple(_with_self(each, owner) for each in arguments)
    if found == arguments:
        return hint
    return typing.Union[found] if origin in UNIONS else (Annotated if origin is Annotated else origin)[found]  # noqa: UP007


def _may_have_aliases(record: Any, hints: dict[str, Any]) -> bool:
    """Whether pydantic's `Field` describes a field of a dataclass or TypedDict, whose key may then differ from its name."""
    defaults = [each.default for each in dataclasses.fields(record)] if dataclasses.is_dataclass(record) else []
    described = [part for hint in hints.values() for part in getattr(hint, "__metadata__", ())]
    return any(isinstance(each, FieldInfo) for each in (*defaults, *described))


def _item_of_tuple(tp: Any, config: Any, step: str | int) -> list[_Typed]:
    if isinstance(step, str):
        return []
    arguments: tuple[Any, ...] = typing_extensions.get_args(tp)
    names = getattr(typing_extensions.get_origin(tp) or tp, "_fields", None)
    if names is not None:
        hints = _hints(tp)
        arguments = tuple(hints.get(name, Any) for name in names)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return [(arguments[0], config)]
    if step < len(arguments) and not any(
        typing_extensions.get_origin(each) is typing_extensions.Unpack for each in arguments
    ):
        return [(arguments[step], config)]
    raise _UnknownError


def has_early_validators(cls: Any, name: str) -> bool:
    """Whether validators of a class see a field before its type does, or replace it."""
    decorators = getattr(cls, "__pydantic_decorators__", None)
    if decorators is None:
        return False
    of_class = [*decorators.model_validators.values(), *decorators.root_validators.values()]
    of_fields = [*decorators.field_validators.values(), *decorators.validators.values()]
    of_field = [each for each in of_fields if name in each.info.fields or "*" in each.info.fields]
    return any(each.info.mode in _EARLY for each in [*of_class, *of_field])
