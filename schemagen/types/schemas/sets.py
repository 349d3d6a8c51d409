"""`SetSchemas`: sets, whose items have to be different in Python, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.types.refusals import RefusedTypeError
from schemagen.types.schemas.notes import NotedSchemas, noted
from schemagen.types.schemas.values import SCALARS
from schemagen.types.sets import Difference, difference

if TYPE_CHECKING:
    from schemagen.types.schemas.notes import Json

_DIFFERENT_SCALARS = {"type": ["string", "integer", "null"]}
_UNHASHABLE = frozenset({"list", "dict", "set", "deque", "typed-dict"})


class SetSchemas(NotedSchemas):
    """Schemas of sets."""

    def set_schema(self, schema: Any) -> Json:
        """A set."""
        return self._unordered(schema, super().set_schema(schema))

    def frozenset_schema(self, schema: Any) -> Json:
        """A frozenset."""
        return self._unordered(schema, super().frozenset_schema(schema))

    def _unordered(self, schema: Any, result: Json) -> Json:
        items, fewest = schema.get("items_schema", {"type": "any"}), schema.get("min_length") or 0
        kind, owner = items["type"], items.get("cls")
        if kind in _UNHASHABLE or (owner is not None and owner.__hash__ is None):
            self.handle_invalid_for_json_schema(schema, f"a set of {kind}, which Python cannot hash")
        if fewest < 2:
            # A list with duplicates still validates into the set, so the costly keyword is only needed where
            # duplicates could leave the set too small.
            result.pop("uniqueItems", None)
        if kind == "any":
            # True and 1 are one element: where elements have to be different, only the numbers are offered.
            result["items"] = dict(SCALARS if fewest < 2 else _DIFFERENT_SCALARS)
        elif fewest >= 2:
            return noted(result, self._different(items, fewest))
        return result

    def _different(self, items: Any, fewest: int) -> list[str]:
        """Refuse items of a set whose different JSON values are equal in Python; where that is not known, say so."""
        found = difference(items, strings_change=self.strings_change)
        if found is Difference.BOOLEANS_ARE_NUMBERS:
            raise RefusedTypeError(
                f"{found.value} in a Python set, and this one needs {fewest} elements",
                fix="use a set of numbers or of booleans, or a list",
            )
        return [] if found is Difference.KEPT else self.note([f"{fewest} elements that are different in Python"])
