"""`ContainerSchemas`: objects, dicts, sets, and unions that a tag tells apart."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticOmit

from schemagen.types.discriminators import tag_property
from schemagen.types.functions import FunctionSchemas, construction_words, discriminator_words
from schemagen.types.notes import RefusedTypeError, noted, without_notes
from schemagen.types.scalars import SCALARS
from schemagen.types.value_patterns import integer_key_schema, number_key_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.types.notes import Json


_NO_MEMBER = "a union without any member that JSON can express"
#: Wrappers around the type of a key.
_INNER = frozenset({"nullable", "default", "function-after", "function-wrap", "function-before", "custom-error"})
_DIFFERENT_SCALARS = {"type": ["string", "integer", "null"]}
_UNHASHABLE = frozenset({"list", "dict", "set", "deque", "typed-dict"})
#: Core schemas that read each of their JSON values as another element, as long as they are no members of a union.
_SPELLED_ONCE = frozenset({"bytes"})
_CASES = ("strip_whitespace", "to_lower", "to_upper")
#: The same, also as members of a union. A date has one spelling here.
_SCALARS = frozenset({"int", "bool", "none", "str", "literal", "enum", "date"})


class ContainerSchemas(FunctionSchemas):
    """Schemas of values with parts.

    Objects are closed unless the class says otherwise; the keys of dicts are strings that validation reads as the key type.
    """

    # --- objects and their fields ------------------------------------------------------------------------------------

    def model_schema(self, schema: Any) -> Json:
        """A model: a closed object, or whatever the root of a RootModel is."""
        result = noted(super().model_schema(schema), self.note(construction_words(schema)))
        return result if schema.get("root_model") else _closed(result)

    def dataclass_schema(self, schema: Any) -> Json:
        """A dataclass: a closed object."""
        return _closed(noted(super().dataclass_schema(schema), self.note(construction_words(schema))))

    def typed_dict_schema(self, schema: Any) -> Json:
        """A TypedDict: a closed object."""
        self._refuse_nested_aliases(schema["fields"].items())
        return _closed(super().typed_dict_schema(schema))

    def model_fields_schema(self, schema: Any) -> Json:
        """The fields of a model."""
        self._refuse_nested_aliases(schema["fields"].items())
        return super().model_fields_schema(schema)

    def dataclass_args_schema(self, schema: Any) -> Json:
        """The fields of a dataclass."""
        self._refuse_nested_aliases((field["name"], field) for field in schema["fields"])
        return super().dataclass_args_schema(schema)

    def model_field_schema(self, schema: Any) -> Json:
        """A field of a model."""
        _leave_out_nested_alias(schema)
        return super().model_field_schema(schema)

    def dataclass_field_schema(self, schema: Any) -> Json:
        """A field of a dataclass."""
        _leave_out_nested_alias(schema)
        return super().dataclass_field_schema(schema)

    def typed_dict_field_schema(self, schema: Any) -> Json:
        """A field of a TypedDict."""
        _leave_out_nested_alias(schema)
        return super().typed_dict_field_schema(schema)

    def _refuse_nested_aliases(self, fields: Iterable[tuple[str, Any]]) -> None:
        """Refuse fields without a default that are only reachable through an `AliasPath` of several steps."""
        for name, field in fields:
            path = _nested_alias(field)
            if path is not None and self.field_is_required(field, total=True):
                raise RefusedTypeError(
                    f"the field {name} is found only by the alias path {path}",
                    fix="give the field a default, or an alias of one step as well: AliasChoices",
                    step=f".{name}",
                )

    def tagged_union_schema(self, schema: Any) -> Json:
        """A discriminated union: the tag is required even where the class has a default for it."""
        discriminator = schema["discriminator"]
        words = discriminator_words(discriminator)
        if words is not None:
            return noted(self._chosen_by(schema), self.note([words]))
        result = super().tagged_union_schema(schema)
        if not result["oneOf"]:
            self.handle_invalid_for_json_schema(schema, _NO_MEMBER)
        # The members exclude each other by their tag, so `anyOf` says the same and costs less to decide.
        union: Json = {"anyOf": result["oneOf"]}
        tag = result.get("discriminator", {}).get("propertyName")
        if tag is not None:
            return {**union, "required": [tag]}
        if callable(discriminator):
            return union
        return noted(union, self.note([f"discriminator {discriminator}"]))

    def _chosen_by(self, schema: Any) -> Json:
        """A union with a function that tells the tag; a function that returns a property asks for the tag in it."""
        found = tag_property(schema["discriminator"], schema["choices"])
        members: list[Json] = []
        for tag, choice in schema["choices"].items():
            with suppress(PydanticInvalidForJsonSchema, PydanticOmit):
                member = self.generate_inner(choice)
                if found is not None and found.name in self.inlined(member).get("properties", ()):
                    member = {"allOf": [member, found.demand(tag)]}
                members.append(member)
        if not members:
            self.handle_invalid_for_json_schema(schema, _NO_MEMBER)
        return {"anyOf": members}

    # --- dicts ---------------------------------------------------------------------------------------------------

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

    # --- sets --------------------------------------------------------------------------------------------------------

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


def _closed(result: Json) -> Json:
    if result.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


def _nested_alias(field: Any) -> list[str | int] | None:
    """Return an alias path of several steps if there is no other way to a field, which then is no property of the object."""
    alias = field.get("validation_alias")
    if not isinstance(alias, list):
        return None
    paths = alias if alias and isinstance(alias[0], list) else [alias]
    return paths[0] if all(len(path) > 1 for path in paths) else None


def _leave_out_nested_alias(field: Any) -> None:
    """Leave out a field that is found inside another value: it has a default."""
    if _nested_alias(field) is not None:
        raise PydanticOmit


class Difference(Enum):
    """What becomes of different JSON values in a set."""

    KEPT = "they are different elements"
    BOOLEANS_ARE_NUMBERS = "True is the same element as 1, and False as 0,"
    UNKNOWN = "some may be one element"


def difference(items: Any, *, strings_change: bool) -> Difference:
    """Return what becomes of different JSON values when they are the items of a set.

    ``uniqueItems`` compares JSON values, and a Python set compares what validation made of them. Two JSON values may become one
    element: `False` is `0`, and ``"P1D"`` is the same duration as ``"PT24H"``. This matters to a set with a minimum length.
    `Difference.KEPT` is returned only where different JSON values always become different elements.
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
