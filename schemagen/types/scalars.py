"""`ScalarSchemas`: strings, numbers, enums, times, and unions."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import Flag
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError, to_jsonable_python

from schemagen.types.notes import BOUNDS, CAP, NotedSchemas, RefusedTypeError, noted, without_notes
from schemagen.types.value_patterns import (
    ANY_JSON,
    BYTE_SIZE_PATTERN,
    COMPLEX_PATTERN,
    FRACTION_PATTERN,
    MAX_ANY_DEPTH,
    TRIMMED_PATTERN,
    bytes_schema,
    date_bounds_pattern,
    decimal_schemas,
    json_text_pattern,
    pattern_keywords,
    scheme_pattern,
    zone_schema,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.types.notes import Json

#: What of JSON is hashable in Python.
SCALARS = {"type": ["string", "number", "boolean", "null"]}
_NOW = {"past": "in the past", "future": "in the future"}
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
#: Combinations that are listed one by one: those of 12 members.
_MAX_LISTED = 4096


class ScalarSchemas(NotedSchemas):
    """Schemas of single values: what JSON can write of them, and validation reads."""

    # --- strings: patterns without look-arounds, and lengths as validation counts them -------------------------------

    def str_schema(self, schema: Any) -> Json:
        """A string; where spaces at its ends are cut off before its length is checked it has none."""
        result = super().str_schema(schema)
        if "pattern" in result:
            engine = schema.get("regex_engine", self.configuration.regex_engine)
            result.update(pattern_keywords(schema["pattern"], engine))
        strips = schema.get("strip_whitespace", self.configuration.str_strip_whitespace)
        if strips and result.keys() & {"minLength", "pattern"}:
            result["allOf"] = [{"pattern": TRIMMED_PATTERN}]
        return result

    def bytes_schema(self, schema: Any) -> Json:
        """Bytes: UTF-8 text, base64 or hexadecimal, as the configuration reads them; lengths count bytes."""
        return bytes_schema(self.configuration.val_json_bytes, schema.get("min_length"), schema.get("max_length"))

    def json_schema(self, schema: Any) -> Json:
        """A string that holds JSON: the compact texts of the inner type, as a pattern."""
        before = len(self.unsaid)
        result = super().json_schema(schema)
        content = without_notes(result["contentSchema"])
        pattern = json_text_pattern(content, lambda part: without_notes(self.inlined(part)))
        if pattern is None:
            what = "JSON inside a string, of a type that no pattern describes"
            return self.handle_invalid_for_json_schema(schema, what)
        kept: Json = {"contentMediaType": "application/json", "contentSchema": content}
        said: Json = {"type": "string", **kept, "pattern": f"^(?:{pattern})$"}
        if ANY_JSON in pattern:
            said[CAP] = [f"JSON of any form inside a string: arrays and objects nested at most {MAX_ANY_DEPTH} deep"]
        return noted(said, self.unsaid[before:])

    def url_schema(self, schema: Any) -> Json:
        """A URL with its schemes."""
        return self._located(schema, super().url_schema(schema))

    def multi_host_url_schema(self, schema: Any) -> Json:
        """A URL that may name several hosts; one is written."""
        return self._located(schema, {**super().multi_host_url_schema(schema), "format": "uri"})

    def _located(self, schema: Any, result: Json) -> Json:
        schemes = schema.get("allowed_schemes")
        if schemes:
            result["pattern"] = scheme_pattern(schemes)
        return result

    # --- times: zones as patterns, bounds as notes where no keyword has them -----------------------------------------

    def date_schema(self, schema: Any) -> Json:
        """A date; its bounds become a pattern, as dates are ordered like their text."""
        result = super().date_schema(schema)
        pattern = date_bounds_pattern(schema)
        if pattern:
            result["pattern"] = pattern
        return noted(result, self._time(schema, ("now_op",)))

    def datetime_schema(self, schema: Any) -> Json:
        """A datetime, with or without time zone as it demands."""
        result = super().datetime_schema(schema)
        result = noted(result, self._time(schema, (*BOUNDS, "now_op")))
        return {**result, **zone_schema(schema.get("tz_constraint"), with_date=True)}

    def time_schema(self, schema: Any) -> Json:
        """A time of day, with or without time zone as it demands."""
        result = super().time_schema(schema)
        result = noted(result, self._time(schema, BOUNDS))
        return {**result, **zone_schema(schema.get("tz_constraint"), with_date=False)}

    def timedelta_schema(self, schema: Any) -> Json:
        """A duration."""
        result = super().timedelta_schema(schema)
        return noted(result, self._time(schema, BOUNDS))

    def _time(self, schema: Any, keys: tuple[str, ...]) -> list[str]:
        """The demands on a time that no keyword can state."""
        given = ((key, schema[key]) for key in keys if schema.get(key) is not None)
        return self.note(
            [f"{schema['type']} {_NOW[v] if key == 'now_op' else f'{_SIGNS[key]} {v}'}" for key, v in given]
        )

    # --- enums, numbers, and unions ----------------------------------------------------------------------------------

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
        accepts = _acceptor(_bare(schema))
        if "enum" in found:
            found["enum"] = [value for value in found["enum"] if accepts(str(value))]
        return {**{key: part for key, part in result.items() if key not in {"enum", "const", "type"}}, **found}

    def _only_read(self, schema: Any, values: list[Any], result: Json) -> Json:
        if all(type(value) in {str, int, bool, type(None)} for value in values):
            return result
        accepts = _acceptor(_bare(schema))
        # `to_jsonable_python` writes a member of an Enum as its value.
        forms = (float(value) if isinstance(value, Decimal) else to_jsonable_python(value) for value in values)
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
    """A core schema without the keys that belong to its place in another."""
    return {key: part for key, part in schema.items() if key not in {"metadata", "ref", "serialization"}}


def _acceptor(core: Any) -> Callable[[str], bool]:
    validator = SchemaValidator(core)  # a part of a schema that pydantic built

    def accepts(text: str) -> bool:
        try:
            validator.validate_json(text)
        except ValidationError:
            return False
        return True

    return accepts


def combinations(cls: Any, values: Sequence[Any]) -> dict[str, Any] | None:
    """Return the schema of the combinations of a flag; None if the enumeration is no flag of non-negative integers.

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
