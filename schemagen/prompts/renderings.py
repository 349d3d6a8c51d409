"""Renderings of a schema for a prompt: the shape, JSON Schema, an example, or TypeScript.

A rendering is an instruction and a text. Which one gives the most accurate answers depends on the training of the model;
docs/guides/prompts.md has measurements. `schemagen.prompts.shape` is the default, and the shortest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.prompts.shape import SHAPE_INSTRUCTION, shape_text
from schemagen.writers.shapes import example_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.options import Rendering, ShowSchema

DEFAULT: Rendering = "shape"
#: Deepest level that is rendered, because a recursive schema has no end.
_MAX_DEPTH = 4


def check_for_format(show: ShowSchema, as_: str) -> None:
    """Refuse a rendering that describes JSON, for an answer in another format.

    Raises:
        OptionError: The rendering describes JSON, and the answer has another format.
    """
    if as_ != "json" and show in ("json_schema", "typescript"):
        raise OptionError(
            f"show_schema={show!r} beside as_={as_!r}",
            why="it describes JSON, and the answer is written in another format",
            fix="give 'shape' or 'example', or leave show_schema out",
        )


def told(schema: Any, show: ShowSchema) -> str:
    """Return the description of a schema for a prompt: an instruction, a line break, and the text of the rendering."""
    instruction, render = _RENDERINGS[DEFAULT if isinstance(show, bool) else show]
    return f"{instruction}\n{render(schema)}"


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
    named = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
    literal = {"const", "enum", "default", "examples"}
    return {
        key: value
        if key in literal and not of_names
        else without_keywords(value, is_left_out, of_names=key in named and not of_names)
        for key, value in schema.items()
        if of_names or not is_left_out(key, value)
    }


# --- an example ------------------------------------------------------------------------------------------------------


def example_text(schema: Any) -> str:
    """Return example instances with descriptions in place of values, one line for each alternative of the schema."""
    root = _resolved(schema, schema)
    branches = next((root[key] for key in ("anyOf", "oneOf") if root.get(key)), None)
    alternatives = branches if isinstance(branches, list) and len(branches) > 1 else [root]
    return "\n".join(json.dumps(_example(each, schema, 0), ensure_ascii=False, default=str) for each in alternatives)


def _example(schema: Any, document: Any, depth: int) -> Any:
    """Return an instance that shows the place of each value; it may be invalid."""
    schema = _resolved(schema, document)
    if "const" in schema or schema.get("enum"):
        return example_of(schema)
    branches = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ())]
    if branches and "properties" not in schema:
        shown = [each for each in branches if _resolved(each, document).get("type") != "null"]
        return _example(shown[0], document, depth) if shown else None
    kinds = schema.get("type") or ("object" if "properties" in schema else "string")
    kind = next((each for each in kinds if each != "null"), "null") if isinstance(kinds, list) else kinds
    if kind == "object":
        properties = schema.get("properties", {}) if depth < _MAX_DEPTH else {}
        return {key: _example(value, document, depth + 1) for key, value in properties.items()}
    if kind == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return [_example(each, document, depth + 1) for each in items] if depth < _MAX_DEPTH else []
    return example_of(schema)


def _resolved(schema: Any, document: Any) -> Mapping[str, Any]:
    """Follow the local references of a schema; return an empty schema for a broken reference."""
    for _ in range(_MAX_DEPTH * 4):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        found: Any = document
        for segment in reference.removeprefix("#").split("/")[1:]:
            key = segment.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        schema = found
    return {}


# --- TypeScript ------------------------------------------------------------------------------------------------------


def typescript_text(schema: Any) -> str:
    """Return the declaration of a TypeScript type, without bounds and patterns, which TypeScript cannot express."""
    return f"type Answer = {_typescript(schema, schema, 0)};"


def _typescript(schema: Any, document: Any, depth: int) -> str:
    schema = _resolved(schema, document)
    if depth > _MAX_DEPTH:
        return "any"
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False, default=str)
    if schema.get("enum"):
        return " | ".join(json.dumps(value, ensure_ascii=False, default=str) for value in schema["enum"])
    for key, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if schema.get(key) and "properties" not in schema:
            parts = dict.fromkeys(_typescript(each, document, depth) for each in schema[key])
            return sign.join(parts)
    kinds = schema.get("type") or ("object" if "properties" in schema else "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(dict.fromkeys(_typescript_kind(kind, schema, document, depth) for kind in kinds))


def _typescript_kind(kind: str, schema: Mapping[str, Any], document: Any, depth: int) -> str:
    if kind == "object":
        return _interface(schema, document, depth)
    if kind == "array":
        parts = schema.get("prefixItems")
        if isinstance(parts, list):
            return f"[{', '.join(_typescript(part, document, depth + 1) for part in parts)}]"
        return f"Array<{_typescript(schema.get('items', {}), document, depth + 1)}>"
    return {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}.get(
        kind, "any"
    )


def _interface(schema: Mapping[str, Any], document: Any, depth: int) -> str:
    required, properties = schema.get("required", ()), schema.get("properties", {})
    if not properties:
        return "Record<string, any>"
    lines = []
    for key, value in properties.items():
        name = key if str(key).isidentifier() else json.dumps(str(key), ensure_ascii=False)
        note = value.get("description") if isinstance(value, Mapping) else None
        comment = f" // {' '.join(note.split())}" if isinstance(note, str) and note.strip() else ""
        kind = _typescript(value, document, depth + 1).replace("\n", "\n  ")
        lines.append(f"  {name}{'' if key in required else '?'}: {kind};{comment}")
    return "\n".join(["{", *lines, "}"])


_RENDERINGS: dict[Rendering, tuple[str, Callable[[Any], str]]] = {
    "shape": (SHAPE_INSTRUCTION, shape_text),
    "json_schema": ("Answer with JSON only, valid for this JSON Schema:", schema_text),
    "example": ("Answer with JSON only, in the form of this example:", example_text),
    "typescript": ("Answer with JSON only, of this TypeScript type:", typescript_text),
}
