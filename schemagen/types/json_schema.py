"""pydantic's JSON Schema, made sound: validation accepts every value of the schema.

Idea: pydantic writes schemas for readers, we write them for a mask. Wherever `TypeAdapter.json_schema` says less than
`TypeAdapter.validate_json` demands (keys of dicts, tags of unions, Decimal digits, schemes of URLs, time zones, ...)
the missing half is added here; where the forms are many (a Decimal as number or as string) one is chosen.

What no keyword can say is noted in the schema itself, under a key that no JSON Schema has, so that it is found again
where it belongs however pydantic moves parts into definitions; `read_schema` takes these notes out.

Invariants: closed objects unless ``extra="allow"``; no pattern with a look-around; nothing is dropped in silence: what
no keyword can say is listed, for the caller to report.

Alternative rejected: making the schema by walking pydantic's core schema ourselves. It has no stability promise; the methods
overridden here are the documented extension points of `GenerateJsonSchema`. The walk of `functions.demands` only adds to the
report what a class has hidden by writing its JSON Schema itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import EncodedStr, ImportString

from schemagen.types.containers import ContainerSchemas
from schemagen.types.functions import demands
from schemagen.types.notes import CAP, NOTE, noted, notes_taken
from schemagen.types.scalars import ScalarSchemas
from schemagen.types.value_patterns import ascii_base64_pattern

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from schemagen.types.notes import Json

_BASE64_FORMATS = frozenset({"base64", "base64url"})


class ReadSchema(NamedTuple):
    """The schema of a type, and the checks that it does not show.

    Attributes:
        schema: The JSON Schema.
        checked: What validation demands besides: JSON pointers into the schema, with words.
        capped: What validation would accept besides, in the same form.
    """

    schema: Json
    checked: tuple[tuple[str, str], ...]
    capped: tuple[tuple[str, str], ...]


def read_schema(adapter: TypeAdapter[Any], generator: type[TypeSchema] | None = None) -> ReadSchema:
    """Return the schema of a type, and where validation demands more or accepts more."""
    unsaid: list[str] = []

    class BoundTypeSchema(generator or TypeSchema):  # type: ignore[misc] # a base class that is chosen
        """A generator with a list of its own."""

    BoundTypeSchema.unsaid = unsaid
    schema = adapter.json_schema(schema_generator=BoundTypeSchema, mode="validation")
    capped = tuple(dict.fromkeys(notes_taken(schema, CAP)))
    found = dict.fromkeys(notes_taken(schema, NOTE))
    words = {what for _, what in found}
    # A schema that a class wrote itself has lost the notes of its parts: then only their texts are known.
    lost = dict.fromkeys([*unsaid, *demands(adapter.core_schema)])
    return ReadSchema(schema, (*found, *(("", what) for what in lost if what not in words)), capped)


class TypeSchema(ContainerSchemas, ScalarSchemas):
    """pydantic's generator, with whose result validation agrees; the kinds of types are its base classes."""

    def generate_inner(self, schema: Any) -> Json:
        """Any schema."""
        metadata = schema.get("metadata", {})
        functions = (*metadata.get("pydantic_js_functions", ()), *metadata.get("pydantic_js_annotation_functions", ()))
        owners = [getattr(function, "__self__", None) for function in functions]
        if any(owner is ImportString or type(owner) is ImportString for owner in owners):
            self.handle_invalid_for_json_schema(schema, "an import path: reading it would run what a model wrote")
        result = super().generate_inner(schema)
        if any(isinstance(owner, EncodedStr) for owner in owners) and result.get("format") in _BASE64_FORMATS:
            result["pattern"] = ascii_base64_pattern(url_safe=result["format"] == "base64url")
        if schema["type"] == "function-plain" and result.get("format") == "zoneinfo":
            return noted(result, self.note(["a time zone that the machine knows"]))
        return result
