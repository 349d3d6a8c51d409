"""`Partial`: pydantic models in which any part may still be missing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from threading import RLock
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ForwardRef, Generic, NewType, TypeVar, Union

import typing_extensions
from pydantic import BaseModel, RootModel, create_model

from schemagen.events import Path
from schemagen.streaming.field_types import ALIASES, UNIONS, fields_of, has_early_validators, keys_of, members

if TYPE_CHECKING:
    from schemagen.streaming.field_types import FieldTypes
    from schemagen.streaming.json_reader import Frame, JsonReader

T = TypeVar("T")
_ATTRIBUTE = "__schemagen_partial__"
#: The model of a partial form.
_ORIGIN = "__schemagen_partial_of__"
_LOCK = RLock()
if hasattr(os, "register_at_fork"):  # held for long, and re-entered by its own thread
    os.register_at_fork(after_in_child=lambda: globals().update(_LOCK=RLock()))
#: Types whose beginnings are valid values; four digits of a date, for example, are not a date yet.
_TEXTS = (str, Any, object)
#: Settings that affect how values are dumped.
_OF_DUMPS = frozenset(
    {
        "use_enum_values",
        "json_encoders",
        "ser_json_timedelta",
        "ser_json_temporal",
        "ser_json_bytes",
        "ser_json_inf_nan",
    }
)

if TYPE_CHECKING:

    class Partial(Generic[T]):
        """The available part of a `T`; its attributes are those of the type, or None."""

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...  # noqa: D105
        def __getitem__(self, key: Any) -> Any: ...  # noqa: D105

else:

    class Partial:
        """``Partial[Model]`` is a pydantic model with the fields of ``Model``, each of which may be None.

        The result is the same class every time. Models in fields, lists, dicts and unions are partial, too; ``Partial``
        of any other type is that type.
        """

        def __class_getitem__(cls, tp: Any) -> Any:
            """Return the partial form of a type."""
            if isinstance(tp, TypeVar):
                return cls
            return _partial_model(tp) if _is_model(tp) else _partial(tp)


def _partial_model(model: type[BaseModel]) -> type[BaseModel]:
    """Return the partial form of a model; it lives as long as the model."""
    with _LOCK:
        if _ATTRIBUTE not in vars(model):
            # Meanwhile a model within itself is left untyped.
            setattr(model, _ATTRIBUTE, Any)
            try:
                made = _make(model)
                setattr(made, _ORIGIN, model)
                setattr(model, _ATTRIBUTE, made)
            except BaseException:
                delattr(model, _ATTRIBUTE)
                raise
        found: type[BaseModel] = vars(model)[_ATTRIBUTE]
        return found


def origin_of_partial(tp: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model of which a class is the partial form; None if it is no partial form."""
    found: type[BaseModel] | None = vars(tp).get(_ORIGIN)
    return found


def _make(model: type[BaseModel]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        # A field that validators of the class see first may be plain JSON.
        name: (Any if has_early_validators(model, name) else Union[_partial(info.annotation), None], None)  # noqa: UP007
        for name, info in fields_of(model).items()
    }
    config: Any = {key: value for key, value in model.model_config.items() if key in _OF_DUMPS}
    config |= {"extra": "allow", "arbitrary_types_allowed": True, "protected_namespaces": ()}
    with warnings.catch_warnings():
        # pydantic has already warned of a field that hides a method, when the model was made.
        warnings.simplefilter("ignore", UserWarning)
        return create_model(f"Partial[{model.__name__}]", __config__=config, __module__=model.__module__, **fields)


def _partial(tp: Any) -> Any:
    """The partial form of the type of a field: its values, and those that `snapshot` makes of a beginning."""
    origin, arguments = typing_extensions.get_origin(tp), typing_extensions.get_args(tp)
    if _is_model(tp):
        return Union[tp, _partial_model(tp)]  # noqa: UP007
    if origin is typing_extensions.Annotated:
        return _partial(arguments[0])
    if origin in UNIONS:
        several = len(arguments) > 1 and any(_is_model(member) for member in members(tp))
        forms = [*map(_partial, arguments), *([dict[str, Any]] if several else [])]
        return Union[tuple(forms)]  # noqa: UP007
    if origin is list:
        return GenericAlias(list, (_partial(arguments[0]),))
    if origin is dict and arguments[0] is str:
        return GenericAlias(dict, (str, _partial(arguments[1])))
    plain = origin or tp
    if isinstance(tp, (ForwardRef, NewType)) or isinstance(plain, ALIASES):
        return Any  # names, which may be defined later or refer to themselves
    if not isinstance(plain, type) or issubclass(plain, (str, bytes)):
        return tp
    if issubclass(plain, RootModel):
        return Union[tp, _partial(plain.model_fields["root"].annotation)]  # noqa: UP007
    if is_dataclass(plain) or typing_extensions.is_typeddict(plain) or issubclass(plain, Mapping):
        return Union[tp, dict[str, Any]]  # noqa: UP007
    return Union[tp, list[Any]] if issubclass(plain, Iterable) and not issubclass(plain, Enum) else tp  # noqa: UP007


def _is_model(tp: Any) -> bool:
    is_class = isinstance(tp, type) and typing_extensions.get_origin(tp) is None
    return is_class and issubclass(tp, BaseModel) and not issubclass(tp, RootModel)


def snapshot(reader: JsonReader, types: FieldTypes) -> Any:
    """Return the value read so far; None if there is none."""
    steps = Path(frame.step for frame in reader.frames if frame.step is not None)
    open_type = types.at(steps)
    shows = open_type is None or any(member is each for member in members(open_type) for each in _TEXTS)
    open_part: list[Any] = [reader.open_text] if shows and reader.open_text is not None else []
    for depth, frame in reversed(list(enumerate(reader.frames))):
        open_part = [_container(frame, types.at(Path(steps[:depth])), open_part)]
    return open_part[0] if open_part else None


def _container(frame: Frame, tp: Any, open_part: Iterable[Any]) -> Any:
    """The open container with its complete parts, and the open part if there is one to show."""
    if isinstance(frame.parts, list):
        return [*frame.parts, *open_part]
    parts = {**frame.parts, **{str(frame.step): value for value in open_part}}
    model = None if tp is None else _model_of(tp, frame.parts, {*parts, *([] if frame.step is None else [frame.step])})
    if model is None:
        return parts
    names = {key: name for name, info in model.model_fields.items() for key in keys_of(name, info)}
    return _partial_model(model).model_construct(**{names.get(key, key): part for key, part in parts.items()})


def _model_of(tp: Any, complete: dict[str, Any], keys: set[Any]) -> type[BaseModel] | None:
    """Return the model that an open object will be; None while it may be one of several, or another type."""
    left = [member for member in members(tp) if _may_be(member, complete, keys)]
    return left[0] if len(left) == 1 and _is_model(left[0]) else None


def _may_be(member: Any, complete: dict[str, Any], keys: set[Any]) -> bool:
    """Whether an open object may be of this type, by its keys and by values that the type fixes."""
    if not _is_model(member):
        return _is_object(typing_extensions.get_origin(member) or member)
    fields = {key: info.annotation for name, info in member.model_fields.items() for key in keys_of(name, info)}
    if not keys <= fields.keys() and member.model_config.get("extra") != "allow":
        return False
    return all(
        value in typing_extensions.get_args(fields[key])
        for key, value in complete.items()
        if typing_extensions.get_origin(fields.get(key)) is typing_extensions.Literal
    )


def _is_object(tp: Any) -> bool:
    if tp is typing_extensions.Literal:
        return False
    if tp is Any or tp is object or not isinstance(tp, type):
        return True
    return is_dataclass(tp) or typing_extensions.is_typeddict(tp) or issubclass(tp, Mapping)
