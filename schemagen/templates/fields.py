"""The fields of a class as holes of a template, and an instance of it from their values."""

from __future__ import annotations

import dataclasses
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic.dataclasses import is_pydantic_dataclass
from typing_extensions import NotRequired, ReadOnly, Required, get_type_hints, is_typeddict

from schemagen.checks import kind_of
from schemagen.errors import OptionError, OptionTypeError, ValidationFailed
from schemagen.grammar.refusals import counted, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic.fields import FieldInfo


@dataclasses.dataclass(frozen=True, slots=True)
class Fields:
    """What a template needs to know of a class.

    Attributes:
        types: Its fields with their types.
        required: Those without a default.
        keys: What validation calls them.
    """

    types: Mapping[str, Any]
    required: frozenset[str]
    keys: Mapping[str, str]


def fields_of(tp: Any) -> Fields:
    """Return the fields of a pydantic model, a dataclass, a TypedDict or a NamedTuple.

    Raises:
        OptionTypeError: It is none of these.
        OptionError: Validation knows a field only by a path.
    """
    if not isinstance(tp, type):
        raise _no_fields(tp)
    return _fields_of(tp)


@lru_cache(maxsize=256)
def _fields_of(tp: Any) -> Fields:
    if issubclass(tp, BaseModel) and not issubclass(tp, RootModel):
        return _pydantic_fields(tp.model_fields)
    if is_pydantic_dataclass(tp):
        return _pydantic_fields({n: i for n, i in tp.__pydantic_fields__.items() if i.init is not False})
    if dataclasses.is_dataclass(tp):
        given = [field for field in dataclasses.fields(tp) if field.init]
        missing = dataclasses.MISSING
        required = {field.name for field in given if field.default is missing and field.default_factory is missing}
    elif is_typeddict(tp):
        required = set(tp.__required_keys__)
    elif hasattr(tp, "_fields"):
        required = {*tp._fields} - {*getattr(tp, "_field_defaults", ())}
    else:
        raise _no_fields(tp)
    hints = {name: _unqualified(hint) for name, hint in get_type_hints(tp, include_extras=True).items()}
    return Fields(hints, frozenset(required), {name: name for name in hints})


def _no_fields(tp: Any) -> OptionTypeError:
    return OptionTypeError(
        f"a template into {tp!r:.80}",
        why=f"it is {kind_of(tp)}, which has no fields to fill",
        fix="give a pydantic model, a dataclass, a TypedDict or a NamedTuple; types of holes are keywords, name=str",
    )


def _pydantic_fields(infos: Mapping[str, FieldInfo]) -> Fields:
    return Fields(
        {name: _constrained(info.annotation, info.metadata) for name, info in infos.items()},
        frozenset(name for name, info in infos.items() if info.is_required()),
        {name: _key(name, info.validation_alias or info.alias) for name, info in infos.items()},
    )


def _key(name: str, alias: str | AliasPath | AliasChoices | None) -> str:
    """Return what validation calls a field."""
    ways = alias.choices if isinstance(alias, AliasChoices) else [name if alias is None else alias]
    found = next((way for way in ways if isinstance(way, str)), None)
    if found is None:
        raise OptionError(
            f"the field {name!r} is found by {alias!r:.80}",
            why="a hole gives a value, and not the object that contains it",
            fix="add its name to the aliases: AliasChoices(name, AliasPath(...))",
        )
    return found


def _unqualified(hint: Any) -> Any:
    """Return a type without what a TypedDict says of its key."""
    origin = get_origin(hint)
    if origin in (Required, NotRequired, ReadOnly):
        return _unqualified(get_args(hint)[0])
    if origin is Annotated:
        return _constrained(_unqualified(hint.__origin__), list(hint.__metadata__))
    return hint.type if isinstance(hint, dataclasses.InitVar) else hint


def _constrained(annotation: Any, metadata: list[Any]) -> Any:
    """Return the type of a field without its names and its default."""
    annotated: Any = Annotated
    arguments = (annotation, *metadata)
    return annotated[arguments] if metadata else annotation


def instance_of(tp: Any, values: Mapping[str, Any], text: str) -> Any:
    """Return an instance of a class with the values of some of its fields.

    Raises:
        ValidationFailed: A validator of the class refuses them.
    """
    if is_typeddict(tp):
        return dict(values)
    keys = fields_of(tp).keys
    given = {keys[name]: value for name, value in values.items()}
    return _validated(tp, text, lambda adapter: adapter.validate_python(given))


def instance_of_json(tp: Any, members: Mapping[str, str], text: str) -> Any:
    """Return an instance of a class with some of its fields, which are written as JSON: each validator runs once.

    Raises:
        ValidationFailed: A validator refuses one of them.
    """
    keys = fields_of(tp).keys
    given = ", ".join(f"{json.dumps(keys[name])}: {value}" for name, value in members.items())
    return _validated(tp, text, lambda adapter: adapter.validate_json(f"{{{given}}}"))


def _validated(tp: Any, text: str, validate: Callable[[TypeAdapter[Any]], Any]) -> Any:
    try:
        return validate(_adapter(tp))
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"/{step}" for step in first["loc"])
        raise ValidationFailed(
            f"a validator of {title_of(error)} refused the value: {first['msg']}",
            text=text,
            error=error,
            at=place,
            why=f"the text fits the template; {counted(error.error_count(), 'error')}",
            fix="state the rule in the types of the holes",
        ) from error


@lru_cache(maxsize=256)
def _adapter(tp: Any) -> TypeAdapter[Any]:
    return TypeAdapter(tp)
