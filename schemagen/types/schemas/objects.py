"""`ObjectSchemas`: models, dataclasses, TypedDicts, their fields, and unions that a tag tells apart."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticOmit

from schemagen.types.discriminators import tag_property
from schemagen.types.refusals import RefusedTypeError
from schemagen.types.schemas.notes import NotedSchemas, noted
from schemagen.types.user_code import construction_words, discriminator_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.types.schemas.notes import Json

_NO_MEMBER = "a union without any member that JSON can express"


class ObjectSchemas(NotedSchemas):
    """Schemas of objects, which are closed unless the class says otherwise."""

    def model_schema(self, schema: Any) -> Json:
        """A model: a closed object, or whatever the root of a RootModel is."""
        result = noted(super().model_schema(schema), self.note(construction_words(schema)))
        return result if schema.get("root_model") else _closed(result)

    def dataclass_schema(self, schema: Any) -> Json:
        """A dataclass: a closed object."""
        return _closed(noted(super().dataclass_schema(schema), self.note(construction_words(schema))))

    def typed_dict_schema(self, schema: Any) -> Json:
        """A TypedDict: a closed object."""
        self._refuse_nested_aliases(schema["fields"].items())
        return _closed(super().typed_dict_schema(schema))

    def model_fields_schema(self, schema: Any) -> Json:
        """The fields of a model."""
        self._refuse_nested_aliases(schema["fields"].items())
        return super().model_fields_schema(schema)

    def dataclass_args_schema(self, schema: Any) -> Json:
        """The fields of a dataclass."""
        self._refuse_nested_aliases((field["name"], field) for field in schema["fields"])
        return super().dataclass_args_schema(schema)

    def model_field_schema(self, schema: Any) -> Json:
        """A field of a model."""
        _leave_out_nested_alias(schema)
        return super().model_field_schema(schema)

    def dataclass_field_schema(self, schema: Any) -> Json:
        """A field of a dataclass."""
        _leave_out_nested_alias(schema)
        return super().dataclass_field_schema(schema)

    def typed_dict_field_schema(self, schema: Any) -> Json:
        """A field of a TypedDict."""
        _leave_out_nested_alias(schema)
        return super().typed_dict_field_schema(schema)

    def _refuse_nested_aliases(self, fields: Iterable[tuple[str, Any]]) -> None:
        """Refuse fields without a default that are only reachable through an `AliasPath` of several steps."""
        for name, field in fields:
            path = _nested_alias(field)
            if path is not None and self.field_is_required(field, total=True):
                raise RefusedTypeError(
                    f"the field {name} is found only by the alias path {path}",
                    fix="give the field a default, or an alias of one step as well: AliasChoices",
                    step=f".{name}",
                )

    def tagged_union_schema(self, schema: Any) -> Json:
        """A discriminated union: the tag is required even where the class has a default for it."""
        discriminator = schema["discriminator"]
        words = discriminator_words(discriminator)
        if words is not None:
            return noted(self._chosen_by(schema), self.note([words]))
        result = super().tagged_union_schema(schema)
        if not result["oneOf"]:
            self.handle_invalid_for_json_schema(schema, _NO_MEMBER)
        # The members exclude each other by their tag, so `anyOf` says the same and costs less to decide.
        union: Json = {"anyOf": result["oneOf"]}
        tag = result.get("discriminator", {}).get("propertyName")
        if tag is not None:
            return {**union, "required": [tag]}
        if callable(discriminator):
            return union
        return noted(union, self.note([f"discriminator {discriminator}"]))

    def _chosen_by(self, schema: Any) -> Json:
        """A union with a function that tells the tag; a function that returns a property asks for the tag in it."""
        found = tag_property(schema["discriminator"], schema["choices"])
        members: list[Json] = []
        for tag, choice in schema["choices"].items():
            with suppress(PydanticInvalidForJsonSchema, PydanticOmit):
                member = self.generate_inner(choice)
                if found is not None and found.name in self.inlined(member).get("properties", ()):
                    member = {"allOf": [member, found.demand(tag)]}
                members.append(member)
        if not members:
            self.handle_invalid_for_json_schema(schema, _NO_MEMBER)
        return {"anyOf": members}


def _closed(result: Json) -> Json:
    """Close an object against keys that it does not name."""
    if result.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


def _nested_alias(field: Any) -> list[str | int] | None:
    """Return an alias path of several steps if there is no other way to a field, which then is no property of the object."""
    alias = field.get("validation_alias")
    if not isinstance(alias, list):
        return None
    paths = alias if alias and isinstance(alias[0], list) else [alias]
    return paths[0] if all(len(path) > 1 for path in paths) else None


def _leave_out_nested_alias(field: Any) -> None:
    """Leave out a field that is found inside of another value: it has a default."""
    if _nested_alias(field) is not None:
        raise PydanticOmit
