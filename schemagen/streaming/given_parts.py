"""The given parts of a value, as a tree, and the tree as a JSON Schema.

An `Object` names some members of an object, an `Items` all items of a list, and a `Scalar` is a value without parts. Nothing is
said of a `Hole`. A closed object has no other members than those that are given.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, RootModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from schemagen.checks import kind_of
from schemagen.errors import OptionError, OptionTypeError, ValidationFailed
from schemagen.events import Path
from schemagen.streaming.field_types import FieldTypes, fields_of, keys_of, members
from schemagen.streaming.partial import origin_of_partial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic.fields import FieldInfo


@dataclass(frozen=True, slots=True)
class Object:
    """Some members of an object; of a closed one all."""

    members: Mapping[str, Given]
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """All items of a list."""

    items: tuple[Given, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts, in every way in which JSON may write it: a Decimal as a number or as a string."""

    forms: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Hole:
    """A part that is there, and of which nothing is known."""


Given: TypeAlias = "Object | Items | Scalar | Hole"


def schema_of(given: Given, draft: int) -> dict[str, Any]:
    """Return the JSON Schema of the values that have the given parts."""
    if isinstance(given, Hole):
        return {}
    if isinstance(given, Scalar):
        return {"enum": list(given.forms)}
    if isinstance(given, Items):
        length = len(given.items)
        inner = [schema_of(item, draft) for item in given.items]
        ordered = {"prefixItems" if draft >= 2020 else "items": inner} if inner else {}
        return {"type": "array", **ordered, "minItems": length, "maxItems": length}
    return {
        "type": "object",
        "properties": {key: schema_of(part, draft) for key, part in given.members.items()},
        "required": list(given.members),
        **({"additionalProperties": False} if given.is_closed else {}),
    }


def closed(given: Given) -> Given:
    """Return the same parts, of which no object has further members."""
    if isinstance(given, Object):
        return Object({key: closed(part) for key, part in given.members.items()}, is_closed=True)
    return Items(tuple(map(closed, given.items))) if isinstance(given, Items) else given


def json_of(given: Given) -> Any:
    """Return the parts as JSON data; a hole is None."""
    if isinstance(given, Object):
        return {key: json_of(part) for key, part in given.members.items()}
    if isinstance(given, Items):
        return [json_of(item) for item in given.items]
    return given.forms[0] if isinstance(given, Scalar) else None


def leaves(given: Given, path: Path = Path()) -> Iterator[tuple[Path, Given]]:  # noqa: B008 - it is immutable
    """Yield the parts that have no parts themselves, in order, each with its place."""
    parts = parts_of(given)
    if not parts:
        yield path, given
    for step, part in parts:
        yield from leaves(part, Path((*path, step)))


def only(given: Given, count: int) -> Given:
    """Return the first so many of the `leaves`, with the objects and lists around them; the others are left open."""
    return _only(given, [count])


def _only(given: Given, left: list[int]) -> Given:
    parts = parts_of(given)
    if not parts:
        left[0] -= 1
        return given if left[0] >= 0 else Hole()
    if isinstance(given, Object):
        found = {str(step): _only(part, left) for step, part in parts if left[0] > 0}
        return Object(found, given.is_closed and left[0] > 0)
    return Items(tuple(_only(part, left) for _, part in parts))


def alone(part: Given, path: Sequence[str | int], given: Given) -> Given:
    """Return a part at a place of given parts, of which the others are left open."""
    if not path:
        return part
    step, *rest = path
    if isinstance(given, Object):
        return Object({str(step): alone(part, rest, given.members[str(step)])})
    assert isinstance(given, Items), "the place is one of the given parts"
    return Items(tuple(alone(part, rest, item) if index == step else Hole() for index, item in enumerate(given.items)))


def parts_of(given: Given) -> list[tuple[str | int, Given]]:
    """Return the given members or items, by key or index; none of a part without parts."""
    if isinstance(given, Object):
        return list(given.members.items())
    return list(enumerate(given.items)) if isinstance(given, Items) else []


# --- from values of Python -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartialReader:
    """Reads a partial value of a type.

    Attributes:
        types: The types of its parts, by which names of fields are turned into keys.
    """

    types: FieldTypes

    def read(self, value: Any, path: Path = Path(), *, whole: bool = False) -> Given:  # noqa: B008 - it is immutable
        """Return the given parts of a value.

        Args:
            value: A dict, an instance, or any part of one.
            path: The place of the value.
            whole: Whether the dicts in it are whole, too: those of an instance are.

        Raises:
            OptionError: A part has no JSON form.
        """
        if isinstance(value, RootModel):
            return self.read(value.root, path, whole=True)
        if isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
            given = _fields_of_instance(value)
            return Object({key: self.read(part, Path((*path, key)), whole=True) for key, part in given.items()})
        if isinstance(value, Mapping):
            keyed = {self._key(key, path): part for key, part in value.items()}
            return Object({key: self.read(part, Path((*path, key)), whole=whole) for key, part in keyed.items()}, whole)
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray):
            return Items(tuple(self.read(part, Path((*path, index)), whole=whole) for index, part in enumerate(value)))
        return Scalar(self._forms(value, path))

    def _forms(self, value: Any, path: Path) -> tuple[Any, ...]:
        """Return the ways of JSON to write a value without parts that mean this value at its place."""
        forms = _forms(value, path)
        if len(forms) == 1:
            return forms
        return tuple(form for form in forms if self._means(form, value, path)) or forms[:1]

    def _means(self, form: Any, value: Any, path: Path) -> bool:
        if self.types.at(path) is None:
            return False
        try:
            return bool(self.types.complete(path, json.dumps(form)) == value)
        except ValidationFailed:
            return False

    def _key(self, key: Any, path: Path) -> str:
        """Return the key of a dict as JSON has it: that of a field which is called by its name."""
        if not isinstance(key, str):
            (key,) = _jsonable({key: None}, path)
        tp = self.types.at(path)
        fields = [_fields(member) for member in ([] if tp is None else members(tp))]
        if any(key in keys_of(name, info) for each in fields for name, info in each.items()):
            return str(key)
        return next((_written_key(key, each[key]) for each in fields if key in each), str(key))


def _fields(tp: Any) -> dict[str, FieldInfo]:
    if isinstance(tp, type) and issubclass(tp, BaseModel):
        return fields_of(tp)
    found: dict[str, FieldInfo] = getattr(tp, "__pydantic_fields__", {})
    return found


def _written_key(name: str, info: FieldInfo | None) -> str:
    """Return the key under which JSON has a field."""
    keys = [] if info is None else keys_of(name, info)
    return keys[0] if keys else name


def _fields_of_instance(value: Any) -> dict[str, Any]:
    """Return the given fields of a pydantic model, of a `Partial`, or of a dataclass, by the keys of JSON."""
    if not isinstance(value, BaseModel):
        known = {each.name: each for each in dataclasses.fields(value) if hasattr(value, each.name)}
        given = {name: getattr(value, name) for name in known}
        infos = _fields(type(value))
        return {
            _written_key(name, infos.get(name)): part
            for name, part in given.items()
            if part is not None or known[name].default is not None
        }
    origin = origin_of_partial(type(value))
    infos = fields_of(origin or type(value))
    given = {name: getattr(value, name) for name in infos if name in value.model_fields_set}
    given |= value.model_extra or {}
    return {
        _written_key(name, infos.get(name)): part for name, part in given.items() if part is not None or origin is None
    }


def _forms(value: Any, path: Path) -> tuple[Any, ...]:
    """Return the ways in which pydantic may write a value without parts as JSON, the usual one first."""
    if isinstance(value, bytes | bytearray):
        texts = [base64.b64encode(value), base64.urlsafe_b64encode(value), value.hex().encode()]
        try:
            value.decode()
        except UnicodeDecodeError:
            return tuple(dict.fromkeys(text.decode() for text in texts))
        return tuple(dict.fromkeys(text.decode() for text in (value, *texts)))
    if isinstance(value, Decimal):
        number = int(value) if value == value.to_integral_value() else float(value)
        return (number, str(value)) if Decimal(repr(number)) == value else (str(value),)
    if isinstance(value, timedelta):
        return (_jsonable(value, path), value.total_seconds())
    return (_jsonable(value, path),)


def _jsonable(value: Any, path: Path) -> Any:
    try:
        found = to_jsonable_python(value, inf_nan_mode="constants")
        json.dumps(found, allow_nan=False).encode()
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise OptionError(
            f"the given value is {value!r:.80}",
            at=str(path),
            why=f"it has no JSON form: {error}",
            fix="leave this part out, or give a value that JSON has",
        ) from error
    return found


def check_partial(partial: Any) -> None:
    """Refuse a partial value that can have no missing parts.

    Raises:
        OptionTypeError: It is none.
    """
    is_instance = isinstance(partial, BaseModel | Mapping | list | tuple) or dataclasses.is_dataclass(partial)
    if isinstance(partial, type) or not is_instance:
        raise OptionTypeError(
            f"the partial value is {kind_of(partial)}",
            why="parts of it can be missing in objects and in lists alone",
            fix="give a dict, an instance of the type or of schemagen.Partial of it: lm.complete({'name': 'Ada'}, Person)",
        )
