"""`ValueSchemas`: enums, literals, numbers, and unions."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import Flag
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError, to_jsonable_python

from schemagen.types.refusals import RefusedTypeError
from schemagen.types.schemas.notes import BOUNDS, NotedSchemas
from schemagen.types.value_patterns import BYTE_SIZE_PATTERN, COMPLEX_PATTERN, FRACTION_PATTERN, decimal_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.types.schemas.notes import Json

#: What of JSON is hashable in Python.
SCALARS = {"type": ["string", "number", "boolean", "null"]}


class ValueSchemas(NotedSchemas):
    """Schemas of single values: what JSON can write of them, and validation reads."""

    def enum_schema(self, schema: Any) -> Json:
        """An Enum: the JSON values that validation reads as a member."""
        result = super().enum_schema(schema)
        return self._combined(schema, result) or self._only_read(schema, [m.value for m in schema["members"]], result)

    def literal_schema(self, schema: Any) -> Json:
        """A Literal: the JSON values that validation reads as one of its values."""
        return self._only_read(schema, schema["expected"], super().literal_schema(schema))

    def _combined(self, schema: Any, result: Json) -> Json | None:
        """A Flag: the integers of the combinations of its members that validation reads; None for any other Enum."""
        found = combinations(schema["cls"], [member.value for member in schema["members"]])
        if found is None:
            return None
        accepts = _reader(_bare(schema))
        if "enum" in found:
            found["enum"] = [value for value in found["enum"] if accepts(str(value))]
        return {**{key: part for key, part in result.items() if key not in {"enum", "const", "type"}}, **found}

    def _only_read(self, schema: Any, values: list[Any], result: Json) -> Json:
        if all(type(value) in {str, int, bool, type(None)} for value in values):
            return result
        accepts = _reader(_bare(schema))
        forms = (form for value in values for form in _json_forms(value))
        readable = [form for form in forms if accepts(json.dumps(form))]
        if not readable:
            self.handle_invalid_for_json_schema(schema, f"any of the values {values}")
        result.pop("const", None)
        result.pop("type", None)
        result["enum"] = readable
        return result

    def decimal_schema(self, schema: Any) -> Json:
        """A Decimal as a JSON number; pydantic's own pattern for the string form has look-arounds."""
        branches = decimal_schemas(schema)
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def fraction_schema(self, schema: Any) -> Json:
        """A Fraction as text, or as a number where it is bounded."""
        bounds: Any = {key: float(schema[key]) for key in BOUNDS if schema.get(key) is not None}
        if not bounds:
            return {"type": "string", "pattern": FRACTION_PATTERN}
        result: Json = {"type": "number"}
        self.update_with_validations(result, bounds, self.ValidationsMapping.numeric)
        return result

    def complex_schema(self, schema: Any) -> Json:  # noqa: ARG002 - the signature of the extension point
        """A complex number as text."""
        return {"type": "string", "pattern": COMPLEX_PATTERN}

    def union_schema(self, schema: Any) -> Json:
        """A union; that of ByteSize is for sizes with a unit that it knows."""
        if schema.get("custom_error_type") == "byte_size":
            return {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": BYTE_SIZE_PATTERN}]}
        return super().union_schema(schema)

    def custom_error_schema(self, schema: Any) -> Json:
        """A schema with an error text of its own; `Hashable` is one."""
        if schema.get("custom_error_type") == "is_hashable":
            return dict(SCALARS)
        return super().custom_error_schema(schema)

    def is_subclass_schema(self, schema: Any) -> Json:
        """A class as a value: not JSON."""
        return self.handle_invalid_for_json_schema(schema, f"a subclass of {schema['cls']}")


def _bare(schema: Any) -> Any:
    """Return a core schema without what belongs to its place in another."""
    return {key: part for key, part in schema.items() if key not in {"metadata", "ref", "serialization"}}


def _reader(core: Any) -> Callable[[str], bool]:
    """Return whether validation takes a JSON text."""
    validator = SchemaValidator(core)  # a part of a schema that pydantic built

    def accepts(text: str) -> bool:
        try:
            validator.validate_json(text)
        except ValidationError:
            return False
        return True

    return accepts


def _json_forms(value: Any) -> list[Any]:
    """The JSON values that could stand for a Python value."""
    if isinstance(value, Decimal):
        return [float(value)]
    return [to_jsonable_python(value)]  # of a member of an Enum: its value


#: Combinations that are listed one by one: those of 12 members.
_MAX_LISTED = 4096


def combinations(cls: Any, values: Sequence[Any]) -> dict[str, Any] | None:
    """Return the schema of the combinations of a flag; None if the enumeration is no flag of non-negative integers.

    Args:
        cls: The enumeration.
        values: The values of its members.

    Raises:
        RefusedTypeError: There are too many combinations to list, and they are not simply all integers up to a largest one.
    """
    if not (isinstance(cls, type) and issubclass(cls, Flag)):
        return None
    if not all(isinstance(value, int) and value >= 0 for value in values):
        return None
    found = {0}
    for value in values:
        found |= {other | value for other in found}
        if len(found) > _MAX_LISTED:
            return _range(cls, values)
    return {"enum": sorted(found)}


def _range(cls: type[Flag], values: Sequence[int]) -> dict[str, Any]:
    """All integers up to the combination of all members; each is a combination if every one of its bits is a member."""
    largest = 0
    for value in values:
        largest |= value
    bits = [1 << k for k in range(largest.bit_length())]
    if not set(bits) <= set(values):
        raise RefusedTypeError(
            f"the flag {cls.__name__} has more than {_MAX_LISTED} combinations of its {len(values)} members, "
            "and they are not all integers from 0 up",
            fix="use a list of an Enum with these members",
        )
    return {"type": "integer", "minimum": 0, "maximum": largest}
