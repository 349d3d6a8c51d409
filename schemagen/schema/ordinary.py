"""The ordinary object, array and choice of texts, which most of every document is made of.

``{"type": "object", "properties": {...}, "required": [...], "additionalProperties": ...}``,
``{"type": "array", "items": {...}}`` and ``{"type": "string", "enum": [...]}``, annotations aside, need none of what
`keywords.Node` keeps for keywords that act upon one another: each keyword is one part of the disjunct. They are read here
straight into it, with the same result; whatever is out of the ordinary, invalid values too, is left to the keywords.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.schema.algebra import plain_rule
from schemagen.schema.keywords import COMPANIONS, KEYWORDS
from schemagen.schema.nodes import (
    ANY,
    ANY_ARRAY,
    NEVER,
    NOTHING,
    ArrayDisjunct,
    Expression,
    ObjectDisjunct,
    StringDisjunct,
    ValueSet,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schemagen.schema.document import Subschema

_BESIDE_OBJECT = (KEYWORDS.keys() | COMPANIONS) - {"type", "properties", "required", "additionalProperties"}
_BESIDE_ARRAY = (KEYWORDS.keys() | COMPANIONS) - {"type", "items"}
_BESIDE_CHOICE = (KEYWORDS.keys() | COMPANIONS) - {"type", "enum"}
_NO_PROPERTIES: dict[str, Any] = {}
_NO_NAMES: list[str] = []


class Members(NamedTuple):
    """What an ordinary object asks of its members.

    Attributes:
        declared: What is asked of each key of `properties`, then of each that is only required.
        required: Keys that must be there.
        additional: What is asked of all other keys.
    """

    declared: dict[str, Expression]
    required: list[str]
    additional: Expression


def is_ordinary(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is valid and has none but the keywords of an ordinary one; annotations are ignored."""
    kind = schema.get("type")
    if kind == "object":
        return _BESIDE_OBJECT.isdisjoint(schema) and _is_object(schema)
    if kind == "array":
        return _BESIDE_ARRAY.isdisjoint(schema) and isinstance(schema.get("items"), dict | bool)
    return "enum" in schema and (kind == "string" or "type" not in schema) and _is_choice(schema)


def _is_object(schema: Mapping[str, Any]) -> bool:
    declared = schema.get("properties", _NO_PROPERTIES)
    required = schema.get("required", _NO_NAMES)
    if not isinstance(declared, dict) or not isinstance(required, list):
        return False
    for key, child in declared.items():
        if not isinstance(key, str) or not isinstance(child, dict | bool):
            return False
    for key in required:
        if not isinstance(key, str):
            return False
    return isinstance(schema.get("additionalProperties", True), dict | bool)


def _is_choice(schema: Mapping[str, Any]) -> bool:
    texts = schema["enum"]
    return _BESIDE_CHOICE.isdisjoint(schema) and isinstance(texts, list) and set(map(type, texts)) == {str}


def ordinary_value(record: Subschema, read: Callable[..., Expression]) -> ValueSet:
    """Return the set of an ordinary schema, what `Node.local_value` would return for it.

    Args:
        record: Its place.
        read: Returns what a sub-schema allows; called with ``record``, the sub-schema and the steps to it, in the order of
            the keywords.
    """
    schema = record.schema
    kind = schema.get("type", "string")
    if kind == "string":
        return ValueSet(strings=(StringDisjunct(values=frozenset(schema["enum"])),))
    if kind == "array":
        items = ordinary_items(record, read)
        # Without a possible item only the empty array is left.
        disjunct = ANY_ARRAY if items is ANY else ArrayDisjunct((), items, 0, 0 if items is NEVER else None)
        return ValueSet(arrays=(disjunct,))
    members = ordinary_members(record, read)
    if members is None:
        return NOTHING
    rules = plain_rule(members.additional)
    return ValueSet(objects=(ObjectDisjunct(tuple(members.declared.items()), frozenset(members.required), rules),))


def ordinary_items(record: Subschema, read: Callable[..., Expression]) -> Expression:
    """Return what an ordinary array asks of its items; arguments as for `ordinary_value`."""
    return _child(record, record.schema["items"], read, "items")


def ordinary_members(record: Subschema, read: Callable[..., Expression]) -> Members | None:
    """Return what an ordinary object asks of its members, None if no object has them; arguments as for `ordinary_value`."""
    schema = record.schema
    declared = {
        key: _child(record, child, read, "properties", key)
        for key, child in schema.get("properties", _NO_PROPERTIES).items()
    }
    additional = _child(record, schema.get("additionalProperties", True), read, "additionalProperties")
    required = schema.get("required", _NO_NAMES)
    for key in required:
        if declared.setdefault(key, additional) is NEVER:
            return None
    return Members(declared, required, additional)


def _child(record: Subschema, schema: Any, read: Callable[..., Expression], *steps: str) -> Expression:
    if schema is False:
        return NEVER
    return ANY if schema is True or not schema else read(record, schema, *steps)


def children(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the sub-schemas of an ordinary schema that are objects, each after the steps to it."""
    kind = schema.get("type", "string")
    if kind == "string":
        return
    if kind == "array":
        inner: list[tuple[tuple[str, ...], Any]] = [(("items",), schema["items"])]
    else:
        inner = [(("properties", key), child) for key, child in schema.get("properties", _NO_PROPERTIES).items()]
        inner.append((("additionalProperties",), schema.get("additionalProperties", True)))
    for steps, child in inner:
        if isinstance(child, dict) and child:
            yield steps, child
