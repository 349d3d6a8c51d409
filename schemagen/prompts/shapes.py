"""What a prompt says of its answer: `told`, an instruction and a rendering of the schema, the same in every format.

A grammar already makes every other text impossible. The rendering lets the model *know* the structure, so that it picks the
right values. The shape, TypeScript and JSON Schema describe the values, and an example is an answer in its format
(`schemagen.writers.examples`). docs/guides/prompts.md says which is the default, and has the measurements.

    >>> shape_text({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]})
    '{"age": integer(>=0)}'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError, SchemagenError
from schemagen.errors.pointers import referred
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.specs import Choice, Regex, frozen_spec
from schemagen.grammar.written import AsJson, Written
from schemagen.schema.keyword_table import DATA, SCHEMA_MAPS, TABLE
from schemagen.templates.template import Template

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.options import Rendering, ShowSchema

_ENDINGS: dict[Rendering, str] = {
    "shape": "of this shape",
    "json_schema": "valid for this JSON Schema",
    "example": "in the form of this example",
    "placeholders": "in the form of this example",
    "typescript": "of this TypeScript type",
}
#: The defaults of the formats whose default is not the shape: docs/evidence.md has the measurement.
_DEFAULTS: dict[str, Rendering] = {"csv": "placeholders", "markdown": "placeholders", "yaml": "placeholders"}
SHAPE_INSTRUCTION = f"{AsJson.instruction}, {_ENDINGS['shape']}:"
"""The sentence between the caller's prompt and the shape of JSON."""
#: The sentences before an answer without a schema.
CHOICE_INSTRUCTION = "Answer with one of these only:"
PATTERN_INSTRUCTION = "Answer only with a text that matches this regular expression:"
_TEMPLATE_INSTRUCTION = "Answer only with this text, with other values:"

_MAX_DEPTH = 40
_MAX_INLINE = 600
_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))


def told(spec: Any, show: ShowSchema = True) -> str:
    """Return what a prompt says of an answer: an instruction, a line break, and the rendering.

    Args:
        spec: A JSON Schema for an answer in JSON, or any other spec, frozen.
        show: The rendering; a bool stands for the default of the format.

    Raises:
        OptionError: The spec has no such rendering.
    """
    rendering = _rendering(spec, show)
    if isinstance(spec, Template):
        return _told_template(spec, rendering)
    if isinstance(spec, Written):
        return f"{spec.instruction}, {_ENDINGS[rendering]}:\n{_text(spec.schema, spec, rendering)}"
    if not isinstance(spec, Regex | Choice | ContextFree):
        return f"{AsJson.instruction}, {_ENDINGS[rendering]}:\n{_text(spec, spec, rendering)}"
    if rendering != "shape":
        raise OptionError(
            f"show_schema={rendering!r} with {type(spec).__name__}",
            why="it has no schema: a prompt shows its options, its pattern or its grammar",
            fix="leave show_schema out, or give False",
        )
    if isinstance(spec, Choice):
        return f"{CHOICE_INSTRUCTION}\n{' | '.join(_options(spec.options))}"
    if isinstance(spec, Regex):
        return f"{PATTERN_INSTRUCTION}\n{spec.pattern}"
    return f"{spec.instruction}\n{spec.shown()}"


def _rendering(spec: Any, show: ShowSchema) -> Rendering:
    if not isinstance(show, bool):
        return show
    default = _DEFAULTS.get(getattr(spec, "format", ""), "shape")
    return "shape" if default == "placeholders" and _document(spec, default) is None else default


def _text(schema: Any, spec: Any, rendering: Rendering) -> str:
    """Return the rendering of a schema; for JSON the spec is the schema."""
    if rendering in _TEXTS:
        return _TEXTS[rendering](schema)
    specs = [spec] if isinstance(spec, Written) else [AsJson(frozen_spec(each)) for each in _alternatives(schema)]
    return "\n".join(_given(_document(each, rendering), rendering) for each in specs)


def _told_template(template: Template[Any], rendering: Rendering) -> str:
    """Return a template with an example, a placeholder or the type of each hole in its place."""
    if rendering in ("example", "placeholders"):
        return f"{_TEMPLATE_INSTRUCTION}\n{_given(_document(template, rendering), rendering)}"
    render = _typescript_hole if rendering == "typescript" else _TEXTS[rendering]
    return f"{template.instruction}\n{template.described(render)}"


def _document(spec: Written[Any] | Template[Any], rendering: Rendering) -> str | None:
    """Return an example or a text with placeholders, which is made once if the spec is hashable; None if none is."""
    try:
        hash(spec)
    except TypeError:
        return _made(spec, rendering)
    return _remembered(spec, rendering)


def _made(spec: Written[Any] | Template[Any], rendering: Rendering) -> str | None:
    try:
        return spec.example() if rendering == "example" else spec.placeholders()
    except SchemagenError:
        return None  # JSON has schemas that no writer of rules takes


_remembered = lru_cache(maxsize=256)(_made)


def _given(text: str | None, rendering: Rendering) -> str:
    if text is None:
        raise OptionError(
            f"show_schema={rendering!r} with a spec of which no example is made",
            why="its patterns or bounds have no short text, or it compares or counts parts of a value",
            fix="leave show_schema out, or give 'shape', 'json_schema' or 'typescript'",
        )
    return text


def _options(options: Sequence[str]) -> list[str]:
    """Return the options unchanged, or all in quotes if one of them could be read as several options or as none."""
    plain = all(option and option == option.strip() and not {"|", "\n"} & {*option} for option in options)
    return [option if plain else json.dumps(option, ensure_ascii=False) for option in options]


# --- JSON Schema -----------------------------------------------------------------------------------------------------


def schema_text(schema: Any) -> str:
    """Return a JSON Schema as one line, without titles and ``"additionalProperties": false``, which do not describe values."""
    short = without_keywords(
        schema, lambda key, value: is_title(key, value) or (key == "additionalProperties" and value is False)
    )
    return json.dumps(short, ensure_ascii=False, default=str)


def is_title(key: str, value: Any) -> bool:
    """Whether a keyword is a title: pydantic makes them from names, so they add nothing for a model."""
    return key == "title" and isinstance(value, str)


def without_keywords(schema: Any, is_left_out: Callable[[str, Any], bool], *, of_names: bool = False) -> Any:
    """Return a schema without some keywords; below ``properties`` and the like, keys are names, also "title"."""
    if isinstance(schema, list):
        return [without_keywords(item, is_left_out) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value
        if key in DATA and not of_names
        else without_keywords(value, is_left_out, of_names=key in SCHEMA_MAPS and not of_names)
        for key, value in schema.items()
        if of_names or not is_left_out(key, value)
    }


# --- examples --------------------------------------------------------------------------------------------------------


def example_text(schema: Any) -> str:
    """Return examples in JSON, one line for each alternative of the schema.

    Raises:
        OptionError: No example is made.
    """
    return _text(schema, schema, "example")


def _alternatives(schema: Any) -> list[Any]:
    """Return the schemas of the alternatives of a schema, or the schema if there is one."""
    root = _mapping(_Writer(schema).resolved(schema))
    kept = {key: value for key, value in _mapping(schema).items() if key in ("$schema", "$defs", "definitions")}
    branches = next((found for key in ("anyOf", "oneOf") if len(found := _items(root.get(key))) > 1), [])
    return [{**kept, **branch} for branch in branches if isinstance(branch, Mapping)] or [schema]


# --- the shape -------------------------------------------------------------------------------------------------------


def shape_text(schema: Mapping[str, Any] | bool) -> str:
    """Describe a JSON Schema as a TypeScript-like type.

    Objects are written in the order of `properties`; an optional property has a `?`. Bounds, formats and patterns follow their
    type in parentheses (`integer(1..8)`, `string(date)`), the length of an array is in its brackets (`string[1..3]`). A
    `description` of a property, or of the whole schema, becomes a `// ...` line before it.
    References are inlined; a recursive (or very long) definition gets a line `Name = ...` of its own, before the type.

    Args:
        schema: A JSON Schema, such as `pydantic.TypeAdapter(T).json_schema()`. It is not changed.

    Returns:
        The text. An unknown keyword or a broken reference is written as `any`; nothing raises.
    """
    writer = _Writer(schema)
    text = writer.root()
    return "\n".join([*(f"{name} = {body}" for name, body in writer.definitions.items()), text])


def _literal(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return '"?"'


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _range(low: Any, high: Any) -> str:
    """Write an inclusive range, open on the side that is None."""
    if low is None:
        return f"<={_literal(high)}"
    if high is None:
        return f">={_literal(low)}"
    return _literal(low) if low == high else f"{_literal(low)}..{_literal(high)}"


def _noted(base: str, notes: list[str]) -> str:
    return f"{base}({', '.join(notes)})" if notes else base


def _number(kind: str, schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    exclusive = "exclusiveMinimum" in schema or "exclusiveMaximum" in schema
    if low is not None and high is not None and not exclusive:
        notes = [_range(low, high)]
    else:
        notes = [f"{sign}{_literal(schema[key])}" for key, sign in _BOUNDS if schema.get(key) is not None]
    if schema.get("multipleOf") is not None:
        notes.append(f"multiple of {_literal(schema['multipleOf'])}")
    return _noted(kind, notes)


def _string(schema: Mapping[str, Any]) -> str:
    notes = [str(schema["format"])] if schema.get("format") else []
    if schema.get("pattern") is not None:
        notes.append(f"/{schema['pattern']}/")
    low, high = schema.get("minLength"), schema.get("maxLength")
    if low is not None or high is not None:
        notes.append(f"length {_range(low, high)}")
    return _noted("string", notes)


def _union(parts: list[str]) -> str:
    return " | ".join(dict.fromkeys(parts)) or "never"


def _wrapped(text: str) -> str:
    """Put parentheses around a union or intersection so that it can be followed by brackets."""
    return f"({text})" if " | " in text or " & " in text else text


def _guess_type(schema: Mapping[str, Any]) -> str:
    """Infer the type of an untyped schema from its keywords; empty if they are of no type."""
    found = {TABLE[key].of for key in schema if key in TABLE}
    return next((kind for kind in ("object", "array", "string", "number") if kind in found), "")


class _Writer:
    """Writes one document, and collects the definitions that have names in its text."""

    def __init__(self, document: Mapping[str, Any] | bool) -> None:
        self.definitions: dict[str, str] = {}
        self._document = document
        self._names: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._open: list[str] = []
        self._recursive: set[str] = set()

    def root(self) -> str:
        """Write the whole document."""
        text = self._write(self._document, 0)
        if "#" in self._recursive:
            self.definitions[self._name("#")] = text
            text = self._name("#")
        note = self._comment(self._document)
        return f"{note}{text}"

    def _write(self, schema: Any, depth: int) -> str:
        if schema is False:
            return "never"
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return "any"
        parts = self._parts(schema, depth + 1)
        if len(parts) == 1:
            return parts[0]
        return " & ".join(f"({part})" if " | " in part else part for part in parts) or "any"

    def _parts(self, schema: Mapping[str, Any], depth: int) -> list[str]:
        """Write every keyword that gives a type; a value has all of these types."""
        if "const" in schema:
            return [_literal(schema["const"])]
        if "enum" in schema:
            return [_union([_literal(value) for value in _items(schema["enum"])])]
        parts = [self._reference(schema["$ref"], depth)] if isinstance(schema.get("$ref"), str) else []
        unions = [_items(schema[key]) for key in ("anyOf", "oneOf") if key in schema]
        parts += [_union([self._write(branch, depth) for branch in branches]) for branches in unions]
        parts += [self._write(branch, depth) for branch in _items(schema.get("allOf"))]
        typed = self._typed(schema, depth, guess=not parts)
        return [part for part in dict.fromkeys([*parts, typed]) if part]

    def _typed(self, schema: Mapping[str, Any], depth: int, *, guess: bool) -> str:
        """Write the types in `type`, or the type guessed from the keywords; empty if the schema has neither."""
        kinds = schema.get("type")
        if not kinds:
            kinds = _guess_type(schema) if guess or "properties" in schema else ""
        if isinstance(kinds, (list, tuple)):
            return _union([self._kind(str(kind), schema, depth) for kind in kinds])
        return self._kind(str(kinds), schema, depth) if kinds else ""

    def _kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> str:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return _number(kind, schema)
        if kind == "string" and "contentSchema" in schema:
            return _noted(kind, [f"JSON text of {self._write(schema['contentSchema'], depth)}"])
        if kind == "string":
            return _string(schema)
        return kind if kind in ("boolean", "null") else "any"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        """Write an object; on several lines if a property has a description."""
        required = set(map(str, _items(schema.get("required"))))
        entries = []
        for key, value in _mapping(schema.get("properties")).items():
            mark = "" if key in required else "?"
            entries.append(f"{self._comment(value)}{_literal(str(key))}{mark}: {self._write(value, depth)}")
        entries += self._open_keys(schema, bool(entries), depth)
        if any(entry.startswith("//") for entry in entries):
            return "{\n" + ",\n".join(entries) + "\n}"
        return "{" + ", ".join(entries) + "}"

    def _open_keys(self, schema: Mapping[str, Any], closed: bool, depth: int) -> list[str]:
        """Write the properties without fixed names."""
        patterns = _mapping(schema.get("patternProperties")).items()
        entries = [f"[key: /{key}/]: {self._write(value, depth)}" for key, value in patterns]
        rest = schema.get("additionalProperties")
        if isinstance(rest, Mapping) or rest is True or not (closed or entries or rest is False):
            names = schema.get("propertyNames")
            key_type = self._write(names, depth) if isinstance(names, Mapping) else "string"
            entries.append(f"[key: {key_type}]: {self._write(True if rest is None else rest, depth)}")
        return entries

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        rest, low, high = schema.get("items"), schema.get("minItems"), schema.get("maxItems")
        first = [self._write(item, depth) for item in _items(schema.get("prefixItems") or rest)]
        if first:
            open_end = isinstance(rest, Mapping) or (rest is None and high is None)
            tail = [f"...{_wrapped(self._write(rest, depth))}[]"] if open_end else []
            return "[" + ", ".join(first + tail) + "]"
        length = _range(low, high) if low is not None or high is not None else ""
        notes = ["unique"] if schema.get("uniqueItems") is True else []
        return _noted(f"{_wrapped(self._write(rest, depth))}[{length}]", notes)

    def _comment(self, schema: Any) -> str:
        """Return the `// ...` line of a schema, or of the definition it refers to; empty if it has none."""
        text = _mapping(schema).get("description") or _mapping(self.resolved(schema)).get("description")
        return f"// {' '.join(text.split())}\n" if isinstance(text, str) and text.strip() else ""

    def _reference(self, reference: str, depth: int) -> str:
        """Write a reference: inlined, or by name if it is recursive or very long."""
        if reference in self._texts:
            return self._texts[reference]
        if reference in self._open or reference == "#":
            self._recursive.add(reference)
            return self._name(reference)
        self._open.append(reference)
        text = self._write(self.resolved({"$ref": reference}), depth)
        self._open.pop()
        if reference in self._recursive or len(text) > _MAX_INLINE:
            self.definitions[self._name(reference)] = text
            text = self._name(reference)
        self._texts[reference] = text
        return text

    def resolved(self, schema: Any) -> Any:
        """Return what a schema that is a reference leads to; `True` (any value) if that is nowhere."""
        if "$ref" not in _mapping(schema):
            return schema
        found = referred(schema["$ref"], self._document)
        return True if found is None else found

    def _name(self, reference: str) -> str:
        """Return the name of a definition: the last part of its pointer, numbered if another definition has the same."""
        if reference not in self._names:
            base = reference.rsplit("/", 1)[-1].lstrip("#") or "Root"
            taken = set(self._names.values())
            numbered = (f"{base}{number}" for number in range(2, len(taken) + 3))
            self._names[reference] = base if base not in taken else next(n for n in numbered if n not in taken)
        return self._names[reference]


# --- TypeScript ------------------------------------------------------------------------------------------------------


def typescript_text(schema: Any) -> str:
    """Return the declaration of a TypeScript type, without bounds and patterns, which TypeScript cannot express."""
    writer = _TypeScript(schema)
    text = writer.root()
    return "\n".join(f"type {name} = {body};" for name, body in [*writer.definitions.items(), ("Answer", text)])


def _typescript_hole(schema: Any) -> str:
    return typescript_text(schema).removeprefix("type Answer = ").removesuffix(";")


class _TypeScript(_Writer):
    """Writes the same as types of TypeScript."""

    def _kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> str:
        if kind in ("integer", "number"):
            return "number"
        return kind if kind == "string" else super()._kind(kind, schema, depth)

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        required, lines = schema.get("required", ()), []
        for key, value in _mapping(schema.get("properties")).items():
            name = key if str(key).isidentifier() else _literal(str(key))
            comment = self._comment(value).strip()
            kind = self._write(value, depth).replace("\n", "\n  ")
            lines.append(f"  {name}{'' if key in required else '?'}: {kind};{comment and ' ' + comment}")
        if not lines:
            return f"Record<string, {self._write(schema.get('additionalProperties', True), depth)}>"
        return "\n".join(["{", *lines, "}"])

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        first = _items(schema.get("prefixItems"))
        if first:
            return f"[{', '.join(self._write(part, depth) for part in first)}]"
        return f"Array<{self._write(schema.get('items'), depth)}>"


_TEXTS: dict[Rendering, Callable[[Any], str]] = {
    "shape": shape_text,
    "json_schema": schema_text,
    "typescript": typescript_text,
}
