"""Which items of a set stay different when Python reads them.

Idea: ``uniqueItems`` compares JSON values, and a Python set compares what validation made of them. Two JSON values may become
one element: `False` is `0`, and ``"P1D"`` is the same duration as ``"PT24H"``. This matters to a set with a minimum length.

Invariant: `Difference.KEPT` is said only where different JSON values always become different elements.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

#: Core schemas that read each of their JSON values as another element, as long as they are no members of a union.
_SPELLED_ONCE = frozenset({"bytes"})
_CASES = ("strip_whitespace", "to_lower", "to_upper")
#: The same, also as members of a union. A date has one spelling here.
_SCALARS = frozenset({"int", "bool", "none", "str", "literal", "enum", "date"})


class Difference(Enum):
    """What becomes of different JSON values in a set."""

    KEPT = "they are different elements"
    BOOLEANS_ARE_NUMBERS = "True is the same element as 1, and False as 0,"
    UNKNOWN = "some may be one element"


def difference(items: Any, *, strings_change: bool) -> Difference:
    """Return what becomes of different JSON values when they are the items of a set.

    Args:
        items: The core schema of an item.
        strings_change: Whether the configuration strips strings or changes their case.
    """
    if items["type"] == "tuple":
        parts = [difference(part, strings_change=strings_change) for part in items["items_schema"]]
        return next((part for part in parts if part is not Difference.KEPT), Difference.KEPT)
    members = _members(items)
    if _mixes(members):
        return Difference.BOOLEANS_ARE_NUMBERS
    kinds = _SCALARS if len(members) > 1 else _SCALARS | _SPELLED_ONCE
    kept = all(_is_kept(member, kinds, strings_change=strings_change) for member in members)
    return Difference.KEPT if kept else Difference.UNKNOWN


def _members(schema: Any) -> list[Any]:
    """The members of a union, those of optional and nested ones included; anything else is its own only member."""
    if schema["type"] == "nullable":
        return [{"type": "none"}, *_members(schema["schema"])]
    if schema["type"] == "union" and schema.get("mode", "smart") == "smart":
        choices = (choice[0] if isinstance(choice, tuple) else choice for choice in schema["choices"])
        return [member for choice in choices for member in _members(choice)]
    return [schema]


def _is_kept(schema: Any, kinds: frozenset[str], *, strings_change: bool) -> bool:
    """Whether the JSON values of one member of a union become different elements."""
    if schema["type"] == "str":
        return not strings_change and not any(schema.get(change) for change in _CASES)
    return schema["type"] in kinds


def _mixes(members: list[Any]) -> bool:
    """Whether a boolean and a number among the elements may be equal."""
    booleans = {value for member in members for value in _booleans(member)}
    return any(_has_number(member, number) for member in members for number in booleans)


def _booleans(schema: Any) -> set[bool]:
    if schema["type"] == "bool":
        return {False, True}
    values = schema["expected"] if schema["type"] == "literal" else ()
    return {value for value in values if isinstance(value, bool)}


def _has_number(schema: Any, number: bool) -> bool:
    """Whether 0 (False) or 1 (True) may be an element."""
    kind = schema["type"]
    if kind in {"int", "float", "decimal", "fraction", "complex"}:
        return True
    values = {"literal": "expected", "enum": "members"}.get(kind)
    return values is not None and any(value == number and not isinstance(value, bool) for value in schema[values])
