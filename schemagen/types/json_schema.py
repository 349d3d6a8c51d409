"""pydantic's JSON Schema, made sound: what is in the schema is what validation accepts.

Idea: pydantic writes schemas for readers, we write them for a mask. Wherever `TypeAdapter.json_schema` says less than
`TypeAdapter.validate_json` demands (keys of dicts, tags of unions, Decimal digits, schemes of URLs, time zones, ...)
the missing half is added here; where the forms are many (a Decimal as number or as string) one is chosen.

What no keyword can say is noted in the schema itself, under a key that no JSON Schema has, so that it is found again
where it belongs however pydantic moves parts into definitions; `read_schema` takes these notes out.

Invariants: closed objects unless ``extra="allow"``; no pattern with a look-around; nothing is dropped in silence: what
no keyword can say is listed, for the caller to report.

Alternative rejected: walking pydantic's core schema ourselves. It has no stability promise; the methods overridden
here are the documented extension points of `GenerateJsonSchema`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import EncodedStr, ImportString
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator, ValidationError, to_jsonable_python

from schemagen.types.bounds import bound_keywords, bound_words, is_bound_validator
from schemagen.types.flags import combinations
from schemagen.types.refusals import RefusedTypeError
from schemagen.types.sets import Difference, difference
from schemagen.types.texts import (
    ANY_JSON,
    BYTE_SIZE_PATTERN,
    COMPLEX_PATTERN,
    FRACTION_PATTERN,
    MAX_ANY_DEPTH,
    TRIMMED_PATTERN,
    ascii_base64_pattern,
    bytes_schema,
    date_bounds_pattern,
    decimal_schemas,
    integer_key_schema,
    json_text_pattern,
    number_key_schema,
    pattern_keywords,
    scheme_pattern,
    zone_schema,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pydantic import TypeAdapter

Json = dict[str, Any]

_SCALARS = {"type": ["string", "number", "boolean", "null"]}
_DIFFERENT_SCALARS = {"type": ["string", "integer", "null"]}
_UNHASHABLE = frozenset({"list", "dict", "set", "deque", "typed-dict"})
_BOUNDS = ("ge", "gt", "le", "lt")
_BASE64_FORMATS = frozenset({"base64", "base64url"})
_INNER = frozenset({"nullable", "default", "function-after", "function-wrap", "function-before", "custom-error"})


#: Where a schema notes what validation demands and no keyword says.
_NOTE = "\0checked"
#: Where a schema notes that it takes less than validation does.
_CAP = "\0capped"
_NOW = {"past": "in the past", "future": "in the future"}
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_FILES = {
    "validate_file": "an existing file",
    "validate_directory": "an existing directory",
    "validate_new": "a path that does not exist yet",
    "validate_socket": "an existing socket",
}


class ReadSchema(NamedTuple):
    """The schema of a type and what it does not show.

    Attributes:
        schema: The JSON Schema.
        checked: What validation demands besides: JSON pointers into the schema, with words.
        capped: What validation would accept besides, in the same form.
    """

    schema: Json
    checked: tuple[tuple[str, str], ...]
    capped: tuple[tuple[str, str], ...]


def read_schema(adapter: TypeAdapter[Any]) -> ReadSchema:
    """Return the schema of a type, and where validation demands more or accepts more."""
    unsaid: list[str] = []

    class BoundTypeSchema(TypeSchema):
        """A generator with a list of its own."""

    BoundTypeSchema.unsaid = unsaid
    schema = adapter.json_schema(schema_generator=BoundTypeSchema, mode="validation")
    capped = tuple(dict.fromkeys(_taken_out(schema, _CAP)))
    found = dict.fromkeys(_taken_out(schema, _NOTE))
    words = {what for _, what in found}
    # A schema that a class wrote itself has lost the notes of its parts: then nothing is known but what they said.
    return ReadSchema(schema, (*found, *(("", what) for what in dict.fromkeys(unsaid) if what not in words)), capped)


def _taken_out(part: Any, key: str, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Take the notes under a key out of a part of a schema, and yield them with their pointers."""
    if isinstance(part, dict):
        yield from ((pointer, what) for what in part.pop(key, ()))
        for name, below in part.items():
            yield from _taken_out(below, key, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(part, list):
        for index, below in enumerate(part):
            yield from _taken_out(below, key, f"{pointer}/{index}")


def _noted(schema: Json, words: Sequence[str]) -> Json:
    return {**schema, _NOTE: [*schema.get(_NOTE, ()), *words]} if words else schema


def _without_notes(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _without_notes(below) for key, below in part.items() if key not in {_NOTE, _CAP}}
    return [_without_notes(below) for below in part] if isinstance(part, list) else part


class TypeSchema(GenerateJsonSchema):
    """`GenerateJsonSchema` whose result validation agrees with; `unsaid` collects the rest."""

    unsaid: list[str]

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Stay silent: defaults without JSON form and members of unions without JSON form narrow nothing."""

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
            return _noted(result, self._note(["a time zone that the machine knows"]))
        return result

    # --- functions ---------------------------------------------------------------------------------------------------

    def function_after_schema(self, schema: Any) -> Json:
        """A validator run on the finished value; where it is a bound that pydantic found no schema for, the bound."""
        bound = bound_keywords(schema, strings_change=self._strings_change)
        if bound is None:
            return _noted(super().function_after_schema(schema), self._validator(schema))
        return {"allOf": [super().function_after_schema(schema), bound]}

    def function_wrap_schema(self, schema: Any) -> Json:
        """A validator run around another."""
        return _noted(super().function_wrap_schema(schema), self._validator(schema))

    def function_plain_schema(self, schema: Any) -> Json:
        """A validator instead of a schema."""
        return _noted(super().function_plain_schema(schema), self._validator(schema))

    def _note(self, words: list[str]) -> list[str]:
        self.unsaid.extend(words)
        return words

    def _validator(self, schema: Any) -> list[str]:
        """Name a validator of the user, or a bound that pydantic checks by a function because no schema holds it."""
        function = schema["function"]["function"]
        while isinstance(function, partial):
            function = function.func
        module, name = getattr(function, "__module__", ""), getattr(function, "__name__", repr(function))
        if is_bound_validator(function):
            return self._note([bound_words(schema)])
        if name in _FILES:
            return self._note([_FILES[name]])
        return [] if str(module).startswith("pydantic") else self._note([f"validator {name.strip('_')}"])

    # --- objects ----------------------------------------------------------------------------------------------------

    def model_schema(self, schema: Any) -> Json:
        """A model: a closed object, or whatever the root of a RootModel is."""
        result = super().model_schema(schema)
        return result if schema.get("root_model") else _closed(result)

    def dataclass_schema(self, schema: Any) -> Json:
        """A dataclass: a closed object."""
        return _closed(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: Any) -> Json:
        """A TypedDict: a closed object."""
        return _closed(super().typed_dict_schema(schema))

    def model_field_schema(self, schema: Any) -> Json:
        """A field of a model."""
        self._refuse_nested_alias(schema)
        return super().model_field_schema(schema)

    def dataclass_field_schema(self, schema: Any) -> Json:
        """A field of a dataclass."""
        self._refuse_nested_alias(schema)
        return super().dataclass_field_schema(schema)

    def typed_dict_field_schema(self, schema: Any) -> Json:
        """A field of a TypedDict."""
        self._refuse_nested_alias(schema)
        return super().typed_dict_field_schema(schema)

    def _refuse_nested_alias(self, schema: Any) -> None:
        """Refuse a field that is only reachable through an `AliasPath` of several steps."""
        alias = schema.get("validation_alias")
        if not isinstance(alias, list):
            return
        paths = alias if alias and isinstance(alias[0], list) else [alias]
        if all(len(path) > 1 for path in paths):
            self.handle_invalid_for_json_schema(schema, f"a field found only by the alias path {paths[0]}")

    def tagged_union_schema(self, schema: Any) -> Json:
        """A discriminated union: the tag is required even where the class has a default for it."""
        result = super().tagged_union_schema(schema)
        if not result["oneOf"]:
            self.handle_invalid_for_json_schema(schema, "a union without any member that JSON can express")
        # The members exclude each other by their tag, so `anyOf` says the same and costs less to decide.
        union: Json = {"anyOf": result["oneOf"]}
        tag = result.get("discriminator", {}).get("propertyName")
        if tag is not None:
            return {**union, "required": [tag]}
        if callable(schema["discriminator"]):
            return union
        return _noted(union, self._note([f"discriminator {schema['discriminator']}"]))

    # --- maps and sets ----------------------------------------------------------------------------------------------

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
        return _noted(result, self.unsaid[before:])

    def _key_names(self, keys: Any) -> Json | None:
        """The schema of the keys, which JSON writes as strings whatever their type is; None: any string."""
        kind = keys["type"]
        if kind in _INNER and "schema" in keys:
            if "function" in keys:
                self._validator(keys)
            return self._key_names(keys["schema"])
        if kind == "union":
            return self._key_union([c[0] if isinstance(c, tuple) else c for c in keys["choices"]])
        if kind == "enum":
            values = [str(member.value) for member in keys["members"] if isinstance(member.value, (str, int))]
            return self._some_of(values, keys)
        if kind == "literal":
            return self._some_of([value for value in keys["expected"] if isinstance(value, str)], keys)
        return self._named_by(_without_notes(self._inlined(_without_notes(self.generate_inner(keys)))), keys)

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

    def _inlined(self, value: Json) -> Json:
        """Follow a reference, so that the type of a key can be seen."""
        return self.resolve_ref_schema(value) if "$ref" in value else value

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
            result["items"] = dict(_SCALARS if fewest < 2 else _DIFFERENT_SCALARS)
        elif fewest >= 2:
            return _noted(result, self._different(items, fewest))
        return result

    def _different(self, items: Any, fewest: int) -> list[str]:
        """Refuse items of a set whose different JSON values are equal in Python; where that is not known, say so."""
        found = difference(items, strings_change=self._strings_change)
        if found is Difference.BOOLEANS_ARE_NUMBERS:
            raise RefusedTypeError(
                f"{found.value} in a Python set, and this one needs {fewest} elements",
                fix="use a set of numbers or of booleans, or a list",
            )
        return [] if found is Difference.KEPT else self._note([f"{fewest} elements that are different in Python"])

    @property
    def _strings_change(self) -> bool:
        config = self._config
        return bool(config.str_strip_whitespace or config.str_to_lower or config.str_to_upper)

    # --- values -----------------------------------------------------------------------------------------------------

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

    def str_schema(self, schema: Any) -> Json:
        """A string; where spaces at its ends are cut off before its length is checked it has none."""
        result = super().str_schema(schema)
        if "pattern" in result:
            engine = schema.get("regex_engine", self._config.regex_engine)
            result.update(pattern_keywords(schema["pattern"], engine))
        strips = schema.get("strip_whitespace", self._config.str_strip_whitespace)
        if strips and result.keys() & {"minLength", "pattern"}:
            result["allOf"] = [{"pattern": TRIMMED_PATTERN}]
        return result

    def bytes_schema(self, schema: Any) -> Json:
        """Bytes: UTF-8 text, base64 or hexadecimal, as the configuration reads them; lengths count bytes."""
        return bytes_schema(self._config.val_json_bytes, schema.get("min_length"), schema.get("max_length"))

    def decimal_schema(self, schema: Any) -> Json:
        """A Decimal as a JSON number; pydantic's own pattern for the string form has look-arounds."""
        branches = decimal_schemas(schema)
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def fraction_schema(self, schema: Any) -> Json:
        """A Fraction as text, or as a number where it is bounded."""
        bounds: Any = {key: float(schema[key]) for key in _BOUNDS if schema.get(key) is not None}
        if not bounds:
            return {"type": "string", "pattern": FRACTION_PATTERN}
        result: Json = {"type": "number"}
        self.update_with_validations(result, bounds, self.ValidationsMapping.numeric)
        return result

    def complex_schema(self, schema: Any) -> Json:  # noqa: ARG002 - the signature of the extension point
        """A complex number as text."""
        return {"type": "string", "pattern": COMPLEX_PATTERN}

    def json_schema(self, schema: Any) -> Json:
        """A string that holds JSON: the compact texts of the inner type, as a pattern."""
        before = len(self.unsaid)
        result = super().json_schema(schema)
        content = _without_notes(result["contentSchema"])
        pattern = json_text_pattern(content, lambda part: _without_notes(self._inlined(part)))
        if pattern is None:
            what = "JSON inside a string, of a type that no pattern describes"
            return self.handle_invalid_for_json_schema(schema, what)
        kept: Json = {"contentMediaType": "application/json", "contentSchema": content}
        said: Json = {"type": "string", **kept, "pattern": f"^(?:{pattern})$"}
        if ANY_JSON in pattern:
            said[_CAP] = [f"JSON of any form inside a string: arrays and objects nested at most {MAX_ANY_DEPTH} deep"]
        return _noted(said, self.unsaid[before:])

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

    def union_schema(self, schema: Any) -> Json:
        """A union; that of ByteSize is for sizes with a unit that it knows."""
        if schema.get("custom_error_type") == "byte_size":
            return {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": BYTE_SIZE_PATTERN}]}
        return super().union_schema(schema)

    def custom_error_schema(self, schema: Any) -> Json:
        """A schema with an error text of its own; `Hashable` is one."""
        if schema.get("custom_error_type") == "is_hashable":
            return dict(_SCALARS)
        return super().custom_error_schema(schema)

    def is_subclass_schema(self, schema: Any) -> Json:
        """A class as a value: not JSON."""
        return self.handle_invalid_for_json_schema(schema, f"a subclass of {schema['cls']}")

    # --- time -------------------------------------------------------------------------------------------------------

    def date_schema(self, schema: Any) -> Json:
        """A date; its bounds become a pattern, as dates are ordered like their text."""
        result = super().date_schema(schema)
        pattern = date_bounds_pattern(schema)
        if pattern:
            result["pattern"] = pattern
        return _noted(result, self._time(schema, ("now_op",)))

    def datetime_schema(self, schema: Any) -> Json:
        """A datetime, with or without time zone as it demands."""
        result = super().datetime_schema(schema)
        result = _noted(result, self._time(schema, (*_BOUNDS, "now_op")))
        return {**result, **zone_schema(schema.get("tz_constraint"), with_date=True)}

    def time_schema(self, schema: Any) -> Json:
        """A time of day, with or without time zone as it demands."""
        result = super().time_schema(schema)
        result = _noted(result, self._time(schema, _BOUNDS))
        return {**result, **zone_schema(schema.get("tz_constraint"), with_date=False)}

    def timedelta_schema(self, schema: Any) -> Json:
        """A duration."""
        result = super().timedelta_schema(schema)
        return _noted(result, self._time(schema, _BOUNDS))

    def _time(self, schema: Any, keys: tuple[str, ...]) -> list[str]:
        """Return the demands on a time that no keyword of JSON Schema can state."""
        given = ((key, schema[key]) for key in keys if schema.get(key) is not None)
        return self._note(
            [f"{schema['type']} {_NOW[v] if key == 'now_op' else f'{_SIGNS[key]} {v}'}" for key, v in given]
        )


def _closed(result: Json) -> Json:
    """Close an object against keys that it does not name."""
    if result.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


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
