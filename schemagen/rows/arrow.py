"""The Apache Arrow type of a JSON Schema, for columns of Parquet, Ray and `datasets`.

A schema has an Arrow type if one type fits all of its values; otherwise the column holds JSON texts. Recursive schemas
have none, nor have unions of more than one type and null, objects with keys that are not listed, and values of any
kind. A missing property is null in the column.

pyarrow comes with the extra ``parquet``, and is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.errors.installing import install_command
from schemagen.errors.pointers import referred
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.specs import Choice, Regex
from schemagen.types.reflection import is_type, reflect

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCALARS = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool_"}
_DEEPEST = 40


def arrow() -> Any:
    """Return the module pyarrow.

    Raises:
        OptionError: It is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise _missing() from error
    return pa


def parquet() -> Any:
    """Return the module pyarrow.parquet.

    Raises:
        OptionError: It is not installed.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise _missing() from error
    return pq


def _missing() -> OptionError:
    return OptionError(
        "Parquet and Rows need pyarrow",
        why="it is not installed",
        fix=install_command("parquet"),
        code="no-pyarrow",
    )


def value_type(spec: Any) -> Any:
    """Return the Arrow type of the values of a spec; None if it has none, so that the column holds JSON texts."""
    pa = arrow()
    if isinstance(spec, Regex | ContextFree):
        return pa.string()
    if isinstance(spec, Choice):
        return pa.string() if all(isinstance(option, str) for option in spec.options) else None
    if is_type(spec):
        document: Any = reflect(spec).schema
    else:
        document = spec
    return _type_of(document, document, 0) if isinstance(document, Mapping) else None


def _type_of(schema: Any, document: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    if "$ref" in schema:
        return _type_of(referred(schema["$ref"], document), document, depth + 1)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _type_of_union(schema[union], document, depth + 1)
    if "const" in schema or "enum" in schema:
        return _type_of_values([schema["const"]] if "const" in schema else schema["enum"])
    kinds = schema.get("type")
    kinds = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    if len(kinds) != 1:
        return None
    if kinds[0] in _SCALARS:
        return getattr(arrow(), _SCALARS[kinds[0]])()
    if kinds[0] == "array":
        return _type_of_array(schema, document, depth + 1)
    return _type_of_object(schema, document, depth + 1) if kinds[0] == "object" else None


def _type_of_union(members: Any, document: Mapping[str, Any], depth: int) -> Any:
    """Return the one type that the members have besides null; an integer may be a number."""
    others = [member for member in members if not (isinstance(member, Mapping) and member.get("type") == "null")]
    types = [_type_of(member, document, depth) for member in others]
    if not types or None in types:
        return None
    pa = arrow()
    if all(found in (pa.int64(), pa.float64()) for found in types):
        return pa.float64() if pa.float64() in types else pa.int64()
    return types[0] if all(found == types[0] for found in types) else None


def _type_of_values(values: Iterable[Any]) -> Any:
    pa = arrow()
    kinds = {type(value) for value in values} - {type(None)}
    known = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    return known.get(next(iter(kinds))) if len(kinds) == 1 else pa.float64() if kinds == {int, float} else None


def _type_of_array(schema: Mapping[str, Any], document: Mapping[str, Any], depth: int) -> Any:
    members = list(schema.get("prefixItems", []))
    closed = schema.get("items") is False or schema.get("maxItems") == len(members)
    if "items" in schema and schema["items"] is not False:
        members.append(schema["items"])
    elif not members or not closed:
        return None
    found = _type_of_union(members, document, depth)
    return None if found is None else arrow().list_(found)


def _type_of_object(schema: Mapping[str, Any], document: Mapping[str, Any], depth: int) -> Any:
    properties = schema.get("properties")
    if not properties or schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    fields = {name: _type_of(subschema, document, depth) for name, subschema in properties.items()}
    return None if None in fields.values() else arrow().struct(list(fields.items()))


def column_of(values: list[Any], column: Any) -> tuple[Any, dict[int, str]]:
    """Return an array of values, and the reasons why some of them are null in it."""
    pa = arrow()
    try:
        return pa.array(values, type=column), {}
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    refused = {index: why for index, value in enumerate(values) if (why := _why_not(value, column))}
    kept = [None if index in refused else value for index, value in enumerate(values)]
    return pa.array(kept, type=column), refused


def _why_not(value: Any, column: Any) -> str:
    """Return why a value cannot be in a column, such as an integer of more than 64 bits; empty if it can."""
    pa = arrow()
    try:
        pa.array([value], type=column)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


def spark_type(column: Any) -> str:
    """Return a type of `value_type` in the notation of Spark."""
    types = arrow().types
    if types.is_struct(column):
        return f"STRUCT<{', '.join(f'`{field.name}`: {spark_type(field.type)}' for field in column)}>"
    if types.is_list(column):
        return f"ARRAY<{spark_type(column.value_type)}>"
    names = {"int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "string": "STRING"}
    return names[str(column)]
