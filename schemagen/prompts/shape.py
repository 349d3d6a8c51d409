"""The compact, TypeScript-like text that tells a model which JSON to write.

A grammar already makes every other text impossible. The shape lets the model *know* the structure, so that it picks the right
values. It takes few tokens: `$ref`s are inlined, titles and defaults left out.

    >>> shape_text({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]})
    '{"age": integer(>=0)}'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from schemagen.schema.keyword_table import TABLE

SHAPE_INSTRUCTION = "Answer with JSON only, of this shape:"
"""The sentence between the caller's prompt and the shape."""

_MAX_DEPTH = 40
_MAX_INLINE = 600
_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))


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
        own = _mapping(schema)
        reference = own.get("$ref")
        target = _mapping(self._resolve(reference)) if isinstance(reference, str) else {}
        text = own.get("description") or target.get("description")
        return f"// {' '.join(text.split())}\n" if isinstance(text, str) and text.strip() else ""

    def _reference(self, reference: str, depth: int) -> str:
        """Write a reference: inlined, or by name if it is recursive or very long."""
        if reference in self._texts:
            return self._texts[reference]
        if reference in self._open or reference == "#":
            self._recursive.add(reference)
            return self._name(reference)
        self._open.append(reference)
        text = self._write(self._resolve(reference), depth)
        self._open.pop()
        if reference in self._recursive or len(text) > _MAX_INLINE:
            self.definitions[self._name(reference)] = text
            text = self._name(reference)
        self._texts[reference] = text
        return text

    def _resolve(self, reference: str) -> Any:
        """Follow a JSON pointer within the document; `True` (any value) if it leads nowhere."""
        found: Any = self._document
        for segment in reference.removeprefix("#").split("/")[1:]:
            key = segment.replace("~1", "/").replace("~0", "~").replace("%25", "%")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                found = _mapping(found).get(key, True)
        return found if reference.startswith("#/") else True

    def _name(self, reference: str) -> str:
        """Return the name of a definition: the last part of its pointer, numbered if another definition has the same."""
        if reference not in self._names:
            base = reference.rsplit("/", 1)[-1].lstrip("#") or "Root"
            taken = set(self._names.values())
            numbered = (f"{base}{number}" for number in range(2, len(taken) + 3))
            self._names[reference] = base if base not in taken else next(n for n in numbered if n not in taken)
        return self._names[reference]
