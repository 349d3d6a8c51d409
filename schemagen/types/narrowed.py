"""`narrowed`: the values of a spec that satisfy a further JSON Schema, as a spec.

The intersection is a schema, so that it is compiled like any other. A type stays a type: its validators run as before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

from schemagen.schema.document import draft_of
from schemagen.schema.key_order import in_order_of
from schemagen.schema.keyword_table import ANNOTATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.types.notes import Json

#: The address of a schema inside of its intersection, if it has none of its own.
_INNER = "schemagen:narrowed"


@dataclass(frozen=True)
class Narrowing:
    """An annotation: a further schema, written as JSON, that the values of the type satisfy."""

    schema: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return a schema of its own around that of the type: pydantic keeps annotations in it, and shares that of a class."""
        return core_schema.chain_schema([handler(source)])

    def __get_pydantic_json_schema__(self, core: core_schema.CoreSchema, handler: Any) -> Json:
        """Return the intersection."""
        return {"allOf": [handler(core), json.loads(self.schema)]}


@dataclass(frozen=True)
class KeyOrder:
    """An annotation: the keys of objects, in whose order the schema of the type declares its properties.

    `reflect` applies it to the finished schema: pydantic moves classes into definitions, which no annotation reaches.
    """

    objects: tuple[tuple[str, ...], ...]


def reordered(spec: Any, objects: Sequence[Sequence[str]]) -> Any:
    """Return the spec of the same values, with properties in the order of the keys; see `schemagen.schema.key_order`."""
    if isinstance(spec, dict | bool):
        return in_order_of(objects, spec)
    return Annotated[spec, KeyOrder(tuple(map(tuple, objects)))]


def narrowed(spec: Any, schema: Json) -> Any:
    """Return the spec of the values that a further schema allows, too.

    Args:
        spec: A type or a JSON Schema.
        schema: A JSON Schema of the same draft without references.
    """
    if isinstance(spec, dict | bool):
        return _narrowed_schema(spec, schema)
    return Annotated[spec, Narrowing(json.dumps(schema))]


def _narrowed_schema(inner: Any, schema: Json) -> Any:
    """Return the intersection of two schemas. References inside of the first go on meaning its own parts."""
    if not isinstance(inner, dict):
        return {"allOf": [inner, schema]}
    draft = draft_of(inner)
    if draft <= 7 and "$ref" in inner:  # a reference hides its siblings, an address among them
        inner = {
            **{key: value for key, value in inner.items() if key in ANNOTATIONS},
            "allOf": [{"$ref": inner["$ref"]}],
        }
    name = "id" if draft == 4 else "$id"
    inner = {name: _INNER, **inner}
    around = {"$schema": inner["$schema"]} if "$schema" in inner else {}
    return {**around, "allOf": [inner, schema]}
