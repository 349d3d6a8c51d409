"""Which class a part of a schema was made of: pydantic's JSON Schema of a type, with a note in each of them.

JSON has lists and objects where Python has tuples, sets, models, dataclasses and named tuples. The notes say which, under a key
that no JSON Schema has, so that they stay where they belong however pydantic moves parts into definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.errors import UnsupportedTypeError
from schemagen.types.json_schema import TypeSchema, read_schema

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: The keyword that names the origin of a schema: "tuple", "set", or "call" and the name of a class.
FORM = "\0form"


class Classes(NamedTuple):
    """The schema of a type, and the classes in it.

    Attributes:
        schema: The JSON Schema, with notes under `FORM`.
        named: The classes by their names.
    """

    schema: dict[str, Any]
    named: dict[str, Any]


def classes_of(adapter: TypeAdapter[Any]) -> Classes:
    """Return the schema of a type with the classes that it was made of.

    Raises:
        UnsupportedTypeError: Two of its classes have the same name.
    """
    named: dict[str, Any] = {}

    class ClassSchema(_FormSchema):
        """A generator with a table of its own."""

    ClassSchema.named = named
    return Classes(read_schema(adapter, ClassSchema).schema, named)


def schema_with_defaults(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """Return the schema of a type with the defaults that ``default_factory=list`` and the like make, too."""
    return read_schema(adapter, _DefaultSchema).schema


class _DefaultSchema(TypeSchema):
    """The generator, which calls the factories of empty lists and dicts."""

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """A default, or one that is made."""
        result = super().default_schema(schema)
        factory = schema.get("default_factory")
        if factory is dict:
            return {"default": {}, **result}
        return {"default": [], **result} if factory in (list, tuple, set, frozenset) else result


class _FormSchema(TypeSchema):
    """The generator, which notes where its schemas come from."""

    named: dict[str, Any]

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """A model is a call of it; a RootModel is written as its root."""
        result = super().model_schema(schema)
        return result if schema.get("root_model") else self._called(result, schema["cls"])

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        return self._called(super().dataclass_schema(schema), schema["cls"])

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        of_pydantic: Any = super()
        return self._called(of_pydantic.named_tuple_schema(schema), schema["cls"])

    def call_schema(self, schema: Any) -> dict[str, Any]:
        """A named tuple, as older versions of pydantic have it."""
        result, called = super().call_schema(schema), schema["function"]
        is_named_tuple = isinstance(called, type) and issubclass(called, tuple) and hasattr(called, "_fields")
        return self._called(result, called) if is_named_tuple else result

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().tuple_schema(schema), FORM: "tuple"}

    def set_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().set_schema(schema), FORM: "set"}

    def frozenset_schema(self, schema: Any) -> dict[str, Any]:
        """A frozenset, which is written as a set."""
        return {**super().frozenset_schema(schema), FORM: "set"}

    def _called(self, result: dict[str, Any], cls: Any) -> dict[str, Any]:
        name = name_of(cls)
        known = self.named.setdefault(name, cls)
        if known is not cls:
            raise UnsupportedTypeError(
                f"two classes are called {name}",
                why=f"they are {known.__module__}.{known.__qualname__} and {cls.__module__}.{cls.__qualname__}, "
                "and a call says no more than the name",
                fix="rename one of them, or choose another format",
            )
        return {**result, FORM: f"call {name}"}


def name_of(cls: Any) -> str:
    """Return what a class is called by; a generic model by its name without the arguments."""
    origin = getattr(cls, "__pydantic_generic_metadata__", {}).get("origin")
    return str((origin or cls).__name__)
