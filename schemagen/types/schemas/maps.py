"""`MapSchemas`: dicts, whose keys JSON writes as strings whatever their type is."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic.errors import PydanticInvalidForJsonSchema

from schemagen.types.schemas.functions import FunctionSchemas
from schemagen.types.schemas.notes import noted, without_notes
from schemagen.types.value_patterns import integer_key_schema, number_key_schema

if TYPE_CHECKING:
    from schemagen.types.schemas.notes import Json

#: Wrappers around the type of a key.
_INNER = frozenset({"nullable", "default", "function-after", "function-wrap", "function-before", "custom-error"})


class MapSchemas(FunctionSchemas):
    """Schemas of dicts: their keys are strings that validation reads as the key type."""

    def dict_schema(self, schema: Any) -> Json:
        """A dict: its keys are strings that validation reads as the key type."""
        return self._keyed(schema, super().dict_schema(schema))

    def ordered_dict_schema(self, schema: Any) -> Json:
        """An OrderedDict."""
        return self._keyed(schema, super().ordered_dict_schema(schema))

    def counter_schema(self, schema: Any) -> Json:
        """A Counter."""
        return self._keyed(schema, super().counter_schema(schema))

    def frozendict_schema(self, schema: Any) -> Json:
        """A frozendict."""
        return self._keyed(schema, super().frozendict_schema(schema))

    def _keyed(self, schema: Any, result: Json) -> Json:
        if "keys_schema" not in schema:
            return result
        patterned = result.pop("patternProperties", None)
        if patterned:
            result["additionalProperties"] = next(iter(patterned.values()))
        result.pop("propertyNames", None)
        before = len(self.unsaid)
        names = self._key_names(schema["keys_schema"])
        if names is not None:
            result["propertyNames"] = names
        return noted(result, self.unsaid[before:])

    def _key_names(self, keys: Any) -> Json | None:
        """The schema of the keys, which JSON writes as strings whatever their type is; None if any string is a key."""
        kind = keys["type"]
        if kind in _INNER and "schema" in keys:
            if "function" in keys:
                self.name_validator(keys)
            return self._key_names(keys["schema"])
        if kind == "union":
            return self._key_union([c[0] if isinstance(c, tuple) else c for c in keys["choices"]])
        if kind == "enum":
            values = [str(member.value) for member in keys["members"] if isinstance(member.value, (str, int))]
            return self._some_of(values, keys)
        if kind == "literal":
            return self._some_of([value for value in keys["expected"] if isinstance(value, str)], keys)
        return self._named_by(without_notes(self.inlined(without_notes(self.generate_inner(keys)))), keys)

    def _key_union(self, choices: list[Any]) -> Json | None:
        found = []
        for choice in choices:
            # A member of the union that can be no key only narrows the union.
            with suppress(PydanticInvalidForJsonSchema):
                found.append(self._key_names(choice))
        if not found:
            raise PydanticInvalidForJsonSchema("none of these types can be the key of a JSON object")
        return None if None in found else {"anyOf": found}

    def _named_by(self, value: Json, keys: Any) -> Json | None:
        """The string form of a JSON value as a key."""
        plain = {key: part for key, part in value.items() if key not in {"title", "description", "default"}}
        if "anyOf" in plain:
            parts = [part for part in plain["anyOf"] if part.get("type") == "string"]
            return {"anyOf": parts} if parts else self._no_key(keys)
        if "enum" in plain or "const" in plain:
            values = plain.get("enum", [plain.get("const")])
            return self._some_of([str(v) for v in values if isinstance(v, (str, int))], keys)
        kind = plain.get("type")
        if not plain or plain == {"type": "string"}:
            return None
        if kind == "string":
            return plain
        if kind == "boolean":
            return {"enum": ["true", "false"]}
        named = {"integer": integer_key_schema, "number": number_key_schema}.get(str(kind))
        found = named(plain) if named else None
        return found if found is not None else self._no_key(keys)

    def _some_of(self, values: list[str], keys: Any) -> Json:
        return {"enum": values} if values else self._no_key(keys)

    def _no_key(self, keys: Any) -> Any:
        return self.handle_invalid_for_json_schema(keys, f"keys of type {keys['type']!r}")
