"""The fields of a class as holes of a template, and an instance of it from their values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import get_type_hints, is_typeddict

from schemagen.arguments import kind_of
from schemagen.errors import OptionTypeError, ValidationFailed

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """
    if isinstance(tp, type) and issubclass(tp, BaseModel):
        infos = tp.model_fields
        keys = {name: info.validation_alias or info.alias for name, info in infos.items()}
        return Fields(
            {name: _constrained(info.annotation, info.metadata) for name, info in infos.items()},
            frozenset(name for name, info in infos.items() if info.is_required()),
            {name: key if isinstance(key, str) else name for name, key in keys.items()},
        )
    if dataclasses.is_dataclass(tp):
        given = [field for field in dataclasses.fields(tp) if field.init]
        missing = dataclasses.MISSING
        required = {field.name for field in given if field.default is missing and field.default_factory is missing}
    elif is_typeddict(tp):
        required = set(tp.__required_keys__)
    elif isinstance(tp, type) and hasattr(tp, "_fields"):
        required = {*tp._fields} - {*getattr(tp, "_field_defaults", ())}
    else:
        raise OptionTypeError(
            f"a template into {tp!r:.80}",
            why=f"it is {kind_of(tp)}, which has no fields to fill",
            fix="give a pydantic model, a dataclass, a TypedDict or a NamedTuple; types of holes are keywords, name=str",
        )
    hints = get_type_hints(tp, include_extras=True)
    return Fields(hints, frozenset(required), {name: name for name in hints})


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
    try:
        return TypeAdapter(tp).validate_python({keys[name]: value for name, value in values.items()})
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"/{step}" for step in first["loc"])
        raise ValidationFailed(
            f"a validator of {error.title} refused the value: {first['msg']}",
            text=text,
            error=error,
            at=place,
            why=f"the text fits the template; {error.error_count()} complaint(s)",
            fix="state the rule in the types of the holes",
        ) from error
